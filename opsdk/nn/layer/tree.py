"""LayerTree: what a layer is made of, and the walks over it and everything below it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import NoneType
from typing import Any, TypeVar

from opsdk.autograd.tensor import Tensor
from opsdk.core.current import Current
from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import AttributeValueError, LayerNameError
from opsdk.core.names import unique_name
from opsdk.define.frontend import at_once
from opsdk.nn.parameter import Parameter, UnsetTensor
from opsdk.ops.initializer import Constant, Initializer, XavierUniform, as_param_attr
from opsdk.ops.nets.structured import global_initializer

Self = TypeVar("Self", bound="LayerTree")
Visit = Callable[[Any], Any]  # Any: a layer of whichever class
# The dtype of layers that are made inside of a `with` block, whatever they say; None: what they say.
DTYPE: Current[DTypeLike | None] = Current("dtype of layers", None)
_STORES = {"_parameters": "a Parameter", "_sub_layers": "a Layer", "_buffers": "a Tensor"}


class Parameters(list[Parameter]):
    """The parameters of a layer. Optimizers keep state by their names; `next` gives one after the other.

    Attributes:
        names: by id of a parameter its dotted name.
    """

    def __init__(self, named: Iterable[tuple[str, Parameter]]) -> None:
        pairs = list(named)
        super().__init__(parameter for _, parameter in pairs)
        self.names = {id(parameter): name for name, parameter in pairs}
        self._next = 0

    def __next__(self) -> Parameter:
        if self._next >= len(self):
            raise StopIteration
        self._next += 1
        return self[self._next - 1]


# Any, in this file: attributes of every type, and layers of whichever class.
class LayerTree:
    """Parameters, sublayers and buffers, registered as they become attributes; and the tree that they are the root of.

    A `Parameter`, a layer or a tensor that becomes an attribute is registered: the parameter among `parameters()`, the
    layer among `sublayers()`, the tensor among `buffers()` (not saved, unless `register_buffer` says so). Walks go down
    from the layer, its own first; what is shared is met once.
    """

    _parameters: dict[str, Parameter | None]
    _sub_layers: dict[str, Any]
    _buffers: dict[str, Tensor | None]
    _unsaved: set[str]

    def __init__(self, name_scope: str | None = None, dtype: DTypeLike = "float32") -> None:
        own = self.__dict__
        own["training"] = True
        around = DTYPE.get()
        own["_dtype"] = as_dtype(dtype if around is None else around, "Layer, dtype")
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", type(self).__name__).lower()
        own["_full_name"] = unique_name(name_scope or snake)
        own["_parameters"], own["_sub_layers"], own["_buffers"] = {}, {}, {}
        own["_unsaved"] = set()

    def full_name(self) -> str:
        """Returns the layer's unique name, such as `linear_0`; its parameters' names start with it."""
        return str(self._full_name)

    # -- attributes ---------------------------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        if isinstance(value, (Tensor, LayerTree)):
            if "_parameters" not in own:
                raise AttributeValueError(
                    f"layer {type(self).__name__}: expected super().__init__() before attribute {name!r} is set; "
                    "call it first in __init__"
                )
            self._register(name, value)
        elif "_parameters" in own and (store := self._store_of(name)) is not None:
            if value is not None:
                raise AttributeValueError(
                    f"layer {type(self).__name__}, attribute {name!r}: expected {_STORES[store]} or None, "
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
        elif isinstance(value, LayerTree):
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
        if store == "_buffers":
            value._is_state = True
            if held != store:
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
            AttributeValueError: it is no layer.
            LayerNameError: the name is none, or taken by something else.
        """
        self._register_as("add_sublayer", "_sub_layers", name, sublayer, isinstance(sublayer, LayerTree))
        return sublayer

    def add_module(self, name: str, module: Any) -> None:
        """Registers a layer under a name, in PyTorch's words."""
        self.add_sublayer(name, module)

    register_module = add_module

    def add_parameter(self, name: str, parameter: Parameter | None) -> Parameter | None:
        """Registers a parameter under a name; returns it.

        Raises:
            AttributeValueError: it is neither a Parameter nor None.
            LayerNameError: the name is none, or taken by something else.
        """
        self._register_as("add_parameter", "_parameters", name, parameter, isinstance(parameter, (Parameter, NoneType)))
        return parameter

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a parameter under a name, in PyTorch's words."""
        self.add_parameter(name, param)

    def register_buffer(
        self, name: str, tensor: Tensor | None, persistable: bool = True, *, persistent: bool = True
    ) -> None:
        """Registers a tensor that is part of the layer's state but is not trained.

        Args:
            name: under which it becomes an attribute.
            tensor: the buffer; None reserves the name.
            persistable: whether `state_dict` has it.
            persistent: the same in PyTorch's word.

        Raises:
            AttributeValueError: it is no tensor.
            LayerNameError: the name is none, or taken by something else.
        """
        is_buffer = isinstance(tensor, (Tensor, NoneType)) and not isinstance(tensor, Parameter)
        self._register_as("register_buffer", "_buffers", name, tensor, is_buffer)
        if tensor is not None:
            tensor._is_state = True
        (self._unsaved.discard if persistable and persistent else self._unsaved.add)(name)

    def _register_as(self, subject: str, store: str, name: str, value: Any, is_right: bool) -> None:
        if not is_right:
            kind = f"{_STORES[store]}{'' if store == '_sub_layers' else ' or None'}"
            raise AttributeValueError(f"{subject} {name!r}: expected {kind}, got {type(value).__name__}")
        if "_parameters" not in self.__dict__:
            raise AttributeValueError(
                f"{subject} {name!r}: expected super().__init__() to have been called; call it first in __init__"
            )
        if not isinstance(name, str) or not name or "." in name:
            raise LayerNameError(f"{subject}: expected a name without '.', got {name!r}")
        if name not in self.__dict__[store] and hasattr(self, name):
            raise LayerNameError(
                f"{subject} {name!r}: expected a name that is free, layer {type(self).__name__} has an attribute of "
                "that name"
            )
        self.__dict__[store][name] = value

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
        usual = global_initializer(is_bias) or default_initializer
        default = usual or (Constant(0.0) if is_bias else XavierUniform())
        name = unique_name(f"{self._full_name}.{'b' if is_bias else 'w'}") if known.name is None else known.name
        first = (known.initializer or default).op(tuple(shape), dtype or self._dtype)
        made = Parameter(
            at_once(first[0], **first[1]),
            known.trainable,
            name,
            learning_rate=known.learning_rate,
            regularizer=known.regularizer,
            need_clip=known.need_clip,
        )
        if "values" not in first[1]:  # which are as many as the parameter's own
            made._initial = first
        return made

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

    def parameters(self, include_sublayers: bool = True) -> Parameters:
        """Returns all parameters, each once: a list that knows their dotted names, and that `next` takes."""
        return Parameters(self.named_parameters(include_sublayers=include_sublayers))

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

    def set_sublayer(self, target: str, layer: Any, strict: bool = False) -> None:
        """Puts a layer at a dotted path, in place of the one that is there.

        Args:
            target: the path.
            layer: what to put there.
            strict: one has to be there already.

        Raises:
            AttributeError: nothing is on the way, or, with `strict`, at the path.
        """
        path, _, name = target.rpartition(".")
        if strict:
            self.get_sublayer(target)
        self.get_sublayer(path).add_sublayer(name, layer)

    set_submodule = set_sublayer
