"""Long convolution: every element reads all before it, in time n log n by the fast Fourier transform."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op("contrib::fft_conv(Tensor x, Tensor filter, *, 'causal' | 'circular' mode='causal') -> Tensor y")
def fft_conv(x, filter, mode):
    """y[b, c, t] = Σ_s filter[c, s] · x[b, c, t - s], where x before its first element is 0, or its end (circular).

    The long convolution of state space models (Gu, Goel and Ré 2022, S4, eq. 5) and of Hyena (Poli et al. 2023, sec.
    3); the fast kernel multiplies transforms, padded to twice the length where it is causal (Cooley and Tukey 1965).

    Args:
        x: float array (B, C, L), a sequence for each channel.
        filter: (C, K), or (B, C, K) with one for each sequence too, of the dtype of x; K from 1 to L.
        mode: "causal" or "circular".

    Returns y like x. The fast kernel is accurate relative to the greatest of a sequence, not to each element, since a
    transform mixes all of them; sequences with nan or inf are summed as they stand, so that these spread no further.

    Raises ValueError: shapes or dtypes that do not fit.

    Gradient: with respect to x and filter, to any order: y is bilinear, and its gradients are such convolutions, with
    what is read backwards.
    """
    return directly(x, filter, mode)


def directly(x, filter, mode):
    y = np.zeros(x.shape, np.result_type(x.dtype, np.float32))
    for s in range(filter.shape[-1]):
        read = x[..., : x.shape[-1] - s] if mode == "causal" else np.roll(x, s, axis=-1)
        y[..., s if mode == "causal" else 0 :] += filter[..., s, None] * read
    return y.astype(x.dtype)


@fft_conv.backward(composite=True)
def fft_conv_grad(x, filter, dy, mode, needs_input_grad):
    backwards, dx, dfilter = dy[..., ::-1], None, None
    if needs_input_grad[0]:
        dx = fft_conv(backwards, filter, mode=mode)[..., ::-1]
    if needs_input_grad[1]:
        dfilter = fft_conv(backwards, x, mode=mode)[..., ::-1][..., : filter.shape[-1]]
        dfilter = opsdk.sum(dfilter, axis=0) if len(filter.shape) == 2 else dfilter
    return dx, dfilter


@fft_conv.infer
def fft_conv_infer(x, filter):
    if len(x.shape) != 3 or len(filter.shape) not in (2, 3):
        raise errors.ShapeError(
            f"fft_conv: expected x (B, C, L) and filter (C, K) or (B, C, K), got {x.shape} and {filter.shape}"
        )
    return x


@fft_conv.check
def fft_conv_check(x, filter):
    (count, channels, length), taps = x.shape, filter.shape[-1]
    if x.dtype.kind != "f" or filter.dtype != x.dtype:
        got = f"{x.dtype} and {filter.dtype}"
        return f"x and filter expected one dtype, float16, float32 or float64, got {got}; cast them"
    if filter.shape != (*(count, channels)[3 - filter.ndim :], taps) or not 1 <= taps <= length:
        return (
            f"filter expected shape ({channels}, K) or ({count}, {channels}, K) with K in [1, {length}], got "
            f"{filter.shape}; what is longer than x reads nothing"
        )
    return None


@fft_conv.samples
def fft_conv_samples(rng):
    for mode in ("causal", "circular"):
        yield opsdk.Sample(
            rng.normal(size=(2, 2, 4)), rng.normal(size=(2, 3)), mode=mode, reason=f"{mode}, shorter filter"
        )
        yield opsdk.Sample(
            rng.normal(size=(2, 1, 3)), rng.normal(size=(2, 1, 3)), mode=mode, reason=f"{mode}, each its own"
        )
    yield opsdk.Sample(rng.normal(size=(1, 1, 37)), rng.normal(size=(1, 37)), mode="causal", reason="an odd length")
    x = np.array([[[1.0, np.inf, 2.0, 3.0]]])
    yield opsdk.Sample(
        x, rng.normal(size=(1, 2)), mode="causal", reason="inf, which spreads no further than the filter"
    )
    yield opsdk.Sample(rng.normal(size=(1, 2, 1)), rng.normal(size=(2, 1)), mode="causal", reason="one element")
    yield opsdk.Sample(np.zeros((0, 2, 3)), rng.normal(size=(2, 2)), mode="causal", reason="no sequences")
    yield opsdk.Sample(np.zeros((2, 0, 3)), np.zeros((0, 2)), mode="causal", reason="no channels")


@fft_conv.bench
def fft_conv_bench(rng, n):
    """Sequences of 1024 with filters as long."""
    return opsdk.Sample(rng.normal(size=(1, max(1, n // 1024), 1024)), rng.normal(size=(max(1, n // 1024), 1024)))


def by_transform(x, filter, mode):
    length = x.shape[-1]
    padded = length if mode == "circular" else 1 << (length + filter.shape[-1] - 2).bit_length()
    with np.errstate(invalid="ignore", over="ignore"):
        made = np.fft.irfft(np.fft.rfft(x, padded) * np.fft.rfft(filter, padded), padded)[..., :length].astype(x.dtype)
    return made if np.isfinite(made).all() else directly(x, filter, mode)


fft_conv.kernel("cpu", by_transform, language="numpy", dtype=("float32", "float64"))
