"""TapePlan: a call plan, and what a call of this kind records for its backward; GradNode: one recorded call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import Any

from opsdk.autograd.hooks import Hooks
from opsdk.backends.call.plan import CallPlan
from opsdk.core.errors import GraphError
from opsdk.core.nested import flat
from opsdk.core.place import CPU
from opsdk.define.gradient import asked_of
from opsdk.define.opdef import OpDef
from opsdk.define.schema.scalars import OBJECT

sequence = count()  # a later call has a greater number


class TapePlan:
    """One kind of call on tensors.

    Attributes:
        call: the call plan; None for a composite op that is recorded through the ops it is made of, and for an op that
            is recorded without being run.
        place: where the arrays live.
        record: whether a node is made.
        saves: kind and position of each value that the gradient rule has a call keep.
        gradient: the gradient op's definition, or None.
        kinds: its plans, among which the fast path finds how the gradient of this kind of call is computed; or None.
        saves_input: whether the first input is all that the backward reads.
        saves_output: whether the one output is all that the backward reads; the commonest case.
        takes: position of the first cotangent among the gradient op's inputs.
        stops: per output whether it carries no gradient.
        aliased: per output the positions of the inputs that it may share memory with.
        carries: positions of the inputs that are changed in place and whose gradient an output passes on.
        plain: whether there is one output, which is a tensor in memory of its own.
        asks: names of the specs of inputs that the kernels of the gradient op have to be given, and which inputs.
        objects: names of the attributes that are residuals of another call; they are freed with the graph.
        bare: whether the gradient op takes neither attributes nor masks, and cotangents that nobody sent are zeros.
    """

    __slots__ = ("__dict__", "kinds")  # the fast path reads this one

    # Any: per input an array, a list of arrays or None.
    def __init__(self, opdef: OpDef, call: CallPlan | None, record: bool, inputs: Sequence[Any]) -> None:
        schema = opdef.schema
        is_complex = any(array.dtype.kind == "c" for array in flat(inputs))
        if record and (is_complex or (call is not None and call.gives_complex)):
            opdef = opdef.for_complex
        rule = opdef.grad
        self.opdef = opdef
        self.rule = rule
        self.call = call
        self.place = CPU if call is None else call.place
        self.record = record
        self.gradient = self.kinds = None
        if rule is not None:
            self.gradient = rule.op.opdef
            self.kinds = self.gradient.plans
            self.gradient.kernels.plans.add(opdef.plans)  # forgotten when the gradient op is told more
        sources = () if rule is None or not record else rule.sources
        self.saves = () if rule is None or not record else tuple((s.kind, s.position) for s in rule.saved)
        self.stops = tuple(not record or decl.name in opdef.traits.nondifferentiable for decl in schema.outputs)
        self.carries = opdef.passed_on() if record and schema.mutated_inputs else frozenset()
        single = len(schema.outputs) == 1 and schema.outputs[0].kind == "tensor"
        keeps = record and bool(schema.residuals)
        self.plain = single and schema.outputs[0].alias is None and not schema.mutated_inputs and not keeps
        self.saves_output = self.plain and self.saves == (("output", 0),)
        self.saves_input = self.plain and self.saves == (("input", 0),)
        self.objects = tuple(decl.name for decl in schema.attrs if decl.type.scalar == OBJECT)
        self.aliased = tuple(schema.aliased_sources(i) for i in range(len(schema.outputs)))
        self.takes = next((i for i, s in enumerate(sources) if s.kind == "cotangent"), 0)
        self.asks = asked_of(self.gradient) if record and self.gradient is not None else ()
        told = rule is not None and (rule.attrs or rule.mask or rule.given or rule.objects or self.asks)
        self.bare = rule is not None and rule.materialize and not told


_NO_BOX = [0]  # stands for the counter of what is absent


class Boxes:
    """The version counters of a list of tensors, read like one."""

    __slots__ = ("boxes",)

    def __init__(self, tensors: Sequence[Any]) -> None:
        self.boxes = [_NO_BOX if tensor is None else tensor._version for tensor in tensors]

    def __getitem__(self, index: int) -> tuple[int, ...]:
        return tuple(box[index] for box in self.boxes)

    def count(self, before: Mapping[int, int]) -> tuple[int, ...]:
        """Returns the counts, of those that are in `before` what they were."""
        return tuple(before.get(id(box), box[0]) for box in self.boxes)


class GradNode:
    """What the backward of one call needs, and where its gradients go.

    Attributes:
        plan: the kind of call, with the op's definition and gradient rule.
        attrs: the attributes of the call.
        edges: per tensor input (variadic ones flattened) where its gradient goes: `(tensor, -1)` for a leaf,
            `(node, output)` for an interior value, None where none is wanted.
        saved: what the backward reads, as `GradRule.saved` has it: for each the value, its version counter and the
            count then, one after another; a residual, which nobody else holds, has no counter. None once the graph is
            freed.
        outputs: shape and dtype of each output; None where the one output is itself what was saved.
        sequence: a later call has a greater number; the backward visits the greatest first.
        hooks: gradient hooks by output.
        layout: per input None, or the number of tensors of a variadic input; () where no input is variadic.
        spread: likewise per output, those that are lists; () where no output is a list.
        used_at: the user's line, in debug mode.
        specs: those of the inputs that the gradient op has to be given, by name; only where its kernels fill buffers.
    """

    # The first six are what every call sets, and what the fast path reads.
    __slots__ = ("__dict__", "__weakref__", "edges", "hooks", "outputs", "plan", "saved", "sequence")
    used_at: str | None = None
    layout: tuple[int | None, ...] = ()
    spread: tuple[int | None, ...] = ()
    attrs: Mapping[str, Any] = MappingProxyType({})
    specs: Mapping[str, Any] = MappingProxyType({})

    # Any: saved are arrays, lists of them, and counters; edges lead to tensors and nodes.
    def __init__(self, plan: TapePlan, edges: Sequence[Any], saved: Sequence[Any]) -> None:
        self.plan = plan
        self.edges = edges
        self.saved: Sequence[Any] | None = saved
        self.outputs: Sequence[tuple[tuple[int, ...], Any]] | None = None
        self.hooks: dict[int, Hooks] | None = None
        self.sequence = next(sequence)

    def spec(self, output: int) -> tuple[tuple[int, ...], Any]:
        """Returns the shape and dtype of an output, which its cotangent must have."""
        if self.outputs is not None:
            return self.outputs[output]
        if self.saved is None:
            raise self.freed()
        return self.saved[0].shape, self.saved[0].dtype

    def freed(self) -> GraphError:
        """Returns the error of a backward through a graph that an earlier one freed."""
        return GraphError(
            f"backward: expected a graph that is still there, that of {self.subject} was freed by an "
            "earlier backward; pass retain_graph=True to the earlier one"
        )

    # Any: how the engine computes, `engine.ArrayAlgebra`; arrays, or tensors.
    def step(self, algebra: Any, cotangents: Sequence[Any], edges: Sequence[Any]) -> Sequence[Any]:
        """Returns the gradients of the inputs, one per edge; the engine asks it of nodes of other classes alone."""
        gradients: Sequence[Any] = algebra.step(self, cotangents, edges)
        return gradients

    def spec_of(self, position: int, number: int) -> tuple[tuple[int, ...], Any]:
        """Returns the spec of an output of the schema, or, where that is a list, of one of its tensors."""
        return self.spec(self.places(position)[number])

    def zeros_of(self, make: Callable[..., Any], position: int, number: int) -> Any:
        """Returns what stands for a cotangent that did not arrive: zeros, made of shape and dtype.

        Of a result that the call did not give it is None.
        """
        spec: Any = self.spec_of(position, number)
        return None if spec is None else make(*spec)

    def places(self, position: int) -> range:
        """Returns where the tensors of an output of the schema stand among the outputs, those of lists counted each."""
        if not self.spread:
            return range(position, position + 1)
        start = sum(1 if count is None else count for count in self.spread[:position])
        count = self.spread[position]
        return range(start, start + (1 if count is None else count))

    # Any, in these: what stands for an output or an input, an edge for one.
    def by_output(self, values: Sequence[Any]) -> Sequence[Any]:
        """Returns values of the outputs as the schema has them: those of a list in a list of their own."""
        return _grouped(values, self.spread) if self.spread else values

    def by_input(self, values: Sequence[Any]) -> Sequence[Any]:
        """Returns values of the edges as the schema has its inputs: those of a list in a list of their own."""
        return _grouped(values, self.layout) if self.layout else values

    def by_edge(self, values: Sequence[Any]) -> Sequence[Any]:
        """Returns values of the inputs, as `by_input` gives them, one per edge."""
        if not self.layout:
            return values
        pairs = zip(values, self.layout, strict=True)
        return [item for value, length in pairs for item in ((value,) if length is None else value)]

    def unpacked(self, values: list[Any]) -> list[Any]:
        """Returns what the call saved, as arrays; what a mode has packed is unpacked by a node of another class."""
        return values

    @property
    def subject(self) -> str:
        """What was called, as messages begin: `op 'relu'`."""
        return self.plan.opdef.subject

    @property
    def name(self) -> str:
        """Name of the op that was called."""
        return self.plan.opdef.schema.name

    def __repr__(self) -> str:
        return f"<grad node of {self.name} #{self.sequence}>"


def _grouped(values: Sequence[Any], counts: Sequence[int | None]) -> list[Any]:
    grouped: list[Any] = []
    start = 0
    for length in counts:
        end = start + (1 if length is None else length)
        grouped.append(values[start] if length is None else [*values[start:end]])
        start = end
    return grouped
