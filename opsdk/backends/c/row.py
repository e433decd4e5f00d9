"""The launch of a C kernel, and the bare C function behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from opsdk.backends.c.frame import Frame, function_for
from opsdk.backends.c.library import library_of
from opsdk.backends.c.signature import prototype, symbols
from opsdk.backends.call.checked import Sampling
from opsdk.backends.call.language import Launch
from opsdk.backends.memory.layout import C_ALIGNED
from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import KernelNotFoundError
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.sizes import size_function
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef


@dataclass(frozen=True)
class CFunction:
    """A C function of a kernel.

    Attributes:
        symbol: its name.
        address: where it is, for as long as the process lives.
        prototype: its declaration; DLTensor is DLPack's, see opsdk.h.
        file: the library that it is in.
    """

    symbol: str
    address: int
    prototype: str
    file: str


def native_entry(op: Op | OpDef, dtype: DTypeLike) -> CFunction:
    """Returns the C function that an op's C kernel has for a dtype, compiled where it is not yet. No Python is in it.

    Raises:
        KernelNotFoundError: the op has no C kernel for the dtype, or the kernel's source no function.
        CompileError, BindingError: the source does not compile, or not to what the schema says.
    """
    opdef = op.opdef if isinstance(op, Op) else op
    wanted = as_dtype(dtype)
    found = [one for one in opdef.kernels if one.language == "c" and one.key.serves("cpu", wanted, (wanted,))]
    if not found:
        there = ", ".join(map(str, opdef.kernels))
        raise KernelNotFoundError(f"{opdef.subject}: no C kernel for {wanted.name}; there are {there}")
    kernel = max(found, key=lambda kernel: kernel.key.dtype is not None)
    library = library_of(opdef, kernel)
    function = function_for(opdef, library, wanted, size_function(kernel))
    symbol = symbols(opdef.schema)[wanted.name]
    ffi = library.ffi
    address = int(ffi.cast("uintptr_t", ffi.addressof(library.lib, symbol)))
    returns = str(ffi.getctype(ffi.typeof(function).result))
    declared = prototype(opdef.schema, symbol, returns, size_function(kernel))
    return CFunction(symbol, address, declared, library.file)


def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns the launch of a kernel: it compiles the source where that is not done yet.

    Raises:
        CompileError, BindingError: the source does not compile, or not to what the schema says.
    """
    library = library_of(opdef, kernel)
    point = library.ffi.from_buffer
    free: list[Frame] = []  # taken and put back, so that threads, and finalizers that call ops, never share one

    like_before = _like_before(free, point)

    # Any: one entry per input, an array, a list of arrays or None; attribute values.
    def launch(*values: Any, **attrs: Any) -> Any:
        made = like_before(values, attrs)
        if made is None:
            try:
                frame = free.pop()
            except IndexError:
                frame = Frame(opdef, kernel, library)
            made = frame.run(values, attrs)
            free.append(frame)
        return made

    shortened: Any = launch  # Any: a function with an attribute
    shortened.repeat = partial(_like_before, free, point)
    return launch


# Any, in this function: cffi's `from_buffer`, values of a call, attribute values.
def _like_before(
    free: list[Frame],
    point: Any,
    given: Mapping[str, Any] | None = None,
    complete: Any = None,
    kind: Any = None,
    sampling: Sampling | None = None,
) -> Callable[[Sequence[Any], Mapping[str, Any]], Any]:
    """Returns the fast path of a call that differs from the one before in nothing but its arrays.

    Args:
        free: the frames of the kernel, one of which may know that call.
        point: gives the address of a contiguous array.
        given: the attributes that a call has to have; any unless given.
        complete: all of them, with those that have a default.
        kind: the class of the values, which hold arrays and stop gradients, and of the result; arrays unless given.
        sampling: which calls have to go another way, where their inputs are compared with copies; none unless given.

    Returns:
        A function of inputs and attributes; it gives None where more differs.
    """

    def run(values: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        if given is not None:
            if attrs != given:
                return None
            attrs = complete
        if sampling is not None:
            number = next(sampling.numbers)
            if not number & (number - 1):
                sampling.is_due = True
                return None
        try:
            frame = free.pop()
        except IndexError:
            return None
        quick = frame.quick
        if quick is not None and attrs == frame.attrs:
            seen, make, shape, dtype, output, function, arguments, texts, names = quick
            for value, (struct, its_shape, its_dtype) in zip(values, seen):  # noqa: B905 - plans hold calls to the schema
                if value is None or struct is None:
                    if value is struct:
                        continue
                    break
                if kind is not None:
                    if value.__class__ is not kind or not value.stop_gradient:
                        break
                    value = value._array
                if value.shape != its_shape or value.dtype is not its_dtype or value.flags.num & C_ALIGNED != C_ALIGNED:
                    break
                struct.data = point(value)
            else:  # contiguous arrays as before in place of others: pointers are all that changes
                made = make(shape, dtype)
                output.data = point(made)
                if names:
                    named = {**attrs, **texts} if texts else attrs
                    status = function(*arguments, *map(named.__getitem__, names))  # without the GIL
                else:
                    status = function(*arguments)
                free.append(frame)
                if status:
                    arrays = values if kind is None else [v if v is None else v._array for v in values]
                    raise frame.failure(status, arrays, attrs)
                return made if kind is None else kind(made)
        free.append(frame)
        return None

    return run


def launch_into(opdef: OpDef, kernel: Kernel, empty: Callable[..., np.ndarray]) -> Launch:
    """Returns a launch that fills arrays made by `empty(shape, dtype)`, each call in a frame of its own.

    Raises:
        CompileError, BindingError: the source does not compile, or not to what the schema says.
    """
    library = library_of(opdef, kernel)
    return lambda *values, **attrs: Frame(opdef, kernel, library, empty).run(values, attrs)
