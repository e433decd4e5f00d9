"""Probit loss: cross entropy of a class whose probability is the normal distribution function of the input."""

import numpy as np

import opsdk
from opsdk import vmath


@opsdk.elementwise(
    "contrib::probit_loss(Tensor inputs, Tensor targets) -> Tensor loss",
    domain={"targets": (0.0, 1.0)},
)
def probit_loss(inputs, targets):
    """-t log Φ(x) - (1 - t) log Φ(-x) (McCullagh and Nelder 1989, Generalized Linear Models, section 4.3).

    Args:
        inputs: x, float array; Φ(x) is the probability of the positive class.
        targets: t, 1 for the positive class, 0 for the other, or in between; broadcasts with inputs.

    Nothing underflows: -log Φ(x) is x²/2 and a logarithm far left, where Φ(x) is 0 from -38 on. A class that counts
    nothing adds 0, however unlikely it is.

    Gradient: with respect to inputs and targets, to any order; that of -log Φ is the inverse Mills ratio.
    """
    others = 1.0 - targets
    one = vmath.where(targets == 0.0, 0.0, targets * vmath.log_ndtr(inputs))
    other = vmath.where(others == 0.0, 0.0, others * vmath.log_ndtr(-inputs))
    return -(one + other)


@probit_loss.samples
def probit_loss_samples(rng):
    labels = rng.integers(0, 2, (3, 5)).astype(float)
    yield opsdk.Sample(rng.normal(size=(3, 5)), labels, reason="matrix")
    yield opsdk.Sample(rng.normal(size=(2, 3)), rng.uniform(size=(2, 3)), reason="soft targets")
    yield opsdk.Sample(np.array([-45.0, 45.0, -7.0, 7.0] * 2), np.repeat([0.0, 1.0], 4), reason="far out")
    yield opsdk.Sample(rng.normal(size=(2, 3)), np.array([0.0, 1.0, 1.0]), reason="targets that broadcast")
    yield opsdk.Sample(np.zeros((0, 4)), np.zeros((0, 4)), reason="empty")


@probit_loss.bench
def probit_loss_bench(rng, n):
    return opsdk.Sample(rng.normal(size=n), rng.integers(0, 2, n).astype(float))
