"""Entries of users' Numba kernels: pointers and sizes made into arrays, the kernel called, its results copied out.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import carray, float64, int32, int64, types
from numba.extending import overload
from numba.np import numpy_support

from opsdk.backends.native.compiler import Export, compile_object
from opsdk.backends.native.elementwise_source import INEXACT
from opsdk.backends.native.loader import Image, load

OTHER_SHAPE = 4  # a status, beside `RAISED` and those of row kernels

# Any, in this file: Numba's types, dispatchers, constants of a call.


class UnexpectedResult(Exception):
    """A kernel returns what is no array of the declared kind; none of Numba's errors, which it would paraphrase."""


@dataclass(frozen=True)
class Operand:
    """An array that an entry has a pointer to.

    Args:
        name: as the kernel knows it.
        dtype: of its elements.
        ndim: how many of `sizes` are its shape.
    """

    name: str
    dtype: np.dtype[Any]
    ndim: int


def entry_of(
    symbol: str,
    kernel: Any,
    parameters: Sequence[str],
    inputs: Sequence[Operand],
    outputs: Sequence[Operand],
    numbers: Mapping[str, str],
    constants: Mapping[str, Any],
) -> Image:
    """Returns a kernel in memory, compiled now; its entry is its one address.

    Args:
        symbol: of the entry, for debuggers.
        kernel: a Numba dispatcher.
        parameters: what the kernel takes, in its own order.
        inputs: the arrays that are given.
        outputs: the arrays that are made; a kernel that does not take them returns them.
        numbers: types (`float` or `int`) of the attributes that come with each call, by name.
        constants: values of everything else that the kernel takes, frozen into the code.

    Raises:
        UnexpectedResult: the kernel returns something else than the outputs.
    """
    every = [*inputs, *outputs]
    given = [f"p{i}" for i in range(len(every))] + [f"s{i}" for i in range(len(numbers))]
    lines = [f"def entry({', '.join(('start', 'stop', 'sizes', *given))}):"]
    values = {name: f"c{i}" for i, name in enumerate(constants)}
    names: dict[str, Any] = {f"c{i}": value for i, value in enumerate(constants.values())}
    at = 0
    for i, operand in enumerate(every):
        shape = "".join(f"sizes[{at + axis}], " for axis in range(operand.ndim))
        at += operand.ndim
        lines.append(f"    a{i} = array(p{i}, ({shape or '1,'}))" + ("" if operand.ndim else ".reshape(())"))
        values[operand.name] = f"a{i}"
    for i, (name, kind) in enumerate(numbers.items()):
        if kind == "int":  # as a double, which may stand for several whole numbers from 2⁵³ on
            lines += [f"    if not abs(s{i}) < {2.0**53} or s{i} != trunc(s{i}):", f"        return status({INEXACT})"]
        values[name] = f"integer(s{i})" if kind == "int" else f"s{i}"
    call = f"kernel({', '.join(values[name] for name in parameters)})"
    made = [f"a{len(inputs) + i}" for i in range(len(outputs))]
    if not outputs or outputs[0].name in parameters:
        lines += [f"    {call}", "    return status(0)"]
    else:
        lines += [f"    made = {call}"]
        results = ["made"] if len(made) == 1 else [f"made[{i}]" for i in range(len(made))]
        for array, result in zip(made, results, strict=True):
            lines += [f"    if not put({array}, {result}):", f"        return status({OTHER_SHAPE})"]
        lines += ["    return status(0)"]
    names |= {"array": carray, "kernel": kernel, "integer": np.int64, "trunc": np.trunc, "status": np.int32, "put": put}
    exec(compile("\n".join(lines), f"<opsdk entry {symbol}>", "exec"), names)
    pointers = [types.CPointer(numpy_support.from_dtype(operand.dtype)) for operand in every]
    signature = int32(int64, int64, types.CPointer(int64), *pointers, *[float64] * len(numbers))
    export = Export(symbol, names["entry"], signature, is_range=True, may_raise=True, fastmath=frozenset())
    return load(compile_object(symbol, [export])[0], [symbol])


def put(out: Any, made: Any) -> Any:
    """Copies a result into an array; tells whether it has its shape. It exists inside kernels only."""


@overload(put, jit_options={"error_model": "numpy"})
def _put(out: Any, made: Any) -> Any:
    if isinstance(made, types.Array) and (made.ndim, made.dtype) == (out.ndim, out.dtype):

        def copied(out: Any, made: Any) -> bool:
            if out.shape != made.shape:
                return False
            out[...] = made
            return True

        return copied
    if isinstance(made, (types.Number, types.Boolean)) and out.ndim == 0 and _holds(out.dtype, made):

        def stored(out: Any, made: Any) -> bool:
            out[()] = made
            return True

        return stored
    raise UnexpectedResult(f"expected {out.dtype} in {out.ndim} dimensions to be returned, got {made}")


def _holds(dtype: Any, number: Any) -> bool:
    order = (types.Boolean, types.Integer, types.Float, types.Complex)
    ranks = [next(i for i, kind in enumerate(order) if isinstance(each, kind)) for each in (number, dtype)]
    return ranks[0] <= ranks[1]
