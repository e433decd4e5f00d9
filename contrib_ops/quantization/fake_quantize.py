"""Rounding to a grid whose step is learned, LSQ."""

import numpy as np

import opsdk
from opsdk import vmath


def lsq(x, scale, quant_min, quant_max, grad_factor):
    """What is differentiated: rounding counts as adding a constant, and scale moves by grad_factor of its step."""
    scale = grad_factor * scale + opsdk.gradcheck.stop_gradient((1 - grad_factor) * scale)
    steps = np.clip(x / scale, quant_min, quant_max)
    return scale * (steps + opsdk.gradcheck.stop_gradient(np.round(steps) - steps))


@opsdk.elementwise(
    "contrib::fake_quantize(Tensor x, Tensor scale, *, int <= 0 quant_min=-128, int >= 1 quant_max=127, "
    "float grad_factor=1.0) -> Tensor y",
    surrogate=lsq,
    domain={"scale": (1e-3, None)},
)
def fake_quantize(x, scale, quant_min, quant_max, grad_factor):
    """scale · round(clip(x / scale, quant_min, quant_max)) (Esser et al. 2020, LSQ, eq. 1 and 2).

    Args:
        x: float array.
        scale: size of a step in units of x, > 0, of a shape that broadcasts with x: () for one of the whole tensor,
            (channels, 1) for one per channel of x (batch, channels, time).
        quant_min: least level, ≤ 0, -Q_N in the paper: -128 for 8 bits with a sign, 0 without.
        quant_max: greatest level, ≥ 1, Q_P: 127 with a sign, 255 without.
        grad_factor: what the gradient of scale is multiplied by; the paper takes 1 / √(elements per step · quant_max).

    Returns y of the broadcast shape. Halves are rounded to the even level; nan gives nan.

    Raises ValueError: a scale is not above 0, or a level lies on the other side of 0.

    Gradient: declared surrogate, LSQ's (eq. 3 and 5): with respect to x the cotangent where quant_min < x / scale <
    quant_max, else 0; with respect to scale the cotangent times round(x / scale) - x / scale inside, and times the
    level that x is held at outside.
    """
    return scale * vmath.round(vmath.clip(x / scale, quant_min, quant_max))


@fake_quantize.check
def fake_quantize_check(scale):
    if (scale <= 0).any():
        return f"scale expected above 0, got {scale.min()}; learn its logarithm, or take a smaller step"
    return None


@opsdk.elementwise(
    "contrib::lsq_gradients(Tensor x, Tensor scale, Tensor dy, *, int <= 0 quant_min, int >= 1 quant_max, "
    "float grad_factor) -> (Tensor dx, Tensor dscale)",
    domain={"scale": (1e-3, None)},
)
def lsq_gradients(x, scale, dy, quant_min, quant_max, grad_factor):
    """The gradients of `fake_quantize`, for each element; those of a scale have yet to be summed."""
    steps = x / scale
    is_inside = (steps > quant_min) & (steps < quant_max)
    held = vmath.round(vmath.clip(steps, quant_min, quant_max))
    error = vmath.where(is_inside, held - steps, held)
    return vmath.where(is_inside, dy, 0.0), grad_factor * dy * error


@fake_quantize.backward(composite=True)
def fake_quantize_grad(x, scale, dy, quant_min, quant_max, grad_factor):
    return lsq_gradients(x, scale, dy, quant_min=quant_min, quant_max=quant_max, grad_factor=grad_factor)


@fake_quantize.samples
def fake_quantize_samples(rng):
    x = rng.normal(size=(2, 3, 4))
    yield opsdk.Sample(x, np.array(0.1), reason="one step, 8 bits")
    yield opsdk.Sample(x, rng.uniform(0.2, 0.5, (3, 1)), quant_min=-2, quant_max=1, reason="a step per channel, 2 bits")
    yield opsdk.Sample(
        x, np.array(0.3), quant_min=0, quant_max=3, grad_factor=0.25, reason="no sign, a scaled gradient"
    )
    yield opsdk.Sample(
        np.array([-9.0, -0.2, 0.2, 9.0]), np.ones(4), quant_min=-2, quant_max=2, reason="held at the ends"
    )
    yield opsdk.Sample(np.zeros((0, 4)), np.array(0.5), reason="empty")


@lsq_gradients.samples
def lsq_gradients_samples(rng):
    x, dy = rng.normal(size=(2, 3))[:, None] + np.zeros((2, 4, 3)), rng.normal(size=(2, 4, 3))
    bits = {"quant_min": -2, "quant_max": 1, "grad_factor": 0.5}
    yield opsdk.Sample(x, rng.uniform(0.2, 0.5, 3), dy, **bits, reason="a step per column")
    yield opsdk.Sample(np.zeros((0, 4)), np.array(0.5), np.zeros((0, 4)), **bits, reason="empty")


@fake_quantize.bench
def fake_quantize_bench(rng, n):
    """8 bits, of which a normal distribution takes nearly all."""
    return opsdk.Sample(rng.normal(size=n), np.array(0.03))


@lsq_gradients.bench
def lsq_gradients_bench(rng, n):
    """8 bits, of which a normal distribution takes nearly all."""
    x, dy = rng.normal(size=(2, n))
    return opsdk.Sample(x, np.array(0.03), dy, quant_min=-128, quant_max=127, grad_factor=1.0)
