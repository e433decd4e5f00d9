"""LayerDict and ParameterDict: layers, or parameters, by name, that a layer registers."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from opsdk.core.errors import AttributeValueError
from opsdk.nn.layer.layer import Layer
from opsdk.nn.parameter import Parameter

_MISSING: Any = object()


# Any, in this file: layers of every kind, or parameters.
class _Named(Layer):
    """Entries under their names, with a dictionary's methods."""

    _store: str
    _kind: type

    def __init__(self, entries: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        self.update(entries or {})

    def update(self, entries: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        """Adds or replaces entries."""
        for name, entry in entries.items() if isinstance(entries, (Mapping, _Named)) else entries:
            self[name] = entry

    def keys(self) -> KeysView[str]:
        """Returns the names."""
        return self._held.keys()

    def values(self) -> ValuesView[Any]:
        """Returns the entries."""
        return self._held.values()

    def items(self) -> ItemsView[str, Any]:
        """Returns the names with their entries."""
        return self._held.items()

    def pop(self, name: str, default: Any = _MISSING) -> Any:
        """Takes an entry out and returns it; the default where there is none."""
        if default is not _MISSING and name not in self:
            return default
        entry = self[name]
        del self._held[name]
        return entry

    def clear(self) -> None:
        """Takes all entries out."""
        self._held.clear()

    @property
    def _held(self) -> dict[str, Any]:
        held: dict[str, Any] = self.__dict__[self._store]
        return held

    def __getitem__(self, name: str) -> Any:
        if name not in self._held:
            raise KeyError(f"{type(self).__name__}: no entry {name!r}; there are {', '.join(self._held) or 'none'}")
        return self._held[name]

    def __setitem__(self, name: str, entry: Any) -> None:
        if not isinstance(entry, self._kind):
            raise AttributeValueError(
                f"{type(self).__name__}, {name!r}: expected a {self._kind.__name__}, got {type(entry).__name__}"
            )
        self._held[name] = entry

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._held))

    def __contains__(self, name: object) -> bool:
        return name in self._held


class LayerDict(_Named):
    """Layers by name; it has no forward of its own.

    Args:
        sublayers: a mapping, or `(name, layer)` pairs.

    Raises:
        AttributeValueError: something that is no layer.
    """

    _store = "_sub_layers"
    _kind = Layer


class ParameterDict(_Named):
    """Parameters by name.

    Args:
        parameters: a mapping, or `(name, parameter)` pairs.

    Raises:
        AttributeValueError: something that is no parameter.
    """

    _store = "_parameters"
    _kind = Parameter


ModuleDict = LayerDict
