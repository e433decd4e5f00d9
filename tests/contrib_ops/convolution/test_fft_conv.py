"""fft_conv: beside matrices that say which element reads which."""

import numpy as np
import pytest

import opsdk
from contrib_ops import fft_conv
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch


def matrix_of(taps, length, mode):
    """Returns M with y = M x for one sequence."""
    made = np.zeros((length, length))
    for t in range(length):
        for s, tap in enumerate(taps):
            if mode == "circular" or s <= t:
                made[t, (t - s) % length] += tap
    return made


def counted(x, filters, mode):
    pairs = np.ndindex(x.shape[:2])
    y = np.zeros_like(x)
    for b, c in pairs:
        y[b, c] = matrix_of(filters[b, c] if filters.ndim == 3 else filters[c], x.shape[-1], mode) @ x[b, c]
    return y


@pytest.mark.parametrize("mode", ["causal", "circular"])
@pytest.mark.parametrize("shape", [(2, 3), (2, 8), (3, 2, 5), (2, 1)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_kernel_is_a_product_with_that_matrix(mode, shape, dtype, rng):
    x, filters = rng.normal(size=(3, 2, 8)).astype(dtype), rng.normal(size=shape).astype(dtype)
    close = {"rtol": 0, "atol": 1e-5 if dtype == "float32" else 1e-13}
    for kernel in fft_conv.opdef.kernels:
        if kernel.key.serves("cpu", np.dtype(dtype), (np.dtype(dtype),)):
            (y,) = launch(fft_conv.opdef, kernel, [x, filters], {"mode": mode})
            assert y.dtype == dtype
            np.testing.assert_allclose(y, counted(x.astype(float), filters.astype(float), mode), **close)


def test_causal_is_the_beginning_of_numpys_convolution(rng):
    x, taps = rng.normal(size=50), rng.normal(size=20)
    np.testing.assert_allclose(fft_conv(x[None, None], taps[None])[0, 0], np.convolve(x, taps)[:50], atol=1e-13)


@pytest.mark.parametrize("mode", ["causal", "circular"])
@pytest.mark.parametrize("shape", [(2, 3), (3, 2, 5)])
def test_two_gradients_are_those_of_a_bilinear_form(mode, shape, rng):
    x, filters, dy = rng.normal(size=(3, 2, 5)), rng.normal(size=shape), rng.normal(size=(3, 2, 5))
    a, w, d = (opsdk.to_tensor(array, stop_gradient=False) for array in (x, filters, dy))
    dx, dfilter = opsdk.grad(fft_conv(a, w, mode=mode), [a, w], d, create_graph=True)
    by_taps = np.zeros((3, 2, shape[-1], 5, 5))  # of the matrix
    for s, tap in enumerate(np.eye(shape[-1])):
        by_taps[:, :, s] = matrix_of(tap, 5, mode)
    every = filters if filters.ndim == 3 else np.broadcast_to(filters, (3, *shape))
    np.testing.assert_allclose(dx.numpy(), np.einsum("bcstu,bct,bcs->bcu", by_taps, dy, every), atol=1e-12)
    terms = np.einsum("bcstu,bct,bcu->bcs", by_taps, dy, x)
    np.testing.assert_allclose(dfilter.numpy(), terms if filters.ndim == 3 else terms.sum(axis=0), atol=1e-12)
    along = rng.normal(size=(3, 2, 5))
    second = opsdk.grad((dx * along).sum(), [w, d])
    terms = np.einsum("bcstu,bct,bcu->bcs", by_taps, dy, along)
    np.testing.assert_allclose(second[0].numpy(), terms if filters.ndim == 3 else terms.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(second[1].numpy(), counted(along, filters, mode), atol=1e-12)


@pytest.mark.parametrize("kernel", list(fft_conv.opdef.kernels), ids=str)
def test_nan_and_inf_reach_only_what_reads_them(kernel):
    dtype = "float32" if "float32" in str(kernel.key) else "float64"
    x = np.array([[[1, 2, np.nan, 4], [np.inf, 1, 1, 1]]], dtype)
    (y,) = launch(fft_conv.opdef, kernel, [x, np.array([[1, 1], [0.5, 1]], dtype)], {"mode": "causal"})
    np.testing.assert_array_equal(y, [[[1, 3, np.nan, np.nan], [np.inf, np.inf, 1.5, 1.5]]])


def test_long_float16_is_summed_in_float32():
    y = fft_conv(np.ones((1, 1, 3000), np.float16), np.ones((1, 3000), np.float16))
    assert (y.dtype, y[0, 0, -1]) == (np.float16, 3000)


@pytest.mark.parametrize(
    ("filters", "mode", "text"),
    [
        (
            np.ones((2, 6)),
            "causal",
            r"filter expected shape \(2, K\) or \(1, 2, K\) with K in \[1, 5\], got \(2, 6\); what is",
        ),
        (np.ones((2, 0)), "causal", r"filter expected shape \(2, K\) or \(1, 2, K\) with K in \[1, 5\], got \(2, 0\)"),
        (np.ones((3, 2)), "causal", r"filter expected shape \(2, K\) or \(1, 2, K\) with K in \[1, 5\], got \(3, 2\)"),
        (np.ones((2, 2), "f4"), "causal", "x and filter expected one dtype, .*, got float64 and float32; cast"),
    ],
)
def test_a_filter_that_does_not_fit_is_refused(filters, mode, text):
    with pytest.raises(InputValueError, match=text):
        fft_conv(np.ones((1, 2, 5)), filters, mode=mode)


def test_other_axes_and_modes_are_refused():
    with pytest.raises(
        ShapeError, match=r"expected x \(B, C, L\) and filter \(C, K\) or \(B, C, K\), got \(5,\) and \(2,\)"
    ):
        fft_conv(np.ones(5), np.ones(2))
    with pytest.raises(ValueError, match=r"attribute 'mode' expected 'causal' \| 'circular', got 'same'"):
        fft_conv(np.ones((1, 2, 5)), np.ones((2, 2)), mode="same")
