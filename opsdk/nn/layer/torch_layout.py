"""The way to PyTorch and back: what a layer's parameters are called there, and how they lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from opsdk.core.dtype import as_dtype
from opsdk.core.lazy import optional
from opsdk.nn.layer.state import state_tensors
from opsdk.nn.layer.tree import LayerTree
from opsdk.nn.parameter import UnsetTensor
from opsdk.ops.numpy_protocol import values_of

# Any, in this file: layers of whichever class, and PyTorch's tensors.


class TorchEntry(NamedTuple):
    """A parameter or buffer, in PyTorch.

    Attributes:
        name: what it is called there.
        axes: of an array of ours, in the order in which it lies there; None where it lies the same.
        shape: there, of an array that is one line here; None where it is the same.
    """

    name: str
    axes: tuple[int, ...] | None = None
    shape: tuple[int, ...] | None = None


class TorchLayout(NamedTuple):
    """What a layer declares of its own parameters and buffers; those that it leaves out are the same in PyTorch.

    Attributes:
        entries: by our name.
        only_there: by PyTorch's name what PyTorch has beside, with the value to write.
    """

    entries: Mapping[str, TorchEntry] = {}
    only_there: Mapping[str, Any] = {}

    def to_torch(self, own: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns a layer's own arrays by PyTorch's names, as they lie there."""
        there = {}
        for name, array in own.items():
            entry = self.entries.get(name, TorchEntry(name))
            turned = array if entry.axes is None else array.transpose(entry.axes)
            there[entry.name] = turned if entry.shape is None else turned.reshape(entry.shape)
        return {**there, **{name: np.asarray(value) for name, value in self.only_there.items()}}

    def from_torch(self, there: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Returns arrays by our names, as they lie here; what has no name here keeps PyTorch's."""
        back = {entry.name: (name, entry) for name, entry in self.entries.items()}
        own = {}
        for key, array in there.items():
            name, (_, axes, shape) = back.get(key, (key, TorchEntry(key)))
            if axes is not None and array.ndim == len(axes):  # one of another rank is told of by its shape
                array = array.transpose(np.argsort(axes))
            array = array.reshape(-1) if array.shape == shape else array
            if key not in self.only_there:
                own[name] = array
        return own


def to_torch(layer: Any, numpy: bool) -> dict[str, Any]:
    """Returns the state of a layer as PyTorch's counterpart has it, in new memory."""
    arrays = {}
    for path, each in layer.named_sublayers(include_self=True, remove_duplicate=False):
        own = {
            name: tensor.numpy()
            for name, tensor in state_tensors(each, below=False).items()
            if not isinstance(tensor, UnsetTensor)
        }
        arrays.update({_joined(path, name): array for name, array in each.torch_layout.to_torch(own).items()})
    copied = {name: np.array(array, order="C") for name, array in arrays.items()}
    return copied if numpy else {name: _as_torch(array) for name, array in copied.items()}


def from_torch(layer: LayerTree, state: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """Returns what PyTorch's counterpart of a layer gave as the layer's own state."""
    layers = dict(layer.named_sublayers(include_self=True, remove_duplicate=False))
    grouped: dict[str, dict[str, np.ndarray]] = {}
    for name, value in state.items():
        path, _, last = str(name).rpartition(".")
        grouped.setdefault(path, {})[last] = _as_array(value)
    own = {}
    for path, there in grouped.items():
        here = layers[path].torch_layout.from_torch(there) if path in layers else there
        own.update({_joined(path, name): array for name, array in here.items()})
    return own


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _as_array(value: Any) -> np.ndarray:
    """Returns a tensor of PyTorch's, of opsdk's or whatever NumPy makes an array of, as an array."""
    if type(value).__module__.partition(".")[0] != "torch":
        return np.asarray(values_of(value))
    plain = value.detach().cpu()
    if str(plain.dtype) == "torch.bfloat16":  # which NumPy does not know; float32 has all of its values
        return np.asarray(plain.float(), as_dtype("bfloat16"))
    return np.asarray(plain)


def _as_torch(array: np.ndarray) -> Any:
    torch = optional("torch", extra="torch", subject="to_torch_state_dict")
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
