"""Numba kernels of `scatter_mean` and `scatter_max`: arrays are (before the axis, along it, after it), read once."""

import numba
import numpy as np


def mean(src, index, size, axis, y, counts):
    before, count, after = extents(src.shape, axis)
    values, made = src.reshape(before, count, after), y.reshape(before, size, after)
    places, step = index.reshape(-1), steps(index.size, count, after, before)
    held = counted(index, size, axis, counts)
    for b in range(before):
        sums = np.zeros((size, after))
        for i in range(count):
            for j in range(after):
                sums[places[b * step[0] + i * step[1] + j * step[2]], j] += values[b, i, j]
        made[b] = sums / np.maximum(held[b % len(held)], 1)


def mean_backward(index, counts, dy, size, axis, dsrc):
    before, count, after = extents(dsrc.shape, axis)
    arriving, made = dy.reshape(before, size, after), dsrc.reshape(before, count, after)
    places, step = index.reshape(-1), steps(index.size, count, after, before)
    lines, _, width = extents(counts.shape, axis if counts.ndim > 1 else 0)
    held = counts.reshape(lines, size, width)
    for b in range(before):
        shares = arriving[b] / np.maximum(held[b % lines], 1)
        for i in range(count):
            for j in range(after):
                made[b, i, j] = shares[places[b * step[0] + i * step[1] + j * step[2]], j]


@numba.njit
def counted(index, size, axis, counts):
    """Fills in how many elements each place has; returns that as (before the axis, along it, after it)."""
    before, count, after = extents(index.shape, axis if index.ndim > 1 else 0)
    places, held = index.reshape(before, count, after), counts.reshape(before, size, after)
    held[:] = 0
    for b in range(before):
        for i in range(count):
            for j in range(after):
                held[b, places[b, i, j], j] += 1
    return held


def maximum(src, index, size, axis, y, arg):
    before, count, after = extents(src.shape, axis)
    values, made = src.reshape(before, count, after), y.reshape(before, size, after)
    at, places = arg.reshape(before, size, after), index.reshape(-1)
    step = steps(index.size, count, after, before)
    made[:], at[:] = 0, count
    for b in range(before):
        for i in range(count):
            for j in range(after):
                s, value = places[b * step[0] + i * step[1] + j * step[2]], values[b, i, j]
                best = made[b, s, j]
                if at[b, s, j] == count or value > best or (value != value and best == best):
                    made[b, s, j], at[b, s, j] = value, i


def maximum_backward(arg, dy, axis, dsrc):
    before, count, after = extents(dsrc.shape, axis)
    size = arg.shape[axis]
    at, arriving = arg.reshape(before, size, after), dy.reshape(before, size, after)
    made = dsrc.reshape(before, count, after)
    made[:] = 0
    for b in range(before):
        for s in range(size):
            for j in range(after):
                if at[b, s, j] < count:
                    made[b, at[b, s, j], j] = arriving[b, s, j]


@numba.njit
def extents(shape, axis):
    """Returns how many elements lie before the axis, along it and after it."""
    before, after = 1, 1
    for a in range(len(shape)):
        if a < axis % len(shape):
            before *= shape[a]
        elif a > axis % len(shape):
            after *= shape[a]
    return before, shape[axis], after


@numba.njit
def steps(size, count, after, before):
    """Returns how far apart the indices lie that belong to neighbours before, along and after the axis."""
    return (count * after, after, 1) if size == before * count * after else (0, 1, 0)
