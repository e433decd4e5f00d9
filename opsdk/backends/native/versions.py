"""The version of the code generator: a hash of its sources, so that a change of them never meets old object code."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from opsdk.core.lazy import slow

_FOLDERS = (".", "../vmath", "../../expr")


@cache
def sources_key() -> str:
    """Returns a hash of every source file that decides what kernels are compiled to."""
    here = Path(__file__).parent
    digest = slow("hashlib").sha256()
    for folder in _FOLDERS:
        for file in sorted((here / folder).rglob("*.py")):
            digest.update(file.read_bytes())
    return digest.hexdigest()
