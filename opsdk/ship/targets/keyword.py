"""Keyword expressions, as pytest's `-k` has them: words joined by `and`, `or`, `not` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable

from opsdk.core.errors import TargetError

_TOKEN = re.compile(r"[()]|[^\s()]+")
Matcher = Callable[[str], bool]
Reader = Callable[[list[str], str], tuple[Matcher, list[str]]]  # of the tokens ahead; the text is for messages


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
    return _joined(tokens, text, "or", any, _both)


def _both(tokens: list[str], text: str) -> tuple[Matcher, list[str]]:
    return _joined(tokens, text, "and", all, _one)


def _joined(
    tokens: list[str], text: str, word: str, how: Callable[[list[bool]], bool], part: Reader
) -> tuple[Matcher, list[str]]:
    found, rest = part(tokens, text)
    parts = [found]
    while rest[:1] == [word]:
        found, rest = part(rest[1:], text)
        parts.append(found)
    return lambda name: how([fits(name) for fits in parts]), rest


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


def _refused(text: str, at: str) -> TargetError:
    return TargetError(f"-k: expected words joined by and, or, not and parentheses, got {text!r}, wrong at {at}")
