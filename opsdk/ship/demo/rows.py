"""Ops held to one of their rows: the same definition, without the rows of the other languages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from opsdk.core.errors import KernelNotFoundError
from opsdk.define.giving import renewed
from opsdk.define.kernel.kernel import KernelTable
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef


def only(op: Op, language: str) -> Op:
    """Returns an op like this one whose forward and backward have the rows of one language only.

    Args:
        op: any op; it is left as it is.
        language: `numpy`, `numba`, …

    Raises:
        KernelNotFoundError: the forward or the backward has no such row.
    """
    opdef = op.opdef
    kept = _only(opdef, language)
    if opdef.grad is not None:
        kept = renewed(kept, rule=replace(opdef.grad, op=Op(_only(opdef.grad.op.opdef, language))))
    return Op(kept)


def _only(opdef: OpDef, language: str) -> OpDef:
    table = KernelTable()
    for row in opdef.kernels:
        if row.language == language:
            table.add(row)
    if not len(table):
        known = ", ".join(row.language for row in opdef.kernels)
        raise KernelNotFoundError(f"{opdef.subject}: expected a {language} row, got rows in {known}")
    return renewed(opdef, kernels=table)


def row_that_runs(op: Op) -> str:
    """Returns the language of the row that a float32 call on the CPU chooses."""
    chosen = op.opdef.kernels.select("cpu", np.dtype("float32"))
    return chosen.language if chosen else "none"
