"""Negative binomial: the negative logarithm of the probability of a count, given its mean and its overdispersion."""

import numpy as np

import opsdk
from opsdk import vmath


@opsdk.elementwise(
    "contrib::negative_binomial_nll(Tensor count, Tensor mean, Tensor total) -> Tensor nll",
    domain={"count": (0.0, None), "mean": (0.0, None), "total": (0.0, None)},
)
def negative_binomial_nll(count, mean, total):
    """-log P(count), of mean μ and variance μ + μ²/r (Hilbe 2011, Negative Binomial Regression, eq. 8.13).

    -log Γ(k + r) + log Γ(r) + log Γ(k + 1) + r log(1 + μ/r) + k log(1 + r/μ): the likelihood of counts of molecules in
    single cells (Lopez et al. 2018, scVI), and the Poisson distribution's as r grows.

    Args:
        count: k, whole numbers ≥ 0, of any float dtype; others are interpolated between.
        mean: μ, at least 0; at 0 every count but 0 is impossible, and gives inf.
        total: r, above 0; the larger, the less the counts vary.

    All broadcast. Values are those of `-scipy.stats.nbinom.logpmf(count, total, total / (total + mean))`. The lgamma
    cancel as r grows: an error of about r log r units in the last place of 1 is left.

    Gradient: with respect to all three, to any order.
    """
    combinations = vmath.lgamma(count + total) - vmath.lgamma(total) - vmath.lgamma(count + 1.0)
    nothing = (count == 0.0) & (mean == 0.0)  # 0 · ∞ otherwise
    seen = count * vmath.log1p(total / vmath.where(nothing, 1.0, mean))
    return total * vmath.log1p(mean / total) + seen - combinations


@negative_binomial_nll.samples
def negative_binomial_nll_samples(rng):
    def positive(*shape):
        return np.exp(rng.normal(size=shape))

    yield opsdk.Sample(rng.poisson(3.0, (3, 4)) * 1.0, positive(3, 4), positive(3, 4), reason="matrix")
    yield opsdk.Sample(rng.poisson(3.0, (2, 3)) * 1.0, positive(2, 1), positive(3), reason="broadcast: a row per gene")
    yield opsdk.Sample(np.zeros(3), np.array([0.01, 1.0, 50.0]), positive(3), reason="nothing was counted")
    yield opsdk.Sample(np.array([200.0, 1.0]), np.array([9.0, 0.01]), np.array([0.1, 30.0]), reason="far from the mean")
    yield opsdk.Sample(np.zeros((0, 2)), positive(2), positive(2), reason="empty")


@negative_binomial_nll.bench
def negative_binomial_nll_bench(rng, n):
    return opsdk.Sample(rng.poisson(2.0, n) * 1.0, np.full(n, 2.0), np.full(n, 1.5))
