"""The fast path: C that stands in for the commonest calls, where it was built; without it they go the general way.

`OPSDK_FAST_PATH=0` in the environment leaves it out, and so does one that was built from another source than the one
that lies here. Results are the same; calls on small arrays take several times as long.
"""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opsdk.core.lazy import slow

_built: Any = None  # any: C has no types
with suppress(ImportError):  # no compiler, or no Python.h, where opsdk was installed
    _built = slow("opsdk.core.fast._built")


def source_mark() -> str:
    """Returns the mark of the C sources; setup.py compiles it in, so that a stale build is known."""
    mark = 0
    for path in sorted(Path(__file__).parent.glob("*.[ch]")):
        mark = zlib.crc32(path.read_bytes(), mark)
    return f"{mark:08x}"


def state() -> str:
    """Returns `built`, or why the general way is taken: `off`, `not built` or `out of date`."""
    if os.environ.get("OPSDK_FAST_PATH") == "0":
        return "off"
    if _built is None:
        return "not built"
    return "built" if source_mark() == _built.SOURCE else "out of date"


FAST: Any = _built if state() == "built" else None

if TYPE_CHECKING:
    Handle = object
else:
    Handle = object if FAST is None else FAST.Handle  # what is called without a frame of Python's
