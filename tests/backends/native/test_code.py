"""A kernel in memory: shared by equal texts, and there as long as somebody holds it."""

import gc

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.native import code
from opsdk.core.errors import AttributeValueError


def wave():
    @opsdk.elementwise(namespace="tests", replace=True)
    def wave(x):
        return vmath.sin(3.0 * x) + 0.125

    return wave


def images():
    gc.collect()
    return [image for key, image in code._images.items() if "wave_float32" in key]


def test_equal_kernels_share_an_image_which_leaves_with_the_last_of_them():
    x = np.linspace(-1, 1, 5, dtype=np.float32)
    first = wave()
    expected = first(x)
    (image,) = images()
    second = wave()
    assert np.array_equal(second(x), expected)
    assert images() == [image]
    del image, first
    assert np.array_equal(second(x), expected)
    assert len(images()) == 1
    del second
    wave()  # the registry holds this one, which was not called yet
    assert images() == []


def test_an_entry_holds_its_code():
    entry = opsdk.native(wave(), np.zeros(3, np.float32))
    wave()
    assert len(images()) == 1
    del entry
    assert images() == []


@pytest.mark.parametrize(("dtype", "bits"), [("float32", 24), ("float16", 24), ("float64", 53)])
def test_a_whole_number_that_would_be_rounded_in_what_the_expression_is_computed_in_is_refused(dtype, bits):
    def less(x, *, k: int = 0):
        return x - k

    op, x = opsdk.elementwise(less), np.zeros(3, dtype)
    assert (op(x, k=2**bits) == -np.inf if dtype == "float16" else op(x, k=2**bits) == -(2**bits)).all()
    with pytest.raises(AttributeValueError, match=f"attribute 'k': expected a whole number that .* got {2**bits + 1};"):
        op(x, k=2**bits + 1)
    op(x, k=2**bits + 2)
