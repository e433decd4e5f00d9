"""Changes in place: what they are held to, so that the graph and its views stay true."""

from __future__ import annotations

from typing import Any

from opsdk.backends.overlap import check_changeable
from opsdk.core.errors import InPlaceError
from opsdk.core.modes import is_grad_enabled


class PartVersion(list[int]):
    """The version counter of what indexing made, and of all that shares its memory: a copy that looks like a part."""

    __slots__ = ()


# Any, in this file: a tensor, which stands one module above.
def check_in_place(tensor: Any, subject: str) -> None:
    """Checks that a tensor may be changed in place now.

    Raises:
        InPlaceError: it is a leaf that needs a gradient, or a view or the base of one in the graph, and recording is
            on; or indexing made it.
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
    if len(tensor._version) > 1 and tensor._edge is not None and is_grad_enabled():
        raise InPlaceError(
            f"{subject}: expected a tensor whose memory is its own, got one that shares it with a view in the graph; "
            "change a copy: clone()"
        )
