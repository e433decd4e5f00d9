"""A step of AdamW for all parameters in one call."""

import numpy as np

import opsdk
from opsdk import errors

LISTS = ("params", "grads", "means", "squares")


def fused_adamw_infer(params, grads, means, squares):
    for name, given in zip(LISTS[1:], (grads, means, squares), strict=True):
        if [(spec.shape, spec.dtype) for spec in given] != [(spec.shape, spec.dtype) for spec in params]:
            raise errors.ShapeError(
                f"op 'contrib::fused_adamw': {name} expected {', '.join(map(str, params))} like params, got "
                f"{', '.join(map(str, given)) or 'none'}"
            )
    return ()


@opsdk.op(
    "contrib::fused_adamw(Tensor(a!)[] params, Tensor[] grads, Tensor(b!)[] means, Tensor(c!)[] squares, "
    "Tensor<int>(d!) step, Tensor lr, *, 0 <= float < 1 beta1=0.9, 0 <= float < 1 beta2=0.999, float >= 0 eps=1e-08, "
    "float >= 0 weight_decay=0.01) -> ()",
    infer=fused_adamw_infer,
    nondifferentiable=(*LISTS, "lr"),
    domain={"lr": (0.0, 1.0), "squares": (0.0, None)},
)
def fused_adamw(params, grads, means, squares, step, lr, *, beta1, beta2, eps, weight_decay):
    """One step of AdamW (Loshchilov and Hutter 2019, algorithm 2), as `torch.optim.AdamW(fused=True)` takes it.

    params -= lr · (weight_decay · params + m / (√v + eps)), with the means of the gradients and of their squares, each
    divided by what it lacks of its weight at this step: m = means / (1 - beta1^step), v = squares / (1 - beta2^step).
    Call it inside `opsdk.no_grad()` on tensors that need a gradient.

    Args:
        params: float arrays, changed in place.
        grads: their gradients, of the same shapes and dtypes.
        means: running means of the gradients, likewise, changed in place; zeros at first.
        squares: running means of their squares, likewise.
        step: int64 array of shape (), the steps before this one, changed in place.
        lr: the step size, one element of the dtype of params; a tensor, so that a schedule can set it between runs.
        beta1: what remains of means in a step.
        beta2: what remains of squares.
        eps: added to the root, > 0; in units of the gradient.
        weight_decay: share of a parameter that lr = 1 takes away, apart from the gradient.

    Raises ValueError: lists do not belong together, or lr and step are not single numbers.

    Not differentiable: it ends a gradient's way.
    """
    step += 1
    share1, share2, rate = 1 - beta1 ** int(step), 1 - beta2 ** int(step), float(lr.reshape(()))
    for param, grad, mean, square in zip(params, grads, means, squares, strict=True):
        mean += (1 - beta1) * (grad - mean)
        square += (1 - beta2) * (grad * grad - square)
        param -= rate * (weight_decay * param + mean / share1 / (np.sqrt(square / share2) + eps))


@fused_adamw.check
def fused_adamw_check(step, lr):
    if step.shape != () or step.dtype != np.int64 or lr.size != 1:
        return f"step and lr expected an int64 and a float of one element, got {step.dtype}{step.shape}, {lr.shape}"
    return None


@fused_adamw.samples
def fused_adamw_samples(rng):
    def sample(shapes, step, **attrs):
        params, grads, means, squares = ([rng.normal(size=shape) for shape in shapes] for _ in range(4))
        if not step:
            means, squares = ([np.zeros(shape) for shape in shapes] for _ in range(2))
        return opsdk.Sample(params, grads, means, [s * s for s in squares], np.array(step), np.array([0.01]), **attrs)

    yield sample([(2, 3), (4,)], 0, reason="the first step of two parameters")
    yield sample([(3,), (), (0, 2)], 9, weight_decay=0.0, reason="a later step, 0-d and empty ones, no decay")
    yield sample([(5,)], 99, beta1=0.5, beta2=0.75, eps=0.1, reason="other weights")


@fused_adamw.bench
def fused_adamw_bench(rng, n):
    """One parameter."""
    return opsdk.Sample(*([array] for array in rng.normal(size=(4, n)) ** 2), np.array(9), np.array([0.01]))


FLOATS, DTYPES = ("float32", "float64"), {"step": "int64"}
fused_adamw.kernel("cpu", language="c", source="fused_adamw.c", dtype=FLOATS, dtypes=DTYPES, contiguous=True)
