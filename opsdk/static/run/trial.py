"""The trial of Programs: a call and its gradients as one Program, with sizes open where the op takes that."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any

from opsdk.core.errors import OpsdkError, ProgramError
from opsdk.define.frontend import BACKWARD, OUTPUTS, Attempt, Tried, register_trial
from opsdk.define.opdef import OpDef
from opsdk.static.build.backward import gradients
from opsdk.static.build.input import data
from opsdk.static.ir.program import Program, defaults_held
from opsdk.static.ir.variable import Variable
from opsdk.static.run.executor import Executor
from opsdk.static.run.scope import Scope

_OPEN, _LEADING, _KNOWN = slice(None), slice(1), slice(0)  # which sizes of the inputs a Program does not know


# Any, in this file: arrays.
class ProgramTrial:
    """How Programs are tried.

    All sizes are open first: an op that takes one for a number would compute with it, and may refuse that, since it
    needs to know one. Then the leading ones alone are; a rule may need every size.
    """

    check = "static"
    where = "in a Program"
    has_float32 = False

    def takes(self, opdef: OpDef) -> bool:
        """Whether a call has a Variable, and a run of it gives what a call on arrays gives."""
        return bool(opdef.schema.inputs) and opdef.traits.deterministic is True

    def differentiates(self, opdef: OpDef) -> bool:
        """Whether there is a gradient: by the op's rule or, of a composite, through what it is made of."""
        return opdef.grad is not None or (opdef.is_composite and opdef.gradient_of is None)

    def attempts(self, arrays: Sequence[Any]) -> Sequence[Attempt]:
        """Returns the ways to leave sizes open."""
        ways = (Attempt(partial(_run, _LEADING), (OpsdkError,)), Attempt(partial(_run, _KNOWN)))
        if all(array.ndim < 2 for array in arrays):
            return ways
        # An infer rule that needs sizes tells so in its own words where they are open.
        whole = Attempt(partial(_run, _OPEN), (Exception,), (ProgramError,), "needs known sizes", is_extra=True)
        return (whole, *ways)


def _run(opened: slice, tried: Tried) -> Generator[tuple[str, Sequence[Any]], None, None]:
    if tried.is_partial:
        return  # a gradient op with a disconnected input: a Program has no variable for a gradient that is None
    feed: dict[str, Any] = {}
    program = Program()
    with defaults_held(program, Program()):
        variables = [data_like(f"in{i}", array, feed, opened) for i, array in enumerate(tried.arrays)]
        asked = [variable for variable, flag in zip(variables, tried.asked, strict=True) if flag]
        for variable in asked:
            variable.stop_gradient = False
        made = tried.apply([v.clone() if changed else v for v, changed in zip(variables, tried.changed, strict=True)])
        found: list[Variable | None] = []
        if asked:  # gradients of the real outputs that carry one
            pairs = zip(made, tried.cotangents, strict=True)
            carried = [(y, dy) for y, dy in pairs if not y.stop_gradient and dy is not None and dy.dtype.kind != "c"]
            seeds = [data_like(f"seed{i}", dy, feed, opened) for i, (_, dy) in enumerate(carried)]
            found = gradients([y for y, _ in carried], asked, seeds) if carried else []
    if found:
        yield BACKWARD, ()  # the whole Program is one run: where it raises although the forward runs, the gradient does
    fetches = [*made, *(gradient for gradient in found if gradient is not None)]
    values = Executor().run(program, feed=feed, fetch_list=fetches, scope=Scope())
    yield OUTPUTS, values[: len(made)]
    if found:
        given = iter(values[len(made) :])
        yield "static", [None if gradient is None else next(given) for gradient in found]


def data_like(name: str, array: Any, feed: dict[str, Any], opened: slice = _KNOWN) -> Variable:
    """Returns a data variable like an array, which is put into the feed, with some of its sizes open."""
    feed[name] = array
    shape: list[int | None] = list(array.shape)
    shape[opened] = [None] * len(shape[opened])
    return data(name, shape, array.dtype)


register_trial(ProgramTrial())
