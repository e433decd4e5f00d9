"""What is compared with torch: a table of the built-in ops, and random elementwise and row expressions.

    python -m tests.parity.differential_cases 0 1000            # seeds, by NumPy
    python -m tests.parity.differential_cases 0 20 --programs   # in Programs too
    python -m tests.parity.differential_cases 0 20 --compiled   # compiled, which takes minutes a seed
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import opsdk
from opsdk import vmath
from opsdk.define.op import REGISTRY
from opsdk.nn import functional
from opsdk.ops import loss, matmul, normalization, shape, sum_to
from tests.parity import differential_torch as theirs
from tests.parity.differential import Case, check, reference_only

Draw = Callable[[np.random.Generator], list[np.ndarray]]
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, 6.0, 20.0, -20.0, 1e-3, -1e-4, 90.0, -90.0])
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
    "index": (lambda x: x[1:, None, -1], lambda x: x[1:, None, -1], [reals((3, 4))]),
    "gather": (
        lambda x: opsdk.gather(x, np.array([0, 2, 2])), lambda x: x[torch.tensor([0, 2, 2])], [reals((4, 3))]
    ),
    "gather, many repeats": (
        lambda x: opsdk.gather(x, np.arange(3000) % 2) * 1.0, lambda x: x[torch.arange(3000) % 2], [reals((2, 1))]
    ),
    "sum_to_like": (
        lambda x: sum_to.sum_to_like(x, np.zeros((1, 3))), lambda x: x.sum(0, True), [reals((2500, 3), low=0.5)]
    ),
    "expand_as": (
        lambda x: sum_to.expand_as(x, np.zeros((2500, 3))), lambda x: x.expand(2500, 3), [reals((1, 3))]
    ),
    "sum of several": (lambda x, y: sum_to.sum([x, y, x]), lambda x, y: x + y + x, [reals((3,), (3,))]),
    "cast": (lambda x: shape.cast(x, dtype=x.dtype) * x, lambda x: x * x, [reals((3,))]),
    "assign": (shape.assign, torch.clone, [reals((3,))]),
    "softmax": (opsdk.softmax, lambda x: torch.softmax(x, -1), [reals((3, 7)), reals((2, 600))]),
    "softmax, axis": (lambda x: opsdk.softmax(x, 0), lambda x: torch.softmax(x, 0), [reals((3, 7))]),
    "log_softmax": (opsdk.log_softmax, lambda x: torch.log_softmax(x, -1), [reals((3, 7)), reals((2, 600))]),
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
        lambda x, label: -torch.log_softmax(x, -1).gather(-1, torch.tensor(label)), [labelled],
    ),
    "cross_entropy": (
        lambda x, label: functional.cross_entropy(x, label),
        lambda x, label: F.cross_entropy(x, torch.tensor(label[:, 0])),
        [labelled, lambda rng: [rng.normal(size=(1200, 3)), rng.integers(0, 3, (1200, 1))]],
    ),
    "mse_loss": (functional.mse_loss, F.mse_loss, [reals((3, 4), (3, 4)), reals((3000,), (3000,))]),
    "linear": (
        functional.linear, lambda x, w, b: x @ w + b, [reals((3, 4), (4, 2), (2,)), reals((600, 4), (4, 2), (2,))]
    ),
    "getitem": (lambda x: x[::2] ** 2.0, lambda x: x[::2] ** 2, [away((5,))]),
}  # fmt: skip


def built_in(seed: int, only: str | None = None) -> Iterator[Case]:
    """Yields every built-in op on the inputs of a seed."""
    for name, (ours, reference, draws) in BUILT_IN.items():
        if only is not None and name != only:
            continue
        for number, draw in enumerate(draws):
            rng = np.random.default_rng([seed, number, *map(ord, name)])
            again = f"BUILT_IN[{name!r}], draw {number}, seed {seed}"
            yield Case(f"{name} #{number}", ours, reference, draw(rng), repro=again)


# -- random expressions ------------------------------------------------------------------------------------------------

# Each by the names of both libraries; those that are bounded away from trouble take any number.
UNARY: dict[str, Callable[[Any, Any], Any]] = {
    "neg": lambda m, a: -a,
    "exp": lambda m, a: m.exp(m.minimum(a, 3.0)),
    "tanh": lambda m, a: m.tanh(a),
    "sigmoid": lambda m, a: m.sigmoid(a),
    "sin": lambda m, a: m.sin(a),
    "cos": lambda m, a: m.cos(a),
    "square": lambda m, a: m.square(a),
    "abs": lambda m, a: m.abs(a),
    "sqrt": lambda m, a: m.sqrt(1.0 + a * a),
    "log": lambda m, a: m.log(1.5 + a * a),
    "log1p": lambda m, a: m.log1p(a * a),
    "expm1": lambda m, a: m.expm1(m.minimum(a, 2.0)),
    "rsqrt": lambda m, a: m.rsqrt(0.5 + a * a),
    "reciprocal": lambda m, a: m.reciprocal(1.0 + a * a),
    "erf": lambda m, a: m.erf(a),
    "arctan": lambda m, a: m.arctan(a),
    "softplus": lambda m, a: m.softplus(a),
    "cube": lambda m, a: a**3.0,
    "fourth": lambda m, a: a**4.0,
    "relu": lambda m, a: m.maximum(a, 0.0),
    "cap": lambda m, a: 5.0 * m.tanh(a / 5.0),
    "near one": lambda m, a: m.maximum(1.0 + 1e-4 * a, 1.0),
}
BINARY: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda m, a, b: a + b,
    "sub": lambda m, a, b: a - b,
    "mul": lambda m, a, b: a * b,
    "div": lambda m, a, b: a / (1.5 + m.sin(b)),
    "maximum": lambda m, a, b: m.maximum(a, b),
    "minimum": lambda m, a, b: m.minimum(a, b),
    "where": lambda m, a, b: m.where(a > b, a, b * b),
    "guarded": lambda m, a, b: m.where(a > 0.5, m.log(a), b),
    "logaddexp": lambda m, a, b: m.logaddexp(a, b),
    "pow": lambda m, a, b: m.pow(1.0 + a * a, m.tanh(b)),
}
ROW: dict[str, Callable[[Any, Any], Any]] = {
    "row_sum": lambda m, a: m.row_sum(a),
    "row_mean": lambda m, a: m.row_mean(a),
    "row_max": lambda m, a: m.row_max(a),
    "row_min": lambda m, a: m.row_min(a),
    "row_logsumexp": lambda m, a: m.row_logsumexp(a),
}


# Any: a tree is a leaf's name, a number, or an operation's name and its operands.
def tree(rng: np.random.Generator, leaves: list[str], depth: int, *, rows: bool = False) -> Any:
    """Returns a random expression over named leaves."""
    if depth == 0 or rng.random() < 0.08:
        return str(rng.choice(leaves)) if rng.random() < 0.9 else float(rng.choice((0.5, -1.5, 2.0, 3.0)))
    kind = rng.random()
    if rows and kind < 0.25:
        return (str(rng.choice(list(ROW))), tree(rng, leaves, depth - 1))
    if kind < 0.6:
        return (str(rng.choice(list(UNARY))), tree(rng, leaves, depth - 1, rows=rows))
    operands = (tree(rng, leaves, depth - 1, rows=rows), tree(rng, leaves, depth - 1, rows=rows))
    return (str(rng.choice(list(BINARY))), *operands)


def leaves_of(expression: Any) -> set[str]:
    """Returns the names of the leaves that occur."""
    if isinstance(expression, tuple):
        return set().union(*map(leaves_of, expression[1:]))
    return set() if isinstance(expression, float) else {str(expression)}


def evaluate(m: Any, expression: Any, values: dict[str, Any], like: Any) -> Any:
    """Returns the value of an expression in a library; numbers are as `like`, so that every operand is one."""
    if isinstance(expression, tuple):
        name, *operands = expression
        given = [evaluate(m, operand, values, like) for operand in operands]
        if name in ROW and m is theirs.TORCH:
            given = torch.broadcast_tensors(*given, like)[:1]  # a number per row counts once for every position
        return (UNARY.get(name) or BINARY.get(name) or ROW[name])(m, *given)
    return like * 0.0 + expression if isinstance(expression, float) else values[str(expression)]


def _size(expression: Any) -> int:
    return 1 + sum(map(_size, expression[1:])) if isinstance(expression, tuple) else 0


def _values(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    values = rng.normal(size=shape) * rng.choice((0.3, 1.0, 3.0))
    if rng.random() < 0.3:
        values = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL[:7], shape), values)
    return values


def elementwise(seed: int) -> Case:
    """Returns a random elementwise expression of a seed; every seed is another op."""
    rng = np.random.default_rng([seed, 1])
    expression: Any = 0.0
    while not leaves_of(expression) >= {"x"}:
        expression = tree(rng, ["x", "y", "x"], int(rng.integers(2, 5)))
    left, right = SHAPES[rng.integers(len(SHAPES))]

    def function(x: Any, y: Any) -> Any:
        return evaluate(vmath, expression, {"x": x, "y": y}, x) + y * 0.5

    def reference(x: Any, y: Any) -> Any:
        whole = torch.broadcast_tensors(x, y)
        return evaluate(theirs.TORCH, expression, {"x": whole[0], "y": whole[1]}, whole[0]) + whole[1] * 0.5

    op = opsdk.elementwise(name=f"random_{seed}", namespace="differential", replace=True)(function)
    inputs = [_values(rng, left), _values(rng, right)]
    return Case(f"elementwise {seed}", op, reference, inputs, inside=True, repro=repr(expression))


def rowwise(seed: int) -> Case:
    """Returns a random row expression of a seed, with a number per position and, at some seeds, one per row."""
    rng = np.random.default_rng([seed, 2])
    expression: Any = 0.0
    while not leaves_of(expression) >= {"x"} or not _reduces(expression):
        expression = tree(rng, ["x", "w", "x", "r"], int(rng.integers(2, 5)), rows=True)
    shape = (*map(int, rng.choice([1, 2, 3, 5], int(rng.integers(1, 3)))), int(rng.choice([1, 3, 8, 33])))

    def function(x: Any, w: Any, r: Any) -> Any:
        return evaluate(vmath, expression, {"x": x, "w": w, "r": r}, x) + x * w + r

    def reference(x: Any, w: Any, r: Any) -> Any:
        return evaluate(theirs.TORCH, expression, {"x": x, "w": w, "r": r}, x) + x * w + r

    roles = {"per_column": ("w",), "per_row": ("r",)}
    op = opsdk.rowwise(**roles, name=f"random_row_{seed}", namespace="differential", replace=True)(function)
    inputs = [_values(rng, shape), _values(rng, shape[-1:]), _values(rng, (*shape[:-1], 1))]
    return Case(f"rowwise {seed}", op, reference, inputs, inside=True, repro=repr(expression))


def _reduces(expression: Any) -> bool:
    return isinstance(expression, tuple) and (expression[0] in ROW or any(map(_reduces, expression[1:])))


def run(seed: int, check: Callable[[Case], list[Any]]) -> list[Any]:
    """Returns the differences of both random expressions of a seed and, at every 25th, of the built-in ops."""
    table = built_in(seed) if seed % 25 == 0 else ()
    found = [difference for case in table for difference in check(case)]
    return [*found, *scoped(elementwise, seed, check), *scoped(rowwise, seed, check)]


def scoped(make: Callable[[int], Case], seed: int, run: Callable[[Case], Any]) -> Any:
    """Runs something on a random case, and forgets the op that it defined."""
    with REGISTRY.scoped():
        return run(make(seed))


def main(arguments: list[str]) -> int:
    """Prints the differences of a range of seeds; 1 where there are some."""
    options = [a for a in arguments if a.startswith("-")]
    first, last = (int(a) for a in arguments if not a.startswith("-"))
    warnings.simplefilter("ignore")
    count = 0
    with nullcontext() if "--compiled" in options else reference_only():
        for seed in range(first, last):
            print(f"\rseed {seed}", end="", file=sys.stderr, flush=True)
            for difference in run(seed, lambda case: check(case, programs="--programs" in options)):
                count += 1
                print(f"{difference}  | {difference.repro}", flush=True)
    print(f"{count} differences at {last - first} seeds")
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
