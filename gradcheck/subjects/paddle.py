"""Paddle functions as subjects: PyLayer classes, and any callable of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.dtypes import Array
from gradcheck.report import Report
from gradcheck.subjects.case import Arguments, Case, parameter_names
from gradcheck.subjects.tape import Recorder, Tape, Tensor, is_subclass, read_function

try:
    import paddle
    from paddle.autograd import PyLayer
except ImportError as error:
    raise ImportError(
        f"gradcheck.subjects.paddle: expected Paddle, got {error}; install it with pip install paddlepaddle"
    ) from error

_KINDS = "a subclass of paddle.autograd.PyLayer or a callable of tensors"


def check(
    fn: object,
    inputs: Sequence[object],
    *,
    raw: bool = True,
    second_order: bool = True,
    **options: Any,  # Any: gradcheck.check reads and judges them
) -> Report:
    """Judges the derivative of a Paddle function as it stands.

    Args:
        fn: see `subject`.
        inputs: see `subject`.
        raw: see `subject`.
        second_order: see `subject`.
        options: those of `gradcheck.check`; `names` and the like count the tensors and arrays among the inputs.

    Returns:
        The report of `gradcheck.check`.

    Raises:
        UsageError: see `subject` and `gradcheck.check`.
    """
    return subject(fn, inputs, raw=raw, second_order=second_order).check(**options)


def subject(fn: object, inputs: Sequence[object], *, raw: bool = True, second_order: bool = True) -> Case:
    """Gives a Paddle function in the form that `gradcheck.check` takes.

    Args:
        fn: a subclass of paddle.autograd.PyLayer, a layer, or any callable of tensors.
        inputs: one per argument. Differentiated are floating tensors whose stop_gradient is False, and floating NumPy
            arrays; other floating tensors and whatever is no tensor stay as they are.
        raw: whether to judge what the backward of a PyLayer returns; otherwise what Paddle makes of it.
        second_order: whether to judge the gradient of the gradient, where Paddle can take it.

    Returns:
        The case; its inputs are the tensors and arrays among `inputs`.

    Raises:
        UsageError: fn is of another kind, no input is differentiable, or a tensor is bfloat16.
    """
    call = read_function(fn, PyLayer, _KINDS)
    arguments = Arguments.read(inputs, _varied)
    if not any(array.dtype.kind in "fc" for array in arguments.arrays):
        kinds = ", ".join(array.dtype.name for array in arguments.arrays)
        raise UsageError(f"inputs: expected a floating tensor whose stop_gradient is False, got {kinds}; pass one")
    recorder = Recorder.of(fn, "backward", _tensor_places(arguments)) if raw and is_subclass(fn, PyLayer) else None
    names = parameter_names(fn.forward)[1:] if is_subclass(fn, PyLayer) else parameter_names(fn)  # type: ignore[attr-defined]
    return _PaddleTape(call, arguments, recorder).case(names, {}, [], second_order=second_order)


class _PaddleTape(Tape):
    kind = paddle.Tensor

    def leaf(self, array: Array, k: int) -> Tensor:
        return paddle.to_tensor(np.array(array, order="C"), stop_gradient=array.dtype.kind not in "fc")

    def constant(self, array: Array, like: Tensor) -> Tensor:
        return paddle.to_tensor(np.array(array, order="C"), place=like.place)

    def to_array(self, tensor: Tensor) -> Array:
        return _to_array(tensor)

    def output(self, tensor: Tensor, leaves: Sequence[Tensor]) -> Array:
        return np.array(_to_array(tensor))

    def follows(self, tensor: Tensor) -> bool:
        return not tensor.stop_gradient

    def wanting(self, tensor: Tensor) -> Tensor:
        tensor.stop_gradient = False
        return tensor

    def grad(
        self, outputs: list[Tensor], leaves: list[Tensor], cotangents: list[Tensor], create_graph: bool
    ) -> Sequence[Tensor | None]:
        found: Sequence[Tensor | None] = paddle.grad(
            outputs, leaves, cotangents, create_graph=create_graph, allow_unused=True
        )
        return found


def _tensor_places(arguments: Arguments) -> list[int]:
    """Gives the arrays' places among the tensors: a PyLayer's backward returns nothing for other arguments."""
    constants = enumerate(arguments.constants)
    tensors = [k for k, value in constants if k in arguments.places or isinstance(value, paddle.Tensor)]
    return [tensors.index(place) for place in arguments.places]


def _varied(value: object) -> Array | None:
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, paddle.Tensor):
        return None
    array = np.array(_to_array(value))
    return array if not value.stop_gradient or array.dtype.kind not in "fc" else None


def _to_array(tensor: Tensor) -> Array:
    if tensor.dtype == paddle.bfloat16:
        raise UsageError("inputs: expected dtypes that NumPy knows, got paddle.bfloat16; pass float32")
    array: Array = tensor.detach().numpy()
    return array
