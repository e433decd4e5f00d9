"""What the fast path is given of Python: the classes that it makes, and the functions that do what is not commonest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opsdk.autograd.accumulate import LOCK, ZERO, accumulate
from opsdk.autograd.engine import ACTIVE, MANY, seed_of
from opsdk.autograd.gradients import routed, unchanged
from opsdk.autograd.node import GradNode, TapePlan, sequence
from opsdk.autograd.tensor import Tensor
from opsdk.backends.call.checked import handed_over, is_refused_write, run_on_copies
from opsdk.backends.call.plan import CallPlan
from opsdk.backends.memory.arena import Lease
from opsdk.core.fast import FAST
from opsdk.core.modes import OFF, is_grad_enabled
from opsdk.define.kernel.kernel import PlanCache

Apply = Callable[..., Any]  # any: see `define.frontend`


def connected(apply: Apply) -> Apply | None:
    """Returns the fast path of a call on one tensor; None where it was not built.

    Args:
        apply: what serves the calls that it does not.
    """
    if FAST is None:
        return None
    classes = (Tensor, GradNode, TapePlan, PlanCache, Lease)
    functions = (rescued, looked_at, unchanged, routed, seed_of, accumulate)
    FAST.connect(
        {
            **{item.__name__: item for item in (*classes, *functions)},
            "apply": apply,
            "is_recording": is_grad_enabled,
            "off": OFF,
            "number": sequence,
            "zero": ZERO,
            "lock": LOCK.acquire,
            "unlock": LOCK.release,
            "active": ACTIVE,
            "many": MANY,
        }
    )
    call: Apply = FAST.call
    return call


# Any, from here on: arrays, and whatever a kernel gives.
def looked_at(call: CallPlan, held: list[Any], views: Sequence[Any], inputs: Sequence[Any]) -> Any:
    """Returns what a kernel of one output gave, alone in a list, as an array that belongs to the caller."""
    made = handed_over(held, views, inputs) if call.reads_python else held.pop()  # a compiled kernel keeps nothing
    return call.one(made, inputs)


def rescued(call: CallPlan, error: Exception, inputs: Sequence[Any]) -> Any:
    """Returns what a kernel gives that was refused a write; None where its exception stays, with a note."""
    if call.wants_views and is_refused_write(error):
        return call.one(run_on_copies(call.opdef, call.kernel_alone, inputs, {}, error), inputs)
    call.annotate(error, inputs)
    return None
