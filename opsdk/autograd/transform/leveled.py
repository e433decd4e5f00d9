"""Leveled values: tensors that stand for others inside of a transform of functions, as `vmap` and `jvp` are.

Each run of a transform is an interceptor with a level, and its values are of that level. The innermost one in which a
call has a value serves it, by calls on what the values stand for, which the transforms around it see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, NoReturn

import numpy as np

from opsdk.autograd.tape import lift
from opsdk.autograd.tensor import Count, Tensor
from opsdk.backends.call.normalise import as_outputs
from opsdk.backends.memory.device import memory_at
from opsdk.core.errors import GraphError, InPlaceError
from opsdk.core.nested import each, flat
from opsdk.core.place import Place
from opsdk.core.spec import SizeList
from opsdk.define.call import body_attrs, cut_off
from opsdk.define.frontend import at_once, dispatch
from opsdk.define.interceptors import Interceptor
from opsdk.define.opdef import OpDef

_levels = count(1)


# Any, in this file: the values of a call.
class Leveled(Tensor):
    """A tensor of a transform. It has shape and dtype; what asks for its array is refused by name.

    Args:
        owner: the run of the transform that it belongs to.
        value: the tensor that stands for it one level further out.
    """

    __slots__ = ("_owner", "_value")

    def __init__(self, owner: Transform, value: Tensor) -> None:
        self._owner, self._value = owner, value
        self._edge = self._hooks = self._grad = None
        self._version = [0]

    def __getattr__(self, name: str) -> NoReturn:  # what is not there: the array
        if name != "_array":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise GraphError(
            f"{self._owner.name}: expected ops on the values inside of the function, which have no array of their own: "
            "they are not read (numpy(), item(), if, float()), not changed in place and not used after it returned"
        )

    @property
    def _stop(self) -> bool:  # type: ignore[override]
        return self._value._stop

    @property
    def shape(self) -> list[int]:
        """Sizes."""
        return SizeList(self._sizes())

    def _sizes(self) -> tuple[int, ...]:
        return tuple(self._value.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Element type."""
        return self._value.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._sizes())

    @property
    def size(self) -> Count:
        """Number of elements."""
        return Count(self._sizes())

    @property
    def place(self) -> Place:
        """Where its values live."""
        return self._value.place

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made it."""
        return self._value.is_leaf

    def __len__(self) -> int:
        return self._sizes()[0]

    def __repr__(self) -> str:
        return f"<value of {self._owner.name}: shape={list(self._sizes())}, dtype={self.dtype}>"

    def __deepcopy__(self, *memo: Any) -> Any:
        return self._array  # refuses

    __copy__ = __getstate__ = __deepcopy__

    def register_hook(self, hook: Any) -> Any:
        """Refuses: a hook belongs to a tensor of a graph, which this stands for."""
        return self._array

    def retain_grads(self) -> None:
        """Refuses, likewise."""
        return self._array

    def detach(self) -> Tensor:
        """Returns the value outside of the graph."""
        return self._owner.detached(self)


class Transform(Interceptor):
    """One run of a transform: its level, and how it serves calls on its values.

    Attributes:
        name: as messages begin.
        spreads: whether each value of the function is one for each example, also one from outside.
    """

    name = ""
    spreads = False

    def __init__(self) -> None:
        self.level = next(_levels)

    def owns(self, value: Any) -> bool:
        """Whether a value is of this run."""
        return isinstance(value, Leveled) and value._owner is self

    def apply(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Serves a call that has a value of this run, and hands on all others.

        Raises:
            InPlaceError: the op changes an input.
        """
        if not any(map(self.owns, flat(inputs))):
            return dispatch(opdef, inputs, attrs)
        if any(not self.lets_change(opdef, i, inputs[i]) for i in opdef.schema.mutated_inputs):
            raise InPlaceError(
                f"{opdef.subject}: expected values outside of {self.name}, since it changes one in place, got one of "
                "the function's; write x = op(x) with an op that gives a new value"
            )
        place = next(value for value in flat(inputs) if self.owns(value)).place
        return self.serve(opdef, lift(opdef, inputs, memory_at(place, opdef.subject)), attrs)

    def lets_change(self, opdef: OpDef, position: int, value: Any) -> bool:
        """Whether an op may change an input in place, in a call with values of this run."""
        return False

    def function(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Serves a call of a function with a derivative of its own, where it has a value of this run."""
        return self.serve_function(function, args) if any(map(self.owns, flat(args))) else function(*args)

    def serve(self, opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Serves a call on values of this run, by calls on what these stand for."""
        raise NotImplementedError

    def serve_function(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Serves a call of a function with a derivative of its own."""
        raise NotImplementedError

    def detached(self, value: Any) -> Tensor:
        """Returns a value of this run outside of the graph."""
        raise NotImplementedError

    def apart(self, value: Any, is_recorded: bool) -> Tensor:
        """Returns a value as one that a gradient is asked of and nothing before it, as `derivatives.apart` does."""
        raise NotImplementedError

    # Any: as of `opsdk.grad`.
    def grad(
        self, outputs: Sequence[Any], inputs: Sequence[Any], cotangents: Sequence[Any], **options: Any
    ) -> list[Any]:
        """Returns gradients of values of this run with respect to others."""
        raise NotImplementedError

    def beneath(self, values: Any) -> Any:
        """Returns values with what those of this run stand for in their place."""
        return each(values, lambda value: value._value if self.owns(value) else value)


def body_of(opdef: OpDef, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Returns what a composite gives, by the ops that it is made of."""
    assert opdef.body is not None
    outputs = as_outputs(opdef, at_once(opdef.body, *cut_off(opdef, inputs), **body_attrs(opdef, attrs)))
    return outputs[0] if len(outputs) == 1 else tuple(outputs)
