"""OpDef and GradRule: the frozen identity of an op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from opsdk.core.origin import Origin, loading, origin_of, registrar
from opsdk.define.expectation import Expectation
from opsdk.define.identity.digest import digest_of, text_of
from opsdk.define.infer import InferRule
from opsdk.define.kernel.kernel import (
    COMPOSITE,
    REFERENCE,
    ByItsOp,
    Kernel,
    KernelKey,
    KernelTable,
    PlanCache,
)
from opsdk.define.schema.binding import ValueCheck
from opsdk.define.schema.schema import OpSchema
from opsdk.define.traits import Traits

BUILTIN = "opsdk"  # the namespace of the built-in ops, which is reserved for them
MASK = "needs_input_grad"  # the attribute that tells a backward which gradients anybody wants
GIVEN = "has_output_grad"  # the one that tells a derived backward which cotangents have arrived


def is_mask(name: str) -> bool:
    """Whether an attribute is one of these two; that of a gradient's gradient has a number behind it."""
    return name.rstrip("_0123456789") in (MASK, GIVEN)


class Handle(Protocol):
    """What a rule needs of an op's handle: the definition that it points at now."""

    opdef: OpDef


@dataclass(frozen=True)
class Source:
    """Where one input of a gradient op comes from: `input`, `output`, `residual` or `cotangent`, and its position.

    An attribute that is an object of Python comes from a `residual`, or from such an attribute: `object`.
    """

    kind: str
    position: int


@dataclass(frozen=True)
class Gift:
    """Something that an op was given after its definition: its name, whence it came and by whom, and its digest."""

    name: str
    origin: Origin
    owner: str
    digest: str


@dataclass(frozen=True, eq=False)
class GradRule(ByItsOp):
    """How the gradient of an op is had. Tape, `append_backward`, bridges and gradcheck read this same rule.

    Args:
        op: the gradient op, an ordinary registered op.
        sources: where each of its tensor inputs comes from, in order.
        attrs: the forward attributes that it takes.
        objects: by name of an attribute, the residual that it is, where that is an object of Python.
        wrt: positions of the inputs that it gives gradients of, in order; of a gradient op's, those unread come last.
        unread: positions of the inputs that the gradient op does not read, and moves with by a residual.
        reduces: whether gradients are summed to their inputs' shapes when these were broadcast.
        materialize: whether an output that nobody used gives a cotangent of zeros (True) or None (False).
        mask: the attribute of the gradient op that says which gradients are wanted, one bool per input; None without.
        given: the one that says which cotangents have arrived, one bool per output; None where all are read.
        reaching: with `given`, from the call's attributes to the outputs that depend on each input of `wrt`.
        disconnected: positions of inputs whose gradient may be None.
        passes: per gradient the output whose cotangent it is, unchanged, or None; empty where there is none.
        complex: whether it is right for complex tensors, or the rule that is in its place; False refuses them.
        real_because: why it is refused them, and what to do, where the author cannot simply say that it is right.
    """

    op: Handle
    sources: tuple[Source, ...]
    attrs: tuple[str, ...]
    wrt: tuple[int, ...]
    reduces: bool = False
    materialize: bool = True
    mask: str | None = None
    given: str | None = None
    reaching: Callable[[Mapping[str, Any]], tuple[frozenset[int], ...]] | None = None
    disconnected: tuple[int, ...] = ()
    passes: tuple[int | None, ...] = ()
    complex: GradRule | bool = False
    real_because: str = ""
    objects: tuple[tuple[str, Source], ...] = ()
    unread: tuple[int, ...] = ()

    def is_reached(self, attrs: Mapping[str, Any], given: Sequence[bool]) -> dict[int, bool]:
        """Returns per input that has a gradient whether an output depends on it whose cotangent has arrived.

        Of one that does not the gradient is undefined, like the cotangents: zeros would meet infinities further down.

        Args:
            attrs: those of the forward's call (any: attribute values).
            given: per output of the op whether its cotangent has arrived.
        """
        if self.reaching is None or all(given):
            return dict.fromkeys(self.wrt, True)
        sets = self.reaching(attrs)
        return {i: any(given[output] for output in outputs) for i, outputs in zip(self.wrt, sets, strict=True)}

    @property
    def conditions(self) -> tuple[object, ...]:
        """What was declared beside the backward."""
        return self.materialize, self.disconnected, bool(self.complex), self.op.opdef.is_of_ops

    def saves(self, kind: str) -> tuple[int, ...]:
        """Returns the positions of the inputs, outputs or residuals that the backward reads."""
        every = (*self.sources, *[source for _, source in self.objects])
        return tuple(source.position for source in every if source.kind == kind)

    @property
    def saved(self) -> tuple[Source, ...]:
        """What a call keeps for its backward, in the order in which it is kept: the tensors, then the objects."""
        tensors = [source for source in self.sources if source.kind != "cotangent"]
        return (*tensors, *[source for _, source in self.objects])

    def objects_in(self, saved: Sequence[Any]) -> dict[str, Any]:
        """Returns by name the residuals that are objects, the last of what a call kept."""
        names = [name for name, _ in self.objects]
        return dict(zip(names, saved[len(saved) - len(names) :], strict=True))


