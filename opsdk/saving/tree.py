"""Nested values as JSON and arrays beside it, and back.

Each type has an entry with its two directions. JSON's own values stand for themselves, everything else for an object
whose first key begins with `$`. An array is named by the way to it, `fc.weight`, so that a state dictionary on disk is
a file of arrays by those names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import AttributeValueError, SavedFileError
from opsdk.core.random import Generator
from opsdk.define.op import Op, find_op
from opsdk.nn import functional
from opsdk.nn.layer.layer import Layer
from opsdk.nn.parameter import Parameter, UnsetTensor
from opsdk.saving.models import Classes, attributes_of, empty, fill, is_record

# Any, in this file: values of every type, and what JSON has.
Path = tuple[str, ...]  # the way to a value
_FUNCTIONS: dict[Any, Any] = {name: vars(functional)[name] for name in vars(functional)["__all__"]}
_DEEPEST = 100  # containers in one another; JSON's own reader gives up at a thousand


class Encoder:
    """Turns a value into JSON, and gathers its arrays.

    Args:
        subject: who saves, for messages.
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.arrays: dict[str, np.ndarray] = {}
        self._shared: dict[int, tuple[int, Any]] = {}  # by id, which the value itself keeps from being another's

    def text(self, value: Any) -> str:
        """Returns the JSON of a value.

        Raises:
            AttributeValueError: something in it is of no type that can be saved; the message says where.
        """
        return json.dumps(self.node(value, ()), separators=(",", ":"), allow_nan=False)

    def node(self, value: Any, path: Path) -> Any:
        """Returns what stands in JSON for a value; `path` is the way to it."""
        if value is None or type(value) in (bool, int, str):
            return value
        if len(path) > _DEEPEST:
            raise AttributeValueError(
                f"{self.subject}, {'.'.join(path[:4])} …: expected at most {_DEEPEST} containers in one another"
            )
        is_named = isinstance(value, tuple) and type(value) is not tuple and hasattr(value, "_asdict")
        for kind, encode in () if is_named else _ENCODED.items():
            if isinstance(value, kind):
                return encode(self, value, path)
        if is_named or is_record(value):
            return self._shared_once(value, lambda: {"$record": _class_of(value), **self._attributes(value, path)})
        if (name := getattr(value, "__name__", None)) in _FUNCTIONS and _FUNCTIONS[name] is value:
            return {"$function": name}
        got = f"{type(value).__name__} {getattr(value, '__qualname__', '')}".strip()
        raise AttributeValueError(
            f"{self.subject}, {'.'.join(path) or 'the value'}: expected tensors, arrays, numbers, texts, lists, "
            f"tuples, dictionaries, layers and dataclasses, got {got}; "
            "save what is needed of it, such as its state_dict()"
        )

    def _shared_once(self, value: Any, make: Callable[[], Any]) -> Any:
        """Returns the node of what may stand in several places: all but the first give the number of the first."""
        if id(value) in self._shared:
            return {"$same": self._shared[id(value)][0]}
        self._shared[id(value)] = len(self._shared), value
        return make()

    def _attributes(self, value: Any, path: Path) -> dict[str, Any]:
        return {
            part: {name: self.node(entry, (*path, name)) for name, entry in entries.items()}
            for part, entries in attributes_of(value).items()
        }

    def layer(self, layer: Layer, path: Path) -> Any:
        """Returns the node of a layer: its class by name, and everything that it is made of."""
        return self._shared_once(layer, lambda: {"$layer": _class_of(layer), **self._attributes(layer, path)})

    def tensor(self, tensor: Tensor, path: Path) -> Any:
        """Returns the node of a tensor; one that stands in several places, as a tied weight, is saved once."""
        return self._shared_once(tensor, lambda: self._tensor(tensor, path))

    def _tensor(self, tensor: Tensor, path: Path) -> dict[str, Any]:
        if isinstance(tensor, UnsetTensor):
            wanted = None if tensor._wanted is None else tensor._wanted.name
            return {"$unset": tensor.name, "dtype": wanted, "persistable": tensor.persistable}
        node: dict[str, Any] = {"$tensor": self.named(tensor._values(), path)}
        if tensor._name is not None:
            node["name"] = tensor._name
        if not tensor.stop_gradient:
            node["trained"] = True
        if isinstance(tensor, Parameter):
            coefficient = getattr(tensor.regularizer, "coeff", tensor.regularizer)
            options = [tensor.optimize_attr["learning_rate"], coefficient, tensor.need_clip]
            node["parameter"] = self.node(options, path)
        return node

    def named(self, array: np.ndarray, path: Path) -> str:
        """Takes an array; returns the name that it has in the file."""
        name = wanted = ".".join(path) or "value"
        number = 1
        while name in self.arrays or name == "__metadata__":
            number += 1
            name = f"{wanted}#{number}"
        self.arrays[name] = array
        return name

    def mapping(self, value: Mapping[Any, Any], path: Path) -> Any:
        """Returns the node of a dictionary; with keys that are no texts it is a list of pairs."""
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.node(entry, (*path, key)) for key, entry in value.items()}
        return {"$dict": [[self.node(k, (*path, "key")), self.node(v, (*path, str(k)))] for k, v in value.items()]}

    def sequence(self, value: Sequence[Any], path: Path) -> list[Any]:
        """Returns the node of a list."""
        return [self.node(entry, (*path, str(number))) for number, entry in enumerate(value)]


def _class_of(value: Any) -> str:
    return f"{type(value).__module__}:{type(value).__qualname__}"


