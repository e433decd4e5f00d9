"""The decorator `elementwise`: an op from one scalar function, differentiated and compiled by opsdk."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

from opsdk.core.errors import DefinitionError
from opsdk.core.origin import origin_of
from opsdk.define.decorators import Domain
from opsdk.define.definition import check_forward, define_op, name_for, namespace_of
from opsdk.define.identity.digest import is_ours
from opsdk.define.infer import InferRule, broadcast
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.op import Op
from opsdk.define.opdef import GradRule, OpDef, Traits
from opsdk.define.schema.binding import reorder
from opsdk.define.schema.parse import parse_schema
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl
from opsdk.define.schema.signature import schema_of
from opsdk.expr.gradient.derive import derive_gradient, with_complex_backward
from opsdk.expr.scalar import ScalarFunction, Static, static_of, values_of
from opsdk.expr.trace import Expression, as_defined, as_first, check_read, trace

# By name of what the decorator takes, or another one, as users take it for an attribute that opsdk reads.
_OPTIONS = {
    **{
        name: f"it is an option of the decorator: @opsdk.elementwise({name}=…)"
        for name in (
            "infer", "nondifferentiable", "domain", "linear", "surrogate", "reference", "complex_backward", "lazy",
            "name", "namespace", "replace",
        )
    },
    **dict.fromkeys(("axis", "dim", "keepdim", "keepdims"), "an op along an axis is defined with @opsdk.rowwise"),
    "dtype": "the dtype is that of the inputs: cast them, or the result",
}  # fmt: skip


@overload
def elementwise(definition: Callable[..., Any]) -> Op: ...


@overload
def elementwise(
    definition: str | None = None,
    *,
    infer: Callable[..., Any] | InferRule | None = ...,
    nondifferentiable: Sequence[str] = ...,
    domain: Domain | None = ...,
    linear: bool = ...,
    surrogate: bool | Callable[..., Any] = ...,
    reference: Callable[..., Any] | None = ...,
    complex_backward: Callable[..., Any] | None = ...,
    lazy: bool = ...,
    name: str | None = ...,
    namespace: str | None = ...,
    replace: bool = ...,
) -> Callable[[Callable[..., Any]], Op]: ...


# Any: a scalar function has any signature; the schema is read from it or given as text.
def elementwise(
    definition: Callable[..., Any] | str | None = None,
    *,
    infer: Callable[..., Any] | InferRule | None = None,
    nondifferentiable: Sequence[str] = (),
    domain: Domain | None = None,
    linear: bool = False,
    surrogate: bool | Callable[..., Any] = False,
    reference: Callable[..., Any] | None = None,
    complex_backward: Callable[..., Any] | None = None,
    lazy: bool = False,
    name: str | None = None,
    namespace: str | None = None,
    replace: bool = False,
) -> Op | Callable[[Callable[..., Any]], Op]:
    """Defines an op from a function of scalars: inputs broadcast, gradients of every order are derived.

    The function is called once with symbols. It may use operators, comparisons, `abs`, `opsdk.vmath`, and attributes;
    what it chooses between is written `vmath.where(condition, a, b)`. Attributes that are no numbers (bool, str, None)
    are plain values and may be tested with `if`.

    Args:
        definition: the function, or the schema as text; as in `opsdk.op`.
        infer: rule for shapes and dtypes; NumPy's broadcasting and dtypes unless given.
        nondifferentiable: names of inputs and outputs that carry no gradient.
        domain: per input name the least and the greatest value it may hold; None for no bound.
        linear: the op is linear in its inputs.
        surrogate: the gradient is that of another function, as in `opsdk.op`. None is derived then: write it with
            `@<op>.backward`.
        reference: a NumPy function of the op's inputs and attributes that says what is right, and serves other dtypes,
            in place of the expression evaluated with NumPy.
        complex_backward: the backward for complex tensors, where the function is not holomorphic, as |z| is not: a
            composite backward as in `Op.backward`, which gives ∂L/∂Re + i ∂L/∂Im. Holomorphic functions need none;
            others are refused complex gradients without one.
        lazy: with `infer`, reads the function when the op is first used and not now; mistakes in it are told as late.
        name: the op's name, where it is not the function's.
        namespace: the op's namespace, where it is not the defining package.
        replace: takes the name even if another definition holds it.

    Returns:
        The op. Float tensors run compiled code; the NumPy reference serves other dtypes.

    Raises:
        TraceError: the function tests, converts or indexes a symbol, or returns no expression.
        DefinitionError: an input is optional or a list, or the function never reads an attribute that is called like
            an option.

    Example:
        >>> import numpy as np
        >>> from opsdk import vmath
        >>> @elementwise(namespace="doc")
        ... def softsign(x):
        ...     return x / (1 + abs(x))
        >>> softsign(np.array([-1.0, 0.0, 3.0]))
        array([-0.5 ,  0.  ,  0.75])
    """
    text = definition if isinstance(definition, str) else None

    def register(function: Callable[..., Any]) -> Op:
        space = namespace_of(function) if namespace is None else namespace
        if text is None:
            schema = schema_of(function, space, name_for(function) if name is None else name, of_scalars=True)
        else:
            schema = parse_schema(text, space)
            check_forward(schema, function, of_scalars=True)
        check_plain(schema)
        meant = {name: _OPTIONS[name] for name in schema.attr_names if name in _OPTIONS}
        check_read(function, meant, f"op {schema.qualified_name!r}")
        scalar = scalar_function(schema, function)
        sample = static_defaults(schema)
        if not lazy:
            scalar.expression(sample)
        if reference is not None:
            check_forward(schema, reference)

        def derive(opdef: OpDef) -> GradRule | None:
            rule = derive_gradient(opdef, scalar, sample)
            return rule if complex_backward is None else with_complex_backward(opdef, rule, complex_backward)

        names = (*schema.input_names, *schema.attr_names)
        origin = origin_of(function)
        rows = [Kernel(KernelKey(place, floating=True), "numba", scalar, origin, names) for place in ("cpu", "cuda")]
        return define_op(
            schema,
            function,
            Traits(tuple(nondifferentiable), True, linear, surrogate, {} if domain is None else domain),
            infer or broadcast.with_whole(scalar.whole_dtypes),
            reference=scalar if reference is None else reorder(reference, schema.input_names),
            rows=rows,
            derive=None if surrogate else derive,
            lazy=lazy,
            traced=() if is_ours(function) else (reference, "" if lazy else scalar.expression(sample).text),
            replace=replace,
        )

    return register(definition) if callable(definition) else register


def scalar_function(schema: OpSchema, function: Callable[..., Any]) -> ScalarFunction:
    """Returns a user's function as one that gives an expression per combination of static attributes."""
    subject = f"op {schema.qualified_name!r}"
    read = as_defined(function, subject)

    def make(static: Static) -> Expression:
        fixed = values_of(static)
        symbols = [attr for attr in schema.attr_names if attr not in fixed]
        bound = functools.partial(read, **fixed) if fixed else read
        return trace(bound, schema.input_names, symbols, subject, outputs=len(schema.outputs))

    return ScalarFunction(schema.name, schema.input_names, schema.attr_names, as_first(make, subject))


