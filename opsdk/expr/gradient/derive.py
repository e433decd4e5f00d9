"""Derived gradients: from the expression of an elementwise op to its gradient op, which is elementwise again.

The gradient of the gradient is made when it is first asked for, and so on without end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opsdk.core.errors import DefinitionError, NameClashError
from opsdk.define.call import complete_attrs
from opsdk.define.gradient import GradientInfer, make_gradient
from opsdk.define.identity.digest import digest_of
from opsdk.define.infer import broadcast
from opsdk.define.kernel.kernel import REFERENCE, Kernel, KernelKey, KernelTable
from opsdk.define.op import REGISTRY, Op, deferred
from opsdk.define.opdef import GIVEN, MASK, GradRule, OpDef, Source, is_mask
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl
from opsdk.define.traits import Bounds, Traits
from opsdk.expr.count import cost, leaves, opposite, substitute
from opsdk.expr.gradient.derivative import combined
from opsdk.expr.gradient.proof import Claim, refuted
from opsdk.expr.node import BOOL, Node, constant, topological
from opsdk.expr.primitives.table import is_exact
from opsdk.expr.scalar import ScalarFunction, Static, static_of, values_of
from opsdk.expr.simplify import simplify
from opsdk.expr.trace import Expression

ZERO = constant(0.0)
_STEPS = ("sign", "floor", "ceil", "trunc", "round")  # a rounding of what they are given may change their value wholly
_READ = 3  # what reading one more saved tensor costs, in the units of `cost`


def derive_gradient(forward: OpDef, scalar: ScalarFunction, sample: Static) -> GradRule | None:
    """Returns the rule of an elementwise op, with its gradient op registered; None where nothing has a derivative.

    Args:
        forward: the op.
        scalar: what it computes.
        sample: the static attributes of the call by which it is decided what the backward reads.
    """
    schema = forward.schema
    wrt = forward.differentiable_inputs()
    carriers = [i for i, decl in enumerate(schema.outputs) if decl.name not in forward.traits.nondifferentiable]
    if not wrt or not carriers:
        return None
    derivation = _Derivation(forward, scalar, wrt, carriers)
    sources = derivation.sources(sample)
    mask, given = derivation.mask, derivation.given
    gradient_schema = derivation.schema(sources)
    gradient = scalar.gradient(gradient_schema, lambda static: derivation.proven(static, sources), sources, wrt)
    reduces = forward.infer.reduces_gradients and len(schema.inputs) > 1
    masks = ((mask, len(schema.inputs)), (given, len(schema.outputs)))
    sampled = (*sample, *((name, (True,) * count) for name, count in masks if name is not None))
    constants = derivation.constants(gradient, gradient_schema, derivation.expression(sampled, sources))
    opdef = _gradient_op(forward, gradient_schema, gradient, constants, reduces)
    opdef = replace(opdef, rule=deferred(lambda: derive_gradient(opdef, gradient, sampled)))
    obstacle = scalar.no_complex_derivative(sample)
    return GradRule(
        op=_registered(forward, opdef),
        sources=sources,
        attrs=schema.attr_names,
        wrt=wrt,
        reduces=reduces,
        mask=mask,
        given=given,
        reaching=derivation.reaching if given is not None else None,
        passes=derivation.passes(sample),
        complex=obstacle is None,
        real_because=f"{obstacle} has no complex derivative; give the op a complex_backward, or take real parts",
    )


# Any: a backward has any signature; it binds by name.
def with_complex_backward(forward: OpDef, rule: GradRule | None, function: Callable[..., Any]) -> GradRule | None:
    """Returns the derived rule of an op, with a written one for complex tensors beside it.

    Raises:
        BindingError: a parameter of the function names no input, output, cotangent or attribute.
    """
    if rule is None:
        return None
    name = f"{forward.schema.name}_complex_grad"
    made = make_gradient(
        forward,
        function,
        lambda opdef: _registered(forward, opdef),
        composite=True,
        materialize=True,
        disconnected=(),
        name=name,
        complex=True,
    )
    return replace(rule, complex=made)


def _registered(forward: OpDef, opdef: OpDef) -> Op:
    """Registers a derived gradient op under its name; that of an op which lost its own name gets none.

    Raises:
        NameClashError: an op that is no gradient of the same op has the name.
    """
    with REGISTRY.lock:
        if not REGISTRY.holds(forward):
            return Op(opdef)
        held = REGISTRY.get(opdef.name)
        if held is not None and held.opdef.gradient_of != opdef.gradient_of:
            raise NameClashError(
                f"op {opdef.name!r}: expected the name free for the gradient derived of {opdef.gradient_of!r}, it "
                f"belongs to another op, defined at {held.opdef.origin}; rename that one"
            )
        made = Op(opdef)  # a handle of its own: graphs may hold that of an earlier definition
        REGISTRY.put(opdef.name, made)
        return made


class _Derivation:
    """The gradient expressions of one op, for every combination of static attributes.

    Attributes:
        mask: the attribute that says which gradients are wanted; None where there is one.
        given: the attribute that says which cotangents have arrived; None where one enters, which then has.
    """

    def __init__(self, forward: OpDef, scalar: ScalarFunction, wrt: Sequence[int], carriers: Sequence[int]) -> None:
        schema = forward.schema
        self._forward = forward
        self._names = schema.input_names
        self._outputs = schema.output_names
        self._cotangents = cotangent_names(schema)
        self._scalar = scalar
        self._wrt = tuple(wrt)
        self._carriers = tuple(carriers)
        # Where there are static attributes, what is saved has to serve every combination of them; of masks the one that
        # asks for everything does.
        self._has_static = any(not decl.type.is_number and not is_mask(decl.name) for decl in schema.attrs)
        self._is_masked = any(map(is_mask, schema.attr_names))
        taken = set(schema.attr_names)
        self.mask = _fresh(MASK, taken) if len(wrt) > 1 else None
        self.given = _fresh(GIVEN, taken) if len(carriers) > 1 else None

    def sources(self, sample: Static) -> tuple[Source, ...]:
        """Returns what the backward reads: saved inputs, saved outputs, cotangents."""
        cotangents = tuple(Source("cotangent", i) for i in self._carriers)
        if self._has_static:
            return (*(Source("input", i) for i in range(len(self._names))), *cotangents)
        expression = self._scalar.expression(sample)
        grads = self._gradients(expression)
        # An output that a mask may leave out cannot be saved.
        given = {} if self._is_masked else self._given(expression, self._carriers)
        reads = [self._read(grads), self._read(_with_saved(grads, given))]
        read = min(reads, key=lambda names: names[0])[1]
        inputs = [Source("input", i) for i, name in enumerate(self._names) if name in read]
        outputs = [Source("output", i) for i in self._carriers if self._outputs[i] in read]
        return self._scalar.anchored((*inputs, *outputs, *cotangents))

    def schema(self, sources: Sequence[Source]) -> OpSchema:
        """Returns the signature of the gradient op."""
        forward = self._forward.schema
        decls: dict[str, Sequence[InputDecl | OutputDecl]] = {"input": forward.inputs, "output": forward.outputs}
        read = [(self.name_of(s), decls[s.kind][s.position].elements if s.kind in decls else ()) for s in sources]
        names = tuple(name for name, _ in read)
        taken = {*names, *forward.attr_names}
        masks = [AttrDecl(name, AttrType.of("bool[]"), ()) for name in (self.mask, self.given) if name is not None]
        return OpSchema(
            namespace=forward.namespace,
            name=f"{forward.name}_grad",
            inputs=tuple(InputDecl(name, elements=elements) for name, elements in read),
            attrs=(*forward.attrs, *masks),
            outputs=tuple(OutputDecl(_fresh(f"d{forward.input_names[i]}", taken)) for i in self._wrt),
            version=forward.version,
            positional=names,
        )

    def _given(self, expression: Expression, positions: Iterable[int]) -> dict[Node, Node]:
        """Returns what computed outputs are read as where they are saved; of equal ones the first is."""
        found: dict[Node, Node] = {}
        for i in positions:
            node = expression.outputs[i]
            if node is not None and not node.is_leaf:
                found.setdefault(node, Node("input", (), self._outputs[i]))
        return found

    def _read(self, grads: Sequence[Node]) -> tuple[int, list[str]]:
        """Returns the work of a backward with what it reads, and the names of that."""
        names = [node.payload for node in leaves(grads) if node.op == "input"]
        saved = [name for name in names if name not in self._cotangents]
        return cost(grads) + _READ * len(saved), saved

    def _gradients(self, expression: Expression, given: Sequence[bool] = ()) -> list[Node]:
        """Returns the gradients that the cotangents which have arrived give; all have unless `given` says otherwise."""
        arrived = [i for i in self._carriers if not given or given[i]]
        present = [(i, node) for i in arrived if (node := expression.outputs[i]) is not None]
        cotangents = [Node("input", (), self._cotangents[i]) for i, _ in present]
        found = self._scalar.reverse([node for _, node in present], cotangents, [i for i, _ in present])
        return simplify(combined([found[self._names[i]] for i in self._wrt]))

    def expression(self, static: Static, sources: Sequence[Source]) -> Expression:
        """Returns the gradients for a combination of static attributes, in terms of what is saved."""
        flags = values_of(static)
        expression = self._forward_expression(flags)
        grads = self._gradients(expression, flags.get(self.given or "") or ())
        saved = self._given(expression, [source.position for source in sources if source.kind == "output"])
        asked_for = flags.get(self.mask or "") or (True,) * len(self._names)
        wanted = [asked_for[i] for i in self._wrt]
        nodes = _with_saved(grads, saved)
        inputs = tuple(map(self.name_of, sources))
        outputs = tuple(node if asked else None for node, asked in zip(nodes, wanted, strict=True))
        return Expression(inputs, expression.attrs, outputs)

    def reaching(self, attrs: Mapping[str, Any]) -> tuple[frozenset[int], ...]:
        """Returns per input with a gradient the outputs that depend on it, for the attributes of a call.

        What depends on nothing but constants, and what a mask leaves out, has no part in it.
        """
        outputs = self._forward_expression(complete_attrs(self._forward, attrs)).outputs
        read = {i: set(leaves([node])) for i in self._carriers if (node := outputs[i]) is not None}
        inputs = [Node("input", (), self._names[i]) for i in self._wrt]
        return tuple(frozenset(i for i, found in read.items() if node in found) for node in inputs)

    def _forward_expression(self, attrs: Mapping[str, Any]) -> Expression:
        own = self._forward.schema.attr_names
        return self._scalar.expression(static_of({name: attrs[name] for name in own if name in attrs}))

    def proven(self, static: Static, sources: Sequence[Source]) -> Expression:
        """Returns the gradients for a combination of static attributes, after numbers have confirmed them.

        Raises:
            DefinitionError: forward-mode numbers contradict a gradient: opsdk, or a rule of it, is wrong here.
        """
        made = self.expression(static, sources)
        flags = values_of(static)
        forward, arrived = self._forward_expression(flags), flags.get(self.given or "") or ()
        opdef = self._forward
        pairs = [(i, made.outputs[at]) for at, i in enumerate(self._wrt)]
        fixed = opdef.traits.nondifferentiable
        claim = Claim(
            tuple(
                (
                    self._outputs[i],
                    self._cotangents[i] if not arrived or arrived[i] else None,
                    self._scalar.role(Source("output", i)),
                    node,
                )
                for i in self._carriers
                if (node := forward.outputs[i]) is not None
            ),
            tuple((self._names[i], node) for i, node in pairs if node is not None),
            tuple((n, self._scalar.role(Source("input", i)), n in fixed) for i, n in enumerate(self._names)),
            tuple((decl.name, _tried(decl, i)) for i, decl in enumerate(opdef.schema.attrs) if decl.name in made.attrs),
            tuple((name, *_ends(opdef.traits.domain[name])) for name in self._names if name in opdef.traits.domain),
        )
        wrong = refuted(claim)
        if wrong is not None:
            raise DefinitionError(
                f"op {opdef.name!r}: {wrong}; write the gradient with @op.backward in an op of @opsdk.op, and report "
                "the expression"
            )
        return made

    def passes(self, sample: Static) -> tuple[int | None, ...]:
        """Returns per gradient the output whose cotangent it is, unchanged; nothing where none is."""
        if self._has_static or not self._scalar.hands_on:
            return ()
        entering = {Node("input", (), self._cotangents[i]): i for i in self._carriers}
        found = tuple(entering.get(node) for node in self._gradients(self._scalar.expression(sample)))
        return found if any(entry is not None for entry in found) else ()

    def constants(self, gradient: ScalarFunction, schema: OpSchema, expression: Expression) -> tuple[str, ...]:
        """Returns the inputs of the gradient op with respect to which its derivative is zero everywhere."""
        if self._has_static:
            return ()
        entering = [Node("input", (), name) for name in cotangent_names(schema)]  # as the next order asks
        derivatives = gradient.reverse(expression.wanted, entering, range(len(entering)))
        return tuple(name for name, derivative in derivatives.items() if derivative is ZERO)

    def name_of(self, source: Source) -> str:
        """Returns what the gradient op calls something that it reads."""
        return {"input": self._names, "output": self._outputs, "cotangent": self._cotangents}[source.kind][
            source.position
        ]


def _ends(declared: Bounds) -> tuple[float | None, float | None]:
    """Returns the least and the greatest number of a domain; None for none, as of a function, which says neither."""
    if isinstance(declared, (tuple, list)):
        low, high = declared
        return low, high
    ends = getattr(declared, "low", None), getattr(declared, "high", None)
    low, high = (None if end is None or math.isinf(end) else end for end in ends)
    return low, high


def _tried(decl: AttrDecl, position: int) -> float:
    """Returns the value of an attribute that gradients are proven with: not its default, which may hide a factor."""
    held = float(decl.default) if isinstance(decl.default, (int, float)) else 0.0
    is_whole = decl.type.scalar == "int"
    wanted = held + 1.0 + position if is_whole else 1.25 * held + 0.375 * (1 + position)
    within = decl.type.range
    if within is None or wanted in within:
        return wanted
    inside = float(within.example(whole=is_whole))
    return inside if is_whole or decl.default is None or decl.is_required else 0.375 * held + 0.625 * inside


def _with_saved(grads: Sequence[Node], saved: Mapping[Node, Node]) -> list[Node]:
    """Returns gradients that read saved outputs.

    What decides is computed again rather than read, but where it is exact: in a saved output of 16 bits a value that
    was greater may have become equal, and the backward has to take the side that the forward took.
    """
    exact = {node: name for node, name in saved.items() if is_exact(node)}
    decided = [node for node in topological(grads) if node.kind == BOOL or node.op in _STEPS]
    kept = dict(zip(decided, substitute(decided, exact), strict=True))
    # what saved results spare besides: σ(−a) is 1 − σ(a), which is not as near far out, but takes no exp
    pairs = [(opposite(node), name) for node, name in saved.items()]
    complements = {other: Node("sub", (constant(1.0), name)) for other, name in pairs if other is not None}
    return substitute(grads, {**complements, **saved, **kept})


def cotangent_names(schema: OpSchema) -> tuple[str, ...]:
    """Returns what the cotangents of an op's outputs are called: `d<output>`, and a number where that is taken."""
    taken = {*schema.input_names, *schema.output_names, *schema.attr_names}
    return tuple(_fresh(f"d{name}", taken) for name in schema.output_names)


