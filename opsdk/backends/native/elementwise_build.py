"""Elementwise kernels to object code. Imported only when something has to be compiled, since it imports Numba."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32, float64, int32, int64, njit, types, uint8, uint16
from numba.extending import intrinsic
from numba.np import numpy_support

from opsdk.backends.native.compiler import Export, compile_object
from opsdk.backends.native.elementwise_source import TILE
from opsdk.backends.native.intrinsics import address_of
from opsdk.backends.native.reductions import extremum as _extremum
from opsdk.backends.native.reductions import reduce_add, release
from opsdk.backends.native.reductions import scratch as _scratch
from opsdk.backends.vmath.table import numba_functions

# Any, in this file: Numba's types, contexts and builders, which have no types.


def build(name: str, text: str, dtypes: Sequence[str], attrs: int, compute: str) -> tuple[bytes, str]:
    """Returns the object file and the assembly of a kernel.

    Args:
        name: of the C symbol.
        text: the source, which defines `kernel`.
        dtypes: names of the dtypes of all pointers.
        attrs: how many numbers it takes.
        compute: name of the dtype that it computes in.
    """
    real = np.dtype(compute)
    names: dict[str, Any] = {
        **numba_functions(real),
        "real": real.type,
        "inf": np.inf,
        "nan": np.nan,
        "int32": np.int32,
        "int64": np.int64,
        "radd": reduce_add,
        "rmax": _extremum("llvm.maximum"),
        "rmin": _extremum("llvm.minimum"),
        "scratch": _scratch(numpy_support.from_dtype(real)),
        "release": release,
        "address_of": address_of,
        "buffer": tile_buffer(numpy_support.from_dtype(real)),
        "from_float16": from_float16,
        "to_float16": to_float16,
        "from_bfloat16": from_bfloat16,
        "to_bfloat16": to_bfloat16,
        "inexact": inexact,
    }
    exec(compile(text, f"<opsdk kernel {name}>", "exec"), names)  # our own printer wrote it
    pointers = [types.CPointer(_storage(dtype)) for dtype in dtypes]
    signature = int32(int64, int64, types.CPointer(int64), *pointers, *[float64] * attrs)
    return compile_object(name, [Export(name, names["kernel"], signature, noalias=True, is_range=True)])


def _storage(dtype: str) -> Any:
    if dtype in ("float16", "bfloat16"):
        return uint16
    return uint8 if dtype == "bool" else numpy_support.from_dtype(np.dtype(dtype))


def tile_buffer(dtype: Any) -> Any:
    """Returns the function that gives a tile of elements on the stack, known to overlap with nothing."""

    @intrinsic
    def buffer(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            with builder.goto_entry_block():
                block = builder.alloca(kind.pointee, size=ir.Constant(ir.IntType(64), TILE))
            block.align = 64
            return block

        return types.CPointer(dtype)(), generate

    return buffer


@intrinsic
def from_float16(typing_context: Any, bits: Any) -> Any:
    """Returns the float32 value of the bits of a float16."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fpext(builder.bitcast(args[0], ir.HalfType()), ir.FloatType())

    return float32(uint16), generate


@intrinsic
def to_float16(typing_context: Any, value: Any) -> Any:
    """Returns the bits of the nearest float16."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), ir.IntType(16))

    return uint16(value), generate


@njit(forceinline=True)
def from_bfloat16(bits: Any) -> Any:
    """Returns the float32 value of the bits of a bfloat16: its upper half."""
    return np.uint32(np.uint32(bits) << np.uint32(16)).view(np.float32)


@njit(forceinline=True)
def to_bfloat16(value: Any) -> Any:
    """Returns the bits of the nearest bfloat16, ties to even; a NaN stays one."""
    bits = np.float32(value).view(np.uint32)
    rounded = np.uint32(bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.uint16(quiet if value != value else rounded)


@njit(forceinline=True)
def inexact(value: Any, digits: Any) -> Any:
    """Returns 1 for a whole number of more binary digits, zeros at its end aside; 0 for another one."""
    size = np.uint64(abs(value))
    return np.int64((size >> np.uint64(digits)) > (~size & (size - np.uint64(1))))
