"""Tangents: forward-mode derivatives of expressions, as numbers.

They bear witness to derived gradients. Each primitive says here, in NumPy, how fast its value changes; nothing is
shared with the rules of `derivative` and the reverse sweep, so that a mistake in either is a difference between both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.expr.node import BOOL, Node, topological
from opsdk.expr.row.row import ROW_PRIMITIVES

# Any, in this file: NumPy arrays.
_LOG = {2: float(np.log(2.0)), 10: float(np.log(10.0))}
_ROOT_PI = float(np.sqrt(np.pi))

# By name of a primitive with one operand: its slope at a.
_SLOPES: dict[str, Callable[[Any], Any]] = {
    "neg": lambda a: -1.0,
    "reciprocal": lambda a: -1.0 / (a * a),
    "square": lambda a: a + a,
    "exp": np.exp,
    "exp2": lambda a: _LOG[2] * np.exp2(a),
    "expm1": np.exp,
    "log": lambda a: 1.0 / a,
    "log1p": lambda a: 1.0 / (1.0 + a),
    "log2": lambda a: 1.0 / a / _LOG[2],
    "log10": lambda a: 1.0 / a / _LOG[10],
    "sqrt": lambda a: 0.5 / np.sqrt(a),
    "cbrt": lambda a: 1.0 / (3.0 * np.cbrt(a * a)),
    "rsqrt": lambda a: -0.5 / (a * np.sqrt(a)),
    "sin": np.cos,
    "cos": lambda a: -np.sin(a),
    "tan": lambda a: 1.0 / np.cos(a) ** 2,
    "sinh": np.cosh,
    "cosh": np.sinh,
    "tanh": lambda a: 1.0 / np.cosh(a) ** 2,
    "arcsin": lambda a: 1.0 / np.sqrt(1.0 - a * a),
    "arccos": lambda a: -1.0 / np.sqrt(1.0 - a * a),
    "arctan": lambda a: 1.0 / (1.0 + a * a),
    "arcsinh": lambda a: 1.0 / np.sqrt(1.0 + a * a),
    "arccosh": lambda a: 1.0 / np.sqrt(a * a - 1.0),
    "arctanh": lambda a: 1.0 / (1.0 - a * a),
    "sigmoid": lambda a: 0.25 / np.cosh(0.5 * a) ** 2,
    "softplus": lambda a: 0.5 + 0.5 * np.tanh(0.5 * a),
    "erf": lambda a: 2.0 / _ROOT_PI * np.exp(-a * a),
    "erfc": lambda a: -2.0 / _ROOT_PI * np.exp(-a * a),
    "abs": np.sign,
}  # fmt: skip
# With two operands: the value's rate of change, from both and their tangents.
_RATES: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "add": lambda a, b, da, db: da + db,
    "sub": lambda a, b, da, db: da - db,
    "mul": lambda a, b, da, db: da * b + a * db,
    "div": lambda a, b, da, db: (da * b - a * db) / (b * b),
    "pow": lambda a, b, da, db: _rate_of_power(a, b, da, db),
    "arctan2": lambda a, b, da, db: (da * b - a * db) / (a * a + b * b),
    "hypot": lambda a, b, da, db: (a * da + b * db) / np.sqrt(a * a + b * b),
    "logaddexp": lambda a, b, da, db: 0.5 * (da + db + (da - db) * np.tanh(0.5 * (a - b))),
    "copysign": lambda a, b, da, db: da * np.sign(a) * np.where(np.signbit(b), -1.0, 1.0),
    "fmod": lambda a, b, da, db: da - db * np.trunc(a / b),
    "maximum": lambda a, b, da, db: np.where(a >= b, da, db),
    "minimum": lambda a, b, da, db: np.where(a <= b, da, db),
}
_FLAT = ("sign", "floor", "ceil", "trunc", "round", "row_index", "row_size")


def _rate_of_power(a: Any, b: Any, da: Any, db: Any) -> Any:
    """D aᵇ = aᵇ⁻¹ (b da + a log a db); where b does not change, a may be negative."""
    turned = np.where(db == 0.0, 0.0, a * np.log(np.where(db == 0.0, 1.0, a)) * db)
    return np.power(a, b - 1.0) * (b * da + turned)


def rates(
    roots: Sequence[Node], values: Mapping[str, Any], tangents: Mapping[str, Any], dtype: Any
) -> tuple[list[Any], list[Any]]:
    """Returns the values of expressions, and how fast they change as their inputs do.

    Args:
        roots: the expressions.
        values: by name of an input or attribute: arrays, rows along the last axis, and numbers.
        tangents: by name of an input how fast it changes; a leading axis may hold several directions.
        dtype: to compute in.
    """
    known: dict[Node, Any] = {}
    moves: dict[Node, Any] = {}
    for node in topological(roots):
        if node.op == "constant":
            known[node] = np.asarray(node.payload, bool if node.kind == BOOL else dtype)
        elif node.is_leaf:
            known[node] = np.asarray(values[node.payload or f"{node.op}()"], dtype)
        else:
            known[node] = ROW_PRIMITIVES[node.op].meaning(np, *(known[arg] for arg in node.args))
        given = [moves.get(arg, np.zeros((), dtype)) for arg in node.args]
        moving = node.payload in tangents if node.op == "input" else any(arg in moves for arg in node.args)
        if moving and node.kind != BOOL and node.op not in _FLAT:
            moves[node] = tangents[node.payload] if node.is_leaf else _rate(node, known, given)
    return [known[root] for root in roots], [moves.get(root, np.zeros((), dtype)) for root in roots]


def _rate(node: Node, known: Mapping[Node, Any], given: Sequence[Any]) -> Any:
    of = [known[arg] for arg in node.args]
    if node.op in _SLOPES:
        return _SLOPES[node.op](of[0]) * given[0]
    if node.op in _RATES:
        return _RATES[node.op](*of, *given)
    if node.op == "where":
        return np.where(of[0], given[1], given[2])
    spread = np.broadcast_to(given[0], np.broadcast_shapes(np.shape(given[0]), of[0].shape))
    if node.op == "row_sum":
        return spread.sum(-1, keepdims=True)
    if node.op == "row_mean":
        return spread.mean(-1, keepdims=True)
    if node.op == "row_logsumexp":
        weights = np.exp(of[0] - of[0].max(-1, keepdims=True))
        return (spread * weights).sum(-1, keepdims=True) / weights.sum(-1, keepdims=True)
    if node.op == "row_take":
        at = np.broadcast_to(of[1], (*np.broadcast_shapes(spread.shape[:-1], of[1].shape[:-1]), 1)).astype(np.int64)
        return np.take_along_axis(np.broadcast_to(spread, (*at.shape[:-1], spread.shape[-1])), at, -1)
    top = of[0] == known[node]  # row_max, row_min: shared evenly among ties
    return np.where(top, spread, 0.0).sum(-1, keepdims=True) / top.sum(-1, keepdims=True)
