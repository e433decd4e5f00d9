"""`to_static`: a function or layer that is traced once for each kind of call, and run as what was traced."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np

from opsdk.autograd.creation import to_tensor
from opsdk.autograd.tensor import Tensor
from opsdk.core.bounded import Bounded
from opsdk.core.current import Current
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError
from opsdk.core.modes import is_grad_enabled
from opsdk.core.spec import shape_text
from opsdk.define.identity.callables import captured
from opsdk.jit.replay import Replay
from opsdk.jit.tracing import Traced, leaves, mapped, trace
from opsdk.nn.layer.hooks import HOOKS
from opsdk.nn.layer.layer import Layer
from opsdk.static.build.building import in_dynamic_mode
from opsdk.static.build.input import InputSpec
from opsdk.static.ir.program import Program
from opsdk.static.ir.variable import Variable

# Any, in this file: functions of every signature, arguments and results of every kind.
_MOST = 64  # kinds of calls of one function that are kept
_ENABLED = Current("enable_to_static", True)


class StaticFunction:
    """A function that runs as the Program that was traced of it; made by `to_static`.

    Attributes:
        function: the function itself.
        input_spec: what was declared of its arguments, or None.
    """

    def __init__(self, function: Callable[..., Any], input_spec: Sequence[Any] | None = None) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.input_spec = input_spec
        self._owner = getattr(function, "__self__", None)
        self._traced: Bounded[Any, tuple[Traced, Replay]] = Bounded(_MOST)
        self._latest: Traced | None = None

    def __get__(self, owner: Any, kind: type | None = None) -> StaticFunction:
        if owner is None:
            return self
        made = StaticFunction(self.function.__get__(owner, kind), self.input_spec)
        first: StaticFunction = vars(owner).setdefault(self.function.__name__, made)  # which stands before this one
        return first

    def __reduce__(self) -> tuple[Any, ...]:
        return StaticFunction, (self.function, self.input_spec)  # what was traced is of this one's layers

    @property
    def subject(self) -> str:
        """The function as messages name it."""
        return f"to_static, {getattr(self.function, '__qualname__', type(self.function).__name__)}"

    @property
    def program(self) -> Program:
        """The Program of the latest call, or of the declared arguments.

        Raises:
            AttributeValueError: there was no call, and nothing is declared.
        """
        return self.traced().program

    main_program = program

    def traced(self) -> Traced:
        """Returns what was traced for the latest call, or for the declared arguments."""
        if self._latest is None:
            if self.input_spec is None:
                raise AttributeValueError(
                    f"{self.subject}: expected a call, or input_spec, to know its arguments by, got neither; call it, "
                    "or pass input_spec=[InputSpec(shape, dtype)]"
                )
            self._latest = trace(self.function, [as_spec(entry) for entry in self.input_spec], {}, self.subject)
        return self._latest

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Runs the function as a Program; while another one is built, or where `enable_to_static(False)`, as it is."""
        if not in_dynamic_mode() or not _ENABLED.get():
            return self.function(*args, **options)
        given = [*leaves(list(args)), *leaves(options)]
        tensors = [to_tensor(one) if isinstance(one, np.ndarray) else one for one in given]
        tensors = [one for one in tensors if isinstance(one, Tensor)]
        if any(isinstance(one, Variable) for one in given):
            return self.function(*args, **options)
        specs, named = self._specs(args), mapped(options, (Tensor, np.ndarray), _spec_of)
        key = self._key(specs, named)
        held = self._traced.get(key)
        if held is None:
            traced = trace(self.function, specs, named, self.subject)
            held = self._traced[key] = traced, Replay(traced.program, traced.wanted, self.subject)
        traced, replay = held
        self._latest = traced
        values = dict(zip(traced.names, tensors, strict=True))
        made = replay({**traced.state, **values}, traced.wanted)
        return mapped(traced.outputs, Variable, lambda variable: made[variable.name])

    def _specs(self, args: Sequence[Any]) -> list[Any]:
        """Returns the arguments with specs for tensors: those that were declared, which the tensors have to fit."""
        found = [mapped(value, (Tensor, np.ndarray), _spec_of) for value in args]
        for number, declared in enumerate(self.input_spec or ()):
            if number < len(found):
                found[number] = self._fitted(declared, found[number], number)
        return found

    def _fitted(self, declared: Any, given: Any, number: int) -> Any:
        if not isinstance(declared, InputSpec) or not isinstance(given, InputSpec):
            return given
        what = f"{self.subject}, input {declared.name or number!r}"
        if given.dtype != declared.dtype:
            raise DTypeError(f"{what}: expected {declared.dtype}, as in input_spec, got {given.dtype}; cast it")
        if not declared.spec.admits(given.shape):
            expected = shape_text(declared.spec.shape)
            raise ShapeError(f"{what}: expected shape {expected}, as in input_spec, got {tuple(given.shape)}")
        return InputSpec(declared.spec.shape, declared.dtype, declared.name, given.stop_gradient)

    def _key(self, specs: list[Any], named: dict[str, Any]) -> Any:
        """Returns what calls of one kind have in common; what the layers are made of is part of it."""
        found = [self._owner] if isinstance(self._owner, Layer) else _layers(self.function)
        layers = [each for layer in found for each in layer.sublayers(include_self=True)]
        return _hashed([specs, named]), tuple(map(_made_of, layers)), is_grad_enabled()


