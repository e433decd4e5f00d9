"""Optimizer updates, as in-place ops that both runtimes share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opsdk.core.dtype import computed_in
from opsdk.core.errors import DTypeError
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.op import Op
from opsdk.define.sample import Sample
from opsdk.define.schema.parse import parse_schema

# A learning rate has one element; whichever shape that has, it must not broadcast a 0-d parameter.


def rate_of(learning_rate: np.ndarray, param: np.ndarray) -> np.ndarray:
    """Returns a learning rate as a number that a step of a parameter is computed with."""
    return learning_rate.reshape(()).astype(computed_in(param.dtype))


def wide_of(array: np.ndarray) -> np.ndarray:
    """Returns what a step is computed with: parameters of 16 bits are rounded once a step, when it is taken."""
    return array.astype(computed_in(array.dtype), copy=False)


# Each step is written once, with an array for each new value: the old one itself, or None for an array of its own. Who
# keeps the old values, as a run of a Program does, has them for the price of nothing.
Into = Sequence["np.ndarray | None"]


def _scaled(value: np.ndarray, factor: float | np.generic, into: np.ndarray | None) -> np.ndarray:
    return np.multiply(value, factor, out=np.empty_like(value) if into is None else into)


def less(param: np.ndarray, start: np.ndarray, step: np.ndarray, into: np.ndarray | None) -> np.ndarray:
    """Returns start - step in the dtype of param; without a place for it in that of the step, which has served."""
    if into is None:
        fits = isinstance(step, np.ndarray) and (step.shape, step.dtype) == (param.shape, param.dtype)
        into = step if fits else np.empty_like(param)
    return np.subtract(start, step, out=into, casting="unsafe")  # NumPy calls every rounding to bfloat16 unsafe


# By name of an op that changes its inputs in place: what gives their new values apart, one for each that it changes.
APART: dict[str, Callable[..., Into]] = {}
BY_ELEMENT: set[str] = set()  # names of those whose step of an element is one of it alone, and of what has one element


def update(
    schema: str, nondifferentiable: Sequence[str], *, by_element: bool = True
) -> Callable[[Callable[..., Into]], Op]:
    """Defines an update from its step, which has what the schema declares behind the arrays for the new values.

    Args:
        schema: of the op.
        nondifferentiable: names of its inputs, and of what has no gradient.
        by_element: whether it belongs to `BY_ELEMENT`.
    """
    changed = parse_schema(schema, "opsdk").mutated_inputs

    def define(step: Callable[..., Into]) -> Op:
        @functools.wraps(step)
        def in_place(*arrays: np.ndarray, **attrs: Any) -> None:  # Any: numbers and flags
            step([arrays[i] for i in changed], *arrays, **attrs)

        in_place.__signature__ = inspect.signature(functools.partial(step, ()))  # type: ignore[attr-defined]
        made = op(schema, nondifferentiable=nondifferentiable)(in_place)
        APART[made.opdef.name] = step
        if by_element:
            BY_ELEMENT.add(made.opdef.name)
        return made

    return define


@update(
    "opsdk::sgd(Tensor(a!) param, Tensor grad, Tensor learning_rate) -> Tensor(a!) param_out",
    nondifferentiable=("param", "grad", "learning_rate", "param_out"),
)
def sgd(into: Into, param: np.ndarray, grad: np.ndarray, learning_rate: np.ndarray) -> Into:
    """One step: param -= learning_rate · grad."""
    return (less(param, wide_of(param), rate_of(learning_rate, param) * wide_of(grad), into[0]),)


@update(
    "opsdk::momentum(Tensor(a!) param, Tensor grad, Tensor learning_rate, Tensor(b!) velocity, *, float mu=0.9, "
    "bool use_nesterov=False) -> (Tensor(a!) param_out, Tensor(b!) velocity_out)",
    nondifferentiable=("param", "grad", "learning_rate", "velocity"),
)
def momentum(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    velocity: np.ndarray,
    *,
    mu: float,
    use_nesterov: bool,
) -> Into:
    """One step: velocity = mu · velocity + grad; param -= learning_rate · velocity, or of grad + mu · velocity."""
    speed = _scaled(velocity, velocity.dtype.type(mu), into[1])
    speed += grad
    step = wide_of(grad) + velocity.dtype.type(mu) * speed if use_nesterov else speed
    return less(param, wide_of(param), rate_of(learning_rate, param) * step, into[0]), speed


@update(
    "opsdk::adam(Tensor(a!) param, Tensor grad, Tensor learning_rate, Tensor(b!) moment1, Tensor(c!) moment2, "
    "Tensor(d!) beta1_pow, Tensor(e!) beta2_pow, *, float beta1=0.9, float beta2=0.999, float epsilon=1e-08, "
    "float decay=0.0) "
    "-> (Tensor(a!) param_out, Tensor(b!) moment1_out, Tensor(c!) moment2_out, "
    "Tensor(d!) beta1_pow_out, Tensor(e!) beta2_pow_out)",
    nondifferentiable=("param", "grad", "learning_rate", "moment1", "moment2", "beta1_pow", "beta2_pow"),
)
def adam(
    into: Into,
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
) -> Into:
    """One step of Adam (Kingma & Ba, 2015), with the bias correction folded into the step size.

    `beta1_pow` and `beta2_pow` hold β₁ᵗ and β₂ᵗ; they start at 1 and are multiplied here before they are used.
    `decay` first draws the parameter towards 0, apart from the gradient (AdamW, Loshchilov & Hutter, 2019).
    """
    power1, power2 = _scaled(beta1_pow, beta1, into[3]), _scaled(beta2_pow, beta2, into[4])
    gradient, start = wide_of(grad), wide_of(param)
    wide = start.dtype
    mean = _scaled(moment1, beta1, into[1])
    mean += (1 - beta1) * gradient
    spread = _scaled(moment2, beta2, into[2])
    square = np.square(gradient)
    square *= 1 - beta2
    spread += square
    if decay:
        start = _scaled(
            start, 1 - rate_of(learning_rate, param) * wide.type(decay), into[0] if start is param else None
        )
    correction = np.sqrt(1 - power2.reshape(()))
    rate = (learning_rate.reshape(()) * correction / (1 - power1.reshape(()))).astype(wide)
    floor = (epsilon * correction).astype(wide)
    step = rate * mean
    step /= np.sqrt(spread) + floor
    return less(param, start, step, into[0]), mean, spread, power1, power2


@update(
    "opsdk::rmsprop(Tensor(a!) param, Tensor grad, Tensor learning_rate, Tensor(b!) mean_square, Tensor(c!) mean_grad, "
    "Tensor(d!) velocity, *, float rho=0.95, float epsilon=1e-06, float momentum=0.0, bool centered=False, "
    "bool as_torch=False) "
    "-> (Tensor(a!) param_out, Tensor(b!) mean_square_out, Tensor(c!) mean_grad_out, Tensor(d!) velocity_out)",
    nondifferentiable=("param", "grad", "learning_rate", "mean_square", "mean_grad", "velocity"),
)
def rmsprop(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    mean_square: np.ndarray,
    mean_grad: np.ndarray,
    velocity: np.ndarray,
    *,
    rho: float,
    epsilon: float,
    momentum: float,
    centered: bool,
    as_torch: bool,
) -> Into:
    """One step of RMSProp (Tieleman & Hinton, 2012), with ε inside of the root; `centered` is Graves' (2013).

    `as_torch` is PyTorch's, with ε outside of the root, and a velocity of steps before the rate scales them.
    """
    gradient = wide_of(grad)
    wide = gradient.dtype.type
    square = _scaled(mean_square, wide(rho), into[1])
    square += wide(1 - rho) * np.square(gradient)
    mean = _scaled(mean_grad, wide(rho) if centered else wide(1), into[2])
    if centered:
        mean += wide(1 - rho) * gradient
    spread = np.maximum(square - np.square(mean), 0) if centered else square  # below 0 by rounding alone
    speed = _scaled(velocity, wide(momentum), into[3])
    rate = rate_of(learning_rate, param)
    if as_torch:
        speed += gradient / (np.sqrt(spread) + wide(epsilon))
        step = rate * speed
    else:
        speed += rate * gradient / np.sqrt(spread + wide(epsilon))
        step = speed if into[0] is not None else speed.copy()  # whose memory the new values would take
    return less(param, wide_of(param), step, into[0]), square, mean, speed


@update(
    "opsdk::adagrad(Tensor(a!) param, Tensor grad, Tensor learning_rate, Tensor(b!) moment, *, float epsilon=1e-06) "
    "-> (Tensor(a!) param_out, Tensor(b!) moment_out)",
    nondifferentiable=("param", "grad", "learning_rate", "moment"),
)
def adagrad(
    into: Into, param: np.ndarray, grad: np.ndarray, learning_rate: np.ndarray, moment: np.ndarray, *, epsilon: float
) -> Into:
    """One step of Adagrad (Duchi, Hazan & Singer, 2011): moment += grad²; param -= rate · grad / (√moment + ε)."""
    gradient = wide_of(grad)
    total = np.add(moment, np.square(gradient), out=np.empty_like(moment) if into[1] is None else into[1])
    step = rate_of(learning_rate, param) * gradient / (np.sqrt(total) + gradient.dtype.type(epsilon))
    return less(param, wide_of(param), step, into[0]), total


def check_real(name: str, param: TensorSpec) -> None:
    """Refuses complex parameters."""
    if param.dtype.kind == "c":
        raise DTypeError(
            f"op 'opsdk::{name}': param expected a real dtype, since the moments scale each number by its own size, "
            f"got {param.dtype}; keep real and imaginary part as two parameters, or use SGD or Momentum"
        )


@sgd.infer
def _sgd_specs(param: TensorSpec) -> tuple[TensorSpec]:
    return (param,)


@momentum.infer
def _momentum_specs(param: TensorSpec, velocity: TensorSpec) -> tuple[TensorSpec, ...]:
    return param, velocity


@rmsprop.infer
def _rmsprop_specs(
    param: TensorSpec, mean_square: TensorSpec, mean_grad: TensorSpec, velocity: TensorSpec
) -> tuple[TensorSpec, ...]:
    check_real("rmsprop", param)
    return param, mean_square, mean_grad, velocity


@adagrad.infer
def _adagrad_specs(param: TensorSpec, moment: TensorSpec) -> tuple[TensorSpec, ...]:
    check_real("adagrad", param)
    return param, moment


@adam.infer
def _adam_specs(
    param: TensorSpec, moment1: TensorSpec, moment2: TensorSpec, beta1_pow: TensorSpec, beta2_pow: TensorSpec
) -> tuple[TensorSpec, ...]:
    check_real("adam", param)
    return param, moment1, moment2, beta1_pow, beta2_pow


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


@rmsprop.samples
def _rmsprop_samples(rng: np.random.Generator) -> Iterator[Sample]:
    rate = np.array([0.1])
    param, grad, mean, velocity = (rng.normal(size=(3, 5)) for _ in range(4))
    zeros = np.zeros((3, 5))
    yield Sample(param, grad, rate, zeros, zeros, zeros, reason="first step")
    options = {"rho": 0.9, "momentum": 0.5, "centered": True}
    yield Sample(param, grad, rate, mean**2 + 1, mean, velocity, **options, reason="later step, centered")
    empty = np.zeros((0, 4))
    yield Sample(empty, empty, rate, empty, empty, empty, reason="empty")


@adagrad.samples
def _adagrad_samples(rng: np.random.Generator) -> Iterator[Sample]:
    rate = np.array([0.1])
    param, grad = (rng.normal(size=(3, 5)) for _ in range(2))
    yield Sample(param, grad, rate, np.zeros((3, 5)), reason="first step")
    yield Sample(param, grad, rate, param**2, epsilon=0.1, reason="later step")
    yield Sample(np.zeros((0, 4)), np.zeros((0, 4)), rate, np.zeros((0, 4)), reason="empty")


for _op in (sgd, momentum, adam):
    _numbers = [name for name in _op.opdef.schema.input_names if name in ("beta1_pow", "beta2_pow")]
    for _dtype in ("float32", "float64"):
        _op.kernel(
            "cpu",
            language="c",
            dtype=_dtype,
            source=Path(__file__).with_suffix(".c"),
            dtypes={"learning_rate": ("float32", "float64"), **dict.fromkeys(_numbers, "float64")},
            openmp=True,
            optional=True,
            contiguous=True,
            flags=["-ffp-contract=off"],  # the roundings of NumPy, bit for bit
        )
