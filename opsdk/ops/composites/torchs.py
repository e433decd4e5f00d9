"""What functions give where they are called as PyTorch alone is: with `dim=`, or with a number after the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.define.infer import normalize_axes
from opsdk.ops import composed, joining, reduction
from opsdk.ops import shape as moving
from opsdk.ops.composites import places, statistics
from opsdk.ops.composites.found import Found
from opsdk.ops.composites.ordering import at_places
from opsdk.ops.lines import along_axis, by_position, sorting

# Any, in this file: arrays, tensors or Program variables, and the same out.
FORMS: dict[str, Callable[..., Any]] = {}


def _form(name: str = "", by_place: bool = False) -> Callable[[Any], Any]:
    def define(function: Any) -> Any:
        function.by_place = by_place
        FORMS[name or function.__name__] = function
        return function

    return define


@_form("max")
def _max(x: Any, dim: int, keepdim: bool = False) -> Found:
    x = moving.as_value(x)
    return at_places(x, reduction.argmax(x, axis=dim, keepdim=True), dim, keepdim)


@_form("min")
def _min(x: Any, dim: int, keepdim: bool = False) -> Found:
    x = moving.as_value(x)
    return at_places(x, reduction.argmin(x, axis=dim, keepdim=True), dim, keepdim)


@_form("sort")
def _sort(x: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> Found:
    x = moving.as_value(x)
    return at_places(x, sorting.argsort(x, axis=dim, descending=descending), dim)


@_form("median")
def _median(x: Any, dim: int, keepdim: bool = False) -> Found:
    return Found(*statistics.median(x, dim, keepdim, mode="min"))


@_form("nanmedian")
def _nanmedian(x: Any, dim: int, keepdim: bool = False) -> Found:
    return Found(*statistics.nanmedian(x, dim, keepdim, mode="min"))


@_form("split")
def _split(x: Any, num_or_sections: int | Sequence[int], dim: int = 0) -> list[Any]:
    """A number says how large the pieces are, of which the last may be smaller."""
    x = moving.as_value(x)
    if isinstance(num_or_sections, (int, np.integer)):
        size = moving.known_size(x, normalize_axes([dim], len(x.shape), "split")[0], "split")
        full, rest = divmod(size, num_or_sections)
        num_or_sections = [int(num_or_sections)] * full + ([rest] if rest or not full else [])
    return list(joining.split(x, sections=list(num_or_sections), axis=dim))


@_form("transpose", by_place=True)
def _transpose(x: Any, dim0: int, dim1: int) -> Any:
    return composed.swapaxes(x, dim0, dim1)


@_form("gather", by_place=True)
def _gather(x: Any, dim: int, index: Any) -> Any:
    return along_axis.take_along_axis(x, index, axis=dim)


@_form("scatter", by_place=True)
def _scatter(x: Any, dim: int, index: Any, values: Any) -> Any:
    x = moving.as_value(x)
    return along_axis.put_along_axis(x, index, _in_dtype(values, x), axis=dim)


@_form("scatter_add", by_place=True)
def _scatter_add(x: Any, dim: int, index: Any, values: Any) -> Any:
    return along_axis.scatter_add(x, index, values, axis=dim)


@_form("index_select", by_place=True)
def _index_select(x: Any, dim: int, index: Any) -> Any:
    return by_position.index_select(x, index, dim)


@_form("index_add", by_place=True)
def _index_add(x: Any, dim: int, index: Any, values: Any, alpha: float = 1) -> Any:
    return by_position.index_add(x, index, dim, values, alpha)


@_form("index_fill", by_place=True)
def _index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    return places.index_fill(x, index, dim, value)


@_form("index_copy", by_place=True)
def _index_copy(x: Any, dim: int, index: Any, value: Any) -> Any:
    return places.index_copy(x, index, dim, value)


def _in_dtype(value: Any, x: Any) -> Any:
    return value if hasattr(value, "shape") else np.asarray(value, x.dtype)
