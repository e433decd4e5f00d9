"""The decorators `elementwise` and `rowwise`: an op from a function of scalars or rows, differentiated and compiled."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

from opsdk.core.errors import DefinitionError, TraceError
from opsdk.core.origin import origin_of
from opsdk.define.decorators import Domain
from opsdk.define.definition import check_forward, define_op, name_for, namespace_of
from opsdk.define.identity.digest import is_ours
from opsdk.define.infer import InferRule, broadcast
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.op import Op
from opsdk.define.opdef import GradRule, OpDef
from opsdk.define.schema.binding import reorder
from opsdk.define.schema.parse import parse_schema
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl, of_integers
from opsdk.define.schema.signature import schema_of
from opsdk.define.traits import Traits, reasons_in
from opsdk.expr.gradient.derive import derive_gradient, with_complex_backward
from opsdk.expr.node import topological
from opsdk.expr.row.row import COLUMN, FLAT, FULL, ROW, elements, spread
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS, RowInfer
from opsdk.expr.scalar import ScalarFunction, Static, static_of, values_of
from opsdk.expr.trace import Expression, as_defined, as_first, check_read, trace


@overload
def elementwise(definition: Callable[..., Any]) -> Op: ...


@overload
def elementwise(
    definition: str | None = None,
    *,
    infer: Callable[..., Any] | InferRule | None = ...,
    nondifferentiable: Sequence[str] | Mapping[str, str] = ...,
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
    nondifferentiable: Sequence[str] | Mapping[str, str] = (),
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
        nondifferentiable: names of inputs and outputs that carry no gradient, or with reasons; as in `opsdk.op`.
        domain: per input what it may be, as in `opsdk.op`: the least and the greatest value, None for no bound.
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

    def register(function: Callable[..., Any]) -> Op:
        schema = _schema_of(function, definition, name, namespace)
        check_plain(schema)
        _check_options(schema, function, elementwise, _ELSEWHERE)
        scalar = ScalarFunction(schema.name, schema.input_names, schema.attr_names, _expressions(schema, function))
        sample = static_defaults(schema)
        if not lazy:
            scalar.expression(sample)
        if reference is not None:
            check_forward(schema, reference)

        def derive(opdef: OpDef) -> GradRule | None:
            rule = derive_gradient(opdef, scalar, sample)
            return rule if complex_backward is None else with_complex_backward(opdef, rule, complex_backward)

        return define_op(
            schema,
            function,
            Traits((*nondifferentiable,), True, linear, surrogate, domain or {}, reasons=reasons_in(nondifferentiable)),
            infer or broadcast.with_whole(scalar.whole_dtypes),
            reference=scalar if reference is None else reorder(reference, schema.input_names),
            rows=_compiled(schema, function, scalar),
            derive=None if surrogate else derive,
            lazy=lazy,
            traced=() if is_ours(function) else (reference, "" if lazy else scalar.expression(sample).text),
            replace=replace,
        )

    return register(definition) if callable(definition) else register


@overload
def rowwise(definition: Callable[..., Any]) -> Op: ...


@overload
def rowwise(
    definition: str | None = None,
    *,
    per_column: Sequence[str] = ...,
    per_row: Sequence[str] = ...,
    integer: Sequence[str] = ...,
    keepdim: bool = ...,
    nondifferentiable: Sequence[str] | Mapping[str, str] = ...,
    domain: Domain | None = ...,
    name: str | None = ...,
    namespace: str | None = ...,
    lazy: bool = ...,
    replace: bool = ...,
) -> Callable[[Callable[..., Any]], Op]: ...


# Any: a function of rows has any signature; the schema is read from it or given as text.
def rowwise(
    definition: Callable[..., Any] | str | None = None,
    *,
    per_column: Sequence[str] = (),
    per_row: Sequence[str] = (),
    integer: Sequence[str] = (),
    keepdim: bool = False,
    nondifferentiable: Sequence[str] | Mapping[str, str] = (),
    domain: Domain | None = None,
    name: str | None = None,
    namespace: str | None = None,
    lazy: bool = False,
    replace: bool = False,
) -> Op | Callable[[Callable[..., Any]], Op]:
    """Defines an op from a function of one row: it runs on every row of its inputs, and all gradients are derived.

    Beside what `opsdk.elementwise` allows, the function may use `vmath.row_sum`, `row_mean`, `row_max`, `row_min`,
    `row_logsumexp`, `row_take`, `row_index` and `row_size`. Rows lie along the last axis; an op with an attribute
    `axis: int = -1` lets its callers choose, and the function does not see it.

    Args:
        definition: the function, or the schema as text; as in `opsdk.op`.
        per_column: inputs of shape (n,), one number per position of a row, such as a weight.
        per_row: inputs of shape (…, 1), one number per row; where not differentiable, (…) is taken too. All other
            inputs have one shape, (…, n).
        integer: inputs of whole numbers, which carry no gradient; a schema declares them as `Tensor<int>`.
        keepdim: whether a result that is one number per row has shape (…, 1), rather than (…).
        nondifferentiable: names of inputs and outputs that carry no gradient, or with reasons; as in `opsdk.op`.
        domain: per input what it may be, as in `opsdk.op`: the least and the greatest value, None for no bound.
        name: the op's name, where it is not the function's.
        namespace: the op's namespace, where it is not the defining package.
        lazy: the gradient is derived when it is first asked for, and not where the op is defined.
        replace: takes the name even if another definition holds it.

    Returns:
        The op. Float tensors run compiled code, which reads memory once or twice; rows that are not contiguous are
        copied first. The NumPy reference serves other dtypes.

    Raises:
        TraceError: the function tests, converts or indexes a symbol, or returns no expression.
        DefinitionError: a declared input does not exist, there is no full input, the function never reads an attribute
            that is called like an option, or `axis` is no int.

    Example:
        >>> import numpy as np
        >>> from opsdk import vmath
        >>> @rowwise(namespace="doc")
        ... def center(x):
        ...     return x - vmath.row_mean(x)
        >>> center(np.array([[1.0, 2.0, 6.0]]))
        array([[-2., -1.,  3.]])
    """

    def register(function: Callable[..., Any]) -> Op:
        schema = _schema_of(function, definition, name, namespace, _seen)
        for decl in schema.attrs:
            if decl.name == AXIS and decl.type.base != "int":
                raise DefinitionError(
                    f"op {schema.qualified_name!r}: attribute {AXIS!r}, along which the rows lie, expected an int, got "
                    f"{decl.type}; give it another name if it means something else"
                )
        _check_options(schema, function, rowwise, _ELSEWHERE_OF_ROWS)
        roles = _roles(schema, per_column, per_row, integer)
        schema = of_integers(schema, integer)
        fixed = tuple(dict.fromkeys((*nondifferentiable, *schema.nondifferentiable)))
        rows = _row_function(schema, function, roles, keepdim, fixed)
        sample = static_defaults(_seen(schema))
        return define_op(
            schema,
            function,
            Traits(fixed, domain=domain or {}, reasons=reasons_in(nondifferentiable)),
            RowInfer(roles, rows.results, fixed),
            reference=rows,
            rows=_compiled(schema, function, rows),
            derive=lambda opdef: derive_gradient(opdef, rows, sample),
            lazy=lazy,
            traced=() if is_ours(function) else (rows.expression(sample).text,),
            replace=replace,
        )

    return register(definition) if callable(definition) else register


# What users take for an attribute that opsdk reads, beside the names of the decorator's own options: what to write.
_ELSEWHERE = {
    **dict.fromkeys(("axis", "dim", "keepdim", "keepdims"), "an op along an axis is defined with @opsdk.rowwise"),
    "dtype": "the dtype is that of the inputs: cast them, or the result",
}
_ELSEWHERE_OF_ROWS = {
    **dict.fromkeys(("keepdims", "keep_dim"), "results keep their axis under @opsdk.rowwise(keepdim=True)"),
    **dict.fromkeys(("dim", "axes"), "the axis of the rows is an attribute 'axis: int = -1'"),
}


def _schema_of(
    function: Callable[..., Any],
    definition: object,
    name: str | None,
    namespace: str | None,
    seen: Callable[[OpSchema], OpSchema] = lambda schema: schema,
) -> OpSchema:
    """Returns the schema of a decorated function, of which it sees a part."""
    space = namespace_of(function) if namespace is None else namespace
    if not isinstance(definition, str):
        return schema_of(function, space, name_for(function) if name is None else name, of_scalars=True)
    schema = parse_schema(definition, space)
    check_forward(seen(schema), function, of_scalars=True)
    return schema


def _check_options(
    schema: OpSchema, function: Callable[..., Any], decorator: Callable[..., Any], elsewhere: Mapping[str, str]
) -> None:
    """Checks that the function reads every attribute that is called as something that opsdk reads.

    Raises:
        DefinitionError: it leaves one as it is.
    """
    own = f"it is an option of the decorator: @opsdk.{decorator.__name__}"
    meant = {**{option: f"{own}({option}=…)" for option in decorator.__kwdefaults__ or ()}, **elsewhere}
    named = {attr: meant[attr] for attr in schema.attr_names if attr in meant}
    check_read(function, named, f"op {schema.qualified_name!r}")


def _compiled(schema: OpSchema, function: Callable[..., Any], source: ScalarFunction) -> list[Kernel]:
    names, origin = (*schema.input_names, *schema.attr_names), origin_of(function)
    return [Kernel(KernelKey(place, floating=True), "numba", source, origin, names) for place in ("cpu", "cuda")]


def _expressions(
    schema: OpSchema, function: Callable[..., Any], roles: Mapping[str, str] | None = None
) -> Callable[[Static], Expression]:
    """Returns what gives a user's function as an expression, per combination of static attributes.

    Args:
        schema: what the function sees.
        function: the user's.
        roles: of the inputs, by name, of a function of rows.
    """
    subject = f"op {schema.qualified_name!r}"
    read = as_defined(function, subject)

    def make(static: Static) -> Expression:
        fixed = values_of(static)
        symbols = [attr for attr in schema.attr_names if attr not in fixed]
        bound = functools.partial(read, **fixed) if fixed else read
        traced = trace(bound, schema.input_names, symbols, subject, outputs=len(schema.outputs))
        if roles is None:
            return traced
        try:
            return dataclasses.replace(traced, outputs=tuple(spread(traced.wanted, roles)), written=())
        except TraceError as error:
            raise TraceError(f"{subject}, {error}") from None

    return as_first(make, subject)


def _row_function(
    schema: OpSchema, function: Callable[..., Any], roles: Sequence[str], keepdim: bool, flat: Sequence[str]
) -> RowFunction:
    subject = f"op {schema.qualified_name!r}"
    own = _seen(schema)
    inputs = dict(zip(own.input_names, roles, strict=True))
    make = _expressions(own, function, inputs)
    expression = make(static_defaults(own))
    per_element = elements(expression.wanted, inputs)
    for node in topological(expression.wanted):
        if node.op == "row_take" and node.args[1] in per_element:
            raise TraceError(
                f"{subject}: row_take expected a position that is one number per row, got {node.args[1]!r}, one per "
                'element; declare the input with per_row=("…",)'
            )
    results = [FULL if node in per_element else ROW if keepdim else FLAT for node in expression.wanted]
    return RowFunction(own.name, own.input_names, own.attr_names, make, roles, results, subject, flat)


def _seen(schema: OpSchema) -> OpSchema:
    """Returns the schema without the axis, which the function does not see."""
    attrs = tuple(decl for decl in schema.attrs if decl.name != AXIS)
    positional = tuple(name for name in schema.positional if name != AXIS)
    return dataclasses.replace(schema, attrs=attrs, positional=positional)


def _roles(
    schema: OpSchema, per_column: Sequence[str], per_row: Sequence[str], integer: Sequence[str]
) -> tuple[str, ...]:
    check_plain(schema)
    for declared in (*per_column, *per_row, *integer):
        if declared not in schema.input_names:
            raise DefinitionError(
                f"op {schema.qualified_name!r}: {declared!r} was declared, but its inputs are "
                f"{', '.join(schema.input_names)}"
            )
    roles = tuple(COLUMN if n in per_column else ROW if n in per_row else FULL for n in schema.input_names)
    if FULL not in roles:
        raise DefinitionError(
            f"op {schema.qualified_name!r}: expected an input of the full shape, got all of them declared otherwise"
        )
    return roles


def static_defaults(schema: OpSchema) -> Static:
    """Returns the static attributes of a call that leaves all attributes at their defaults.

    Raises:
        DefinitionError: a required attribute is no number; without its value the function cannot be read.
    """
    given = {}
    for decl in schema.attrs:
        if decl.is_required and not decl.type.is_number:
            raise DefinitionError(
                f"op {schema.qualified_name!r}: attribute {decl.name!r} ({decl.type}) expected a default in an op made "
                "of an expression, got none; give it one, since the function is read with it where the op is defined"
            )
        given[decl.name] = 0.0 if decl.is_required else decl.default
    return static_of(given)


def check_plain(schema: OpSchema) -> None:
    """Checks that there are inputs, and that inputs and outputs are single tensors of their own.

    Raises:
        DefinitionError: there is none, or one is optional, a list, or changed in place; or an attribute is an object.
    """
    if not schema.inputs:
        raise DefinitionError(
            f"op {schema.qualified_name!r}: expected at least one tensor to take the shape from, got the inputs ()"
        )
    decls: list[InputDecl | OutputDecl] = [*schema.inputs, *schema.outputs]
    wrong = [(decl, "a plain Tensor") for decl in decls if decl.kind != "tensor" or decl.mutated]
    for decl, wanted in [*wrong, *((decl, "a value") for decl in schema.attrs if decl.type.is_object)]:
        raise DefinitionError(
            f"op {schema.qualified_name!r}: {decl.name!r} expected {wanted} in an op made of an expression, "
            f"got {decl}; write it with @opsdk.op"
        )
