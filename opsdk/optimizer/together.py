"""Steps taken together: many small parameters as one flat array, so that a step is one call of the update's op for all.

Each keeps its memory. Values, gradients and slots are copied into flat arrays and back, which for small ones takes a
hundredth of a call. The result is bit for bit that of a call each, as the step of an element depends on nothing but
that element and numbers that all of them share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from operator import is_
from typing import Any

import numpy as np

from opsdk.autograd.tensor import Tensor
from opsdk.autograd.tensor_state import BEFORE_CHANGE
from opsdk.core.fast import FAST
from opsdk.core.flags import FLAGS
from opsdk.define.interceptors import stack
from opsdk.nn.parameter import Parameter
from opsdk.ops.updates.plain import BY_ELEMENT
from opsdk.optimizer.parameters import RATE

SMALL, WHOLE = 1 << 15, 1 << 18  # bytes: of a parameter, and of those that are one array, which the second cache holds
LEAST = 3  # parameters; two calls cost what the copies do

Pairs = Sequence[tuple[Any, Any]]  # any, in this file: parameters and their gradients; an optimizer


class _Column:
    """Tensors of one dtype, with the flat array that they are copied into."""

    __slots__ = ("arrays", "flat", "tensors")

    def __init__(self, tensors: list[Tensor]) -> None:
        self.tensors, self.arrays = tensors, [tensor._array for tensor in tensors]
        self.flat = Tensor(np.empty(sum(array.size for array in self.arrays), self.arrays[0].dtype))

    def gather(self) -> bool:
        """Copies the values; False where a tensor has another array by now."""
        return bool(FAST.gather(self.tensors, self.arrays, self.flat._array))

    def scatter(self) -> None:
        """Copies the values back."""
        FAST.scatter(self.tensors, self.arrays, self.flat._array)


class _Bundle:
    """Parameters of one group, dtype and factor on the learning rate."""

    def __init__(self, optimizer: Any, places: list[int], params: list[Any], states: list[dict[str, Tensor]]) -> None:
        self.places = places
        self.param = _Column(params)
        self.grad = Tensor(np.empty_like(self.param.flat._array))
        self.slots = [_Column([state[slot.name] for state in states]) for slot in optimizer.slots]
        self.factors = [_factor(param) for param in params]

    def step(self, optimizer: Any, pairs: Pairs) -> bool:
        """Makes a step of all; False, and nothing has changed, where one of them is no longer like the others."""
        params, first = self.param.tensors, self.param.tensors[0]
        grads = [pairs[place][1] for place in self.places]
        if not FAST.have_factors(params, self.factors) or not self.param.gather():
            return False
        if not self._gather(grads, False) and not (self._are_apart(grads) and self._gather(grads, True)):
            return False
        shared: list[Tensor] = []  # what has one element of each parameter, which has to be the same in all
        for slot, column in zip(optimizer.slots, self.slots, strict=True):
            if not column.gather():
                return False
            values = column.flat._array
            if slot.is_scalar and not (values == values[0]).all():
                return False
            shared.append(Tensor(values[:1].copy()) if slot.is_scalar else column.flat)
        grad = optimizer.with_decay(self.param.flat, self.grad, optimizer.decay_of(first))
        optimizer.op(self.param.flat, grad, optimizer._rate(first), *shared, **optimizer._update_attrs(first))
        for column, value in zip(self.slots, shared, strict=True):
            if value is not column.flat:
                column.flat._array.fill(value._array[0])
            column.scatter()
        self.param.scatter()
        return True

    def _gather(self, grads: list[Any], shared: bool) -> bool:
        return bool(FAST.gather_like(grads, self.param.arrays, self.grad._array, shared))

    def _are_apart(self, grads: list[Any]) -> bool:
        """Whether none shares memory with a parameter, whose step would change it: those count changes together."""
        counters = {id(param._version) for param in self.param.tensors}
        return all(isinstance(grad, Tensor) and id(grad._version) not in counters for grad in grads)


class Together:
    """The parameters of an optimizer that take their steps together.

    Args:
        optimizer: one whose parameters of one group, dtype and factor differ in nothing else to a step.
        pairs: parameters with a gradient; those of another list need another object.
    """

    def __init__(self, optimizer: Any, pairs: Pairs) -> None:
        own = optimizer.own_names()
        states = [optimizer._state_of(own.get(id(param), param.name), param) for param, _ in pairs]
        self._params = [param for param, _ in pairs]
        self._state = optimizer._state
        self._bundles = [
            _Bundle(optimizer, places, [self._params[i] for i in places], [states[i] for i in places])
            for places in _alike(optimizer, self._params, states)
        ]

    def fits(self, optimizer: Any, pairs: Pairs) -> bool:
        """Whether it was made for these parameters, and for the state that the optimizer has."""
        is_like = len(pairs) == len(self._params) and self._state is optimizer._state
        return is_like and all(map(is_, self._params, [param for param, _ in pairs]))

    def step(self, optimizer: Any, pairs: Pairs) -> Pairs:
        """Makes the steps of parameters that take them together; returns the pairs of the others."""
        taken = [bundle for bundle in self._bundles if bundle.step(optimizer, pairs)]
        if len(taken) < len(self._bundles):  # made anew for the next step
            self._params = []
        if sum(len(bundle.places) for bundle in taken) == len(pairs):
            return ()
        done = {place for bundle in taken for place in bundle.places}
        return [pair for place, pair in enumerate(pairs) if place not in done] if done else pairs


def step_together(optimizer: Any, pairs: Pairs) -> Pairs:
    """Makes the steps of small parameters together where that is the same; returns the pairs of the others."""
    is_watched = FLAGS.debug or stack() is not None or BEFORE_CHANGE.get() is not None  # single calls, and changes
    if FAST is None or is_watched or len(pairs) < LEAST or not optimizer._is_uniform():
        return pairs
    if optimizer.op is None or optimizer.op.opdef.name not in BY_ELEMENT:
        return pairs
    if optimizer._together is None or not optimizer._together.fits(optimizer, pairs):
        optimizer._together = Together(optimizer, pairs)
    left: Pairs = optimizer._together.step(optimizer, pairs)
    return left


def _factor(param: Any) -> Any:
    """Returns a parameter's own factor on the learning rate, as it is there; None where it has none."""
    return (param.__dict__.get("optimize_attr") or {}).get(RATE)


