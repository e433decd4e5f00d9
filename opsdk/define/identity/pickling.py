"""Pickling: an op goes by its name; what belongs to it does not go by itself."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from opsdk.core.errors import DefinitionError

T = TypeVar("T", bound="ByItsOp")


class ByItsOp:
    """A part of an op, with functions of its author in it, that is had from the op and never from a pickle."""

    def __reduce__(self) -> NoReturn:
        """Refuses.

        Raises:
            DefinitionError: always.
        """
        refuse(self)

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: dict[int, Any]) -> T:
        return self  # it cannot change, and what points at it means this one


# Any: an object that has functions in it.
def refuse(part: Any) -> NoReturn:
    """Refuses to pickle a part of an op.

    Raises:
        DefinitionError: always.
    """
    kind = type(part).__name__
    at = f" of {part.origin}" if hasattr(part, "origin") else ""
    raise DefinitionError(
        f"pickle: expected an op, which goes by its name, got the {kind}{at}, with functions in it; pickle the op, and "
        "take what belongs to it from there"
    )
