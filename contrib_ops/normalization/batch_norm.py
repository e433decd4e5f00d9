"""Batch normalization that keeps running statistics."""

import numpy as np

import opsdk
from opsdk import errors

STATISTICS = ("running_mean", "running_var")


def batch_norm_infer(x, weight, bias, running_mean, running_var):
    if x.ndim < 2:
        raise errors.ShapeError(f"op 'contrib::batch_norm': x expected shape (batch, channels, …), got {x.shape}")
    if x.dtype.kind != "f" and x.dtype.name != "bfloat16":
        raise errors.DTypeError(f"op 'contrib::batch_norm': x expected floats, got {x.dtype}; cast it")
    given = {"weight": weight, "bias": bias, "running_mean": running_mean, "running_var": running_var}
    for name, spec in given.items():
        if spec is None:
            continue
        if spec.ndim != 1 or (spec.shape[0] != x.shape[1] and None not in (spec.shape[0], x.shape[1])):
            wanted = f"{name} expected one element for each channel of x {x.shape}"
            raise errors.ShapeError(f"op 'contrib::batch_norm': {wanted}, got {spec.shape}")
        if spec.dtype != x.dtype:
            raise errors.DTypeError(f"op 'contrib::batch_norm': {name} expected {x.dtype} like x, got {spec.dtype}")
    return x, weight, weight


@opsdk.op(
    "contrib::batch_norm(Tensor x, Tensor weight, Tensor bias, Tensor(a!)? running_mean=None, "
    "Tensor(b!)? running_var=None, *, bool training=True, 0 <= float <= 1 momentum=0.1, float > 0 eps=1e-05) "
    "-> (Tensor y, Tensor mean, Tensor rstd)",
    infer=batch_norm_infer,
    constant=STATISTICS,
    domain={"running_var": (0.0, None)},
)
def batch_norm(x, weight, bias, running_mean, running_var, *, training, momentum, eps):
    """(x - mean) / √(var + eps) · weight + bias, over all but axis 1 (Ioffe and Szegedy 2015, algorithm 1 and 2).

    What `torch.native_batch_norm` gives. In training mean and var are those of the batch, and the running ones move a
    part `momentum` of the way to them, in place; var divides by the number of elements there, the running one by one
    less. Otherwise the running ones are taken, and stay. A Program's `clone(for_test=True)` sets `training=False`.

    Args:
        x: float array of shape (batch, channels, …). Of any dtype, sums are in float64, and results rounded once.
        weight: array of shape (channels,).
        bias: likewise.
        running_mean: likewise, changed in place; None keeps none.
        running_var: likewise, beside it.
        training: whether the batch's own statistics are taken.
        momentum: 1 forgets what was there.
        eps: added to the variance, > 0; in units of x².

    Returns y of the shape of x; mean and 1 / √(var + eps) as they were used, of shape (channels,).

    Raises ValueError: an array is not of shape (channels,) or of another dtype than x; training with one value per
    channel; neither training nor running statistics. TypeError: x is not of floats.

    Gradient: with respect to x, weight and bias, to any order; through the statistics of the batch in training, and
    from mean and rstd too.
    """
    given, axes, (x, weight, bias) = x, (0, *range(2, x.ndim)), in_float64(x, weight, bias)
    if training:
        mean, var = x.mean(axis=axes), x.var(axis=axes)
    if running_mean is not None:
        kept_mean, kept_var = in_float64(running_mean, running_var)
        if training:
            count = x.size // x.shape[1]
            running_mean[...] = kept_mean + momentum * (mean - kept_mean)
            running_var[...] = kept_var + momentum * (var * (count / (count - 1)) - kept_var)
        else:
            mean, var = kept_mean, kept_var
    rstd = 1 / np.sqrt(var + eps)
    y = (x - along(mean, x)) * along(rstd * weight, x) + along(bias, x)
    return tuple(made.astype(given.dtype) for made in (y, mean, rstd))


def in_float64(*arrays):
    """Returns arrays as they are added: one by one, sums of float16 stand still at 2048, of float32 at 2²⁴."""
    return tuple(array.astype(np.float64) for array in arrays)


def along(values, x):
    """Returns a value per channel, in the shape that broadcasts with x."""
    return values.reshape([1, -1] + [1] * (x.ndim - 2))


@batch_norm.check
def batch_norm_check(x, running_mean, running_var, training):
    if (running_mean is None) != (running_var is None):
        return "running_var expected beside running_mean, got one of them; give both or none"
    if not training and running_mean is None:
        return "running_mean expected where training=False, got None; give what training kept"
    if training and x.size <= x.shape[1]:
        return f"x expected several values per channel where training=True, got shape {x.shape}; enlarge the batch"
    return None


