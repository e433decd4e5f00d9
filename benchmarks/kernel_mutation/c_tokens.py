"""The words of a C text, and which of them belong to which function; comments, strings and directives are left out.

A name that a macro pastes together, `tile_##suffix`, is one word. The functions that a macro defines are its own; of a
macro that defines none the text is one function.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_SKIPPED = r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\\\r?\n|\s+"""
_NAME = r"[A-Za-z_]\w*(?:\s*\#\#\s*\w+)*"
_NUMBER = r"0[xX][0-9a-fA-F.]+(?:[pP][+-]?\d+)?[uUlLfF]*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[uUlLfF]*"
_SIGN = r"<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|[<>=!+\-*/%&|^]=|&&|\|\||\#\#|."
_WORD = re.compile(f"(?P<skipped>{_SKIPPED})|(?P<name>{_NAME})|(?P<number>{_NUMBER})|(?P<sign>{_SIGN})", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\r?\n|[^\n])*)", re.MULTILINE)
_DEFINED = re.compile(r"\s*(\w+)(\([^)]*\))?")
_PRAGMA = re.compile(r'_Pragma\s*\(\s*"(?:\\.|[^"\\])*"\s*\)')
OPEN = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Token:
    """A word.

    Args:
        kind: name, number or sign.
        text: as it is written.
        start: where it begins in the text.
        end: where it ends.
    """

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str, start: int = 0, end: int | None = None) -> list[Token]:
    """Returns the words of a part of a text; what `_Pragma` says is for compilers, and left out."""
    end = len(text) if end is None else end
    pragmas = {found.start(): found.end() for found in _PRAGMA.finditer(text, start, end)}
    made, at = [], start
    while at < end:
        if at in pragmas:
            at = pragmas[at]
            continue
        found = _WORD.match(text, at, end)
        assert found is not None, text[at : at + 20]
        if found.lastgroup != "skipped":
            made.append(Token(str(found.lastgroup), found[0], at, found.end()))
        at = found.end()
    return made


def pairs(words: Sequence[Token]) -> dict[int, int]:
    """Returns where each bracket closes, by where it opens, and the other way round."""
    found: dict[int, int] = {}
    waiting: list[int] = []
    for i, word in enumerate(words):
        if word.text in OPEN:
            waiting.append(i)
        elif word.text in OPEN.values() and waiting:
            found[waiting[-1]] = i
            found[i] = waiting.pop()
    return found


@functools.cache
def bodies(text: str) -> dict[str, list[Token]]:
    """Returns the words of each function's body, without the braces around it, by the function's name.

    Functions of one name in several branches of the preprocessor, or in several macros, are one.
    """
    found: dict[str, list[Token]] = {}
    for macro, words in _parts(text):
        functions = dict(_functions(words))
        if macro and not functions and words:
            functions = {macro: words}
        for name, body in functions.items():
            found.setdefault(name, []).extend(body)
    return found


def _parts(text: str) -> Iterator[tuple[str, list[Token]]]:
    """Yields the words of what stands between directives, under an empty name, and of each macro under its own."""
    bare = re.sub(r"/\*.*?\*/", lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.DOTALL)
    code: list[Token] = []  # what directives interrupt goes on after them
    at = 0
    macros = []
    for found in _DIRECTIVE.finditer(bare):
        code += tokens(text, at, found.start())
        at = found.end()
        if found[1] == "define":
            head = _DEFINED.match(bare, found.start(2), found.end())
            assert head is not None, found[0]
            macros.append((head[1], tokens(text, head.end(), found.end())))
    yield "", [*code, *tokens(text, at)]
    yield from macros


def _functions(words: Sequence[Token]) -> Iterator[tuple[str, list[Token]]]:
    closing = pairs(words)
    i = 0
    while i < len(words):
        word = words[i]
        if word.kind == "name" and i + 1 in closing and words[i + 1].text == "(":
            end = closing[i + 1]
            is_body = end + 1 in closing and words[end + 1].text == "{"
            if is_body and word.text not in _NO_NAMES:
                yield re.sub(r"_*\s*##.*", "", word.text), list(words[end + 2 : closing[end + 1]])
                i = closing[end + 1] + 1
                continue
            i = end + 1
        elif word.text == "{" and i in closing:  # of a type, or of values
            i = closing[i] + 1
        else:
            i += 1


_NO_NAMES = frozenset({"if", "for", "while", "switch", "__attribute__"})
