"""A kernel in memory: shared by equal texts, and there as long as somebody holds it."""

import gc

import numpy as np

import opsdk
from opsdk import vmath
from opsdk.backends.native import code


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
