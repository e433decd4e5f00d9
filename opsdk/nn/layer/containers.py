"""Containers: layers run one after another; and layers, or parameters, in a list or by name, that a layer registers."""

from __future__ import annotations

import operator
from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from opsdk.core.errors import AttributeValueError, NameClashError
from opsdk.nn.layer.layer import Layer
from opsdk.nn.parameter import Parameter

_MISSING: Any = object()


# Any, in this file: layers of every kind, or parameters; and what layers take and return.
class Sequential(Layer):
    """Layers, each of which takes what the one before returned.

    Args:
        layers: layers, `(name, layer)` pairs, or one list or ordered mapping of them. Layers without a name are called
            by their number.

    Raises:
        AttributeValueError: something that is no layer.
        NameClashError: two layers of one name.
    """

    def __init__(self, *layers: Any) -> None:
        super().__init__()
        if len(layers) == 1 and isinstance(layers[0], (list, Mapping)):
            layers = tuple(layers[0].items() if isinstance(layers[0], Mapping) else layers[0])
        for entry in layers:
            if isinstance(entry, (tuple, list)) and len(entry) == 2 and isinstance(entry[0], str):
                self._add(*entry)
            else:
                self.append(entry)

    def forward(self, x: Any) -> Any:
        """Returns what the last layer returns; without layers, x."""
        for layer in self._sub_layers.values():
            x = layer(x)
        return x

    def append(self, layer: Any) -> Sequential:
        """Adds a layer at the end, called by its number; returns self."""
        self._add(self._free_number(), layer)
        return self

    def extend(self, layers: Any) -> Sequential:
        """Adds layers at the end; returns self."""
        for layer in layers:
            self.append(layer)
        return self

    def insert(self, index: int, layer: Any) -> Sequential:
        """Puts a layer before the one at `index`, or at the end; layers called by their number are renumbered.

        Returns self.

        Raises:
            IndexError: the index is beyond the end or the start.
        """
        self._check(layer)
        entries = list(self._sub_layers.items())
        entries.insert(_as_position(index, len(entries), "Sequential", is_gap=True), ("0", layer))
        self._sub_layers.clear()
        for name, entry in entries:
            key = self._free_number() if name.isdigit() else name
            self._sub_layers[key] = entry
        return self

    def _free_number(self) -> str:
        """Returns the lowest number, from the count of the layers, that is not the name of one."""
        number = len(self)
        while str(number) in self._sub_layers:
            number += 1
        return str(number)

    def _add(self, name: str, layer: Any) -> None:
        self._check(layer)
        if name in self._sub_layers:
            raise NameClashError(f"Sequential: expected names that differ, got {name!r} twice")
        self.add_sublayer(name, layer)

    def _check(self, layer: Any) -> None:
        if not isinstance(layer, Layer):
            raise AttributeValueError(f"Sequential: expected layers or (name, layer) pairs, got {type(layer).__name__}")

    def __getitem__(self, index: int | slice | str) -> Any:
        if isinstance(index, slice):
            return Sequential(*list(self._sub_layers.items())[index])
        return self._sub_layers[self._key(index)]

    def __setitem__(self, index: int | str, layer: Any) -> None:
        self._check(layer)
        known = isinstance(index, int) or index in self._sub_layers
        self.add_sublayer(self._key(index) if known else str(index), layer)

    def __delitem__(self, index: int | str) -> None:
        del self._sub_layers[self._key(index)]

    def _key(self, index: int | str) -> str:
        if isinstance(index, str):
            if index not in self._sub_layers:
                raise KeyError(f"Sequential: no layer {index!r}; there are {', '.join(self._sub_layers) or 'none'}")
            return index
        return list(self._sub_layers)[_as_position(index, len(self), "Sequential")]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sub_layers.values())


class _Container(Layer):
    """Entries of one kind, among the sublayers or the parameters of the layer."""

    _store: str
    _kind: type

    @property
    def _held(self) -> dict[str, Any]:
        held: dict[str, Any] = self.__dict__[self._store]
        return held

    def _checked(self, entry: Any, where: str = "") -> Any:
        if not isinstance(entry, self._kind):
            raise AttributeValueError(
                f"{type(self).__name__}{where}: expected a {self._kind.__name__}, got {type(entry).__name__}"
            )
        return entry

    def __len__(self) -> int:
        return len(self._held)

    def extra_repr(self) -> str:
        """Returns parameters by shape and dtype, a line each; layers are told as everywhere."""
        told = self._held.items() if self._store == "_parameters" else ()
        return "".join(f"\n({name}): {type(each).__name__} {list(each.shape)}, {each.dtype}" for name, each in told)


