"""Images of another size, and images looked at from elsewhere, for every runtime."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.nn import pooling
from opsdk.nn.functions.words import in_both_words
from opsdk.nn.windows import sizes_of
from opsdk.ops import functions as ops
from opsdk.ops.shape import known_size

# By mode of `interpolate` the numbers of axes that it is for.
_MODES = {
    **{"nearest": (1, 2, 3), "nearest-exact": (1, 2, 3), "area": (1, 2, 3)},
    **{"linear": (1,), "bilinear": (2,), "bicubic": (2,), "trilinear": (3,)},
}
_LAYOUTS = {"NCW": 0, "NCL": 0, "NCHW": 0, "NCDHW": 0, "NWC": 1, "NLC": 1, "NHWC": 1, "NDHWC": 1}


# Any, in this file: tensors, variables or arrays, and the same out; numbers, in every form that Paddle takes them.
@in_both_words
def interpolate(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = False,
    align_mode: int = 0,
    data_format: str | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Returns images, sequences or volumes of another size. Differentiable.

    Args:
        x: floats of shape (N, C, *sizes), or with the channels last.
        size: the new sizes: a number, or one for each axis.
        scale_factor: instead, by how much they grow.
        mode: `nearest`, `nearest-exact` (of the middle of an element), `area` (means), `linear`, `bilinear`, `bicubic`
            or `trilinear`.
        align_corners: the middles of the corners lie on each other, else their outer borders do.
        align_mode: 1: without corners aligned, element i is looked for at i / scale, else at (i + ½) / scale - ½.
        data_format: NCL, NCW, NCHW, NCDHW, or NLC, NWC, NHWC, NDHWC.
        recompute_scale_factor: takes the quotient of the sizes for the scale, which differs where they were rounded.
        antialias: False: the only one served.

    Raises:
        AttributeValueError: not one of size and scale_factor, another mode, or one that does not align corners.
        ShapeError: the mode is not one for so many axes.
    """
    axes = len(x.shape) - 2
    _check(x, axes, mode, align_corners, antialias)
    if (size is None) == (scale_factor is None):
        raise AttributeValueError(f"interpolate: expected size or scale_factor, got {size!r} and {scale_factor!r}")
    if data_format is not None and data_format not in _LAYOUTS:
        raise AttributeValueError(
            f"interpolate: data_format expected one of {', '.join(_LAYOUTS)}, got {data_format!r}"
        )
    first = 1 if data_format is not None and _LAYOUTS[data_format] else 2
    have = [known_size(x, first + at, "interpolate") for at in range(axes)]
    factors: list[float | None] = [None] * axes
    if scale_factor is None:
        sizes = sizes_of(size, axes, "interpolate: size")
    else:
        given = list(np.atleast_1d(scale_factor)) * (axes if np.size(scale_factor) == 1 else 1)
        if len(given) != axes or not all(factor > 0 for factor in given):
            raise AttributeValueError(
                f"interpolate: scale_factor expected a number > 0, or {axes}, got {scale_factor!r}"
            )
        sizes = [math.floor(n * float(factor)) for n, factor in zip(have, given, strict=True)]
        factors = factors if recompute_scale_factor else [float(factor) for factor in given]
    if mode == "area":
        layout = data_format or ("NCL", "NCHW", "NCDHW")[axes - 1]
        return pooling.adaptive_means(f"adaptive_avg_pool{axes}d", x, sizes, layout)
    for at, (n, wanted, factor) in enumerate(zip(have, sizes, factors, strict=True)):
        x = _along(x, first + at, n, _positions(mode, n, wanted, factor, bool(align_corners), align_mode))
    return x


def _check(x: Any, axes: int, mode: str, align_corners: Any, antialias: Any) -> None:
    if mode not in _MODES:
        raise AttributeValueError(f"interpolate: mode expected one of {', '.join(_MODES)}, got {mode!r}")
    if axes not in _MODES[mode]:
        wanted = " or ".join(str(n + 2) for n in _MODES[mode])
        raise ShapeError(f"interpolate: x expected {wanted} axes for mode {mode!r}, got shape {tuple(x.shape)}")
    if align_corners and "linear" not in mode and mode != "bicubic":
        raise AttributeValueError(f"interpolate: align_corners expected False for mode {mode!r}, got {align_corners!r}")
    if antialias:
        raise AttributeValueError(f"interpolate: antialias expected False, the only one served, got {antialias!r}")


