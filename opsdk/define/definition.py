"""Definition: from a schema and functions to a registered op, whichever decorator the author used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replaced
from numbers import Real
from typing import Any

from opsdk.core.errors import BindingError, DefinitionError, NameClashError, SchemaError
from opsdk.core.origin import PACKAGE_ROOT, Origin, origin_of
from opsdk.define.determinism import Repeats
from opsdk.define.giving import as_infer, renewed
from opsdk.define.identity.sameness import holds_same, is_one, reads_world
from opsdk.define.infer import Assumed, InferRule, like
from opsdk.define.kernel.kernel import Kernel, KernelTable
from opsdk.define.op import REGISTRY, Op, deferred
from opsdk.define.opdef import BUILTIN, GradRule, OpDef, derived, is_mask
from opsdk.define.schema.attr_type import Range
from opsdk.define.schema.binding import name_of, parameters_among, reorder
from opsdk.define.schema.scalars import GIVEN, OBJECT
from opsdk.define.schema.schema import OpSchema
from opsdk.define.schema.signature import check_annotations
from opsdk.define.traits import Bounds, Traits, named_by

# Any, in this file: functions of any signature, of which the schema says what they take; and what an author passed.


def define_op(
    schema: OpSchema,
    function: Callable[..., Any],
    traits: Traits,
    infer: Callable[..., Any] | InferRule | None,
    *,
    composite: bool = False,
    replace: bool = False,
    reference: Callable[..., Any] | None = None,
    rows: Sequence[Kernel] = (),
    derive: Callable[[OpDef], GradRule | None] | None = None,
    lazy: bool = False,
    traced: Sequence[Any] | None = None,
) -> Op:
    """Registers an op and returns its handle: a new one, or that of the same definition, made before.

    Where the definition is another, the name moves to it; the handle that had it goes on as it is.

    Args:
        schema: the signature.
        function: what the author wrote.
        traits: what the op promises.
        infer: rule for shapes and dtypes; like the first input unless given.
        composite: the function is made of registered ops.
        replace: takes the name even if another definition holds it.
        reference: computes on NumPy arrays where `function` itself does not.
        rows: faster kernels that come with the op.
        derive: gives the rule of the gradient, where that follows from the function.
        lazy: asks for that rule when the op is first differentiated, not now.
        traced: of an op made of an expression, what decides what it computes beside the function.

    Raises:
        DefinitionError: a trait names no input or output, or the domain, accuracy or surrogate is none.
        BindingError: the surrogate takes other parameters than the forward.
        NameClashError: another definition holds the name.
    """
    if composite and schema.residuals:
        raise DefinitionError(
            f"{schema.subject}: expected residuals of NumPy code, got {', '.join(schema.residual_names)} of a "
            "composite, whose parts keep what their backwards need; take them out, or write the forward in NumPy"
        )
    _check_declared(schema, traits)
    implied = (name for name in schema.nondifferentiable if name not in traits.nondifferentiable)
    nondifferentiable = (*traits.nondifferentiable, *implied)
    schema, domain = _ranged(schema, _checked_domain(schema, traits.domain))
    constant = (*traits.constant, *traits.reasons)
    traits = replaced(traits, nondifferentiable=nondifferentiable, domain=domain, constant=constant)
    if callable(traits.surrogate):
        check_forward(schema, traits.surrogate, "surrogate")
    elif not isinstance(traits.surrogate, bool):
        raise DefinitionError(
            f"{schema.subject}: surrogate expected a function or True, got {traits.surrogate!r}; "
            "pass the function whose derivative the backward is"
        )
    _check_accuracy(schema, traits.accuracy)
    if not isinstance(traits.deterministic, (bool, Repeats)):
        raise DefinitionError(
            f"{schema.subject}, deterministic: expected True, False or opsdk.Repeats(64), got "
            f"{traits.deterministic!r}; choose one"
        )
    check_reserved(schema, origin_of(function))
    opdef = OpDef.of(
        schema,
        _assumed(schema, domain) if infer is None else as_infer(infer, schema),
        traits,
        function,
        reference or reorder(function, schema.input_names),
        composite=composite,
        is_traced=traced is not None,
        more=tuple(traced or ()),
    )
    for row in rows:
        opdef.kernels.add(replaced(row, owner=opdef.owner))
    with REGISTRY.lock:
        held = REGISTRY.admit(opdef, replace=replace)
        if held is not None and not replace and held.opdef.is_same(opdef):
            if _is_again(held.opdef, opdef):
                return held
            opdef = _restated(held.opdef, opdef)
        with REGISTRY.moved(opdef.name, Op(opdef)) as made:
            if derive is not None and opdef.rule is None:
                rule = deferred(lambda: derive(opdef)) if lazy else derive(opdef)
                made.opdef = renewed(opdef, rule=rule)
        return made


def namespace_of(function: Callable[..., Any]) -> str:
    """Returns the namespace of ops that a function's module defines: its top-level package.

    A script gives its file's name, a notebook `main`.
    """
    module = getattr(function, "__module__", None) or "__main__"
    if module in ("__main__", "__mp_main__"):  # the second in processes of `multiprocessing`
        own = getattr(function, "__globals__", {}).get("__file__")  # in a spawned process __main__ has none yet
        file = own or getattr(sys.modules.get("__main__"), "__file__", None)
        module = file.replace("\\", "/").rpartition("/")[2].partition(".")[0] if file else "main"
    top = module.partition(".")[0]
    return "".join(char if char.isalnum() or char == "_" else "_" for char in top).lstrip("_0123456789") or "main"


def name_for(function: Callable[..., Any]) -> str:
    """Returns the name of the op that a function defines: its own.

    Raises:
        DefinitionError: it has none.
    """
    found = getattr(function, "__name__", None)
    if not found or not found.isidentifier():
        raise DefinitionError(f"op: {function!r} has no name of its own; pass name='...'")
    return str(found)


def check_forward(
    schema: OpSchema, function: Callable[..., Any], role: str = "forward", *, of_scalars: bool = False
) -> None:
    """Checks that a function in the place of the reference, in words `role`, takes what the schema declares."""
    check_annotations(function, schema, of_scalars=of_scalars)
    known = (*schema.input_names, *schema.attr_names)
    names = parameters_among(function, known, f"{schema.subject}, {role}")
    for name in known:
        if name not in names:
            raise BindingError(
                f"{schema.subject}, {role} {name_of(function)}({', '.join(names)}): expected a parameter "
                f"{name!r}, which the schema declares"
            )


def _assumed(schema: OpSchema, domain: Mapping[str, Bounds]) -> InferRule:
    """Returns the rule of an op that has none: where the domain says the shape of every input, they need not be one."""
    is_told = all(getattr(domain.get(name), "dims", None) is not None for name in schema.input_names)
    return like() if is_told and schema.inputs else Assumed()


def check_reserved(schema: OpSchema, origin: Origin) -> None:
    """Checks that an author's op neither lies in the namespace of the built-in ops nor takes what backwards are told.

    Raises:
        NameClashError: it does.
    """
    taken = next(filter(is_mask, (*schema.whole.output_names, *schema.input_names, *schema.attr_names)), None)
    if taken is not None:
        raise NameClashError(
            f"{schema.subject}: expected a name of its own for {taken!r}, by which a backward is told "
            "what is wanted of it; rename it"
        )
    given = next((decl for decl in schema.attrs if decl.type.scalar in GIVEN), None)
    if given is not None:
        raise SchemaError(
            f"{schema.subject}: attribute {given.name!r} expected a type that a call can be recorded with, got "
            f"{given.type}, which gradient ops alone have; pass what it holds as inputs and attributes"
        )
    if schema.namespace == BUILTIN and not origin.file.startswith(PACKAGE_ROOT):
        raise NameClashError(
            f"{schema.subject}: expected a namespace of its own, got {BUILTIN!r}, which is reserved for "
            "the built-in ops; pass another namespace"
        )


def _check_accuracy(schema: OpSchema, accuracy: Any) -> None:
    """Checks what was given as `accuracy=`; `gradcheck.check` takes the same.

    Raises:
        DefinitionError: it is neither None nor a number above 0 and of at most 0.1.
    """
    is_number = isinstance(accuracy, Real) and not isinstance(accuracy, bool)
    if accuracy is not None and not (is_number and 0.0 < float(accuracy) <= 0.1):
        raise DefinitionError(
            f"{schema.subject}, accuracy: expected a share of the gradient's largest element, above 0 and at most 0.1, "
            f"got {accuracy!r}; leave it out where the gradient is exact"
        )


def _checked_domain(schema: OpSchema, given: Any) -> dict[str, Bounds]:
    """Returns what was given as `domain=`, as a dictionary of pairs.

    Args:
        schema: the op's signature.
        given: a mapping from names of inputs, residuals and int and float attributes to (least, greatest).

    Raises:
        DefinitionError: it is no mapping, names something else, or holds no such pair.
    """
    subject = f"{schema.subject}, domain"
    if not isinstance(given, Mapping):
        raise DefinitionError(
            f"{subject}: expected a mapping from names to (least, greatest), got {given!r}; "
            'write domain={"x": (0.0, None)}'
        )
    numeric = [decl.name for decl in schema.attrs if decl.type.is_ordered]
    arrays = [decl.name for decl in schema.residuals if decl.kind != OBJECT]
    known = (*schema.input_names, *arrays, *numeric)
    found: dict[str, Bounds] = {}
    for name, bounds in given.items():
        if name not in known:
            raise DefinitionError(
                f"{subject}: expected names of inputs or of int and float attributes, got {name!r}; "
                f"it may name {', '.join(known) or 'nothing of this op'}"
            )
        if (callable(bounds) or isinstance(bounds, Range)) and name not in numeric:
            found[name] = bounds
            _check_named(schema, name, bounds)
            continue
        is_pair = isinstance(bounds, (tuple, list)) and len(bounds) == 2
        low, high = bounds if is_pair else (None, None)
        wrong = ""
        if not is_pair or not all(bound is None or isinstance(bound, Real) for bound in bounds):
            more = "" if name in numeric else ", one of opsdk.domain, or a function that moves values inside"
            wrong = f"(least, greatest), each a number or None{more}, got {bounds!r}; write (0.0, None)"
        elif any(bound is not None and bound != bound for bound in bounds):
            wrong = f"numbers, got {bounds!r}; None stands for no bound"
        elif low is not None and high is not None and low > high:
            wrong = f"least ≤ greatest, got {bounds!r}; write ({high!r}, {low!r})"
        if wrong:
            raise DefinitionError(f"{subject} of {name!r}: expected {wrong}")
        found[name] = (low, high)
    return found


def _check_named(schema: OpSchema, name: str, declared: Any) -> None:
    """Checks that what the domain of an input names beside the values are inputs or attributes of the op.

    Raises:
        DefinitionError: one is not.
    """
    known = [other for other in (*schema.input_names, *schema.attr_names) if other != name]
    for other in named_by(declared):
        if other not in known:
            raise DefinitionError(
                f"{schema.subject}, domain of {name!r}: expected names among {', '.join(known) or 'none'} beside the "
                f"values, got {other!r}; name an input or attribute"
            )
    dims = getattr(declared, "dims", None)
    for length in () if dims is None else dims.names:
        called = length.lstrip("*")  # a name that stands for several axes is that of no attribute
        attr = next((decl for decl in schema.attrs if decl.name == called), None)
        if called in schema.input_names or (attr is not None and (attr.type.base != "int" or called != length)):
            raise DefinitionError(
                f"{schema.subject}, domain of {name!r}: expected names of lengths, or of int attributes, got {length!r}"
                f", which is {'an input' if attr is None else attr.type}; give the length a name of its own"
            )


def _ranged(schema: OpSchema, domain: dict[str, Bounds]) -> tuple[OpSchema, dict[str, Bounds]]:
    """Returns the schema with the bounds of attributes, which are part of their types, and the domain of the inputs.

    Raises:
        SchemaError: a type is bounded already, has no number within the bounds, or the default lies outside.
    """
    pairs: dict[str, tuple[float | None, float | None]] = {
        decl.name: domain.pop(decl.name) for decl in schema.attrs if decl.name in domain
    }
    attrs = tuple(
        decl.within(*pairs[decl.name], schema.subject) if decl.name in pairs else decl for decl in schema.attrs
    )
    return replaced(schema, attrs=attrs), domain


def _check_declared(schema: OpSchema, traits: Traits) -> None:
    """Checks what was declared to carry no gradient, and why.

    Raises:
        DefinitionError: it is no input or output, or a reason is empty.
    """
    known = (*schema.input_names, *schema.output_names)
    for declared in traits.nondifferentiable:
        if declared not in known:
            raise DefinitionError(
                f"{schema.subject}: {declared!r} was declared, but its inputs and outputs are {', '.join(known)}"
            )
    for declared in traits.constant:
        if declared not in schema.input_names:
            raise DefinitionError(
                f"{schema.subject}, constant: expected names of inputs, got {declared!r}; an output "
                "without a gradient is nondifferentiable"
            )
    for declared, reason in traits.reasons.items():
        if not isinstance(reason, str) or not reason.strip():
            raise DefinitionError(
                f"{schema.subject}, nondifferentiable: expected why {declared!r} carries no gradient, got {reason!r}; "
                "write the reason, or name it in a list where its derivative is zero"
            )


def _is_again(old: OpDef, new: OpDef) -> bool:
    """Whether an equal definition is the one there is, so that its handle will do.

    One that holds an object of its own, as a bound method does, is not: what the object holds may change. Each run of a
    function that defines ops makes handles of its own, which may be given backwards of their own; so
    does a cell that is run again after its op was used in a graph, since what a graph holds is given nothing any more.
    """
    if old.function is new.function:
        return True
    if not holds_same(old.function, new.function):
        return False
    if old.owner != new.owner:
        return True
    if old.usage.in_graph:
        return False
    if new.is_traced:  # what it read then stands in the expression
        return not _is_local(new) and not reads_world(new.function)
    return is_one(old.function, new.function)


def _is_local(opdef: OpDef) -> bool:
    return "<locals>" in getattr(opdef.function, "__qualname__", "")


def _restated(old: OpDef, new: OpDef) -> OpDef:
    """Returns the new definition with what the old one, which computes the same, was given besides.

    One that stands in a function is given everything anew each time.
    """
    if _is_local(new):
        return new
    own = {row.slot for row in new.kernels}
    kernels = KernelTable([*new.kernels, *(row for row in old.kernels if row.slot not in own)])
    rule = None if old.rule is None or derived(old.rule) else old.rule
    given = {"infer": old.infer, "given": old.given, "samples": old.samples, "check": old.check, "bench": old.bench}
    return renewed(new, rule=rule, kernels=kernels, expectations=old.expectations, **given)
