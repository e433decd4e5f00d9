"""Von Mises: the negative logarithm of a density of angles, the loss of a predicted direction with its certainty."""

import math

import numpy as np

import opsdk
from opsdk import vmath


@opsdk.elementwise(
    "contrib::von_mises_nll(Tensor angle, Tensor loc, Tensor concentration) -> Tensor nll",
    domain={"concentration": (0.0, None)},
)
def von_mises_nll(angle, loc, concentration):
    """log 2π I₀(κ) - κ cos(angle - loc) (Mardia and Jupp 2000, Directional Statistics, eq. 3.5.17).

    Args:
        angle: in radians, of any turn.
        loc: the most likely angle.
        concentration: κ ≥ 0; at 0 every angle is as likely as another, and 1/κ is the variance where it is large.

    All broadcast. Values are those of `-scipy.stats.vonmises.logpdf(angle, concentration, loc)`. I₀ and the cosine both
    are taken with e^κ divided out, so that nothing overflows, and no digits are lost, however certain the direction is.

    Gradient: with respect to all three, to any order; that in κ has the ratio of Bessel functions in it.
    """
    half = vmath.sin(0.5 * (angle - loc))
    return math.log(2.0 * math.pi) + vmath.log(vmath.i0e(concentration)) + 2.0 * concentration * half * half


@von_mises_nll.samples
def von_mises_nll_samples(rng):
    angles = rng.uniform(-np.pi, np.pi, (3, 4))
    yield opsdk.Sample(angles, rng.normal(size=(3, 4)), np.exp(rng.normal(size=(3, 4))), reason="matrix")
    yield opsdk.Sample(angles, rng.normal(size=(3, 1)), np.array(2.5), reason="broadcast")
    yield opsdk.Sample(angles[0] + 6 * np.pi, np.zeros(4), np.array([0.01, 7.9, 8.1, 700.0]), reason="certain or not")
    yield opsdk.Sample(np.zeros((0, 2)), np.zeros(2), np.ones(2), reason="empty")


@von_mises_nll.bench
def von_mises_nll_bench(rng, n):
    return opsdk.Sample(rng.uniform(-np.pi, np.pi, n), np.zeros(n), np.full(n, 3.0))
