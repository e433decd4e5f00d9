"""The ways to define an op: the decorator `op` and the function `register_op`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from opsdk.core.errors import BindingError, DefinitionError
from opsdk.core.origin import origin_of
from opsdk.define.binding import check_names, name_of, parameters_of, reorder
from opsdk.define.infer import InferRule, like
from opsdk.define.kernel import REFERENCE, Kernel, KernelKey, KernelTable
from opsdk.define.op import REGISTRY, Op, as_infer, renewed
from opsdk.define.opdef import OpDef, Traits
from opsdk.define.parse import parse_schema
from opsdk.define.schema import OpSchema
from opsdk.define.signature import schema_of

Domain = Mapping[str, tuple["float | None", "float | None"]]


@overload
def op(definition: Callable[..., Any]) -> Op: ...


@overload
def op(
    definition: str | None = None,
    *,
    infer: Callable[..., Any] | InferRule | None = ...,
    nondifferentiable: Sequence[str] = ...,
    domain: Domain | None = ...,
    deterministic: bool = ...,
    linear: bool = ...,
    surrogate: bool = ...,
    composite: bool = ...,
    name: str | None = ...,
    namespace: str | None = ...,
    replace: bool = ...,
) -> Callable[[Callable[..., Any]], Op]: ...


# Any: a reference function has any signature; the schema is read from it or given as text.
def op(
    definition: Callable[..., Any] | str | None = None,
    *,
    infer: Callable[..., Any] | InferRule | None = None,
    nondifferentiable: Sequence[str] = (),
    domain: Domain | None = None,
    deterministic: bool = True,
    linear: bool = False,
    surrogate: bool = False,
    composite: bool = False,
    name: str | None = None,
    namespace: str | None = None,
    replace: bool = False,
) -> Op | Callable[[Callable[..., Any]], Op]:
    """Defines an op from its reference function: NumPy arrays in, NumPy array or tuple of arrays out.

    Args:
        definition: the function (used as `@op`), or the schema as text (used as `@op("ns::f(Tensor x) -> Tensor y")`).
        infer: rule for shapes and dtypes; like the first input unless given.
        nondifferentiable: names of inputs and outputs that carry no gradient.
        domain: per input name the least and the greatest value it may hold; None for no bound.
        deterministic: the same inputs give the same bits.
        linear: the op is linear in its inputs.
        surrogate: the backward is not the derivative, on purpose.
        composite: the function is made of registered ops, and is differentiated through them.
        name: the op's name, where it is not the function's.
        namespace: the op's namespace, where it is not the defining package.
        replace: takes the name even if another definition holds it.

    Returns:
        The op, callable like the function.

    Raises:
        SchemaError: the schema, or the signature it is read from, is not of the schema language.
        NameClashError: another definition holds the name.

    Example:
        >>> import numpy as np
        >>> @op(namespace="doc")
        ... def double(x):
        ...     return 2 * x
        >>> double(np.array([1.0, 2.0]))
        array([2., 4.])
    """
    text = definition if isinstance(definition, str) else None

    def register(function: Callable[..., Any]) -> Op:
        space = namespace or namespace_of(function)
        if text is None:
            schema = schema_of(function, space, name or _name_of(function))
        else:
            schema = parse_schema(text, space)
            _check_forward(schema, function)
        traits = Traits(tuple(nondifferentiable), deterministic, linear, surrogate, dict(domain or {}))
        return _define(schema, function, traits, infer, composite=composite, replace=replace)

    return register(definition) if callable(definition) else register


def register_op(
    name: str,
    *,
    forward: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    composite: bool = False,
    **options: Any,
) -> Op:
    """Defines an op from functions, without decorators.

    Args:
        name: the op's name (`relu`, `ns::relu`), or its whole schema as text.
        forward: the reference function.
        backward: the backward; it names what it needs, as in `Op.backward`.
        composite: the backward is made of registered ops.
        options: everything that `op` takes.

    Returns:
        The op.
    """
    if "(" in name:
        made = op(name, **options)(forward)
    else:
        space, _, bare = name.rpartition("::")
        made = op(name=bare, **{"namespace": space or None, **options})(forward)
    if backward is not None:
        made.backward(composite=composite, replace=options.get("replace", False))(backward)
    return made


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


def _name_of(function: Callable[..., Any]) -> str:
    found = getattr(function, "__name__", None)
    if not found or not found.isidentifier():
        raise DefinitionError(f"op: {function!r} has no name of its own; pass name='...'")
    return str(found)


def _check_forward(schema: OpSchema, function: Callable[..., Any]) -> None:
    """Checks that a reference function takes what its schema, given as text, declares."""
    names = parameters_of(function)
    known = (*schema.input_names, *schema.attr_names)
    check_names(function, names, known, f"op {schema.qualified_name!r}, forward")
    for name in known:
        if name not in names:
            raise BindingError(
                f"op {schema.qualified_name!r}, forward {name_of(function)}({', '.join(names)}): expected a parameter "
                f"{name!r}, which the schema declares"
            )


def _runs_again(old: OpDef, new: OpDef) -> bool:
    """Whether a file was executed anew: its functions see other globals, though their own text is the same."""
    globals_of = [getattr(opdef.function, "__globals__", None) for opdef in (old, new)]
    return globals_of[0] is not globals_of[1] and old.origin.source == new.origin.source


def _restated(old: OpDef, new: OpDef) -> OpDef:
    """Returns the new definition with what the old one, which computes the same, was given besides."""
    kernels = KernelTable()
    kernels.restore([*new.kernels, *(row for row in old.kernels if row is not old.kernels.reference())])
    return renewed(new, grad=old.grad, samples=old.samples, kernels=kernels)


def _define(
    schema: OpSchema,
    function: Callable[..., Any],
    traits: Traits,
    infer: Callable[..., Any] | InferRule | None,
    *,
    composite: bool,
    replace: bool,
) -> Op:
    known = (*schema.input_names, *schema.output_names)
    for declared in (*traits.nondifferentiable, *traits.domain):
        if declared not in known:
            raise DefinitionError(
                f"op {schema.qualified_name!r}: {declared!r} was declared, but its inputs and outputs "
                f"are {', '.join(known)}"
            )
    origin = origin_of(function)
    call = reorder(function, schema.input_names)
    kernels = KernelTable()
    language = "composite" if composite else REFERENCE
    kernels.add(Kernel(KernelKey("cpu"), language, call, origin, schema.input_names))
    opdef = OpDef(
        schema=schema,
        infer=like(),
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
        if held is not None:
            if replace or opdef.digest != held.opdef.digest:
                held.opdef = opdef
            elif _runs_again(held.opdef, opdef):
                held.opdef = _restated(held.opdef, opdef)
            return held
        made = Op(opdef)
        REGISTRY.put(opdef.name, made)
        return made
