"""The decorator `rowwise`: an op from one function of a row, differentiated and compiled by opsdk."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

from opsdk.core.errors import DefinitionError, TraceError
from opsdk.core.origin import origin_of
from opsdk.define.decorators import Domain
from opsdk.define.definition import check_forward, define_op, name_for, namespace_of
from opsdk.define.identity.digest import is_ours
from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.define.op import Op
from opsdk.define.opdef import Traits
from opsdk.define.schema.parse import parse_schema
from opsdk.define.schema.schema import OpSchema, of_integers
from opsdk.define.schema.signature import schema_of
from opsdk.expr.elementwise import check_plain, static_defaults
from opsdk.expr.gradient.derive import derive_gradient
from opsdk.expr.node import topological
from opsdk.expr.row.row import COLUMN, FLAT, FULL, ROW, elements, spread
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.row.row_infer import AXIS, RowInfer
from opsdk.expr.scalar import Static, values_of
from opsdk.expr.trace import Expression, as_defined, as_first, check_read, trace

# By name of what the decorator takes, or calls otherwise, as users take it for an attribute.
_OPTIONS = {
    **{
        name: f"it is an option of the decorator: @opsdk.rowwise({name}=…)"
        for name in (
            "per_column", "per_row", "integer", "keepdim", "nondifferentiable", "domain", "name", "namespace", "lazy",
            "replace",
        )
    },
    **dict.fromkeys(("keepdims", "keep_dim"), "results keep their axis under @opsdk.rowwise(keepdim=True)"),
    **dict.fromkeys(("dim", "axes"), "the axis of the rows is an attribute 'axis: int = -1'"),
}  # fmt: skip


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
    nondifferentiable: Sequence[str] = ...,
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
    nondifferentiable: Sequence[str] = (),
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
        nondifferentiable: names of inputs and outputs that carry no gradient.
        domain: per input name the least and the greatest value it may hold; None for no bound.
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
    text = definition if isinstance(definition, str) else None

    def register(function: Callable[..., Any]) -> Op:
        space = namespace_of(function) if namespace is None else namespace
        if text is None:
            schema = schema_of(function, space, name_for(function) if name is None else name, of_scalars=True)
        else:
            schema = parse_schema(text, space)
            check_forward(_seen(schema), function, of_scalars=True)
        _check_attrs(schema, function)
        roles = _roles(schema, per_column, per_row, integer)
        schema = of_integers(schema, integer)
        fixed = tuple(dict.fromkeys((*nondifferentiable, *schema.nondifferentiable)))
        rows = _row_function(schema, function, roles, keepdim, fixed)
        sample = static_defaults(_seen(schema))
        names = (*schema.input_names, *schema.attr_names)
        origin = origin_of(function)
        return define_op(
            schema,
            function,
            Traits(fixed, True, False, False, {} if domain is None else domain),
            RowInfer(roles, rows.results, fixed),
            reference=rows,
            rows=[Kernel(KernelKey(place, floating=True), "numba", rows, origin, names) for place in ("cpu", "cuda")],
            derive=lambda opdef: derive_gradient(opdef, rows, sample),
            lazy=lazy,
            traced=() if is_ours(function) else (rows.expression(sample).text,),
            replace=replace,
        )

    return register(definition) if callable(definition) else register


def _check_attrs(schema: OpSchema, function: Callable[..., Any]) -> None:
    """Checks that every attribute means something: one is the axis, the function reads all others.

    Raises:
        DefinitionError: the axis is no int, or the function leaves another as it is.
    """
    subject = f"op {schema.qualified_name!r}"
    for decl in schema.attrs:
        if decl.name == AXIS and decl.type != "int":
            raise DefinitionError(
                f"{subject}: attribute {AXIS!r}, along which the rows lie, expected an int, got {decl.type}; give it "
                "another name if it means something else"
            )
    check_read(function, {name: _OPTIONS[name] for name in schema.attr_names if name in _OPTIONS}, subject)


def _seen(schema: OpSchema) -> OpSchema:
    """Returns the schema without the axis, which the function does not see."""
    attrs = tuple(decl for decl in schema.attrs if decl.name != AXIS)
    positional = tuple(name for name in schema.positional if name != AXIS)
    return OpSchema(
        schema.namespace, schema.name, schema.inputs, attrs, schema.outputs, schema.version, positional=positional
    )


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


def _row_function(
    schema: OpSchema, function: Callable[..., Any], roles: Sequence[str], keepdim: bool, flat: Sequence[str]
) -> RowFunction:
    subject = f"op {schema.qualified_name!r}"
    own = _seen(schema)
    read = as_defined(function, subject)
    inputs = dict(zip(own.input_names, roles, strict=True))

    def read_for(static: Static) -> Expression:
        fixed = values_of(static)
        symbols = [attr for attr in own.attr_names if attr not in fixed]
        bound = functools.partial(read, **fixed) if fixed else read
        traced = trace(bound, own.input_names, symbols, subject, outputs=len(own.outputs))
        try:
            return dataclasses.replace(traced, outputs=tuple(spread(traced.wanted, inputs)), written=())
        except TraceError as error:
            raise TraceError(f"{subject}, {error}") from None

    make = as_first(read_for, subject)
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