def _positions(
    mode: str, n: int, wanted: int, factor: float | None, align_corners: bool, align_mode: int
) -> list[tuple[np.ndarray, np.ndarray | None]]:
    """Returns for each element wanted along an axis which elements it is made of, each with its share."""
    i = np.arange(wanted)
    scale = n / max(wanted, 1) if factor is None else 1 / factor
    if mode.startswith("nearest"):  # in float32, as both libraries look for it
        at = np.floor((i + (0.5 if mode == "nearest-exact" else 0)).astype(np.float32) * np.float32(scale))
        return [(np.minimum(at.astype(np.int64), n - 1), None)]
    if align_corners:
        where = i * ((n - 1) / (wanted - 1) if wanted > 1 else 0.0)
    elif align_mode == 1 and mode != "bicubic":
        where = i * scale
    else:
        where = (i + 0.5) * scale - 0.5
    if mode != "bicubic":
        where = np.maximum(where, 0.0)
        low = np.minimum(np.floor(where).astype(np.int64), n - 1)
        part = where - low
        return [(low, 1 - part), (np.minimum(low + 1, n - 1), part)]
    low = np.floor(where).astype(np.int64)
    part = where - low
    shares = [_cubic(part + 1), _cubic(part), _cubic(1 - part), _cubic(2 - part)]
    return [(np.clip(low + at, 0, n - 1), share) for at, share in zip((-1, 0, 1, 2), shares, strict=True)]


