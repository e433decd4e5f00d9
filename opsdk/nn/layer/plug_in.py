"""PlugIn: a net into which layers are put at any place, for as long as it trains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from opsdk.core.errors import AttributeValueError, HookError
from opsdk.core.suggest import alternatives
from opsdk.nn.layer.containers import LayerList
from opsdk.nn.layer.hooks import LayerHookHandle
from opsdk.nn.layer.layer import Layer

Self = TypeVar("Self", bound="PlugIn")
ENDS = "output", "input"


# Any, in this file: layers of whichever class, and what they take and return.
class _Plug:
    """What is put in at one place: a hook of a layer, which works while that layer trains."""

    def __init__(self, place: str, layer: Layer, call: Callable[..., Any], end: str) -> None:
        self.place, self.layer, self.call, self.end = place, layer, call, end

    def attach(self) -> LayerHookHandle:
        if self.end == "input":
            return self.layer.register_forward_pre_hook(self.on_input)
        return self.layer.register_forward_post_hook(self.on_output)

    def on_input(self, layer: Layer, inputs: Any) -> Any:
        return self.call(*inputs) if layer.training else None

    def on_output(self, layer: Layer, inputs: Any, output: Any) -> Any:
        return self.call(output) if layer.training else None


class PlugIn(Layer):
    """A net with layers put in at any place, which are there while it trains and gone while it is evaluated.

    It is a layer that computes what the net computes: parameters, buffers and state have the net's own names, so that
    its checkpoints are those of the bare net; plugs with parameters stand behind them as `plugs.0`, `plugs.1`. The
    net's attributes can be read through it.

    Args:
        model: the net.
        plugs: what is put in, by place: a mapping, or pairs, in which a place may stand twice. A place is the dotted
            name of a layer of the net, "" for the net, or the layer; a plug is a layer, or a function of the value
            that passes there. A triple says at which end besides.
        at: `output`: a plug gets what the layer returns, and gives what goes on; `input`: what the layer is called
            with.

    Raises:
        AttributeValueError: the net is no layer, a place is none of its layers, or another end.
        HookError: a plug is not callable.

    Example:
        >>> from opsdk import nn
        >>> net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
        >>> with nn.PlugIn(net, {"1": nn.Dropout(0.3)}) as noisy:
        ...     [name for name, _ in noisy.named_parameters()]
        ['0.weight', '0.bias', '2.weight', '2.bias']
    """

    def __init__(self, model: Layer, plugs: Mapping[Any, Any] | Iterable[Any], at: str = "output") -> None:
        super().__init__()
        if not isinstance(model, Layer):
            raise AttributeValueError(f"PlugIn: model expected a Layer, got {type(model).__name__}")
        entries = plugs.items() if isinstance(plugs, Mapping) else plugs
        self._plugs = [_plug(model, *(*entry, at)[:3]) for entry in entries]
        self._handles: list[LayerHookHandle] = []
        self._is_removed = False
        self.model = model
        self.plugs = LayerList([plug.call for plug in self._plugs if isinstance(plug.call, Layer)])
        self.train(model.training)

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Returns what the net returns."""
        return self.model(*inputs, **kwargs)

    def train(self: Self, mode: bool = True) -> Self:
        """Switches to training, with the plugs in, or with False to evaluation, without; returns self."""
        super().train(mode)
        self._unhook()
        if self.training and not self._is_removed:
            self._handles = [plug.attach() for plug in self._plugs]
        return self

    def remove(self) -> None:
        """Takes the plugs out for good: from here on the net is what it was."""
        self._is_removed = True
        self._unhook()

    def _unhook(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def named_sublayers(
        self,
        prefix: str = "",
        include_self: bool = False,
        layers_set: set[int] | None = None,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        """Yields this layer if asked to, the net and its layers under the names that they have there, then the plugs.

        The net itself has the name of this layer.
        """
        seen: set[int] = set() if layers_set is None else layers_set
        if include_self and not (remove_duplicate and id(self) in seen):
            seen.add(id(self))
            yield prefix, self
        yield from self.model.named_sublayers(prefix, True, seen, remove_duplicate)
        below = f"{prefix}.plugs" if prefix else "plugs"
        yield from self.plugs.named_sublayers(below, True, seen, remove_duplicate)

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if "model" not in self.__dict__.get("_sub_layers", ()):
                raise
            return getattr(self.model, name)

    def extra_repr(self) -> str:
        """Returns the places, by the ends of the layers there."""
        return ", ".join(f"{plug.end} of {plug.place or 'the net'}" for plug in self._plugs)


def _plug(model: Layer, place: Any, call: Any, end: str) -> _Plug:
    """Returns what is put in at a place."""
    if end not in ENDS:
        raise AttributeValueError(f"PlugIn: at expected {' or '.join(ENDS)}, got {end!r}")
    if not callable(call):
        raise HookError(f"PlugIn: a plug expected a layer or a function, got {type(call).__name__}")
    names = dict(model.named_sublayers(include_self=True))
    found = next(((name, layer) for name, layer in names.items() if layer is place or name == place), None)
    if found is None:
        got = f"a {type(place).__name__} that is none of them" if isinstance(place, Layer) else repr(place)
        listed = alternatives(place if isinstance(place, str) else "", [name for name in names if name])
        raise AttributeValueError(f"PlugIn: a place expected a layer of the net or its name, {listed}; got {got}")
    return _Plug(found[0], found[1], call, end)
