"""What a code object reads from outside: globals by name, and the attributes that it reads from them at once."""

from __future__ import annotations

import dis
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import CodeType

_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_SURROUNDING = (*_GLOBAL, "LOAD_DEREF", "LOAD_CLASSDEREF")
_NOTHING = ("EXTENDED_ARG", "CACHE", "PUSH_NULL", "NOP")
_KEPT = 8192  # code objects whose reads are kept: a function of a large library leads to some thousands of them


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """Yields a code object and those of the functions, classes and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from with_inner(constant)


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


def texts_of(code: CodeType) -> Iterable[str]:
    """Returns texts that may be names, as `getattr` takes them."""
    return [text for text in code.co_consts if isinstance(text, str) and text.isidentifier()]


@lru_cache(_KEPT)
def reads_of(
    code: CodeType, *, inner: bool = True
) -> tuple[dict[str, frozenset[tuple[str, ...]]], frozenset[str], tuple[str, ...]]:
    """Returns what a code object, with all that is in it unless without `inner`, reads from outside of itself.

    Returns:
        By name of a value, the attributes that are read from it at once; the names of globals and builtins; and the
        modules that it imports when it runs, as the statements name them.
    """
    chains: dict[str, set[tuple[str, ...]]] = {}
    found: set[str] = set()
    modules: list[str] = []
    for each in with_inner(code) if inner else (code,):
        name, chain = "", []
        for instruction in dis.get_instructions(each):
            read = instruction.argval  # of the operations below a name
            if instruction.opname in _GLOBAL:
                found.add(read)
            elif instruction.opname == "IMPORT_NAME":
                modules.append(read)
            if name and instruction.opname in _ATTRIBUTE:
                chain.append(read)
            elif instruction.opname not in _NOTHING:
                if name:
                    chains.setdefault(name, set()).add(tuple(chain))
                name, chain = read if instruction.opname in _SURROUNDING else "", []
    return {name: frozenset(each) for name, each in chains.items()}, frozenset(found), tuple(modules)
