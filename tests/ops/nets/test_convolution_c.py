"""Tests of the C kernels of convolution, against the reference in float64, which is held to plain loops beside it."""

import numpy as np
import pytest

from opsdk.backends.call.language import is_usable
from opsdk.ops.nets.convolution import conv, conv_input, conv_weight

CASES = {  # shape of x, of the weight, stride, padding, dilation, groups
    "lines of pixels, panels and channels left over": ((3, 20, 11, 9), (40, 20, 3, 3), [1, 1], [1] * 4, [1, 1], 1),
    "small images, some left over": ((11, 17, 4, 5), (9, 17, 3, 3), [1, 1], [1, 1, 1, 0], [1, 1], 1),
    "small images, of which taps see nothing": ((8, 16, 1, 2), (3, 16, 3, 3), [1, 1], [1] * 4, [1, 1], 1),
    "more than a piece of output channels": ((20, 16, 2, 2), (131, 16, 1, 1), [1, 1], [0] * 4, [1, 1], 1),
    "pixels that no tap reads": ((2, 3, 7, 8), (4, 3, 1, 2), [2, 3], [0] * 4, [1, 1], 1),
    "dilation and stride with a common divisor": ((2, 3, 13, 9), (5, 3, 3, 2), [4, 2], [2, 1, 0, 1], [2, 3], 1),
    "wide groups": ((2, 10, 6, 5), (24, 5, 2, 2), [1, 2], [0, 1, 1, 0], [1, 1], 2),
    "each channel alone": ((3, 5, 9, 37), (5, 1, 3, 3), [1, 1], [1] * 4, [1, 1], 5),
    "narrow groups, strides": ((2, 6, 9, 8), (4, 3, 3, 2), [2, 2], [1, 1, 0, 1], [1, 2], 2),
    "sequences, elements left out": ((2, 4, 9), (6, 4, 2), [2], [-1, -2], [1], 1),
    "volumes": ((1, 2, 4, 3, 5), (3, 2, 2, 3, 2), [1, 2, 1], [1, 0, 1, 1, 0, 1], [1, 1, 2], 1),
    "no images": ((0, 2, 4, 4), (3, 2, 2, 2), [1, 1], [0] * 4, [1, 1], 1),
    "no channels": ((2, 0, 4, 4), (3, 0, 2, 2), [1, 1], [0] * 4, [1, 1], 1),
}


@pytest.mark.parametrize("channels_last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize(("x", "weight", "stride", "padding", "dilation", "groups"), CASES.values(), ids=CASES)
def test_the_c_kernels_compute_what_the_reference_does(
    rng, x, weight, stride, padding, dilation, groups, channels_last
):
    attrs = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    attrs["channels_last"] = channels_last
    images, taps = rng.normal(size=x), rng.normal(size=weight)
    if channels_last:
        images = np.ascontiguousarray(np.moveaxis(images, 1, -1))
    arrived = rng.normal(size=conv(images, taps, **attrs).shape)
    for op, given in (
        (conv, (images, taps)),
        (conv_input, (images, taps, arrived)),
        (conv_weight, (images, taps, arrived)),
    ):
        assert op.opdef.kernels.select("cpu", np.dtype("float32")).language == "c"
        expected = op(*given, **attrs)
        found = op(*[np.float32(value) for value in given], **attrs)
        assert found.dtype == np.float32
        bound = 3e-6 * max(np.abs(expected).max(initial=0), 1)
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


def test_what_is_not_finite_stays_where_its_taps_reach():
    x = np.zeros((8, 1, 4, 4), "float32")
    x[3, 0, 0, 0] = np.inf
    made = conv(x, np.ones((1, 1, 3, 3), "float32"), stride=[1, 1], padding=[1] * 4, dilation=[1, 1])
    assert np.argwhere(~np.isfinite(made)).tolist() == [[3, 0, 0, 0], [3, 0, 0, 1], [3, 0, 1, 0], [3, 0, 1, 1]]


def test_every_run_has_the_same_bits(rng):
    x, weight = (rng.normal(size=shape).astype("float32") for shape in ((9, 33, 9, 9), (40, 33, 3, 3)))
    attrs = {"stride": [1, 1], "padding": [1] * 4, "dilation": [1, 1]}
    first, *others = ([conv_weight(x, weight, conv(x, weight, **attrs), **attrs).tobytes()] for _ in range(5))
    assert all(other == first for other in others)


def test_the_reference_serves_where_no_compiler_is(monkeypatch):
    monkeypatch.setattr("opsdk.backends.c.prebuilt.has_compiler", lambda: False)
    assert conv.opdef.kernels.select("cpu", np.dtype("float32"), usable=is_usable).language == "numpy"
