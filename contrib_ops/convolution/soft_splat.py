"""Soft splatting: pixels are sent along a flow, and those that meet are added, averaged or weighted."""

import numpy as np

import opsdk
from contrib_ops.convolution.deform_conv2d import corners
from opsdk import errors

MOST = 700.0  # exp of it is finite


@opsdk.op(
    "contrib::soft_splat(Tensor input, Tensor flow, Tensor? metric=None, *, "
    "'summation' | 'average' | 'linear' | 'softmax' mode='softmax') -> Tensor y"
)
def soft_splat(input, flow, metric, mode):
    """y[q] = Σ_p w(q, p) input[p] / Σ_p w(q, p), with w(q, p) = b(q - p - flow[p]) · g(metric[p]).

    b is the bilinear kernel, so that a pixel reaches the four around where it lands. Softmax Splatting for Video Frame
    Interpolation (Niklaus and Liu 2020, eq. 3 to 11).

    Args:
        input: images, float array (N, C, H, W).
        flow: (N, 2, H, W), finite: how many pixels each goes to the right, and down. What lands outside is lost.
        metric: (N, 1, H, W), how much each pixel counts; with modes "linear", from 0, and "softmax" only.
        mode: g is 1 with "summation", where the divisor is left out, and with "average", the metric with "linear", and
            its exponential with "softmax", which is taken relative to the greatest that meet, so that none overflows.

    Returns y like input; 0 where nothing lands.

    Raises ValueError: shapes or dtypes that do not fit, a flow that is nan or inf, a metric that the mode does not
    take.

    Gradient: with respect to input, flow and metric, order 1; in the flow the right one where a pixel lands on another.
    """
    x, z, rows, columns = by_pixels(input, flow, metric)
    n, c = np.indices(x.shape[:2], sparse=True)
    sums = np.zeros(x.shape)
    greatest, shares = totals(z, rows, columns, input.shape, mode)
    for index, share, _, _ in corners((rows, columns), input.shape):
        weights = share * gain(z, greatest[n, index], mode)
        np.add.at(sums, (n[..., None], c[..., None], index[:, None]), weights[:, None] * x)
    return (sums * shares[:, None]).reshape(input.shape).astype(input.dtype)


@soft_splat.backward
def soft_splat_grad(input, flow, metric, y, dy, mode):
    x, z, rows, columns = by_pixels(input, flow, metric)
    n, c = np.indices(x.shape[:2], sparse=True)
    n, c = n[..., None], c[..., None]
    greatest, shares = totals(z, rows, columns, input.shape, mode)
    made, arriving = y.reshape(x.shape), dy.reshape(x.shape) * shares[:, None]
    dx, dz, down, right = np.zeros(x.shape), *np.zeros((3, *z.shape))
    for index, share, share_down, share_right in corners((rows, columns), input.shape):
        gains = gain(z, greatest[n[..., 0], index], mode)
        here = arriving[n, c, index[:, None]]
        dx += (share * gains)[:, None] * here
        moved = ((x - made[n, c, index[:, None]] * (mode != "summation")) * here).sum(axis=1)  # by a weight
        down += moved * gains * share_down
        right += moved * gains * share_right
        dz += moved * share * (gains if mode == "softmax" else 1)
    dflow = np.stack([right, down], axis=1).reshape(flow.shape).astype(flow.dtype)
    dmetric = None if metric is None else dz.reshape(metric.shape).astype(metric.dtype)
    return dx.reshape(input.shape).astype(input.dtype), dflow, dmetric


def by_pixels(input, flow, metric):
    """Returns input (N, C, P), metric (N, P), and where each pixel lands, rows and columns (N, P)."""
    count, channels, height, width = input.shape
    shape = (count, height * width)
    rows, columns = flow[:, 1] + np.arange(height)[:, None], flow[:, 0] + np.arange(width)
    z = np.zeros(shape) if metric is None else metric.reshape(shape).astype(np.float64)
    return input.reshape(count, channels, shape[1]), z, rows.reshape(shape), columns.reshape(shape)


