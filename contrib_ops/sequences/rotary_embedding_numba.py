"""Numba kernel of `rotary_embedding`: one pass over x.

Tables stay as small as they are; each row of x looks up its own.
"""

import numba
import numpy as np


def forward(x, cos, sin, interleaved, y):
    half = cos.shape[-1]
    rows, out = np.ascontiguousarray(x).reshape(-1, 2 * half), y.reshape(-1, 2 * half)
    cosines, sines = np.ascontiguousarray(cos).reshape(-1, half), np.ascontiguousarray(sin).reshape(-1, half)
    for i in range(rows.shape[0]):
        at = table_row(i, x.shape, cos.shape)
        if interleaved:
            turn(rows[i, ::2], rows[i, 1::2], cosines[at], sines[at], out[i, ::2], out[i, 1::2])
        else:
            turn(rows[i, :half], rows[i, half:], cosines[at], sines[at], out[i, :half], out[i, half:])


@numba.njit
def turn(a, b, cos, sin, first, second):
    for j in range(len(cos)):
        c, s = first.dtype.type(cos[j]), first.dtype.type(sin[j])
        first[j], second[j] = a[j] * c - b[j] * s, b[j] * c + a[j] * s


@numba.njit
def table_row(row, shape, table):
    """Returns which row of a table, of shape `table`, broadcasts to a row of x, of shape `shape`."""
    found, stride = 0, 1
    for back in range(2, len(table) + 1):
        size = table[len(table) - back]
        found += row % shape[len(shape) - back] * stride * (size > 1)
        stride *= size
        row //= shape[len(shape) - back]
    return found
