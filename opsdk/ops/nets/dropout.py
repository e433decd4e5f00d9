"""Dropout of elements, of whole slices, of blocks, and the one that keeps mean and variance.

What is dropped is a function of the draw that a call takes from its generator. No mask is saved: a backward draws it
again, which costs 2 ns an element; a mask of bytes would cost a quarter of the memory of a float32 input until then.
The words are those of NumPy's own Philox, ten times as fast as counting numbers one by one in NumPy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec, shape_text
from opsdk.define.decorators import op
from opsdk.define.infer import like, normalize_axes
from opsdk.define.sample import Sample

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
_WORDS = 2**32


# Any: NumPy's generator; on a device, where its words are computed, the one of a draw.
def kept(rng: Any, shape: Sequence[int], p: float, like: np.ndarray) -> np.ndarray:
    """Returns a mask that is False with probability p, to a part in 2³², where an array is."""
    least = round(p * _WORDS)
    if least in (0, _WORDS):
        return np.full_like(like, not least, np.bool_, "C", shape=tuple(shape))
    on_host = isinstance(like, np.ndarray)
    words = rng.integers(0, _WORDS, tuple(shape), np.uint32) if on_host else rng.words(tuple(shape), like)
    made: np.ndarray = words >= np.uint32(least)
    return made


def _scaled(x: np.ndarray, factor: float) -> np.ndarray:
    return x * x.dtype.type(factor)


@op(
    "opsdk::dropout(Tensor<float> x, *, 0 <= float <= 1 p=0.5, int[] axis=[], bool training=True, "
    "'upscale_in_train' | 'downscale_in_infer' mode='upscale_in_train', Generator rng) -> Tensor out",
    infer=like("x"),
    linear=True,
)
def dropout(
    x: np.ndarray, *, p: float, axis: Sequence[int], training: bool, mode: str, rng: np.random.Generator
) -> np.ndarray:
    """x with elements set to 0 with probability p (Srivastava et al. 2014, Dropout).

    Args:
        x: floats of any shape.
        p: probability of 0.
        axis: axes along which elements are dropped one by one; along all others together. All unless given.
        training: False: nothing is dropped.
        mode: `upscale_in_train` divides what is kept by 1 - p, so that the mean stays; `downscale_in_infer` multiplies
            by 1 - p where nothing is dropped.
        rng: generator of which the call takes the next draw.

    Gradient: with respect to x, to any order: the same of the cotangent. What is dropped is 0 whatever it was, nan too.
    """
    upscales = mode == "upscale_in_train"
    if not training:
        return x.copy() if upscales else _scaled(x, 1 - p)
    at = normalize_axes(list(axis) or list(range(x.ndim)), x.ndim, "op 'opsdk::dropout'")
    mask = kept(rng, [n if i in at else 1 for i, n in enumerate(x.shape)], p, x)
    return np.where(mask, _scaled(x, 1 / (1 - p)) if upscales and p < 1 else x, x.dtype.type(0))


@dropout.backward(composite=True)
def dropout_grad(dout: Any, p: float, axis: Any, training: bool, mode: str, rng: Any) -> Any:
    """The same elements of the cotangent."""
    return dropout(dout, p=p, axis=axis, training=training, mode=mode, rng=rng)


@dropout.check
def _check_axes(x: TensorSpec, axis: Sequence[int]) -> None:
    normalize_axes(axis, x.ndim, "op 'opsdk::dropout'")


@dropout.samples
def _dropout_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 7)), reason="half is dropped")
    yield Sample(rng.normal(size=(2, 3, 2, 2)), p=0.3, axis=[0, 1], reason="whole maps are dropped")
    yield Sample(rng.normal(size=(4, 3)), p=0.25, axis=[-1], mode="downscale_in_infer", reason="columns, not scaled")
    yield Sample(rng.normal(size=5), p=0.25, training=False, mode="downscale_in_infer", reason="scaled, not dropped")
    yield Sample(rng.normal(size=5), training=False, reason="the identity")
    yield Sample(rng.normal(size=5), p=1.0, reason="all is dropped")
    yield Sample(rng.normal(size=()), p=0.0, reason="0-d, nothing is dropped")
    yield Sample(np.zeros((0, 4)), reason="empty")


_LOWEST = -1.7580993408473766  # what SELU tends to on the left: -λα (Klambauer et al. 2017)


def _alpha_factors(p: float) -> tuple[float, float]:
    """Returns by what the result is multiplied, and what is added, so that mean 0 and variance 1 stay."""
    factor = ((1 - p) * (1 + p * _LOWEST**2)) ** -0.5 if p < 1 else 0.0
    return factor, -factor * p * _LOWEST


@op(
    "opsdk::alpha_dropout(Tensor<float> x, *, 0 <= float <= 1 p=0.5, bool training=True, Generator rng) -> Tensor out",
    infer=like("x"),
)
def alpha_dropout(x: np.ndarray, *, p: float, training: bool, rng: np.random.Generator) -> np.ndarray:
    """x with elements set to -λα, the least value of SELU, then scaled and shifted to the mean and variance of before.

    Klambauer et al. 2017, Self-Normalizing Neural Networks; p of 1 gives zeros, as in Paddle.

    Args:
        x: floats of any shape, of mean 0 and variance 1.
        p: probability of -λα.
        training: False: x as it is.
        rng: generator of which the call takes the next draw.

    Gradient: with respect to x, to any order.
    """
    if not training:
        return x.copy()
    factor, shift = _alpha_factors(p)
    chosen = np.where(kept(rng, x.shape, p, x), x, x.dtype.type(_LOWEST if p < 1 else 0))
    return _scaled(chosen, factor) + x.dtype.type(shift)


@alpha_dropout.backward(composite=True)
def alpha_dropout_grad(dout: Any, p: float, training: bool, rng: Any) -> Any:
    """The cotangent of what was kept, scaled."""
    same = dropout(dout, p=p, training=training, mode="downscale_in_infer", rng=rng) if training else dout
    return same * _alpha_factors(p)[0] if training else same


@alpha_dropout.samples
def _alpha_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 7)), reason="half is replaced")
    yield Sample(rng.normal(size=9), p=0.2, reason="little is replaced")
    yield Sample(rng.normal(size=5), p=1.0, reason="zeros")
    yield Sample(rng.normal(size=5), training=False, reason="the identity")
    yield Sample(np.zeros((0, 4)), reason="empty")


@op(
    "opsdk::drop_block(Tensor<float> x, *, 0 <= float <= 1 p=0.5, int >= 1 block_size=7, bool training=True, "
    "Generator rng) -> Tensor out",
    infer=like("x"),
    linear=True,
)
def drop_block(x: np.ndarray, *, p: float, block_size: int, training: bool, rng: np.random.Generator) -> np.ndarray:
    """x with square blocks of each map set to 0, the rest scaled so that their mean stays (Ghiasi et al. 2018).

    Blocks begin where they have room, each place of a map with probability p / b² · HW / ((H - b + 1)(W - b + 1)), so
    that about a share of p is dropped; `torchvision.ops.drop_block2d`.

    Args:
        x: floats of shape (N, C, H, W).
        p: the share.
        block_size: the side b of a block; a map that is smaller is dropped whole.
        training: False: x as it is.
        rng: generator of which the call takes the next draw.

    Gradient: with respect to x, to any order: the same of the cotangent.
    """
    if not training:
        return x.copy()
    height, width = x.shape[-2:]
    side = min(block_size, height, width)
    if not x.size:
        return x.copy()
    room = height - side + 1, width - side + 1
    share = min(p / side**2 * (height * width) / (room[0] * room[1]), 1.0)
    begins = ~kept(rng, (*x.shape[:-2], *room), share, x)
    mask = np.ones_like(x, np.bool_, "C")
    for down in range(side):
        for right in range(side):
            mask[..., down : down + room[0], right : right + room[1]] &= ~begins
    return np.where(mask, _scaled(x, mask.size / max(int(np.count_nonzero(mask)), 1)), x.dtype.type(0))


@drop_block.check
def _check_maps(x: TensorSpec) -> None:
    if x.ndim != 4:
        raise ShapeError(f"op 'opsdk::drop_block': x expected shape (N, C, H, W), got {shape_text(x.shape)}")


@drop_block.backward(composite=True)
def drop_block_grad(dout: Any, p: float, block_size: int, training: bool, rng: Any) -> Any:
    """The same elements of the cotangent."""
    return drop_block(dout, p=p, block_size=block_size, training=training, rng=rng)


@drop_block.samples
def _block_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(2, 2, 5, 6)), p=0.3, block_size=3, reason="blocks of nine")
    yield Sample(rng.normal(size=(2, 3, 2, 3)), p=0.4, reason="maps smaller than a block")
    yield Sample(rng.normal(size=(1, 2, 3, 3)), p=0.2, block_size=1, reason="single elements")
    yield Sample(rng.normal(size=(1, 1, 3, 3)), training=False, reason="the identity")
    yield Sample(np.zeros((0, 2, 4, 4)), reason="empty")
