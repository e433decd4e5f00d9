"""Which elements of an input are differentiated one by one."""

from __future__ import annotations

import numpy as np

from gradcheck.model.dtypes import IntArray

# Off-by-one faults live at the ends: that many elements at each end are always taken.
_ENDS = 8


def sample_elements(size: int, limit: int, generator: np.random.Generator) -> IntArray:
    """Takes all of `size` elements if `limit` allows, else the first and last eight and random ones between.

    Returns:
        Sorted flat indices, shape (min(size, limit),).
    """
    if size <= limit:
        return np.arange(size, dtype=np.int64)
    ends = min(_ENDS, max(1, limit // 4))
    middle = generator.choice(np.arange(ends, size - ends), size=max(limit - 2 * ends, 0), replace=False)
    return np.concatenate([np.arange(ends), np.sort(middle), np.arange(size - ends, size)]).astype(np.int64)
