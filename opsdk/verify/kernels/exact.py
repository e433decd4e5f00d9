"""Values of primitives to many digits, by mpmath: what an accuracy of float64 is judged by, where it is installed.

A function that says in NumPy what is right is called with numbers of mpmath, whose methods are the functions of NumPy;
a body is computed from the primitives that it is made of. What either refuses has no such value, as SciPy's functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.core.errors import MissingDependencyError
from opsdk.core.lazy import optional
from opsdk.expr.evaluate import evaluate
from opsdk.expr.primitives.entry import PRIMITIVES, Primitive

# Any, in this file: a context of mpmath, its numbers, and arrays of them.
_DIGITS = 160  # bits beside those that cancel where operands are tiny or huge
_HUGE = 2.0**40  # e to a power beyond this is no number that a formula should need
_BEYOND = 1100  # bits of the exponent: of no float64


def _gamma_of(value: Callable[..., Any], reflected: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of x > 0, and what reflection makes of it left of 0."""
    return lambda mp, x: value(mp, x) if x > 0 else reflected(mp, x, value(mp, 1 - x))


def _asymptotic(near: Callable[..., Any], far: Callable[..., Any], end: float) -> Callable[..., Any]:
    return lambda mp, x: near(mp, x) if abs(x) < end else far(mp, x)


def _far_bessel(shift: int) -> Callable[..., Any]:
    """√(2/(πa)) cos(a − shift π/4), which is all that is left where a is as large as here; J₁ is odd."""

    def value(mp: Any, x: Any) -> Any:
        a = abs(x)
        made = mp.sqrt(2 / (mp.pi * a)) * mp.cos(a - shift * mp.pi / 4)
        return made * mp.sign(x) if shift == 3 else made

    return value


def _far_erfcx(mp: Any, x: Any) -> Any:
    series = 1 - 1 / (2 * x * x) + 3 / (4 * x**4) - 15 / (8 * x**6)
    return mp.inf if x < 0 else series / (x * mp.sqrt(mp.pi))


def _far_log_ndtr(mp: Any, x: Any) -> Any:
    if x > 0:
        return mp.mpf(0)
    rest = mp.log(1 - 1 / x**2 + 3 / x**4 - 15 / x**6)
    return -x * x / 2 - mp.log(-x * mp.sqrt(2 * mp.pi)) + rest


def _far_ive(order: int) -> Callable[..., Any]:
    m = 4 * order * order

    def value(mp: Any, x: Any) -> Any:
        a = abs(x)
        series = 1 - (m - 1) / (8 * a) + (m - 1) * (m - 9) / (128 * a * a)
        return series / mp.sqrt(2 * mp.pi * a) * (mp.sign(x) if order else 1)

    return value


def _log_ndtr(mp: Any, x: Any) -> Any:
    tail = mp.erfc(abs(x) / mp.sqrt(2)) / 2
    return mp.log(tail) if x < 0 else mp.log1p(-tail)


# By name of a primitive its value: of a context, and of the operands as numbers of it.
# fmt: off
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: lambda mp, *x, own=name: getattr(mp, own)(*x) for name in (
        "sqrt", "hypot", "exp", "expm1", "log", "log1p", "log10", "erf", "sin", "cos", "tan", "sinh", "cosh", "tanh",
        "sign", "floor", "ceil", "isnan", "isinf", "isfinite")},
    **{f"arc{name}": lambda mp, *x, own=f"a{name}": getattr(mp, own)(*x) for name in (
        "sin", "cos", "tan", "tan2", "sinh", "cosh", "tanh")},
    "neg": lambda mp, x: -x,
    "abs": lambda mp, x: abs(x),
    "pow": lambda mp, a, b: a**b,
    "exp2": lambda mp, x: mp.mpf(2) ** x,
    "log2": lambda mp, x: mp.log(x, 2),
    "rsqrt": lambda mp, x: 1 / mp.sqrt(x),
    "cbrt": lambda mp, x: mp.sign(x) * mp.cbrt(abs(x)),
    "square": lambda mp, x: x * x,
    "reciprocal": lambda mp, x: 1 / x,
    "sigmoid": lambda mp, x: 1 / (1 + mp.exp(-x)),
    "softplus": lambda mp, x: mp.log1p(mp.exp(x)),
    "logaddexp": lambda mp, a, b: max(a, b) + mp.log1p(mp.exp(-abs(a - b))),
    "erfc": lambda mp, x: mp.erfc(x) if abs(x) < 100 else 1 - mp.sign(x),
    "round": lambda mp, x: mp.nint(x),
    "trunc": lambda mp, x: mp.sign(x) * mp.floor(abs(x)),
    "fmod": lambda mp, a, b: mp.sign(a) * mp.fmod(abs(a), abs(b)),
    "copysign": lambda mp, x, y: -abs(x) if y < 0 else abs(x),
    "minimum": lambda mp, a, b: a if mp.isnan(a) or a < b else b,
    "maximum": lambda mp, a, b: a if mp.isnan(a) or a > b else b,
    "where": lambda mp, condition, a, b: a if condition else b,
    "and": lambda mp, a, b: a and b,
    "or": lambda mp, a, b: a or b,
    "not": lambda mp, a: not a,
    "lgamma": _gamma_of(
        lambda mp, x: mp.loggamma(x),
        lambda mp, x, y: mp.log(mp.pi / abs(mp.sinpi(x))) - y if x % 1 else mp.inf),
    "digamma": _gamma_of(
        lambda mp, x: mp.digamma(x),
        lambda mp, x, y: y - mp.pi / mp.tan(mp.pi * x) if x % 1 else mp.nan),
    "trigamma": _gamma_of(
        lambda mp, x: mp.psi(1, x),
        lambda mp, x, y: (mp.pi / mp.sinpi(x)) ** 2 - y if x % 1 else mp.inf),
    "erfcx": _asymptotic(lambda mp, x: mp.exp(x * x) * mp.erfc(x), _far_erfcx, 300),
    "erfinv": lambda mp, x: mp.erfinv(x) if abs(x) <= 1 else mp.nan,
    "log_ndtr": _asymptotic(_log_ndtr, _far_log_ndtr, 300),
    "i0e": _asymptotic(lambda mp, x: mp.exp(-abs(x)) * mp.besseli(0, x), _far_ive(0), 1e6),
    "i1e": _asymptotic(lambda mp, x: mp.exp(-abs(x)) * mp.besseli(1, x), _far_ive(1), 1e6),
    "j0": _asymptotic(lambda mp, x: mp.j0(x), _far_bessel(1), 1e18),
    "j1": _asymptotic(lambda mp, x: mp.j1(x), _far_bessel(3), 1e18),
    "sinc": lambda mp, x: mp.sincpi(x),
}
# fmt: on
_GROWING = {"exp", "exp2", "expm1", "sinh", "cosh", "tanh", "sigmoid", "softplus", "logaddexp"}


