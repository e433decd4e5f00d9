"""What each error code means, offline, and the page of all of them, docs/errors.md.

Run as a module it prints the page.
"""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import dataclass

from opsdk.core import errors
from opsdk.core.errors import OpsdkError, TargetError
from opsdk.ship.explain.texts import TEXTS
from opsdk.ship.package.name import ScaffoldError
from opsdk.ship.targets.loading import BrokenDefinitionError

COMMAND = "python -m opsdk.ship.explain.page > docs/errors.md"
_CHAPTERS = {
    "OP1": "Defining an op",
    "OP2": "Calling, differentiating, running",
    "OP3": "Proving",
    "OP4": "Compiling",
    "OP5": "Packages and files",
}
# Errors of one class that differ in what has to be done.
_FURTHER = {
    "OP302": (errors.GradcheckError, "An op ended the process in which it was verified."),
    "OP402": (errors.CompileError, "A C kernel needs a C compiler, and there is none."),
    "OP403": (errors.CompileError, "Compiled code has to be kept in a folder, and none can be written."),
    "OP411": (errors.CompileError, "A Numba kernel is Python that Numba cannot compile."),
}


@dataclass(frozen=True)
class Code:
    """One error code: the class that carries it and that class's own sentence."""

    error: str
    sentence: str


def codes() -> dict[str, Code]:
    """Returns every code that opsdk gives to its errors."""
    classes = [*vars(errors).values(), BrokenDefinitionError, ScaffoldError]
    found = {
        cls.default_code: Code(cls.__name__, (inspect.getdoc(cls) or "").partition("\n")[0])
        for cls in classes
        if inspect.isclass(cls) and issubclass(cls, OpsdkError) and cls is not OpsdkError
    }
    for code, (error, sentence) in _FURTHER.items():
        found[code] = Code(error.__name__, sentence)
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
    return f"{wanted} {entry.error}: {entry.sentence}{body}"


def page() -> str:
    """Returns the page as Markdown: a chapter per hundred codes, a section per code."""
    lines = [
        "# Error codes",
        "",
        "What `opsdk explain CODE` prints, all of it. An error carries its code as `error.code`, and in the last note",
        f"below its message. This page is written by `{COMMAND}`, and held to it by a test.",
    ]
    chapter = ""
    for code, entry in sorted(codes().items()):
        title = _CHAPTERS[code[:3]]
        if title != chapter:
            lines += ["", f"## {title}"]
            chapter = title
        head, _, body = explained(code).partition("\n\n")
        lines += ["", f"### {code} {entry.error}", "", head.partition(": ")[2]]
        if body:
            lines += ["", "```text", body, "```"]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(page(), end="")
