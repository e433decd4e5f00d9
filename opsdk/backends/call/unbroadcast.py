"""Unbroadcasting: a gradient, held to the shape and dtype of the input that it is the gradient of.

Both runtimes use this one function, so that they accept and refuse the same backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import ArityError, DTypeError, ShapeError
from opsdk.define.opdef import GradRule, OpDef


# Any: the gradient is an array, or a tensor where the backward is itself recorded.
def unbroadcast(
    forward: OpDef,
    rule: GradRule,
    position: int,
    value: Any,
    shape: Sequence[int],
    dtype: np.dtype[Any],
    sum_to: Callable[..., Any],
) -> Any:
    """Returns the gradient of input `position`, summed to `shape` and cast to `dtype` where that input was broadcast.

    Of a real input beside complex ones it is the real part.

    Raises:
        ArityError: None where a gradient is expected, or a gradient of an input that was declared disconnected.
        ShapeError, DTypeError: the gradient is not of its input's shape or dtype.
    """
    name = forward.schema.inputs[position].name
    if (value is None) is not (position in rule.disconnected):
        raise _presence_error(forward, rule, name, value)
    if value is None:
        return None
    array = getattr(value, "_array", value)
    if array.dtype.kind == "c" and dtype.kind != "c" and rule.complex is True:
        part = value.real  # the real part is what a real input beside complex ones does to the loss
        value = part() if callable(part) else part.copy()  # of tensors it is an op
        array = getattr(value, "_array", value)
    if array.shape != shape:
        if not rule.reduces:
            raise _shape_error(forward, rule, name, array.shape, tuple(shape))
        value = sum_to(value, shape)
        array = getattr(value, "_array", value)
    if array.dtype != dtype and rule.reduces and is_differentiable(array.dtype) and is_differentiable(dtype):
        value = value.astype(dtype)  # where shapes are broadcast, dtypes are promoted; both are undone
        array = getattr(value, "_array", value)
    if array.dtype != dtype:
        raise DTypeError(
            f"{forward.subject}, gradient of {name!r}: expected {dtype} like {name}, got {array.dtype}; cast it with "
            f".astype({str(dtype)!r})",
            at=str(rule.op.opdef.origin),
        )
    return value


def none_given(forward: OpDef, rule: GradRule, name: str) -> str:
    """Returns what is said where a backward gave None for an input that was not declared disconnected."""
    alone = len(rule.wrt) == 1  # then None is all that came back
    return (
        f"{forward.subject}, gradient of {name!r}: expected an array, "
        f"got {'nothing; is a `return` missing? If' if alone else 'None; if'} nothing depends on {name}, "
        f'declare it: @{forward.schema.name}.backward(disconnected=("{name}",))'
    )


def _presence_error(forward: OpDef, rule: GradRule, name: str, value: Any) -> ArityError:
    if value is None:
        return ArityError(none_given(forward, rule, name), at=str(rule.op.opdef.origin))
    return ArityError(
        f"{forward.subject}, gradient of {name!r}: expected None, since it was declared disconnected, got an array of "
        f"shape {tuple(value.shape)}; take it out of disconnected=",
        at=str(rule.op.opdef.origin),
    )


def _shape_error(
    forward: OpDef, rule: GradRule, name: str, got: tuple[int, ...], want: tuple[int, ...]
) -> ShapeError:
    lead = len(got) - len(want)
    pairs = list(zip(got[max(lead, 0) :], want, strict=False))
    remedy = ""
    if lead >= 0 and all(have == size or size == 1 for have, size in pairs):
        axes = [*range(lead), *(lead + i for i, (have, size) in enumerate(pairs) if have != size)]
        remedy = f"; sum it over ax{'is' if len(axes) == 1 else 'es'} {' and '.join(map(str, axes))}"
    return ShapeError(
        f"{forward.subject}, gradient of {name!r}: expected {want} like {name}, got {got}{remedy}",
        at=str(rule.op.opdef.origin),
        help=f"opsdk.sum_to(gradient, {want}); or declare infer=opsdk.infer.broadcast and opsdk sums" if remedy else "",
        details={"expected": want, "got": got},
    )


def check_count(forward: OpDef, position: int, count: int, values: Sequence[Any]) -> None:
    """Checks that a variadic input got one gradient per tensor.

    Raises:
        ArityError: it got more or fewer.
    """
    if len(values) != count:
        raise ArityError(
            f"{forward.subject}, gradient of {forward.schema.inputs[position].name!r}: expected a list of {count}, "
            f"one per tensor, got {len(values)}"
        )
