"""Thresholds: the whole numbers in the source of a kernel, at which it may do something else than at smaller sizes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any

from opsdk.backends.c.source import headers_of, read
from opsdk.backends.call.language import language_of
from opsdk.core.errors import OpsdkError
from opsdk.define.identity.digest import is_dispatcher
from opsdk.define.identity.referents import is_library, with_inner
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

_NUMBER = r"(?<![\w.])(?:0[xX][0-9a-fA-F]+|\d+)(?![\w.])"


def numbers_of(opdef: OpDef, kernels: Iterable[Kernel]) -> set[int]:
    """Returns the whole numbers that sources of kernels name, without those of libraries."""
    found: set[int] = set()
    for kernel in kernels:
        if language_of(kernel).takes_text:
            found.update(_in_text(opdef, kernel))
        elif language_of(kernel).changes_inputs:
            found.update(_in_python(kernel.source, set()))
        else:
            found.update(language_of(kernel).sizes(opdef, kernel))
    return found


def _in_text(opdef: OpDef, kernel: Kernel) -> Iterator[int]:
    try:
        source = read(opdef, kernel)
    except OpsdkError:  # told where it is compiled
        return
    text = source.text + headers_of(source, kernel.options.get("include_dirs", ()))
    bare = re.sub(r"/\*.*?\*/|//[^\n]*|\"[^\"\n]*\"", " ", text, flags=re.DOTALL)
    yield from (int(number, 0) if number[:2] in ("0x", "0X") else int(number) for number in re.findall(_NUMBER, bare))


# Any: whatever a function names.
def _in_python(value: Any, seen: set[Any]) -> Iterator[int]:
    """Yields the numbers of a function, and of those that it calls by name."""
    if is_dispatcher(value):
        value = value.py_func
    if isinstance(value, int):
        yield int(value)
    if not isinstance(value, FunctionType) or value in seen or is_library(value.__module__):
        return
    seen.add(value)
    codes: list[CodeType] = list(with_inner(value.__code__))
    for code in codes:
        yield from (int(constant) for constant in code.co_consts if isinstance(constant, int))
    held = [value.__globals__.get(name) for name in {name for code in codes for name in code.co_names}]
    for cell in value.__closure__ or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:  # nothing yet
            continue
    for there in held:
        yield from _in_python(there, seen)
