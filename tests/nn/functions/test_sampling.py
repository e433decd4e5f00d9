import itertools

import numpy as np
import pytest

from opsdk.nn import functional as F
from tests.nn.in_runtimes import check

X = np.sin(np.arange(2 * 2 * 3 * 4.0)).reshape(2, 2, 3, 4)
LINE = np.cos(np.arange(10.0)).reshape(1, 2, 5)
SOLID = np.cos(np.arange(24.0)).reshape(1, 1, 2, 3, 4)
THETA = np.array([[[0.9, 0.2, -0.1], [-0.3, 1.1, 0.4]]])


def tent(distance):
    return np.maximum(1 - abs(distance), 0)


def keys(distance, a=-0.75):
    d = abs(distance)
    near, far = (a + 2) * d**3 - (a + 3) * d**2 + 1, a * (d**3 - 5 * d**2 + 8 * d - 4)
    return np.where(d <= 1, near, np.where(d < 2, far, 0))


def resized(x, axis, size, place, kernel=tent, reach=3):
    """Each new element is a sum over all old ones, and what lies beyond the border counts for the border."""
    n = x.shape[axis]
    where = place(np.arange(size))
    shares = np.zeros((size, n))
    for j in range(-reach, n + reach):
        shares[:, min(max(j, 0), n - 1)] += kernel(where - j)
    return np.moveaxis(np.tensordot(shares, x, (1, axis)), 0, axis)


def halves(n, size):
    return lambda i: (i + 0.5) * n / size - 0.5


def corners(n, size):
    return lambda i: i * (n - 1) / (size - 1)


def both(x, place, sizes, **options):
    for axis, size in zip((2, 3), sizes, strict=True):
        x = resized(x, axis, size, place(x.shape[axis], size), **options)
    return x


