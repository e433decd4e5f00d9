"""Attribution: the row that a runtime takes for a call, so that a fault is put down to the code that ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from opsdk.define.kernel.kernel import Kernel
from opsdk.verify.inputs.calls import Call
from opsdk.verify.kernels.launch import label, plan_of
from opsdk.verify.runtimes.rule import gradient_call
from opsdk.verify.session import Session


@dataclass
class Attribution:
    """The row that is running, and where its code is."""

    row: str
    at: str


def forward_attribution(session: Session, call: Call) -> Attribution:
    """Returns the row of the op that serves a call."""
    opdef = session.opdef
    try:
        kernel: Kernel | None = plan_of(opdef, None, call.inputs, call.attrs).kernel
    except Exception:  # nothing serves it, or the row does not even compile: the first that would be asked
        kernel = _first(opdef.kernels.select("cpu", call.float_dtype), opdef.kernels.reference())
    if kernel is None:
        return Attribution(session.reference_row(call.float_dtype), str(opdef.origin))
    return Attribution(label(kernel, call.float_dtype), str(kernel.origin))


def gradient_attribution(session: Session, call: Call, outputs: Any, cotangents: Any) -> Attribution:
    """Returns the row of the gradient op that serves a call; its reference goes by the name of the op's own."""
    opdef = session.opdef
    if opdef.grad is None:
        return forward_attribution(session, call)
    gradient = opdef.grad.op.opdef
    reference = gradient.kernels.reference()
    try:
        given = gradient_call(opdef, opdef.grad, call, outputs, cotangents)
        kernel: Kernel | None = plan_of(gradient, None, given.inputs, given.attrs).kernel
    except Exception:
        kernel = _first(gradient.kernels.select("cpu", call.float_dtype), reference)
    if kernel is None or kernel is reference:
        return Attribution(session.reference_row(call.float_dtype), f"{gradient.origin}, {gradient.schema.name}")
    return Attribution(label(kernel, call.float_dtype), f"{kernel.origin}, {gradient.schema.name}")


def _first(*kernels: Kernel | None) -> Kernel | None:
    return next((kernel for kernel in kernels if kernel is not None), None)
