"""Root mean square normalization of rows."""

import numpy as np

import opsdk
from opsdk import vmath


@opsdk.rowwise(
    "contrib::rms_norm(Tensor x, Tensor weight, *, float >= 0 eps=1e-6) -> Tensor y",
    per_column=("weight",),
)
def rms_norm(x, weight, *, eps):
    """x / √(mean(x²) + eps) · weight over the last axis (Zhang and Sennrich 2019, eq. 4).

    What `torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps)` gives; its eps of None is
    `np.finfo(x.dtype).eps` here.

    Args:
        x: float array of shape (…, n).
        weight: float array of shape (n,); ones leave the rows as they are normalized.
        eps: added to the mean square, ≥ 0; in units of x². Without it a row of zeros is nan.

    Returns y of the shape of x. A nan or an infinity in a row is seen in all of the row: nan, and 0 beside an infinity.
    Squares are formed, so |x| has to stay below √(greatest float), 1e19 in float32.

    Raises ValueError: weight is not of shape (n,), or x has no axis.

    Gradient: with respect to x and weight, to any order; eps is an attribute.
    """
    return x * vmath.rsqrt(vmath.row_mean(x * x) + eps) * weight


@rms_norm.samples
def rms_norm_samples(rng):
    yield opsdk.Sample(rng.normal(size=(3, 5)), rng.normal(size=5), reason="matrix")
    yield opsdk.Sample(rng.normal(size=(2, 3, 4)), rng.normal(size=4), eps=0.1, reason="3-d, another eps")
    yield opsdk.Sample(rng.normal(size=7), rng.normal(size=7), reason="a single row")
    yield opsdk.Sample(rng.normal(size=(2, 67)), rng.normal(size=67), reason="longer than a vector, an odd length")
    yield opsdk.Sample(np.array([[0.0, 0.0], [1e-4, -2e-4]]), np.ones(2), reason="rows that eps decides")
    yield opsdk.Sample(np.zeros((0, 4)), np.ones(4), reason="no rows")
