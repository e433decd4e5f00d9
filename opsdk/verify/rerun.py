"""Rerun: the command that shows a finding again in a new process, where there is one."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote

from opsdk.core.origin import shorten
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef


def target_of(opdef: OpDef) -> str | None:
    """Returns what names an op to `opsdk check`; None where no new process could find it, as one made in a function."""
    origin = opdef.origin
    if origin.module.partition(".")[0] == "opsdk":
        return opdef.name
    module = sys.modules.get(origin.module)
    held = [value for value in vars(module).values() if isinstance(value, Op)] if module is not None else []
    owner = opdef.gradient_of or opdef.name
    if not any(op.opdef.name == owner for op in held):
        return None
    if origin.module != "__main__" and "." in origin.module:
        return f"{origin.module}:{opdef.schema.name}"
    if not origin.file.endswith(".py") or not Path(origin.file).is_file():
        return None
    return f"{shorten(origin.file)}:{opdef.schema.name}"


def command(opdef: OpDef, row: str, check: str, seed: int) -> str:
    """Returns the command, or nothing."""
    target = target_of(opdef)
    return "" if target is None else f"opsdk check {quote(f'{target}[{row}]::{check}')} --seed {seed}"
