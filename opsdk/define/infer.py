"""Infer rules: shapes and dtypes of outputs from those of inputs, with no array touched.

The stock rules, given to an op as `infer=`:

    like        as the first input, or as the one named: `like("w")`; the rule of an op that has none
    broadcast   the broadcast shape of all inputs, and the dtype that they have together (`promote_types`); gradients
                are summed back. `broadcast.with_dtype("bool")` fixes the dtype, `broadcast.with_floating()` gives
                floats of integers
    reduce      the first input without the axes of attribute `axis`; with size 1 there where `keepdim` is true

Any other rule is a function of `TensorSpec`s and attributes by name: `@op.infer`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from opsdk.core.dtype import as_floating, promote_types
from opsdk.core.errors import ArityError, AxisError, OpsdkError, ReturnError, ShapeError, attach_note, name_subject
from opsdk.core.nested import flat
from opsdk.core.origin import Origin, origin_of
from opsdk.core.spec import Shape, TensorSpec, shape_text
from opsdk.define.schema.binding import called_by_name, parameters_among
from opsdk.define.schema.schema import OpSchema, ResidualDecl

# One entry per input: a spec, None for an absent optional one, or for a variadic one a list of specs, None at holes.
Specs = Sequence["TensorSpec | list[TensorSpec] | None"]
# Any: attribute values of the types of the schema language.
Attrs = Mapping[str, Any]
# From the dtypes of the inputs and the attributes those of the outputs.
DTypes = Callable[["Sequence[np.dtype[np.generic]]", Attrs], "Sequence[np.dtype[np.generic]]"]
# One entry per output: a spec, a list of specs for a variadic output, or None where only a run can tell.
Inferred = tuple["TensorSpec | list[TensorSpec] | None", ...]

OPEN_SIZES = (
    "a size that is not known yet is None, which NumPy's own shape functions refuse; pass it on, "
    "or take a stock rule, such as infer=opsdk.infer.broadcast"
)


class InferRule(Protocol):
    """What the stock rules and user-written functions are to the rest of the house."""

    reduces_gradients: bool  # whether inputs are broadcast, so that gradients are summed back

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        """Returns one entry per output."""
        ...


def first_spec(schema: OpSchema, specs: Specs, name: str | None = None) -> TensorSpec:
    """Returns the spec of a named input, or of the first input that is present."""
    chosen = specs if name is None else [specs[schema.input_names.index(name)]]
    for spec in flat(chosen):
        found: TensorSpec = spec
        return found
    raise ArityError(f"{schema.subject}: expected at least one tensor to take the shape from, got none")


def outputs_like(schema: OpSchema, spec: TensorSpec) -> Inferred:
    """Returns one spec for every output; residuals, of which a stock rule knows nothing, have none."""
    return tuple([None if isinstance(decl, ResidualDecl) else spec for decl in schema.outputs])


class like:  # a stock rule reads like a function where it is used
    """Every output has the shape and dtype of one input, the first unless another is named."""

    reduces_gradients = False

    def __init__(self, name: str | None = None) -> None:
        self.name = name

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        """Returns one spec per output; None for a list, of which the rule does not know how long it is."""
        spec = first_spec(schema, specs, self.name)
        specs = outputs_like(schema, spec)
        return tuple([None if decl.kind == "list" else one for decl, one in zip(schema.outputs, specs, strict=True)])


class Assumed(like):
    """`like`, of an op that said nothing: its compiled kernels are held to inputs of one shape."""

    one_shape = True


class _Broadcast:
    """Every output has the broadcast shape of all inputs and, unless `dtype` says else, their common dtype."""

    reduces_gradients = True
    one_shape = True  # compiled kernels get their inputs broadcast
    promotes = True  # what NumPy computes in a wider dtype is rounded to this one

    def __init__(self, dtype: str | None = None, *, floating: bool = False, whole: DTypes | None = None) -> None:
        self.dtype = dtype
        self.floating = floating
        self._whole = whole

    def __repr__(self) -> str:
        how = f".with_dtype({self.dtype!r})" if self.dtype else ".with_floating()" if self.floating else ""
        return f"<infer rule broadcast{how}: {_Broadcast.__doc__}>"

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        """Returns one spec per output.

        Raises:
            ArityError: no input is present.
            ShapeError: the inputs do not broadcast.
        """
        first_spec(schema, specs)
        shape: Shape = ()
        for spec in flat(specs):
            shape = broadcast_dims(shape, spec.shape, schema)
        dtypes = [spec.dtype for spec in flat(specs)]
        dtype = np.dtype(self.dtype) if self.dtype else promote_types(*dtypes)
        dtype = as_floating(dtype) if self.floating else dtype
        if self._whole is not None and all(each.kind in "biu" for each in dtypes):
            return tuple(TensorSpec(shape, each) for each in self._whole(dtypes, attrs))
        return outputs_like(schema, TensorSpec(shape, dtype))

    def with_dtype(self, dtype: str) -> _Broadcast:
        """Returns the rule with a fixed output dtype, as comparisons need it."""
        return _Broadcast(dtype)

    def with_whole(self, whole: DTypes) -> _Broadcast:
        """Returns the rule in which a function tells the dtypes of the outputs where all inputs are whole numbers."""
        return _Broadcast(whole=whole)

    def with_floating(self) -> _Broadcast:
        """Returns the rule in which integers give floats, as a quotient does."""
        return _Broadcast(floating=True)


broadcast = _Broadcast()


STOCK = (like, _Broadcast)  # rules that know nothing of what the op computes


def broadcast_dims(left: Shape, right: Shape, schema: OpSchema) -> Shape:
    """Returns the broadcast of two shapes; an unknown size against a known one above 1 gives the known one.

    Raises:
        ShapeError: two known sizes differ and neither is 1.
    """
    width = max(len(left), len(right))
    dims: list[int | None] = []
    for a, b in zip((1,) * (width - len(left)) + left, (1,) * (width - len(right)) + right, strict=True):
        if a == b or b == 1:
            dims.append(a)
        elif a == 1 or a is None:
            dims.append(b)
        elif b is None:
            dims.append(a)
        else:
            raise ShapeError(
                f"{schema.subject}: expected shapes that broadcast, got {shape_text(left)} and {shape_text(right)}"
            )
    return tuple(dims)


def normalize_axes(axis: Sequence[int] | int | None, ndim: int, subject: str) -> tuple[int, ...]:
    """Returns axes as non-negative positions; None or an empty list means all of them.

    Raises:
        AxisError: an axis lies outside of the array or occurs twice.
    """
    if axis is None or (not isinstance(axis, int) and len(axis) == 0):
        return tuple(range(ndim))
    axes = [axis] if isinstance(axis, int) else list(axis)
    for entry in axes:
        if not -ndim <= entry < ndim:
            raise AxisError(f"{subject}: axis expected in [{-ndim}, {ndim}), got {entry}")
    positions = tuple(entry % ndim for entry in axes)
    if len(set(positions)) < len(positions):
        raise AxisError(f"{subject}: axis expected each dimension once, got {tuple(axes)}")
    return positions


class _Reduce:
    """The first input with the axes of attribute `axis` dropped, or kept with size 1 where `keepdim` is true."""

    reduces_gradients = False

    def __repr__(self) -> str:
        return f"<infer rule reduce: {_Reduce.__doc__}>"

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        """Returns one spec per output.

        Raises:
            ShapeError: an axis lies outside of the input.
        """
        spec = first_spec(schema, specs)
        axes = normalize_axes(attrs.get("axis"), spec.ndim, schema.subject)
        keep = bool(attrs.get("keepdim", False))
        dims = [1 if i in axes else dim for i, dim in enumerate(spec.shape) if keep or i not in axes]
        return outputs_like(schema, TensorSpec(dims, spec.dtype))


reduce = _Reduce()


_RAISED, _AT = "  raised in ", ", infer rule at "


def rule_raising(error: BaseException) -> tuple[str, str]:
    """Returns the op whose own infer rule raised an exception, and where that is; twice nothing where none did."""
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(_RAISED) and _AT in note]
    subject, _, place = notes[0].removeprefix(_RAISED).partition(_AT) if notes else ("", "", "")
    return subject, place


class InferFunction:
    """A rule written by a user: a function bound by name to input specs and attributes."""

    # Any: a user function of any signature; its parameter names were checked when it was registered.
    def __init__(self, function: Callable[..., Any], schema: OpSchema, *, reduces_gradients: bool = False) -> None:
        self.function = function
        self.reduces_gradients = reduces_gradients
        self._decls = schema.whole.outputs
        self._call = called_by_name(function)
        known = (*schema.input_names, *schema.attr_names)
        parameters_among(function, known, f"{schema.subject}, infer")

    @property
    def origin(self) -> Origin:
        """Where the function was defined."""
        return origin_of(self.function)

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        """Returns what the user's function returned, one entry per output.

        It may give the specs of the outputs alone, or then those of the residuals that are arrays, or all by name; an
        entry of a residual that it leaves out is None.

        Raises:
            ReturnError: it returned something else than specs.
            ArityError: it returned the wrong number of them.
        """
        values = {**dict(zip(schema.input_names, specs, strict=True)), **attrs}
        try:
            result = self._call(values)
        except Exception as error:
            if not isinstance(error, OpsdkError):
                attach_note(error, f"{_RAISED}{schema.subject}{_AT}{self.origin}")
                is_open = any(dim is None for spec in flat(specs) for dim in spec.shape)
                if is_open and "NoneType" in str(error):  # what a rule refuses on purpose has words of its own
                    attach_note(error, f"  {'help':<8} {OPEN_SIZES}")
                name_subject(error, f"{schema.subject}, infer")
            raise
        outputs = [decl for decl in self._decls if not isinstance(decl, ResidualDecl)]
        arrays = [decl for decl in self._decls if decl.kind != "object"]
        is_list = len(outputs) == 1 and outputs[0].kind == "list"
        if isinstance(result, Mapping) and set(result) == {decl.name for decl in arrays}:
            result = tuple(result[decl.name] for decl in arrays)
        entries = tuple(result) if isinstance(result, tuple if is_list else (tuple, list)) else (result,)
        if len(entries) not in (len(outputs), len(arrays)):
            raise ArityError(
                f"{schema.subject}, infer: expected {len(arrays)} specs "
                f"for {', '.join(decl.name for decl in arrays)}, got {len(entries)}"
            )
        found = dict(zip([decl.name for decl in arrays], entries, strict=False))
        for decl in arrays[: len(entries)]:
            entry = found[decl.name]
            if not isinstance(entry, list if decl.kind == "list" else TensorSpec) and entry is not None:
                wanted = "a list of TensorSpec" if decl.kind == "list" else "a TensorSpec"
                raise ReturnError(
                    f"{schema.subject}, infer: {decl.role} {decl.name!r} expected {wanted} or None, got {entry!r}"
                )
        return tuple([found.get(name) for name in schema.output_names])
