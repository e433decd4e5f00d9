"""The native compiler: Python functions of pointers and numbers, through Numba, to one object file with C symbols.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import float64, int32, int64, types, uint8, uint16
from numba.core import compiler, cpu
from numba.core.codegen import AOTCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.np import numpy_support

from opsdk.backends.native import intrinsics
from opsdk.backends.vmath.jit import enabled
from opsdk.backends.vmath.table import numba_functions
from opsdk.define.identity.referents import with_inner

# A product and a sum may become one instruction. Nothing else: NaN, infinity and -0 are values, an order is an order.
FASTMATH = frozenset({"contract"})
RAISED = 1  # the status of a function that ended with an exception

_STORED = {"float16": uint16, "bfloat16": uint16, "bool": uint8}  # what stands for dtypes that Numba has not
_INT32, _INT64 = ir.IntType(32), ir.IntType(64)
_ENTRY = (ir.IntType(8).as_pointer().as_pointer(), _INT64.as_pointer(), ir.DoubleType().as_pointer(), _INT64, _INT64)


@dataclass(frozen=True)
class Export:
    """One C symbol of an object.

    Args:
        symbol: its name.
        function: what it does: a Python function that Numba compiles, of pointers and numbers.
        signature: its Numba signature; the result is an int32 status, or an int64.
        is_range: whether the function is `(start, stop, sizes, *pointers, *numbers)` and the symbol an entry of the
            form in this package's docstring.
        may_raise: whether the function may raise and make arrays; the symbol then returns `RAISED` for an exception.
        noalias: whether its pointers never point at the same memory, so that loops need no test for it.
        fastmath: LLVM's flags.
    """

    symbol: str
    function: Callable[..., Any]  # Any: pointers and numbers of Numba
    signature: Any  # Any: Numba has no types for its own
    is_range: bool = False
    may_raise: bool = False
    noalias: bool = False
    fastmath: frozenset[str] = FASTMATH


class _HostCodegen(AOTCPUCodegen):
    """Code that can be written to a file, for exactly this processor: its name alone may promise what a VM hides."""

    def _customize_tm_options(self, options: dict[str, Any]) -> None:
        super()._customize_tm_options(options)
        options["cpu"] = self._get_host_cpu_name()

    def _customize_tm_features(self) -> str:
        return wide(str(self._get_host_cpu_features()))


def wide(features: str) -> str:
    """Returns a processor's features with vectors of 512 bits where they cost no clock: with AVX-512 from Ice Lake on.

    LLVM prefers half of it for whole families, since the first of them slowed down for as long as they were in use.
    """
    return f"{features},-prefer-256-bit" if "+avx512vbmi2" in features.split(",") else features


@global_compiler_lock
@enabled()
def compile_object(name: str, exports: Sequence[Export]) -> bytes:
    """Returns the object file that holds the symbols."""
    typing_context = cpu_target.typing_context
    context = cpu_target.target_context.subtarget(_internal_codegen=_HostCodegen(name), aot_mode=True)
    typing_context.refresh()
    context.refresh()
    library = context.codegen().create_library(name)
    for export in exports:
        flags = compiler.Flags()
        flags.no_compile = True
        flags.no_cpython_wrapper = True
        flags.no_cfunc_wrapper = True
        flags.nrt = export.may_raise  # Numba's own memory, which arrays that a kernel makes live in
        flags.error_model = "numpy"
        flags.noalias = export.noalias
        flags.fastmath = cpu.FastMathOptions(set(export.fastmath))
        compiled = compiler.compile_extra(
            typing_context,
            context,
            export.function,
            export.signature.args,
            export.signature.return_type,
            flags,
            locals={},
            library=library,
        )
        library.add_ir_module(_wrapper(library, context, compiled.fndesc, export))
    library.finalize()
    return bytes(library.emit_native_object())


def _wrapper(library: Any, context: Any, descriptor: Any, export: Export) -> Any:  # Any: Numba's objects
    """Returns a module with the C symbol: it calls the Numba function, whose result comes through a pointer.

    A kernel entry takes the function's pointers and numbers out of their arrays.
    """
    module = library.create_ir_module(f"{export.symbol}_entry")
    inner_type = context.call_conv.get_function_type(descriptor.restype, descriptor.argtypes)
    inner = ir.Function(module, inner_type, descriptor.llvm_func_name)
    result_type = inner_type.args[0].pointee
    operands = _ENTRY if export.is_range else inner_type.args[2:]
    outer = ir.Function(module, ir.FunctionType(result_type, operands), export.symbol)
    builder = ir.IRBuilder(outer.append_basic_block("entry"))
    result, exception = builder.alloca(result_type), builder.alloca(inner_type.args[1].pointee)
    given = outer.args
    if export.is_range:
        pointers, sizes, attrs, start, stop = outer.args
        given = [start, stop, sizes]
        taken = {True: 0, False: 0}
        for wanted in inner_type.args[5:]:
            is_pointer = isinstance(wanted, ir.PointerType)
            index = ir.Constant(_INT64, taken[is_pointer])
            taken[is_pointer] += 1
            value = builder.load(builder.gep(pointers if is_pointer else attrs, [index]))
            given.append(builder.bitcast(value, wanted) if is_pointer else value)
    ended = builder.call(inner, [result, exception, *given])
    made = builder.load(result)
    if export.is_range:
        is_done = builder.icmp_signed("==", ended, ir.Constant(ended.type, 0))
        made = builder.select(is_done, made, ir.Constant(_INT32, RAISED))
    builder.ret(made)
    return module


def build(name: str, text: str, dtypes: Sequence[str], attrs: int, real: np.dtype[Any]) -> bytes:
    """Returns the object file of an expression's kernel.

    Args:
        name: of the C symbol.
        text: the source, which defines `kernel`.
        dtypes: names of the dtypes of all pointers.
        attrs: how many numbers it takes.
        real: the dtype that it computes in.
    """
    code = compile(text, f"<opsdk kernel {name}>", "exec")  # our own printer wrote it
    called = [each for inner in with_inner(code) for each in inner.co_names]
    names: dict[str, Any] = {
        **numba_functions(real, called),
        "real": real.type,
        "inf": np.inf,
        "nan": np.nan,
        "int32": np.int32,
        "int64": np.int64,
        "radd": intrinsics.reduce_add,
        "rmax": intrinsics.extremum("llvm.maximum"),
        "rmin": intrinsics.extremum("llvm.minimum"),
        "scratch": intrinsics.scratch(numpy_support.from_dtype(real)),
        "release": intrinsics.release,
        "address_of": intrinsics.address_of,
        "buffer": intrinsics.tile_buffer(numpy_support.from_dtype(real)),
        "from_float16": intrinsics.from_float16,
        "to_float16": intrinsics.to_float16,
        "from_bfloat16": intrinsics.from_bfloat16,
        "to_bfloat16": intrinsics.to_bfloat16,
        "inexact": intrinsics.inexact,
    }
    exec(code, names)
    stored = [_STORED.get(dtype) or numpy_support.from_dtype(np.dtype(dtype)) for dtype in dtypes]
    pointers = [types.CPointer(kind) for kind in stored]
    signature = int32(int64, int64, types.CPointer(int64), *pointers, *[float64] * attrs)
    return compile_object(name, [Export(name, names["kernel"], signature, noalias=True, is_range=True)])
