"""The functions of `opsdk.vmath` inside Numba kernels: scalars and arrays of float32, float64 and, as float64, int."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from opsdk.backends.vmath.draws import bodies, is_whole
from opsdk.backends.vmath.jit import INLINE, inner
from opsdk.backends.vmath.table import numba_functions
from opsdk.core.once import once
from opsdk.expr import vmath
from opsdk.expr.node import BOOL, FLOAT
from opsdk.expr.primitives.entry import WATCHERS, Primitive
from opsdk.expr.primitives.table import PRIMITIVES

# Any, throughout: Numba's types and dispatchers, which have no annotations.

_OPTIONS = {**INLINE, "fastmath": False}
_inline = inner(fastmath=False)
_AS_IT_IS = _inline(lambda operand: operand)
# Of an operand of an elementwise call: its shape, it as a line of the elements of a broadcast shape, one of these.
_ARRAY = (
    _inline(lambda operand: operand.shape),
    _inline(lambda operand, shape: np.broadcast_to(operand, shape).ravel()),
    _inline(lambda line, index: line[index]),
)
_NUMBER = (_inline(lambda operand: (1,)), _inline(lambda operand, shape: operand), _inline(lambda line, index: line))


@once
def register() -> None:
    """Makes the functions known to Numba's compiler; the entry point `numba_extensions` calls it, and so may anybody.

    A second call does nothing.
    """
    numba_functions(np.dtype("float32"))  # made here rather than while Numba compiles and holds its lock
    for primitive in list(PRIMITIVES.values()):
        _announce(primitive)
    WATCHERS.append(_announce)
    overload(vmath.clip, jit_options=_OPTIONS, strict=False, prefer_literal=True)(_clip)
    tables = {name: numba_functions(np.dtype(name)) for name in ("float32", "float64")}
    for name, body in bodies(_inline, tables, _drawn).items():
        overload(getattr(vmath, name), jit_options=_OPTIONS, strict=False)(body)


def _announce(primitive: Primitive) -> None:
    """Registers the function of a primitive, where it has one."""
    if primitive.doc:
        _register(primitive.public or getattr(vmath, primitive.function), primitive)


def _register(public: Callable[..., Any], primitive: Primitive) -> None:
    made = {1: _one, 2: _two, 3: _three}[primitive.arity]

    def implementation(*operands: Any) -> Any:
        dtype = _computed_in(primitive.takes, operands)
        if dtype is None:
            return None
        function = numba_functions(dtype, [primitive.name])[primitive.name]
        casts = [np.bool_ if kind == BOOL else dtype.type for kind in primitive.takes]
        result = np.bool_ if primitive.gives == BOOL else dtype.type
        kinds = [_ARRAY if isinstance(operand, types.Array) else _NUMBER for operand in operands]
        return made(function, casts, result, kinds)

    # Numba reads the number and the names of the operands off the signature
    typed: Any = {
        1: lambda a: implementation(a),
        2: lambda a, b: implementation(a, b),
        3: lambda a, b, c: implementation(a, b, c),
    }[primitive.arity]
    overload(public, jit_options=_OPTIONS, strict=False, prefer_literal=True)(typed)


def _computed_in(kinds: Sequence[str], operands: Sequence[Any]) -> np.dtype[Any] | None:
    """Returns the dtype that a call is computed in: float64 if any operand is, or if none is float32; else float32.

    An integer that is written as a number in the kernel has no say beside a float. None: Numba reports the call.
    """
    names = set()
    for kind, operand in zip(kinds, operands, strict=True):
        element = operand.dtype if isinstance(operand, types.Array) and operand.ndim > 0 else operand
        if kind == BOOL:
            if not isinstance(element, types.Boolean):
                return None
        elif isinstance(element, types.IntegerLiteral):
            continue
        elif isinstance(element, (types.Integer, types.Boolean)):
            names.add("float64")
        elif element in (types.float32, types.float64):
            names.add(element.name)
        else:
            return None
    return np.dtype("float32" if names == {"float32"} else "float64")


def _one(function: Any, casts: Sequence[Any], result: Any, kinds: Sequence[Any]) -> Any:
    (cast,) = casts
    if _ARRAY not in kinds:
        return lambda a: function(cast(a))

    def each(a: Any) -> Any:
        out = np.empty(a.shape, result)
        line, flat = out.ravel(), a.ravel()
        for i in range(line.size):
            line[i] = function(cast(flat[i]))
        return out

    return each


def _two(function: Any, casts: Sequence[Any], result: Any, kinds: Sequence[Any]) -> Any:
    cast_a, cast_b = casts
    if _ARRAY not in kinds:
        return lambda a, b: function(cast_a(a), cast_b(b))
    (lengths_a, spread_a, element_a), (lengths_b, spread_b, element_b) = kinds

    def each(a: Any, b: Any) -> Any:
        shape = np.broadcast_shapes(lengths_a(a), lengths_b(b))
        out = np.empty(shape, result)
        line, left, right = out.ravel(), spread_a(a, shape), spread_b(b, shape)
        for i in range(line.size):
            line[i] = function(cast_a(element_a(left, i)), cast_b(element_b(right, i)))
        return out

    return each


def _three(function: Any, casts: Sequence[Any], result: Any, kinds: Sequence[Any]) -> Any:
    cast_a, cast_b, cast_c = casts
    if _ARRAY not in kinds:
        return lambda a, b, c: function(cast_a(a), cast_b(b), cast_c(c))
    (lengths_a, spread_a, element_a), (lengths_b, spread_b, element_b), (lengths_c, spread_c, element_c) = kinds

    def each(a: Any, b: Any, c: Any) -> Any:
        shape = np.broadcast_shapes(lengths_a(a), lengths_b(b), lengths_c(c))
        out = np.empty(shape, result)
        line, first, left, right = out.ravel(), spread_a(a, shape), spread_b(b, shape), spread_c(c, shape)
        for i in range(line.size):
            line[i] = function(cast_a(element_a(first, i)), cast_b(element_b(left, i)), cast_c(element_c(right, i)))
        return out

    return each


def _drawn(function: Any, result: Any, key: Any, i: Any) -> Any:
    """Returns what draws numbers of keys and counters that are integers or arrays of them; None for others."""
    elements = [each.dtype if isinstance(each, types.Array) else each for each in (key, i)]
    if not all(map(is_whole, elements)):
        return None
    kinds = [_ARRAY if isinstance(each, types.Array) else _NUMBER for each in (key, i)]
    return _inline(_two(function, [np.uint64, np.uint64], result, kinds))


def _clip(x: Any, low: Any, high: Any) -> Any:
    dtype = _computed_in((FLOAT,) * 3, (x, low, high))
    if dtype is None:
        return None
    maximum, minimum = vmath.maximum, vmath.minimum
    # numbers are cast here, since inside the body none is known any more as one that is written in the kernel
    cast_x, cast_low, cast_high = (_AS_IT_IS if isinstance(a, types.Array) else dtype.type for a in (x, low, high))
    return lambda x, low, high: minimum(maximum(cast_x(x), cast_low(low)), cast_high(high))
