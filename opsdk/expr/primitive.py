"""Primitives: the operations that expressions are made of, each with its meaning on arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opsdk.expr.error_function import erf, erfc
from opsdk.expr.node import BOOL, FLOAT

# Takes an array module (NumPy, CuPy, jax.numpy, …) and operands that it understands; Any: that module's arrays.
Meaning = Callable[..., Any]


@dataclass(frozen=True)
class Primitive:
    """One operation.

    Args:
        name: what nodes and vmath call it.
        arity: number of operands.
        meaning: the value on arrays, computed with a module given first.
        takes, gives: kinds of operands and result.
    """

    name: str
    arity: int
    meaning: Meaning
    takes: tuple[str, ...]
    gives: str = FLOAT


PRIMITIVES: dict[str, Primitive] = {}


def primitive(name: str, meaning: Meaning, takes: str = "f", gives: str = "f", floats: str = "") -> None:
    """Adds a primitive; kinds are written one letter each, `f` or `b`.

    Operands of dtypes of the kinds `floats` are made float64 first, where NumPy would take the shortest float.
    """
    kinds = {"f": FLOAT, "b": BOOL}
    if floats:
        given, meaning = meaning, lambda xp, *operands: given(xp, *[_floating(each, floats) for each in operands])
    PRIMITIVES[name] = Primitive(name, len(takes), meaning, tuple(kinds[k] for k in takes), kinds[gives])


def _floating(value: Any, kinds: str) -> Any:
    dtype = getattr(value, "dtype", None)
    return value.astype("float64") if getattr(dtype, "kind", "f") in kinds else value


_WHOLE = "biu"

for _name, _ufunc in (
    ("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("div", "divide"), ("pow", "power"),
    ("minimum", "minimum"), ("maximum", "maximum"),
):  # fmt: skip
    primitive(_name, lambda xp, a, b, ufunc=_ufunc: getattr(xp, ufunc)(a, b), "ff")

for _name in ("arctan2", "fmod", "hypot", "logaddexp", "copysign"):
    primitive(_name, lambda xp, a, b, ufunc=_name: getattr(xp, ufunc)(a, b), "ff", floats=_WHOLE)

for _name in ("abs", "sign", "floor", "ceil", "trunc", "square"):
    primitive(_name, lambda xp, a, ufunc=_name: getattr(xp, ufunc)(a))

for _name in (
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
):  # fmt: skip
    primitive(_name, lambda xp, a, ufunc=_name: getattr(xp, ufunc)(a), floats=_WHOLE)

primitive("neg", lambda xp, a: -a)
primitive("reciprocal", lambda xp, a: 1 / a)
primitive("rsqrt", lambda xp, a: 1 / xp.sqrt(a), floats=_WHOLE)
primitive("round", lambda xp, a: xp.round(a), floats="b")

for _name, _ufunc in (
    ("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal"),
    ("eq", "equal"), ("ne", "not_equal"),
):  # fmt: skip
    primitive(_name, lambda xp, a, b, ufunc=_ufunc: getattr(xp, ufunc)(a, b), "ff", "b")

primitive("and", lambda xp, a, b: xp.logical_and(a, b), "bb", "b")
primitive("or", lambda xp, a, b: xp.logical_or(a, b), "bb", "b")
primitive("not", lambda xp, a: xp.logical_not(a), "b", "b")
for _name in ("isnan", "isinf", "isfinite"):
    primitive(_name, lambda xp, a, ufunc=_name: getattr(xp, ufunc)(a), "f", "b")
primitive("where", lambda xp, c, a, b: xp.where(c, a, b), "bff")


def _sigmoid(xp: Any, a: Any) -> Any:
    is_right = xp.real(a) >= 0
    decay = xp.exp(xp.where(is_right, -a, a))
    return xp.where(is_right, 1 / (1 + decay), decay / (1 + decay))


def _softplus(xp: Any, a: Any) -> Any:
    return xp.maximum(a, 0) + xp.log1p(xp.exp(-xp.abs(a)))


for _name, _function in (("sigmoid", _sigmoid), ("softplus", _softplus), ("erf", erf), ("erfc", erfc)):
    primitive(_name, _function, floats=_WHOLE)
