"""Operator: one call in a Program, from named variables to named variables, for training or as a test has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from opsdk.core.errors import ProgramError
from opsdk.core.nested import flat
from opsdk.core.origin import Origin
from opsdk.core.suggest import alternatives
from opsdk.define.gradient import asked_of
from opsdk.define.identity.callables import importable_name
from opsdk.define.opdef import GradRule, OpDef
from opsdk.define.schema.attribute import literal
from opsdk.define.schema.schema import InputDecl, OutputDecl

FORWARD, BACKWARD, OPTIMIZE = "forward", "backward", "optimize"
PY_FUNC = "py_func"  # the namespace of ops that `py_func` makes, and the type that their Operators show
# By name of a truth value, built in or of anybody's op: what it is where nothing is trained.
WHEN_TESTED: Mapping[str, bool] = {
    "is_test": True,
    "test_mode": True,
    "use_global_stats": True,
    "training": False,
    "is_training": False,
    "is_train": False,
    "train": False,
    "train_mode": False,
}


class Attrs(dict[str, Any]):  # Any: attribute values of the schema language
    """The attributes of an Operator, to read: what was appended after it, as its gradient, was made of them."""

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise ProgramError(
            "attrs of an operator: expected to be read, got a change; append another call, since gradients hold the "
            "attributes of theirs; clone(for_test=True) is what ends training"
        )

    __setitem__ = __delitem__ = __ior__ = update = setdefault = pop = popitem = clear = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        for name, value in self.items():
            for function in flat(value):
                if callable(function):
                    importable_name(function, f"attrs of an operator, {name!r}")
        return Attrs, (dict(self),)

    def __deepcopy__(self, memo: object) -> Attrs:
        return Attrs(self)  # values of attributes never change


@dataclass(eq=False)
class Operator:
    """One call.

    Args:
        opdef: the definition; it stays the same whatever is registered later.
        inputs, outputs: by the schema's names the names of variables; several for a variadic one, "" for holes of it,
            none for an absent.
        attrs: all attributes, defaults filled in; they stay.
        role: `forward`, `backward` or `optimize`; decides what `clone(for_test=True)` keeps.
        origin: the user's line.
        of: for a gradient op, by output the variables that it gives gradients of, whose shapes these must have.
        forward: for a gradient op, the definition that it is the gradient of.
        records: whether gradients flow through it, as they do but for what `no_grad` was around.
        repeats: every run draws the same random numbers: initialisers do, all else draws others in each run.
        part_of: the call of a composite that was told to train, of which this is a part.
        residuals: by name of a residual that a gradient op reads, or that the op of it gives, what a run keeps it
            under; that is no variable, which nobody fetches.
        specs: for a gradient op, by name of a spec that it may be given the kind of that input and its variables.
        guards: names of what is computed only after this has passed, which gives nothing itself.
        freed: names of what it changes in place with a gradient, at whose values before a user had stopped that.
    """

    opdef: OpDef
    inputs: dict[str, list[str]]
    outputs: dict[str, list[str]]
    attrs: dict[str, Any]  # Any: attribute values of the schema language
    role: str
    origin: Origin
    of: dict[str, list[str]] = field(default_factory=dict)
    forward: OpDef | None = None
    records: bool = True
    repeats: bool = False
    part_of: Operator | None = None
    residuals: dict[str, str] = field(default_factory=dict)
    specs: dict[str, tuple[str, list[str]]] = field(default_factory=dict)
    guards: list[str] = field(default_factory=list)
    freed: list[str] = field(default_factory=list)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "attrs":
            value = Attrs(value) if "attrs" not in self.__dict__ else Attrs()._refuse()
        super().__setattr__(name, value)

    def fill(self, value: float) -> None:
        """Has a `fill_constant` fill in another value."""
        dict.__setitem__(self.attrs, "value", value)

    @property
    def seeds(self) -> dict[str, int]:
        """The keys of the random numbers that it draws: its attribute `seed` and its generators.

        A branch or loop draws what its bodies do, nothing where they are tested.
        """
        if self.bodies and not any(body.draws for body in self.bodies):
            return {}
        found = {name: self.attrs.get(name) for name in ("seed", *self.opdef.schema.generators)}
        return {name: seed for name, seed in found.items() if isinstance(seed, int)}

    @property
    def bodies(self) -> list[Any]:
        """The bodies of a branch or loop: closed Programs among its attributes."""
        return [value for value in self.attrs.values() if hasattr(value, "program")]

    @property
    def type(self) -> str:
        """The op's name; `py_func` for callables that have no registered name."""
        schema = self.opdef.schema
        return PY_FUNC if schema.namespace == PY_FUNC else schema.name

    @property
    def rule(self) -> GradRule | None:
        """For a gradient op, the rule by which it was appended."""
        return None if self.forward is None else self.forward.grad

    @property
    def like(self) -> dict[str, str]:
        """For a gradient op, by name of each gradient that it gives the name of the variable that it is of."""
        pairs = [pair for slot, names in self.of.items() for pair in zip(self.outputs[slot], names, strict=True)]
        return {grad: name for grad, name in pairs if grad}

    @property
    def asked(self) -> dict[str, tuple[str, list[str]]]:
        """For a gradient op whose kernels have to be given specs, those of `specs` that they are."""
        names = (*[name for name, _ in asked_of(self.opdef)], *self.opdef.schema.attr_names) if self.specs else ()
        return {name: spec for name, spec in self.specs.items() if name in names}

    @property
    def gives(self) -> dict[str, str]:
        """The residuals that it gives, as `residuals` has them."""
        return self.residuals if self.opdef.schema.residuals else {}

    @property
    def reads(self) -> dict[str, str]:
        """The residuals that it reads, as `residuals` has them."""
        return {} if self.opdef.schema.residuals else self.residuals

    @property
    def followed(self) -> list[list[str]]:
        """Variables by input, with those of what a gradient op does not read but moves with: gradients go to all."""
        if not self.opdef.unread:
            return list(self.inputs.values())
        rule = self.rule
        of = {} if rule is None else dict(zip(rule.wrt, self.of.values(), strict=True))
        unread = [[]] * len(self.opdef.unread) if rule is None else [of[i] for i in rule.unread]
        return [*self.inputs.values(), *unread]

    # Any, in these: what a function makes of a variable's name.
    def by_followed(self, function: Callable[[str], Any]) -> list[Any]:
        """Returns what a function makes of all that gradients go to, as `by_input` does of the inputs."""
        unread = self.followed[len(self.inputs) :]
        return [*self.by_input(function), *[function(names[0]) if names else None for names in unread]]

    def by_input(self, function: Callable[[str], Any]) -> list[Any]:
        """Returns what a function makes of the inputs, as the schema has them: a list for a variadic one, or None."""
        return _entries(self.opdef.schema.inputs, self.inputs, function)

    def by_output(self, function: Callable[[str], Any]) -> list[Any]:
        """Returns the same of the outputs; None of what has no name, as a gradient that nobody wants."""
        return _entries(self.opdef.schema.outputs, self.outputs, function)

    @property
    def input_arg_names(self) -> list[str]:
        """Names of all input variables, in order; holes of lists have none."""
        return [name for names in self.inputs.values() for name in names if name]

    @property
    def needed_arg_names(self) -> list[str]:
        """Names of all variables that have to be there before it runs: its inputs, and what its gradients are like."""
        asked = [name for _, names in self.asked.values() for name in names if name]
        return [*self.input_arg_names, *self.like.values(), *asked]

    @property
    def output_arg_names(self) -> list[str]:
        """Names of all output variables, in order; gradients that nobody wants have none."""
        return [name for names in self.outputs.values() for name in names if name]

    @property
    def written_arg_names(self) -> list[str]:
        """Names of all variables that it writes: its outputs, and what it changes in place, be it an output or not."""
        return [*self.output_arg_names, *self.changed_arg_names]

    @property
    def changed_arg_names(self) -> list[str]:
        """Names of all variables that it changes in place."""
        slots = list(self.inputs.values())
        return [name for i in self.opdef.schema.mutated_inputs for name in slots[i] if name]

    def input(self, slot: str) -> list[str]:
        """Returns the names of the variables of one input.

        Raises:
            ProgramError: the op has no such input.
        """
        return list(self._slot(self.inputs, slot, "input"))

    def output(self, slot: str) -> list[str]:
        """Returns the names of the variables of one output.

        Raises:
            ProgramError: the op has no such output.
        """
        return list(self._slot(self.outputs, slot, "output"))

    def attr(self, name: str) -> Any:
        """Returns the value of an attribute.

        Raises:
            ProgramError: the op has no such attribute.
        """
        if name not in self.attrs:
            raise ProgramError(
                f"operator {self.type!r}: no attribute is called {name!r}; there are {alternatives(name, self.attrs)}"
            )
        return self.attrs[name]

    def has_attr(self, name: str) -> bool:
        """Whether the op has an attribute of that name."""
        return name in self.attrs

    @property
    def attr_names(self) -> list[str]:
        """Names of the attributes."""
        return list(self.attrs)

    def all_attrs(self) -> dict[str, Any]:
        """Returns all attributes by name."""
        return dict(self.attrs)

    def rename(self, old: str, new: str) -> None:
        """Puts one variable's new name wherever its old one stands."""
        if self.part_of is not None:
            self.part_of.rename(old, new)
        for slots in (self.inputs, self.outputs, self.of, {name: names for name, (_, names) in self.specs.items()}):
            for names in slots.values():
                names[:] = [new if name == old else name for name in names]
        self.guards = [new if name == old else name for name in self.guards]
        self.freed = [new if name == old else name for name in self.freed]

    def to_string(self) -> str:
        """Returns the line that a printed Program shows."""
        outputs = ", ".join(f"{slot}={names}" for slot, names in self.outputs.items())
        inputs = ", ".join(f"{slot}={names}" for slot, names in self.inputs.items())
        attrs = "".join(f", {name} = {literal(value)}" for name, value in self.attrs.items())
        name = self.opdef.schema.identity if self.opdef.schema.namespace != "opsdk" else self.type
        kept = f", residuals = {list(self.residuals.values())}" if self.residuals else ""
        return f"{{{outputs}}} = {name}(inputs={{{inputs}}}{attrs}{kept}, op_role = {self.role})"

    __repr__ = to_string

    def _slot(self, slots: Mapping[str, list[str]], slot: str, role: str) -> list[str]:
        """Returns a slot by the schema's name; Paddle's capitalised names find it too."""
        for name in (slot, slot.lower()):
            if name in slots:
                return slots[name]
        raise ProgramError(
            f"operator {self.type!r}: no {role} slot is called {slot!r}; there are {alternatives(slot, slots)}"
        )


