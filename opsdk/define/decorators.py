"""The ways to define an op, the decorator `op` and the function `register_op`, and to take its name back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, overload

from opsdk.core.errors import DefinitionError, NameClashError, UnknownOpError
from opsdk.core.origin import origin_of
from opsdk.define.definition import check_forward, define_op, name_for, namespace_of
from opsdk.define.determinism import Repeats
from opsdk.define.giving import gives_another, renewed
from opsdk.define.infer import InferRule
from opsdk.define.kernel.kernel import KernelTable
from opsdk.define.op import REGISTRY, Op
from opsdk.define.opdef import BUILTIN
from opsdk.define.schema.parse import parse_schema, residuals_of
from opsdk.define.schema.signature import schema_of
from opsdk.define.traits import Bounds, Traits, reasons_in

Domain = Mapping[str, Bounds]


@overload
def op(definition: Callable[..., Any]) -> Op: ...


@overload
def op(
    definition: str | None = None,
    *,
    infer: Callable[..., Any] | InferRule | None = ...,
    nondifferentiable: Sequence[str] | Mapping[str, str] = ...,
    constant: Sequence[str] = ...,
    domain: Domain | None = ...,
    deterministic: bool | Repeats = ...,
    accuracy: float | None = ...,
    linear: bool = ...,
    surrogate: bool | Callable[..., Any] = ...,
    composite: bool = ...,
    residuals: Sequence[str] = ...,
    name: str | None = ...,
    namespace: str | None = ...,
    replace: bool = ...,
) -> Callable[[Callable[..., Any]], Op]: ...


# Any: a reference function has any signature; the schema is read from it or given as text.
def op(
    definition: Callable[..., Any] | str | None = None,
    *,
    infer: Callable[..., Any] | InferRule | None = None,
    nondifferentiable: Sequence[str] | Mapping[str, str] = (),
    constant: Sequence[str] = (),
    domain: Domain | None = None,
    deterministic: bool | Repeats = True,
    accuracy: float | None = None,
    linear: bool = False,
    surrogate: bool | Callable[..., Any] = False,
    composite: bool = False,
    residuals: Sequence[str] = (),
    name: str | None = None,
    namespace: str | None = None,
    replace: bool = False,
) -> Op | Callable[[Callable[..., Any]], Op]:
    """Defines an op from its reference function: NumPy arrays in, NumPy array or tuple of arrays out.

    Args:
        definition: the function (used as `@op`), or the schema as text (used as `@op("ns::f(Tensor x) -> Tensor y")`).
        infer: rule for shapes and dtypes; like the first input unless given.
        nondifferentiable: names of inputs and outputs that carry no gradient; with the reason, as in
            `{"rstd": "saved for the backward"}`, those that have a derivative all the same.
        constant: names of inputs that carry no gradient although the op has a derivative in them, on purpose.
        domain: per input or residual, or int or float attribute, the values that `verify` tries and samples keep to:
            the least and the greatest, None for no bound; of an input also what is in `opsdk.domain`, such as
            `opsdk.domain.symmetric`, or a function that gives the nearest values inside. `opsdk.domain.shape("N", 3)`
            is the shape of an input, to which every call is held.
        deterministic: the same inputs give the same bits. Where they do not, `verify` judges the gradient with the
            draws fixed, if they come from generators that the op can reach; with `opsdk.Repeats(64)` else means over
            so many draws.
        accuracy: declares that the backward approximates, as a continuous adjoint or a truncated series does: each
            element of an input's gradient may be off by this share, at most 0.1, of the largest element of that
            gradient. `verify` judges gradients of every order by it, and says so; kernels of the op itself are
            compared as ever.
        linear: the op is linear in its inputs.
        surrogate: the backward is not the forward's derivative, on purpose. A function with the forward's parameters,
            on NumPy arrays, is the one whose derivative it is; what that wraps in `gradcheck.stop_gradient` counts as
            constant. With True, the gradient is compared with nothing.
        composite: the function is made of registered ops, and is differentiated through them.
        residuals: what the function returns after the outputs for the backward alone: `"lse"` or `"Tensor<int> index"`
            an array, `"object lu"` anything. Callers never see them.
        name: the op's name, where it is not the function's.
        namespace: the op's namespace, where it is not the defining package.
        replace: takes the name even if another definition holds it.

    Returns:
        The op, callable like the function.

    Raises:
        DefinitionError: `definition` is neither function nor text, or what is declared does not fit the schema.
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
    if not (definition is None or isinstance(definition, str) or callable(definition)):
        raise DefinitionError(
            f"op: expected a function, or a schema as text, got {definition!r}; write @opsdk.op above the function"
        )
    text = definition if isinstance(definition, str) else None

    def register(function: Callable[..., Any]) -> Op:
        space = namespace_of(function) if namespace is None else namespace
        if text is None:
            called = name_for(function) if name is None else name
            kept = residuals_of(residuals, f"op {called!r}")
            schema = schema_of(function, space, called, residuals=kept)
        else:
            schema = parse_schema(text, space)
            if residuals:
                raise DefinitionError(
                    f"{schema.subject}: expected residuals= beside a signature, got {residuals!r} beside a schema as "
                    "text; write them into it: -> Tensor y, residuals (Tensor a, object b)"
                )
            check_forward(schema, function)
        traits = Traits(
            nondifferentiable=(*nondifferentiable, *constant),
            deterministic=deterministic,
            accuracy=accuracy,
            linear=linear,
            surrogate=surrogate,
            domain={} if domain is None else domain,
            constant=tuple(constant),
            reasons=reasons_in(nondifferentiable),
        )
        return define_op(schema, function, traits, infer, composite=composite, replace=replace)

    return register(definition) if callable(definition) else register