# With c = x - mean: y = c · rstd · weight + bias, and in training mean and rstd are functions of x, with derivatives
# 1 / count and -rstd³ · c / count. The backward takes them for values of their own, to which gradients arrive too, so
# that its own derivative is that of a polynomial. In training it levels c to Σ c = 0: the mean was rounded, an error
# that Σ dy · c has as often as there are elements.


@batch_norm.backward
def batch_norm_grad(x, weight, mean, rstd, dy, dmean, drstd, training):
    dtype, axes, count = x.dtype, (0, *range(2, x.ndim)), x.size // x.shape[1]
    x, weight, mean, rstd, dy, dmean, drstd = in_float64(x, weight, mean, rstd, dy, dmean, drstd)
    centred = x - along(mean, x)
    if training:
        centred -= along(centred.mean(axis=axes), x)
    dbias, projected = dy.sum(axis=axes), (dy * centred).sum(axis=axes)
    dx = dy * along(weight * rstd, x)
    if training:
        dx += along((dmean - weight * rstd * dbias) / count, x)
        dx -= centred * along(rstd**3 * (drstd + weight * projected) / count, x)
    return tuple(made.astype(dtype) for made in (dx, projected * rstd, dbias))


@batch_norm_grad.check
def batch_norm_grad_check(x, weight, mean, rstd, dy, dmean, drstd):
    if x.ndim < 2 or dy.shape != x.shape:
        return f"dy expected the shape of x, (batch, channels, …), got {dy.shape} and {x.shape}"
    for name, values in {"weight": weight, "mean": mean, "rstd": rstd, "dmean": dmean, "drstd": drstd}.items():
        if values.shape != x.shape[1:2]:
            return f"{name} expected one element for each channel of x {x.shape}, got {values.shape}"
    return None


@batch_norm_grad.backward(composite=True)
def batch_norm_grad_grad(x, weight, mean, rstd, dy, drstd, ddx, ddweight, ddbias, training):
    given = x, weight, mean, rstd, dy, drstd, ddx, ddweight, ddbias
    if x.dtype.itemsize > 2:
        return second(given, training)
    made = second([opsdk.cast(array, "float32") for array in given], training)
    return tuple(opsdk.cast(array, x.dtype) for array in made)


def second(given, training):
    x, weight, mean, rstd, dy, drstd, ddx, ddweight, ddbias = given
    axes = (0, *range(2, x.ndim))

    def total(values):
        return values.sum(axis=axes)

    def levelled(values):
        return values - along(total(values) * share, x)

    share = opsdk.reciprocal(total(opsdk.ones_like(x))) if training else opsdk.zeros_like(mean)
    centred = levelled(x - along(mean, x))
    shift, cubed = total(ddx) * share, rstd * rstd * rstd
    stretch = total(ddx * centred) * share
    both, dbias, projected = total(ddx * dy), total(dy), total(dy * centred)
    arrived = drstd + weight * projected
    dcentred = dy * along(ddweight * rstd - stretch * cubed * weight, x) - ddx * along(cubed * arrived * share, x)
    dcentred = levelled(dcentred)
    straight = both - shift * dbias
    return (
        dcentred,
        straight * rstd - stretch * cubed * projected,
        -total(dcentred),
        straight * weight - 3.0 * rstd * rstd * stretch * arrived + ddweight * projected,
        (ddx - along(shift, x)) * along(weight * rstd, x)
        + centred * along(ddweight * rstd - stretch * cubed * weight, x)
        + along(ddbias, x),
        shift,
        -stretch * cubed,
    )


@batch_norm.samples
def batch_norm_samples(rng):
    def sample(*shape, statistics=True, **attrs):
        channels = shape[1]
        kept = (rng.normal(size=channels), rng.uniform(0.5, 2.0, channels)) if statistics else ()
        return opsdk.Sample(rng.normal(size=shape), *rng.normal(size=(2, channels)), *kept, **attrs)

    yield sample(4, 3, reason="features")
    yield sample(2, 3, 2, 2, momentum=0.3, eps=0.1, reason="images, another part and eps")
    yield sample(3, 2, statistics=False, reason="no running statistics")
    yield sample(2, 3, 4, training=False, reason="a test of sequences")
    yield sample(2, 70, 3, reason="more channels than a block has")
    yield sample(0, 3, training=False, reason="a test of nothing")


@batch_norm.bench
def batch_norm_bench(rng, n):
    """64 channels of 32 × 32."""
    shape = (max(2, n // (64 * 1024)), 64, 32, 32) if n >= 64 * 1024 else (max(2, n // 8), 8)
    channels = shape[1]
    return opsdk.Sample(rng.normal(size=shape), *np.ones((4, channels)))


for op in (batch_norm, batch_norm_grad):
    op.kernel("cpu", language="c", dtype=("float32", "float64"), source="batch_norm.c", contiguous=True)
