"""Changes in place: what they are held to, so that the graph and its views stay true."""

from __future__ import annotations

from typing import Any
from weakref import ref

from opsdk.backends.call.overlap import check_changeable
from opsdk.core.errors import InPlaceError
from opsdk.core.modes import is_grad_enabled


class PartVersion(list[Any]):
    """The version counter of what indexing made, and of all that shares its memory: a copy that looks like a part."""

    __slots__ = ()


class _Detached(ref[Any]):
    """A tensor that shares memory with one that it was detached from, and by that has no part in its gradient."""

    __slots__ = ()


# Any, in this file: a tensor, which stands one module above.
def share(source: Any, made: Any, *, is_detached: bool = False) -> None:
    """Has a tensor that was made of another one's memory count changes with it, and both know of each other.

    A counter is a list: the count, and behind it all tensors that are alive, of this memory, once there are two.
    """
    counter = source._version
    if len(counter) == 1:
        counter.append(ref(source, counter.remove))
    else:
        is_detached = is_detached or any(known.__class__ is _Detached and known() is source for known in counter[1:])
    counter.append((_Detached if is_detached else ref)(made, counter.remove))
    made._version = counter


def check_in_place(tensor: Any, subject: str, *, is_recorded: bool = False) -> None:
    """Checks that a tensor may be changed in place now.

    Args:
        tensor: to be changed.
        subject: who asks.
        is_recorded: whether the change becomes part of the graph.

    Raises:
        InPlaceError: it is a leaf that needs a gradient, or a view or the base of one in the graph, and recording is
            on; or indexing made it; or the change is recorded, and not for another tensor that it happens to.
    """
    if is_grad_enabled() and not tensor.stop_gradient and tensor._edge is None:
        raise InPlaceError(
            f"{subject}: expected a tensor without stop_gradient=False or recording off, got a leaf that needs a "
            "gradient; change it inside opsdk.no_grad()"
        )
    if tensor._edge is not None and is_grad_enabled() and tensor._edge[0].is_alias(tensor._edge[1]):
        raise InPlaceError(
            f"{subject}: expected a tensor with memory of its own, got a view of one that the graph needs; "
            "change a copy: clone()"
        )
    check_unviewed(tensor, subject)
    if is_recorded and _others(tensor):
        raise InPlaceError(
            f"{subject}: expected a tensor whose memory is its own, since the change needs a gradient, got one that "
            "shares it with another tensor, which would change without; change a copy: clone()"
        )


def check_unviewed(tensor: Any, subject: str) -> None:
    """Checks that no view in the graph would change with a tensor, and keep a history that is then not its own.

    Nor is a copy changed by somebody who means the tensor that it was taken from.

    Raises:
        InPlaceError: one would, and recording is on; or indexing made the tensor, or its array cannot be changed.
    """
    check_changeable(tensor._array, subject)
    if tensor._version.__class__ is PartVersion:
        raise InPlaceError(
            f"{subject}: expected a whole tensor, got one that indexing made, a copy, so that what it was taken from "
            "would stay as it is; change the whole one with set_value, or a clone()"
        )
    if tensor._edge is not None and is_grad_enabled() and any(other._edge is not None for other in _others(tensor)):
        raise InPlaceError(
            f"{subject}: expected a tensor whose memory is its own, got one that shares it with a view in the graph; "
            "change a copy: clone()"
        )


def _others(tensor: Any) -> list[Any]:
    """Returns the tensors that change with one, but for those that were detached from it."""
    known = [(one, held) for one in tensor._version[1:] if (held := one()) is not None]
    is_detached = any(held is tensor and one.__class__ is _Detached for one, held in known)
    return [held for one, held in known if held is not tensor and (is_detached or one.__class__ is not _Detached)]
