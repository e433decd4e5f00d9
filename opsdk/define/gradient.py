"""Gradient ops: from a backward function to an op of its own and the rule that connects it to the forward."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opsdk.core.dtype import is_differentiable, promote_types
from opsdk.core.nested import each, flat
from opsdk.core.spec import TensorSpec
from opsdk.define import infer
from opsdk.define.backward import (
    check_declared,
    checked_parameters,
    named_as,
    objects_of,
    readable,
    spec_name,
    specs_of,
    unread_inputs,
)
from opsdk.define.cotangents import Given, check_dtypes, check_shapes
from opsdk.define.opdef import MASK, GradRule, Handle, OpDef
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.binding import reorder
from opsdk.define.schema.scalars import OBJECT, SPEC
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl
from opsdk.define.traits import Bounds, Traits, named_by


class GradientInfer:
    """Each gradient is like its input, whether the backward reads that input or not; no shape is ever guessed.

    Of an input that the backward reads, the spec is at hand. Under `like` the outputs and cotangents have that of the
    input that they are like, to any order. Any other input's spec comes as the attribute `<input>_spec` (`asks`), which
    runtimes give if a kernel needs it and which a direct call may give; without it the gradient's spec is None, and no
    buffer is made for it. Where the forward broadcasts, gradients have the broadcast shape and the promoted dtype, and
    are summed and cast by who asked for them.

    Args:
        names: the inputs that have a gradient, by output of the gradient op.
        positions: those of the same inputs among the forward's, which a mask goes by; None where none leaves any out.
        reduces_gradients: as of the forward's rule, where that is not given.
        forward: schema and rule of the forward; None where all tensors are of one shape and dtype.
        schema: the gradient op's own; None without a forward.

    Attributes:
        one_shape: as of the forward's rule.
        alike: names of tensors of the gradient op, and inputs of the forward, that have one spec.
        asks: names of the specs that have to be given, each with the position of its input in the forward, which does
            not read those behind its own; those that the backward itself names are among them.
    """

    def __init__(
        self,
        names: Sequence[str | None],
        positions: Sequence[int | None] = (),
        *,
        reduces_gradients: bool = False,
        forward: tuple[OpSchema, infer.InferRule] | None = None,
        schema: OpSchema | None = None,
    ) -> None:
        self.names = tuple(names)
        self.positions = tuple(positions) or (None,) * len(self.names)
        one_shape = forward is not None and getattr(forward[1], "one_shape", False)
        self.reduces_gradients = forward[1].reduces_gradients if forward and one_shape else reduces_gradients
        self.one_shape = one_shape
        self.promotes = forward is not None and getattr(forward[1], "promotes", False)
        self.forward = forward
        self.schema = schema
        self._asks_unread = True
        self.alike = self._alike()
        pairs = zip(self.names, self.positions, strict=True)
        asks = {spec_name(n): i for n, i in pairs if n and i is not None and self._is_unknown(n)}
        self.asks = tuple((asks | self._named()).items())

    @property
    def lists(self) -> tuple[str, ...]:
        """Names of the specs that are of lists of tensors."""
        inputs = () if self.forward is None else self.forward[0].inputs
        return tuple(name for name, i in self.asks if i < len(inputs) and inputs[i].kind == "list")

    def _named(self) -> dict[str, int]:
        """Returns the specs that the backward names, each with the position of its input."""
        if self.forward is None or self.schema is None:
            return {}
        forward = self.forward[0]
        specs = [decl.name for decl in self.schema.attrs if decl.type.scalar == SPEC]
        names = [name for name in specs if name not in forward.attr_names]
        return {name: forward.input_names.index(named_as(name)) for name in names}

    def _alike(self) -> frozenset[str]:
        if self.forward is None or self.schema is None:
            return frozenset()
        forward, rule = self.forward
        found: set[str] = set()  # outputs of the forward, and the tensor input that they are like, if there is one
        if isinstance(rule, GradientInfer):
            found.update(rule.alike)
        elif isinstance(rule, infer.like):
            liked = [d.name for d in forward.inputs if d.kind == "tensor" and rule.name in (None, d.name)]
            found.update(decl.name for decl in forward.outputs if decl.kind != "list")
            if liked and (rule.name is not None or liked[0] == forward.inputs[0].name):
                found.add(liked[0])
        gradients = [output.name for name, output in zip(self.names, self.schema.outputs, strict=True) if name in found]
        return frozenset({*found, *(f"d{name}" for name in forward.output_names if name in found), *gradients})

    def _is_unknown(self, name: str) -> bool:
        """Whether the spec of an input does not follow from what the gradient op reads."""
        if self.forward is None or self.schema is None or name in self.schema.input_names:
            return False
        is_list = any(decl.name == name and decl.kind == "list" for decl in self.forward[0].inputs)
        is_like = name in self.alike and not self.alike.isdisjoint(self.schema.input_names)
        return is_list or not (self.reduces_gradients or is_like)

    def __call__(self, schema: OpSchema, specs: infer.Specs, attrs: infer.Attrs) -> infer.Inferred:
        """Returns one spec per gradient.

        Raises:
            DTypeError: a cotangent is not floating.
            ShapeError: a cotangent has another shape than its output, and what it takes to know that is at hand; or
                what the forward's rule raises.
            ArityError: a list of cotangents has another length than that of its outputs, likewise.
        """
        at_hand = dict(zip(schema.input_names, specs, strict=True))
        at_hand.update({named_as(name): attrs[name] for name, _ in self.asks if name in attrs})
        if self.forward is not None:
            check_dtypes(self.forward[0], schema, at_hand)
            if not self.one_shape:  # where kernels are given inputs of one shape, cotangents are among them
                asks = self._asks_unread
                self._asks_unread = check_shapes(*self.forward, schema, at_hand, attrs, asks_unread=asks)
        pairs = zip(self.names, schema.outputs, strict=True)
        inferred = [self._one(name, output, schema, specs, at_hand) for name, output in pairs]
        if self.one_shape and self.reduces_gradients:
            (whole, *_) = infer.broadcast(schema, specs, attrs)
            assert isinstance(whole, TensorSpec)
            shape = whole.shape
            return tuple([each(spec, lambda item: TensorSpec(shape, item.dtype)) for spec in inferred])
        return tuple(inferred)

    def _one(
        self, name: str | None, output: OutputDecl, schema: OpSchema, specs: infer.Specs, at_hand: Given
    ) -> TensorSpec | list[TensorSpec] | None:
        if name is not None and name in at_hand:
            own = at_hand[name]
            if own is not None:
                return own
            if output.kind != "list":  # absent: a kernel has to be given something, and nobody looks at it
                return infer.first_spec(schema, specs)
        if output.kind == "list":
            return None
        if self.forward is None:
            return infer.first_spec(schema, specs)
        if self.reduces_gradients:
            present = flat(specs)
            dtypes = [spec.dtype for spec in present if is_differentiable(spec.dtype)]
            return TensorSpec(present[0].shape, promote_types(*dtypes or [spec.dtype for spec in present]))
        known = [at_hand.get(other) for other in schema.input_names if other in self.alike]
        like_it = [spec for spec in known if isinstance(spec, TensorSpec)]
        return like_it[0] if like_it and name in self.alike else None


def asked_of(gradient: OpDef) -> tuple[tuple[str, int], ...]:
    """Returns what the kernels of a gradient op have to be given besides: names of specs, positions in the forward.

    Where all kernels are Python, which makes its own arrays, these are the specs that the backward names.
    """
    asks: tuple[tuple[str, int], ...] = getattr(gradient.infer, "asks", ())
    compiled = any(not row.is_reference for row in gradient.kernels) if asks else False
    return asks if compiled else tuple(ask for ask in asks if ask[0] in gradient.schema.attr_names)


# Any: a backward has any signature; it binds by name.
def make_gradient(
    forward: OpDef,
    function: Callable[..., Any],
    handle: Callable[[OpDef], Handle],
    *,
    composite: bool,
    materialize: bool,
    disconnected: Sequence[str],
    name: str | None,
    complex: bool = False,
) -> GradRule:
    """Returns the rule of a forward whose backward is `function`, with the gradient op in it.

    Raises:
        BindingError: a parameter names no input, output, cotangent or attribute.
        DefinitionError: the op has nothing to differentiate, or is a composite, `disconnected` names no differentiable
            input, or a parameter names an input that the forward changes in place.
    """
    schema = forward.schema
    frozen = forward.traits.nondifferentiable
    cotangents = {f"d{decl.name}": i for i, decl in enumerate(schema.outputs) if decl.name not in frozen}
    parameters = checked_parameters(forward, function, cotangents)
    every = (*schema.inputs, *[InputDecl(name) for name in forward.unread])
    wrt = (*forward.differentiable_inputs(), *range(len(schema.inputs), len(every)))
    names = [every[i].name for i in wrt]
    check_declared(forward, names, disconnected)
    may_read = readable(schema, cotangents, materialize)
    unread = unread_inputs(forward, parameters)
    read = [may_read[parameter] for parameter in parameters if parameter in may_read]
    inputs = tuple(decl for _, decl in read)
    kept = [decl for decl in schema.residuals if decl.name in parameters]
    objects = tuple((name, source) for name, source in objects_of(schema).items() if name in parameters)
    attrs = [name for name in parameters if name in schema.attr_names and name not in (MASK, *dict(objects))]
    gradient_schema = OpSchema(
        namespace=schema.namespace,
        name=f"{schema.name}_grad" if name is None else name,
        inputs=inputs,
        attrs=(*[schema.attr(attr) for attr in attrs], *_given(schema, parameters)),
        outputs=_outputs([every[i] for i in wrt], {decl.name for decl in inputs}),
        version=schema.version,
        positional=tuple(decl.name for decl in inputs),
    )
    integer = tuple(d.name for d in inputs if d.name in (*frozen, *schema.residual_names))
    constant = tuple(name for name in integer if name in forward.traits.constant)
    opdef = OpDef.of(
        gradient_schema,
        GradientInfer(names, wrt, forward=(schema, forward.infer), schema=gradient_schema),
        Traits(
            nondifferentiable=integer,
            deterministic=forward.traits.deterministic,
            accuracy=forward.traits.accuracy,
            constant=constant,
            domain=_read(forward.traits.domain, gradient_schema),
        ),
        function,
        reorder(function, gradient_schema.input_names),
        composite=composite,
        gradient_of=forward.name,
        unread=tuple(every[i].name for i in unread),
        reads=(*[decl.name for decl in kept], *[name for name in forward.reads if name in parameters]),
    )
    return GradRule(
        op=handle(opdef),
        sources=tuple(source for source, _ in read),
        attrs=tuple(attrs),
        wrt=wrt,
        reduces=forward.infer.reduces_gradients,
        materialize=materialize,
        mask=MASK if MASK in parameters else None,
        disconnected=tuple(i for i, name in zip(wrt, names, strict=True) if name in disconnected),
        complex=complex,
        objects=objects,
        unread=tuple(unread),
    )


def _given(schema: OpSchema, parameters: Sequence[str]) -> list[AttrDecl]:
    """Returns the attributes of a gradient op that runtimes give it: objects, specs and a mask.

    A mask is the gradient's own: one among the forward's attributes is that of the op that it is the gradient of.
    """
    made = [AttrDecl(name, AttrType(OBJECT)) for name in objects_of(schema) if name in parameters]
    made += [AttrDecl(name, AttrType(SPEC)) for name in parameters if name in specs_of(schema)]
    return [*made, AttrDecl(MASK, AttrType.of("bool[]"), ())] if MASK in parameters else made


def _read(domain: Mapping[str, Bounds], schema: OpSchema) -> dict[str, Bounds]:
    """Returns what was declared of those inputs and residuals that a gradient op has, with all that it names.

    Of what is named its spec will do: lengths are in it.
    """
    specs = [named_as(decl.name) for decl in schema.attrs if decl.type.scalar == SPEC]
    known = {*schema.input_names, *schema.attr_names, *specs}
    return {name: declared for name, declared in domain.items() if {name, *named_by(declared)} <= known}


def _outputs(decls: Sequence[InputDecl], taken: set[str]) -> tuple[OutputDecl, ...]:
    """Names each gradient `d<input>`; where that name, or that of its own cotangent, is taken, `<input>_grad`."""
    results = []
    for decl in decls:
        name = f"d{decl.name}"
        name = f"{decl.name}_grad" if {name, f"d{name}"} & taken else name
        results.append(OutputDecl(name, "list" if decl.kind == "list" else "tensor", holes=decl.holes))
    return tuple(results)