def totals(z, rows, columns, shape, mode):
    """Returns of each pixel the greatest metric that reaches it, and what its sum is to be multiplied by."""
    n, found = np.arange(len(z))[:, None], list(corners((rows, columns), shape))
    greatest, total = np.full(z.shape, -np.inf), np.zeros(z.shape)
    for index, share, _, _ in found:
        np.maximum.at(greatest, (n, index), np.where(share > 0, z, -np.inf))
    greatest[greatest == -np.inf] = 0
    for index, share, _, _ in found:
        np.add.at(total, (n, index), share * gain(z, greatest[n, index], mode))
    reached = total > 0
    return greatest, reached / np.where(reached, total, 1) if mode != "summation" else np.ones(z.shape)


def gain(z, greatest, mode):
    """Returns how much pixels count where the greatest is that; one that only touches a pixel may exceed it."""
    if mode == "softmax":
        return np.exp(np.minimum(z - greatest, MOST))
    return z if mode == "linear" else np.ones(z.shape)


@soft_splat.infer
def soft_splat_infer(input, flow, metric):
    shapes = [array.shape for array in (input, flow, metric) if array is not None]
    if any(len(shape) != 4 for shape in shapes):
        raise errors.ShapeError(f"soft_splat: input, flow and metric expected 4 axes each, got shapes {shapes}")
    return input


@soft_splat.check
def soft_splat_check(input, flow, metric, mode):
    count, _, height, width = input.shape
    if input.dtype.kind != "f":
        return f"input expected floats, got {input.dtype}; cast it"
    if (metric is not None) != (mode in ("linear", "softmax")):
        return f"metric expected with modes 'linear' and 'softmax', and with them only, got mode {mode!r}"
    for name, array, channels in (("flow", flow, 2), ("metric", metric, 1)):
        shape = (count, channels, height, width)
        if array is not None and (array.shape != shape or array.dtype != input.dtype):
            return f"{name} expected {input.dtype}{shape} beside input {input.shape}, got {array.dtype}{array.shape}"
    if not np.isfinite(flow).all():
        return "flow expected finite numbers, got nan or inf"
    if mode == "linear" and (metric < 0).any():
        return f"metric expected from 0 with mode 'linear', got {metric.min()}; take mode 'softmax'"
    return None


@soft_splat_grad.check
def soft_splat_grad_check(input, flow, metric, y, dy, mode):
    for name, array in (("y", y), ("dy", dy)):
        if array.shape != input.shape:
            return f"{name} expected the shape of input, {input.shape}, got {array.shape}"
    return soft_splat_check(input, flow, metric, mode)


@soft_splat.samples
def soft_splat_samples(rng):
    def drawn(*shape, by=0.8, metric=True):
        input, flow = rng.normal(size=shape), rng.uniform(-by, by, (shape[0], 2, *shape[2:]))
        return input, flow, rng.uniform(0.5, 2, (shape[0], 1, *shape[2:])) if metric else None

    yield opsdk.Sample(*drawn(1, 2, 2, 3), mode="softmax", reason="softmax of two channels")
    yield opsdk.Sample(*drawn(2, 1, 2, 2), mode="linear", reason="linear, two images")
    yield opsdk.Sample(*drawn(1, 2, 2, 2, metric=False), mode="average", reason="average")
    yield opsdk.Sample(*drawn(1, 1, 3, 2, metric=False), mode="summation", reason="summation")
    yield opsdk.Sample(*drawn(1, 1, 3, 3, by=3), mode="softmax", reason="much lands outside, some pixels get nothing")
    yield opsdk.Sample(*drawn(1, 1, 1, 3), mode="softmax", reason="a single row")
    images, flow, metric = drawn(1, 1, 2, 2)
    yield opsdk.Sample(images, flow, 2000 * metric, mode="softmax", reason="exp of the metric would overflow")
    yield opsdk.Sample(*drawn(0, 1, 2, 2), mode="softmax", reason="no images")
    yield opsdk.Sample(*drawn(1, 1, 0, 2), mode="softmax", reason="no rows")


@soft_splat.bench
def soft_splat_bench(rng, n):
    """Images of 16 channels, 64 × 64, moved by some pixels."""
    images = rng.normal(size=(max(1, n // (16 * 64**2)), 16, 64, 64))
    return opsdk.Sample(
        images, 3 * rng.normal(size=(len(images), 2, 64, 64)), rng.normal(size=(len(images), 1, 64, 64))
    )


for op, name in ((soft_splat, "forward"), (soft_splat_grad, "backward")):
    source = f".soft_splat_numba:{name}"
    op.kernel("cpu", language="numba", source=source, dtype=("float32", "float64"), parallel=True, contiguous=True)
