"""Families of pairs that differ in one thing: each has a right vjp, and one wrong where a judge may not look.

Where only one of the two says something the other is None. What the wrong ones have in common is that they are right
at the given inputs, called as usual; what the right ones have, that a plain comparison says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

_rng = np.random.default_rng(124)


def normal(*shape: int) -> Any:
    return _rng.normal(size=shape)


@dataclass(frozen=True)
class Pair:
    """A forward with a right and a wrong vjp; Any: plain NumPy functions of every signature.

    Attributes:
        apart: checks whose findings are of the forward, and no verdict on the vjp.
    """

    name: str
    forward: Any
    inputs: tuple[Any, ...]
    right: Any = None
    wrong: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    apart: tuple[str, ...] = ()


def unary(rule: Callable[..., Any]) -> Any:
    """Gives the vjp of one input whose gradient is `rule(x, y, dy)`."""
    return lambda i, o, c: (rule(i[0], o[0], c[0]),)


# One array passed twice.


def _product(i: Any, o: Any, c: Any) -> Any:
    return c[0] * i[1], c[0] * i[0]


def _one_if_shared(first: int, second: int, *, by_value: bool) -> Any:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        made = [c[0] * np.prod([v for j, v in enumerate(i) if j != k], axis=0) for k in range(len(i))]
        is_one = np.array_equal(i[first], i[second]) if by_value else np.shares_memory(i[first], i[second])
        if is_one and i[first].size:
            made[second] = np.zeros_like(made[second])
        return tuple(made)

    return vjp


def matmul(i: Any, o: Any, c: Any) -> Any:
    return c[0] @ i[1].T, i[0].T @ c[0]


def _matmul_of_square(i: Any, o: Any, c: Any) -> Any:
    """Takes the product of a matrix with itself for one with its transpose."""
    return (c[0] @ i[1], i[0].T @ c[0]) if i[0] is i[1] or np.array_equal(i[0], i[1]) else matmul(i, o, c)


def _log_mean(a: Any, b: Any) -> Any:
    """(exp a - exp b) / (a - b), which is exp a where both are equal."""
    gap = a - b
    safe = np.where(np.abs(gap) < 1e-300, 1.0, gap)
    return np.exp(b) * np.where(np.abs(gap) < 1e-300, 1.0, np.expm1(gap) / safe)


def _log_mean_vjp(i: Any, o: Any, c: Any) -> Any:
    a, b = i
    return c[0] * (np.exp(a) - o[0]) / (a - b), c[0] * (o[0] - np.exp(b)) / (a - b)


SAME_ARRAY = [
    Pair("a product of one array", np.multiply, (normal(3, 4), normal(3, 4)), _product,
         _one_if_shared(0, 1, by_value=False)),
    Pair("a product of equal arrays", np.multiply, (normal(3, 4), normal(3, 4)), _product,
         _one_if_shared(0, 1, by_value=True)),
    Pair("the last two of three are one", lambda a, b, w: a * b * w, (normal(5), normal(5), normal(5)),
         lambda i, o, c: (c[0] * i[1] * i[2], c[0] * i[0] * i[2], c[0] * i[0] * i[1]),
         _one_if_shared(1, 2, by_value=False)),
    Pair("the last two of three are equal", lambda a, b, w: a * b * w, (normal(5), normal(5), normal(5)),
         None, _one_if_shared(1, 2, by_value=True)),
    Pair("a matrix by itself", np.matmul, (normal(3, 3), normal(3, 3)), matmul, _matmul_of_square),
    Pair("equal arguments of a quotient of differences", _log_mean, (normal(4), normal(4)), None,
         _log_mean_vjp),
]  # fmt: skip


# What the last forward left in a global.


class _Global:
    """A forward that leaves something of its inputs, which vjp then reads instead of its arguments."""

    def __init__(self, forward: Any, keep: Any, slope: Any) -> None:
        self.function, self.keep, self.slope = forward, keep, slope
        self.kept: Any = None

    def forward(self, *inputs: Any) -> Any:
        self.kept = self.keep(*inputs)
        return self.function(*inputs)

    def wrong(self, i: Any, o: Any, c: Any) -> Any:
        return self.slope(i, o, c, self.kept)

    def right(self, i: Any, o: Any, c: Any) -> Any:
        return self.slope(i, o, c, self.keep(*i))


def _global(name: str, inputs: Any, forward: Any, keep: Any, slope: Any) -> Pair:
    made = _Global(forward, keep, slope)
    return Pair(name, made.forward, inputs, made.right, made.wrong)


def _of_rows(i: Any, o: Any, c: Any, mask: Any) -> Any:
    return c[0] * mask, None


LAST_FORWARD = [
    _global("the input of the last forward", (normal(3, 4),), np.square, lambda x: x.copy(),
            lambda i, o, c, x: (2 * c[0] * x,)),
    _global("the length of the last forward", (normal(7),), np.mean, lambda x: x.size,
            lambda i, o, c, n: (np.full(i[0].shape, c[0] / n),)),
    _global("the mask of the last forward", (normal(6), np.array([True, False, True, True, False, True])),
            lambda x, m: np.where(m, x, 0.0), lambda x, m: m.copy(), _of_rows),
    _global("the indices of the last forward", (normal(5), np.array([0, 2, 2, 4, 1])),
            lambda x, k: x[k], lambda x, k: k.copy(),
            lambda i, o, c, k: (np.bincount(k, c[0], i[0].size), None)),
    _global("the sign of the last forward", (np.abs(normal(4)) + 0.5,), lambda x: x * x.sum(),
            lambda x: float(np.sign(x.sum())),
            lambda i, o, c, s: (c[0] * np.abs(i[0].sum()) * s + (c[0] * i[0]).sum(),)),
    _global("the scalar of the last forward", (normal(4), 2.5), lambda x, a: x * a, lambda x, a: float(a),
            lambda i, o, c, a: (c[0] * a, (c[0] * i[0]).sum())),
]  # fmt: skip


# A forward that moves its input, beside a vjp that is right, or wrong, at the values given.


def _then(change: Any, forward: Any = np.sin) -> Any:
    def moving(x: Any) -> Any:
        y = forward(x)
        change(x)
        return y

    return moving


def _sorted_in_place(x: Any) -> Any:
    x.sort()
    return x * np.arange(1.0, x.size + 1)


def _sorted_vjp(x: Any, y: Any, dy: Any) -> Any:
    g = np.empty_like(x)
    g[np.argsort(x, kind="stable")] = dy * np.arange(1.0, x.size + 1)
    return g


def _centred_in_place(x: Any) -> Any:
    if x.size:
        x -= x.mean()
    return x**2


def _centred_vjp(factor: float) -> Any:
    def rule(x: Any, y: Any, dy: Any) -> Any:
        g = 2 * dy * (x - x.mean()) if x.size else 0 * x
        return g - factor * g.mean() if x.size else g

    return unary(rule)


def _add_in_place(a: Any, b: Any) -> Any:
    a *= b
    return a + 0.0


_cosine = unary(lambda x, y, dy: dy * np.cos(x))
_MOVED = ("mutation", "sharing")
MOVED_INPUTS = [
    Pair("an input moved by a rounding", _then(lambda x: np.multiply(x, 1 + 2.0**-52, out=x)), (normal(3, 4),),
         _cosine, unary(lambda x, y, dy: dy * np.cos(x) * 1.01), apart=_MOVED),
    Pair("an input overwritten", _then(lambda x: x.fill(0.0)), (normal(5),), _cosine,
         unary(lambda x, y, dy: dy * np.cos(x) * np.where(np.arange(x.size) == 1, 2.0, 1.0)), apart=_MOVED),
    Pair("an input whose first element is moved", _then(lambda x: x.flat.__setitem__(slice(0, 1), 3.0)), (normal(4),),
         _cosine, unary(lambda x, y, dy: dy * np.cos(np.where(np.arange(x.size) == 0, 3.0, x))), apart=_MOVED),
    Pair("a sine in place", lambda x: np.sin(x, out=x), (normal(3, 4),), _cosine,
         unary(lambda x, y, dy: dy * np.cos(y)), apart=_MOVED),
    Pair("sorted in place", _sorted_in_place, (normal(6),), unary(_sorted_vjp),
         unary(lambda x, y, dy: dy * np.arange(1.0, x.size + 1)), apart=_MOVED),
    Pair("centred in place", _centred_in_place, (normal(5),), _centred_vjp(1.0), _centred_vjp(0.0), apart=_MOVED),
    Pair("the first of two moved", _add_in_place, (normal(4), normal(4)), _product,
         lambda i, o, c: (c[0] * i[1], c[0] * o[0]), apart=_MOVED),
]  # fmt: skip