def static_defaults(schema: OpSchema) -> Static:
    """Returns the static attributes of a call that leaves all attributes at their defaults.

    Raises:
        DefinitionError: a required attribute is no number; without its value the function cannot be read.
    """
    given = {}
    for decl in schema.attrs:
        if decl.is_required and decl.type not in ("float", "int"):
            raise DefinitionError(
                f"op {schema.qualified_name!r}: attribute {decl.name!r} ({decl.type}) expected a default in an "
                "elementwise op, got none; the function is read once with it"
            )
        given[decl.name] = 0.0 if decl.is_required else decl.default
    return static_of(given)


def check_plain(schema: OpSchema) -> None:
    """Checks that there are inputs, and that inputs and outputs are single tensors of their own.

    Raises:
        DefinitionError: there is none, or one is optional, a list, or changed in place.
    """
    if not schema.inputs:
        raise DefinitionError(
            f"op {schema.qualified_name!r}: expected at least one tensor to take the shape from, got the inputs ()"
        )
    decls: list[InputDecl | OutputDecl] = [*schema.inputs, *schema.outputs]
    for decl in decls:
        if decl.kind != "tensor" or decl.mutated:
            raise DefinitionError(
                f"op {schema.qualified_name!r}: {decl.name!r} expected a plain Tensor in an op made of an expression, "
                f"got {decl}; write it with @opsdk.op"
            )
