"""Intrinsics: what C has and Numba's Python has not: memory, atomics, calls, reductions in vector lanes, short floats.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float32, int32, int64, types, uint16

from opsdk.backends.native.elementwise_source import TILE
from opsdk.backends.vmath.instructions import Lowering, instruction
from opsdk.backends.vmath.jit import njit

_BYTE_POINTER = ir.IntType(8).as_pointer()
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_HAS_PAUSE = platform.machine().lower() in ("x86_64", "amd64")
_ENTRY = ir.FunctionType(_I32, [_BYTE_POINTER, _BYTE_POINTER, _BYTE_POINTER, _I64, _I64])

# Any, in this file: Numba's types and LLVM's values, which have no types.


def pointer_to(dtype: Any) -> Any:
    """Returns the function that makes a pointer to `dtype` from an address."""

    @instruction(types.CPointer(dtype)(int64))
    def at(lowering: Lowering, address: Any) -> Any:
        return lowering.builder.inttoptr(address, lowering.result)

    return at


@instruction(lambda pointer: int64(pointer))
def address_of(lowering: Lowering, pointer: Any) -> Any:
    """Returns the address that a pointer holds."""
    return lowering.builder.ptrtoint(pointer, _I64)


@instruction(int64(int64))
def stack(lowering: Lowering, size: Any) -> Any:
    """Returns the address of bytes on the stack, 64-byte aligned, gone when the function returns."""
    block = lowering.builder.alloca(ir.IntType(8), size=size)
    block.align = 64
    return lowering.builder.ptrtoint(block, _I64)


def tile_buffer(dtype: Any) -> Any:
    """Returns the function that gives a tile of elements on the stack, known to overlap with nothing."""

    @instruction(types.CPointer(dtype)())
    def buffer(lowering: Lowering) -> Any:
        with lowering.builder.goto_entry_block():
            block = lowering.builder.alloca(lowering.result.pointee, size=ir.Constant(_I64, TILE))
        block.align = 64
        return block

    return buffer


def scratch(dtype: Any) -> Any:
    """Returns the function that allocates working memory, which overlaps with nothing; null where there is none."""

    @instruction(types.CPointer(dtype)(int64))
    def allocate(lowering: Lowering, count: Any) -> Any:
        builder, kind = lowering.builder, lowering.result
        item = ir.Constant(_I64, lowering.context.get_abi_sizeof(kind.pointee))
        size = builder.add(builder.mul(count, item), ir.Constant(_I64, 1))  # malloc(0) may be null
        return builder.bitcast(_called(lowering, "malloc", _BYTE_POINTER, size), kind)

    return allocate


@instruction(lambda pointer: types.void(pointer))
def release(lowering: Lowering, pointer: Any) -> Any:
    """Frees working memory; null is nothing to free."""
    _called(lowering, "free", ir.VoidType(), lowering.builder.bitcast(pointer, _BYTE_POINTER))
    return lowering.context.get_dummy_value()


@instruction(int32(*[int64] * 6))
def call_entry(lowering: Lowering, entry: Any, pointers: Any, sizes: Any, attrs: Any, start: Any, stop: Any) -> Any:
    """Calls a kernel entry at an address; returns its status."""
    builder = lowering.builder
    addresses = [builder.inttoptr(address, _BYTE_POINTER) for address in (pointers, sizes, attrs)]
    return builder.call(builder.inttoptr(entry, _ENTRY.as_pointer()), [*addresses, start, stop])


@instruction(int64(int64, int64))
def atomic_add(lowering: Lowering, address: Any, value: Any) -> Any:
    """Adds to the int64 at an address; returns what was there."""
    return lowering.builder.atomic_rmw("add", _int64_at(lowering, address), value, "seq_cst")


@instruction(int64(int64, int64))
def atomic_swap(lowering: Lowering, address: Any, value: Any) -> Any:
    """Stores an int64 at an address; returns what was there."""
    return lowering.builder.atomic_rmw("xchg", _int64_at(lowering, address), value, "seq_cst")


@instruction(int64(int64))
def atomic_load(lowering: Lowering, address: Any) -> Any:
    """Returns the int64 at an address as it is now, whoever wrote it."""
    return lowering.builder.load_atomic(_int64_at(lowering, address), "seq_cst", 8)


def _int64_at(lowering: Lowering, address: Any) -> Any:
    return lowering.builder.inttoptr(address, _I64.as_pointer())


@instruction(types.void())
def pause(lowering: Lowering) -> Any:
    """Tells the processor that this loop waits for another thread."""
    if _HAS_PAUSE:
        _called(lowering, "llvm.x86.sse2.pause", ir.VoidType())
    return lowering.context.get_dummy_value()


def external1(name: str) -> Any:
    """Returns the function that calls `int name(void *)` of the C library with an address."""
    return instruction(int32(int64))(lambda lowering, first: _called_at(lowering, name, first))


def external2(name: str) -> Any:
    """Returns the function that calls `int name(void *, void *)` of the C library with addresses."""
    return instruction(int32(int64, int64))(lambda lowering, first, second: _called_at(lowering, name, first, second))


def _called_at(lowering: Lowering, name: str, *addresses: Any) -> Any:
    pointers = [lowering.builder.inttoptr(address, _BYTE_POINTER) for address in addresses]
    return _called(lowering, name, _I32, *pointers)


def _called(lowering: Lowering, name: str, result: Any, *operands: Any) -> Any:
    """Calls a function that the module declares, or now does."""
    module, kind = lowering.builder.module, ir.FunctionType(result, [operand.type for operand in operands])
    return lowering.builder.call(module.globals.get(name) or ir.Function(module, kind, name), operands)


@instruction(lambda total, value: total(total, total))
def reduce_add(lowering: Lowering, total: Any, value: Any) -> Any:
    """Adds a term to a sum whose order is left to the compiler: it sums in vector lanes, the same way each time."""
    return lowering.builder.fadd(total, value, flags=("reassoc",))


def extremum(name: str) -> Any:
    """Returns the function that takes the greater (`llvm.maximum`) or lesser of two numbers, nan where either is."""

    @instruction(lambda best, value: best(best, best))
    def choose(lowering: Lowering, best: Any, value: Any) -> Any:
        # A zero has no sign here, so that the order of equal numbers is free and the loop a vector loop.
        return lowering.intrinsic(name, best, value, fastmath=("nsz",))

    return choose


@instruction(float32(uint16))
def from_float16(lowering: Lowering, bits: Any) -> Any:
    """Returns the float32 value of the bits of a float16."""
    return lowering.builder.fpext(lowering.builder.bitcast(bits, ir.HalfType()), ir.FloatType())


@instruction(lambda value: uint16(value))
def to_float16(lowering: Lowering, value: Any) -> Any:
    """Returns the bits of the nearest float16."""
    return lowering.builder.bitcast(lowering.builder.fptrunc(value, ir.HalfType()), ir.IntType(16))


@njit(forceinline=True, no_cfunc_wrapper=True)
def from_bfloat16(bits: Any) -> Any:
    """Returns the float32 value of the bits of a bfloat16: its upper half."""
    return np.uint32(np.uint32(bits) << np.uint32(16)).view(np.float32)


@njit(forceinline=True, no_cfunc_wrapper=True)
def to_bfloat16(value: Any) -> Any:
    """Returns the bits of the nearest bfloat16, ties to even; a NaN stays one."""
    bits = np.float32(value).view(np.uint32)
    rounded = np.uint32(bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet = (bits >> np.uint32(16)) | np.uint32(0x40)
    return np.uint16(quiet if value != value else rounded)


@njit(forceinline=True, no_cfunc_wrapper=True)
def inexact(value: Any, digits: Any) -> Any:
    """Returns 1 for a whole number of more binary digits, zeros at its end aside; 0 for another one."""
    size = np.uint64(abs(value))
    return np.int64((size >> np.uint64(digits)) > (~size & (size - np.uint64(1))))
