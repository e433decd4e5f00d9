"""Quantization to bits whose step is learned as LSQ learns it: the gradient of the step scaled by what it serves."""

import math

import numpy as np

import opsdk
from contrib_ops.quantization.fake_quantize import fake_quantize
from contrib_ops.quantization.fake_quantize import lsq as rounded


def levels(bits, signed):
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)


def grad_factor(x, step, highest):
    """1 / √(N · Q_P), N elements of x for each step (section 2.2)."""
    return 1 / math.sqrt(math.prod(x.shape) / math.prod(step.shape) * highest) if math.prod(x.shape) else 1.0


def surrogate(x, step, bits, signed):
    lowest, highest = levels(bits, signed)
    return rounded(x, step, lowest, highest, grad_factor(x, step, highest))


@opsdk.op(
    "contrib::learned_step(Tensor x, Tensor step, *, 2 <= int <= 16 bits=8, bool signed=True) -> Tensor y",
    composite=True,
    infer=opsdk.infer.broadcast,
    surrogate=surrogate,
    domain={"step": (1e-3, None)},
)
def learned_step(x, step, *, bits, signed):
    """x, held to 2^bits levels of a learned step (Esser et al. 2020, Learned Step Size Quantization, section 2).

    Args:
        x: float array of known sizes, activations or weights.
        step: size of a level in units of x, > 0, of a shape that broadcasts with x: () for one of the whole tensor,
            (channels, 1) for one per channel. The paper begins with 2 · mean|x| / √Q_P.
        bits: how many, 2 to 16.
        signed: whether levels go from -2^(bits - 1) to Q_P = 2^(bits - 1) - 1, or from 0 to Q_P = 2^bits - 1.

    Returns y of the broadcast shape.

    Raises ValueError: a step is not above 0.

    Gradient: declared surrogate, that of `fake_quantize`, with the gradient of a step multiplied by 1 / √(N · Q_P) for
    N elements per step, which balances its updates with those of the weights.
    """
    lowest, highest = levels(bits, signed)
    factor = grad_factor(x, step, highest)
    return fake_quantize(x, step, quant_min=lowest, quant_max=highest, grad_factor=factor)


@learned_step.samples
def learned_step_samples(rng):
    x = rng.normal(size=(2, 3, 4))
    yield opsdk.Sample(x, np.array(0.1), reason="one step, 8 bits")
    yield opsdk.Sample(x, rng.uniform(0.2, 0.5, (3, 1)), bits=2, reason="a step per channel, 2 bits")
    yield opsdk.Sample(np.abs(x), np.array(0.3), bits=3, signed=False, reason="no sign")
    yield opsdk.Sample(np.zeros((0, 4)), np.array(0.5), reason="empty")
