import math

import numpy as np
import pytest

from opsdk.nn import functional as F
from tests.nn.in_runtimes import check

X = np.sin(np.arange(2 * 4 * 4 * 2.0)).reshape(2, 4, 4, 2)
LAST = np.moveaxis(X, 1, -1)
LINE = np.abs(np.cos(np.arange(12.0))).reshape(1, 2, 6) + 0.1


def shuffled(x, r):
    """Channel c·r² + i·r + j of an element is element (i, j) of its block in channel c."""
    made = np.zeros((len(x), x.shape[1] // r**2, x.shape[2] * r, x.shape[3] * r))
    for i in range(r):
        for j in range(r):
            made[:, :, i::r, j::r] = x[:, i * r + j :: r**2]
    return made


def windows(x, kernel, stride, pad, dilation):
    """The windows of images, one by one."""
    padded = np.pad(x, [(0, 0), (0, 0), *pad])
    sizes = [
        1 + (n - d * (k - 1) - 1) // s for n, k, s, d in zip(padded.shape[2:], kernel, stride, dilation, strict=True)
    ]
    columns = []
    for a in range(sizes[0]):
        for b in range(sizes[1]):
            top, left = a * stride[0], b * stride[1]
            rows = slice(top, top + dilation[0] * (kernel[0] - 1) + 1, dilation[0])
            across = slice(left, left + dilation[1] * (kernel[1] - 1) + 1, dilation[1])
            columns.append(padded[:, :, rows, across].reshape(len(x), -1))
    return np.stack(columns, -1)


def neighbours(x, size, alpha, beta, k):
    made = np.zeros_like(x)
    for c in range(x.shape[1]):
        near = x[:, max(c - size // 2, 0) : c + (size - 1) // 2 + 1]
        made[:, c] = x[:, c] / (k + alpha / size * (near**2).sum(1)) ** beta
    return made


COLUMNS = np.cos(np.arange(2 * 4 * 6.0)).reshape(2, 4, 6)
FOLDED = np.zeros((2, 1, 3, 4))
for _place in range(6):
    _a, _b = divmod(_place, 3)
    FOLDED[:, 0, _a : _a + 2, _b : _b + 2] += COLUMNS[:, :, _place].reshape(2, 2, 2)
ODD = {"kernel_size": (3, 2), "stride": (2, 1), "padding": (1, 0), "dilation": (1, 1)}
MARKED = np.array([[[1.0, 0.0, 2.0, 0.0, 0.0, 3.0]]])

CASES = {
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), [X], shuffled(X, 2)),
    "pixel_shuffle, channels last": (
        lambda x: F.pixel_shuffle(x, 2, "NHWC"),
        [LAST],
        np.moveaxis(shuffled(X, 2), 1, -1),
    ),
    "pixel_unshuffle": (lambda x: F.pixel_unshuffle(x, 2), [shuffled(X, 2)], X),
    "pixel_unshuffle, channels last": (
        lambda x: F.pixel_unshuffle(x, 2, "NHWC"),
        [np.moveaxis(shuffled(X, 2), 1, -1)],
        LAST,
    ),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), [X], X[:, [0, 2, 1, 3]]),
    "channel_shuffle, last": (lambda x: F.channel_shuffle(x, 2, "NHWC"), [LAST], LAST[..., [0, 2, 1, 3]]),
    "unfold": (lambda x: F.unfold(x, 2), [X], windows(X, (2, 2), (1, 1), [(0, 0)] * 2, (1, 1))),
    "unfold, in PyTorch's words": (
        lambda x: F.unfold(x, **ODD),
        [X],
        windows(X, (3, 2), (2, 1), [(1, 1), (0, 0)], (1, 1)),
    ),
    "unfold, each side padded": (
        lambda x: F.unfold(x, 2, 1, [1, 0, 0, 2], [2, 1]),
        [X],
        windows(X, (2, 2), (1, 1), [(1, 0), (0, 2)], (2, 1)),
    ),
    "fold": (lambda x: F.fold(x, (3, 4), 2), [COLUMNS], FOLDED),
    "fold, padded": (
        lambda x: F.fold(x, output_size=(1, 4), kernel_size=2, padding=(1, 0)),
        [COLUMNS],
        FOLDED[:, :, 1:2],
    ),
    "local_response_norm": (
        lambda x: F.local_response_norm(x, 3, 0.5, 0.6, 2.0),
        [X],
        neighbours(X, 3, 0.5, 0.6, 2.0),
    ),
    "local_response_norm, channels last": (
        lambda x: F.local_response_norm(x, 2, 0.5, data_format="NHWC"),
        [LAST],
        np.moveaxis(neighbours(X, 2, 0.5, 0.75, 1.0), 1, -1),
    ),
    "pad": (
        lambda x: F.pad(x, [1, 0, 0, 2], value=3.0),
        [X],
        np.pad(X, [(0, 0), (0, 0), (0, 2), (1, 0)], constant_values=3),
    ),
    "pad, channels last": (
        lambda x: F.pad(x, [1, 0, 0, 2], "reflect", data_format="NHWC"),
        [LAST],
        np.pad(LAST, [(0, 0), (0, 2), (1, 0), (0, 0)], mode="reflect"),
    ),
    "pad, all axes as Paddle reads them": (
        lambda x: F.pad(x, [1, 0, 0, 0, 0, 2], pad_from_left_axis=True),
        [LINE],
        np.pad(LINE, [(1, 0), (0, 0), (0, 2)]),
    ),
    "pad, all axes as PyTorch reads them": (
        lambda x: F.pad(x, [1, 0, 0, 0, 0, 2], pad_from_left_axis=False),
        [LINE],
        np.pad(LINE, [(0, 2), (0, 0), (1, 0)]),
    ),
    "zeropad2d": (lambda x: F.zeropad2d(x, [1, 0, 0, 2]), [X], np.pad(X, [(0, 0), (0, 0), (0, 2), (1, 0)])),
    "lp_pool1d": (
        lambda x: F.lp_pool1d(x, 3.0, 2),
        [LINE],
        (LINE[..., ::2] ** 3 + LINE[..., 1::2] ** 3) ** (1 / 3),
    ),
    "lp_pool1d, of the greatest": (
        lambda x: F.lp_pool1d(x, math.inf, 2),
        [LINE],
        np.maximum(LINE[..., ::2], LINE[..., 1::2]),
    ),
    "lp_pool2d": (
        lambda x: F.lp_pool2d(x, 2, (2, 1), stride=(2, 1)),
        [X],
        np.hypot(X[:, :, ::2], X[:, :, 1::2]),
    ),
    "max_unpool1d": (
        lambda x: F.max_unpool1d(x, np.array([[[0, 2, 5]]]), 2),
        [np.array([[[1.0, 2.0, 3.0]]])],
        MARKED,
    ),
    "max_unpool1d, of a size": (
        lambda x: F.max_unpool1d(x, np.array([[[0, 2, 5]]], np.int32), 2, output_size=[7]),
        [np.array([[[1.0, 2.0, 3.0]]])],
        np.pad(MARKED, [(0, 0), (0, 0), (0, 1)]),
    ),
    "max_unpool2d": (
        lambda x: F.max_unpool2d(x, np.array([[[[3, 4]]]]), 2),
        [np.array([[[[1.0, 2.0]]]])],
        np.array([[[[0, 0, 0, 1.0], [2.0, 0, 0, 0]]]]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_moves_every_element_to_its_place_in_every_runtime(name):
    check(*CASES[name])


WRONG = {
    "channels": (lambda: F.pixel_shuffle(X, 3), "pixel_shuffle: x expected channels that 9 divides, got shape"),
    "sizes": (lambda: F.pixel_unshuffle(X, 3), "pixel_unshuffle: x expected height and width that 3 divides"),
    "no image": (lambda: F.channel_shuffle(X[0, 0], 1), "channel_shuffle: x expected an image, (..., C, H, W), got"),
    "no batch": (lambda: F.unfold(X[0], 2), "unfold: x expected shape (N, C, H, W), got (4, 4, 2)"),
    "no window": (lambda: F.unfold(X, 5), "unfold: expected a window that fits into (4, 2), got kernel_sizes (5, 5)"),
    "columns": (lambda: F.fold(COLUMNS, 4, 2), "fold: x expected shape (N, C · 4, 9) for images (4, 4), got (2, 4, 6)"),
    "few axes": (lambda: F.local_response_norm(X[0, 0], 2), "local_response_norm: x expected 3 axes or more"),
    "pad either way": (lambda: F.pad(LINE, [1, 0, 0, 0, 0, 2]), "which PyTorch reads from the last axis on and Paddle"),
    "axes of a pad": (lambda: F.zeropad2d(LINE, 1), "pad of 2 axes: x expected shape (N, C, H, W), got (1, 2, 6)"),
    "norm": (lambda: F.lp_pool1d(LINE, 0, 2), "lp_pool1d: norm_type expected a number > 0, got 0"),
    "axes of an unpool": (
        lambda: F.max_unpool2d(LINE, LINE, 2),
        "max_unpool2d: x expected shape (N, C, H, W), got (1, 2, 6), NCHW",
    ),
    "size of an unpool": (
        lambda: F.max_unpool1d(MARKED, MARKED, 2, output_size=[20]),
        "max_unpool1d: output_size expected within a stride of [12], got [20]",
    ),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert text in str(caught.value)
