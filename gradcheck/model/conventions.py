"""The two conventions of complex gradients, and the move between them.

For a real loss L and z = x + iy, "conjugate" stores dL/dx + i dL/dy, as PyTorch and Paddle do; "plain" stores its
conjugate, as JAX does. Both hold for gradients and for cotangents alike. Inside the judge everything is "conjugate",
where the two parts of a gradient are the derivatives along the two parts of the input.
"""

from __future__ import annotations

import numpy as np

from gradcheck.model.dtypes import Array, is_complex

CONVENTIONS = ("conjugate", "plain")


def to_conjugate(gradient: Array, convention: str) -> Array:
    """Takes a gradient or cotangent from `convention` to "conjugate", or back."""
    if convention == "conjugate" or not is_complex(gradient.dtype):
        return gradient
    return np.asarray(np.conj(gradient))
