"""Views: tensors that share memory, and what a change of one of them is to the graph of the others.

The version counter of a memory is a list: the count of changes, and behind it, once there are two, who shares it. The
first of them is the base; a view is a window of its base's memory. A change in place that the graph has to know is
recorded as one of the base, which has other elements in the window from then on, and as a new window for each view that
shares elements with what was changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any
from weakref import ref

import numpy as np

from opsdk.autograd.node import TapePlan
from opsdk.autograd.recording import record
from opsdk.backends.call.normalise import shares
from opsdk.core.errors import InPlaceError
from opsdk.core.modes import is_grad_enabled
from opsdk.define.op import Op
from opsdk.ops.elements.windows import as_strided, as_strided_scatter


class _Link(ref[Any]):
    """A tensor among those that share a memory.

    Attributes:
        is_detached: whether it was detached from one of them, and by that has no part in its gradient.
        key: its key among the sharers.
    """

    __slots__ = ("is_detached", "key")
    is_detached: bool
    key: int


class _Sharers(dict[int, _Link]):
    """The tensors of one memory that are alive."""

    __slots__ = ()

    def add(self, tensor: Any, *, is_detached: bool) -> None:
        link = _Link(tensor, self._forget)
        link.is_detached, link.key = is_detached, id(tensor)
        self[link.key] = link

    def _forget(self, link: ref[Any]) -> None:
        assert isinstance(link, _Link)
        if self.get(link.key) is link:  # else another tensor has its place by now
            del self[link.key]


# Any, from here on: a tensor, which stands one module above.
def share(source: Any, made: Any, *, is_detached: bool = False) -> None:
    """Has a tensor that was made of another one's memory count changes with it, and both know of each other."""
    counter = source._version
    if len(counter) == 1:
        counter.append(_Sharers())
        counter[1].add(source, is_detached=False)
    sharers = counter[1]
    known = sharers.get(id(source))
    if not is_detached:
        made._base = base_of(source)
    sharers.add(made, is_detached=is_detached or (known is not None and known.is_detached))
    made._version = counter


def base_of(tensor: Any) -> Any:
    """Returns the tensor of whose memory this one is a window: itself, if of none."""
    base = getattr(tensor, "_base", None)
    return tensor if base is None or base._version is not tensor._version else base


def sharing(tensor: Any) -> list[Any]:
    """Returns the other tensors that change with one, but for those that were detached from it."""
    if len(tensor._version) == 1:
        return []
    links = tensor._version[1]
    known = links.get(id(tensor))
    is_detached = known is not None and known.is_detached
    alive = [(link, link()) for link in [*links.values()]]
    others = [(link, held) for link, held in alive if held is not None and held is not tensor]
    return [held for link, held in others if is_detached or not link.is_detached]


def check_windows(tensor: Any, subject: str) -> None:
    """Checks that the graph can be told of a change of one tensor, for all that share its memory.

    Raises:
        InPlaceError: one of them is a leaf that needs a gradient, or views other elements than the base's.
    """
    base = base_of(tensor)
    for other in sharing(tensor):
        if base_of(other) is not base:
            wrong = "one that shares it with a tensor outside of its graph, which would change without"
        elif other._edge is None and not other._stop:
            wrong = "one that shares it with a leaf that needs a gradient"
        elif _geometry(base, other) is None:
            wrong = "one that shares it with a view of other elements"
        else:
            continue
        raise InPlaceError(f"{subject}: expected a tensor whose memory is its own, got {wrong}; change a copy: clone()")


def follow(changed: Any) -> None:
    """Has the graph follow a change in place, which is in the graph as a change of one tensor alone.

    Args:
        changed: the tensor, whose place in the graph is that of its new values.
    """
    if len(changed._version) == 1 or not is_grad_enabled():
        return
    base = base_of(changed)
    others = [other for other in sharing(changed) if base_of(other) is base]
    is_leaf = base._edge is None and not base._stop  # whose views are windows of it, whatever it holds
    if is_leaf or not any(map(_flows, (changed, *others))):
        return
    if base is not changed:
        before = base._same()
        _place(base, as_strided_scatter, [before, changed], _geometry(base, changed))
    for other in others:
        if other is not base and shares(other._array, changed._array):
            _place(other, as_strided, [base], _geometry(base, other))


def _place(tensor: Any, op: Op, inputs: list[Any], window: Mapping[str, Any] | None) -> None:
    """Gives a tensor its place in the graph, as the output of an op that was not run: it has the values already."""
    tensor._edge, tensor._stop = None, True
    if any(map(_flows, inputs)):
        record(_plan(op, tensor._array.dtype), inputs, window or {}, (tensor,))


def _flows(tensor: Any) -> bool:
    return tensor._edge is not None and not tensor._stop


@cache
def _plan(op: Op, dtype: np.dtype[Any]) -> TapePlan:
    return TapePlan(op.opdef, None, True, [np.empty((), dtype)])


def _geometry(base: Any, view: Any) -> Mapping[str, Any] | None:
    """Returns the window that a view has of its base, as attributes of `as_strided`; None where it views others."""
    whole, part = base._array, view._array
    unit = whole.itemsize
    if not isinstance(whole, np.ndarray) or whole.dtype != part.dtype:
        return None
    if any(step % unit for step in (*whole.strides, *part.strides)):
        return None
    offset, rest = divmod(part.ctypes.data - whole.ctypes.data, unit)
    if rest:
        return None
    return {
        "size": list(part.shape),
        "stride": [step // unit for step in part.strides],
        "offset": offset if part.size else 0,
        "layout": [] if whole.flags.c_contiguous else [step // unit for step in whole.strides],
    }
