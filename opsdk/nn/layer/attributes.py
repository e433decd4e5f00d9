"""LayerAttributes: a layer's parameters, sublayers and buffers, registered as they become attributes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from opsdk.autograd.tensor import Tensor
from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import AttributeValueError, NameClashError
from opsdk.core.names import unique_name
from opsdk.nn.layer.unset import UnsetTensor
from opsdk.nn.parameter import Parameter, make_parameter
from opsdk.ops.initializer import Constant, Initializer, XavierUniform, as_param_attr

_STORES = ("_parameters", "_sub_layers", "_buffers")


# Any, in this file: attributes of every type.
class LayerAttributes:
    """What a layer is made of.

    A `Parameter`, a layer or a tensor that becomes an attribute is registered: the parameter among `parameters()`, the
    layer among `sublayers()`, the tensor among `buffers()` (not saved, unless `register_buffer` says so).
    """

    _parameters: dict[str, Parameter | None]
    _sub_layers: dict[str, LayerAttributes | None]
    _buffers: dict[str, Tensor | None]
    _unsaved: set[str]

    def __init__(self, name_scope: str | None = None, dtype: DTypeLike = "float32") -> None:
        own = self.__dict__
        own["training"] = True
        own["_dtype"] = as_dtype(dtype)
        own["_full_name"] = unique_name(name_scope or _snake(type(self).__name__))
        own["_parameters"], own["_sub_layers"], own["_buffers"] = {}, {}, {}
        own["_unsaved"] = set()

    def full_name(self) -> str:
        """Returns the layer's unique name, such as `linear_0`; its parameters' names start with it."""
        return str(self._full_name)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, (Tensor, LayerAttributes)):
            if "_parameters" not in own:
                raise AttributeValueError(
                    f"layer {type(self).__name__}: expected super().__init__() before attribute {name!r} is set; "
                    "call it first in __init__"
                )
            self._register(name, value)
        elif "_parameters" in own and (store := self._store_of(name)) is not None:
            if value is not None:
                raise AttributeValueError(
                    f"layer {type(self).__name__}, attribute {name!r}: expected {_KINDS[store]} or None, "
                    f"got {type(value).__name__}"
                )
            if store == "_buffers":
                del own[store][name]
            else:
                own[store][name] = None
        else:
            object.__setattr__(self, name, value)

    def _register(self, name: str, value: Any) -> None:
        store = "_buffers"
        if isinstance(value, Parameter):
            store = "_parameters"
        elif isinstance(value, LayerAttributes):
            store = "_sub_layers"
        held = self._store_of(name)
        if held == "_parameters" and store != held:
            raise AttributeValueError(
                f"layer {type(self).__name__}, attribute {name!r}: expected a Parameter or None, "
                f"got {type(value).__name__}; to change its values use set_value"
            )
        if held is not None and held != store:
            del self.__dict__[held][name]
        self.__dict__.pop(name, None)
        if store == "_buffers" and held != store:
            self._unsaved.add(name)
        self.__dict__[store][name] = value

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for store in _STORES:
            if store in own and name in own[store]:
                return own[store][name]
        missing = "" if "_parameters" in own else "; super().__init__() was not called"
        raise AttributeError(f"layer {type(self).__name__}: no attribute {name!r}{missing}", name=name, obj=self)

    def __delattr__(self, name: str) -> None:
        store = self._store_of(name)
        if store is None:
            object.__delattr__(self, name)
        else:
            del self.__dict__[store][name]
            self._unsaved.discard(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name for store in _STORES for name in self.__dict__.get(store, ()))]

    def _store_of(self, name: str) -> str | None:
        return next((store for store in _STORES if name in self.__dict__.get(store, ())), None)

    # -- registering by name ------------------------------------------------------------------------------------------

    def add_sublayer(self, name: str, sublayer: Any) -> Any:
        """Registers a layer under a name, as if it had been set as an attribute; returns it.

        Raises:
            AttributeValueError: it is no layer, or the name is no name.
            NameClashError: the name is taken by something else.
        """
        if not isinstance(sublayer, LayerAttributes):
            raise AttributeValueError(f"add_sublayer {name!r}: expected a Layer, got {type(sublayer).__name__}")
        self._check_name("add_sublayer", name, "_sub_layers")
        self._sub_layers[name] = sublayer
        return sublayer

    def add_module(self, name: str, module: Any) -> None:
        """Registers a layer under a name, in PyTorch's words."""
        self.add_sublayer(name, module)

    register_module = add_module

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Registers a parameter under a name; returns it.

        Raises:
            AttributeValueError: it is neither a Parameter nor None, or the name is no name.
            NameClashError: the name is taken by something else.
        """
        if parameter is not None and not isinstance(parameter, Parameter):
            raise AttributeValueError(
                f"add_parameter {name!r}: expected a Parameter or None, got {type(parameter).__name__}"
            )
        self._check_name("add_parameter", name, "_parameters")
        self._parameters[name] = parameter
        return parameter

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a parameter under a name, in PyTorch's words."""
        self.add_parameter(name, param)

    def register_buffer(self, name: str, tensor: Tensor | None, persistable: bool = True) -> None:
        """Registers a tensor that is part of the layer's state but is not trained.

        Args:
            name: under which it becomes an attribute.
            tensor: the buffer; None reserves the name.
            persistable: whether `state_dict` has it.

        Raises:
            AttributeValueError: it is no tensor, or the name is no name.
            NameClashError: the name is taken by something else.
        """
        if tensor is not None and (isinstance(tensor, Parameter) or not isinstance(tensor, Tensor)):
            raise AttributeValueError(
                f"register_buffer {name!r}: expected a Tensor or None, got {type(tensor).__name__}"
            )
        self._check_name("register_buffer", name, "_buffers")
        self._buffers[name] = tensor
        (self._unsaved.discard if persistable else self._unsaved.add)(name)

    def _check_name(self, subject: str, name: str, store: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeValueError(
                f"{subject} {name!r}: expected super().__init__() to have been called; call it first in __init__"
            )
        if not isinstance(name, str) or not name or "." in name:
            raise AttributeValueError(f"{subject}: expected a name without '.', got {name!r}")
        if name not in self.__dict__[store] and hasattr(self, name):
            raise NameClashError(
                f"{subject} {name!r}: expected a name that is free, layer {type(self).__name__} has an attribute of "
                "that name"
            )

    # -- making -------------------------------------------------------------------------------------------------------

    def create_parameter(
        self,
        shape: Sequence[int],
        attr: Any = None,
        dtype: DTypeLike | None = None,
        is_bias: bool = False,
        default_initializer: Initializer | None = None,
    ) -> Parameter | None:
        """Returns a new parameter; it is registered once it becomes an attribute.

        Args:
            shape: sizes, all known.
            attr: a `ParamAttr`, an initializer or a name; False gives None.
            dtype: of the parameter; the layer's unless given.
            is_bias: zeros unless said otherwise, and `b` in its name.
            default_initializer: where `attr` has none; zeros for a bias, Xavier's uniform values for the rest.
        """
        known = as_param_attr(attr, "create_parameter: attr")
        if known is None:
            return None
        default = default_initializer or (Constant(0.0) if is_bias else XavierUniform())
        name = unique_name(f"{self._full_name}.{'b' if is_bias else 'w'}") if known.name is None else known.name
        return make_parameter(tuple(shape), dtype or self._dtype, known, default, name)

    def create_tensor(
        self, name: str | None = None, persistable: bool | None = None, dtype: DTypeLike | None = None
    ) -> Tensor:
        """Returns a tensor without values, to be filled with `opsdk.assign`."""
        known = f"{self._full_name}.{name}" if name else unique_name(f"{self._full_name}.tensor")
        return UnsetTensor(known, dtype, bool(persistable))

    create_variable = create_tensor

    # -- reading, one level -------------------------------------------------------------------------------------------

    def children(self) -> Iterator[Any]:
        """Yields the immediate sublayers, each once, in the order of registration."""
        return (layer for _, layer in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yields the immediate sublayers with their names, each once."""
        seen: set[int] = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and id(layer) not in seen:
                seen.add(id(layer))
                yield name, layer


_KINDS = {"_parameters": "a Parameter", "_sub_layers": "a Layer", "_buffers": "a Tensor"}


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()
