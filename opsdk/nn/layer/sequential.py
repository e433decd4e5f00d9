"""Sequential: layers run one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opsdk.core.errors import AttributeValueError, NameClashError
from opsdk.nn.layer.layer import Layer
from opsdk.nn.layer.numbering import as_gap, as_position, free_number


class Sequential(Layer):
    """Layers, each of which takes what the one before returned.

    Args:
        layers: layers, `(name, layer)` pairs, or one list or ordered mapping of them. Layers without a name are called
            by their number.

    Raises:
        AttributeValueError: something that is no layer.
        NameClashError: two layers of one name.
    """

    # Any, in this class: layers of every kind, and what they take and return.
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
            x = layer(x)  # type: ignore[operator, misc]
        return x

    def append(self, layer: Any) -> Sequential:
        """Adds a layer at the end, called by its number; returns self."""
        self._add(free_number(self._sub_layers), layer)
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
        entries: list[tuple[str, Any]] = list(self._sub_layers.items())
        entries.insert(as_gap(index, len(entries), "Sequential"), ("0", layer))
        self._sub_layers.clear()
        for name, entry in entries:
            key = free_number(self._sub_layers, len(self._sub_layers)) if name.isdigit() else name
            self._sub_layers[key] = entry
        return self

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
        return list(self._sub_layers)[as_position(index, len(self), "Sequential")]

    def __len__(self) -> int:
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._sub_layers.values())