class _Numbered(_Container):
    """Entries under their numbers, with a list's methods."""

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
        entries.insert(_as_position(index, len(entries), type(self).__name__, is_gap=True), self._checked(entry))
        self._renumber(entries)

    def pop(self, index: int = -1) -> Any:
        """Takes an entry out and returns it; those after it are renumbered."""
        entry = self[index]
        del self[index]
        return entry

    def _renumber(self, entries: list[Any]) -> None:
        self._held.clear()
        self._held.update({str(number): entry for number, entry in enumerate(entries)})

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._held[str(_as_position(index, len(self), type(self).__name__))]

    def clear(self) -> None:
        """Takes all entries out."""
        self._held.clear()

    def index(self, entry: Any) -> int:
        """Returns the position of an entry.

        Raises:
            ValueError: it is none.
        """
        return [id(held) for held in self].index(id(entry))

    def remove(self, entry: Any) -> None:
        """Takes an entry out; those after it are renumbered."""
        del self[self.index(entry)]

    def __setitem__(self, index: int | slice, entry: Any) -> None:
        if isinstance(index, slice):
            entries = list(self)
            entries[index] = [self._checked(each) for each in entry]
            return self._renumber(entries)
        self._held[str(_as_position(index, len(self), type(self).__name__))] = self._checked(entry)

    def __delitem__(self, index: int | slice) -> None:
        entries = list(self)
        if not isinstance(index, slice):
            _as_position(index, len(self), type(self).__name__)
        del entries[index]
        self._renumber(entries)

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
        modules: the same, in PyTorch's words.

    Raises:
        AttributeValueError: something that is no layer.
    """

    _store = "_sub_layers"
    _kind = Layer

    def __init__(self, sublayers: Any = None, *, modules: Any = None) -> None:
        super().__init__(sublayers if modules is None else modules)


class ParameterList(_Numbered):
    """A list of parameters, with a list's indices, slices and negative indices.

    Args:
        parameters: the first parameters.
        values: the same, in PyTorch's words.

    Raises:
        AttributeValueError: something that is no parameter.
    """

    _store = "_parameters"
    _kind = Parameter

    def __init__(self, parameters: Any = None, *, values: Any = None) -> None:
        super().__init__(parameters if values is None else values)


class _Named(_Container):
    """Entries under their names, with a dictionary's methods."""

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

    def get(self, name: str, default: Any = None) -> Any:
        """Returns an entry; the default where there is none."""
        return self._held.get(name, default)

    def setdefault(self, name: str, default: Any) -> Any:
        """Returns an entry; where there is none, adds the default first."""
        if name not in self._held:
            self[name] = default
        return self._held[name]

    def popitem(self) -> tuple[str, Any]:
        """Takes the last entry out and returns it with its name."""
        return self._held.popitem()

    def clear(self) -> None:
        """Takes all entries out."""
        self._held.clear()

    def __getitem__(self, name: str) -> Any:
        if name not in self._held:
            raise KeyError(f"{type(self).__name__}: no entry {name!r}; there are {', '.join(self._held) or 'none'}")
        return self._held[name]

    def __setitem__(self, name: str, entry: Any) -> None:
        self._held[name] = self._checked(entry, f", {name!r}")

    def __delitem__(self, name: str) -> None:
        self.pop(name)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._held))

    def __contains__(self, name: object) -> bool:
        return name in self._held


class LayerDict(_Named):
    """Layers by name; it has no forward of its own.

    Args:
        sublayers: a mapping, or `(name, layer)` pairs.
        modules: the same, in PyTorch's words.

    Raises:
        AttributeValueError: something that is no layer.
    """

    _store = "_sub_layers"
    _kind = Layer

    def __init__(self, sublayers: Any = None, *, modules: Any = None) -> None:
        super().__init__(sublayers if modules is None else modules)


class ParameterDict(_Named):
    """Parameters by name.

    Args:
        parameters: a mapping, or `(name, parameter)` pairs.

    Raises:
        AttributeValueError: something that is no parameter.
    """

    _store = "_parameters"
    _kind = Parameter

    def __init__(self, parameters: Any = None) -> None:
        super().__init__(parameters)


# Any: what a user writes between square brackets.
def _as_position(index: Any, length: int, subject: str, *, is_gap: bool = False) -> int:
    """Returns an index as a position in [0, length), or of a gap in [0, length]; negative ones count from the end.

    Raises:
        IndexError: there is no entry at that index, or before it.
        TypeError: the index is no integer.
    """
    position = operator.index(index)
    if not -length <= position < length + is_gap:
        words, end = ("index to insert at", "]") if is_gap else ("index", ")")
        raise IndexError(f"{subject}: {words} expected in [{-length}, {length}{end}, got {position}")
    return position if position >= 0 else position + length


ModuleList, ModuleDict = LayerList, LayerDict
