"""Keyword expressions, as pytest's `-k` has them: words joined by `and`, `or`, `not` and parentheses."""

from __future__ import annotations

import re
from collections.abc import Callable

from opsdk.core.errors import TargetError

_TOKEN = re.compile(r"[()]|[^\s()]+")


def matcher(text: str) -> Callable[[str], bool]:
    """Returns a function that tells whether a name fits; a word fits where the name has it in it, whatever the case.

    Raises:
        TargetError: the text is no expression.
    """
    python: list[str] = []  # the same expression in Python, where and, or and not bind in the same way
    is_open, depth = True, 0  # whether a word has to come, and how many parentheses it is in
    for token in (*_TOKEN.findall(text.lower()), "its end"):
        if is_open and token in ("not", "("):
            depth += token == "("
        elif is_open and token not in (")", "and", "or", "its end"):
            is_open, token = False, f"{token!r} in name"
        elif not is_open and token in ("and", "or"):
            is_open = True
        elif not is_open and depth and token == ")":
            depth -= 1
        elif is_open or depth or token != "its end":
            raise TargetError(
                f"-k: expected words joined by and, or, not and parentheses, got {text!r}, wrong at {token}"
            )
        python.append(token)
    code = compile(" ".join(python[:-1]), "-k", "eval")
    return lambda name: bool(eval(code, {"name": name.lower()}))
