"""Numbers of 16 bits, which are stored and not computed with: a function of them is float32's, rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in, float32, promote_types


# Any, in both signatures: an array module, its arrays and numbers.
def rounded_once(function: Callable[..., Any], xp: Any, *values: Any) -> Any:
    """Returns what a function gives; of float16 and bfloat16 in float32, rounded to the dtype that all promote to.

    What is no float32 stays as it is: beside wider operands, and conditions.
    """
    dtypes = [value.dtype for value in values if hasattr(value, "dtype")]
    if not any(map(_is_half, dtypes)):
        return function(xp, *values)
    wide = [value.astype("float32") if _is_half(getattr(value, "dtype", None)) else value for value in values]
    made, joint = function(xp, *wide), promote_types(*dtypes)
    return made.astype(joint) if made.dtype == float32 and _is_half(joint) else made


def _is_half(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and computed_in(dtype) is not dtype
