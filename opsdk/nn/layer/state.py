"""LayerState: a layer's parameters and saved buffers as a dictionary, out and back in."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError, StateDictError
from opsdk.core.fit import as_numbers, fitted
from opsdk.core.suggest import alternatives
from opsdk.nn.layer.hooks import LayerHook, LayerHookHandle, LayerHooks
from opsdk.nn.layer.tree import LayerTree
from opsdk.nn.layer.unset import UnsetTensor
from opsdk.ops.numpy_protocol import values_of

NAME_TABLE = "StructuredToParameterName@@"  # an entry of Paddle's files that is no parameter


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found amiss."""

    missing_keys: list[str]
    unexpected_keys: list[str]


# Any, in this file: the values of a state dictionary are tensors or arrays.
class LayerState(LayerTree):
    """A layer whose state can be taken out and put back."""

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        super().__init__(name_scope, dtype)
        self._state_hooks = LayerHooks()

    def state_dict(
        self,
        destination: dict[str, Any] | None = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
        keep_vars: bool = True,
    ) -> dict[str, Any]:
        """Returns the parameters and persistable buffers by their dotted names.

        The tensors are the layer's own: what is done to them is done to the layer. A shared one stands under each of
        its names; a buffer without values yet is left out.

        Args:
            destination: a dictionary to fill.
            include_sublayers: also what lies below.
            structured_name_prefix: put before every name.
            use_hook: calls the hooks of `register_state_dict_hook`.
            keep_vars: False gives tensors outside of the graph, of the same memory.
        """
        state = OrderedDict() if destination is None else destination
        for name, tensor in self._state_tensors(structured_name_prefix, include_sublayers).items():
            if not isinstance(tensor, UnsetTensor):
                state[name] = tensor if keep_vars else tensor.detach()
        for hook in self._state_hooks if use_hook else ():
            returned = hook.call(state)
            state = state if returned is None else returned
        return state

    def _state_tensors(self, prefix: str = "", below: bool = True) -> dict[str, Tensor]:
        tensors: dict[str, Tensor] = {}
        for name, parameter in self._parameters.items():
            if parameter is not None:
                tensors[prefix + name] = parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._unsaved:
                tensors[prefix + name] = buffer
        for name, layer in self._sub_layers.items() if below else ():
            if layer is not None:
                assert isinstance(layer, LayerState)
                tensors.update(layer._state_tensors(f"{prefix}{name}."))
        return tensors

    def register_state_dict_hook(self, hook: Callable[[dict[str, Any]], Any]) -> LayerHookHandle:
        """Registers a function that sees `state_dict()`'s result on the way out, and may replace it."""
        return self._state_hooks.add("register_state_dict_hook", LayerHook(hook), prepend=False)

    def set_state_dict(
        self, state_dict: Mapping[str, Any], use_structured_name: bool = True
    ) -> tuple[list[str], list[str]]:
        """Copies values into the parameters and buffers of the same names; the rest stays as it is.

        Args:
            state_dict: tensors or arrays by name, of the shapes that the layer has; dtypes are converted.
            use_structured_name: the keys are dotted names; False: the parameters' own.

        Returns:
            The layer's names that were missing, and the names that the layer does not have.

        Raises:
            ShapeError: a value has another shape; nothing is copied then.
            StateDictError: a parameter of two names is given two values; nothing is copied then.
            AttributeValueError: no mapping, or a value that is no array.
        """
        missing, unexpected = _copy_in(self, state_dict, use_structured_name, "set_state_dict")
        return missing, unexpected

    set_dict = set_state_dict
    load_dict = set_state_dict

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        """Copies values into the parameters and buffers, in PyTorch's words.

        Args:
            state_dict: tensors or arrays by dotted name.
            strict: requires exactly the layer's names.
            assign: False; values are always copied.

        Raises:
            StateDictError: `strict`, and names are missing or unknown, or a parameter of two names is given two values;
                nothing is copied then.
            ShapeError: a value has another shape; nothing is copied then.
        """
        if assign:
            raise AttributeValueError("load_state_dict: assign expected False, got True; values are always copied")
        return IncompatibleKeys(*_copy_in(self, state_dict, True, "load_state_dict", strict))


def _copy_in(
    layer: LayerState, state: Mapping[str, Any], structured: bool, subject: str, strict: bool = False
) -> tuple[list[str], list[str]]:
    if not isinstance(state, Mapping):
        raise AttributeValueError(f"{subject}: expected a mapping from names to tensors, got {type(state).__name__}")
    targets = layer._state_tensors()
    if not structured:
        targets = {tensor.name: tensor for tensor in targets.values()}
    given = {name: value for name, value in state.items() if name != NAME_TABLE}
    missing = [name for name, t in targets.items() if name not in given and not isinstance(t, UnsetTensor)]
    unexpected = [name for name in given if name not in targets]
    if strict and (missing or unexpected):
        raise StateDictError(
            f"{subject}: expected exactly the keys of {type(layer).__name__}, missing: "
            f"{alternatives('', missing)}; unexpected: {alternatives('', unexpected)}; "
            "pass strict=False to load what fits",
            details={"missing": missing, "unexpected": unexpected},
        )
    pairs = [(name, tensor, _as_array(subject, name, given[name])) for name, tensor in targets.items() if name in given]
    for name, tensor, array in pairs:
        if not isinstance(tensor, UnsetTensor) and array.shape != tuple(tensor.shape):
            raise ShapeError(f"{subject}, {name!r}: expected shape {tuple(tensor.shape)}, got {array.shape}")
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
