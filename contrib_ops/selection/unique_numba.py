"""Numba kernel of `unique`: positions by rising elements, and a pass over the runs of equal ones."""

import numba
import numpy as np


def forward(x, values, inverse, counts):
    return runs(x.reshape(x.size), values, inverse.reshape(x.size), counts)


@numba.njit
def runs(elements, values, places, counts):
    filled = 0
    for i in np.argsort(elements, kind="mergesort"):  # nan is behind all numbers, and equal to nan
        value = elements[i]
        before = values[filled - 1] if filled else value
        if not filled or (value != before and (value == value or before == before)):
            values[filled], counts[filled] = value, 0
            filled += 1
        places[i] = filled - 1
        counts[filled - 1] += 1
    return filled
