"""Notes on what a kernel raised: which op, which row, and what the infer rule says of the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opsdk.backends.call.buffers import infer
from opsdk.backends.memory.device import check_places
from opsdk.core.errors import OpsdkError, attach_note
from opsdk.core.place import CPU

if TYPE_CHECKING:
    from opsdk.backends.call.plan import CallPlan


def annotate(
    plan: CallPlan, error: BaseException, inputs: Sequence[Any] | None = None, attrs: Mapping[str, Any] | None = None
) -> None:
    """Notes on a user's exception which op raised it and where that is defined; type and traceback stay.

    Args:
        plan: what was run.
        error: what came out of the kernel.
        inputs: those of the call, where they were not held to the infer rule before.
        attrs: those of the call.

    Raises:
        OpsdkError: the arrays live at several places, or the infer rule refuses the call: that says more than the
            kernel's own exception.
    """
    if isinstance(error, OpsdkError):
        return
    opdef = plan.opdef
    role = f", backward of op {opdef.gradient_of!r}" if opdef.gradient_of else ""
    attach_note(error, f"  raised in {opdef.subject}{role}, {plan.kernel.language} row at {plan.kernel.origin}")
    if plan.place is not CPU and plan.kernel.key.place != plan.place.kind:  # it may read host memory, which this is not
        attach_note(
            error,
            f"  {opdef.subject} has no row for {plan.place.kind}; its reference ran on arrays at {plan.place}"
            f". Add a row: @{opdef.schema.name}.kernel({plan.place.kind!r}, language='numba', launch=...)",
        )
    if inputs is not None:
        check_places(opdef, inputs)
    if inputs is not None and not plan.loose:
        try:
            infer(opdef, inputs, plan._attrs if attrs is None else attrs)
        except OpsdkError as refusal:
            raise refusal from error


class Annotating:
    """A block in which what a kernel raises is noted upon."""

    def __init__(self, plan: CallPlan) -> None:
        self.plan = plan

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception):
            annotate(self.plan, error)
