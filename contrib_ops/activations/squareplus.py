"""Squareplus, a softplus made of algebra only."""

import numpy as np

import opsdk
from opsdk import vmath

# (x + √(x² + b))/2 as it stands loses every digit where x is far below 0, and x² overflows. It is x₊ + tail, where
# tail = b / (2 (√(x² + b) + |x|)) and x₊ = max(x, 0). Both halves are smooth at 0 if 0 is taken as one side in both.


@opsdk.elementwise("contrib::squareplus(Tensor x, *, float > 0 b=4.0) -> Tensor y")
def squareplus(x, b):
    """(x + √(x² + b)) / 2 (Barron 2021, Squareplus: A Softplus-Like Rectifier, eq. 1).

    Args:
        x: float array of any shape.
        b: how round the bend is, > 0, in units of x²: y(0) is √b / 2. With 4 log² 2 that is softplus's; towards 0 y
            becomes relu, which it would be at 0.

    Returns y of the shape of x. Full precision for every finite x: for x far below 0 it is b / (4 |x|), not 0. From
    ∞, -∞ and nan come ∞, 0 and nan.

    Raises ValueError: b is not above 0.

    Gradient: with respect to x, to any order; b is an attribute. At ±∞ it is nan.
    """
    size = vmath.where(x < 0, -x, x)
    tail = 0.5 * b / (vmath.hypot(x, vmath.sqrt(b)) + size)
    return tail + vmath.where(x < 0, 0.0, x)


@squareplus.samples
def squareplus_samples(rng):
    yield opsdk.Sample(rng.normal(size=(3, 5)), reason="matrix")
    yield opsdk.Sample(np.array([-2.0, -0.0, 0.0, 1.5]), b=1.0, reason="both zeros, another bend")
    yield opsdk.Sample(np.array([-30.0, 30.0, -1e3, 1e3]), reason="x + √(x² + b) would cancel")
    yield opsdk.Sample(np.array(0.5), b=4 * np.log(2) ** 2, reason="0-d, softplus's value at 0")
    yield opsdk.Sample(np.zeros((0, 4)), reason="empty")