def _fresh(name: str, taken: set[str]) -> str:
    """Returns a name that is not taken, and takes it."""
    count, found = 1, name
    while found in taken:
        count += 1
        found = f"{name}_{count}"
    taken.add(found)
    return found


def _gradient_op(
    forward: OpDef, schema: OpSchema, scalar: ScalarFunction, constants: Sequence[str], reduces: bool
) -> OpDef:
    given = (*schema.input_names, *schema.attr_names)
    kernels = KernelTable()
    kernels.add(Kernel(KernelKey("cpu"), REFERENCE, scalar, forward.origin, schema.input_names, owner=forward.owner))
    for place in ("cpu", "cuda"):
        key = KernelKey(place, floating=True)
        kernels.add(Kernel(key, "numba", scalar, forward.origin, given, owner=forward.owner))
    likes = [forward.schema.inputs[i].name for i in forward.differentiable_inputs()]
    declared = (*forward.traits.nondifferentiable, *constants)
    # It is given the same shapes, so that the next one sums too.
    usual = broadcast if reduces else GradientInfer(likes, reduces_gradients=reduces)
    return OpDef(
        schema=schema,
        infer=scalar.infer_rule() or usual,
        traits=Traits(nondifferentiable=tuple(name for name in schema.input_names if name in declared)),
        origin=forward.origin,
        kernels=kernels,
        doc=f"The gradient of {forward.name}, derived from its expression.",
        gradient_of=forward.name,
        function=forward.function,
        owner=forward.owner,
        is_traced=True,
        defined_as=digest_of(forward.defined_as, str(schema)) if forward.defined_as else "",
    )
