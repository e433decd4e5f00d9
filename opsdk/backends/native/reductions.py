"""Reductions and working memory of row kernels, as Numba intrinsics.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

_BYTE_POINTER = ir.IntType(8).as_pointer()

# Any, in this file: Numba's contexts, builders and signatures, which have no types.


@intrinsic
def reduce_add(typing_context: Any, total: Any, value: Any) -> Any:
    """Adds a term to a sum whose order is left to the compiler: it sums in vector lanes, the same way each time."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fadd(args[0], args[1], flags=("reassoc",))

    return total(total, total), generate


def extremum(intrinsic_name: str) -> Any:
    """Returns the function that takes the greater (`llvm.maximum`) or lesser of two numbers, nan where either is."""

    @intrinsic
    def choose(typing_context: Any, best: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = args[0].type
            signature_of = ir.FunctionType(kind, [kind, kind])
            function = builder.module.declare_intrinsic(intrinsic_name, [kind], signature_of)
            # A zero has no sign here, so that the order of equal numbers is free and the loop a vector loop.
            return builder.call(function, args, fastmath=("nsz",))

        return best(best, best), generate

    return choose


def scratch(dtype: Any) -> Any:
    """Returns the function that allocates working memory, which overlaps with nothing; null where there is none."""

    @intrinsic
    def allocate(typing_context: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            item = ir.Constant(args[0].type, context.get_abi_sizeof(kind.pointee))
            size = builder.add(builder.mul(args[0], item), ir.Constant(args[0].type, 1))  # malloc(0) may be null
            function = _external(builder, "malloc", _BYTE_POINTER, [args[0].type])
            return builder.bitcast(builder.call(function, [size]), kind)

        return types.CPointer(dtype)(types.int64), generate

    return allocate


@intrinsic
def release(typing_context: Any, pointer: Any) -> Any:
    """Frees working memory; null is nothing to free."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = _external(builder, "free", ir.VoidType(), [_BYTE_POINTER])
        builder.call(function, [builder.bitcast(args[0], _BYTE_POINTER)])
        return context.get_dummy_value()

    return types.void(pointer), generate


def _external(builder: Any, name: str, result: Any, operands: list[Any]) -> Any:
    found = builder.module.globals.get(name)
    return found or ir.Function(builder.module, ir.FunctionType(result, operands), name)
