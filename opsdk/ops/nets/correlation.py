"""Correlation of arrays with weights, by matrix products; its transpose in the array, and in the weights.

A tile of images is copied once for each tap of the last axis, shifted by that. For each tap of the other axes, what
lies under the outputs is then one matrix in the copy, which BLAS reads where it is if outputs lie side by side.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.ops.nets.geometry import Sizes, Steps, last, tap

_COLUMNS = 512  # outputs that a matrix product is given at least, where there are as many: of several small images

_silent = np.errstate(over="ignore", invalid="ignore")  # inf and nan are values of a sum
Columns = Callable[[Sizes], np.ndarray]


@_silent
def correlate(x: np.ndarray, weight: np.ndarray, groups: int, steps: Steps, out: np.ndarray) -> None:
    """Writes out[n, o, p] = Σ_c Σ_k weight[o, c, k] · x[n, c, p · stride + k · dilation - before]; outside x is 0.

    Args:
        x: of shape (N, C, *size).
        weight: of shape (O, C / groups, *kernel).
        groups: of channels that know nothing of each other.
        steps: of each axis.
        out: of shape (N, O, *sizes), with any strides; whatever sizes it has are written.
    """
    taps = _by_tap(weight, groups)
    for tile, columns in _tiles(x, weight.shape[2:], groups, steps, out.shape[2:]):
        made = None
        for at in taps:
            product = np.matmul(taps[at], columns(at))
            made = product if made is None else np.add(made, product, out=made)
        assert made is not None
        count = tile.stop - tile.start
        out[tile] = made.reshape(out.shape[1], count, *out.shape[2:]).swapaxes(0, 1)


def correlate_back(dout: np.ndarray, weight: np.ndarray, groups: int, steps: Steps, dx: np.ndarray) -> None:
    """Writes the gradient of `correlate` with respect to x, from that of its result.

    Pixels that a stride apart are read by the same taps: each such class is a correlation of its own, with those taps
    in reverse, and nothing is multiplied with a zero.

    Args:
        dout: of shape (N, O, *sizes).
        weight: as of `correlate`, and so the others.
        groups: see there.
        steps: see there.
        dx: of shape (N, C, *size), with any strides.
    """
    turned = np.stack(np.split(weight, groups)).swapaxes(1, 2)
    turned = turned.reshape(-1, *turned.shape[2:])
    for residue in itertools.product(*map(range, steps.stride)):
        pixels = (slice(None), slice(None), *(slice(r, None, s) for r, s in zip(residue, steps.stride, strict=True)))
        kinds = [_class(*each) for each in zip(residue, weight.shape[2:], *steps, strict=True)]
        if any(kind is None for kind in kinds):
            dx[pixels] = 0
            continue
        taken, dilation, before = zip(*[kind for kind in kinds if kind is not None], strict=True)
        ones = (1,) * len(residue)
        correlate(dout, turned[last(*taken)], groups, Steps(ones, dilation, before), dx[pixels])


def _class(residue: int, kernel: int, stride: int, dilation: int, before: int) -> tuple[slice, int, int] | None:
    """Returns which taps read the pixels with a residue, last first, how far they lie apart, and where they begin."""
    first = next((k for k in range(min(kernel, stride)) if (k * dilation - before - residue) % stride == 0), None)
    if first is None:
        return None
    common = math.gcd(stride, dilation)
    taps = range(first, kernel, stride // common)
    apart = dilation // common
    before = (first * dilation - before - residue) // stride + (len(taps) - 1) * apart
    return slice(taps[-1], first - 1 if first else None, -(stride // common)), apart, before


@_silent
def correlate_weight(x: np.ndarray, dout: np.ndarray, kernel: Sizes, groups: int, steps: Steps) -> np.ndarray:
    """Returns the gradient of `correlate` with respect to the weight, from that of its result.

    Args:
        x: of shape (N, C, *size).
        dout: of shape (N, O, *sizes).
        kernel: sizes of the weight.
        groups: as of `correlate`.
        steps: see there.

    Returns:
        Of shape (O, C / groups, *kernel).
    """
    made = np.zeros((dout.shape[1], x.shape[1] // groups, *kernel), computed_in(x.dtype), like=x)
    taps = _by_tap(made, groups)
    for tile, columns in _tiles(x, kernel, groups, steps, dout.shape[2:]):
        arrived = dout[tile].astype(made.dtype, copy=False).swapaxes(0, 1).reshape(groups, len(made) // groups, -1)
        for at, total in taps.items():
            total += np.matmul(arrived, columns(at).swapaxes(-1, -2))
    for at, total in taps.items():
        place = last(*at, slice(None))
        made[place] = total.reshape(made[place].shape)
    return made


def _by_tap(weight: np.ndarray, groups: int) -> dict[tuple[int, ...], np.ndarray]:
    """Returns the weight for each tap of all axes but the last, as matrices (groups, O / groups, C / groups · taps)."""
    shape = (groups, len(weight) // groups, weight.shape[1] * weight.shape[-1])
    wide = computed_in(weight.dtype)
    return {at: weight[last(*at, slice(None))].astype(wide).reshape(shape) for at in np.ndindex(*weight.shape[2:-1])}


def _tiles(x: np.ndarray, kernel: Sizes, groups: int, steps: Steps, sizes: Sizes) -> Iterator[tuple[slice, Columns]]:
    """Yields images that are worked on together, and what gives their columns at a tap of all axes but the last.

    Columns are (groups, C / groups · taps, outputs of the images).
    """
    channels, wide = x.shape[1], computed_in(x.dtype)
    shape = (groups, channels // groups * kernel[-1], -1)
    if not math.prod((len(x), channels, *kernel, *sizes)):
        return
    at_once = max(1, min(len(x), _COLUMNS // math.prod(sizes)))
    reach = [(n - 1) * s + (k - 1) * d + 1 for n, k, s, d in zip(sizes, kernel, *steps[:2], strict=True)]
    spread = np.empty(())
    for start in range(0, len(x), at_once):
        tile = slice(start, min(start + at_once, len(x)))
        images = x[tile].swapaxes(0, 1)
        if spread.shape[2:3] != images.shape[1:2]:
            spread = np.zeros((channels, kernel[-1], images.shape[1], *reach[:-1], sizes[-1]), wide, like=x)
        _fill(spread, images, steps)

        def columns(at: Sizes, spread: np.ndarray = spread) -> np.ndarray:
            rows = [
                slice(k * d, k * d + (n - 1) * s + 1, s)
                for k, n, s, d in zip(at, sizes[:-1], steps.stride[:-1], steps.dilation[:-1], strict=True)
            ]
            return spread[last(*rows, slice(None))].reshape(shape)

        yield tile, columns


def _fill(spread: np.ndarray, images: np.ndarray, steps: Steps) -> None:
    """Copies images (C, n, *size) under the taps of the last axis; what lies outside of them stays zero."""
    to, taken = [], []
    for size, place, before in zip(images.shape[2:-1], spread.shape[3:-1], steps.before[:-1], strict=True):
        first = max(before, 0)
        end = max(min(place, size + before), first)
        to.append(slice(first, end))
        taken.append(slice(first - before, end - before))
    size, outputs = images.shape[-1], spread.shape[-1]
    stride, dilation, before = (step[-1] for step in steps)
    for k in range(spread.shape[1]):
        found = tap(size, outputs, stride, k * dilation - before)
        if found is not None:
            columns, elements = found
            spread[:, k][last(*to, columns)] = images[last(*taken, elements)]
