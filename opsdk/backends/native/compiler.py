"""The native compiler: Python functions of pointers and numbers, through Numba, to one object file with C symbols.

Imported only when something has to be compiled, since it imports Numba.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import compiler, cpu
from numba.core.codegen import AOTCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

# A product and a sum may become one instruction. Nothing else: NaN, infinity and -0 are values, an order is an order.
FASTMATH = frozenset({"contract"})
RAISED = 1  # the status of a function that ended with an exception

_INT32, _INT64, _DOUBLE = ir.IntType(32), ir.IntType(64), ir.DoubleType()


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
def compile_object(name: str, exports: Sequence[Export]) -> tuple[bytes, str]:
    """Returns the object file that holds the symbols, and its assembly."""
    typing_context = cpu_target.typing_context
    context = cpu_target.target_context.subtarget(_internal_codegen=_HostCodegen(name), aot_mode=True)
    typing_context.refresh()
    context.refresh()
    library = context.codegen().create_library(name)
    for export in exports:
        compiled = compiler.compile_extra(
            typing_context,
            context,
            export.function,
            export.signature.args,
            export.signature.return_type,
            _flags(export),
            locals={},
            library=library,
        )
        make = _entry if export.is_range else _wrapper
        library.add_ir_module(make(library, context, compiled.fndesc, export.symbol))
    library.finalize()
    return library.emit_native_object(), library.get_asm_str()


def _flags(export: Export) -> Any:  # Any: Numba's flags
    flags = compiler.Flags()
    flags.no_compile = True
    flags.no_cpython_wrapper = True
    flags.no_cfunc_wrapper = True
    flags.nrt = export.may_raise  # Numba's own memory, which arrays that a kernel makes live in
    flags.error_model = "numpy"
    flags.noalias = export.noalias
    flags.fastmath = cpu.FastMathOptions(set(export.fastmath))
    return flags


def _wrapper(library: Any, context: Any, descriptor: Any, symbol: str) -> Any:  # Any: Numba's objects
    """Returns a module with the C symbol: it calls the Numba function, whose result comes through a pointer."""
    module = library.create_ir_module(f"{symbol}_entry")
    inner_type = context.call_conv.get_function_type(descriptor.restype, descriptor.argtypes)
    inner = ir.Function(module, inner_type, descriptor.llvm_func_name)
    result_type = inner_type.args[0].pointee
    outer = ir.Function(module, ir.FunctionType(result_type, inner_type.args[2:]), symbol)
    builder = ir.IRBuilder(outer.append_basic_block("entry"))
    result, exception = builder.alloca(result_type), builder.alloca(inner_type.args[1].pointee)
    builder.call(inner, [result, exception, *outer.args])
    builder.ret(builder.load(result))
    return module


def _entry(library: Any, context: Any, descriptor: Any, symbol: str) -> Any:  # Any: Numba's objects
    """Returns a module with a kernel entry: it takes pointers and attributes out of their arrays."""
    module = library.create_ir_module(f"{symbol}_entry")
    inner_type = context.call_conv.get_function_type(descriptor.restype, descriptor.argtypes)
    inner = ir.Function(module, inner_type, descriptor.llvm_func_name)
    byte = ir.IntType(8).as_pointer()
    kind = [byte.as_pointer(), _INT64.as_pointer(), _DOUBLE.as_pointer(), _INT64, _INT64]
    outer = ir.Function(module, ir.FunctionType(_INT32, kind), symbol)
    pointers, sizes, attrs, start, stop = outer.args
    builder = ir.IRBuilder(outer.append_basic_block("entry"))
    result, exception = builder.alloca(_INT32), builder.alloca(inner_type.args[1].pointee)
    given = [start, stop, sizes]
    taken = {True: 0, False: 0}
    for wanted in inner_type.args[5:]:
        is_pointer = isinstance(wanted, ir.PointerType)
        index = ir.Constant(_INT64, taken[is_pointer])
        taken[is_pointer] += 1
        value = builder.load(builder.gep(pointers if is_pointer else attrs, [index]))
        given.append(builder.bitcast(value, wanted) if is_pointer else value)
    ended = builder.call(inner, [result, exception, *given])
    is_done = builder.icmp_signed("==", ended, ir.Constant(ended.type, 0))
    builder.ret(builder.select(is_done, builder.load(result), ir.Constant(_INT32, RAISED)))
    return module
