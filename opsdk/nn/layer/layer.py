"""Layer: the base of every layer and model."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from opsdk.autograd.conversions import asked_for, cuda_place
from opsdk.core.dtype import DTypeLike, as_dtype, is_differentiable
from opsdk.core.errors import AttributeValueError, DTypeError
from opsdk.core.place import CPU
from opsdk.nn.layer.hooks import HOOKS, Hooked, call_with_hooks
from opsdk.nn.layer.state import copy_in, move, state_tensors
from opsdk.nn.layer.torch_layout import TorchLayout, from_torch, to_torch
from opsdk.nn.layer.tree import LayerTree
from opsdk.nn.parameter import UnsetTensor

Self = TypeVar("Self", bound="Layer")


class IncompatibleKeys(NamedTuple):
    """What `load_state_dict` found amiss."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class Layer(Hooked, LayerTree):
    """Parameters, buffers and sublayers, and a `forward` that computes with them. A model is a layer too.

    A subclass calls `super().__init__()` first, sets parameters and sublayers as attributes, and defines `forward`.

    Args:
        name_scope: start of the layer's unique name; the class's name in snake case unless given.
        dtype: of the parameters that the layer creates.

    Example:
        >>> class Double(Layer):
        ...     def forward(self, x):
        ...         return x * 2.0
        >>> Double()
        Double()
    """

    torch_layout: ClassVar[TorchLayout] = TorchLayout()
    training: bool

    def __init__(self, name_scope: str | None = None, dtype: DTypeLike = "float32") -> None:
        super().__init__(name_scope, dtype)
        self.__dict__.update({name: OrderedDict() for name in HOOKS}, _hooked=False)

    # -- calling ------------------------------------------------------------------------------------------------------

    # Any: what a layer takes and returns is its own business.
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Computes the layer's output; a subclass defines it. Calling it directly bypasses the hooks."""
        raise NotImplementedError(
            f"layer {type(self).__name__}: expected a forward method, the class defines none; define forward(self, ...)"
        )

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Runs the pre hooks, `forward` and the post hooks."""
        if self._hooked:
            return call_with_hooks(self, inputs, kwargs)
        return self.forward(*inputs, **kwargs)

    def extra_repr(self) -> str:
        """Returns what is printed between the brackets after the class's name."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        children = [f"({name}): {Layer.__repr__(each)}" for name, each in self._sub_layers.items() if each is not None]
        head = type(self).__name__
        if not children and "\n" not in extra:
            return f"{head}({extra})"
        first, *rest = extra.split("\n")
        lines = [line for entry in (*rest, *children) for line in entry.split("\n")]  # indented by two spaces
        return "\n".join([f"{head}({first}", *(f"  {line}" for line in lines), ")"])

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

    # -- another place, another dtype ---------------------------------------------------------------------------------

    # Any: places, names of them, dtypes and tensors.
    def to(
        self: Self,
        *wanted: Any,
        device: Any = None,
        dtype: DTypeLike | None = None,
        blocking: bool | None = None,
        non_blocking: bool | None = None,
    ) -> Self:
        """Moves parameters and buffers to a place, casts real floating ones, or both; returns self.

        They stay the tensors that they are, so that optimizers go on with them, whose state follows; gradients come
        along. What a graph saved before stays where it was: call the forward again before a backward.

        Args:
            wanted: places or names of them, "cpu", "cuda", "gpu:0", dtypes, and tensors, whose place and dtype are
                meant, in any order.
            device: a place, or its name.
            dtype: a floating dtype; None leaves them.
            blocking: without meaning, and so is `non_blocking`.
            non_blocking: see there.

        Raises:
            PlaceError: there is no such device here, or `device` names none; nothing has changed.
            DTypeError: a dtype that is not floating; nothing has changed.
        """
        place, kind = asked_for("Layer.to", wanted, device, dtype)
        move(self, place, None if kind is None else _floating(kind, "Layer.to"))
        return self

    def astype(self: Self, dtype: DTypeLike) -> Self:
        """Casts real floating parameters and buffers, in place, and their gradients; returns self.

        Raises:
            DTypeError: a dtype that is not floating.
        """
        move(self, None, _floating(dtype, "Layer.astype"))
        return self

    type = astype

    def float(self: Self) -> Self:
        """Casts to float32."""
        return self.astype("float32")

    def double(self: Self) -> Self:
        """Casts to float64."""
        return self.astype("float64")

    def half(self: Self) -> Self:
        """Casts to float16."""
        return self.astype("float16")

    float16 = half

    def bfloat16(self: Self) -> Self:
        """Casts to bfloat16."""
        return self.astype("bfloat16")

    def cpu(self: Self) -> Self:
        """Moves to host memory, as `to` does; returns self."""
        return self.to(CPU)

    # Any: a number, a place, or its name.
    def cuda(self: Self, device_id: Any = None, blocking: bool | None = None, *, device: Any = None) -> Self:
        """Moves to a CUDA device, the first unless given, as `to` does; returns self.

        Args:
            device_id: its number, its place, or the name of that.
            blocking: without meaning.
            device: `device_id` in PyTorch's word.

        Raises:
            PlaceError: there is no such device here; nothing has changed.
        """
        return self.to(cuda_place("Layer.cuda", device_id if device is None else device))

    # -- its state, out and back in -----------------------------------------------------------------------------------

    # Any: the values of a state dictionary are tensors or arrays.
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
        walk: list[Layer] = []  # layers below before those that they are part of
        (self.apply if include_sublayers else lambda visit: visit(self))(walk.append)
        for layer in walk if use_hook else ():
            for hook in list(layer._state_pre_hooks.values()):
                hook.call(layer, structured_name_prefix, keep_vars)
        for name, tensor in state_tensors(self, structured_name_prefix, include_sublayers).items():
            if not isinstance(tensor, UnsetTensor):
                state[name] = tensor if keep_vars else tensor.detach()
        for layer in walk if use_hook else ():
            for hook in list(layer._state_hooks.values()):
                returned = hook.call(state)
                state = state if returned is None else returned
        return state

    def to_static_state_dict(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns `state_dict` and the buffers that it leaves out, which are not persistable."""
        state = self.state_dict(*args, **kwargs)
        held = self.named_buffers(include_sublayers=kwargs.get("include_sublayers", True), remove_duplicate=False)
        rest = {name: buffer for name, buffer in held if not isinstance(buffer, UnsetTensor)}
        return OrderedDict({**state, **{name: buffer for name, buffer in rest.items() if name not in state}})

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
        return copy_in(self, state_dict, use_structured_name, "set_state_dict")

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
        return IncompatibleKeys(*copy_in(self, state_dict, True, "load_state_dict", strict))

    # -- to PyTorch and back ------------------------------------------------------------------------------------------

    def to_torch_state_dict(self, numpy: bool = False) -> dict[str, Any]:
        """Returns the state as PyTorch's counterpart of this layer takes it: its names, its layouts, in new memory.

        Each layer declares in `torch_layout` what is called or lies otherwise there: the weight of a `Linear` is
        transposed, which a square one would not show by its shape.

        Args:
            numpy: gives arrays; PyTorch's tensors otherwise.

        Raises:
            MissingDependencyError: PyTorch is not installed, and tensors were asked for.
        """
        return to_torch(self, numpy)

    def from_torch_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> IncompatibleKeys:
        """Copies in what PyTorch's counterpart of this layer gave as `state_dict()`.

        Args:
            state_dict: PyTorch's tensors, or arrays, by PyTorch's names.
            strict: requires exactly the layer's names.

        Raises:
            StateDictError: as `load_state_dict` raises it, in this layer's names.
            ShapeError: a value has another shape than PyTorch's counterpart has; nothing is copied then.
        """
        if not isinstance(state_dict, Mapping):
            kind = type(state_dict).__name__
            raise AttributeValueError(f"from_torch_state_dict: expected a mapping from names to tensors, got {kind}")
        own = from_torch(self, state_dict)
        return IncompatibleKeys(*copy_in(self, own, True, "from_torch_state_dict", strict))


def _floating(dtype: DTypeLike, subject: str) -> np.dtype[Any]:
    wanted = as_dtype(dtype, subject)
    if not is_differentiable(wanted):
        raise DTypeError(f"{subject}: expected a floating dtype, got {wanted}")
    return wanted


Module = Layer
