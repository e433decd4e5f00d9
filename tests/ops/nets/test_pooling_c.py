"""Tests of the C kernels of max pooling, against the reference."""

import numpy as np
import pytest

from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.ops.nets.pooling import max_pool

CASES = {
    "overlapping, padded": ((2, 3, 7, 6), {"kernel": [3, 2], "stride": [2, 1], "padding": [1, 1, 0, 1]}),
    "dilated beyond the padding": (
        (2, 2, 9),
        {"kernel": [3], "stride": [2], "padding": [3, 2], "dilation": [2], "ceil_mode": True},
    ),
    "volumes": ((1, 2, 4, 5, 3), {"kernel": [2, 2, 2], "stride": [2, 3, 1], "padding": [0] * 6}),
    "axes shared out": ((2, 3, 7, 5), {"output_size": [3, 4]}),
    "more windows than elements": ((2, 3, 2), {"output_size": [5]}),
    "many planes": ((33, 32, 8, 8), {"kernel": [2, 2], "stride": [2, 2], "padding": [0] * 4}),
    "no images": ((0, 2, 4, 4), {"kernel": [2, 2], "stride": [2, 2], "padding": [0] * 4}),
}


@pytest.mark.parametrize("channels_last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize(("shape", "attrs"), CASES.values(), ids=CASES)
def test_the_c_kernels_give_the_elements_and_places_of_the_reference(rng, shape, attrs, channels_last):
    x = rng.integers(-4, 4, shape).astype("float32")  # with ties
    x[rng.random(shape) < 0.1], x[rng.random(shape) < 0.1] = np.nan, -np.inf
    attrs = {"dilation": [1] * (len(shape) - 2), **attrs, "channels_last": channels_last}
    attrs = {name: value for name, value in attrs.items() if name != "dilation" or "kernel" in attrs}
    if channels_last:
        x = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    wide, places = max_pool(x.astype("float64"), **attrs)
    found, at = max_pool(x, **attrs)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, wide)
    np.testing.assert_array_equal(at, places)
    arrived = rng.integers(-9, 9, found.shape).astype("float64")
    first = (lambda array: np.moveaxis(array, -1, 1)) if channels_last else (lambda array: array)
    expected = np.zeros((*first(x).shape[:2], int(np.prod(first(x).shape[2:]))))
    for index in np.ndindex(*first(at).shape):
        expected[(*index[:2], first(at)[index])] += first(arrived)[index]
    for dtype in ("float64", "float32", "float16", "bfloat16"):
        spec = TensorSpec(x.shape, dtype)
        made = max_pool.grad(at, arrived.astype(spec.dtype), x_spec=spec, channels_last=channels_last)
        assert made.dtype == spec.dtype
        np.testing.assert_array_equal(first(made).astype("float64"), expected.reshape(first(x).shape))


def test_the_kernels_are_those_in_c():
    assert max_pool.opdef.kernels.select("cpu", np.dtype("float32")).language == "c"
    assert max_pool.grad.opdef.kernels.select("cpu", np.dtype("int64")).language == "c"


def test_a_window_that_is_longer_than_the_axis_is_refused_by_name():
    with pytest.raises(ShapeError, match="kernel expected an element of x in every window"):
        max_pool(np.zeros((1, 1, 2)), kernel=[5], stride=[1], padding=[0, 0], dilation=[1])
