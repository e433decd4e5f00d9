"""One interface to opsdk, PyTorch and Paddle: how each makes a tensor, names a dtype and gives a gradient."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

SURFACES = ("function", "method", "functional", "layer", "linalg")


class Library:
    """A library that the sweep calls.

    Args:
        name: what is imported: "opsdk", "torch" or "paddle".
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.root = importlib.import_module(name)
        self.functional = importlib.import_module(f"{name}.nn.functional")
        self.tensor_class = self.root.Tensor if name != "paddle" else type(self.root.to_tensor(1.0))
        self.owners = {
            "function": self.root,
            "method": self.tensor_class,
            "functional": self.functional,
            "layer": self.root.nn,
            "linalg": self.root.linalg,
        }

    def tensor(self, array: np.ndarray, needs_gradient: bool) -> Any:
        """Returns a tensor of an array's values and dtype."""
        if self.name == "torch":
            return self.root.tensor(array, requires_grad=needs_gradient)
        return self.root.to_tensor(array, stop_gradient=not needs_gradient)

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, self.tensor_class)

    def array(self, tensor: Any) -> np.ndarray:
        return np.asarray(tensor.detach().numpy() if self.name == "torch" else tensor.numpy())

    def is_tracked(self, tensor: Any) -> bool:
        """Whether a result has a gradient to give."""
        return bool(tensor.requires_grad) if self.name == "torch" else not tensor.stop_gradient

    def public(self, surface: str) -> set[str]:
        """Returns the public names of one surface that can be called."""
        owner = self.owners[surface]
        found = {name for name in dir(owner) if not name.startswith("_")}
        kept = {name for name in found if callable(getattr(owner, name, None))}
        if surface == "layer":
            kept = {name for name in kept if isinstance(getattr(owner, name), type)}
        elif surface != "method":
            kept = {name for name in kept if not isinstance(getattr(owner, name), type)}
        return kept
