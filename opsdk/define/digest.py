"""Digest: a short hash over what decides what an op computes, by which a definition that is repeated is known."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType
from typing import Any

import numpy as np

from opsdk.core.lazy import slow


# Any: functions of any signature, rules, texts.
def digest_of(*parts: Any) -> str:
    """Returns a short hash over texts, functions and infer rules. What cannot be read stands for itself alone."""
    text = "\n".join(part if isinstance(part, str) else text_of(part) for part in parts)
    digest: str = slow("hashlib").sha256(text.encode()).hexdigest()
    return digest[:16]


def is_closure(function: Callable[..., Any] | None) -> bool:
    """Whether a function reads variables of the function that it was defined in."""
    return bool(getattr(getattr(function, "py_func", function), "__closure__", None))


def text_of(value: Any) -> str:
    """Returns a text that is the same for two values that compute the same, as far as can be told."""
    value = getattr(value, "py_func", value)  # a compiled Numba dispatcher keeps the Python function here
    value = getattr(value, "__func__", value)  # bound method
    if isinstance(value, FunctionType):
        cells = [_cell_text(cell) for cell in value.__closure__ or ()]
        return f"{_code_text(value.__code__)}{_plain(value.__defaults__)}{_plain(value.__kwdefaults__)}{cells}"
    if isinstance(value, functools.partial):
        return f"partial {text_of(value.func)}{_plain(value.args)}{_plain(value.keywords)}"
    if isinstance(value, (BuiltinFunctionType, np.ufunc, type)):
        return f"{type(value).__name__}:{getattr(value, '__module__', '')}.{value.__name__}"
    if type(value).__module__.startswith("opsdk.define."):  # a stock rule, or a user's function in its frame
        fields = [f"{name}={text_of(held)}" for name, held in vars(value).items() if not name.startswith("_")]
        return f"{type(value).__name__}({', '.join(fields)})"
    return _plain(value)


def _plain(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"  # its repr leaves out the middle
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}[{', '.join(_plain(item) for item in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_plain(item)}' for key, item in value.items())}}}"
    return repr(value)


def _cell_text(cell: Any) -> str:
    try:
        value = cell.cell_contents
    except ValueError:
        return "empty"
    return _code_text(value.__code__) if isinstance(value, FunctionType) else f"{type(value).__name__}:{_plain(value)}"


def _code_text(code: CodeType) -> str:
    constants = [_code_text(c) if isinstance(c, CodeType) else repr(c) for c in code.co_consts]
    return f"{code.co_code.hex()}{code.co_names}{constants}{code.co_varnames}"
