"""What Numba says of a kernel that it cannot compile, as an error of ours: the line, and what is not supported."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from traceback import walk_tb
from typing import Any

import numpy as np

from opsdk.core.errors import CompileError, DTypeError
from opsdk.core.nested import flat
from opsdk.core.origin import PACKAGE_ROOT, Origin, shorten
from opsdk.define.opdef import OpDef

_CALL = re.compile(r"No implementation of function .* found for signature:\s*>>> (.+)")
_PLACE = re.compile(r"^During: typing of .* at (.+) \((\d+)\)$", re.MULTILINE)
_RAISED = re.compile(r"\.*\s*Raised from (?:None|(?P<file>.+) \((?P<line>\d+)\))\s*$")
_FUNCTION = re.compile(r"Untyped global name '(\w+)':.*<class 'function'>", re.DOTALL)
_SIGNATURE = "No matching definition for argument type"  # said of what was compiled for other types, and no more
_NUMBER, _ARRAY = re.compile(r"\b(?:float|u?int|complex|bool)\d*\b"), re.compile(r"\barray\([^()]*\)")
_DECORATORS = {"numba kernel": "numba.njit", "CUDA kernel": "cuda.jit(device=True)"}
_UNCOMPILED = {"numba kernel": "NUMBA_DISABLE_JIT", "CUDA kernel": "NUMBA_ENABLE_CUDASIM"}
_WHOLE_TEXT = "numba's whole text is the cause of this error (err.__cause__)"


def is_compile_failure(error: BaseException) -> bool:
    """Whether an exception comes out of Numba's compiler, and not out of the kernel that it made."""
    modules = [str(frame.f_globals.get("__name__", "")) for frame, _ in walk_tb(error.__traceback__)]
    is_ours = bool(modules) and modules[-1].startswith("opsdk.")  # the store of compiled kernels, which Numba calls
    return not is_ours and any(module.startswith("numba.core.") for module in modules)


# Any: arrays, attribute values.
def failure(opdef: OpDef, origin: Origin, error: BaseException, arguments: Mapping[str, Any]) -> Exception:
    """Returns the error of a kernel that cannot be compiled for the arguments of a call, by name.

    It is a `DTypeError` where an array is of a dtype that Numba compiles nothing for, else a `CompileError`.
    """
    arrays = [(name, item) for name, value in arguments.items() for item in flat(value)]
    dtypes = [(name, item.dtype) for name, item in arrays if isinstance(item, np.ndarray)]
    return unsupported(opdef, origin, dtypes) or typing_failure(opdef, origin, error)


def unsupported(opdef: OpDef, origin: Origin, dtypes: Sequence[tuple[str, np.dtype[Any]]]) -> DTypeError | None:
    """Returns the error of a kernel that is given a dtype, by the array's name, that Numba compiles nothing for."""
    for name, dtype in dtypes:
        if dtype.kind not in "biufc" or dtype.name == "float16":
            return DTypeError(
                f"{opdef.subject}, numba kernel: {name!r} is {dtype.name}, which Numba does not compile for the CPU; "
                "cast it, give the kernel the dtype that it serves (dtype='float32'), or write the op as an "
                "expression: @opsdk.elementwise",
                at=str(origin),
            )
    return None


def typing_failure(opdef: OpDef, origin: Origin, error: BaseException, row: str = "numba kernel") -> CompileError:
    """Returns the error of a kernel that Numba cannot compile: what it could not do, the whole text as the cause."""
    text = str(error)  # one class for all that Numba refuses: what it was, and where, stands in the text alone
    file, line = _place(error, text) or (origin.file, None)
    reason = _reason(text)
    return CompileError(
        f"{opdef.subject}, {row}: does not compile, {reason}; {_remedy(text, reason, row)}",
        at=str(origin) if line is None else f"{shorten(file)}:{line}",
        help=_WHOLE_TEXT,
        code="OP411",
    )


def _remedy(text: str, reason: str, row: str) -> str:
    """Returns what helps against what Numba says; where nothing is known that does, how to see more."""
    called = _FUNCTION.search(text)
    if called is not None:
        return f"decorate {called[1]} with {_DECORATORS[row]}"
    if _SIGNATURE in reason:
        return "leave the signature out of numba.njit(...), and it is compiled for the types of each call"
    if _ARRAY.search(reason) and _NUMBER.search(_ARRAY.sub("", reason)):
        return "one is a number and one an array: index the array until it is a number, or make both arrays"
    return f"look at that line without compiling: {_UNCOMPILED[row]}=1 runs the kernel as Python"


def _reason(text: str) -> str:
    """Returns what Numba says first that is no heading; for a call that it cannot type, the call with its types."""
    call = _CALL.search(text)
    if call is not None:
        return f"numba has no {call[1]}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    shown = [line for line in lines if not line.startswith(("During:", "[", "Failed in", ">>>"))]
    return _RAISED.sub("", (shown or lines or ["no reason given"])[0])


def _place(error: BaseException, text: str) -> tuple[str, int] | None:
    """Returns the file and line of the innermost code of the user's that Numba was at; None where it says none."""
    for file, line in _PLACE.findall(text):
        if _is_users(file):
            return file, int(line)
    location: Any = getattr(error, "loc", None)  # Any: Numba's place in a source
    if location is None:  # an exception that Numba did not expect: what was it working on?
        constraints = [frame.f_locals.get("constraint") for frame, _ in walk_tb(error.__traceback__)]
        places = [place for place in (getattr(each, "loc", None) for each in constraints) if place is not None]
        location = next((place for place in reversed(places) if _is_users(place.filename)), None)
    if location is not None and getattr(location, "line", None) is not None:
        return location.filename, location.line
    raised = _RAISED.search(text)
    return (raised["file"], int(raised["line"])) if raised is not None and raised["file"] else None


def _is_users(file: str) -> bool:
    homes = [vars(sys.modules[name]).get("__path__", []) for name in ("numba", "numba_cuda") if name in sys.modules]
    return not file.startswith((PACKAGE_ROOT, *(f"{folder}{os.sep}" for home in homes for folder in home)))
