"""Batch rules: what an op does with values of which some have the axis of a batch in front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opsdk.define.frontend import dispatch
from opsdk.define.opdef import OpDef
from opsdk.ops.elements.indexing import encode_index
from opsdk.ops.functions import expand, reshape, squeeze


class Unruled(Exception):
    """There is no rule for a call; it runs example by example."""


# Any, in this file: the values of a call and its attributes.
Rule = Callable[[OpDef, "list[Any]", Sequence[bool], "dict[str, Any]"], Any]
WHOLE, *_ = encode_index((slice(None),))  # of the axis of the batch


def aligned(values: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
    """Returns values that broadcast example by example: those of a batch get axes of 1 behind its own."""
    ranks = [getattr(value, "ndim", 0) - flag for value, flag in zip(values, flags, strict=True)]
    most = max(ranks)
    made = []
    for value, flag, rank in zip(values, flags, ranks, strict=True):
        missing = most - rank if flag else 0
        made.append(reshape(value, [value.shape[0], *[1] * missing, *value.shape[1:]]) if missing else value)
    return made


def _broadcast(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    return dispatch(opdef, aligned(values, flags), attrs)


def _alone(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    """The op as it is, where the first value alone has a batch: it works on the last axes, or on each element."""
    if not flags[0] or any(flags[1:]):
        raise Unruled
    return dispatch(opdef, values, attrs)


def _last(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    """As `_alone`, for an op that needs one axis at least."""
    if values[0].ndim < 2:
        raise Unruled
    return _alone(opdef, values, flags, attrs)


def _along(name: str = "axis", default: Any = None, *, of_result: bool = False) -> Rule:
    """Returns the rule of an op with axes among its attributes, which are those behind the batch's.

    Args:
        name: of the attribute; one axis or several, None or () for all.
        default: the axes where it is not given.
        of_result: whether they are axes of the result, or of a list's stack.
    """

    def rule(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
        if not flags[0] or any(flags[1:]):
            raise Unruled
        first = values[0][0] if isinstance(values[0], list) else values[0]
        axes = attrs.get(name, default)
        is_one = isinstance(axes, int)
        if axes is None or (not is_one and not len(axes)):
            if opdef.schema.attr(name).type.is_list is False:
                raise Unruled
            axes = list(range(first.ndim - 1))
            if not axes:  # an example has no axis
                return first
        shifted = [axis if axis < 0 else axis + 1 for axis in ((axes,) if is_one else axes)]
        if first.ndim < 2 and not of_result:
            raise Unruled
        return dispatch(opdef, values, {**attrs, name: shifted[0] if is_one else shifted})

    return rule


def _reduced(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    """The rule of a reduction: axes behind the batch's, all of them where none is named."""
    axes = attrs.get("axis")
    every = values[0].ndim - 1
    if not every:  # an example has no axis, and its sum may have another dtype
        return dispatch(opdef, [reshape(values[0], [values[0].shape[0], 1])], {**attrs, "axis": [1], "keepdim": False})
    axes = range(every) if axes is None or not len(axes) else [axis % every for axis in axes]
    return dispatch(opdef, values, {**attrs, "axis": [axis + 1 for axis in axes]})


def _reshaped(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    shape = list(attrs["shape"])
    if 0 in shape:  # in Paddle the size that stands there
        raise Unruled
    return dispatch(opdef, values, {**attrs, "shape": [values[0].shape[0], *shape]})


def _transposed(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    rank = values[0].ndim - 1
    return dispatch(opdef, values, {**attrs, "perm": [0, *[axis % rank + 1 for axis in attrs["perm"]]]})


def _flattened(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    rank = values[0].ndim - 1
    if not rank:
        raise Unruled
    ends = {"start_axis": attrs.get("start_axis", 0), "stop_axis": attrs.get("stop_axis", -1)}
    return dispatch(opdef, values, {name: axis % rank + 1 for name, axis in ends.items()})


def _squeezed(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    sizes = values[0].shape[1:]
    axes = attrs.get("axis")
    axes = range(len(sizes)) if axes is None or not len(axes) else [axis % max(len(sizes), 1) for axis in axes]
    chosen = [axis + 1 for axis in axes if sizes[axis] == 1]
    return dispatch(opdef, values, {**attrs, "axis": chosen}) if chosen else values[0]


def _taken(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    return dispatch(opdef, values, {**attrs, "index": [*WHOLE, *attrs["index"]]})


def _matmul(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    """Matrices in the last two axes; a vector is one of a row or a column meanwhile, and axes of the batch align."""
    x, y = values
    ranks = [value.ndim - flag for value, flag in zip(values, flags, strict=True)]
    if 0 in ranks:
        raise Unruled
    x = reshape(x, [*x.shape[:-1], 1, x.shape[-1]]) if ranks[0] == 1 else x
    y = reshape(y, [*y.shape, 1]) if ranks[1] == 1 else y
    flipped = {name: attrs.get(name, False) for name in ("transpose_x", "transpose_y")}
    flipped = {n: f and rank > 1 for (n, f), rank in zip(flipped.items(), ranks, strict=True)}
    made = dispatch(opdef, aligned([x, y], flags), flipped)
    axes = [axis for axis, rank in ((-2, ranks[0]), (-1, ranks[1])) if rank == 1]
    return squeeze(made, axes) if axes else made


def _fc(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    if flags[1]:
        raise Unruled
    return dispatch(opdef, values, {**attrs, "x_num_col_dims": attrs.get("x_num_col_dims", 1) + 1})


def _like(opdef: OpDef, values: list[Any], flags: Sequence[bool], attrs: dict[str, Any]) -> Any:
    """The rule of `expand_as`: the example's axes to those of another value, of whose batch it has a part."""
    size = next(value.shape[0] for value, flag in zip(values, flags, strict=True) if flag)
    whole = [v if f else expand(v, [size, *v.shape]) for v, f in zip(values, flags, strict=True)]
    return dispatch(opdef, aligned(whole, [True, True]), attrs)


_BROADCAST = "equal not_equal greater_than greater_equal less_than less_equal where"
_ALONE = "cast assign detach conj real imag angle abs fill_any_like"
RULES: dict[str, Rule] = {
    **dict.fromkeys(_BROADCAST.split(), _broadcast),
    **dict.fromkeys(_ALONE.split(), _alone),
    **dict.fromkeys(["layer_norm", "rms_norm"], _last),
    **dict.fromkeys(["reduce_sum", "reduce_mean", "reduce_max", "reduce_min"], _reduced),
    **dict.fromkeys(["softmax", "log_softmax", "logsumexp", "sort", "argsort"], _along(default=-1)),
    **dict.fromkeys(["cumsum", "gather", "split", "concat"], _along(default=0)),
    "argmax": _along(),
    "unsqueeze": _along(of_result=True),
    "stack": _along(default=0, of_result=True),
    "squeeze": _squeezed,
    "flatten": _flattened,
    "reshape": _reshaped,
    "transpose": _transposed,
    "getitem": _taken,
    "matmul": _matmul,
    "mul": _fc,
    "expand_as": _like,
}
RULES = {f"opsdk::{name}": rule for name, rule in RULES.items()}
