"""functional_call: a layer as a function of its parameters, for transforms of functions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, ShapeError, StateDictError
from opsdk.core.origin import trimming
from opsdk.core.suggest import alternatives
from opsdk.nn.layer.layer import Layer


# Any, in this file: what a layer takes and returns.
@trimming
def functional_call(
    layer: Layer,
    parameters: Mapping[str, Tensor],
    args: Any = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    strict: bool = False,
) -> Any:
    """Returns what a layer gives with other tensors in the place of its parameters and buffers.

    The layer has its own again afterwards, whatever happens. Differentiable in the tensors, and these may be of a
    transform: `vmap` over models or examples, `jvp`, `hessian`.

    Args:
        layer: the layer; one thread at a time.
        parameters: tensors by dotted names, as `state_dict` has them; a shared parameter is replaced wherever it is.
        args: the arguments; a tuple, or one alone.
        kwargs: those by name.
        strict: whether each name of the layer is expected.

    Raises:
        StateDictError: a name that the layer does not have; or, with `strict`, one that is not given.
        AttributeValueError: something else than a tensor is given.
        ShapeError: a tensor of another shape.

    Example:
        >>> from opsdk.nn import Linear
        >>> from opsdk.autograd.creation import ones, zeros
        >>> layer = Linear(2, 1)
        >>> functional_call(layer, {"weight": ones([2, 1]), "bias": zeros([1])}, ones([1, 2])).tolist()
        [[2.0]]
    """
    positional = args if isinstance(args, tuple) else (args,)
    with _replaced(layer, parameters, strict):
        return layer(*positional, **(kwargs or {}))


@contextmanager
def _replaced(layer: Layer, given: Mapping[str, Any], strict: bool) -> Iterator[None]:
    places: dict[str, tuple[dict[str, Any], str]] = {}
    for path, each in layer.named_sublayers(include_self=True, remove_duplicate=False):
        for store in (each._parameters, each._buffers):
            head = f"{path}." if path else ""
            places |= {head + name: (store, name) for name, held in store.items() if held is not None}
    for name in given:
        if name not in places:
            raise StateDictError(
                f"functional_call: layer {type(layer).__name__} has no {name!r}; there are {alternatives(name, places)}"
            )
    missing = [name for name in places if name not in given]
    if strict and missing:
        raise StateDictError(f"functional_call: expected tensors for all names, got none for {', '.join(missing)}")
    chosen: dict[int, Any] = {}
    for name, value in given.items():
        store, key = places[name]
        if not isinstance(value, Tensor):
            raise AttributeValueError(f"functional_call: {name!r} expected a tensor, got {type(value).__name__}")
        if tuple(value.shape) != tuple(store[key].shape):
            raise ShapeError(
                f"functional_call: {name!r} expected shape {tuple(store[key].shape)}, got {tuple(value.shape)}"
            )
        chosen[id(store[key])] = value
    before = [(store, key, store[key]) for store, key in places.values() if id(store[key]) in chosen]
    try:
        for store, key, held in before:
            store[key] = chosen[id(held)]
        yield
    finally:
        for store, key, held in before:
            store[key] = held