class _NoValueError(Exception):
    """A number of mpmath does not exist, or would take no end of memory."""


def exact_values(primitive: Primitive, operands: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns what is right by a primitive's own definition: a float64, what that lacks, and whether both are known.

    Args:
        primitive: of a user.
        operands: one array of float64 each, of one shape, of any numbers; of 0, infinity and NaN nothing is known.
    """
    shape = operands[0].shape
    right, rest, known = np.zeros(shape), np.zeros(shape), np.zeros(shape, bool)
    try:
        mp, meanings = _context()
    except MissingDependencyError:
        return right, rest, known
    for at in np.flatnonzero(np.all([np.isfinite(each) & (each != 0) for each in operands], axis=0)):
        numbers = [float(each[at]) for each in operands]
        mp.prec = _DIGITS + 2 * max(abs(int(np.frexp(number)[1])) for number in numbers)
        try:
            value = _number(mp, _value(primitive, [mp.mpf(number) for number in numbers], meanings))
        except Exception:  # a pole, what only computes with floats, or an author's own
            continue
        right[at] = nearest = float(value)
        known[at] = True
        rest[at] = float(value - nearest) if np.isfinite(nearest) else 0.0
    return right, rest, known


def _value(primitive: Primitive, numbers: Sequence[Any], meanings: Mapping[str, Primitive]) -> Any:
    """Returns the value at numbers: of what says in NumPy what is right, or of the body."""
    if primitive.right is not None:
        made = np.asarray(primitive.right(*[np.array([number], object) for number in numbers]))
        if made.dtype.kind != "O":
            raise _NoValueError
        return made.ravel()[0]
    assert primitive.body is not None
    return evaluate([primitive.body.root], dict(zip(primitive.operands, numbers, strict=True)), np, None, meanings)[0]


def _number(mp: Any, value: Any) -> Any:
    """Returns a number of the context; NaN for a complex one."""
    return mp.nan if isinstance(value, mp.mpc) else mp.mpf(value)


class _Meanings(dict[str, Primitive]):
    """Primitives that compute with mpmath, by name; those of users by what they are made of."""

    def __missing__(self, name: str) -> Primitive:
        own = PRIMITIVES[name]
        if not own.public:  # a member of a family, whose body holds for floats alone
            raise _NoValueError
        made = replace(own, meaning=lambda xp, *values: _value(own, values, self))
        return self.setdefault(name, made)


def _context() -> tuple[Any, Mapping[str, Primitive]]:
    """Returns a context of its own, whose numbers have the functions of NumPy for methods, and primitives for it.

    Raises:
        MissingDependencyError: mpmath is not installed.
    """
    mp = optional("mpmath", extra="exact", subject="verify").MPContext()
    made = _Meanings()
    for name, primitive in PRIMITIVES.items():
        if primitive.python is not None and name not in FUNCTIONS:  # an operator, of any numbers
            made[name] = replace(primitive, meaning=lambda xp, *values, own=primitive.python: own(*values))
    for name, function in FUNCTIONS.items():
        held = _held(mp, name, function)
        made[name] = replace(PRIMITIVES[name], meaning=lambda xp, *values, own=held: own(*values))
        setattr(mp.mpf, PRIMITIVES[name].ufunc or name, lambda self, *others, own=held: own(self, *others))
    return mp, made


def _held(mp: Any, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function of a context that gives no complex number, and refuses what it would not end with."""

    def value(*operands: Any) -> Any:
        for operand in operands if name in _GROWING else ():
            if abs(operand) > _HUGE:
                raise _NoValueError
        for operand in operands:
            if isinstance(operand, mp.mpf) and mp.isfinite(operand) and operand and mp.mag(operand) > _BEYOND:
                raise _NoValueError
        made = function(mp, *[_lifted(mp, operand) for operand in operands])
        return mp.nan if isinstance(made, mp.mpc) else made

    return value


def _lifted(mp: Any, operand: Any) -> Any:
    """Returns a Python number as one of the context; conditions and its own as they are."""
    return mp.mpf(operand) if isinstance(operand, (int, float)) and not isinstance(operand, bool) else operand
