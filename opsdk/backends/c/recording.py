"""Recording: the arguments of a C function, written down so that another program can call it with the same.

The format is that of replay.c: numbers of eight bytes, and blocks with their size before them, -1 of a NULL.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from opsdk.backends.c.frame import Frame
from opsdk.backends.c.library import Library, library_of
from opsdk.backends.c.options import COptions
from opsdk.backends.c.signature import size_symbols, symbols
from opsdk.backends.memory.guarded import filling
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

_NONE = struct.pack("<q", -1)


class _Recorded(Exception):
    """The kernel's own function was about to be called, which ends the recording."""


# Any, in this file: cffi's interfaces, types and values; arrays and attribute values of a call.
def recorded(opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[tuple[str, bytes]]:
    """Returns the calls of C functions that one launch of a kernel makes: of the size function, and of the kernel.

    Each is the function's name, and its arguments. The kernel itself is not run.
    """
    library = library_of(opdef, kernel)
    named = {
        function: name
        for names, functions in (
            (symbols(opdef.schema), library.functions),
            (size_symbols(opdef.schema, COptions(**kernel.options).decides), library.counting),
        )
        for function, name in ((functions[dtype], names[dtype]) for dtype in functions)
    }
    calls: list[tuple[str, bytes]] = []

    def enter(function: Any, arguments: Sequence[Any]) -> Any:
        calls.append((named[function], _written(library, function, arguments)))
        if function in library.counting.values():
            return function(*arguments)
        raise _Recorded

    frame = Frame(opdef, kernel, library, _filled)
    frame.enter = enter
    with suppress(_Recorded):
        frame.run(inputs, attrs)
    return calls


def _filled(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray:
    array = np.empty(tuple(shape), dtype)
    array[...] = filling(dtype, 0)
    return array


def _written(library: Library, function: Any, arguments: Sequence[Any]) -> bytes:
    types = library.ffi.typeof(function).args
    return b"".join(_argument(library.ffi, kind, value) for kind, value in zip(types, arguments, strict=True))


def _argument(ffi: Any, kind: Any, value: Any) -> bytes:
    if kind.kind in ("primitive", "struct"):
        return bytes(ffi.buffer(ffi.new(f"{kind.cname} *", value)))
    if value == ffi.NULL:
        return _NONE
    if "DLTensor" in kind.cname:
        return _tensor(ffi, value) if kind.item.kind == "struct" else _list(value, lambda one: _tensor(ffi, one))
    if kind.item.kind == "pointer":
        return _list(value, lambda one: _block(ffi.string(one) + b"\0"))
    return _block(bytes(ffi.buffer(value)))


def _list(values: Any, written: Any) -> bytes:
    return struct.pack("<q", len(values)) + b"".join(written(value) for value in values)


def _block(data: bytes) -> bytes:
    return struct.pack("<q", len(data)) + data


def _tensor(ffi: Any, tensor: Any) -> bytes:
    """Returns a DLTensor and the bytes that its elements span."""
    if tensor == ffi.NULL:
        return _NONE
    ndim, item = tensor.ndim, tensor.dtype.bits // 8
    shape = [tensor.shape[i] for i in range(ndim)]
    strides = [tensor.strides[i] for i in range(ndim)] if tensor.strides != ffi.NULL else None
    before, size = 0, 0
    if all(shape) and strides is not None:
        spans = [item * stride * (length - 1) for stride, length in zip(strides, shape, strict=True)]
        before = -sum(span for span in spans if span < 0)
        size = before + sum(span for span in spans if span > 0) + item
    data = tensor.data
    block = _NONE
    if data != ffi.NULL:
        at = ffi.cast("char *", data) + tensor.byte_offset - before
        block = _block(bytes(ffi.buffer(at, size)) if size else b"")
    dtype = tensor.dtype
    head = struct.pack("<7q", 1, ndim, dtype.code, dtype.bits, dtype.lanes, 0, before)
    sizes = [
        _block(struct.pack(f"<{ndim}q", *numbers)) if numbers is not None else _NONE for numbers in (shape, strides)
    ]
    return head + b"".join(sizes) + block
