"""Tests of opsdk.ops.nets.pooling; gradients and runtimes are swept in tests/parity."""

import numpy as np
import pytest

from opsdk.core.errors import ShapeError
from opsdk.ops.nets.pooling import avg_pool, max_pool


def windows(size, kernel, stride, before, count, dilation=1):
    """Where the elements of each window along an axis lie, those outside left out."""
    places = [[i * stride - before + k * dilation for k in range(kernel)] for i in range(count)]
    return [[at for at in each if 0 <= at < size] for each in places]


@pytest.mark.parametrize("channels_last", [False, True])
def test_the_greatest_elements_and_their_places_are_those_of_loops(rng, channels_last):
    x = rng.normal(size=(2, 2, 5, 7))
    rows, columns = windows(5, 2, 2, 1, 3), windows(7, 3, 2, 0, 2, dilation=2)
    given = np.moveaxis(x, 1, -1) if channels_last else x
    steps = {"kernel": [2, 3], "stride": [2, 2], "padding": [1, 0, 0, 1], "dilation": [1, 2]}
    out, places = max_pool(given, **steps, channels_last=channels_last)
    out, places = (np.moveaxis(one, -1, 1) if channels_last else one for one in (out, places))
    assert out.shape == places.shape == (2, 2, 3, 2)
    assert places.dtype == np.int64
    for n, c, i, j in np.ndindex(*out.shape):
        seen = {(a, b): x[n, c, a, b] for a in rows[i] for b in columns[j]}
        a, b = max(seen, key=seen.get)
        assert (out[n, c, i, j], places[n, c, i, j]) == (x[n, c, a, b], 7 * a + b)


def test_nan_is_the_greatest_and_infinities_have_places():
    x = np.array([[[1.0, np.nan, -np.inf, -np.inf]]])
    out, places = max_pool(x, kernel=[2], stride=[2], padding=[0, 0], dilation=[1])
    assert np.isnan(out[0, 0, 0])
    assert out[0, 0, 1] == -np.inf
    assert places.tolist() == [[[1, 2]]]


def test_means_count_elements_or_places():
    x = np.arange(16.0).reshape(1, 1, 4, 4)
    steps = {"kernel": [3, 3], "stride": [2, 2], "padding": [1, 1, 1, 1]}
    np.testing.assert_allclose(avg_pool(x, **steps)[0, 0], [[2.5, 4], [8.5, 10]])  # torch, count_include_pad=False
    made = avg_pool(x, **steps, exclusive=False, ceil_mode=True)[0, 0]
    np.testing.assert_allclose(made, [[10 / 9, 8 / 3, 5 / 3], [17 / 3, 10, 5.5], [25 / 6, 7, 3.75]])  # torch and Paddle
    np.testing.assert_allclose(avg_pool(x, **steps, divisor=2.0)[0, 0], [[5, 12], [25.5, 45]])


def test_windows_share_axes_out():
    x = np.arange(7.0).reshape(1, 1, 7)
    np.testing.assert_allclose(avg_pool(x, output_size=[3])[0, 0], [1, 3, 5])  # of 0 to 2, 2 to 4, 4 to 6
    assert max_pool(x, output_size=[3])[1].tolist() == [[[2, 4, 6]]]
    np.testing.assert_allclose(avg_pool(x[..., :2], output_size=[3])[0, 0], [0, 0.5, 1])


def test_large_windows_are_summed_in_blocks():
    x = np.full((1, 1, 2**13), 0.1, np.float32)
    assert abs(avg_pool(x, output_size=[1]).item() - np.float32(0.1)) < 1e-7


@pytest.mark.parametrize(
    ("size", "attrs", "text"),
    [
        (
            (1, 1, 4),
            {"kernel": [2, 2]},
            r"kernel, stride, dilation and two of padding expected one number for each axis",
        ),
        ((1, 1, 4), {"kernel": [5]}, "kernel expected an element of x in every window, got x"),
        ((1, 1, 4), {"padding": [2, 0]}, "kernel expected an element of x in every window, got x"),
        ((1, 1, 0), {"output_size": [2]}, "x expected elements to share out, got"),
        ((1, 1, 4), {"output_size": [2, 2]}, "output_size expected one number for each axis of x"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(size, attrs, text):
    plain = {"kernel": [2], "stride": [2], "padding": [0, 0], "dilation": [1]}
    with pytest.raises(ShapeError, match=text):
        max_pool(np.zeros(size), **{**plain, **attrs})
