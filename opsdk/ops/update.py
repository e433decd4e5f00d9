"""Optimizer updates, as in-place ops that both runtimes share."""

from __future__ import annotations

import numpy as np

from opsdk.define.decorators import op


@op(
    "opsdk::sgd(Tensor(a!) param, Tensor grad, Tensor learning_rate) -> Tensor(a!) param_out",
    nondifferentiable=("param", "grad", "learning_rate", "param_out"),
)
def sgd(param: np.ndarray, grad: np.ndarray, learning_rate: np.ndarray) -> None:
    """param -= learning_rate · grad."""
    param -= learning_rate.astype(param.dtype) * grad


@op(
    "opsdk::adam(Tensor(a!) param, Tensor grad, Tensor learning_rate, Tensor(b!) moment1, Tensor(c!) moment2, "
    "Tensor(d!) beta1_pow, Tensor(e!) beta2_pow, *, float beta1=0.9, float beta2=0.999, float epsilon=1e-08) "
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
) -> None:
    """One step of Adam (Kingma & Ba, 2015), with the bias correction folded into the step size.

    `beta1_pow` and `beta2_pow` hold β₁ᵗ and β₂ᵗ; they start at 1 and are multiplied here before they are used.
    """
    beta1_pow *= beta1
    beta2_pow *= beta2
    moment1 *= beta1
    moment1 += (1 - beta1) * grad
    moment2 *= beta2
    moment2 += (1 - beta2) * np.square(grad)
    correction = np.sqrt(1 - beta2_pow)
    rate = (learning_rate * correction / (1 - beta1_pow)).astype(param.dtype)
    floor = (epsilon * correction).astype(param.dtype)
    param -= rate * moment1 / (np.sqrt(moment2) + floor)
