"""What each error code means, offline."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass

from opsdk.core import errors
from opsdk.core.errors import OpsdkError, TargetError
from opsdk.ship.explain import define as explain_define
from opsdk.ship.explain import run as explain_run
from opsdk.ship.explain import ship as explain_ship
from opsdk.ship.package.name import ScaffoldError
from opsdk.ship.targets.loading import BrokenDefinitionError

TEXTS = {**explain_define.TEXTS, **explain_run.TEXTS, **explain_ship.TEXTS}


# Errors of one class that differ in what has to be done.
_FURTHER = {
    "OP302": (errors.GradcheckError, "An op ended the process in which it was verified."),
    "OP402": (errors.CompileError, "A C row needs a C compiler, and there is none."),
    "OP403": (errors.CompileError, "Compiled code has to be kept in a folder, and none can be written."),
    "OP411": (errors.CompileError, "A Numba row is Python that Numba cannot compile."),
}


@dataclass(frozen=True)
class Code:
    """One error code: the class that carries it and that class's own sentence."""

    code: str
    error: str
    sentence: str


def codes() -> dict[str, Code]:
    """Returns every code that opsdk gives to its errors."""
    classes = [*vars(errors).values(), BrokenDefinitionError, ScaffoldError]
    found = {
        cls.default_code: Code(cls.default_code, cls.__name__, (inspect.getdoc(cls) or "").partition("\n")[0])
        for cls in classes
        if inspect.isclass(cls) and issubclass(cls, OpsdkError) and cls is not OpsdkError
    }
    for code, (error, sentence) in _FURTHER.items():
        found[code] = Code(code, error.__name__, sentence)
    return found


def explained(code: str) -> str:
    """Returns the page of `opsdk explain`.

    Raises:
        TargetError: there is no such code.
    """
    wanted = code.strip().upper()
    wanted = f"OP{wanted}" if wanted.isdecimal() else wanted
    known = codes()
    if wanted not in known:
        raise TargetError(f"explain: expected an error code, got {code!r}; codes: {', '.join(sorted(known))}")
    entry = known[wanted]
    text = TEXTS.get(wanted, "")
    body = "\n\n" + textwrap.dedent(text).strip("\n") if text else ""
    return f"{entry.code} {entry.error}: {entry.sentence}{body}"
