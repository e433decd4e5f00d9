"""Student's t: the negative logarithm of its density, a loss that outliers count little in."""

import math

import numpy as np

import opsdk
from opsdk import vmath


@opsdk.elementwise(
    "contrib::student_t_nll(Tensor x, Tensor df, Tensor loc, Tensor scale) -> Tensor nll",
    domain={"df": (0.0, None), "scale": (0.0, None)},
)
def student_t_nll(x, df, loc, scale):
    """-log p(x), p Student's t density (Lange, Little and Taylor 1989, Robust Statistical Modeling Using the t, eq. 1).

    Args:
        x: float array.
        df: degrees of freedom ν, above 0.
        loc: where the density is largest.
        scale: width, above 0.

    All broadcast. Values are those of `-torch.distributions.StudentT(df, loc, scale).log_prob(x)`. The two lgamma
    cancel as ν grows: beside the result an error of about ν log ν units in the last place of 1 is left.

    Gradient: with respect to all four, to any order; that in df has digamma in it, the next one trigamma.
    """
    z = (x - loc) / scale
    log_norm = vmath.lgamma(0.5 * df) - vmath.lgamma(0.5 * (df + 1.0)) + 0.5 * vmath.log(math.pi * df)
    return log_norm + vmath.log(scale) + 0.5 * (df + 1.0) * vmath.log1p(z * z / df)


@student_t_nll.samples
def student_t_nll_samples(rng):
    def positive(*shape):
        return np.exp(rng.normal(size=shape))

    yield opsdk.Sample(
        rng.normal(size=(3, 4)), positive(3, 4), rng.normal(size=(3, 4)), positive(3, 4), reason="matrix"
    )
    yield opsdk.Sample(rng.normal(size=(2, 3)), positive(3), np.array(0.5), positive(2, 1), reason="broadcast")
    yield opsdk.Sample(rng.standard_cauchy(6) * 1e3, positive(6), np.zeros(6), np.ones(6), reason="outliers")
    yield opsdk.Sample(np.zeros(2), np.array([0.05, 60.0]), np.zeros(2), np.ones(2), reason="at the top, heavy, light")
    yield opsdk.Sample(np.zeros((0, 2)), positive(2), np.zeros(2), np.ones(2), reason="empty")


@student_t_nll.bench
def student_t_nll_bench(rng, n):
    return opsdk.Sample(rng.normal(size=n), np.array(4.0), np.zeros(n), np.ones(n))
