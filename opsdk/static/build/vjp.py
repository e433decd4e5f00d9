"""Products with Jacobians in a Program: what a function of Variables gives, and gradients of what it was given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opsdk.backends.call.constant import as_constant
from opsdk.core.dtype import is_differentiable
from opsdk.core.modes import GradMode
from opsdk.core.nested import flat
from opsdk.define.frontend import MAKER
from opsdk.define.vjp import register_vjp
from opsdk.ops.creation import fill_any_like
from opsdk.ops.shape import assign
from opsdk.static.build.backward import gradients
from opsdk.static.build.frontend import RECORDER, Maker
from opsdk.static.ir.operator import BACKWARD, FORWARD
from opsdk.static.ir.variable import Variable


# Any, in this file: Variables, constants and None; a function of Variables.
def pulled(
    function: Callable[..., list[Any]], inputs: Sequence[Any], given: Sequence[Any] | None, create_graph: bool | None
) -> tuple[list[Any], list[Any]]:
    """Appends a function of Variables and its gradients, of copies of what it is given; returns both."""
    first = next(value for value in flat([*inputs, *(given or ())]) if isinstance(value, Variable))
    block = first.block

    def lifted(value: Any) -> Any:
        is_there = value is None or isinstance(value, Variable)
        return value if is_there else block.create_constant(as_constant(value, None, "vjp"))

    start = len(block.ops)
    with block.all_or_nothing(), GradMode(True):
        taken = [assign(lifted(value)) for value in inputs]
        targets = [variable for variable in taken if is_differentiable(variable.dtype)]
        with MAKER.held(Maker(block)):
            outputs = [lifted(value) for value in function(*taken)]
        cotangents = [None] * len(outputs) if given is None else [lifted(value) for value in given]
        ends = [(y, dy) for y, dy in zip(outputs, cotangents, strict=True) if is_differentiable(y.dtype)]
        found: Any = iter([None] * len(targets))
        if ends and targets:
            found = iter(gradients([y for y, _ in ends], targets, [dy for _, dy in ends]))
        made = [next(found) if is_differentiable(variable.dtype) else None for variable in taken]
        for operator in block.ops[start:]:
            if operator.role == BACKWARD:
                operator.role = FORWARD  # the product is what the call gives, also where nothing is trained
        pairs = zip(made, taken, strict=True)
        return outputs, [fill_any_like(x) if dx is None and is_differentiable(x.dtype) else dx for dx, x in pairs]


register_vjp(RECORDER.name, pulled)
