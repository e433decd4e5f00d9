"""The walk over strided operands, driven with an entry of this file: which elements meet, and in which pieces."""

import itertools

import numpy as np
import pytest

from opsdk.backends.native.runtime import PROTOTYPE, ffi, geometry_of, strided_address
from opsdk.backends.native.strided_source import LONG_ROW, TILE

STATUS = 5


@pytest.fixture
def walk():
    """Runs the walk over arrays, outputs last, with an entry that adds its inputs; gives the sizes of its calls."""
    tools = ffi()

    def run(arrays, outputs=1, start=0, stop=None, fail_at=None):
        shape = arrays[-1].shape
        kind = np.dtype(arrays[-1].dtype)
        inputs = len(arrays) - outputs
        counts = []

        @tools.callback(PROTOTYPE)
        def entry(pointers, sizes, attrs, first, last):
            assert first == 0
            counts.append(last)
            views = [
                np.frombuffer(tools.buffer(pointers[i], last * array.itemsize), array.dtype)
                for i, array in enumerate(arrays)
            ]
            for k in range(outputs):
                views[inputs + k][:] = sum(view.astype(kind) for view in views[:inputs]) * (k + 1) + attrs[0]
            return STATUS if len(counts) == fail_at else 0

        size, sizes = geometry_of(int(tools.cast("intptr_t", entry)), shape, arrays, inputs)
        pointers = tools.new("void *[]", [tools.cast("void *", a.__array_interface__["data"][0]) for a in arrays])
        call = tools.cast(PROTOTYPE, strided_address())
        stop = size if stop is None else stop
        status = call(pointers, sizes, tools.new("double[]", [0.5]), start, stop)
        return status, counts

    return run


def random_layout(rng, shape, dtype):
    """Returns an array that broadcasts to a shape: sizes of one, missing dimensions, steps, and any order of axes."""
    missing = rng.integers(0, len(shape) + 1) if rng.random() < 0.3 else 0
    own = tuple(1 if rng.random() < 0.3 else size for size in shape)[missing:]
    steps = [int(rng.integers(1, 4)) for _ in own]
    order = rng.permutation(len(own))
    base = rng.integers(-50, 50, [own[i] * steps[i] for i in order]).astype(dtype)
    array = base.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]
    return np.asarray(array[tuple(slice(None, None, -1) if rng.random() < 0.3 else slice(None) for _ in own)])


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64"])
def test_the_elements_that_meet_are_numpys(rng, walk, dtype):
    for shape in [(3,), (2, 5), (4, 1, 3), (2, 3, 2, 2), (3, LONG_ROW + 5), (2, 2, LONG_ROW), (2, TILE + 3), (1, 1)]:
        for _ in range(4):
            left, right = (random_layout(rng, shape, dtype) for _ in range(2))
            out = np.full(shape, 77, "float64")
            status, counts = walk([left, right, out])
            assert (status, sum(counts)) == (0, out.size)
            np.testing.assert_array_equal(out, np.broadcast_to(left.astype(float) + right.astype(float) + 0.5, shape))


def test_any_range_of_elements_is_done_and_nothing_else(walk):
    left, right = np.arange(12.0).reshape(3, 4).T, np.arange(3.0)
    expected = (left + right + 0.5).ravel()
    for start, stop in itertools.combinations(range(13), 2):
        out = np.full((4, 3), 99.0)
        walk([left, right, out], start=start, stop=stop)
        flat = out.ravel()
        assert flat[start:stop].tolist() == expected[start:stop].tolist()
        assert (np.delete(flat, range(start, stop)) == 99.0).all()


def test_a_range_that_starts_within_a_long_row_is_right(walk):
    left, right = np.arange(3.0)[:, np.newaxis], np.arange(LONG_ROW + 50.0)
    out = np.full((3, right.size), 99.0)
    start, stop = 70, 2 * right.size + 11
    walk([left, right, out], start=start, stop=stop)
    expected = (left + right + 0.5).ravel()
    assert out.ravel()[start:stop].tolist() == expected[start:stop].tolist()
    assert (np.delete(out.ravel(), range(start, stop)) == 99.0).all()


def test_results_may_be_strided_and_several(walk):
    left, right = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    outs = [np.full((4, 3), 99.0).T, np.full((3, 8), 99.0)[:, ::2]]
    walk([left, right, *outs], outputs=2)
    np.testing.assert_array_equal(outs[0], left + right + 0.5)
    np.testing.assert_array_equal(outs[1], 2 * (left + right) + 0.5)


def test_long_rows_that_stand_side_by_side_are_not_copied(walk):
    left = np.zeros((3, 4 * TILE))[:, : 3 * TILE]  # rows with a gap
    out = np.zeros((3, 3 * TILE))
    _, counts = walk([left, left, out])
    assert counts == [3 * TILE] * 3


def test_short_rows_are_gathered_into_tiles(walk):
    left = np.zeros((TILE, 6))[:, ::2]
    _, counts = walk([left, left, np.zeros((TILE, 3))])
    assert counts == [TILE] * 3


def test_a_status_stops_the_walk(walk):
    left = np.zeros((TILE, 6))[:, ::2]
    status, counts = walk([left, left, np.zeros((TILE, 3))], fail_at=2)
    assert (status, len(counts)) == (STATUS, 2)
