"""TapePlan: a call plan, and what a call of this kind records for its backward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.backends.call.plan import CallPlan
from opsdk.core.nested import flat
from opsdk.define.gradient import asked_of
from opsdk.define.opdef import OpDef


class TapePlan:
    """One kind of call on tensors.

    Attributes:
        call: the call plan; None for a composite op that is recorded through the ops it is made of.
        record: whether a node is made.
        saves: per source of the gradient rule its kind and position.
        gradient: the gradient op's definition, or None.
        kinds: its plans, among which the fast path finds how the gradient of this kind of call is computed; or None.
        saves_input: whether the first input is all that the backward reads.
        saves_output: whether the one output is all that the backward reads; the commonest case.
        takes: position of the first cotangent among the gradient op's inputs.
        stops: per output whether it carries no gradient.
        plain: whether there is one output, which is a tensor in memory of its own.
        asks: names of the specs of inputs that the rows of the gradient op have to be given, and which inputs.
        bare: whether the gradient op takes neither attributes nor masks, and cotangents that nobody sent are zeros.
    """

    __slots__ = (
        "asks",
        "bare",
        "call",
        "gradient",
        "kinds",
        "opdef",
        "plain",
        "record",
        "rule",
        "saves",
        "saves_input",
        "saves_output",
        "stops",
        "takes",
    )

    # Any: per input an array, a list of arrays or None.
    def __init__(self, opdef: OpDef, call: CallPlan | None, record: bool, inputs: Sequence[Any]) -> None:
        schema = opdef.schema
        if record and (has_complex(inputs) or (call is not None and call.gives_complex)):
            opdef = opdef.for_complex
        rule = opdef.grad
        self.opdef = opdef
        self.rule = rule
        self.call = call
        self.record = record
        self.gradient = self.kinds = None
        if rule is not None:
            self.gradient = rule.op.opdef
            self.kinds = self.gradient.plans
            self.gradient.kernels.plans.add(opdef.plans)  # forgotten when the gradient op is told more
        sources = () if rule is None or not record else rule.sources
        self.saves = tuple((s.kind == "input", s.position) for s in sources if s.kind != "cotangent")
        self.stops = tuple(not record or decl.name in opdef.traits.nondifferentiable for decl in schema.outputs)
        single = len(schema.outputs) == 1 and schema.outputs[0].kind == "tensor"
        self.plain = single and schema.outputs[0].alias is None and not schema.mutated_inputs
        self.saves_output = self.plain and self.saves == ((False, 0),)
        self.saves_input = self.plain and self.saves == ((True, 0),)
        self.takes = next((i for i, s in enumerate(sources) if s.kind == "cotangent"), 0)
        self.asks = asked_of(self.gradient) if record and self.gradient is not None else ()
        told = rule is not None and (rule.attrs or rule.mask or rule.given or self.asks)
        self.bare = rule is not None and rule.materialize and not told


# Any: arrays, lists of arrays, None.
def has_complex(values: Sequence[Any]) -> bool:
    """Whether an array among the values of a call is complex."""
    return any(array.dtype.kind == "c" for array in flat(values))
