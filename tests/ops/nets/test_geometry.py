"""Tests of opsdk.ops.nets.geometry."""

import pytest

from opsdk.ops.nets.geometry import tap, windows_along, windows_count, windows_sharing


@pytest.mark.parametrize("size", [1, 2, 5, 6])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("shift", [-7, -2, -1, 0, 1, 4, 9])
def test_a_tap_is_read_by_all_outputs_that_have_it(size, stride, shift):
    expected = [(i, i * stride + shift) for i in range(3) if 0 <= i * stride + shift < size]
    found = tap(size, 3, stride, shift)
    made = [] if found is None else list(zip(range(3)[found[0]], range(size)[found[1]], strict=True))
    assert made == expected


def test_a_last_window_beyond_the_end_counts_if_it_begins_before():
    assert windows_count(4, 3, 2, 0, 0, 1, False) == 1
    assert windows_count(4, 3, 2, 0, 0, 1, True) == 2
    assert windows_count(3, 1, 3, 0, 0, 1, True) == 1  # Paddle counts 2, the second of nothing


def test_windows_know_their_elements_and_places():
    windows = windows_along(4, 3, 2, 1, 1, 1, True)
    assert windows.spans == [(0, 2), (1, 4), (3, 4)]
    assert windows.places == [3, 3, 2]
    assert windows_sharing(7, 3).spans == [(0, 3), (2, 5), (4, 7)]
