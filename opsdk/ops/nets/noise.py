"""Random numbers of the shape of a value, which functions of several ops are made with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opsdk.define.decorators import op
from opsdk.define.infer import like
from opsdk.define.sample import Sample


@op(
    "opsdk::random_slopes(Tensor<float> x, *, float lower, float upper, bool training=True, Generator rng) "
    "-> Tensor out",
    infer=like("x"),
    nondifferentiable=("x", "out"),
)
def random_slopes(x: np.ndarray, *, lower: float, upper: float, training: bool, rng: np.random.Generator) -> np.ndarray:
    """Numbers spread evenly over [lower, upper), of the shape of x; their middle where nothing is trained.

    Args:
        x: floats, of which the shape and the dtype matter.
        lower: the least number.
        upper: the end.
        training: False: (lower + upper) / 2 everywhere.
        rng: generator of which the call takes the next draw.
    """
    if not training:
        return np.full_like(x, (lower + upper) / 2)
    return (lower + (upper - lower) * _uniform(x, rng)).astype(x.dtype)


@op(
    "opsdk::gumbel_noise(Tensor<float> x, *, Generator rng) -> Tensor out",
    infer=like("x"),
    nondifferentiable=("x", "out"),
)
def gumbel_noise(x: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Numbers of Gumbel's distribution, -log(-log u), of the shape of x (Maddison et al. 2017).

    Args:
        x: floats, of which the shape and the dtype matter.
        rng: generator of which the call takes the next draw.
    """
    return (-np.log(-np.log1p(-_uniform(x, rng)))).astype(x.dtype)


def _uniform(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns numbers in [0, 1) of the shape of x, drawn where x is."""
    return rng.random(out=np.empty(x.shape, like=x))


@random_slopes.samples
def _slopes(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 7)), lower=0.125, upper=0.25, reason="drawn")
    yield Sample(rng.normal(size=5), lower=0.0, upper=1.0, training=False, reason="their middle")
    yield Sample(np.zeros((0, 4)), lower=0.0, upper=1.0, reason="empty")


@gumbel_noise.samples
def _gumbels(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 7)), reason="drawn")
    yield Sample(np.zeros((0, 4)), reason="empty")
