"""Python stacks as faulthandler writes them for a process that crashed or was ended."""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path

_FRAME = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)
_MACHINERY = {Path(__file__).with_name(name) for name in ("child.py", "targets.py")}
_BESIDE = "_hand_over"  # the thread of a worker that reads requests
LATE = "Timeout ("  # how a stack begins that was written because time was up


def read_stack(text: str) -> tuple[str, ...]:
    """Gives the frames of the thread concerned, innermost first, as "function (file:line)"; none where there are none.

    Args:
        text: what faulthandler wrote; frames of this package's own machinery are left out.
    """
    threads = [block for block in text.split("\n\n") if _FRAME.search(block) and f" in {_BESIDE}" not in block]
    current = [block for block in threads if "Current thread" in block]
    frames = _FRAME.findall((current or threads[-1:] or [""])[0])  # the main thread is the oldest, and written last
    own = [frame for frame in frames if frame[0] != "<string>" and Path(frame[0]) not in _MACHINERY]
    return tuple(f"{function} ({_short(file)}:{line})" for file, line, function in own)


def innermost(stack: tuple[str, ...]) -> str:
    """Gives the innermost frame that is somebody's own code, neither Python's nor an installed package's."""
    installed = {_short(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    own = [frame for frame in stack if not any(f"({folder}{os.sep}" in frame for folder in installed)]
    own = [frame for frame in own if "(<" not in frame]
    return (*own, *stack, "")[0]


def _short(path: str) -> str:
    """Gives a path relative to the current folder where it lies below it."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path
