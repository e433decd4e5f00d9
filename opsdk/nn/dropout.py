"""Dropout, as functions of tensors, Program variables and arrays alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.random import Generator
from opsdk.ops.nets import dropout as _ops

MODES = "upscale_in_train", "downscale_in_infer"
FORMATS = {4: ("NCHW", "NHWC"), 5: ("NCDHW", "NDHWC")}  # by the number of axes, channels first and last


# Any, in this file: tensors, variables or arrays, and the same out; what a user gives for a probability.
def dropout(
    x: Any,
    p: float = 0.5,
    axis: int | Sequence[int] | None = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
    *,
    rng: Generator | None = None,
) -> Any:
    """Returns x with elements set to 0 with probability p; where nothing is trained, x itself.

    Every call drops others, as does every run of a Program; `opsdk.seed` repeats them, and a backward drops what its
    forward did.

    Args:
        x: float values of any shape.
        p: probability of 0, in [0, 1].
        axis: the axes along which elements are dropped one by one, each in [0, axes of x); along all others they are
            dropped together. All unless given. A bool there is `training`, as in PyTorch.
        training: False: nothing is dropped. A Program's `clone(for_test=True)` sets it.
        mode: `upscale_in_train` divides what is kept by 1 - p; `downscale_in_infer` leaves it, and multiplies by 1 - p
            where nothing is dropped.
        name: without meaning.
        rng: generator of which the call takes the next draw; the global one unless given.

    Returns:
        Of the shape and dtype of x. Differentiable, to any order.

    Raises:
        AttributeValueError: p or the mode is none of these, or an axis is no whole number.
        ShapeError: x has no such axis, or it is given twice.
        DTypeError: x holds other than floats.
    """
    check_probability(p, "dropout")
    if isinstance(axis, bool):
        training, axis = axis and training, None
    if mode not in MODES:
        raise AttributeValueError(f"dropout: mode expected {' or '.join(MODES)}, got {mode!r}")
    at = _checked_axes(x, axis)
    if mode == MODES[0] and not (training and p):
        return x
    return _ops.dropout(x, p=float(p), axis=at, training=bool(training), mode=mode, rng=rng)


def _checked_axes(x: Any, axis: Any) -> list[int]:
    """Returns the axes as a list, empty for all."""
    if axis is None:
        return []
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if not axes or any(not isinstance(one, (int, np.integer)) or isinstance(one, bool) for one in axes):
        raise AttributeValueError(f"dropout: axis expected a whole number, or a list of them, got {axis!r}")
    ndim = len(x.shape)
    if len(set(axes)) < len(axes) or not all(0 <= one < ndim for one in axes):
        raise ShapeError(f"dropout: axis expected numbers in [0, {ndim}), each once, got {axis!r}")
    return [int(one) for one in axes]


def check_probability(p: Any, subject: str) -> None:
    """Checks the probability of a dropout.

    Raises:
        AttributeValueError: it is no number in [0, 1].
    """
    if not isinstance(p, (int, float, np.number)) or isinstance(p, bool) or not 0 <= p <= 1:
        raise AttributeValueError(f"{subject}: p expected a number in [0, 1], got {p!r}")


def check_format(data_format: Any, ndim: int, subject: str) -> None:
    """Checks where an image has its channels.

    Raises:
        AttributeValueError: it is not one of the two words for so many axes.
    """
    if data_format not in FORMATS[ndim]:
        raise AttributeValueError(f"{subject}: data_format expected {' or '.join(FORMATS[ndim])}, got {data_format!r}")


def _maps(x: Any, p: float, training: bool, data_format: str, ndim: int, subject: str) -> Any:
    check_format(data_format, ndim, subject)
    if len(x.shape) != ndim:
        raise ShapeError(f"{subject}: x expected {ndim} axes, {data_format}, got shape {tuple(x.shape)}")
    channels = 1 if data_format == FORMATS[ndim][0] else ndim - 1
    return dropout(x, p, [0, channels], training)


def dropout2d(x: Any, p: float = 0.5, training: bool = True, data_format: str = "NCHW", name: str | None = None) -> Any:
    """Returns x with whole maps set to 0 with probability p, as `dropout` with the axes of images and channels.

    Args:
        x: float values of shape (N, C, H, W), or (N, H, W, C) with `data_format="NHWC"`.
        p: probability of 0, in [0, 1]; what is kept is divided by 1 - p.
        training: False: x itself.
        data_format: `NCHW` or `NHWC`.
        name: without meaning.

    Raises:
        ShapeError: x has another number of axes.
        AttributeValueError: p or the format is none of these.
    """
    return _maps(x, p, training, data_format, 4, "dropout2d")


def dropout3d(
    x: Any, p: float = 0.5, training: bool = True, data_format: str = "NCDHW", name: str | None = None
) -> Any:
    """Returns x with whole maps set to 0 with probability p, for x of shape (N, C, D, H, W), or NDHWC; see `dropout2d`.

    Raises:
        ShapeError: x has another number of axes.
        AttributeValueError: p or the format is none of these.
    """
    return _maps(x, p, training, data_format, 5, "dropout3d")


def alpha_dropout(
    x: Any, p: float = 0.5, training: bool = True, name: str | None = None, *, rng: Generator | None = None
) -> Any:
    """Returns x with elements set to the least value of SELU with probability p; mean 0 and variance 1 stay.

    Klambauer et al. 2017. Where nothing is trained, x itself. Differentiable, to any order.

    Raises:
        AttributeValueError: p lies outside of [0, 1].
        DTypeError: x holds other than floats.
    """
    check_probability(p, "alpha_dropout")
    return _ops.alpha_dropout(x, p=float(p), rng=rng) if training and p else x


def drop_block(
    x: Any, p: float = 0.5, block_size: int = 7, training: bool = True, *, rng: Generator | None = None
) -> Any:
    """Returns x with square blocks of each map set to 0, about a share of p, the rest scaled to the mean of before.

    Ghiasi et al. 2018; torchvision's `drop_block2d`. Where nothing is trained, x itself. Differentiable, to any order.

    Args:
        x: float values of shape (N, C, H, W).
        p: the share that is dropped, in [0, 1].
        block_size: the side of a block, ≥ 1; a smaller map is dropped whole.
        training: False: x itself.
        rng: generator of which the call takes the next draw; the global one unless given.

    Raises:
        AttributeValueError: p or the block size is none of these.
        ShapeError: x has another number of axes than 4.
    """
    check_probability(p, "drop_block")
    check_side(block_size, "drop_block")
    if len(x.shape) != 4:
        raise ShapeError(f"drop_block: x expected 4 axes, NCHW, got shape {tuple(x.shape)}")
    return _ops.drop_block(x, p=float(p), block_size=int(block_size), rng=rng) if training and p else x


def check_side(block_size: Any, subject: str) -> None:
    """Checks the side of a block.

    Raises:
        AttributeValueError: it is no whole number ≥ 1.
    """
    if not isinstance(block_size, (int, np.integer)) or isinstance(block_size, bool) or block_size < 1:
        raise AttributeValueError(f"{subject}: block_size expected a whole number ≥ 1, got {block_size!r}")


FUNCTIONS = dropout, dropout2d, dropout3d, alpha_dropout, drop_block
