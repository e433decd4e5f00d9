"""Optimizer updates, as in-place ops that both runtimes share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opsdk.define.decorators import op
from opsdk.define.sample import Sample

# A learning rate has one element; whichever shape that has, it must not broadcast a 0-d parameter.


def _rate(learning_rate: np.ndarray, param: np.ndarray) -> np.ndarray:
    return learning_rate.reshape(()).astype(param.dtype)


@op(
    "opsdk::sgd(Tensor(a!) param, Tensor grad, Tensor learning_rate) -> Tensor(a!) param_out",
    nondifferentiable=("param", "grad", "learning_rate", "param_out"),
)
def sgd(param: np.ndarray, grad: np.ndarray, learning_rate: np.ndarray) -> None:
    """One step: param -= learning_rate · grad."""
    param -= _rate(learning_rate, param) * grad


@op(
    "opsdk::momentum(Tensor(a!) param, Tensor grad, Tensor learning_rate, Tensor(b!) velocity, *, float mu=0.9, "
    "bool use_nesterov=False) -> (Tensor(a!) param_out, Tensor(b!) velocity_out)",
    nondifferentiable=("param", "grad", "learning_rate", "velocity"),
)
def momentum(
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    velocity: np.ndarray,
    *,
    mu: float,
    use_nesterov: bool,
) -> None:
    """One step: velocity = mu · velocity + grad; param -= learning_rate · velocity, or of grad + mu · velocity."""
    velocity *= velocity.dtype.type(mu)
    velocity += grad
    step = grad + velocity.dtype.type(mu) * velocity if use_nesterov else velocity
    param -= _rate(learning_rate, param) * step


@op(
    "opsdk::adam(Tensor(a!) param, Tensor grad, Tensor learning_rate, Tensor(b!) moment1, Tensor(c!) moment2, "
    "Tensor(d!) beta1_pow, Tensor(e!) beta2_pow, *, float beta1=0.9, float beta2=0.999, float epsilon=1e-08, "
    "float decay=0.0) "
    "-> (Tensor(a!) param_out, Tensor(b!) moment1_out, Tensor(c!) moment2_out, "
    "Tensor(d!) beta1_pow_out, Tensor(e!) beta2_pow_out)",
    nondifferentiable=("param", "grad", "learning_rate", "moment1", "moment2", "beta1_pow", "beta2_pow"),
)
def adam(
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    moment1: np.ndarray,
    moment2: np.ndarray,
    beta1_pow: np.ndarray,
    beta2_pow: np.ndarray,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    decay: float,
) -> None:
    """One step of Adam (Kingma & Ba, 2015), with the bias correction folded into the step size.

    `beta1_pow` and `beta2_pow` hold β₁ᵗ and β₂ᵗ; they start at 1 and are multiplied here before they are used.
    `decay` first draws the parameter towards 0, apart from the gradient (AdamW, Loshchilov & Hutter, 2019).
    """
    beta1_pow *= beta1
    beta2_pow *= beta2
    moment1 *= beta1
    moment1 += (1 - beta1) * grad
    moment2 *= beta2
    moment2 += (1 - beta2) * np.square(grad)
    if decay:
        param *= 1 - _rate(learning_rate, param) * param.dtype.type(decay)
    correction = np.sqrt(1 - beta2_pow.reshape(()))
    rate = (learning_rate.reshape(()) * correction / (1 - beta1_pow.reshape(()))).astype(param.dtype)
    floor = (epsilon * correction).astype(param.dtype)
    param -= rate * moment1 / (np.sqrt(moment2) + floor)


@sgd.samples
def _sgd_samples(rng: np.random.Generator) -> Iterator[Sample]:
    rate = np.array([0.1])
    yield Sample(rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), rate, reason="matrix")
    yield Sample(rng.normal(size=(4,)).astype(np.float32), np.ones(4, np.float32), rate, reason="float64 rate")
    yield Sample(np.array([1.0]), np.array([0.0]), rate, reason="no gradient")
    yield Sample(np.zeros((0, 4)), np.zeros((0, 4)), rate, reason="empty")


@adam.samples
def _adam_samples(rng: np.random.Generator) -> Iterator[Sample]:
    for shape, reason in (((3, 5), "matrix"), ((0, 4), "empty")):
        param, grad, moment = (rng.normal(size=shape) for _ in range(3))
        rate, ones = np.array([0.001]), np.ones(1)
        zeros = np.zeros(shape)
        yield Sample(param, grad, rate, zeros, zeros, ones, ones, reason=f"{reason}, first step")
        yield Sample(param, grad, rate, moment, moment**2, ones * 0.9, ones * 0.999, reason=f"{reason}, later step")


@momentum.samples
def _momentum_samples(rng: np.random.Generator) -> Iterator[Sample]:
    rate = np.array([0.1])
    param, grad, velocity = (rng.normal(size=(3, 5)) for _ in range(3))
    yield Sample(param, grad, rate, np.zeros((3, 5)), reason="first step")
    yield Sample(param, grad, rate, velocity, mu=0.5, reason="later step")
    yield Sample(param, grad, rate, velocity, use_nesterov=True, reason="looking ahead")
    yield Sample(np.zeros((0, 4)), np.zeros((0, 4)), rate, np.zeros((0, 4)), reason="empty")
