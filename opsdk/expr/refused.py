"""What an expression may not do with a symbol, and what to write instead; every way to try ends in these words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from opsdk.core.errors import TraceError
from opsdk.expr.primitives.entry import PRIMITIVES

_ONE_ELEMENT = "an expression is one element"
_REDUCE = "an expression is one element, and @opsdk.rowwise is one row: vmath.row_{0}(x)"
_DTYPE = "an expression is read once for all dtypes"

# Python's operators and conversions: what was tried, and what to write.
_METHODS = {
    "__floordiv__": ("'//'", "write vmath.floor(x / y)"),
    "__mod__": ("'%'", "'%' rounds differently in Python and C; write vmath.fmod(x, y)"),
    "__divmod__": ("divmod()", "write vmath.floor(x / y) and vmath.fmod(x, y)"),
    "__matmul__": ("'@'", f"{_ONE_ELEMENT}: write x * y"),
    "__lshift__": ("'<<'", "write x * 2 ** n"),
    "__rshift__": ("'>>'", "write vmath.floor(x / 2 ** n)"),
    "__xor__": ("'^'", "write x ** y for a power, a != b for two conditions"),
    "__round__": ("round()", "write vmath.round(x)"),
    "__floor__": ("math.floor()", "write vmath.floor(x)"),
    "__ceil__": ("math.ceil()", "write vmath.ceil(x)"),
    "__trunc__": ("math.trunc()", "write vmath.trunc(x)"),
    "__float__": ("a conversion to a Python number", "math.exp(x) is vmath.exp(x)"),
    "__complex__": ("a conversion to a Python number", "an expression is real"),
    "__format__": ("a text of it", "it has no value yet"),
}
_REVERSED = ("__floordiv__", "__mod__", "__divmod__", "__matmul__", "__lshift__", "__rshift__", "__xor__")
# What belongs to arrays: an expression is called with scalars.
_ARRAY_METHODS = {
    "__iter__": "iteration or unpacking",
    "__len__": "len()",
    "__contains__": "'in'",
    "__reversed__": "reversed()",
    "__call__": "a call",
}
_NUMPY = {
    "where": "vmath.where(condition, a, b)", "select": "vmath.where(condition, a, b)",
    "piecewise": "vmath.where(condition, a, b)", "clip": "vmath.clip(x, low, high)",
    "floor_divide": "vmath.floor(x / y)", "remainder": "vmath.fmod(x, y)", "mod": "vmath.fmod(x, y)",
    "rint": "vmath.round(x)", "around": "vmath.round(x)", "round_": "vmath.round(x)", "absolute": "vmath.abs(x)",
    "fabs": "vmath.abs(x)", "fmax": "vmath.maximum(a, b)", "fmin": "vmath.minimum(a, b)", "true_divide": "x / y",
    "negative": "-x", "positive": "+x", "float_power": "x ** y", "heaviside": "vmath.where(x > 0, 1.0, 0.0)",
    "logical_and": "a & b", "logical_or": "a | b", "logical_not": "~a", "logical_xor": "a != b",
    "nan_to_num": "vmath.where(vmath.isnan(x), 0.0, x)",
}  # fmt: skip
_SUMS = {"max": "max", "amax": "max", "min": "min", "amin": "min", "sum": "sum", "mean": "mean", "average": "mean"}


class _MissingError(TraceError, AttributeError):
    """A symbol lacks an attribute that arrays have; `hasattr` and `getattr` with a default see that."""


def refuse(got: str, remedy: str) -> NoReturn:
    """Says what was tried and what to write.

    Raises:
        TraceError: always.
    """
    raise TraceError(f"expression: expected operators and vmath functions, got {got}; {remedy}")


def refuse_numpy(name: str) -> NoReturn:
    """Refuses a NumPy function by the name that it has here.

    Raises:
        TraceError: always.
    """
    if name in _SUMS:
        refuse(f"NumPy's {name}", _REDUCE.format(_SUMS[name]))
    if name in _NUMPY:
        refuse(f"NumPy's {name}", f"write {_NUMPY[name]}")
    if name in PRIMITIVES:
        refuse(f"NumPy's {name}", f"np.{name}(x) is vmath.{name}(x)")
    refuse(f"NumPy's {name}", "what vmath lacks belongs into a kernel: @op.kernel('cpu', language='numba')")


def refuse_attribute(name: str) -> NoReturn:
    """Refuses an attribute or method that an array would have.

    Raises:
        TraceError: always; it is an AttributeError as well.
    """
    if name.startswith("__"):
        raise AttributeError(name)  # Python and NumPy ask every object for such names
    if name in _SUMS:
        remedy = _REDUCE.format(_SUMS[name])
    elif name in ("dtype", "astype", "itemsize"):
        remedy = _DTYPE
    elif name in _NUMPY or name in PRIMITIVES:
        remedy = f"write {_NUMPY.get(name, f'vmath.{name}(x)')}"
    else:
        remedy = _ONE_ELEMENT
    raise _MissingError(f"expression: expected operators and vmath functions, got the attribute {name!r}; {remedy}")


# Any: a class decorator, and operands of whatever type a user's expression holds.
def refusing(symbol: type[Any]) -> type[Any]:
    """Gives a class of symbols every operator and conversion that expressions may not use, each with its remedy."""
    for name, (got, remedy) in _METHODS.items():
        setattr(symbol, name, _method(got, remedy))
        if name in _REVERSED:
            setattr(symbol, f"__r{name[2:]}", _method(got, remedy))
    for name in ("__int__", "__index__"):
        setattr(symbol, name, symbol.__float__)
    for name, got in _ARRAY_METHODS.items():
        setattr(symbol, name, _array_method(got))
    return symbol


def _method(got: str, remedy: str) -> Callable[..., Any]:
    def refused(self: object, *operands: object) -> NoReturn:
        refuse(got, remedy)

    return refused


def _array_method(got: str) -> Callable[..., Any]:
    def refused(self: object, *operands: object, **options: object) -> NoReturn:
        raise TraceError(f"expression: expected a scalar, got {got}; {_ONE_ELEMENT}")

    return refused
