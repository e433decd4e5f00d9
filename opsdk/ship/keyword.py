"""Keyword expressions, as pytest's `-k` has them: words joined by `and`, `or`, `not` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable

from opsdk.core.errors import TargetError

_TOKEN = re.compile(r"[()]|[^\s()]+")
Matcher = Callable[[str], bool]


def matcher(text: str) -> Matcher:
    """Returns a function that tells whether a name fits; a word fits where the name has it in it, whatever the case.

    Raises:
        TargetError: the text is no expression.
    """
    tokens = _TOKEN.findall(text.lower())
    found, rest = _either(tokens, text)
    if rest:
        raise _refused(text, rest[0])
    return lambda name: found(name.lower())


def _either(tokens: list[str], text: str) -> tuple[Matcher, list[str]]:
    left, rest = _both(tokens, text)
    while rest[:1] == ["or"]:
        right, rest = _both(rest[1:], text)
        left = _joined(any, left, right)
    return left, rest


def _both(tokens: list[str], text: str) -> tuple[Matcher, list[str]]:
    left, rest = _one(tokens, text)
    while rest[:1] == ["and"]:
        right, rest = _one(rest[1:], text)
        left = _joined(all, left, right)
    return left, rest


def _one(tokens: list[str], text: str) -> tuple[Matcher, list[str]]:
    if not tokens or tokens[0] in (")", "and", "or"):
        raise _refused(text, tokens[0] if tokens else "its end")
    word, rest = tokens[0], tokens[1:]
    if word == "not":
        inner, rest = _one(rest, text)
        return lambda name: not inner(name), rest
    if word == "(":
        inner, rest = _either(rest, text)
        if rest[:1] != [")"]:
            raise _refused(text, rest[0] if rest else "its end")
        return inner, rest[1:]
    return lambda name: word in name, rest


def _joined(how: Callable[[list[bool]], bool], left: Matcher, right: Matcher) -> Matcher:
    return lambda name: how([left(name), right(name)])


def _refused(text: str, at: str) -> TargetError:
    return TargetError(f"-k: expected words joined by and, or, not and parentheses, got {text!r}, wrong at {at}")
