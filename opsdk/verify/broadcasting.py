"""Broadcasting that nobody declared: the reference takes smaller inputs, and their gradients come back too large."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.define.infer import Assumed, like
from opsdk.verify.inputs.calls import Call, is_float
from opsdk.verify.kernels.launch import launch
from opsdk.verify.runtimes.rule import draw_cotangents, gradients
from opsdk.verify.session import Session


def check_broadcasting(session: Session) -> None:
    """Says which inputs of an op with the stock rule `like` broadcast without their gradients being summed."""
    opdef = session.opdef
    inputs = opdef.schema.inputs
    if type(opdef.infer) not in (like, Assumed) or opdef.gradient_of is not None or opdef.grad is None:
        return
    if len(inputs) < 2 or opdef.schema.mutated_inputs or any(decl.kind != "tensor" for decl in inputs):
        return
    call = next((c for c in session.calls if not c.attrs and _is_alike(c.inputs)), None)
    if call is None:
        return
    names = [decl.name for i, decl in enumerate(inputs) if i and _grows(session, call, i)]
    if names:
        listed = ", ".join([inputs[0].name, *names[:-1]])
        session.warn(
            f"{opdef.name}: {listed} and {names[-1]} broadcast, but gradients are not summed: "
            "declare infer=opsdk.infer.broadcast"
        )


def _is_alike(inputs: Sequence[Any]) -> bool:
    """Whether all inputs are floating matrices of one shape."""
    return all(is_float(a) and a.ndim == 2 and a.shape == inputs[0].shape and min(a.shape) > 1 for a in inputs)


def _grows(session: Session, call: Call, position: int) -> bool:
    """Whether an input may be a row of the others, and its gradient then is no row."""
    opdef = session.opdef
    assert opdef.grad is not None
    row = call.inputs[position][0].copy()
    there = Call([row if i == position else a for i, a in enumerate(call.inputs)], call.attrs)
    try:
        outputs = launch(opdef, opdef.kernels.reference(), there.inputs, there.attrs)
    except Exception:  # it does not broadcast, which is what `like` says
        return False
    if any(output.shape != call.inputs[0].shape for output in outputs):
        return False
    cotangents = draw_cotangents(opdef, outputs, np.random.default_rng([session.seed, 17]))
    try:
        made = gradients(opdef, opdef.grad, opdef.grad.op.opdef.kernels.reference(), there, outputs, cotangents)
    except Exception:
        return True
    return made[position] is not None and made[position].shape != row.shape