CASES = {
    "nearest": (
        lambda x: F.interpolate(x, (5, 2)),
        [X],
        X[:, :, [0, 0, 1, 1, 2]][..., [0, 2]],
    ),
    "nearest-exact": (
        lambda x: F.interpolate(x, size=(2, 4), mode="nearest-exact"),
        [X],
        X[:, :, [0, 2]],
    ),
    "nearest, by a factor": (lambda x: F.upsample(x, scale_factor=2), [X], X.repeat(2, 2).repeat(2, 3)),
    "linear": (
        lambda x: F.interpolate(x, 8, mode="linear"),
        [LINE],
        resized(LINE, 2, 8, halves(5, 8)),
    ),
    "linear, channels last": (
        lambda x: F.interpolate(x, [8], mode="linear", data_format="NWC"),
        [np.moveaxis(LINE, 1, 2)],
        np.moveaxis(resized(LINE, 2, 8, halves(5, 8)), 1, 2),
    ),
    "linear, Paddle's align_mode": (
        lambda x: F.interpolate(x, 8, mode="linear", align_mode=1),
        [LINE],
        resized(LINE, 2, 8, lambda i: i * 5 / 8),
    ),
    "bilinear": (lambda x: F.interpolate(x, (5, 2), mode="bilinear"), [X], both(X, halves, (5, 2))),
    "bilinear, corners aligned": (
        lambda x: F.interpolate(x, (5, 7), mode="bilinear", align_corners=True),
        [X],
        both(X, corners, (5, 7)),
    ),
    "bilinear, to one row": (
        lambda x: F.interpolate(x, (1, 4), mode="bilinear", align_corners=True),
        [X],
        X[:, :, :1],
    ),
    "bilinear, by factors": (
        lambda x: F.interpolate(x, scale_factor=[1.5, 1.3], mode="bilinear"),
        [X],
        resized(resized(X, 2, 4, lambda i: (i + 0.5) / 1.5 - 0.5), 3, 5, lambda i: (i + 0.5) / 1.3 - 0.5),
    ),
    "bilinear, by the sizes that factors give": (
        lambda x: F.interpolate(x, scale_factor=[1.5, 1.3], mode="bilinear", recompute_scale_factor=True),
        [X],
        both(X, halves, (4, 5)),
    ),
    "bicubic": (
        lambda x: F.interpolate(x, (5, 7), mode="bicubic"),
        [X],
        both(X, halves, (5, 7), kernel=keys),
    ),
    "bicubic, corners aligned": (
        lambda x: F.interpolate(x, (5, 7), mode="bicubic", align_corners=True),
        [X],
        both(X, corners, (5, 7), kernel=keys),
    ),
    "trilinear": (
        lambda x: F.interpolate(x, (3, 2, 5), mode="trilinear"),
        [SOLID],
        resized(both(resized(SOLID, 4, 5, halves(4, 5)), halves, (3, 2)), 3, 2, lambda i: i)[:, :, :, :, :],
    ),
    "area": (lambda x: F.interpolate(x, (3, 2), mode="area"), [X], (X[..., ::2] + X[..., 1::2]) / 2),
    "affine_grid": (
        lambda t: F.affine_grid(t, [1, 1, 2, 3]),
        [THETA],
        np.array([[[THETA[0] @ [x, y, 1] for x in (-1, 0, 1)] for y in (-1, 1)]]),
    ),
    "affine_grid, borders": (
        lambda t: F.affine_grid(t, size=[1, 1, 2, 4], align_corners=False),
        [THETA],
        np.array([[[THETA[0] @ [x, y, 1] for x in (-0.75, -0.25, 0.25, 0.75)] for y in (-0.5, 0.5)]]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_is_its_formula_in_every_runtime(name):
    check(*CASES[name])


def place_of(c, n, padding, aligned):
    where = (c + 1) * (n - 1) / 2 if aligned else ((c + 1) * n - 1) / 2
    if padding == "reflection":
        low, high = (0, n - 1) if aligned else (-0.5, n - 0.5)
        while not low <= where <= high:
            where = 2 * low - where if where < low else 2 * high - where
    return where if padding == "zeros" else min(max(where, 0), n - 1)


def sampled(x, grid, kernel, padding, aligned):
    """Each element is a sum over the whole image, one by one."""
    made = np.zeros((*x.shape[:2], *grid.shape[1:-1]))
    for b in range(len(x)):
        for at in np.ndindex(grid.shape[1:-1]):
            where = [place_of(c, n, padding, aligned) for c, n in zip(grid[(b, *at)][::-1], x.shape[2:], strict=True)]
            for element in np.ndindex(x.shape[2:]):
                share = np.prod([kernel(place - e) for place, e in zip(where, element, strict=True)])
                made[(b, slice(None), *at)] += share * x[(b, slice(None), *element)]
    return made


GRID = 1.25 * np.sin(1 + 2 * np.arange(2 * 2 * 3 * 2.0)).reshape(2, 2, 3, 2)
DEEP = 1.2 * np.sin(1 + 2 * np.arange(2 * 3.0)).reshape(1, 2, 1, 1, 3)


@pytest.mark.parametrize(
    ("padding", "aligned"), list(itertools.product(["zeros", "border", "reflection"], [True, False]))
)
def test_a_grid_takes_elements_from_between_others(padding, aligned):
    options = {"padding_mode": padding, "align_corners": aligned}
    check(lambda x, g: F.grid_sample(x, g, **options), [X, GRID], sampled(X, GRID, tent, padding, aligned))
    nearest = lambda d: float(-0.5 <= d <= 0.5)  # noqa: E731
    check(
        lambda x, g: F.grid_sample(x, g, "nearest", **options),
        [X, GRID],
        sampled(X, GRID, nearest, padding, aligned),
        free=[0],
    )


def test_a_grid_takes_elements_of_volumes():
    check(F.grid_sample, [SOLID, DEEP], sampled(SOLID, DEEP, tent, "zeros", True))


WRONG = {
    "size and factor": (lambda: F.interpolate(X), "interpolate: expected size or scale_factor, got None and None"),
    "layout": (lambda: F.interpolate(X, 2, data_format="HWC"), "interpolate: data_format expected one of NCW, NCL"),
    "factor": (
        lambda: F.interpolate(X, scale_factor=0.0),
        "interpolate: scale_factor expected a number > 0, or 2, got 0.0",
    ),
    "mode": (lambda: F.interpolate(X, 2, mode="cubic"), "interpolate: mode expected one of nearest, nearest-exact"),
    "axes": (lambda: F.interpolate(LINE, 2, mode="bilinear"), "interpolate: x expected 4 axes for mode 'bilinear'"),
    "corners": (
        lambda: F.interpolate(X, 2, align_corners=True),
        "interpolate: align_corners expected False for mode 'nearest', got True",
    ),
    "antialias": (
        lambda: F.interpolate(X, 2, antialias=True),
        "interpolate: antialias expected False, the only one served, got True",
    ),
    "theta": (lambda: F.affine_grid(X, [1, 1, 2, 2]), "affine_grid: theta expected shape (N, 2, 3) for 4 sizes"),
    "grid": (lambda: F.grid_sample(X, X), "grid_sample: expected x (N, C, H, W) and grid (N, H, W, 2), or volumes"),
    "grid's mode": (lambda: F.grid_sample(X, GRID, "bicubic"), "grid_sample: mode expected one of bilinear, nearest"),
    "grid's padding": (
        lambda: F.grid_sample(X, GRID, padding_mode="x"),
        "grid_sample: padding_mode expected one of zeros, border, reflection, got 'x'",
    ),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert text in str(caught.value)