def _entries(
    decls: Sequence[InputDecl | OutputDecl], slots: Mapping[str, list[str]], function: Callable[[str], Any]
) -> list[Any]:
    return [entry(decl.kind, names, function) for decl, names in zip(decls, slots.values(), strict=True)]


def entry(kind: str, names: Sequence[str], function: Callable[[str], Any]) -> Any:
    """Returns what a function makes of the names of one slot: a list of a variadic one, None of what is absent."""
    made = [function(name) if name else None for name in names]
    return made if kind == "list" else made[0] if made else None


# Any: attribute values.
def is_trained(attrs: Mapping[str, Any]) -> bool:
    """Whether an attribute says that the call is one of training."""
    return any(attrs.get(name) is (not value) for name, value in WHEN_TESTED.items())


# Any: attribute values.
def is_tested(attrs: Mapping[str, Any]) -> bool:
    """Whether an attribute says that the call is one where nothing is trained."""
    return any(attrs.get(name) is value for name, value in WHEN_TESTED.items())


def tested(operators: Sequence[Operator]) -> list[Operator]:
    """Returns what runs where nothing is trained: the same operators, with the attributes of a test.

    Of a composite that was told to train there are only its parts, which show nothing of that: the call as it was takes
    their place.

    Raises:
        ProgramError: an attribute says otherwise than by a truth value that the operator is one of training.
    """
    made: list[Operator] = []
    whole: set[int] = set()
    for operator in operators:
        call = operator.part_of
        if call is None:
            made.append(_tested(operator))
        elif id(call) not in whole:
            whole.add(id(call))
            made.append(_tested(call))
    return made


def _tested(operator: Operator) -> Operator:
    attrs = dict(operator.attrs)
    for name, value in attrs.items():
        if hasattr(value, "program"):  # the body of a branch or a loop
            attrs[name] = value.tested()
        is_mode = name in WHEN_TESTED and value is not None
        if is_mode and isinstance(value, bool):
            attrs[name] = WHEN_TESTED[name]
        elif is_mode or (isinstance(value, str) and value.lower() in ("train", "training")):
            *names, last = WHEN_TESTED
            raise ProgramError(
                f"clone(for_test=True): operator {operator.type!r} expected to say by a bool, {', '.join(names)} or "
                f"{last}, whether it is trained, got {name}={value!r}; declare it so, or build a Program for tests "
                "with the other value",
                at=str(operator.origin),
            )
    return replace(operator, attrs=attrs)
