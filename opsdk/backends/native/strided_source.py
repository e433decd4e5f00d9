"""The walk over strided and broadcast operands as native code: an entry that runs another entry tile by tile.

A kernel is compiled for contiguous operands only. Where operands are not, their elements are brought into tiles small
enough for the first cache, so that no kernel needs a second, slower form of itself.

Imported only when something has to be compiled, since it imports Numba.

`sizes` holds: the entry's address, number of operands, number of inputs, number of dimensions; the shape; per operand
the item size; per operand the strides in bytes; per operand 1 where it is contiguous as a whole.
"""

from __future__ import annotations

import numpy as np
from numba import float64, int8, int16, int32, int64, types

from opsdk.backends.native.compiler import Export
from opsdk.backends.native.intrinsics import address_of, call_entry, pointer_to, stack
from opsdk.backends.vmath.jit import njit

TILE = 512  # elements; 16 operands of 8 bytes are 64 KiB of stack
LONG_ROW = 256  # rows at least this long are walked in place where their elements stand side by side

_i8, _i16, _i32, _i64 = pointer_to(int8), pointer_to(int16), pointer_to(int32), pointer_to(int64)


@njit(error_model="numpy", no_cfunc_wrapper=True)
def _copy_run(target: int, to_step: int, source: int, from_step: int, count: int, item: int) -> None:
    """Copies elements between two places with any distance from element to element."""
    if item == 4:
        for i in range(count):
            _i32(target + i * to_step)[0] = _i32(source + i * from_step)[0]
    elif item == 8:
        for i in range(count):
            _i64(target + i * to_step)[0] = _i64(source + i * from_step)[0]
    elif item == 2:
        for i in range(count):
            _i16(target + i * to_step)[0] = _i16(source + i * from_step)[0]
    else:
        for i in range(count):
            _i8(target + i * to_step)[0] = _i8(source + i * from_step)[0]


@njit(error_model="numpy", no_cfunc_wrapper=True)
def _offset(row: int, dims: int, shape: int, strides: int) -> int:
    """Returns how far a row is from the operand's first element: all dimensions but the last."""
    offset = np.int64(0)
    for dim in range(dims - 2, -1, -1):
        size = _i64(shape)[dim]
        offset += (row % size) * _i64(strides)[dim]
        row //= size
    return offset


@njit(error_model="numpy", no_cfunc_wrapper=True)
def _copy_tile(
    tile: int, base: int, at: int, count: int, dims: int, shape: int, strides: int, item: int, outward: bool
) -> None:
    """Copies elements `at ≤ i < at + count` of an operand into a tile, or out of it."""
    inner, step = _i64(shape)[dims - 1], _i64(strides)[dims - 1]
    row, column, done = at // inner, at % inner, np.int64(0)
    while done < count:
        run = min(inner - column, count - done)
        place = base + _offset(row, dims, shape, strides) + column * step
        if outward:
            _copy_run(place, step, tile + done * item, item, run, item)
        else:
            _copy_run(tile + done * item, item, place, step, run, item)
        done += run
        row += 1
        column = np.int64(0)


def strided(pointers: int, sizes: int, attrs: int, start: int, stop: int) -> int:
    """Runs an elementwise entry on operands of any strides; `start` and `stop` count elements in row-major order."""
    head = _i64(address_of(sizes))
    entry, operands, inputs, dims = head[0], head[1], head[2], head[3]
    shape = address_of(sizes) + 32
    items = shape + 8 * dims
    strides = items + 8 * operands
    dense = strides + 8 * operands * dims
    tiles, given = stack(operands * TILE * 8), stack(operands * 8)
    inner = _i64(shape)[dims - 1]
    long_rows = inner >= LONG_ROW
    base = _i64(address_of(pointers))
    copies = np.int64(0)
    for i in range(operands):
        steps_on = _i64(strides)[i * dims + dims - 1] == _i64(items)[i]
        if _i64(dense)[i] == 0 and not (long_rows and steps_on):
            copies += 1
    status, at = np.int32(0), start
    while at < stop and status == 0:
        count = stop - at
        column = at % inner
        if long_rows:
            count = min(count, inner - column)
        if copies > 0 or not long_rows:
            count = min(count, np.int64(TILE))
        for i in range(operands):
            item, own = _i64(items)[i], strides + 8 * i * dims
            tile = tiles + i * TILE * 8
            if _i64(dense)[i] != 0:
                _i64(given)[i] = base[i] + at * item
            elif long_rows and _i64(own)[dims - 1] == item:
                _i64(given)[i] = base[i] + _offset(at // inner, dims, shape, own) + column * item
            else:
                _i64(given)[i] = tile
                if i < inputs:
                    _copy_tile(tile, base[i], at, count, dims, shape, own, item, False)
        status = call_entry(entry, given, address_of(sizes), address_of(attrs), np.int64(0), count)
        for i in range(inputs, operands):
            if _i64(given)[i] == tiles + i * TILE * 8:
                own = strides + 8 * i * dims
                _copy_tile(_i64(given)[i], base[i], at, count, dims, shape, own, _i64(items)[i], True)
        at += count
    return status


def exports() -> list[Export]:
    """Returns the one symbol of the walk."""
    pointer = types.CPointer(int64)
    return [Export("opsdk_strided", strided, int32(pointer, pointer, types.CPointer(float64), int64, int64))]