@dataclass(eq=False)
class Usage:
    """Whether a graph holds this definition; the one thing about it that is not fixed at birth."""

    in_graph: bool = False


# Any: reference, body and sample functions have any signature; the schema says what they take.
@dataclass(frozen=True, eq=False)
class OpDef(ByItsOp):
    """What an op is. It cannot change under a graph that holds it; giving it a backward makes a new OpDef.

    Args:
        schema: the signature.
        infer: shapes and dtypes of the outputs from those of the inputs.
        traits: promises.
        origin: where it was defined.
        kernels: the kernels; shared by all OpDefs that differ only in gradient, infer or samples.
        rule: how to differentiate it, None, or a function that makes the rule when it is first asked for.
        body: for a composite op, the function of other ops that it is.
        samples: yields sample inputs.
        check: refuses calls by the values of their inputs, before a kernel runs.
        bench: makes a call of about a given number of elements, to be timed.
        expectations: findings about it that its author knows of.
        doc: what the author wrote about it.
        gradient_of: the qualified name of the op that this one is the gradient of.
        reads, unread: of a gradient op, the residuals that it reads, and the inputs that it moves with by these alone.
        function: what its author wrote: the reference, or the backward of a gradient op.
        refusal: why there is no gradient for the tensors at hand, although there is one for others.
        more: what beside schema, traits, infer rule and function the digest is of.
        is_traced: the function was read as an expression when it was defined, and is not called any more.
        defined_as: the digest of what it was defined with, taken when it was defined, since what a function reads may
            change later; empty for ops of opsdk itself, whose digest is had when asked for, since hardly any is.
        function_as: the digest of the function alone, taken then.
        given: what it was given later beside kernels and backward.
        owner: who registered it, as `registrar` says.
        loaded_by: the module that was being loaded when it was registered, which may have called another's factory.
        plans: call plans by kind of call, kept by the backends.
    """

    schema: OpSchema
    infer: InferRule
    traits: Traits
    origin: Origin
    kernels: KernelTable
    rule: GradRule | Callable[[], GradRule | None] | None = None
    body: Callable[..., Any] | None = None
    samples: Callable[..., Any] | None = None
    check: ValueCheck | None = None
    bench: Callable[..., Any] | None = None
    expectations: tuple[Expectation, ...] = ()
    doc: str | None = None
    gradient_of: str | None = None
    reads: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    function: Callable[..., Any] | None = None
    is_traced: bool = False
    more: tuple[Any, ...] = ()
    defined_as: str = ""
    function_as: str = ""
    given: tuple[Gift, ...] = ()
    owner: str = ""
    loaded_by: Origin | None = None
    refusal: str = ""
    plans: PlanCache = field(default_factory=PlanCache)
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def of(
        cls,
        schema: OpSchema,
        infer: InferRule,
        traits: Traits,
        function: Callable[..., Any],
        call: Callable[..., Any],
        *,
        composite: bool,
        **fields: Any,
    ) -> OpDef:
        """Returns the definition of what an author's function computes, with one kernel: the reference, or composite.

        That is `call`, the function as one of the inputs by position.
        """
        owner = registrar(origin := origin_of(function))
        language = COMPOSITE if composite else REFERENCE
        kernels = KernelTable([Kernel(KernelKey("cpu"), language, call, origin, schema.input_names, owner=owner)])
        # The derivative of what reads a residual that moves is not in its parts.
        is_open = composite and not _moving(schema, fields.get("reads", ()))
        fields.update(body=call if is_open else None, doc=function.__doc__, function=function, owner=owner)
        fields.update(loaded_by=loading())
        return cls(schema, infer, traits, origin, kernels, **fields)

    def __post_init__(self) -> None:
        self.kernels.plans.add(self.plans)
        if not self.defined_as and self.function is not None and not self.is_builtin:
            function = text_of(self.function)
            object.__setattr__(self, "function_as", digest_of(function))
            object.__setattr__(self, "defined_as", self._with(function))

    def _with(self, function: str) -> str:
        return digest_of(str(self.schema), self.traits, self.infer, function, *self.more)

    @cached_property
    def definition(self) -> str:
        """The digest of what the op was defined with: two definitions of one digest are the same."""
        return self.defined_as or self._with(text_of(self.function))

    def is_same(self, other: OpDef) -> bool:
        """Whether another definition computes the same, also if what this one reads was changed since."""
        if self.definition != other.definition:
            return False
        return self.is_traced or not self.defined_as or digest_of(self.function) == self.function_as

    @property
    def digest(self) -> str:
        """A short hash over everything that decides what the op computes, its gradient apart."""
        told = [f"{gift.name} {gift.digest}" for gift in self.given if gift.name in ("infer", "check")]
        return digest_of(self.definition, *told) if told else self.definition

    @property
    def fingerprint(self) -> str:
        """The digest of the op and of its gradient, by which an op that was pickled is known again."""
        if not isinstance(self.rule, GradRule) or derived(self.rule):
            return digest_of(self.digest, "no backward" if self.rule is None else "derived")
        return digest_of(self.digest, repr(self.rule.conditions), self.rule.op.opdef.fingerprint)

    @cached_property
    def grad(self) -> GradRule | None:
        """How to differentiate it, or None. A derived gradient has a derivative of its own, so this ends nowhere."""
        return self.rule() if callable(self.rule) else self.rule

    @cached_property
    def whole(self) -> OpDef:
        """This definition as kernels see it: the residuals are the last of its outputs. Itself where it has none."""
        if not self.schema.residuals:
            return self
        return replace(self, schema=self.schema.whole, plans=PlanCache())

    @cached_property
    def for_complex(self) -> OpDef:
        """This definition where complex numbers go in or come out: its gradient is right for them, or refused.

        For a real loss L and z = a + ib the gradient is ∂L/∂a + i ∂L/∂b. A backward that was written without a thought
        of that holds for real numbers only; which of the two it is, its author declares.
        """
        rule = self.grad
        if rule is None or rule.complex is True:
            return self
        if isinstance(rule.complex, GradRule):
            return replace(self, rule=rule.complex)
        because = rule.real_because or (
            f"its backward says nothing of them; @{self.schema.name}.backward(complex=True) declares that it gives "
            "∂L/∂Re + i ∂L/∂Im, as dy * conj(derivative) is"
        )
        text = f"{self.subject}: expected real tensors where a gradient is asked for, got complex ones: {because}"
        return replace(self, rule=None, refusal=text)

    @cached_property
    def shapes(self) -> Mapping[str, Any]:
        """By input what its domain says of the lengths of its axes, gradcheck's `Dims`."""
        every = {name: getattr(declared, "dims", None) for name, declared in self.traits.domain.items()}
        return {name: dims for name, dims in every.items() if dims is not None}

    @property
    def name(self) -> str:
        """`namespace::name`."""
        return self.schema.qualified_name

    @property
    def subject(self) -> str:
        """The op as messages name it."""
        return self.schema.subject

    @property
    def is_builtin(self) -> bool:
        """Whether the op is one of opsdk's own, whose names are reserved."""
        return self.schema.namespace == BUILTIN

    @property
    def is_composite(self) -> bool:
        """Whether the op is a function of other ops, and so differentiable through them."""
        return self.body is not None

    @property
    def moving(self) -> tuple[str, ...]:
        """Names of the residuals of `reads` that move with inputs, nobody sees how; whole numbers and bools do not."""
        return _moving(self.schema, self.reads)

    @property
    def is_of_ops(self) -> bool:
        """Whether its author wrote it with ops; what reads a residual that moves is not differentiable through them."""
        return any(kernel.language == COMPOSITE for kernel in self.kernels)

    def constant_inputs(self) -> tuple[int, ...]:
        """Returns the positions of the inputs that were declared constant."""
        return tuple(i for i, decl in enumerate(self.schema.inputs) if decl.name in self.traits.constant)

    def differentiable_inputs(self) -> tuple[int, ...]:
        """Returns the positions of the inputs that were not declared non-differentiable."""
        return tuple(i for i, decl in enumerate(self.schema.inputs) if decl.name not in self.traits.nondifferentiable)

    def passed_on(self) -> frozenset[int]:
        """Returns the positions of the inputs that are changed in place and whose gradient an output passes on.

        Through a composite gradients flow as its parts pass them on.
        """
        schema, frozen = self.schema, self.traits.nondifferentiable
        if self.is_composite:
            return frozenset(schema.mutated_inputs).intersection(self.differentiable_inputs())
        handed_on = [i for i, decl in enumerate(schema.outputs) if decl.mutated and decl.name not in frozen]
        return frozenset(map(schema.mutated_source, handed_on)).intersection(self.differentiable_inputs())


def _moving(schema: OpSchema, residuals: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in residuals if name not in schema.nondifferentiable)


def derived(rule: GradRule | Callable[[], GradRule | None]) -> bool:
    """Whether a rule follows from what the op computes, and was not given."""
    return not isinstance(rule, GradRule) or callable(rule.op.opdef.rule)
