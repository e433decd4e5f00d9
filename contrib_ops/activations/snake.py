"""Snake, a periodic activation with a frequency that is learned."""

import math

import numpy as np

import opsdk
from opsdk import vmath

NEAR = 0.25  # |alpha · x| below which the series is used; the quotient's second derivative loses 1/NEAR² there
# sin²u / u = Σ (-1)ᵏ⁺¹ (2u)²ᵏ⁻¹ / (2k)!, k = 1, 2, …; at NEAR the first term that is left out is 1e-21, so that the
# first derivatives are exact too.
SERIES = [(-1) ** (k + 1) * 2.0 ** (2 * k - 1) / math.factorial(2 * k) for k in range(1, 9)]


def sine_series(u):
    """sin²u / u by its power series, where a quotient and its derivatives would be 0/0."""
    square, total = u * u, SERIES[-1]
    for coefficient in reversed(SERIES[:-1]):
        total = total * square + coefficient
    return total * u


@opsdk.elementwise("contrib::snake(Tensor x, Tensor alpha) -> Tensor y")
def snake(x, alpha):
    """x + sin²(alpha · x) / alpha (Ziyin, Hartwig and Ueda 2020, eq. 3).

    Args:
        x: float array.
        alpha: frequencies in radians per unit of x, of any sign and of a shape that broadcasts with x: for one per
            channel of x (batch, channels, time) of shape (channels, 1). At 0 and near it y is x + alpha · x², as the
            limit is, with the gradient of that.

    Returns y of the broadcast shape. nan where alpha · x is infinite or nan.

    Gradient: with respect to x and alpha, to any order.
    """
    u = alpha * x
    is_near = vmath.abs(u) < NEAR
    near = vmath.where(is_near, u, 0.0)
    far = vmath.where(is_near, 1.0, u)
    return x + x * vmath.where(is_near, sine_series(near), vmath.square(vmath.sin(far)) / far)


@snake.samples
def snake_samples(rng):
    yield opsdk.Sample(rng.normal(size=(3, 5)), rng.uniform(0.5, 3, 5), reason="a frequency per column")
    yield opsdk.Sample(rng.normal(size=(2, 3, 4)), rng.uniform(0.5, 3, (3, 1)), reason="a frequency per channel")
    yield opsdk.Sample(rng.normal(size=7), np.array(-1.3), reason="one frequency, negative")
    yield opsdk.Sample(rng.normal(size=(2, 3)), np.zeros(3), reason="alpha 0: the identity")
    yield opsdk.Sample(np.array([1.0, -2.0, 0.0]), np.array([1e-200, -1e-8, 1e-3]), reason="alpha near 0")
    yield opsdk.Sample(np.array([0.2499, 0.2501, -0.25]), np.array(1.0), reason="both sides of where the series ends")
    yield opsdk.Sample(np.zeros((0, 4)), np.ones(4), reason="empty")


@snake.bench
def snake_bench(rng, n):
    """A frequency for each of 1024 columns."""
    return opsdk.Sample(rng.normal(size=(max(1, n // 1024), 1024)), rng.uniform(0.5, 3, 1024))