def _layers(function: Callable[..., Any]) -> list[Layer]:
    """Returns the layers that a function reads: of an enclosing function, a global, an object of a method."""
    return [layer for _, layer in captured(function, lambda value: isinstance(value, Layer))]


def _made_of(layer: Layer) -> tuple[Any, ...]:
    tensors = (*layer._parameters.values(), *layer._buffers.values())
    hooks = [*map(id, chain.from_iterable(vars(layer)[name].values() for name in HOOKS))] if layer._hooked else ()
    return id(layer), layer.training, *map(id, tensors), *hooks


def _spec_of(value: Any) -> InputSpec:
    stop = value.stop_gradient if isinstance(value, Tensor) else True
    return InputSpec(value.shape, value.dtype, stop_gradient=stop)


def as_spec(value: Any) -> Any:
    """Returns a spec for what stands for an argument: an InputSpec, a tensor or array, or containers of them."""
    return mapped(value, (Tensor, np.ndarray), _spec_of)


def _hashed(value: Any) -> Any:
    if isinstance(value, InputSpec):
        return value.spec, value.name, value.stop_gradient
    if isinstance(value, dict):
        return "dict", tuple((key, _hashed(entry)) for key, entry in value.items())
    if isinstance(value, (list, tuple)):
        return type(value).__name__, tuple(map(_hashed, value))
    try:
        hash(value)
    except TypeError:
        return type(value).__name__, id(value)
    return type(value).__name__, value


def to_static(
    function: Any = None,
    input_spec: Sequence[Any] | None = None,
    build_strategy: Any = None,
    backend: str | None = None,
    full_graph: bool = True,
) -> Any:
    """Makes a function, or a layer's `forward`, run as a Program that is traced of it.

    It is traced once for each kind of call: shapes and dtypes of tensors, values of everything else, whether the layer
    is trained, and whether gradients are recorded. Sizes that `input_spec` leaves open are not told apart. What runs
    are the same calls on the same tensors, so values and gradients are bit for bit those of the function, and
    parameters stay the layer's own. Python code around the calls runs while tracing alone.

    Args:
        function: a function, a method, or a layer, whose `forward` it becomes; None makes a decorator.
        input_spec: an `InputSpec` for each argument that is a tensor.
        build_strategy: accepted as in Paddle.
        backend: accepted as in Paddle.
        full_graph: accepted as in Paddle; a function is one Program.

    Returns:
        A `StaticFunction`, or the layer.

    Raises:
        AttributeValueError: `function` is nothing that can be called.
        ProgramError: at a call: the function asks for the value of a tensor, as `if x.sum() > 0` does.

    Example:
        >>> import opsdk
        >>> @to_static
        ... def twice(x):
        ...     return x + x
        >>> float(twice(opsdk.ones([1])))
        2.0
    """
    if function is None:
        return functools.partial(to_static, input_spec=input_spec)
    if isinstance(function, Layer):
        if not isinstance(function.forward, StaticFunction):
            function.forward = StaticFunction(function.forward, input_spec)  # type: ignore[method-assign]
        return function
    if isinstance(function, StaticFunction):
        return function if input_spec is None else StaticFunction(function.function, input_spec)
    if not callable(function) or inspect.isclass(function):
        raise AttributeValueError(
            f"to_static: function expected a function, a method or a layer, got {type(function).__name__}"
        )
    return StaticFunction(function, input_spec)


def enable_to_static(enable: bool = True) -> None:
    """Has functions run as Programs from here on, or with False as they are, in this thread or task."""
    _ENABLED.change(bool(enable))


def not_to_static(function: Any = None) -> Any:
    """Returns a function as it is: tracing runs its Python code in any case, and records the calls that it makes."""
    return (lambda each: each) if function is None else function


def ignore_module(modules: Sequence[Any]) -> None:
    """Accepted as in Paddle, without effect: no code is converted, so that no module has to be left out."""


@contextmanager
def traced_in(layer: Layer, mode: bool) -> Any:
    """Switches a layer to training or evaluation for a `with` block, and each layer below back to what it was."""
    before = [(each, each.training) for each in layer.sublayers(include_self=True)]
    layer.train(mode)
    try:
        yield
    finally:
        for each, was in before:
            each.training = was
