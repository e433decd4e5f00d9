"""The functions of a C row as its source shows them, without a compiler."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from opsdk.backends.c.scan import names_defined
from opsdk.backends.c.signature import SUFFIXES, Signature
from opsdk.backends.c.source import read
from opsdk.core.errors import CompileError
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef


def missing_function(opdef: OpDef, kernel: Kernel, dtype: np.dtype[Any]) -> str:
    """Returns what is missing where a C source has no function for a dtype; empty where it has, or nobody can tell.

    Macros may make functions that only the preprocessor sees, and headers may hold some.
    """
    try:
        text = read(opdef, kernel).text
    except CompileError as error:
        return str(error)
    signature = Signature.of(opdef.schema)
    suffix = SUFFIXES.get(dtype.name)
    symbol = signature.symbol(suffix) if suffix else dtype.name
    if "##" in text or re.search(r'#\s*include\s*"(?!opsdk\.h)', text) or re.search(rf"\b{symbol}\b", text):
        return ""
    there = [name for name in names_defined(text) if name in signature.symbols]
    return f"its source has no function {symbol}; there are {', '.join(there) or 'none'}"
