"""Whole models: what a layer is made of, and the classes that a file may name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, SavedFileError
from opsdk.core.suggest import alternatives
from opsdk.nn.layer.hooks import HOOKS
from opsdk.nn.layer.layer import Layer
from opsdk.nn.parameter import Parameter

# Any, in this file: attributes of every type.
_OWN = (*HOOKS, "_hooked")  # attributes that stay behind
_STORES = {"_parameters": Parameter, "_sub_layers": Layer, "_buffers": Tensor}


class Classes:
    """The classes that a file may name: opsdk's own layers, and those that were given; nothing is imported for it.

    Args:
        given: classes of layers, and dataclasses.
        subject: who loads, for messages.

    Raises:
        AttributeValueError: something else was given.
    """

    def __init__(self, given: Iterable[type], subject: str) -> None:
        self._subject = subject
        self._given = [] if isinstance(given, (type, str)) else list(given)
        for each in [given] if isinstance(given, (type, str)) else self._given:
            if isinstance(given, (type, str)) or not (isinstance(each, type) and _is_allowed(each)):
                raise AttributeValueError(
                    f"{subject}: classes expected a list of layer classes and dataclasses, got {each!r}"
                )

    def find(self, name: str) -> Any:
        """Returns the class of a name, `module:Class`; the module counts only where several have that class.

        Raises:
            SavedFileError: no such class was given.
        """
        module, _, qualname = name.partition(":")
        near = [each for each in self._given if each.__qualname__ == qualname]
        exact = [
            each for each in (*near, *_own_layers(Layer)) if (each.__module__, each.__qualname__) == (module, qualname)
        ]
        found = exact or near
        if len(found) != 1:
            raise SavedFileError(
                f"{self._subject}: expected class {qualname[:80]!r} of module {module[:80]!r} among classes, got "
                f"{alternatives(qualname, [each.__qualname__ for each in self._given])}; "
                f"pass classes=[{qualname[:80]}], if you trust the file to fill it"
            )
        return found[0]


def _is_allowed(known: type) -> bool:
    return issubclass(known, Layer) or dataclasses.is_dataclass(known) or hasattr(known, "_fields")


def _own_layers(base: type) -> list[type]:
    """Returns opsdk's own layers that are loaded."""
    found: dict[type, None] = {}
    below: list[type] = list(base.__subclasses__())
    while below:
        known = below.pop()
        below += known.__subclasses__()
        if known.__module__.startswith("opsdk."):
            found[known] = None
    return list(found)


def is_record(value: Any) -> bool:
    """Whether a value is an instance of a dataclass, or a named tuple."""
    return not isinstance(value, type) and (dataclasses.is_dataclass(value) or isinstance(value, tuple))


def attributes_of(value: Any) -> dict[str, dict[str, Any]]:
    """Returns what a layer or dataclass is made of, in parts; a layer's hooks stay behind, as in copies."""
    if isinstance(value, tuple):
        return {"fields": value._asdict()}  # type: ignore[attr-defined]
    if is_record(value) and not isinstance(value, Layer):
        return {"fields": {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}}
    own = {name: held for name, held in vars(value).items() if name not in _OWN}
    return {**{store: own.pop(store) for store in _STORES}, "attributes": own}


def empty(known: type) -> Any:
    """Returns an instance without attributes, to be filled; None of a named tuple, which is never empty."""
    return None if issubclass(known, tuple) else object.__new__(known)


def fill(made: Any, parts: dict[str, dict[str, Any]]) -> None:
    """Gives an instance without attributes those that `attributes_of` gave."""
    if not isinstance(made, Layer):
        for name, value in parts["fields"].items():
            object.__setattr__(made, name, value)
        return
    Layer.__init__(made)
    for store, kind in _STORES.items():
        for name, value in parts[store].items():
            if value is not None and not isinstance(value, kind):
                raise ValueError(f"{type(made).__name__}.{name} is no {kind.__name__}")
        vars(made)[store].update(parts[store])
    kept = {name: held for name, held in parts["attributes"].items() if name not in (*_STORES, *_OWN)}
    vars(made).update(kept)
