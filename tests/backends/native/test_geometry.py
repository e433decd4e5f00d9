"""Geometry: the walk over operands is the one that NumPy's broadcasting gives, in as few dimensions as will do."""

import itertools

import numpy as np
import pytest

from opsdk.backends.native.geometry import collapsed, geometry_of


def offsets(dims, strides):
    """Returns the byte offsets that a walk in row-major order gives."""
    return [
        sum(i * step for i, step in zip(index, strides, strict=True)) for index in itertools.product(*map(range, dims))
    ]


def of_numpy(array, shape):
    return offsets(shape, np.broadcast_to(array, shape).strides)


BASE = np.zeros((4, 6, 5), np.float32)
CASES = {
    "contiguous": ((4, 6, 5), [BASE, BASE], 1),
    "one scalar": ((4, 6, 5), [BASE, np.zeros(())], 1),
    "last dimension broadcast": ((4, 6, 5), [BASE, np.zeros((4, 6, 1))], 2),
    "first dimension broadcast": ((4, 6, 5), [BASE, np.zeros((6, 5))], 2),
    "middle dimension broadcast": ((4, 6, 5), [BASE, np.zeros((4, 1, 5))], 3),
    "column by row": ((4, 6), [np.zeros((4, 1)), np.zeros(6)], 2),
    "sliced": ((2, 6, 5), [BASE[::2], np.zeros((2, 6, 5))], 2),
    "reversed": ((4, 6, 5), [BASE[:, :, ::-1], BASE], 2),
    "reversed as a whole": ((4, 6, 5), [BASE[::-1, ::-1, ::-1]], 1),
    "transposed": ((5, 6, 4), [BASE.T, np.zeros((5, 6, 4))], 3),
    "transposed alike": ((5, 6, 4), [BASE.T, BASE.T], 3),
    "sizes of one": ((1, 4, 1, 6, 5, 1), [BASE.reshape(1, 4, 1, 6, 5, 1)], 1),
    "one element": ((1, 1), [np.zeros((1, 1)), np.zeros(())], 1),
    "no dimension": ((), [np.zeros(())], 1),
    "repeated by strides": ((3, 5), [np.lib.stride_tricks.as_strided(BASE, (3, 5), (0, 4))], 2),
}


@pytest.mark.parametrize("case", CASES)
def test_the_walk_is_numpys(case):
    shape, arrays, dims = CASES[case]
    size, made = geometry_of(77, shape, arrays, len(arrays))
    sizes = list(made)
    count = len(arrays)
    assert sizes[:4] == [77, count, count, dims]
    sides, items = sizes[4 : 4 + dims], sizes[4 + dims : 4 + dims + count]
    rest = sizes[4 + dims + count :]
    assert items == [array.itemsize for array in arrays]
    for i, array in enumerate(arrays):
        steps = rest[i * dims : (i + 1) * dims]
        assert offsets(sides, steps) == of_numpy(array, shape)
        dense = rest[count * dims + i]
        walked = of_numpy(array, shape)
        if dense:
            assert walked == [j * array.itemsize for j in range(len(walked))]
        elif size > 1:
            assert walked != [j * array.itemsize for j in range(len(walked))]
    assert size == int(np.prod(shape))


def test_an_empty_shape_has_no_elements():
    assert geometry_of(1, (3, 0), [np.zeros((3, 0)), np.zeros((3, 1))], 2)[0] == 0


def test_dimensions_are_joined_only_where_every_operand_allows():
    assert collapsed((2, 3, 4), [[48, 16, 4], [0, 16, 4]]) == ([2, 12], [[48, 4], [0, 4]])
    assert collapsed((2, 3, 4), [[48, 16, 4], [4, 0, 0]]) == ([2, 12], [[48, 4], [4, 0]])
    assert collapsed((2, 3, 4), [[48, 16, 4], [0, 4, 0]]) == ([2, 3, 4], [[48, 16, 4], [0, 4, 0]])
    assert collapsed((1, 1), [[0, 0], [8, 8]]) == ([1], [[0], [0]])
