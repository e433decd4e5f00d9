"""The functions of `opsdk.vmath` inside Numba kernels: scalars and arrays of float32, float64 and, as float64, int."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from opsdk.backends.vmath.table import numba_functions
from opsdk.core.once import once
from opsdk.expr import vmath
from opsdk.expr.node import BOOL, FLOAT
from opsdk.expr.primitives.entry import Primitive
from opsdk.expr.primitives.table import PRIMITIVES

# Any, throughout: Numba's types and dispatchers, which have no annotations.

_OPTIONS = {"forceinline": True, "error_model": "numpy", "boundscheck": False, "fastmath": False}


@once
def register() -> None:
    """Makes the functions known to Numba's compiler; the entry point `numba_extensions` calls it, and so may anybody.

    A second call does nothing.
    """
    numba_functions(np.dtype("float32"))  # made here rather than while Numba compiles and holds its lock
    for primitive in PRIMITIVES.values():
        if primitive.doc:
            _register(getattr(vmath, primitive.function), primitive)
    overload(vmath.clip, jit_options=_OPTIONS, strict=False, prefer_literal=True)(_clip)


def _register(public: Callable[..., Any], primitive: Primitive) -> None:
    made = {1: _one, 2: _two, 3: _three}[primitive.arity]

    def implementation(*operands: Any) -> Any:
        dtype = _computed_in(primitive.takes, operands)
        if dtype is None:
            return None
        function = numba_functions(dtype)[primitive.name]
        casts = [np.bool_ if kind == BOOL else dtype.type for kind in primitive.takes]
        result = np.bool_ if primitive.gives == BOOL else dtype.type
        is_array = any(isinstance(operand, types.Array) for operand in operands)
        return made(function, casts, result, is_array)

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


def _one(function: Any, casts: Sequence[Any], result: Any, is_array: bool) -> Any:
    (cast,) = casts
    if not is_array:
        return lambda a: function(cast(a))

    def each(a: Any) -> Any:
        out = np.empty(a.shape, result)
        line, flat = out.ravel(), a.ravel()
        for i in range(line.size):
            line[i] = function(cast(flat[i]))
        return out

    return each


def _two(function: Any, casts: Sequence[Any], result: Any, is_array: bool) -> Any:
    cast_a, cast_b = casts
    if not is_array:
        return lambda a, b: function(cast_a(a), cast_b(b))

    def each(a: Any, b: Any) -> Any:
        shape = np.broadcast_shapes(lengths(a), lengths(b))
        out = np.empty(shape, result)
        line, left, right = out.ravel(), spread(a, shape), spread(b, shape)
        for i in range(line.size):
            line[i] = function(cast_a(element(left, i)), cast_b(element(right, i)))
        return out

    return each


def _three(function: Any, casts: Sequence[Any], result: Any, is_array: bool) -> Any:
    cast_a, cast_b, cast_c = casts
    if not is_array:
        return lambda a, b, c: function(cast_a(a), cast_b(b), cast_c(c))

    def each(a: Any, b: Any, c: Any) -> Any:
        shape = np.broadcast_shapes(lengths(a), lengths(b), lengths(c))
        out = np.empty(shape, result)
        line, first, left, right = out.ravel(), spread(a, shape), spread(b, shape), spread(c, shape)
        for i in range(line.size):
            line[i] = function(cast_a(element(first, i)), cast_b(element(left, i)), cast_c(element(right, i)))
        return out

    return each


def _clip(x: Any, low: Any, high: Any) -> Any:
    dtype = _computed_in((FLOAT,) * 3, (x, low, high))
    if dtype is None:
        return None
    maximum, minimum = vmath.maximum, vmath.minimum
    # numbers are cast here, since inside the body none is known any more as one that is written in the kernel
    cast_x, cast_low, cast_high = (_as_it_is if isinstance(a, types.Array) else dtype.type for a in (x, low, high))
    return lambda x, low, high: minimum(maximum(cast_x(x), cast_low(low)), cast_high(high))


@register_jitable
def _as_it_is(operand: Any) -> Any:
    return operand


# -- an operand of an elementwise call, which may be a number beside arrays; these exist inside kernels only -----------


def lengths(operand: Any) -> Any:
    """Returns the shape of an array, (1,) for a number."""


def spread(operand: Any, shape: Any) -> Any:
    """Returns an array broadcast to a shape, in one line; a number as it is."""


def element(operand: Any, index: Any) -> Any:
    """Returns an element of an array; the number itself."""


@overload(lengths, jit_options=_OPTIONS, strict=False)
def _lengths(operand: Any) -> Any:
    return (lambda operand: operand.shape) if isinstance(operand, types.Array) else (lambda operand: (1,))


@overload(spread, jit_options=_OPTIONS, strict=False)
def _spread(operand: Any, shape: Any) -> Any:
    if isinstance(operand, types.Array):
        return lambda operand, shape: np.broadcast_to(operand, shape).ravel()
    return lambda operand, shape: operand


@overload(element, jit_options=_OPTIONS, strict=False)
def _element(operand: Any, index: Any) -> Any:
    if isinstance(operand, types.Array):
        return lambda operand, index: operand[index]
    return lambda operand, index: operand
