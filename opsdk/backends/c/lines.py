"""Lines of a C source by addresses of its code: in a build that keeps them apart."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from opsdk.backends.c.library import library_of
from opsdk.core.lazy import slow
from opsdk.core.origin import shorten
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

_FOUND = r"^(.+):(\d+)(?: \(discriminator \d+\))?$"


class _Symbol(ctypes.Structure):
    """A `Dl_info`: which library an address is in, and where that begins."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def traced(kernel: Kernel) -> Kernel:
    """Returns a C kernel as it is compiled line by line, each with its number."""
    return with_flags(kernel, ("-O0", "-g"))


def with_flags(kernel: Kernel, flags: Sequence[str]) -> Kernel:
    """Returns a C kernel as it is compiled with more flags."""
    return replace(kernel, options={**kernel.options, "flags": (*kernel.options.get("flags", ()), *flags)})


def line_at(opdef: OpDef, kernel: Kernel, stack: Sequence[int]) -> str:
    """Returns file and line of the innermost code of a kernel's source in a stack; empty where nobody knows it.

    Args:
        opdef: the op.
        kernel: one that `traced` gave, and that has run.
        stack: addresses, innermost first.
    """
    library = library_of(opdef, kernel).file
    offset = next(_offsets(library, stack), None)
    if offset is None:
        return ""
    try:
        command = ["addr2line", "-e", library, hex(offset)]
        done = slow("subprocess").run(command, capture_output=True, text=True, check=False)
    except OSError:  # the compiler came without binutils
        return ""
    found = re.match(_FOUND, done.stdout.strip())
    return f"{shorten(found[1])}:{found[2]}" if found else ""


def _offsets(file: str, stack: Sequence[int]) -> Iterator[int]:
    lookup = ctypes.CDLL(None).dladdr
    for address in stack:
        symbol = _Symbol()
        if lookup(ctypes.c_void_p(address), ctypes.byref(symbol)) and os.fsdecode(symbol.file or b"") == file:
            yield address - symbol.base
