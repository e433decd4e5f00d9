"""What a code object reads from outside: globals by name, and the attributes that it reads from them at once."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType

GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_SURROUNDING = (*GLOBAL, "LOAD_DEREF", "LOAD_CLASSDEREF")
_NOTHING = ("EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP")


_KEPT = 8192  # code objects whose reads are kept: a function of a large library leads to some thousands of them


@lru_cache(8)
def _instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    """Returns the instructions of a code object, of which several questions are asked in turn."""
    return tuple(dis.get_instructions(code))


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """Yields a code object and those of the functions, classes and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_inner(constant)


def globals_of(code: CodeType) -> Iterator[str]:
    """Yields the names of the globals and builtins that a code object reads."""
    for instruction in _instructions(code):
        if instruction.opname in GLOBAL:
            yield str(instruction.argval)


def chains_of(code: CodeType) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields what the code reads of values from outside: the name of the value, the attributes read from it at once."""
    name, chain = "", []
    for instruction in _instructions(code):
        if name and instruction.opname in _ATTRIBUTE:
            chain.append(str(instruction.argval))
        elif instruction.opname not in _NOTHING:
            if name:
                yield name, tuple(chain)
            is_read = instruction.opname in _SURROUNDING
            name, chain = str(instruction.argval) if is_read else "", []


def unread(code: CodeType) -> list[str]:
    """Returns the names of the parameters that a code object never reads, nor any function in it."""
    if "locals" in code.co_names or "vars" in code.co_names:
        return []
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    read: set[str] = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith("LOAD_"):
            read.update(instruction.argval if isinstance(instruction.argval, tuple) else [str(instruction.argval)])
    return [name for name in names if name not in read]


def imports_of(code: CodeType) -> Iterator[str]:
    """Yields the modules that a code object imports when it runs, as the statement names them."""
    for instruction in _instructions(code):
        if instruction.opname == "IMPORT_NAME":
            yield str(instruction.argval)


def texts_of(code: CodeType) -> Iterable[str]:
    """Returns texts that may be names, as `getattr` takes them."""
    return [text for text in code.co_consts if isinstance(text, str) and text.isidentifier()]


@lru_cache(_KEPT)
def reads_of(code: CodeType) -> tuple[dict[str, frozenset[tuple[str, ...]]], frozenset[str], tuple[str, ...]]:
    """Returns what a code object, with all that is in it, reads: attributes by name, names of globals, imports."""
    chains: dict[str, set[tuple[str, ...]]] = {}
    found: set[str] = set()
    modules: list[str] = []
    for each in with_inner(code):
        for name, chain in chains_of(each):
            chains.setdefault(name, set()).add(chain)
        found.update(globals_of(each))
        modules.extend(imports_of(each))
    return {name: frozenset(each) for name, each in chains.items()}, frozenset(found), tuple(modules)
