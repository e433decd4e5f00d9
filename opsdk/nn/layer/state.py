"""The state of a layer: its tensors by their dotted names, values copied back into them, and where they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.creation import to_tensor
from opsdk.autograd.device_tensor import put, tensor_of
from opsdk.autograd.tensor import Tensor
from opsdk.backends.memory.device import memory_at, place_of
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError, StateDictError
from opsdk.core.fit import as_numbers, fitted
from opsdk.core.place import Place
from opsdk.core.suggest import alternatives
from opsdk.nn.layer.tree import LayerTree
from opsdk.nn.parameter import UnsetTensor
from opsdk.ops.numpy_protocol import values_of

NAME_TABLE = "StructuredToParameterName@@"  # an entry of Paddle's files that is no parameter


def state_tensors(layer: LayerTree, prefix: str = "", below: bool = True) -> dict[str, Tensor]:
    """Returns a layer's parameters and saved buffers, a shared one under each of its names.

    Args:
        layer: whose they are.
        prefix: put before every name.
        below: also those of the layers below.
    """
    walk = layer.named_sublayers(include_self=True, remove_duplicate=False) if below else [("", layer)]
    tensors: dict[str, Tensor] = {}
    for path, each in walk:
        head = f"{prefix}{path}." if path else prefix
        saved = {name: buffer for name, buffer in each._buffers.items() if name not in each._unsaved}
        tensors |= {head + name: held for name, held in (each._parameters | saved).items() if held is not None}
    return tensors


# Any: the values of a state dictionary are tensors or arrays.
def copy_in(
    layer: LayerTree, state: Mapping[str, Any], structured: bool, subject: str, strict: bool = False
) -> tuple[list[str], list[str]]:
    """Copies values into the tensors of a layer's state, all of them or none.

    Args:
        layer: whose tensors they are.
        state: values by name.
        structured: the names are dotted ones; False: the parameters' own.
        subject: who copies, for messages.
        strict: requires exactly the layer's names.

    Returns:
        The layer's names that were missing, and the names that the layer does not have.
    """
    if not isinstance(state, Mapping):
        raise AttributeValueError(f"{subject}: expected a mapping from names to tensors, got {type(state).__name__}")
    targets = state_tensors(layer)
    if not structured:
        targets = {tensor.name: tensor for tensor in targets.values()}
    given = {name: value for name, value in state.items() if name != NAME_TABLE}
    missing = [name for name, t in targets.items() if name not in given and not isinstance(t, UnsetTensor)]
    unexpected = [name for name in given if name not in targets]
    pairs = [(name, tensor, _as_array(subject, name, given[name])) for name, tensor in targets.items() if name in given]
    wrong = {
        name: f"{name!r}: expected shape {tuple(tensor.shape)}, got {array.shape}"
        for name, tensor, array in pairs
        if not isinstance(tensor, UnsetTensor) and array.shape != tuple(tensor.shape)
    }
    details = {"missing": missing, "unexpected": unexpected, "wrong_shape": list(wrong)}
    if strict and (missing or unexpected):
        raise StateDictError(
            f"{subject}: expected exactly the keys of {type(layer).__name__}, missing: "
            f"{alternatives('', missing)}; unexpected: {alternatives('', unexpected)}; "
            f"{'of another shape: ' + '; '.join(wrong.values()) + '; ' if wrong else ''}"
            "pass strict=False to load what fits",
            details=details,
        )
    if wrong:
        raise ShapeError(f"{subject}, {'; '.join(wrong.values())}", details=details)
    for name, tensor, array in pairs:
        if not isinstance(tensor, UnsetTensor):
            fitted(array, tensor.dtype, f"{subject}, {name!r}")
    _check_tied(pairs, subject)
    own = {id(_memory(tensor._array)) for _, tensor, _ in pairs if not isinstance(tensor, UnsetTensor)}
    read = [array.copy() if id(_memory(array)) in own else array for _, _, array in pairs]  # before any is written
    for (_, tensor, _), array in zip(pairs, read, strict=True):
        tensor.set_value(array)
    return missing, unexpected


def _check_tied(pairs: Sequence[tuple[str, Tensor, np.ndarray]], subject: str) -> None:
    """Checks that a tensor of several names is given one value.

    Raises:
        StateDictError: it is given two, of which one would be lost.
    """
    first: dict[int, tuple[str, np.ndarray]] = {}
    for name, tensor, array in pairs:
        before, held = first.setdefault(id(tensor), (name, array))
        if held is not array and not np.array_equal(held, array, equal_nan=array.dtype.kind in "fc"):
            raise StateDictError(
                f"{subject}: expected one value for {before!r} and {name!r}, which are one parameter, got two; "
                "leave one of them out"
            )


def _memory(array: Any) -> Any:
    """Returns what the memory of an array belongs to (any: an array, or what lent it)."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array


def _as_array(subject: str, name: str, value: Any) -> np.ndarray:
    try:
        return as_numbers(values_of(value), f"{subject}, {name!r}")
    except (DTypeError, ValueError) as error:
        if isinstance(error, DTypeError) and isinstance(value, np.ndarray):
            raise
        raise AttributeValueError(
            f"{subject}, {name!r}: expected a tensor or array, got {type(value).__name__}"
        ) from error


def move(layer: LayerTree, place: Place | None, dtype: np.dtype[Any] | None) -> None:
    """Moves parameters and buffers with their gradients to a place, and casts real floating ones; all or none.

    Args:
        layer: with all below it.
        place: None leaves them where they are.
        dtype: a floating one; None leaves them as they are.

    Raises:
        PlaceError: there is no such device here.
    """
    if place is not None:
        memory_at(place, "Layer.to")
    tensors = [each for each in (*layer.parameters(), *layer.buffers()) if not isinstance(each, UnsetTensor)]
    grads = [each._grad if isinstance(each._grad, Tensor) else None for each in tensors]
    made = [
        (_made(each, place, dtype), None if grad is None else _made(grad, place, dtype))
        for each, grad in zip(tensors, grads, strict=True)
    ]
    for tensor, (array, grad) in zip(tensors, made, strict=True):
        if tensor._array.dtype != array.dtype:
            tensor.__dict__.pop("_initial", None)  # an initializer draws other numbers in another dtype
        if tensor._array is not array:
            put(tensor, array)
        if grad is not None:
            tensor._grad = tensor_of(grad)  # what backwards have gathered counts in the next step
    for each in layer.sublayers(include_self=True) if dtype is not None else ():
        each._dtype = dtype


# Any: an array of a place.
def _made(tensor: Tensor, place: Place | None, dtype: np.dtype[Any] | None) -> Any:
    """Returns what a tensor holds in a dtype and at a place: its own array where it is so already."""
    array = tensor._array
    is_cast = dtype is not None and array.dtype.kind != "c" and is_differentiable(array.dtype)
    if is_cast and array.dtype != dtype:
        array = array.astype(dtype)
    is_moved = place is not None and place_of(array) != place
    return to_tensor(tensor_of(array), place=place)._array if is_moved else array
