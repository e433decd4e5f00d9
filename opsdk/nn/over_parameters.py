"""What is done to all parameters of a model, or their gradients, at once: `opsdk.nn.utils`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from opsdk.autograd.creation import to_tensor
from opsdk.autograd.tensor import Tensor
from opsdk.core.errors import AttributeValueError, InputValueError, ShapeError
from opsdk.core.modes import GradMode
from opsdk.core.spellings import point
from opsdk.nn.reparameterized import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm
from opsdk.ops import functions as ops

__all__ = [  # what stands elsewhere too
    "clip_grad_norm_",
    "clip_grad_value_",
    "get_total_norm",
    "parameters_to_vector",
    "remove_spectral_norm",
    "remove_weight_norm",
    "spectral_norm",
    "vector_to_parameters",
    "weight_norm",
]

Tensors = Tensor | Iterable[Tensor]


def _gradients(parameters: Tensors) -> list[Tensor]:
    listed = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [each.grad for each in listed if each.grad is not None]


def get_total_norm(tensors: Tensors, norm_type: float = 2.0, error_if_nonfinite: bool = False) -> Tensor:
    """Returns the norm of the norms of tensors, which is that of all their elements.

    Args:
        tensors: of any shapes.
        norm_type: which norm; inf for the greatest size of an element.
        error_if_nonfinite: whether one that is not finite is refused.

    Raises:
        InputValueError: it is not finite.
    """
    norms = [ops.norm(each, float(norm_type)) for each in ([tensors] if isinstance(tensors, Tensor) else tensors)]
    total: Tensor = ops.norm(ops.stack(norms), float(norm_type)) if norms else to_tensor(0.0)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise InputValueError(
            f"get_total_norm: expected a finite norm, got {total.item()}; error_if_nonfinite=False takes it as it is"
        )
    return total


def clip_grad_norm_(
    parameters: Tensors, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scales all gradients of parameters, in place, so that their norm together is `max_norm` at most.

    Args:
        parameters: whose gradients.
        max_norm: ≥ 0.
        norm_type: which norm.
        error_if_nonfinite: whether a norm that is not finite is refused, before anything changes.

    Returns:
        The norm as it was.

    Raises:
        InputValueError: the norm is not finite.
        AttributeValueError: no number ≥ 0.
    """
    if not float(max_norm) >= 0:
        raise AttributeValueError(f"clip_grad_norm_: max_norm expected a number ≥ 0, got {max_norm!r}")
    with GradMode(False):
        grads = _gradients(parameters)
        total = get_total_norm(grads, norm_type, error_if_nonfinite)
        factor = min(float(max_norm) / (total.item() + 1e-6), 1.0) if total.item() == total.item() else math.nan
        for grad in grads if factor != 1.0 else ():
            grad.scale_(scale=factor)
    return total


def clip_grad_value_(parameters: Tensors, clip_value: float) -> None:
    """Holds all elements of the gradients of parameters inside [-clip_value, clip_value], in place.

    Raises:
        AttributeValueError: no number ≥ 0.
    """
    if not float(clip_value) >= 0:
        raise AttributeValueError(f"clip_grad_value_: clip_value expected a number ≥ 0, got {clip_value!r}")
    with GradMode(False):
        grads: Iterable[Any] = _gradients(parameters)  # Any: of a tensor, whose forms in place are made of a table
        for grad in grads:
            grad.clip_(-float(clip_value), float(clip_value))


def parameters_to_vector(parameters: Iterable[Tensor], name: str | None = None) -> Tensor:
    """Returns the elements of parameters one after another, in one line. Differentiable."""
    made: Tensor = ops.concat([ops.reshape(each, [-1]) for each in parameters])
    return made


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor], name: str | None = None) -> None:
    """Sets parameters to the elements of a vector, as `parameters_to_vector` lists them.

    Raises:
        ShapeError: it has not as many elements, in one line; nothing has changed.
    """
    listed = list(parameters)
    counts = [math.prod(each.shape) for each in listed]
    if list(vec.shape) != [sum(counts)]:
        raise ShapeError(f"vector_to_parameters: vec expected shape ({sum(counts)},), got {tuple(vec.shape)}")
    start = 0
    for each, count in zip(listed, counts, strict=True):
        each.set_value(vec.detach()[start : start + count].reshape(each.shape))
        start += count


point(globals(), "opsdk.nn.utils")

__all__ = ["clip_grad_norm_", "clip_grad_value_", "get_total_norm", "parameters_to_vector", "vector_to_parameters"]
