"""Tests of the C kernels of batch normalization, against the reference in float64."""

import numpy as np
import pytest

from opsdk.ops.nets.batch_norm import batch_norm

SHAPES = {  # batch, channels, sizes
    "lines with a rest": (3, 5, 7, 5),
    "whole vectors": (2, 17, 4, 8),
    "many lines": (40, 3, 3),
    "features": (19, 18),
}


def narrow(*values):
    return [None if v is None else v.copy() if v.dtype.kind in "iu" else np.float32(v) for v in values]


@pytest.mark.parametrize("count", [None, "int64", "uint8"])
@pytest.mark.parametrize("training", [True, False], ids=["training", "test"])
@pytest.mark.parametrize("channels_last", [False, True], ids=["first", "last"])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_the_c_kernels_compute_what_the_reference_does(rng, shape, channels_last, training, count):
    channels, kept = shape[1], (not training or count is not None)
    x = rng.normal(size=shape) + 3
    if channels_last:
        x = np.ascontiguousarray(np.moveaxis(x, 1, -1))
    weight, bias = rng.normal(size=(2, channels)) if count != "uint8" else (None, None)
    running = (rng.normal(size=channels), rng.uniform(0.5, 2.0, channels)) if kept else (None, None)
    batches = None if count is None else np.array(3, count)
    wide = [None if v is None else v.copy() for v in (x, weight, bias, *running, batches)]
    short = narrow(*wide)
    attrs = {"training": training, "channels_last": channels_last}
    rest = {"unbiased": count is not None, "momentum": None if count == "int64" else 0.3}
    expected = [*batch_norm(*wide, **attrs, **rest), *wide[3:]]
    found = [*batch_norm(*short, **attrs, **rest), *short[3:]]
    arrived = [rng.normal(size=value.shape) for value in expected[:3]]
    given = (x, weight, bias, *expected[1:3], *arrived)
    expected += batch_norm.grad(*given, **attrs)
    found += batch_norm.grad(*narrow(*given), **attrs)
    for value, other in zip(expected, found, strict=True):
        assert (value is None) == (other is None)
        if value is not None:
            np.testing.assert_allclose(other, value, rtol=0, atol=1e-5 * max(np.abs(value).max(), 1))


def test_the_kernel_for_float32_is_that_in_c():
    for op in (batch_norm, batch_norm.grad):
        assert op.opdef.kernels.select("cpu", np.dtype("float32")).language == "c"