def register_op(
    name: str,
    *,
    forward: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
    composite: bool = False,
    complex: bool = False,
    **options: Any,
) -> Op:
    """Defines an op from functions, without decorators.

    Args:
        name: the op's name (`relu`, `ns::relu`), or its whole schema as text.
        forward: the reference function.
        backward: the backward; it names what it needs, as in `Op.backward`.
        composite: the backward is made of registered ops.
        complex: the backward is right for complex tensors too, as in `Op.backward`.
        options: everything that `op` takes.

    Returns:
        The op.
    """
    if isinstance(name, str) and "(" in name:
        made = op(name, **options)(forward)
    else:
        space, colons, bare = str(name).rpartition("::")
        made = op(name=bare, **{"namespace": space if colons else None, **options})(forward)
    if backward is None:
        return made
    replace = options.get("replace", False)
    with REGISTRY.lock:
        if replace or not gives_another(made.opdef, backward, composite):
            made.backward(composite=composite, complex=complex, replace=replace)(backward)
            return made
        sys.stderr.write(f"{made.opdef.name} redefined ({origin_of(backward)} is another backward)\n")
        without = renewed(made.opdef, rule=None, kernels=KernelTable(made.opdef.kernels))
        with REGISTRY.moved(made.opdef.name, Op(without)) as other:
            other.backward(composite=composite, complex=complex)(backward)
        return other


def unregister(op: Op | str) -> None:
    """Takes the name of an op, and those of its gradients, out of the registry.

    Whoever holds the op calls and differentiates it as before, and graphs and Programs keep it; it cannot be found or
    pickled by its name any more, which is free for another definition.

    Args:
        op: the op, or its name, `namespace::name` or a bare name that is unique.

    Raises:
        UnknownOpError: no op has that name, or it belongs to another definition by now.
        NameClashError: it is a built-in op.

    Example:
        >>> import opsdk
        >>> double = opsdk.op(lambda x: 2 * x, name="double", namespace="doc")
        >>> opsdk.unregister(double)
        >>> "doc::double" in opsdk.REGISTRY
        False
    """
    with REGISTRY.lock:
        held = REGISTRY.find(op) if isinstance(op, str) else op
        if held.opdef.is_builtin:
            raise NameClashError(
                f"{held.opdef.subject}: expected an op to unregister that is not built in, got one of {BUILTIN!r}; "
                "built-in ops stay, since others are made of them"
            )
        if REGISTRY.get(held.opdef.name) is not held:
            raise UnknownOpError(
                f"{held.opdef.subject}: expected its name to be registered for it, the op defined at "
                f"{held.opdef.origin}, got another op or none; unregister that one by its name"
            )
        REGISTRY.remove(held.opdef.name)


@contextmanager
def scoped_registry() -> Iterator[None]:
    """Registers for a while: what a `with` block registers, redefines or gives to an op is forgotten after it.

    Handles that were made inside go on working, and are found by name no more; ops that were there before have the
    definition and the kernels that they had. It holds for all threads of the process. A module that defines ops and is
    imported for the first time inside the block does not define them again after it: import it before.

    Example:
        >>> import opsdk
        >>> with opsdk.scoped_registry():
        ...     triple = opsdk.op(lambda x: 3 * x, name="triple", namespace="doc")
        ...     "doc::triple" in opsdk.REGISTRY
        True
        >>> "doc::triple" in opsdk.REGISTRY
        False
    """
    with REGISTRY.scoped():
        yield