# The first that fits counts, so a kind stands before those that it is one of.
_ENCODED: dict[type | tuple[type, ...], Callable[[Encoder, Any, Path], Any]] = {
    Layer: Encoder.layer,
    Tensor: Encoder.tensor,
    np.ndarray: lambda encoder, value, path: {"$array": encoder.named(value, path)},
    np.generic: lambda encoder, value, path: {"$scalar": encoder.named(np.asarray(value), path)},
    np.dtype: lambda encoder, value, path: {"$dtype": as_dtype(value, encoder.subject).name},
    bool: lambda encoder, value, path: bool(value),
    int: lambda encoder, value, path: int(value),
    str: lambda encoder, value, path: str(value),
    float: lambda encoder, value, path: float(value) if math.isfinite(value) else {"$float": repr(float(value))},
    complex: lambda encoder, value, path: {"$complex": [encoder.node(part, path) for part in (value.real, value.imag)]},
    bytes: lambda encoder, value, path: {"$bytes": value.hex()},
    slice: lambda encoder, value, path: {"$slice": encoder.sequence([value.start, value.stop, value.step], path)},
    Mapping: Encoder.mapping,
    list: Encoder.sequence,
    tuple: lambda encoder, value, path: {"$tuple": encoder.sequence(value, path)},
    (set, frozenset): lambda encoder, value, path: {"$set": encoder.sequence(sorted(value), path)},
    Op: lambda encoder, value, path: {"$op": value.opdef.name},
    Generator: lambda encoder, value, path: {"$generator": value.state_dict()},
}


class Decoder:
    """Turns JSON and arrays back into a value.

    Args:
        arrays: those of the file.
        classes: which layers and dataclasses a file may name.
        return_numpy: whether tensors come as arrays.
        subject: whose file it is, for messages.
    """

    def __init__(self, arrays: dict[str, np.ndarray], classes: Classes, return_numpy: bool, subject: str) -> None:
        self._arrays = arrays
        self._classes = classes
        self._return_numpy = return_numpy
        self._shared: list[Any] = []
        self._subject = subject

    def value(self, text: str) -> Any:
        """Returns the value of a text.

        Raises:
            SavedFileError: it is not one that `Encoder` wrote, or names a class that was not given.
            UnknownOpError: a layer holds an op that is not there.
        """
        try:
            return self._value(json.loads(text))
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError) as error:
            if hasattr(error, "code"):  # which says by itself what it is about
                raise
            raise SavedFileError(
                f"{self._subject}: expected values as opsdk.save writes them, {type(error).__name__}: {error}; damaged?"
            ) from error

    def _value(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self._value(entry) for entry in node]
        if not isinstance(node, dict):
            return node
        mark = next(iter(node), "")
        if mark.startswith("$"):
            return _DECODED[mark](self, node[mark], node)
        return {key: self._value(entry) for key, entry in node.items()}

    def tensor(self, name: str, node: dict[str, Any]) -> Any:
        """Returns a tensor, or its array."""
        array = self._arrays[name]
        if self._return_numpy:
            made: Any = array
        elif "parameter" in node:
            factor, coefficient, need_clip = self._value(node["parameter"])
            options = {"learning_rate": factor, "regularizer": coefficient, "need_clip": need_clip}
            made = Parameter(np.empty(0, array.dtype), node.get("trained", False), node.get("name"), **options)
            made._array = array
        else:
            made = Tensor(array, not node.get("trained", False))
            made._name = node.get("name")
        self._shared.append(made)
        return made

    def unset(self, name: str, node: dict[str, Any]) -> Any:
        """Returns a tensor without values."""
        self._shared.append(UnsetTensor(name, node["dtype"], bool(node["persistable"])))
        return self._shared[-1]

    def made(self, name: str, node: dict[str, Any]) -> Any:
        """Returns a layer, or a dataclass, of one of the classes that were given."""
        known, number = self._classes.find(name), len(self._shared)
        made = empty(known)
        self._shared.append(made)
        outside, self._return_numpy = self._return_numpy, False  # what a model is made of are tensors
        parts = {part: {key: self._value(held) for key, held in node[part].items()} for part in list(node)[1:]}
        self._return_numpy = outside
        if made is None:
            made = self._shared[number] = tuple.__new__(known, parts["fields"].values())
        else:
            fill(made, parts)
        return made

    def same(self, number: int, _: dict[str, Any]) -> Any:
        """Returns what stood before in another place."""
        return self._shared[number]

    def values(self, node: list[Any]) -> list[Any]:
        """Returns the values of a list."""
        return [self._value(entry) for entry in node]

    def array(self, name: str) -> np.ndarray:
        """Returns an array of the file."""
        return self._arrays[name]


def _generator(state: dict[str, int]) -> Generator:
    made = Generator(0)
    made.load_state_dict(state)
    return made


_DECODED: dict[str, Callable[[Decoder, Any, dict[str, Any]], Any]] = {
    "$layer": Decoder.made,
    "$record": Decoder.made,
    "$tensor": Decoder.tensor,
    "$unset": Decoder.unset,
    "$same": Decoder.same,
    "$array": lambda decoder, name, _: decoder.array(name),
    "$scalar": lambda decoder, name, _: decoder.array(name)[()],
    "$dtype": lambda _, name, __: as_dtype(name),
    "$float": lambda _, word, __: float(word),
    "$complex": lambda decoder, parts, _: complex(*decoder.values(parts)),
    "$bytes": lambda _, digits, __: bytes.fromhex(digits),
    "$slice": lambda decoder, parts, _: slice(*decoder.values(parts)),
    "$dict": lambda decoder, pairs, _: dict(decoder.values(pairs)),
    "$tuple": lambda decoder, parts, _: tuple(decoder.values(parts)),
    "$set": lambda decoder, parts, _: set(decoder.values(parts)),
    "$op": lambda _, name, __: find_op(name),
    "$function": lambda _, name, __: _FUNCTIONS[name],
    "$generator": lambda _, state, __: _generator(state),
}
