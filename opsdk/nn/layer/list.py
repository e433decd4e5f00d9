"""LayerList and ParameterList: a list of layers, or of parameters, that a layer registers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.numbering import as_gap, as_position
from opsdk.nn.parameter import Parameter


# Any, in this file: layers of every kind, or parameters.
class _Numbered(Layer):
    """Entries under their numbers, with a list's methods."""

    _store: str
    _kind: type

    def __init__(self, entries: Iterable[Any] | None = None) -> None:
        super().__init__()
        self.extend(entries or ())

    def append(self, entry: Any) -> Any:
        """Adds an entry at the end; returns self."""
        self._held[str(len(self))] = self._checked(entry)
        return self

    def extend(self, entries: Iterable[Any]) -> Any:
        """Adds entries at the end; returns self."""
        for entry in entries:
            self.append(entry)
        return self

    def insert(self, index: int, entry: Any) -> None:
        """Puts an entry before the one at `index`, or at the end; those after it are renumbered.

        Raises:
            IndexError: the index is beyond the end or the start, where a list of Python's would take the nearest.
        """
        entries = list(self)
        entries.insert(as_gap(index, len(entries), type(self).__name__), self._checked(entry))
        self._renumber(entries)

    def pop(self, index: int = -1) -> Any:
        """Takes an entry out and returns it; those after it are renumbered."""
        entry = self[index]
        del self[index]
        return entry

    @property
    def _held(self) -> dict[str, Any]:
        held: dict[str, Any] = self.__dict__[self._store]
        return held

    def _checked(self, entry: Any) -> Any:
        if not isinstance(entry, self._kind):
            raise AttributeValueError(
                f"{type(self).__name__}: expected a {self._kind.__name__}, got {type(entry).__name__}"
            )
        return entry

    def _renumber(self, entries: list[Any]) -> None:
        self._held.clear()
        self._held.update({str(number): entry for number, entry in enumerate(entries)})

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._held[str(as_position(index, len(self), type(self).__name__))]

    def __setitem__(self, index: int, entry: Any) -> None:
        self._held[str(as_position(index, len(self), type(self).__name__))] = self._checked(entry)

    def __delitem__(self, index: int | slice) -> None:
        entries = list(self)
        if not isinstance(index, slice):
            as_position(index, len(self), type(self).__name__)
        del entries[index]
        self._renumber(entries)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._held.values()))

    def __contains__(self, entry: object) -> bool:
        return any(entry is held for held in self)

    def __add__(self, other: Iterable[Any]) -> Any:
        return type(self)([*self, *other])

    def __iadd__(self, other: Iterable[Any]) -> Any:
        return self.extend(other)


class LayerList(_Numbered):
    """A list of layers; it has no forward of its own.

    Args:
        sublayers: the first layers.

    Raises:
        AttributeValueError: something that is no layer.
    """

    _store = "_sub_layers"
    _kind = Layer


class ParameterList(_Numbered):
    """A list of parameters, with a list's indices, slices and negative indices.

    Args:
        parameters: the first parameters.

    Raises:
        AttributeValueError: something that is no parameter.
    """

    _store = "_parameters"
    _kind = Parameter


ModuleList = LayerList
