"""Intrinsics: what C has and Numba's Python has not: memory at an address, atomics, calls through a pointer, libc.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_BYTE_POINTER = ir.IntType(8).as_pointer()
_I32, _I64 = ir.IntType(32), ir.IntType(64)
_PAUSE = "llvm.x86.sse2.pause"
_HAS_PAUSE = platform.machine().lower() in ("x86_64", "amd64")
_ENTRY = ir.FunctionType(_I32, [_BYTE_POINTER, _BYTE_POINTER, _BYTE_POINTER, _I64, _I64])

# Any, in this file: Numba's contexts, builders and signatures, which have no types.


def pointer_to(dtype: Any) -> Any:
    """Returns the function that makes a pointer to `dtype` from an address."""

    @intrinsic
    def at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(dtype)(types.int64), generate

    return at


@intrinsic
def address_of(typing_context: Any, pointer: Any) -> Any:
    """Returns the address that a pointer holds."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ptrtoint(args[0], _I64)

    return types.int64(pointer), generate


@intrinsic
def stack(typing_context: Any, size: Any) -> Any:
    """Returns the address of bytes on the stack, 64-byte aligned, gone when the function returns."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        block = builder.alloca(ir.IntType(8), size=args[0])
        block.align = 64
        return builder.ptrtoint(block, _I64)

    return types.int64(types.int64), generate


@intrinsic
def call_entry(typing_context: Any, entry: Any, pointers: Any, sizes: Any, attrs: Any, start: Any, stop: Any) -> Any:
    """Calls a kernel entry at an address; returns its status."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = builder.inttoptr(args[0], _ENTRY.as_pointer())
        addresses = [builder.inttoptr(arg, _BYTE_POINTER) for arg in args[1:4]]
        return builder.call(function, [*addresses, *args[4:]])

    return types.int32(*[types.int64] * 6), generate


@intrinsic
def atomic_add(typing_context: Any, address: Any, value: Any) -> Any:
    """Adds to the int64 at an address; returns what was there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", builder.inttoptr(args[0], _I64.as_pointer()), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def atomic_swap(typing_context: Any, address: Any, value: Any) -> Any:
    """Stores an int64 at an address; returns what was there."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("xchg", builder.inttoptr(args[0], _I64.as_pointer()), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def atomic_load(typing_context: Any, address: Any) -> Any:
    """Returns the int64 at an address as it is now, whoever wrote it."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(args[0], _I64.as_pointer()), "seq_cst", 8)

    return types.int64(types.int64), generate


@intrinsic
def pause(typing_context: Any) -> Any:
    """Tells the processor that this loop waits for another thread."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if _HAS_PAUSE:
            kind = ir.FunctionType(ir.VoidType(), [])
            known = builder.module.globals.get(_PAUSE)
            builder.call(known or ir.Function(builder.module, kind, _PAUSE), [])
        return context.get_dummy_value()

    return types.void(), generate


def external1(name: str) -> Any:
    """Returns the function that calls `int name(void *)` of the C library with an address."""

    @intrinsic
    def call(typing_context: Any, first: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _call_external(builder, name, args)

        return types.int32(types.int64), generate

    return call


def external2(name: str) -> Any:
    """Returns the function that calls `int name(void *, void *)` of the C library with addresses."""

    @intrinsic
    def call(typing_context: Any, first: Any, second: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return _call_external(builder, name, args)

        return types.int32(types.int64, types.int64), generate

    return call


def _call_external(builder: Any, name: str, addresses: Any) -> Any:
    kind = ir.FunctionType(_I32, [_BYTE_POINTER] * len(addresses))
    function = builder.module.globals.get(name) or ir.Function(builder.module, kind, name)
    return builder.call(function, [builder.inttoptr(address, _BYTE_POINTER) for address in addresses])
