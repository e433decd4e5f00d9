"""Definition: from a schema and functions to a registered op, whichever decorator the author used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace as replaced
from typing import Any

from opsdk.core.errors import BindingError, DefinitionError
from opsdk.core.origin import origin_of
from opsdk.define.binding import check_names, name_of, parameters_of, reorder
from opsdk.define.domain import checked_domain
from opsdk.define.infer import Assumed, InferRule
from opsdk.define.kernel import REFERENCE, Kernel, KernelKey, KernelTable
from opsdk.define.op import REGISTRY, Op, as_infer, deferred, renewed
from opsdk.define.opdef import GradRule, OpDef, Traits
from opsdk.define.schema import OpSchema

# Any, in this file: functions of any signature; the schema says what they take.


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
) -> Op:
    """Registers an op and returns its handle: a new one, or the one that held the name.

    Args:
        schema: the signature.
        function: what the author wrote.
        traits: what the op promises.
        infer: rule for shapes and dtypes; like the first input unless given.
        composite: the function is made of registered ops.
        replace: takes the name even if another definition holds it.
        reference: computes on NumPy arrays where `function` itself does not.
        rows: faster rows that come with the op.
        derive: gives the rule of the gradient, where that follows from the function.
        lazy: asks for that rule when the op is first differentiated, not now.

    Raises:
        DefinitionError: a trait names no input or output, the domain is none, or the surrogate is no function.
        BindingError: the surrogate takes other parameters than the forward.
        NameClashError: another definition holds the name.
    """
    known = (*schema.input_names, *schema.output_names)
    for declared in traits.nondifferentiable:
        if declared not in known:
            raise DefinitionError(
                f"op {schema.qualified_name!r}: {declared!r} was declared, but its inputs and outputs "
                f"are {', '.join(known)}"
            )
    for declared in traits.constant:
        if declared not in schema.input_names:
            raise DefinitionError(
                f"op {schema.qualified_name!r}, constant: expected names of inputs, got {declared!r}; an output "
                "without a gradient is nondifferentiable"
            )
    traits = replaced(traits, domain=checked_domain(schema, traits.domain))
    if callable(traits.surrogate):
        check_forward(schema, traits.surrogate, "surrogate")
    elif not isinstance(traits.surrogate, bool):
        raise DefinitionError(
            f"op {schema.qualified_name!r}: surrogate expected a function or True, got {traits.surrogate!r}; "
            "pass the function whose derivative the backward is"
        )
    origin = origin_of(function)
    call = reference or reorder(function, schema.input_names)
    kernels = KernelTable()
    language = "composite" if composite else REFERENCE
    kernels.add(Kernel(KernelKey("cpu"), language, call, origin, schema.input_names))
    for row in rows:
        kernels.add(row)
    opdef = OpDef(
        schema=schema,
        infer=Assumed(),
        traits=traits,
        origin=origin,
        kernels=kernels,
        body=call if composite else None,
        doc=function.__doc__,
        function=function,
    )
    if infer is not None:
        opdef = renewed(opdef, infer=as_infer(infer, opdef))
    with REGISTRY.lock:
        held = REGISTRY.admit(opdef, replace=replace)
        is_same = held is not None and not replace and opdef.digest == held.opdef.digest
        if held is not None and is_same and not _runs_again(held.opdef, opdef):
            return held
        if derive is not None:
            forward = opdef
            opdef = renewed(opdef, rule=deferred(lambda: derive(forward)) if lazy else derive(forward))
        if held is None:
            held = Op(opdef)
            REGISTRY.put(opdef.name, held)
        else:
            held.opdef = _restated(held.opdef, opdef) if is_same else opdef
        return held


def namespace_of(function: Callable[..., Any]) -> str:
    """Returns the namespace of ops that a function's module defines: its top-level package.

    A script gives its file's name, a notebook `main`.
    """
    module = getattr(function, "__module__", None) or "__main__"
    if module == "__main__":
        file = getattr(sys.modules.get("__main__"), "__file__", None)
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


def check_forward(schema: OpSchema, function: Callable[..., Any], role: str = "forward") -> None:
    """Checks that a function in the place of the reference, in words `role`, takes what the schema declares."""
    names = parameters_of(function)
    known = (*schema.input_names, *schema.attr_names)
    check_names(function, names, known, f"op {schema.qualified_name!r}, {role}")
    for name in known:
        if name not in names:
            raise BindingError(
                f"op {schema.qualified_name!r}, {role} {name_of(function)}({', '.join(names)}): expected a parameter "
                f"{name!r}, which the schema declares"
            )


def _runs_again(old: OpDef, new: OpDef) -> bool:
    """Whether a file was executed anew: its functions see other globals, though their own text is the same."""
    globals_of = [getattr(opdef.function, "__globals__", None) for opdef in (old, new)]
    return globals_of[0] is not globals_of[1] and old.origin.source == new.origin.source


def _restated(old: OpDef, new: OpDef) -> OpDef:
    """Returns the new definition with what the old one, which computes the same, was given besides."""
    kernels = KernelTable()
    own = {(row.key, row.language) for row in new.kernels}
    kernels.restore([*new.kernels, *(row for row in old.kernels if (row.key, row.language) not in own)])
    given = {"samples": old.samples, "check": old.check, "bench": old.bench}
    return renewed(new, rule=new.rule or old.rule, kernels=kernels, **given)
