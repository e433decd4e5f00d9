"""Numba row of `rotary_embedding`: one pass over x.

Tables stay as small as they are; each row of x looks up its own.
"""

import numba
import numpy as np


def forward(x, cos, sin, interleaved, y):
    half = cos.shape[-1]
    rows, out = np.ascontiguousarray(x).reshape(-1, 2 * half), y.reshape(-1, 2 * half)
    cosines, sines = np.ascontiguousarray(cos).reshape(-1, half), np.ascontiguousarray(sin).reshape(-1, half)
    step, apart = (2, 1) if interleaved else (1, half)
    for i in range(rows.shape[0]):
        at = table_row(i, x.shape, cos.shape)
        for j in range(half):
            c, s = y.dtype.type(cosines[at, j]), y.dtype.type(sines[at, j])
            a, b = rows[i, step * j], rows[i, step * j + apart]
            out[i, step * j] = a * c - b * s
            out[i, step * j + apart] = b * c + a * s


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
