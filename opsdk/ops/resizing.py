"""Ops that make arrays larger: expand, to sizes that may be those of other values, and pad."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.spec import OpenSize, TensorSpec, shape_text
from opsdk.core.sums import sum_at
from opsdk.define.decorators import op
from opsdk.define.frontend import owner_of
from opsdk.define.infer import normalize_axes
from opsdk.define.sample import Sample
from opsdk.ops.creation import number_in
from opsdk.ops.reduction import sum_to_like

# Any, in the backwards of built-in ops: arrays, tensors or Program variables, whichever runtime calls.
Dims = Sequence["int | None"]
_OWN, _TAKEN = -1, -2  # sizes of `expand`: that of x there, and the next one of `like`


@op(
    "opsdk::expand(Tensor x, Tensor[] like, *, int[] shape, int[] axis=[]) -> Tensor out",
    nondifferentiable=("like",),
)
def expand(x: np.ndarray, like: Sequence[np.ndarray], *, shape: Sequence[int], axis: Sequence[int]) -> np.ndarray:
    """x broadcast to a shape.

    Args:
        x: of any dtype and a shape that broadcasts.
        like: values that give sizes; nothing else of them matters.
        shape: the sizes; -1 for that of x there, -2 for the next one that `like` gives.
        axis: of each of `like` which of its sizes.
    """
    return np.broadcast_to(x, _target(x.shape, [value.shape for value in like], shape, axis)).copy()  # type: ignore[arg-type]


def _target(have: Dims, like: Sequence[Dims], shape: Sequence[int], axis: Sequence[int]) -> list[int | None]:
    """Returns the sizes that x is expanded to; one that is open and meets a known one is taken to be that."""
    if len(shape) < len(have):
        raise ShapeError(f"expand: expected a size for each axis of shape {shape_text(have)}, got {tuple(shape)}")
    if not len(like) == len(axis) == sum(1 for size in shape if size == _TAKEN):
        raise ShapeError(f"expand: expected a value and its axis for each size -2, got {tuple(shape)}, axis {axis}")
    given = iter([dims[normalize_axes([at], len(dims), "expand")[0]] for dims, at in zip(like, axis, strict=True)])
    lead = len(shape) - len(have)
    made: list[int | None] = []
    for i, size in enumerate(shape):
        own = have[i - lead] if i >= lead else 1
        wanted = next(given) if size == _TAKEN else own if size == _OWN else size
        is_new = size == _OWN and i < lead
        if is_new or size < _TAKEN or not (own == 1 or None in (own, wanted) or own == wanted):
            raise ShapeError(
                f"expand: size {i} expected {'a number, as x has no axis there' if is_new else f'-1, or {own}'}, "
                f"got {size if is_new or wanted is None else wanted}, from shape {shape_text(have)}"
            )
        made.append(own if wanted is None and own not in (1, None) else wanted)
    return made


@expand.infer
def _expand(x: TensorSpec, like: list[TensorSpec], shape: Sequence[int], axis: Sequence[int]) -> TensorSpec:
    return TensorSpec(_target(x.shape, [spec.shape for spec in like], shape, axis), x.dtype)


@expand.backward(composite=True, complex=True)
def expand_grad(x: Any, dout: Any) -> Any:
    """The cotangent, summed back."""
    return sum_to_like(dout, x)


def expanded(x: Any, sizes: Any) -> Any:
    """Returns x broadcast to sizes, as a user writes them: numbers, -1 for that of x, sizes of Variables.

    Raises:
        ShapeError: they are no sizes, or x does not broadcast to them.
    """
    if isinstance(sizes, (int, np.integer, np.ndarray)):
        sizes = np.atleast_1d(sizes).tolist()
    if not isinstance(sizes, (list, tuple)):
        raise ShapeError(f"expand: expected sizes, got {sizes!r}")
    lead = len(sizes) - len(getattr(x, "shape", ()))
    shape, like, axis = [], [], []
    for i, size in enumerate(sizes):
        is_taken = isinstance(size, OpenSize) and not size.is_of(x, i - lead)
        if is_taken and owner_of(size.owner) is None:
            raise size.unknown("a number for expand")
        if is_taken:
            like.append(size.owner)
            axis.append(size.axis)
        shape.append(_TAKEN if is_taken else _OWN if isinstance(size, OpenSize) else size)
    return expand(x, like, shape=shape, axis=axis)


@expand.samples
def _expands(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 1)), [], shape=[2, -1, 4], reason="a leading axis, one kept, one of size 1")
    yield Sample(rng.normal(size=(3,)), [np.zeros((2, 5))], shape=[-2, 3], axis=[0], reason="a size of another value")
    yield Sample(np.array(2.0), [np.zeros(3)] * 2, shape=[-2, -2], axis=[0, -1], reason="0-d, to sizes of others")
    yield Sample(rng.normal(size=(1, 4)), [], shape=[0, 4], reason="to nothing")


# Which of n elements stands at position i, before, among and after them.
_POSITIONS: dict[str, Callable[[np.ndarray, int], np.ndarray]] = {
    "reflect": lambda i, n: n - 1 - np.abs(n - 1 - i % max(2 * n - 2, 1)),
    "replicate": lambda i, n: np.clip(i, 0, n - 1),
    "circular": lambda i, n: i % n,
}


@op('opsdk::pad(Tensor x, *, int[] pad, str mode="constant", float value=0.0) -> Tensor out')
def pad(x: np.ndarray, *, pad: Sequence[int], mode: str, value: float) -> np.ndarray:
    """x with elements before and after along each axis.

    Args:
        x: of any dtype.
        pad: how many before and after, for the first axis, then the second and so on; each ≥ 0.
        mode: what they are: `constant`, `reflect` without the border, `replicate` of the border, or `circular`.
        value: of `constant`.
    """
    widths = _widths(x.shape, pad, mode)
    made = np.empty([n + sum(width) for n, width in zip(x.shape, widths, strict=True)], x.dtype, like=x)
    held = number_in(x.dtype, value, "op 'opsdk::pad': value") if mode == "constant" else None
    made[tuple(slice(before, before + n) for n, (before, _) in zip(x.shape, widths, strict=True))] = x
    for at, (n, (before, after)) in enumerate(zip(x.shape, widths, strict=True)):
        if before or after:
            lanes = np.moveaxis(made, at, 0)
            taken = before + _taken(x, n, before, after, mode) if held is None else None
            for around in (slice(before), slice(before + n, None)):
                lanes[around] = held if taken is None else lanes[taken[around]]
    return made


def _taken(like: np.ndarray, n: int, before: int, after: int, mode: str) -> np.ndarray:
    """Returns for each element along a padded axis of n which of these it is, where `like` is."""
    return _POSITIONS[mode](np.arange(-before, n + after, like=like), n)


def _widths(shape: Dims, pad: Sequence[int], mode: str) -> list[tuple[int, int]]:
    if mode not in (known := ("constant", *_POSITIONS)):
        raise AttributeValueError(f"op 'opsdk::pad': mode expected one of {', '.join(known)}, got {mode!r}")
    if len(pad) != 2 * len(shape) or any(width < 0 for width in pad):
        raise ShapeError(
            f"op 'opsdk::pad': pad expected two numbers ≥ 0 for each axis of shape {shape_text(shape)}, "
            f"got {list(pad)}; take slices, x[1:], to leave out elements"
        )
    widths = list(zip(pad[::2], pad[1::2], strict=True))
    for size, width in zip(shape, widths, strict=True):
        if mode != "constant" and size == 0 and any(width):
            raise ShapeError(f"op 'opsdk::pad': {mode} expected elements to repeat, got shape {shape_text(shape)}")
    return widths


@pad.infer
def _pad(x: TensorSpec, pad: Sequence[int], mode: str) -> TensorSpec:
    widths = _widths(x.shape, pad, mode)
    dims = [None if n is None else n + sum(width) for n, width in zip(x.shape, widths, strict=True)]
    return TensorSpec(dims, x.dtype)


@pad.backward(complex=True)
def pad_grad(dout: np.ndarray, pad: Sequence[int], mode: str) -> np.ndarray:
    """The cotangent without what was put around, which is added to where it was taken from."""
    dx = dout
    for at, (before, after) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        size = dx.shape[at] - before - after
        if mode == "constant":
            dx = dx[(slice(None),) * at + (slice(before, before + size),)]
        elif before or after:
            dx = np.moveaxis(sum_at(np.moveaxis(dx, at, 0), _taken(dx, size, before, after, mode), size), 0, at)
    return dx.copy(order="C")


_pad_op = pad  # which the attribute hides


@pad_grad.backward(composite=True, complex=True)
def pad_grad_grad(ddx: Any, pad: Sequence[int], mode: str) -> Any:
    """What enters, padded in the same way, with zeros where the mode is constant."""
    return _pad_op(ddx, pad=pad, mode=mode)


def widths_of(x: Any, given: Any) -> list[int]:
    """Returns the widths of `pad` for each axis, first to last, of pairs or of numbers as PyTorch and Paddle list them.

    Numbers are for the last axis, then the one before it, and so on. As many as two for each of several axes PyTorch
    reads so, and Paddle from the first axis on: pairs say which.

    Raises:
        ShapeError: they are neither, or could be meant either way.
    """
    ndim = len(getattr(x, "shape", ()))
    listed: Any = given.tolist() if isinstance(given, np.ndarray) else given
    listed = [listed] * 2 * ndim if isinstance(listed, (int, np.integer)) else listed
    is_list = isinstance(listed, (list, tuple))
    if is_list and listed and all(isinstance(item, (list, tuple)) and len(item) == 2 for item in listed):
        return [width for item in listed for width in item]
    if not is_list or any(isinstance(item, (list, tuple)) for item in listed) or len(listed) % 2:
        raise ShapeError(f"pad: expected a pair for each axis, [(before, after), …], got {given!r}")
    pairs = list(zip(listed[::2], listed[1::2], strict=True))
    if len(pairs) > ndim or (len(pairs) == ndim and pairs != pairs[::-1]):
        raise ShapeError(
            f"pad: expected pairs, [(before, after), …] from the first axis on, or numbers for fewer than all {ndim} "
            f"axes, got {given!r}, which PyTorch reads from the last axis on and Paddle from the first"
        )
    return [0] * 2 * (ndim - len(pairs)) + [width for pair in pairs[::-1] for width in pair]


@pad.samples
def _pads(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.normal(size=(2, 3))
    yield Sample(x, pad=[1, 0, 2, 1], reason="zeros, more on one side")
    yield Sample(x, pad=[0, 1, 1, 1], value=1.5, reason="another number")
    yield Sample(x, pad=[1, 1, 2, 2], mode="reflect", reason="reflected")
    yield Sample(x, pad=[0, 2, 3, 1], mode="replicate", reason="the border repeated")
    yield Sample(x, pad=[0, 0, 4, 2], mode="circular", reason="around, more than once")
    yield Sample(np.array(3.0), pad=[], reason="0-d")
    yield Sample(np.zeros((0, 2)), pad=[1, 1, 0, 0], reason="around nothing")
