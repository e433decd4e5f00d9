"""The built-in ops beside torch: what both are called, and on what inputs they are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import opsdk
from opsdk.nn import functional
from opsdk.ops import creation, logical, loss, matmul, normalization, reduction, shape
from tests.parity import differential_torch as theirs
from tests.parity.differential import Case

Draw = Callable[[np.random.Generator], list[np.ndarray]]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 6.0, 20.0, -20.0, 1e-3, -1e-4, 90.0, -90.0])
AT = np.array([[3, 3, 0], [1, 1, 2]])  # positions along an axis of 4
SHAPES = [((3, 5), (3, 5)), ((3, 5), (5,)), ((3, 1), (1, 5)), ((), (4,)), ((2, 1, 3), (4, 1))]


def reals(*shapes: tuple[int, ...], low: float = -3.0, high: float = 3.0) -> Draw:
    return lambda rng: [rng.uniform(low, high, s) for s in shapes]


def away(*shapes: tuple[int, ...]) -> Draw:
    """Numbers that are not near 0, of either sign."""
    return lambda rng: [rng.uniform(0.3, 2.5, s) * rng.choice((-1.0, 1.0), s) for s in shapes]


def special(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.permutation(SPECIAL)]


def pairs(low: float = -3.0) -> Draw:
    def draw(rng: np.random.Generator) -> list[np.ndarray]:
        return reals(*SHAPES[rng.integers(len(SHAPES))], low=low)(rng)

    return draw


def ties(rng: np.random.Generator) -> list[np.ndarray]:
    left, right = SHAPES[rng.integers(len(SHAPES))]
    return [rng.integers(-1, 2, left).astype(float), rng.integers(-1, 2, right).astype(float)]


def near_ties(rng: np.random.Generator) -> list[np.ndarray]:
    """Numbers that are equal here and there."""
    return [rng.integers(-2, 3, (4, 5)) / 2.0, rng.integers(-2, 3, (4, 5)) / 2.0]


def labelled(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.normal(size=(4, 6)) * 3, rng.integers(0, 6, (4, 1))]


def _pow(rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.uniform(0.3, 3.0, (3, 4)), rng.normal(size=(4,))]


# name: (ours, theirs, inputs, ...); several draws are several cases.
BUILT_IN: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[Draw]]] = {
    **{
        name: (getattr(opsdk, name), getattr(torch, name), [reals((4, 5)), special])
        for name in ("exp", "expm1", "sin", "cos", "tanh", "sigmoid", "erf", "square", "relu")
    },
    "abs": (opsdk.abs, theirs.absolute, [reals((4, 5)), special]),
    **{
        name: (getattr(opsdk, name), getattr(torch, name), [reals((4, 5), low=0.05, high=9.0)])
        for name in ("log", "log1p", "sqrt", "rsqrt", "reciprocal")
    },
    "tan": (opsdk.tan, torch.tan, [reals((4, 5), low=-1.3, high=1.3)]),
    "add": (opsdk.add, torch.add, [pairs(), ties]),
    "subtract": (opsdk.subtract, torch.sub, [pairs()]),
    "multiply": (opsdk.multiply, torch.mul, [pairs(), ties]),
    "divide": (opsdk.divide, torch.div, [pairs(low=0.3)]),
    "pow": (opsdk.pow, lambda x, y: theirs.Power.apply(*torch.broadcast_tensors(x, y)), [_pow]),
    "pow of a negative base": (lambda x: opsdk.pow(x, 4.0), lambda x: torch.pow(x, 4.0), [reals((4, 5)), away((7,))]),
    "pow, whole exponents": (lambda x: opsdk.pow(x, 3.0), lambda x: torch.pow(x, 3.0), [away((7,))]),
    "maximum": (opsdk.maximum, lambda x, y: torch.where(x >= y, x, y), [pairs(), ties]),
    "minimum": (opsdk.minimum, lambda x, y: torch.where(x <= y, x, y), [pairs(), ties]),
    "scale": (lambda x: -(x * 2.5 - 1.0), lambda x: -(x * 2.5 - 1.0), [reals((4, 5))]),
    "clip": (lambda x: opsdk.clip(x, -1.0, 1.0), lambda x: torch.clamp(x, -1.0, 1.0), [reals((4, 5)), special]),
    "relu6": (functional.relu6, F.relu6, [reals((4, 5), low=-2, high=8), special]),
    "silu": (functional.silu, F.silu, [reals((4, 5)), special]),
    "mish": (functional.mish, F.mish, [reals((4, 5)), special]),
    "gelu": (functional.gelu, lambda x: 0.5 * x * torch.erfc(-x * 0.5**0.5), [reals((4, 5)), special]),
    "gelu, tanh": (lambda x: functional.gelu(x, "tanh"), theirs.gelu_tanh, [reals((4, 5)), special]),
    "softplus": (functional.softplus, lambda x: torch.logaddexp(x, torch.zeros_like(x)), [reals((4, 5)), special]),
    "softplus, beta": (
        lambda x: functional.softplus(x, 3.0), lambda x: torch.logaddexp(3 * x, 0 * x) / 3, [reals((4, 5))]
    ),
    "leaky_relu": (
        lambda x: functional.leaky_relu(x, 0.1), lambda x: F.leaky_relu(x, 0.1), [reals((4, 5)), special]
    ),
    "elu": (lambda x: functional.elu(x, 1.5), theirs.elu, [reals((4, 5)), special]),
    "hardswish": (functional.hardswish, lambda x: x * F.relu6(x + 3) / 6, [reals((4, 5), low=-5, high=5)]),
    "sum": (opsdk.sum, torch.sum, [reals((3, 7)), reals((4000,), low=0.5, high=1.5)]),
    "sum, axis": (lambda x: opsdk.sum(x, 0), lambda x: x.sum(0), [reals((3, 7)), reals((3000, 2), low=0.5, high=1.5)]),
    "sum, last": (lambda x: opsdk.sum(x, 1, True), lambda x: x.sum(1, True), [reals((2, 3000), low=0.5, high=1.5)]),
    "mean": (opsdk.mean, torch.mean, [reals((3, 7)), reals((5000,), low=0.5, high=1.5)]),
    "mean, axis": (
        lambda x: opsdk.mean(x, 0), lambda x: x.mean(0),
        [reals((3000, 2), low=0.5, high=1.5), reals((200_000, 2), low=0.1, high=0.2)],
    ),
    "max": (lambda x: opsdk.max(x, 1), lambda x: x.amax(1), [reals((3, 7)), lambda rng: [ties(rng)[0].reshape(1, -1)]]),
    "min": (lambda x: opsdk.min(x, 0), lambda x: x.amin(0), [reals((3, 7)), lambda rng: [ties(rng)[0].reshape(-1, 1)]]),
    "a sum over a broadcast axis": (
        lambda x, b: x * b + b, lambda x, b: x * b + b, [reals((2000, 3), (3,), low=0.5, high=1.5)]
    ),
    "matmul": (
        opsdk.matmul, torch.matmul,
        [reals((3, 4), (4, 2)), reals((2, 3, 4), (4,)), reals((3,), (3,)), reals((2, 1, 3, 4), (5, 4, 2))],
    ),
    "matmul, long": (opsdk.matmul, torch.matmul, [reals((2, 1500), (1500, 2), low=0.1, high=1.0)]),
    "mul": (matmul.mul, torch.matmul, [reals((3, 4), (4, 2))]),
    "where": (
        lambda x, y: opsdk.where(np.array([True, False, True, False, True]), x, y),
        lambda x, y: torch.where(torch.tensor([True, False, True, False, True]), x, y),
        [reals((3, 5), (5,))],
    ),
    "where beside infinities": (
        lambda x: opsdk.where(np.array([True, False, True]), x * x, np.array([np.inf, 2.0, np.nan], x.dtype)),
        lambda x: torch.where(torch.tensor([True, False, True]), x * x, torch.tensor([0.0, 2.0, 0.0])),
        [reals((3,))],
    ),
    "reshape": (lambda x: opsdk.reshape(x, [2, -1]) * 2.0, lambda x: x.reshape(2, -1) * 2.0, [reals((4, 3))]),
    "transpose": (lambda x: opsdk.transpose(x, [1, 0]), lambda x: x.T, [reals((4, 3))]),
    "squeeze": (lambda x: opsdk.squeeze(opsdk.unsqueeze(x, 1), 1), lambda x: x, [reals((4, 3))]),
    "flatten": (opsdk.flatten, torch.flatten, [reals((4, 3))]),
    "concat": (lambda x, y: opsdk.concat([x, y], 1), lambda x, y: torch.cat([x, y], 1), [reals((2, 3), (2, 1))]),
    "stack": (lambda x, y: opsdk.stack([x, y], -1), lambda x, y: torch.stack([x, y], -1), [reals((2, 3), (2, 3))]),
    "split": (lambda x: opsdk.split(x, [1, -1], 1)[1], lambda x: torch.split(x, [1, 2], 1)[1], [reals((2, 3))]),
    "expand": (
        lambda x: opsdk.expand(x, [2, -1, 3]) * x, lambda x: x.expand(2, -1, 3) * x, [reals((4, 1))]
    ),
    **{
        f"pad, {mode}": (
            lambda x, mode=mode: opsdk.pad(x, [2, 1], mode), lambda x, mode=mode: F.pad(x, (2, 1), mode),
            [reals((2, 3))],
        )
        for mode in ("constant", "reflect", "replicate", "circular")
    },
    "cumsum": (lambda x: opsdk.cumsum(x, 1), lambda x: x.cumsum(1), [reals((3, 7)), reals((2, 3000), low=0.5)]),
    "logsumexp": (opsdk.logsumexp, lambda x: x.logsumexp((0, 1)), [reals((3, 7))]),
    "logsumexp, axis": (lambda x: opsdk.logsumexp(x, 0), lambda x: x.logsumexp(0), [reals((3, 7)), reals((600, 2))]),
    "index": (lambda x: x[1:, None, -1], lambda x: x[1:, None, -1], [reals((3, 4))]),
    "gather": (
        lambda x: opsdk.gather(x, np.array([0, 2, 2])), lambda x: x[torch.tensor([0, 2, 2])], [reals((4, 3))]
    ),
    "gather, many repeats": (
        lambda x: opsdk.gather(x, np.arange(3000) % 2) * 1.0, lambda x: x[torch.arange(3000) % 2], [reals((2, 1))]
    ),
    "sum_to_like": (
        lambda x: reduction.sum_to_like(x, np.zeros((1, 3))), lambda x: x.sum(0, True), [reals((2500, 3), low=0.5)]
    ),
    "expand_as": (
        lambda x: reduction.expand_as(x, np.zeros((2500, 3))), lambda x: x.expand(2500, 3), [reals((1, 3))]
    ),
    "sum of several": (lambda x, y: reduction.sum([x, y, x]), lambda x, y: x + y + x, [reals((3,), (3,))]),
    "cast": (lambda x: shape.cast(x, dtype=x.dtype) * x, lambda x: x * x, [reals((3,))]),
    "assign": (shape.assign, torch.clone, [reals((3,))]),
    "softmax": (opsdk.softmax, theirs.softmax, [reals((3, 7)), reals((2, 600))]),
    "softmax, axis": (lambda x: opsdk.softmax(x, 0), lambda x: theirs.softmax(x, 0), [reals((3, 7))]),
    "log_softmax": (opsdk.log_softmax, theirs.log_softmax, [reals((3, 7)), reals((2, 600))]),
    "layer_norm": (
        normalization.layer_norm, theirs.layer_norm, [reals((3, 7), (7,), (7,)), reals((2, 300), (300,), (300,))]
    ),
    "rms_norm": (
        normalization.rms_norm, lambda x, w: x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * w,
        [reals((3, 7), (7,)), reals((300, 3), (3,))],
    ),
    "cosine_similarity": (
        lambda x, y: normalization.cosine_similarity(x, y, axis=1), F.cosine_similarity, [reals((3, 7), (3, 7))]
    ),
    "cross_entropy_with_logits": (
        loss.cross_entropy_with_logits,
        theirs.cross_entropy, [labelled],
    ),
    "cross_entropy": (
        lambda x, label: functional.cross_entropy(x, label),
        lambda x, label: theirs.cross_entropy(x, label).mean(),
        [labelled, lambda rng: [rng.normal(size=(1200, 3)), rng.integers(0, 3, (1200, 1))]],
    ),
    "mse_loss": (functional.mse_loss, F.mse_loss, [reals((3, 4), (3, 4)), reals((3000,), (3000,))]),
    "linear": (
        functional.linear, lambda x, w, b: x @ w + b, [reals((3, 4), (4, 2), (2,)), reals((600, 4), (4, 2), (2,))]
    ),
    "getitem": (lambda x: x[::2] ** 2.0, lambda x: x[::2] ** 2, [away((5,))]),
    "unsqueeze": (lambda x: opsdk.unsqueeze(x, 1) * 2.0, lambda x: x.unsqueeze(1) * 2.0, [reals((4, 3))]),
    "reshape_like": (
        lambda x: shape.reshape_like(x, np.zeros((2, 6))) * 2.0, lambda x: x.reshape(2, 6) * 2.0, [reals((4, 3))]
    ),
    "sign": (lambda x: opsdk.sign(x) * x, lambda x: torch.sign(x) * x, [reals((4, 5)), special]),
    "fill_any_like": (
        lambda x: x * creation.fill_any_like(x, value=2.5), lambda x: x * torch.full_like(x, 2.5), [reals((3,))]
    ),
    **{
        ours.opdef.schema.name: (
            lambda x, y, ours=ours: opsdk.where(ours(x, y), x * x, y),
            lambda x, y, reference=reference: torch.where(reference(x, y), x * x, y), [near_ties],
        )
        for ours, reference in (
            (logical.equal, torch.eq), (logical.not_equal, torch.ne), (logical.less_than, torch.lt),
            (logical.less_equal, torch.le), (logical.greater_than, torch.gt),
            (logical.greater_equal, torch.ge),
        )
    },
    "logical_not": (
        lambda x, y: opsdk.where(logical.logical_not(x > y), x * x, y),
        lambda x, y: torch.where(torch.logical_not(x > y), x * x, y), [near_ties],
    ),
    "argmax": (
        lambda x: opsdk.cast(opsdk.argmax(x, 1), x.dtype) * opsdk.sum(x, 1), lambda x: torch.argmax(x, 1) * x.sum(1),
        [reals((3, 7))],
    ),
    "one_hot": (
        lambda x: x * opsdk.cast(functional.one_hot(opsdk.argmax(x, 1), 7), x.dtype),
        lambda x: x * F.one_hot(torch.argmax(x, 1), 7), [reals((3, 7))],
    ),
    "sort": (
        lambda x: opsdk.sort(x, 1, True), lambda x: torch.sort(x, dim=1, descending=True, stable=True)[0],
        [reals((3, 7)), reals((2, 300))],
    ),
    "argsort": (
        lambda x: opsdk.cast(opsdk.argsort(x, 0), x.dtype) * x,
        lambda x: torch.sort(x, stable=True, dim=0)[1] * x, [lambda rng: near_ties(rng)[:1]],
    ),
    "topk": (lambda x: opsdk.topk(x, 2, 0)[0], lambda x: torch.topk(x, 2, 0)[0], [reals((5, 3))]),
    "take_along_axis": (
        lambda x: opsdk.take_along_axis(x, AT, 1), lambda x: torch.gather(x, 1, torch.tensor(AT)), [reals((2, 4))]
    ),
    "scatter_add": (
        lambda x, v: opsdk.scatter_add(x, AT, v, 1), lambda x, v: torch.scatter_add(x, 1, torch.tensor(AT), v),
        [reals((2, 4), (2, 3))],
    ),
    "scatter_add, many": (
        lambda x, v: opsdk.index_add(x, np.arange(3000) % 2, 0, v),
        lambda x, v: x.index_add(0, torch.arange(3000) % 2, v),
        [reals((2, 3), (3000, 3), low=0.5, high=1.5)],
    ),
    "put_along_axis": (
        lambda x, v: opsdk.put_along_axis(x, AT[:, 1:], v, 1), lambda x, v: x.scatter(1, torch.tensor(AT[:, 1:]), v),
        [reals((2, 4), (2, 2))],
    ),
    "sum_at": (
        lambda v: opsdk.sum_at(v, np.array([2, 0, 2]), 4),
        lambda v: torch.zeros(4, 5, dtype=v.dtype).index_add(0, torch.tensor([2, 0, 2]), v), [reals((3, 5))],
    ),
    "cross_entropy of probabilities": (
        lambda x, label: loss.cross_entropy(x, label),
        lambda x, label: -torch.log(x.gather(-1, torch.tensor(label))),
        [lambda rng: [rng.dirichlet(np.ones(6), 4) + 1e-3, rng.integers(0, 6, (4, 1))]],
    ),
    "softmax_with_cross_entropy": (
        lambda x, label: loss.softmax_with_cross_entropy(x, label)[1],
        theirs.cross_entropy, [labelled],
    ),
    "softmax_with_cross_entropy, its softmax": (
        lambda x, label: loss.softmax_with_cross_entropy(x, label)[0], lambda x, label: theirs.softmax(x).detach(),
        [labelled],
    ),
}  # fmt: skip
# Built-in ops that are not compared here, and why.
ELSEWHERE = {
    **dict.fromkeys(
        ("opsdk::real", "opsdk::imag", "opsdk::conj", "opsdk::angle"), "of complex numbers: test_complex.py"
    ),
    **dict.fromkeys(
        ("opsdk::sgd", "opsdk::momentum", "opsdk::adam"), "they change what they are given: tests/optimizer"
    ),
    **dict.fromkeys(
        ("opsdk::uniform_random", "opsdk::gaussian_random", "opsdk::random_integers", "opsdk::random_order"),
        "torch draws other numbers: tests/ops",
    ),
    **dict.fromkeys(
        ("opsdk::fill_constant", "opsdk::assign_value", "opsdk::exact_value"), "nothing enters them: tests/ops"
    ),
    **dict.fromkeys(("opsdk::as_strided", "opsdk::as_strided_scatter", "opsdk::copy_"), "of views: tests/autograd"),
    **dict.fromkeys(("opsdk::index", "opsdk::index_put_"), "as NumPy: tests/ops"),
    "opsdk::arange": "reads a size alone: tests/ops",
    "opsdk::detach": "ends the gradient: tests/ops",
    "opsdk::accuracy": "counts, with no derivative: tests/metric",
}


def built_in(seed: int, only: str | None = None, shares: int = 1) -> Iterator[Case]:
    """Yields the built-in ops on the inputs of a seed; of several shares that which is this seed's turn."""
    draws = [(name, number) for name, (*_, draws) in BUILT_IN.items() for number in range(len(draws))]
    for turn, (name, number) in enumerate(draws):
        if (turn - seed) % shares or only not in (None, name):
            continue
        ours, reference, of_name = BUILT_IN[name]
        rng = np.random.default_rng([seed, number, *map(ord, name)])
        again = f"BUILT_IN[{name!r}], draw {number}, seed {seed}"
        yield Case(f"{name} #{number}", ours, reference, of_name[number](rng), repro=again)
