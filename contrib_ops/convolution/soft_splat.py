"""Soft splatting: pixels are sent along a flow, and those that meet are added, averaged or weighted."""

import numpy as np

import opsdk
from contrib_ops.convolution.deform_conv2d import corners

MOST = 700.0  # exp of it is finite
IMAGES, FLOWS, ONES = (opsdk.domain.shape("N", channels, "H", "W") for channels in ("C", 2, 1))


@opsdk.op(
    "contrib::soft_splat(Tensor input, Tensor flow, Tensor? metric=None, *, "
    "'summation' | 'average' | 'linear' | 'softmax' mode='softmax') -> Tensor y, "
    "residuals (Tensor base, Tensor total)",
    domain={"input": IMAGES, "flow": FLOWS, "metric": ONES, "base": ONES, "total": ONES},
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

    Gradient: with respect to input, flow and metric, order 2; in the flow the right one where a pixel lands on another.
    The divisors are kept for it, and with "softmax" the greatest metrics that they are relative to.
    """
    x, z, places = by_pixels(input, flow, metric)
    found = list(corners(places, input.shape, x.shape[-1]))
    y, (base, total) = one_more(np.zeros(x.shape)), totals(z, found, mode)
    for index, share, *_ in found:
        np.add.at(y, lands(y, index), share * gain(z, index, base, total, mode)[0] * x)
    shape = (len(input), 1, *input.shape[2:])
    return y[..., :-1].reshape(input.shape).astype(input.dtype), base.reshape(shape), total.reshape(shape)


# y = Σ w x, with w the share of a pixel times its gain, divided by the total. As these add up to one, a change of w by
# δ moves y by δ (x - y); with "summation" by δ x, as if y were 0.


@soft_splat.backward
def soft_splat_grad(input, flow, metric, y, base, total, dy, mode):
    x, z, places = by_pixels(input, flow, metric)
    made, arriving = y.reshape(x.shape) * (mode != "summation"), dy.reshape(x.shape)
    dx, dz, by_down, by_right = np.zeros(x.shape), *np.zeros((3, *z.shape))
    for index, share, share_down, share_right, _ in corners(places, input.shape, x.shape[-1]):
        gains, slopes = gain(z, index, base, total, mode)
        here = at(arriving, index)
        moved = np.where(index < x.shape[-1], ((x - at(made, index)) * here).sum(axis=1, keepdims=True), 0)
        dx += share * gains * here
        by_down += moved * gains * share_down
        by_right += moved * gains * share_right
        dz += moved * slopes * share
    return gradients(input, metric, dx, by_down, by_right, dz)


@soft_splat_grad.backward
def soft_splat_grad_grad(input, flow, metric, y, base, total, dy, ddinput, ddflow, ddmetric, mode):
    x, z, places = by_pixels(input, flow, metric)
    ddx, ddz, (down, right) = by_pixels(ddinput, ddflow, metric if metric is None else ddmetric, moves=True)
    averages, arriving = mode != "summation", dy.reshape(x.shape)
    made, parts = y.reshape(x.shape) * averages, []
    ddy, growth = one_more(np.zeros(x.shape)), one_more(np.zeros(z.shape))
    for index, share, share_down, share_right, bend in corners(places, input.shape, x.shape[-1]):
        gains, slopes = gain(z, index, base, total, mode)
        turn = share_down * down + share_right * right
        change = turn * gains + share * slopes * ddz  # of the weight, but for that of the total, the growth
        np.add.at(ddy, lands(ddy, index), change * (x - at(made, index)) + share * gains * ddx)
        np.add.at(growth, lands(growth, index), change)
        parts.append((index, share, share_down, share_right, bend, gains, slopes, turn, change))
    ddy, growth = ddy[..., :-1], growth[..., :-1]
    through_total = (arriving * ddy).sum(axis=1, keepdims=True) * averages
    dx, dz, by_down, by_right = np.zeros(x.shape), *np.zeros((3, *z.shape))
    for index, share, share_down, share_right, bend, gains, slopes, turn, change in parts:
        here = at(arriving, index)
        moved = np.where(index < x.shape[-1], ((x - at(made, index)) * here).sum(axis=1, keepdims=True), 0)
        by_weight = (ddx * here).sum(axis=1, keepdims=True) - at(through_total, index)
        by_share = moved * slopes * ddz + by_weight * gains
        dx += change * here
        by_down += by_share * share_down + moved * gains * bend * right
        by_right += by_share * share_right + moved * gains * bend * down
        dz += slopes * (moved * turn + by_weight * share) + moved * share * slopes * ddz * (mode == "softmax")
    dy_made, dy_arriving = (array.reshape(y.shape).astype(y.dtype) for array in (-growth * arriving * averages, ddy))
    return {**gradients(input, metric, dx, by_down, by_right, dz), "y": dy_made, "dy": dy_arriving}


def by_pixels(input, flow, metric, moves=False):
    """Returns input (N, C, P), metric (N, 1, P), and where each pixel lands, row and column (2, N, 1, P)."""
    count, channels, height, width = input.shape
    shape = (count, 1, height * width)
    places = flow[:, ::-1] + (0 if moves else np.indices((height, width)))
    z = np.zeros(shape) if metric is None else metric.reshape(shape).astype(np.float64)
    return input.reshape(count, channels, shape[2]), z, np.moveaxis(places, 1, 0).reshape(2, *shape)


def lands(array, index):
    """Returns the elements of an array (N, C, P) that pixels reach, for `np.add.at`."""
    return np.arange(array.shape[0])[:, None, None], np.arange(array.shape[1])[:, None], index


def at(array, index, outside=0.0):
    return one_more(array, outside)[lands(array, index)]


def one_more(array, value=0.0):
    """Returns an array (N, C, P) with a place behind the pixels, for what lands outside of them."""
    more = np.full((*array.shape[:2], 1), value, array.dtype)
    return np.concatenate([array, more], axis=-1)


def totals(z, found, mode):
    """Returns what gains are relative to, the greatest metric with "softmax", and by what sums are divided.

    Where nothing lands that is inf.
    """
    base, total = np.zeros(z.shape), one_more(np.zeros(z.shape))
    if mode == "summation":
        return base, np.ones(z.shape)
    if mode == "softmax":
        most = one_more(np.full(z.shape, -np.inf))
        for index, share, *_ in found:
            np.maximum.at(most, lands(most, index), np.where(share > 0, z, -np.inf))
        base = np.where(most == -np.inf, 0, most)[..., :-1]
    for index, share, *_ in found:
        np.add.at(total, lands(total, index), share * gain(z, index, base, np.ones(z.shape), mode)[0])
    total = total[..., :-1]
    return base, np.where(total > 0, total, np.inf)


def gain(z, index, base, total, mode):
    """Returns how much pixels count where they land, divided by the total, and how that grows with the metric."""
    base, total = at(base.reshape(z.shape), index), at(total.reshape(z.shape), index, np.inf)
    if mode == "softmax":
        return (np.exp(np.minimum(z - base, MOST)) / total,) * 2  # one that only touches a pixel may exceed the base
    return (z if mode == "linear" else 1.0) / total, 1.0 / total


def gradients(input, metric, dx, by_down, by_right, dz):
    (count, _, *size), dtype = input.shape, input.dtype
    return {
        "input": dx.reshape(input.shape).astype(dtype),
        "flow": np.concatenate([by_right, by_down], axis=1).reshape(count, 2, *size).astype(dtype),
        "metric": None if metric is None else dz.reshape(metric.shape).astype(dtype),
    }


@soft_splat.infer
def soft_splat_infer(input):
    return input, *[opsdk.TensorSpec((input.shape[0], 1, *input.shape[2:]), "float64")] * 2


@soft_splat.check
def soft_splat_check(input, flow, metric, mode):
    if input.dtype.kind != "f":
        return f"input expected floats, got {input.dtype}; cast it"
    if (metric is not None) != (mode in ("linear", "softmax")):
        return f"metric expected with modes 'linear' and 'softmax', and with them only, got mode {mode!r}"
    for name, array in (("flow", flow), ("metric", metric)):
        if array is not None and array.dtype != input.dtype:
            return f"{name} expected {input.dtype} like input, got {array.dtype}; cast it"
    if not np.isfinite(flow).all():
        return "flow expected finite numbers, got nan or inf"
    if mode == "linear" and (metric < 0).any():
        return f"metric expected from 0 with mode 'linear', got {metric.min()}; take mode 'softmax'"
    return None


@soft_splat_grad.check
def soft_splat_grad_check(input, flow, metric, y, dy, mode):
    for name, array in (("y", y), ("dy", dy)):
        if array.shape != input.shape:
            return f"{name} expected shape {input.shape} like input, got {array.shape}"
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
