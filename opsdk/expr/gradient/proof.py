"""Proof of derived gradients: each is compared with forward-mode numbers before it is handed out for the first time.

At a few points, in float64, the product of a random cotangent with the forward-mode derivative along a random direction
has to be that of the derived gradient with the direction. Both are also computed in float32, which tells how much of a
difference rounding can make. Where none of the points gives numbers, nothing is refuted.

The forward-mode derivatives bear witness: each primitive says here, in NumPy, how fast its value changes; nothing is
shared with the rules of `derivative` and the reverse sweep, so that a mistake in either is a difference between both.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from opsdk.expr.evaluate import evaluate
from opsdk.expr.node import BOOL, Node, topological
from opsdk.expr.row.row import COLUMN, FULL, ROW_PRIMITIVES

_POINTS, _LENGTH = 12, 3  # rows that are tried, and how long they are
_EXACT = 1e-10  # of the terms' size
_ROUNDED = 1e-5  # of the difference to float32, whose steps are 2²⁹ times as wide
_SMALL = 1e-9  # what is left where terms of size 1 cancel in full
_SEVERAL = 2  # points that have to agree, where as many give numbers: one alone may lie where everything cancels
_SMALLEST, _LARGEST = 0.1, 6.0  # size of the values that are tried


@dataclass(frozen=True)
class Claim:
    """That expressions are the gradients of others.

    Args:
        outputs: the forward's: the name that the gradients may read it by, that of its cotangent, None where none
            enters, its role, and itself.
        gradients: by name of an input.
        inputs: of the forward: name, role, and whether it only holds whole numbers, such as positions.
        attrs: names and values of the attributes.
        bounds: where values lie, by name.
    """

    outputs: tuple[tuple[str, str | None, str, Node], ...]
    gradients: tuple[tuple[str, Node], ...]
    inputs: tuple[tuple[str, str, bool], ...]
    attrs: tuple[tuple[str, float], ...]
    bounds: tuple[tuple[str, float | None, float | None], ...] = ()


@lru_cache(maxsize=1024)
def refuted(claim: Claim) -> str | None:
    """Returns where numbers contradict a claim; None where they confirm it, or none of the points gives any.

    The text says whose gradient it is, the product of the gradient with a direction, what that should be, and the
    values of the inputs there.
    """
    if not claim.gradients:
        return None
    draw = random.Random(0)  # NumPy's, which nobody may have needed so far, takes 20 ms to be imported
    drawn = {name: _drawn(draw, claim, name, role, whole) for name, role, whole in claim.inputs}
    along = {"row_index()": np.arange(float(_LENGTH)), "row_size()": float(_LENGTH)}
    values: dict[str, Any] = {**drawn, **dict(claim.attrs), **along}
    cotangents = {name: _normal(draw, _width(role)) for _, name, role, _ in claim.outputs if name is not None}
    directions = {name: _normal(draw, drawn[name].shape[-1]) for name, _ in claim.gradients}
    with np.errstate(all="ignore"):
        wide = _products(claim, values, cotangents, directions, np.dtype("float64"))
        narrow = _products(claim, values, cotangents, directions, np.dtype("float32"))
        rounding = np.abs(wide[:2] - narrow[:2]).sum(0)
        gap = np.abs(wide[0] - wide[1])
        judged = np.isfinite(rounding)
        wrong = judged & (gap > _EXACT * wide[2] + _ROUNDED * rounding + _SMALL)
    refuting = wrong.sum(-1) >= np.clip(judged.sum(-1), 1, _SEVERAL)
    if not refuting.any():
        return None
    which = int(np.argmax(refuting))
    point = int(np.argmax(wrong[which]))
    at = ", ".join(f"{name}={drawn[name][point].tolist()}" for name, _, _ in claim.inputs)
    expected, got, _ = wide[:, which, point].tolist()
    return (
        f"derived gradient of {claim.gradients[which][0]!r} expected {expected:.9g} along a direction by forward-mode "
        f"numbers, got {got:.9g}, at {at}"
    )


def _products(
    claim: Claim,
    values: Mapping[str, Any],  # Any: arrays and numbers
    cotangents: Mapping[str, np.ndarray],
    directions: Mapping[str, np.ndarray],
    dtype: np.dtype[Any],
) -> np.ndarray:
    """Returns, per gradient and point: cotangent · forward-mode rate, gradient · direction, the size of the terms."""
    given = {name: np.asarray(value, dtype) if np.ndim(value) else value for name, value in values.items()}
    entering = {name: array.astype(dtype) for name, array in cotangents.items()}
    along = [directions[name].astype(dtype) for name, _ in claim.gradients]
    moves = {}
    for i, (name, _) in enumerate(claim.gradients):  # one input moves at a time
        moves[name] = np.zeros((len(along), *along[i].shape), dtype)
        moves[name][i] = along[i]
    made, changes = rates([node for *_, node in claim.outputs], given, moves, dtype)
    forward, leaving = [], []
    for (name, cotangent, role, _), value, change in zip(claim.outputs, made, changes, strict=True):
        shape = (_POINTS, _width(role))
        given[name] = np.broadcast_to(value, shape)
        if cotangent is not None:
            forward.append(np.broadcast_to(change, (len(along), *shape)) * entering[cotangent])
            leaving.append(given[name] * entering[cotangent])  # how large what may have cancelled was
    found = evaluate([node for _, node in claim.gradients], {**given, **entering}, np, dtype, ROW_PRIMITIVES)
    backward = [np.broadcast_to(g, to.shape) * to for g, to in zip(found, along, strict=True)]
    sums = [_summed(forward), np.stack([terms.sum(-1) for terms in backward])]
    sizes = _summed(map(np.abs, [*forward, *leaving])) + np.stack([np.abs(terms).sum(-1) for terms in backward])
    return np.stack([*sums, sizes]).astype(np.float64)


def _summed(terms: Iterable[np.ndarray]) -> np.ndarray:
    return sum((entry.sum(-1) for entry in terms), start=np.zeros(()))


def _width(role: str) -> int:
    return _LENGTH if role in (FULL, COLUMN) else 1


def _normal(draw: random.Random, length: int) -> np.ndarray:
    return np.array([draw.gauss(0.0, 1.0) for _ in range(_POINTS * length)], np.float32).reshape(_POINTS, length)


def _drawn(draw: random.Random, claim: Claim, name: str, role: str, is_whole: bool) -> np.ndarray:
    """Returns numbers of several sizes and both signs, which float32 holds, where the domain lets them be."""
    low, high = next(((low, high) for bound, low, high in claim.bounds if bound == name), (None, None))

    def one() -> float:
        size = math.exp(draw.uniform(math.log(_SMALLEST), math.log(_LARGEST)))
        if is_whole:
            return float(draw.randrange(_LENGTH))
        if low is not None and high is not None:
            return low + (high - low) * draw.uniform(0.02, 0.98)
        if low is None and high is None:
            return size * draw.choice((-1.0, 1.0))
        return low + size if low is not None else float(high or 0.0) - size

    shape = (_POINTS, _width(role))
    return np.array([one() for _ in range(math.prod(shape))], np.float32).astype(np.float64).reshape(shape)


# Any, from here on: NumPy arrays.
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
    body = ROW_PRIMITIVES[node.op].body
    if body is not None:  # by the chain rule through what it is, which the rule of the entry knows nothing of
        names = body.expression.inputs
        dtype = np.result_type(*of)
        _, (rate,) = rates([body.root], dict(zip(names, of, strict=True)), dict(zip(names, given, strict=True)), dtype)
        return rate
    if ROW_PRIMITIVES[node.op].is_foreign:  # of C nothing is known
        return np.full(np.broadcast_shapes(*map(np.shape, [*of, *given])), np.nan)
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
