"""LayerTree: walks over a layer and everything below it, and what is done to all of it at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from opsdk.autograd.tensor import Tensor
from opsdk.nn.layer.attributes import LayerAttributes
from opsdk.nn.parameter import Parameter

Self = TypeVar("Self", bound="LayerTree")
Visit = Callable[[Any], Any]  # Any: a layer of whichever class


# Any, in this file: layers of whichever class.
class LayerTree(LayerAttributes):
    """A layer as the root of a tree. Walks go down from it, its own first; what is shared is met once."""

    # -- layers -------------------------------------------------------------------------------------------------------

    def named_sublayers(
        self,
        prefix: str = "",
        include_self: bool = False,
        layers_set: set[int] | None = None,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yields all layers below this one with their dotted names, parents first.

        Args:
            prefix: put before every name, with a dot.
            include_self: starts with this layer, named `prefix`.
            layers_set: ids of layers to leave out; those that are met are added.
            remove_duplicate: yields a layer that stands in two places once.
        """
        seen: set[int] = set() if layers_set is None else layers_set
        if include_self and not (remove_duplicate and id(self) in seen):
            seen.add(id(self))
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is None or (remove_duplicate and id(layer) in seen):
                continue
            assert isinstance(layer, LayerTree)
            below = f"{prefix}.{name}" if prefix else name
            yield from layer.named_sublayers(below, True, seen, remove_duplicate)

    def sublayers(self, include_self: bool = False) -> list[Any]:
        """Returns all layers below this one, parents first."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Yields this layer and all below it with their names, in PyTorch's words."""
        return self.named_sublayers(prefix, True, memo, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """Yields this layer and all below it, in PyTorch's words."""
        return (layer for _, layer in self.named_modules())

    def apply(self: Self, fn: Visit) -> Self:
        """Calls a function on every layer below, children before their parents, and then on this one; returns self."""
        for layer in self.children():
            layer.apply(fn)
        fn(self)
        return self

    # -- parameters and buffers ---------------------------------------------------------------------------------------

    def named_parameters(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Yields all parameters with their dotted names; a shared one once, under its first name."""
        return self._named("_parameters", prefix, include_sublayers, remove_duplicate)

    def parameters(self, include_sublayers: bool = True) -> list[Parameter]:
        """Returns all parameters, each once."""
        return [parameter for _, parameter in self.named_parameters(include_sublayers=include_sublayers)]

    def named_buffers(
        self, prefix: str = "", include_sublayers: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Yields all buffers with their dotted names; a shared one once, under its first name."""
        return self._named("_buffers", prefix, include_sublayers, remove_duplicate)

    def buffers(self, include_sublayers: bool = True) -> list[Tensor]:
        """Returns all buffers, each once."""
        return [buffer for _, buffer in self.named_buffers(include_sublayers=include_sublayers)]

    def _named(self, store: str, prefix: str, below: bool, unique: bool) -> Iterator[tuple[str, Any]]:
        layers = self.named_sublayers(prefix, True, None, unique) if below else iter([(prefix, self)])
        seen: set[int] = set()
        for path, layer in layers:
            for name, value in layer.__dict__[store].items():
                if value is None or (unique and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    # -- by path ------------------------------------------------------------------------------------------------------

    def get_sublayer(self, target: str) -> Any:
        """Returns the layer at a dotted path; "" is this one.

        Raises:
            AttributeError: nothing has that name.
        """
        found: Any = self
        for name in target.split(".") if target else ():
            found = getattr(found, name)
        return found

    get_submodule = get_sublayer

    def get_parameter(self, target: str) -> Any:
        """Returns the parameter at a dotted path."""
        return self.get_sublayer(target)

    def get_buffer(self, target: str) -> Any:
        """Returns the buffer at a dotted path."""
        return self.get_sublayer(target)

    def set_sublayer(self, target: str, layer: Any) -> None:
        """Puts a layer at a dotted path, in place of the one that is there."""
        path, _, name = target.rpartition(".")
        self.get_sublayer(path).add_sublayer(name, layer)

    set_submodule = set_sublayer

    # -- all at once --------------------------------------------------------------------------------------------------

    def train(self: Self, mode: bool = True) -> Self:
        """Switches this layer and all below it to training, or with False to evaluation; returns self."""
        for layer in self.sublayers(include_self=True):
            layer.training = bool(mode)
        return self

    def eval(self: Self) -> Self:
        """Switches this layer and all below it to evaluation; gradients still flow. Returns self."""
        return self.train(False)

    def clear_gradients(self, set_to_zero: bool = True) -> None:
        """Sets the gradient of every parameter that has one to zeros, or to None."""
        for parameter in self.parameters():
            parameter.clear_gradient(set_to_zero)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Sets the gradient of every parameter to None, or to zeros, in PyTorch's words."""
        self.clear_gradients(not set_to_none)

    def requires_grad_(self: Self, requires_grad: bool = True) -> Self:
        """Makes every parameter trainable, or none; returns self."""
        for parameter in self.parameters():
            parameter.stop_gradient = not requires_grad
        return self
