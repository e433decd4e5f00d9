"""What a user's own primitive says of itself, tried on numbers: its derivative by the chain rule, its accuracy.

The accuracy is that of the body, computed step by step in NumPy, against what is right in float64: the function that
the definition names for it, or the body. What is compiled may fuse a product and a sum, and is judged by `verify`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import DefinitionError
from opsdk.expr.evaluate import evaluate
from opsdk.expr.gradient.proof import Claim, refuted
from opsdk.expr.node import Node
from opsdk.expr.primitives.entry import Primitive
from opsdk.expr.row.row import FULL
from opsdk.expr.symbol import Symbol, as_node

Bounds = Mapping[str, tuple[float | None, float | None]]
_TRIED = 400  # operands of which each dtype computes the value
_SIZES = (1e-3, 30.0)  # of most of them
_NEARLY = 1000.0  # units before infinity at which it is a rounding, and no accident
_SLOPE = 1e-5  # of a derivative, by which differences of values may be off


def check_derivative(primitive: Primitive, bounds: Bounds, subject: str) -> None:
    """Checks that the derivative is that of the body.

    Raises:
        DefinitionError: numbers contradict it.
    """
    assert primitive.rule is not None
    if primitive.is_foreign:
        _check_slopes(primitive, bounds, subject)
        return
    result = Node("input", (), "out" if "y" in primitive.operands else "y")
    operands = [Node("input", (), name) for name in primitive.operands]
    partials = primitive.rule(Symbol(result), *map(Symbol, operands))
    cotangent = Symbol(Node("input", (), "d_result"))
    gradients = tuple(
        (name, (0.0 * cotangent if partial is None else cotangent * partial).node)
        for name, partial in zip(primitive.operands, partials, strict=True)
    )
    claim = Claim(
        ((result.payload, "d_result", FULL, Node(primitive.name, tuple(operands), None, primitive.gives)),),
        gradients,
        tuple((name, FULL, False) for name in primitive.operands),
        (),
        tuple((name, *pair) for name, pair in bounds.items()),
    )
    wrong = refuted(claim)
    if wrong is not None:
        text = wrong.replace("derived gradient of", "expected the derivative of the body: with respect to", 1)
        raise DefinitionError(f"{subject}, derivative: {text}; mend it, or leave it out and the body is differentiated")


def _check_slopes(primitive: Primitive, bounds: Bounds, subject: str) -> None:
    """Checks the derivative of what is no expression by differences of its values.

    Raises:
        DefinitionError: they contradict it.
    """
    assert primitive.rule is not None
    names = [Node("input", (), name) for name in ("out" if "y" in primitive.operands else "y", *primitive.operands)]
    points = drawn(primitive.operands, bounds, 64)
    with np.errstate(all="ignore"):
        values = dict(zip([node.payload for node in names], [primitive.meaning(np, *points), *points], strict=True))
        for at, partial in enumerate(primitive.rule(*map(Symbol, names))):
            x = points[at]
            step = 2.0**-13 * np.maximum(np.abs(x), 0.25)
            near, far = (
                (_moved(primitive, points, at, k * step) - _moved(primitive, points, at, -k * step)) / (2 * k * step)
                for k in (1, 2)
            )
            expected, doubt = (4 * near - far) / 3, np.abs(near - far)
            slope = Symbol(as_node(0.0 if partial is None else partial))
            got = evaluate([slope.node], values, np)[0] + np.zeros_like(x)
            judged = np.isfinite(expected) & np.isfinite(got)
            wrong = judged & (np.abs(got - expected) > _SLOPE * np.maximum(np.abs(expected), 1e-3) + doubt)
            if np.count_nonzero(wrong) >= 2:
                worst = int(np.argmax(np.where(wrong, np.abs(got - expected), 0.0)))
                told = ", ".join(f"{n}={float(p[worst])!r}" for n, p in zip(primitive.operands, points, strict=True))
                raise DefinitionError(
                    f"{subject}, derivative: with respect to {primitive.operands[at]!r} expected "
                    f"{expected[worst]:.6g} by differences of its values, got {got[worst]:.6g}, at {told}; mend it"
                )


def _moved(primitive: Primitive, points: Sequence[np.ndarray], at: int, step: np.ndarray) -> np.ndarray:
    """Returns the values where one operand is moved."""
    moved = [point + step if place == at else point for place, point in enumerate(points)]
    return np.asarray(primitive.meaning(np, *moved), np.float64)


def check_accuracy(primitive: Primitive, compiled: Callable[..., Any] | None = None) -> None:
    """Checks that the body is as near to what is right as promised, in float32 and in float64.

    Args:
        primitive: which.
        compiled: a body in C: what it gives, of an array module and arrays of a dtype (Any: arrays). Its function in
            NumPy has roundings of its own, so that both dtypes are held to what is promised of float32.

    Raises:
        DefinitionError: it is not.
    """
    assert primitive.ulp is not None
    body = primitive.body if compiled is None else compiled
    assert body is not None
    with np.errstate(all="ignore"):
        for dtype in (np.float32, np.float64):
            unit = dtype if compiled is None else np.float32
            promised = primitive.ulp[unit is np.float64]
            operands = [array.astype(dtype) for array in drawn(primitive.operands, primitive.domain or {})]
            wide = [array.astype(np.float64) for array in operands]
            right = np.broadcast_to(primitive.meaning(np, *wide), wide[0].shape).astype(np.float64)
            got = np.broadcast_to(body(np, *operands), wide[0].shape).astype(unit)
            found = errors(got, right, np.dtype(unit), least_of(primitive, wide))
            worst = int(np.argmax(found))
            if not found[worst] <= promised:
                at = ", ".join(f"{n}={float(a[worst])!r}" for n, a in zip(primitive.operands, operands, strict=True))
                what = "body" if compiled is None else "body in C"
                raise DefinitionError(
                    f"primitive {primitive.full_name!r}: {what} expected within {promised:g} ulp of "
                    f"{np.dtype(unit).name}, as promised, got {found[worst]:.3g} at {at}: {float(got[worst])!r} for "
                    f"{float(right[worst])!r}; mend the body, promise less with ulp=, or name its domain=",
                    at=str(primitive.origin),
                )


def least_of(primitive: Primitive, operands: Sequence[np.ndarray]) -> np.ndarray:
    """Returns per element the size whose unit counts where the result is smaller."""
    found = 0.0 if primitive.least is None else primitive.least(*operands)
    return np.broadcast_to(np.asarray(found, np.float64), operands[0].shape)


def errors(
    got: np.ndarray, right: np.ndarray, dtype: np.dtype[Any], least: np.ndarray, rest: np.ndarray | float = 0.0
) -> np.ndarray:
    """Returns errors in units in the last place of a dtype; infinite where one is NaN, or infinite, and the other not.

    Args:
        got: of the dtype; beside a value that is nearly too large infinity is as far off as the number after the last.
        right: float64; what the dtype rounds to infinity counts as that.
        dtype: float32 or float64.
        least: per element the size whose unit counts where the result is smaller.
        rest: what `right` lacks.
    """
    info = np.finfo(dtype)
    end = np.ldexp(1.0, info.maxexp - 1)  # half of the number after the last
    with np.errstate(all="ignore"):
        nearest, wide = right.astype(dtype), got.astype(np.float64)
        ordinary = np.isfinite(nearest) & np.isfinite(got)
        size = np.maximum(np.abs(np.where(ordinary, right, 1.0)), np.maximum(least, info.smallest_normal))
        unit = np.ldexp(1.0, np.minimum(np.frexp(size)[1], info.maxexp) - 1 - info.nmant)
        off = np.abs(np.where(ordinary, wide - right - rest, 0.0)) / unit
        halves = [np.clip(each / 2, -end, end) for each in (wide, right)]
        beyond = np.abs(halves[0] - halves[1]) * (2.0**info.nmant * 2 / end)
        same = (nearest == got) | (np.isnan(nearest) & np.isnan(got))
    return np.where(ordinary, off, np.where(same, 0.0, np.where(beyond <= _NEARLY, beyond, np.inf)))


def drawn(operands: Sequence[str], bounds: Bounds, count: int = _TRIED) -> list[np.ndarray]:
    """Returns operands of many sizes and both signs, inside their bounds."""
    draw = random.Random(1)
    return [np.array([_one(draw, *bounds.get(name, (None, None))) for _ in range(count)]) for name in operands]


def _one(draw: random.Random, low: float | None, high: float | None) -> float:
    size = math.exp(draw.uniform(*map(math.log, _SIZES)))
    if low is not None and high is not None:
        return low + (high - low) * draw.random()
    if low is None and high is None:
        return size * draw.choice((-1.0, 1.0))
    return low + size if low is not None else float(high or 0.0) - size


def everywhere(operands: Sequence[str], bounds: Bounds, dtype: np.dtype[Any], count: int) -> list[np.ndarray]:
    """Returns operands of every kind that a dtype has inside the bounds, in that dtype.

    First all combinations of special ones: zeros of both signs, the smallest and largest numbers, infinities and NaN,
    1 and its neighbours, the bounds and theirs. Then `count` others: half of ordinary sizes, half of every exponent, at
    every distance from the bounds.
    """
    rng = np.random.default_rng(1)
    info = np.finfo(dtype)
    special = np.meshgrid(*[_special(dtype, *bounds.get(name, (None, None))) for name in operands], indexing="ij")
    made = []
    for name, first in zip(operands, special, strict=True):
        low, high = bounds.get(name, (None, None))
        parts = [first.ravel()]
        spare = first[~np.isnan(first)] if np.count_nonzero(~np.isnan(first)) else first  # of a domain without room
        share = rng.random(count // 2)
        if low is None or high is None:
            ordinary = _SIZES[0] * (_SIZES[1] / _SIZES[0]) ** share
        else:
            ordinary = (high - low) * share
        powers = rng.integers(info.minexp - info.nmant, _top(info, low, high), count - count // 2, endpoint=True)
        for size in (ordinary, np.ldexp(0.5 + rng.random(len(powers)) / 2, powers)):
            with np.errstate(over="ignore"):
                rounded = _placed(rng, size, low, high).astype(dtype)
            kept = rounded[np.isfinite(rounded) & _inside(rounded, low, high)]
            parts.append(np.resize(kept if kept.size else spare, len(size)))
        made.append(np.concatenate(parts))
    return made


def _special(dtype: np.dtype[Any], low: float | None, high: float | None) -> np.ndarray:
    info = np.finfo(dtype)
    sizes = np.array([0.0, info.smallest_subnormal, info.smallest_normal, 1.0, 2.0, info.max, np.inf], dtype)
    between = np.array([info.smallest_normal, 1.0, 1.0], dtype)
    sizes = np.concatenate([sizes, np.nextafter(between, np.array([0.0, 0.0, 2.0], dtype))])
    with np.errstate(over="ignore"):  # of an end that the dtype rounds to infinity
        ends = np.array([end for end in (low, high) if end is not None]).astype(dtype)
    near = [np.nextafter(ends, np.array(side, dtype)) for side in (-np.inf, np.inf)]
    every = np.concatenate([sizes, -sizes, ends, *near])
    return np.concatenate([every[_inside(every, low, high)], np.array([np.nan], dtype)])


def _inside(values: np.ndarray, low: float | None, high: float | None) -> np.ndarray:
    wide = values.astype(np.float64)
    return np.asarray((wide >= (-np.inf if low is None else low)) & (wide <= (np.inf if high is None else high)))


def _top(info: np.finfo[Any], low: float | None, high: float | None) -> int:
    """Returns the exponent of the largest size that bounds leave room for."""
    return int(info.maxexp if low is None or high is None else min(info.maxexp, np.frexp(high - low)[1]))


def _placed(rng: np.random.Generator, size: np.ndarray, low: float | None, high: float | None) -> np.ndarray:
    """Returns numbers of given sizes and both signs; with bounds, as far from one of them."""
    is_up = rng.random(len(size)) < 0.5
    up, down = (0.0 if low is None else low) + size, (0.0 if high is None else high) - size
    if (low is None) != (high is None):
        return down if low is None else up
    return np.where(is_up, up, down)