def _cubic(distance: np.ndarray, a: float = -0.75) -> np.ndarray:
    """Returns the share of an element so far away, < 2, in Keys's kernel (1981)."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    shares: np.ndarray = np.where(distance <= 1, near, far)
    return shares


def _along(x: Any, axis: int, n: int, parts: list[tuple[np.ndarray, np.ndarray | None]]) -> Any:
    if len(parts[0][0]) == n and all(np.array_equal(at, np.arange(n)) for at, _ in parts[:1]) and parts[0][1] is None:
        return x
    behind = [1] * (len(x.shape) - 1 - axis)
    shares = [None if share is None else share.astype(x.dtype).reshape(-1, *behind) for _, share in parts]
    taken = [ops.gather(x, at, axis) for at, _ in parts]
    each = [part if share is None else ops.multiply(part, share) for part, share in zip(taken, shares, strict=True)]
    return ops.add_n(each) if len(each) > 1 else each[0]


@in_both_words
def upsample(
    x: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = False,
    align_mode: int = 0,
    data_format: str | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:
    """Returns `interpolate` of these arguments. Differentiable."""
    options = align_corners, align_mode, data_format, recompute_scale_factor
    return interpolate(x, size, scale_factor, mode, *options)


@in_both_words
def affine_grid(theta: Any, out_shape: Any, align_corners: bool | None = True) -> Any:
    """Returns where each element of an image is looked for, for `grid_sample`, by an affine map. Differentiable.

    Args:
        theta: of shape (N, 2, 3) for images, (N, 3, 4) for volumes: from places (x, y, 1) of the result, in [-1, 1].
        out_shape: (N, C, H, W) or (N, C, D, H, W) of the result.
        align_corners: -1 and 1 are the middles of the first and the last element, as in Paddle; else their outer
            borders, which PyTorch takes unless told otherwise.

    Returns:
        Of shape (N, H, W, 2) or (N, D, H, W, 3).

    Raises:
        ShapeError: the shapes do not fit each other.
    """
    axes = len(out_shape) - 2
    if axes not in (2, 3) or tuple(theta.shape[1:]) != (axes, axes + 1):
        raise ShapeError(
            "affine_grid: theta expected shape (N, 2, 3) for 4 sizes or (N, 3, 4) for 5, got "
            f"{tuple(theta.shape)} and {tuple(out_shape)}"
        )
    sizes = [int(size) for size in out_shape[2:]]
    lines = [np.linspace(-1, 1, n) * (1 if align_corners else (n - 1) / n) if n > 1 else np.zeros(1) for n in sizes]
    mesh = np.meshgrid(*lines, indexing="ij")[::-1]
    base = np.stack([*mesh, np.ones(sizes)], -1).reshape(1, -1, axes + 1).astype(theta.dtype)
    return ops.reshape(ops.matmul(base, theta, transpose_y=True), [-1, *sizes, axes])


@in_both_words
def grid_sample(
    x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool | None = True
) -> Any:
    """Returns elements of images at places that a grid says, between which it interpolates.

    Args:
        x: floats of shape (N, C, H, W), or (N, C, D, H, W).
        grid: places (x, y) in [-1, 1] of shape (N, *sizes, 2), or (x, y, z) of (N, *sizes, 3).
        mode: `bilinear`, or `nearest`, whose grid has no gradient.
        padding_mode: what lies outside: `zeros`, the `border`, or the `reflection` of the image.
        align_corners: as of `affine_grid`; PyTorch takes False unless told otherwise.

    Returns:
        Of shape (N, C, *sizes). Differentiable in x and in the grid.

    Raises:
        ShapeError: the shapes do not fit each other.
        AttributeValueError: another mode.
    """
    axes = len(x.shape) - 2
    if axes not in (2, 3) or len(grid.shape) != axes + 2 or grid.shape[-1] != axes:
        raise ShapeError(
            "grid_sample: expected x (N, C, H, W) and grid (N, H, W, 2), or volumes and 3, got "
            f"{tuple(x.shape)} and {tuple(grid.shape)}"
        )
    for name, value, known in (
        ("mode", mode, ("bilinear", "nearest")),
        ("padding_mode", padding_mode, ("zeros", "border", "reflection")),
    ):
        if value not in known:
            raise AttributeValueError(f"grid_sample: {name} expected one of {', '.join(known)}, got {value!r}")
    sizes = [known_size(x, 2 + at, "grid_sample") for at in range(axes)]
    where = [grid[..., axes - 1 - at] for at in range(axes)]  # of each axis of the image
    places = [_place(c, n, padding_mode, bool(align_corners)) for c, n in zip(where, sizes, strict=True)]
    flat, shape = ops.flatten(x, 2), grid.shape[1:-1]
    total = None
    for corner in itertools.product((0, 1), repeat=axes) if mode == "bilinear" else [(0,) * axes]:
        index, share = 0, None
        for place, n, step in zip(places, sizes, corner, strict=True):
            low = ops.floor(place) if mode == "bilinear" else ops.round(place)
            at, part = low + float(step), ops.subtract(place, low)
            inside = ops.logical_and(ops.greater_equal(at, 0.0), ops.less_equal(at, n - 1.0))
            held = ops.cast(inside, x.dtype)
            if mode == "bilinear":
                held = ops.multiply(held, part if step else 1.0 - part)
            share = held if share is None else ops.multiply(share, held)
            index = ops.cast(ops.clip(at, 0.0, n - 1.0), "int64") + index * n
        taken = ops.take_along_axis(flat, ops.unsqueeze(ops.flatten(index, 1), 1), 2)
        made = ops.multiply(taken, ops.unsqueeze(ops.flatten(share, 1), 1))
        total = made if total is None else ops.add(total, made)
    return ops.reshape(total, [0, 0, *shape])


def _place(c: Any, n: int, padding_mode: str, align_corners: bool) -> Any:
    """Returns coordinates in [-1, 1] along an axis as numbers of elements, within it unless zeros lie outside."""
    place = (c + 1.0) * ((n - 1) / 2) if align_corners else (c + 1.0) * (n / 2) - 0.5
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        low, span = (0.0, n - 1.0) if align_corners else (-0.5, float(n))
        if span == 0:
            return place * 0.0
        away = ops.abs(place - low)
        turns = ops.floor(away * (1 / span))
        rest = ops.subtract(away, turns * span)
        is_even = ops.equal(ops.remainder(turns, 2.0), 0.0)
        place = ops.where(is_even, rest + low, (span + low) - rest)
    return ops.clip(place, 0.0, n - 1.0)


FUNCTIONS = interpolate, upsample, affine_grid, grid_sample
