"""Random elementwise and row expressions, in opsdk and in torch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

import opsdk
from opsdk import vmath
from tests.parity import differential_torch as theirs
from tests.parity.differential import Case
from tests.parity.differential_table import SHAPES, SPECIAL

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


def redrawn(case: Case, number: int) -> Case:
    """Returns a random expression on other numbers, so that what was compiled of it is tried once more."""
    rng = np.random.default_rng([number, *map(ord, case.name)])
    return replace(case, name=f"{case.name}, draw {number}", inputs=[_values(rng, a.shape) for a in case.inputs])


def _reduces(expression: Any) -> bool:
    return isinstance(expression, tuple) and (expression[0] in ROW or any(map(_reduces, expression[1:])))
