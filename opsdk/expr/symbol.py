"""Symbol: what a scalar function is called with while it is read; arithmetic on it builds nodes.

What an expression may not do with one is refused, with what to write instead; every way to try ends in these words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from opsdk.core.errors import TraceError
from opsdk.core.fit import shown
from opsdk.core.suggest import alternatives
from opsdk.expr.node import BOOL, Node, constant, literal, topological
from opsdk.expr.primitives.entry import PRIMITIVES

_SYMBOLIC = "operators and vmath functions"
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


def refuse(got: str, remedy: str, wanted: str = _SYMBOLIC) -> NoReturn:
    """Says what was tried and what to write.

    Raises:
        TraceError: always.
    """
    raise TraceError(f"expression: expected {wanted}, got {got}; {remedy}")


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
    raise _MissingError(f"expression: expected {_SYMBOLIC}, got the attribute {name!r}; {remedy}")


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
        setattr(symbol, name, _method(got, _ONE_ELEMENT, "a scalar"))
    return symbol


def _method(got: str, remedy: str, wanted: str = _SYMBOLIC) -> Callable[..., Any]:
    def refused(self: object, *operands: object, **options: object) -> NoReturn:
        refuse(got, remedy, wanted)

    return refused


# Any: whatever a user's expression holds.
def _operators(name: str) -> tuple[Callable[[Symbol, Any], Symbol], Callable[[Symbol, Any], Symbol]]:
    """Returns a primitive of two operands as an operator of symbols, and as the one of what stands on their left."""

    def operator(self: Symbol, other: Any) -> Symbol:
        return apply(name, self, other)

    def reflected(self: Symbol, other: Any) -> Symbol:
        return apply(name, other, self)

    return operator, reflected


@refusing
class Symbol:
    """A scalar that has no value yet. It can be computed with, and be neither tested nor indexed nor converted."""

    __slots__ = ("node",)

    number = staticmethod(constant)  # what makes the node of a number beside it

    def __init__(self, node: Node) -> None:
        self.node = node

    # -- what a user's expression may do ------------------------------------------------------------------------------

    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("sub")
    __mul__, __rmul__ = _operators("mul")
    __truediv__, __rtruediv__ = _operators("div")
    __lt__ = _operators("lt")[0]
    __le__ = _operators("le")[0]
    __gt__ = _operators("gt")[0]
    __ge__ = _operators("ge")[0]
    __eq__ = _operators("eq")[0]  # type: ignore[assignment]
    __ne__ = _operators("ne")[0]  # type: ignore[assignment]
    __and__ = __rand__ = _operators("and")[0]
    __or__ = __ror__ = _operators("or")[0]

    def __pow__(self, other: Any, modulo: Any = None) -> Symbol:
        if modulo is not None:
            refuse("pow() with a modulus", "write vmath.fmod(x ** y, z)")
        return apply("pow", self, other)

    __rpow__ = _operators("pow")[1]

    def __neg__(self) -> Symbol:
        return apply("neg", self)

    def __pos__(self) -> Symbol:
        return self

    def __abs__(self) -> Symbol:
        return apply("abs", self)

    def __invert__(self) -> Symbol:
        return apply("not", self)

    __hash__ = object.__hash__

    # -- what it may not ----------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Symbol:
        """Takes `scalar * symbol` of a NumPy scalar; a NumPy function is refused, by the name that it has here."""
        operators = (each for each in PRIMITIVES.values() if each.python and each.arity == 2)
        name = next((each.name for each in operators if each.ufunc == ufunc.__name__), None)
        if name is None or method != "__call__" or options:
            refuse_numpy("sum" if ufunc.__name__ == "add" and method == "reduce" else ufunc.__name__)
        return apply(name, *inputs)

    def __bool__(self) -> bool:
        names = dict.fromkeys(str(node) for node in topological([self.node]) if node.op in ("input", "attr"))
        raise TraceError(
            f"expression: 'if', 'and', 'or' and 'while' need a value, got a symbol that depends on {', '.join(names)}, "
            "while the expression is read; write vmath.where(condition, a, b)"
        )

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Refuses a NumPy function that is no ufunc, such as `np.where`."""
        refuse_numpy(function.__name__)

    def __getattr__(self, name: str) -> Any:
        """Refuses what only arrays have."""
        refuse_attribute(name)

    def __getitem__(self, index: object) -> Any:
        refuse(f"the index {index!r}", _ONE_ELEMENT, "a scalar")

    def __setitem__(self, index: object, value: object) -> None:
        self[index]

    def __repr__(self) -> str:
        return f"<symbol {self.node!r}>"


class Written(Symbol):
    """A symbol that a user's function is read with: the numbers beside it stay what they are written as."""

    __slots__ = ()

    number = staticmethod(literal)


_REMEDIES = {
    "ndarray": "; an expression is one element, pass arrays as inputs when it is called",
    "complex": "; literals and attributes are real, pass a complex number as an input of the op",
}


# Any: whatever a user's expression holds.
def as_node(value: Any, subject: str = "expression", number: Callable[[Any], Node] = constant) -> Node:
    """Returns the node of a symbol or a plain number, which `number` makes a node of.

    Raises:
        TraceError: the value is neither.
    """
    if isinstance(value, Symbol):
        return value.node
    if isinstance(value, Node):
        return value
    if isinstance(value, int) and abs(value) >= 2**1024:
        raise TraceError(f"{subject}: expected a number that float64 reaches, up to 1.8e308, got {shown(value)}")
    if isinstance(value, (bool, int, float)):
        return number(value)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):  # a NumPy scalar, or what np.where makes of some
        if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind in "iuf":
            return number(np.asarray(value)[()])
        return as_node(value.item(), subject, number)
    remedy = _REMEDIES.get(type(value).__name__, "")
    raise TraceError(f"{subject}: expected a symbol or a number, got {type(value).__name__}{remedy}")


def apply(name: str, *values: Any) -> Symbol:
    """Returns a primitive applied to symbols and numbers (Any: whatever a user's expression holds).

    Raises:
        TraceError: no such primitive, or operands of the wrong number or kind.
    """
    known = PRIMITIVES.get(name)
    if known is None:
        raise TraceError(f"expression: no primitive is called {name!r}; there are {alternatives(name, PRIMITIVES)}")
    if len(values) != known.arity:
        raise TraceError(f"vmath.{name}: expected {known.arity} operands, got {len(values)}")
    made = Written if any(v.__class__ is Written for v in values) else Symbol
    nodes = tuple([v.node if isinstance(v, Symbol) else as_node(v, f"vmath.{name}", made.number) for v in values])
    kinds = tuple([node.kind for node in nodes])
    if kinds != known.takes:
        position = next(i for i, kind in enumerate(kinds) if kind != known.takes[i])
        is_condition = known.takes[position] == BOOL
        wanted = "a condition" if is_condition else "a number"
        remedy = "compare it with a number" if is_condition else "write vmath.where(it, 1.0, 0.0)"
        got = f"{nodes[position]!r}, a {kinds[position]}"
        raise TraceError(f"vmath.{name}: operand {position} expected {wanted}, got {got}; {remedy}")
    return made(Node(name, nodes, None, known.gives))