def _alike(optimizer: Any, params: Sequence[Any], states: Sequence[dict[str, Tensor]]) -> Iterator[list[int]]:
    """Yields the places of parameters that take their steps alike, as many as make a flat array."""
    if _do_overlap(params):
        return
    keys = {}
    for place, param in enumerate(params):
        array = param._array
        is_plain = param.__class__ in (Tensor, Parameter) and array.__class__ is np.ndarray and array.ndim
        if is_plain and array.flags.carray and array.nbytes <= SMALL and getattr(param, "regularizer", None) is None:
            numbers = [states[place][slot.name].item() for slot in optimizer.slots if slot.is_scalar]
            keys[place] = id(optimizer.group_of(param)), array.dtype.name, optimizer.own_factor(param), *numbers
    for _, alike in groupby(sorted(keys, key=lambda place: (keys[place], place)), key=keys.__getitem__):
        places: list[int] = []
        size = 0
        for place in alike:
            if size + params[place]._array.nbytes > WHOLE:
                yield from [places] if len(places) >= LEAST else []
                places, size = [], 0
            places.append(place)
            size += params[place]._array.nbytes
        if len(places) >= LEAST:
            yield places


def _do_overlap(params: Sequence[Any]) -> bool:
    """Whether parameters share memory, so that it matters who takes a step first; or one has none of the host."""
    if len({*map(id, params)}) < len(params) or not all(param._array.__class__ is np.ndarray for param in params):
        return True
    spans = sorted(np.lib.array_utils.byte_bounds(param._array) for param in params if param._array.size)
    return any(before[1] > after[0] for before, after in pairwise(spans))
