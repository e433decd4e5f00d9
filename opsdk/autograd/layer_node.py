"""LayerNode: a recorded call of a PyLayer, and the way back through it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.device_tensor import tensor_of
from opsdk.autograd.node import GradNode
from opsdk.autograd.tensor import Tensor
from opsdk.backends.memory.device import memory_of
from opsdk.core.dtype import is_differentiable
from opsdk.core.errors import DerivativeOrderError, DTypeError, PyLayerError, ShapeError, VersionError, attach_note
from opsdk.core.modes import GradMode, is_grad_enabled
from opsdk.core.origin import origin_of

ONCE = "_is_once_differentiable"
Place = Any  # any: an edge; (leaf, -1); the number of an output; None of what is neither an input nor an output


# Any, in this file: arrays, or tensors where the backward is recorded; a PyLayer and its context, one module above.
class LayerNode(GradNode):
    """A call of a PyLayer.

    Args:
        layer: the class.
        context: what its forward left.
        edges: one per tensor, those of lists counted each.
        inputs: per argument its tensors: one, those of a list with None for what else stands there, or nothing.
        listed: which arguments are lists.
        outputs: the tensors that it gave.
    """

    plan: Any = None  # of an op

    def __init__(
        self,
        layer: Any,
        context: Any,
        edges: Sequence[Any],
        inputs: Sequence[Sequence[Any]],
        listed: Collection[int],
        outputs: Sequence[Tensor],
    ) -> None:
        super().__init__(None, tuple(edges), ())  # type: ignore[arg-type]
        self._layer, self._context, self._listed = layer, context, listed
        self._sizes = [len(entry) for entry in inputs]
        self._specs = [None if t is None else (t._array.shape, t._array.dtype) for entry in inputs for t in entry]
        self.outputs = tuple([(out._array.shape, out._array.dtype) for out in outputs])
        self._memory = memory_of(outputs[0]._array)
        self._places: Sequence[Place] = ()

    @property
    def subject(self) -> str:
        """The PyLayer, as messages begin."""
        return f"PyLayer {self.name!r}"

    @property
    def name(self) -> str:
        """Name of the class."""
        return str(self._layer.__name__)

    def save(self, values: Sequence[Any], counts: Sequence[int], places: Sequence[Place]) -> None:
        """Keeps what the forward saved, as arrays, so that no output leads back to what holds it."""
        saved: list[Any] = []
        for value, count in zip(values, counts, strict=True):
            saved += (value._array, value._version, count) if isinstance(value, Tensor) else (value, None, 0)
        self.saved, self._places = tuple(saved), tuple(places)

    def read(self) -> tuple[Any, ...]:
        """Returns what was saved; tensors at their places in the graph.

        Raises:
            GraphError: it was freed.
            VersionError: a tensor was changed in place.
        """
        saved = self.saved
        if saved is None:
            raise self.freed()
        values = []
        for i, place in enumerate(self._places):
            value, box, count = saved[3 * i : 3 * i + 3]
            if box is not None and box[0] != count:
                raise VersionError(
                    f"{self.subject}: backward needs saved tensor {i} as it was at version {count}, it was changed in "
                    f"place since, to version {box[0]}; save or change a copy instead"
                )
            values.append(value if box is None else self._tensor(self.unpacked([value])[0], box, place))
        return tuple(values)

    def _tensor(self, array: Any, box: list[Any], place: Place) -> Tensor:
        if isinstance(place, int):
            place = (self, place)
        elif place is None:
            made = tensor_of(array)
            made._version = box
            is_followed = is_grad_enabled() and is_differentiable(array.dtype)
            return self._refusing(made, (), _UNKNOWN) if is_followed else made
        target, index = place
        if index < 0 and (target._array is array or is_grad_enabled()):
            leaf: Tensor = target
            return leaf
        if index < 0:  # of what a mode unpacked
            return tensor_of(array)
        made = tensor_of(array, False, place)
        made._version = box
        return made

    def step(self, algebra: Any, cotangents: Sequence[Any], edges: Sequence[Any]) -> Sequence[Any]:
        """Runs the backward, and holds what it returns to the inputs.

        Raises:
            PyLayerError, ShapeError, DTypeError: it returns something else than their gradients.
            GraphError: an earlier backward freed the graph.
        """
        if self.saved is None:
            raise self.freed()
        is_once = algebra.records and hasattr(self._layer.backward, ONCE)
        given = [self._given(value, i, algebra) for i, value in enumerate(cotangents)]
        counts = [None if value is None else value._version[0] for value in given]
        with GradMode(algebra.records and not is_once):
            try:
                made = self._layer.backward(self._context, *given)
            except Exception as error:
                attach_note(error, f"  {'at':<8} the backward of {self.subject}, {origin_of(self._layer.backward)}")
                raise
        if counts != [None if value is None else value._version[0] for value in given]:
            raise PyLayerError(f"{self.subject}, backward: expected its gradients untouched, it changed one in place")
        values = [self._held(i, value, edges[i]) for i, value in enumerate(self._by_edge(made))]
        if not algebra.records:
            return [None if v is None else self._owned(v._array, edge) for v, edge in zip(values, edges, strict=True)]
        return self._closed(values, given, is_once)

    def _given(self, value: Any, i: int, algebra: Any) -> Any:
        """Returns the gradient of an output as a tensor, zeros or None where nobody used it."""
        if value is not None:
            return value if algebra.records else algebra.wrap(value)
        assert self.outputs is not None
        return tensor_of(self._memory.zeros(*self.outputs[i])) if self._context._materialize else None

    def _by_edge(self, made: Any) -> list[Any]:
        """Returns one value per tensor of the call, of what the backward returned.

        Raises:
            PyLayerError: not one for each.
        """
        tensors = [i for i, size in enumerate(self._sizes) if size]
        is_alone = len(tensors) == 1 and tensors[0] in self._listed
        is_one = not isinstance(made, (tuple, list)) or (made.__class__ is list and is_alone)
        values = [made] if is_one else [*made]
        needed = [i for i in tensors if self._context.needs_input_grad[i]]
        count = len(self._sizes)
        whose = next((at for at in (tensors, needed, range(count)) if len(at) == len(values)), None)
        if whose is None:
            raise PyLayerError(
                f"{self.subject}, backward: expected a gradient, or None, for each of the {len(tensors)} arguments of "
                f"forward that hold tensors, got {len(values)}; a list of tensors takes one list"
            )
        by_argument: dict[int, Any] = dict(zip(whose, values, strict=True))
        for i in set(by_argument) - set(tensors):
            if by_argument[i] is not None:
                raise PyLayerError(f"{self.subject}, backward: expected None for argument {i}, which holds no tensor")
        spread: list[Any] = []
        for i in tensors:
            spread += self._spread(i, by_argument.get(i))
        return spread

    def _spread(self, i: int, value: Any) -> Sequence[Any]:
        size = self._sizes[i]
        if i not in self._listed:
            return [value]
        if value is None:
            return [None] * size
        if not isinstance(value, (list, tuple)) or len(value) != size:
            got = f"{len(value)}" if isinstance(value, (list, tuple)) else type(value).__name__
            raise PyLayerError(
                f"{self.subject}, backward: expected a list of {size} gradients for argument {i}, a list, got {got}"
            )
        return value

    def _held(self, i: int, value: Any, edge: Any) -> Any:
        """Returns a gradient held to its input, None where nobody wants it."""
        if value is None:
            return None
        what = f"{self.subject}, backward: gradient {i}"
        if not isinstance(value, Tensor):
            raise PyLayerError(f"{what} expected a Tensor or None, got {type(value).__name__}")
        if self.edges[i] is None:
            raise PyLayerError(f"{what} expected None, since its tensor has stop_gradient=True, got a Tensor")
        shape, dtype = self._specs[i] or ((), None)
        if value._array.shape != shape:
            raise ShapeError(f"{what} expected shape {shape} like its tensor, got {value._array.shape}")
        if value._array.dtype != dtype:
            raise DTypeError(f"{what} expected {dtype} like its tensor, got {value._array.dtype}; cast it with .astype")
        return None if edge is None else value

    @staticmethod
    def _owned(array: Any, edge: Any) -> Any:
        """Returns an array that nobody else holds where a leaf keeps it or hooks see it."""
        return array.copy() if edge[1] < 0 or edge[0].hooks is not None else array

    def _closed(self, values: list[Any], given: Sequence[Any], is_once: bool) -> list[Any]:
        """Returns recorded gradients; one that ops did not make leads to where its derivative is refused."""
        entering = [g._edge or (g, -1) for g in given if g is not None and not g._stop]

        def is_lost(value: Tensor) -> bool:  # a gradient is linear in what entered: without it in the graph it is 0
            return bool(entering) and value._stop and bool(np.any(memory_of(value._array).to_host(value._array)))

        wrong = [v is not None and (is_once or is_lost(v)) for v in values]
        return [self._refusing(v, entering, _ONCE) if is_it else v for v, is_it in zip(values, wrong, strict=True)]

    def _refusing(self, value: Tensor, entering: Sequence[Any], why: str) -> Tensor:
        """Returns a value that leads to all that it may depend on, where its derivative is refused."""
        made = value._beside(value._array)
        made._version = value._version
        node = _Once(f"{self.subject}: {why}", [*entering, *[edge for edge in self.edges if edge is not None]])
        node.outputs = ((made._array.shape, made._array.dtype),)
        made._stop, made._edge = False, (node, 0)
        return made


_ONCE = (
    "a derivative of its backward was asked for, but that is declared once_differentiable, or did not compute with ops "
    "what it returned; write it with opsdk's ops"
)
_UNKNOWN = (
    "a derivative of its backward was asked for, which reads a saved tensor that is neither an input nor an output, so "
    "that nobody knows how it depends on the inputs; return it as an output, compute it in the backward, or keep a "
    "constant as an attribute of ctx"
)


class _Once(GradNode):
    """Where a derivative that nobody knows is refused."""

    plan: Any = None

    def __init__(self, why: str, edges: Sequence[Any]) -> None:
        super().__init__(None, tuple(edges), ())  # type: ignore[arg-type]
        self._why = why

    @property
    def subject(self) -> str:
        """What was called."""
        return self._why.partition(":")[0]

    @property
    def name(self) -> str:
        """The same."""
        return self.subject

    def step(self, algebra: Any, cotangents: Sequence[Any], edges: Sequence[Any]) -> Sequence[Any]:
        """Refuses.

        Raises:
            DerivativeOrderError: always.
        """
        raise DerivativeOrderError(self._why)
