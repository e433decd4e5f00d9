"""Steps: a Program, compiled to a list of bound calls over numbered slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call import arrays
from opsdk.backends.call.application import Application
from opsdk.backends.call.buffers import specs_of
from opsdk.backends.call.plan import CallPlan, make_plan
from opsdk.backends.memory.arena import empty
from opsdk.core.errors import NotInitializedError, ProgramError, ShapeError, attach_note
from opsdk.core.flags import FLAGS
from opsdk.core.nested import each
from opsdk.core.random import drawn
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.ops.reduction import sum_to
from opsdk.ops.updates.plain import APART
from opsdk.static.ir.operator import PY_FUNC, Operator, entry, is_tested
from opsdk.static.ir.program import Program
from opsdk.static.ir.shared_memory import SharedMemory, changed, check_views
from opsdk.static.ir.variable import Variable

RANDOM_COUNTER = "@RANDOM_COUNTER@"  # in the Scope: how many runs drew random numbers there


# Any, in this file: the entries of a run, one array per slot, None where it is not there yet.
class Compiled:
    """A Program's global block, ready to run.

    Attributes:
        slots: by name of a variable its number.
        steps: what to do, in order.
        constants: by slot the arrays that are there before the first step.
        persistable: names that live in the Scope and that the steps use.
        resting: those that they do not use.
        tensors: of both, by name those that are a layer's.
        reads: by persistable name that is read before it is written, the spec that its value must have.
        data: by name the specs of what may be fed.
        feeds: data that the steps read.
        stale: by name views whose base is changed after they were taken, with what tells it; they cannot be fetched.
        counts: whether a step has a seed, which it gets by the number of the run.
        draws: whether one of them is not told that it is tested, so that the run is one more that drew.
        changed_feeds: data that the steps change in place; they get copies, since feeds belong to the user.
    """

    def __init__(self, program: Program, operators: Sequence[Operator]) -> None:
        block = program.global_block()
        self.stale = check_views(operators)
        self.slots = {name: number for number, name in enumerate(block.vars)}
        self.data = {name: variable.spec for name, variable in block.vars.items() if variable.is_data}
        memory = SharedMemory(operators)
        self.constants = [
            (self.slots[name], variable.value, memory.is_changed(name))
            for name, variable in block.vars.items()
            if variable.value is not None
        ]
        for key in dict.fromkeys(key for operator in operators for key in operator.reads.values()):
            self.slots[key] = len(self.slots)
        seeds = seeds_of(program)
        self.steps = [Step(operator, self.slots, block.vars, memory, seeds) for operator in operators]
        used = {name for operator in operators for name in (*operator.needed_arg_names, *operator.output_arg_names)}
        self.persistable = [name for name, v in block.vars.items() if v.persistable and name in used]
        self.resting = {name for name, v in block.vars.items() if v.persistable and name not in used}
        self.tensors = {name: v.held for name, v in block.vars.items() if v.held is not None}
        written: set[str] = set()
        self.reads: dict[str, TensorSpec] = {}
        self.feeds: list[str] = []
        for operator in operators:
            for name in operator.needed_arg_names:
                if name not in written:
                    self._note_read(name, block.vars[name], operator)
            written.update(operator.output_arg_names)
        self.changed_feeds = [name for name in self.feeds if memory.is_changed(name)]
        drawing = [step for step in self.steps if step.seeds]
        self.draws = not all(is_tested(step.attrs) for step in drawing)
        self.counts = bool(drawing)
        if self.counts:
            self.persistable.append(RANDOM_COUNTER)
            self.slots[RANDOM_COUNTER] = len(self.slots)
        self._keep_private(block.vars)
        kept = set(self.persistable)
        self.writes = self.draws or not kept.isdisjoint(written) or any(step.private for step in self.steps)

    def _keep_private(self, variables: Mapping[str, Variable]) -> None:
        """Gives the first step that changes a value of the Scope in place a copy of it: the run may still raise."""
        own: set[str] = set()
        for step in self.steps:
            names = dict.fromkeys(changed(step.operator))
            step.private = [self.slots[n] for n in names if variables[n].persistable and n not in own]
            own.update(names, step.operator.output_arg_names)

    def run(
        self, held: Mapping[str, np.ndarray | None], fed: Mapping[str, np.ndarray], draw: int | None = None
    ) -> list[Any]:
        """Runs every step; returns the values of all slots. Neither what is held nor what is fed is changed.

        Args:
            held: what the Scope has of the persistable names.
            fed: the feeds.
            draw: decides what is drawn, in place of the number of the run that the Scope counts.

        Raises:
            NotInitializedError: a persistable value that is read has none.
            ProgramError: one has another shape or dtype than the Program was built for.
        """
        self._check_ready(held)
        values: list[Any] = [None] * len(self.slots)
        for slot, constant, is_changed in self.constants:
            values[slot] = constant.copy() if is_changed else constant
        for name, value in (*held.items(), *fed.items()):
            values[self.slots[name]] = value
        for name in self.changed_feeds:
            values[self.slots[name]] = fed[name].copy()
        count = draw or 0
        if self.counts and draw is None:
            counter = held[RANDOM_COUNTER]
            count = 0 if counter is None else int(counter)
            if self.draws:
                values[self.slots[RANDOM_COUNTER]] = np.array(count + 1)
        for step in self.steps:
            step.run(values, count)
        return values

    def _check_ready(self, held: Mapping[str, np.ndarray | None]) -> None:
        """Checks that every persistable value that is read is there, and is what the Program was built for."""
        for name, spec in self.reads.items():
            value = held.get(name)
            if value is None:
                raise NotInitializedError(
                    f"variable {name!r}: expected a value in the Scope, it has none; run the startup program first: "
                    "exe.run(startup_program)"
                )
            if value.dtype != spec.dtype or not spec.admits(value.shape):
                raise ProgramError(
                    f"variable {name!r}: expected {spec.dtype} {shape_text(spec.shape)}, the Scope holds {value.dtype} "
                    f"{value.shape}; another Program uses the same name there, run each in a Scope of its own"
                )

    def changes(self, held: Mapping[str, np.ndarray | None], values: Sequence[Any]) -> dict[str, np.ndarray]:
        """Returns by name what a run wrote to persistable variables."""
        made = {name: values[self.slots[name]] for name in self.persistable}
        return {name: value for name, value in made.items() if value is not None and value is not held[name]}

    def _note_read(self, name: str, variable: Variable, operator: Operator) -> None:
        """Notes where a value that no step before makes comes from.

        Raises:
            ProgramError: from nowhere.
        """
        if variable.is_data:
            if name not in self.feeds:
                self.feeds.append(name)
        elif variable.persistable:
            self.reads[name] = variable.spec
        elif variable.value is None:
            raise ProgramError(
                f"variable {name!r}: {operator.type!r} reads it, expected an operator before that writes it, "
                "there is none"
            )


def seeds_of(program: Program) -> dict[int, int]:
    """Returns, where the Program has a random seed, by the seed of its operators the one that takes its place.

    Operators of one seed keep one: an op and its gradient, which has to draw the same numbers once more.
    """
    seeds: dict[int, int] = {}
    if program.random_seed:
        operators = program.global_block().ops
        states = np.random.SeedSequence(program.random_seed).generate_state(len(operators) or 1)
        for operator, state in zip(operators, states, strict=False):
            for number, seed in enumerate(operator.seeds.values()):
                seeds.setdefault(seed, drawn(int(state), number))
    return seeds


class Step:
    """One operator, bound to slots.

    Callables given to `py_func` are checked in full at every run: they were never declared anything, and may do as
    they like each time.
    """

    __slots__ = (
        "apart",
        "application",
        "asked",
        "attrs",
        "built",
        "changed",
        "copied",
        "inputs",
        "is_checked",
        "is_computed",
        "is_tried",
        "like",
        "objects",
        "opdef",
        "operator",
        "outputs",
        "passed",
        "plans",
        "private",
        "seeds",
    )

    def __init__(
        self,
        operator: Operator,
        slots: dict[str, int],
        variables: Mapping[str, Variable],
        memory: SharedMemory,
        seeds: Mapping[int, int],
    ) -> None:
        schema = operator.opdef.schema
        self.operator = operator
        self.opdef = operator.opdef
        self.is_checked = schema.namespace == PY_FUNC
        self.plans: dict[Any, CallPlan] = {}  # of a py_func, kept here so that they go when the Program goes
        self.attrs = operator.attrs
        self.private: list[int] = []  # slots of the Scope's values that it is the first to change
        self.apart = APART.get(operator.opdef.name)
        self.is_tried = False  # whether it ran once with every check
        own = {name: seed.__class__(seeds.get(seed, seed)) for name, seed in operator.seeds.items()}
        if own and seeds:
            self.attrs = {**self.attrs, **own}
        self.seeds = {} if operator.repeats else own
        self.inputs = operator.by_input(slots.get)
        self.changed = [self.inputs[i] for i in schema.mutated_inputs]
        made = operator.by_output(slots.get)
        self.outputs = [made[i] for i in schema.fresh_outputs]
        kept = [slots.get(operator.gives.get(name, "")) for name in schema.residual_names]
        if any(slot is not None for slot in kept):
            self.opdef = operator.opdef.whole
            self.outputs += kept
        for name, key in operator.reads.items():
            if name in schema.input_names:
                self.inputs[schema.input_names.index(name)] = slots[key]
        self.objects = [(name, slots[key]) for name, key in operator.reads.items() if name in schema.attr_names]
        fresh = [
            name
            for decl, names in zip(schema.outputs, operator.outputs.values(), strict=True)
            if not decl.mutated
            for name in filter(None, names)
        ]
        is_held = operator.opdef.gradient_of is None  # gradients are held to what they are the gradients of
        self.built = {name: (slots[name], variables[name].spec) for name in fresh if is_held}
        self.copied = {slots[n] for n in fresh if self.is_checked or variables[n].persistable or memory.is_exposed(n)}
        self.like = {slots[grad]: slots[name] for grad, name in operator.like.items()}
        self.asked = [(name, entry(kind, names, slots.get)) for name, (kind, names) in operator.asked.items()]
        self.application = None if operator.forward is None else self._applied(operator, slots)
        self.passed: list[Any] = []  # slots of the cotangents that are gradients as they are; None for the others
        self.is_computed = True
        if self.application is not None and self.application.rule.passes:
            self.passed = self.application.passed()
            missing = self.application.uncomputed()
            self.is_computed = any(missing)
            if self.application.rule.mask is not None:
                self.attrs = {**self.attrs, self.application.rule.mask: missing}

    def _applied(self, operator: Operator, slots: dict[str, int]) -> Application:
        """Returns the rule that a gradient op is of, applied to slots."""
        forward, rule = operator.forward, operator.rule
        assert forward is not None
        assert rule is not None
        pairs = zip(rule.sources, self.inputs, strict=True)
        arrived = {source.position: slot for source, slot in pairs if source.kind == "cotangent"}
        made = dict(zip(rule.wrt, self.outputs, strict=True))
        cotangents = [arrived.get(i) for i in range(len(forward.schema.outputs))]
        targets = [made.get(i) for i in range(len(forward.schema.inputs) + len(forward.unread))]
        return Application(forward, rule, self.attrs, cotangents, targets)

    def run(self, values: list[Any], count: int = 0) -> None:
        """Runs the call: reads and writes `values`; `count` runs before this one drew random numbers."""
        if self.apart is not None and self.is_tried and len(self.opdef.kernels) == 1 and not FLAGS.debug:
            made = self.apart((None,) * len(self.changed), *[values[i] for i in self.inputs], **self.attrs)
            for i, value in zip(self.changed, made, strict=True):
                values[i] = value
            return
        for i in self.private:
            held = values[i]
            values[i] = own = empty(held.shape, held.dtype)
            np.copyto(own, held)
        attrs = self.attrs
        if count and self.seeds:
            attrs = {**attrs, **{name: seed.__class__(drawn(seed, count)) for name, seed in self.seeds.items()}}
        inputs = [
            [None if i is None else values[i] for i in slot]
            if slot.__class__ is list
            else None
            if slot is None
            else values[slot]
            for slot in self.inputs
        ]
        try:
            results = self._results(inputs, attrs, values)
            if self.application is not None:
                routed = self.application.route(results, lambda *gradient: self._held(values, *gradient))
                results = [routed[i] for i in self.application.rule.wrt]
        except Exception as error:
            attach_note(error, f"  at       {self.operator.origin}, where the Program got its {self.operator.type!r}")
            raise
        for slot, value in zip(self.outputs, results, strict=True):
            if slot.__class__ is list:
                for i, item in zip(slot, value, strict=True):
                    if i is not None:
                        values[i] = item
            elif slot is not None:
                values[slot] = value
        for i in self.copied:
            values[i] = values[i].copy()
        if not self.is_tried:
            self._check_built(values)
            self.is_tried = True

    def _check_built(self, values: Sequence[Any]) -> None:
        """Holds the first results to what the infer rule said when the Program was built, where sizes were open."""
        for name, (slot, spec) in self.built.items():
            value = values[slot]
            if value is not None and not (spec.admits(value.shape) and value.dtype == spec.dtype):
                raise ShapeError(
                    f"{self.opdef.subject}, variable {name!r}: expected {spec}, as its infer rule said when the "
                    f"Program was built, got {value.dtype}{value.shape}; a size that is open is None there, which "
                    "equals no number: pass it on",
                    at=str(self.operator.origin),
                )

    def _results(self, inputs: Sequence[Any], attrs: Mapping[str, Any], values: Sequence[Any]) -> Sequence[Any]:
        """Returns what the operator gives, one entry per output; a gradient that is a cotangent is not computed."""
        made: Any = [None] * len(self.outputs)
        if self.is_computed:
            attrs = {**attrs, **self._specs(values)} if self.asked else attrs
            attrs = {**attrs, **{name: values[slot] for name, slot in self.objects}} if self.objects else attrs
            made = self._checked(inputs) if self.is_checked else arrays.run(self.opdef, inputs, attrs)
            made = (made,) if len(self.outputs) == 1 else made
        if not self.passed:
            return made  # type: ignore[no-any-return]  # any sequence
        return [value if slot is None else values[slot] for value, slot in zip(made, self.passed, strict=True)]

    def _specs(self, values: Sequence[Any]) -> dict[str, Any]:
        """Returns the specs that a gradient op has to be given, of the values as they are now."""
        asked = each([slot for _, slot in self.asked], values.__getitem__)
        return dict(zip([name for name, _ in self.asked], specs_of(asked), strict=True))

    def _checked(self, inputs: Sequence[Any]) -> Any:
        key = arrays.array_key(inputs, self.attrs)
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = make_plan(self.opdef, inputs, self.attrs)
        return plan.run_checked(inputs, self.attrs)

    def _held(self, values: Sequence[Any], position: int, slot: int, value: Any) -> Any:
        """Returns a gradient held to the shape of the forward's input, which is known now."""
        assert self.application is not None
        like = values[self.like[slot]]
        return self.application.unbroadcast(position, value, like.shape, like.dtype, sum_to)
