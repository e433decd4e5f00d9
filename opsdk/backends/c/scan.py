"""The functions that a C source defines, read off its preprocessed text, where macros have become functions."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from opsdk.backends.c.signature import STATUS, VOID

# Compiled where they are used: a row that is in the cache needs none.
_DIRECTIVE = r"(?m)^#.*$"
_ATTRIBUTE = r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)"
_CALLED = r"\b([A-Za-z_]\w*)\s*\("
_NO_NAMES = frozenset({"if", "for", "while", "switch", "return", "sizeof", "__attribute__"})


@dataclass(frozen=True)
class Definition:
    """A function with a body.

    Attributes:
        returns: `void`, or `int32_t` for everything else, which the compiler checks.
        static: whether nothing outside of the source can call it.
        text: how it is declared there.
    """

    returns: str
    static: bool
    text: str


def definitions(preprocessed: str, wanted: Collection[str]) -> dict[str, Definition]:
    """Returns the wanted functions that a preprocessed text defines, by name."""
    text = re.sub(_ATTRIBUTE, " ", re.sub(_DIRECTIVE, "", preprocessed))
    found: dict[str, Definition] = {}
    for name in wanted:
        for match in re.finditer(rf"\b{name}\s*\(", text):
            end = _closing(text, match.end() - 1)
            if end is None or not text[end + 1 :].lstrip().startswith("{"):
                continue  # a declaration or a call
            start = max(text.rfind(mark, 0, match.start()) for mark in ";}{") + 1
            before = text[start : match.start()].split()
            kind = " ".join(word for word in before if word not in ("static", "inline", "extern", "__inline"))
            found[name] = Definition(
                VOID if kind == VOID else STATUS,
                "static" in before,
                " ".join(f"{kind} {text[match.start() : end + 1]}".split()),
            )
            break
    return found


def names_defined(source: str) -> tuple[str, ...]:
    """Returns the names of what looks like functions with a body in a source, for a message."""
    text = re.sub(_DIRECTIVE, "", re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL))
    names = []
    for match in re.finditer(_CALLED, text):
        end = _closing(text, match.end() - 1)
        is_body = end is not None and text[end + 1 :].lstrip().startswith("{")
        if is_body and match[1] not in _NO_NAMES:
            names.append(match[1])
    return tuple(dict.fromkeys(names))


def _closing(text: str, start: int) -> int | None:
    """Returns where the bracket that opens at `start` closes."""
    depth = 0
    for match in re.compile(r"[()]").finditer(text, start):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return match.start()
    return None
