"""Optimizer updates that scale each number by what it has been through, as in-place ops that both runtimes share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.spec import TensorSpec
from opsdk.core.sums import total
from opsdk.define.op import Op
from opsdk.define.sample import Sample
from opsdk.ops.updates.plain import Into, check_real, less, rate_of, update, wide_of

_BETAS = "float beta1=0.9, float beta2=0.999, float epsilon=1e-08"


# Any: numbers of an update.
def _keeps(
    slots: str, attrs: str, scalars: str = "", *, by_element: bool = True, **other: Any
) -> Callable[[Callable[..., Into]], Op]:
    """Defines an update from its step.

    Args:
        slots: names of what it keeps of the shape of the parameter.
        attrs: its numbers, as schemas write them.
        scalars: names of what it keeps in one element of float64, behind these.
        by_element: see `update`.
        other: numbers, other than by default, that it is tried with.
    """
    names = [*slots.split(), *scalars.split()]
    each = list(zip("bcdefg", names, strict=False))

    def define(step: Callable[..., Into]) -> Op:
        name = step.__name__
        takes = "".join(f", Tensor({at}!) {slot}" for at, slot in each)
        gives = "".join(f", Tensor({at}!) {slot}_out" for at, slot in each)
        head = f"opsdk::{name}(Tensor(a!) param, Tensor grad, Tensor learning_rate{takes}, *, {attrs})"
        without = ("param", "grad", "learning_rate", *names)
        op = update(f"{head} -> (Tensor(a!) param_out{gives})", without, by_element=by_element)(step)

        def check(param: TensorSpec) -> None:
            check_real(name, param)

        def samples(rng: np.random.Generator) -> Iterator[Sample]:
            rate, ones = np.array([0.1]), [np.full(1, 0.9) for _ in scalars.split()]
            for shape, numbers in (((3, 5), {}), ((0, 4), {}), ((4,), other)):
                arrays = [rng.normal(size=shape) for _ in range(2 + len(slots.split()))]
                kept = [np.abs(array) for array in arrays[2:]]
                yield Sample(*arrays[:2], rate, *kept, *ones, **numbers, reason=f"of shape {shape}")

        op.check(check)
        op.samples(samples)
        return op

    return define


def _new(into: Into, param: np.ndarray, step: np.ndarray, old: Sequence[np.ndarray], new: Sequence[np.ndarray]) -> Into:
    """Returns the new values of a parameter and its slots, in their places; only now are the old ones written over."""
    made: list[Any] = [less(param, wide_of(param), step, into[0])]
    for place, before, value in zip(into[1:], old, new, strict=True):
        made.append(np.empty_like(before) if place is None else place)
        made[-1][...] = value
    return made


def _number(value: np.ndarray, like: np.ndarray) -> np.ndarray:
    return value.reshape(()).astype(like.dtype)


@_keeps("moment inf_norm", f"{_BETAS}, bool as_torch=False", "beta1_pow", beta1=0.8, beta2=0.9, epsilon=0.01)
def adamax(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    moment: np.ndarray,
    inf_norm: np.ndarray,
    beta1_pow: np.ndarray,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    as_torch: bool,
) -> Into:
    """One step of AdaMax (Kingma & Ba, 2015): m of Adam over u = max(β₂ u + ε, |g|), as Paddle has it.

    `as_torch` is PyTorch's max(β₂ u, |g| + ε).
    """
    g, power = wide_of(grad), beta1_pow * beta1
    mean = beta1 * moment + (1 - beta1) * g
    before, now = (0.0, epsilon) if as_torch else (epsilon, 0.0)
    greatest = np.maximum(beta2 * inf_norm + before, np.abs(g) + now)
    step = rate_of(learning_rate, param) / _number(1 - power, g) * mean / greatest
    return _new(into, param, step, (moment, inf_norm, beta1_pow), (mean, greatest, power))


@_keeps("moment1 moment2", f"{_BETAS}, float momentum_decay=0.004", "steps mu_product", momentum_decay=0.1)
def nadam(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    moment1: np.ndarray,
    moment2: np.ndarray,
    steps: np.ndarray,
    mu_product: np.ndarray,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    momentum_decay: float,
) -> Into:
    """One step of NAdam (Dozat, 2016): Adam with Nesterov's momentum μₜ = β₁ (1 - ½ 0.96^(t · decay))."""
    g, count = wide_of(grad), steps + 1
    now, then = (beta1 * (1 - 0.5 * 0.96 ** (at * momentum_decay)) for at in (count, count + 1))
    product = mu_product * now
    mean, square = beta1 * moment1 + (1 - beta1) * g, beta2 * moment2 + (1 - beta2) * np.square(g)
    floor = np.sqrt(square / _number(1 - beta2**count, g)) + epsilon
    ahead = _number((1 - now) / (1 - product), g) * g + _number(then / (1 - product * then), g) * mean
    step = rate_of(learning_rate, param) * ahead / floor
    return _new(into, param, step, (moment1, moment2, steps, mu_product), (mean, square, count, product))


@_keeps("moment1 moment2", _BETAS, "steps", beta1=0.8, beta2=0.6)
def radam(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    moment1: np.ndarray,
    moment2: np.ndarray,
    steps: np.ndarray,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
) -> Into:
    """One step of RAdam (Liu et al., 2020): Adam, rectified, and without the second moment while it is too short."""
    g, count = wide_of(grad), steps + 1
    mean, square = beta1 * moment1 + (1 - beta1) * g, beta2 * moment2 + (1 - beta2) * np.square(g)
    left = 1 - beta2**count
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * count * beta2**count / left
    is_long = length > 5
    above = np.where(is_long, (length - 4) * (length - 2) * longest, 1)
    below = np.where(is_long, (longest - 4) * (longest - 2) * length, 1)
    factor = _number(np.sqrt(above / below) * np.sqrt(left), g) / (np.sqrt(square) + epsilon)
    step = rate_of(learning_rate, param) / _number(1 - beta1**count, g) * mean
    step = np.where(is_long.reshape(()), step * factor, step)
    return _new(into, param, step, (moment1, moment2, steps), (mean, square, count))


@_keeps("avg_squared_grad avg_squared_update", "float rho=0.95, float epsilon=1e-06", rho=0.8, epsilon=0.01)
def adadelta(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    avg_squared_grad: np.ndarray,
    avg_squared_update: np.ndarray,
    *,
    rho: float,
    epsilon: float,
) -> Into:
    """One step of Adadelta (Zeiler, 2012): rate · g · √(mean squared update + ε) / √(mean squared gradient + ε)."""
    g = wide_of(grad)
    square = rho * avg_squared_grad + (1 - rho) * np.square(g)
    change = np.sqrt(avg_squared_update + epsilon) / np.sqrt(square + epsilon) * g
    moved = rho * avg_squared_update + (1 - rho) * np.square(change)
    step = rate_of(learning_rate, param) * change
    return _new(into, param, step, (avg_squared_grad, avg_squared_update), (square, moved))


@_keeps(
    "previous step_size",
    "float least=1e-05, float greatest=50.0, float eta_negative=0.5, float eta_positive=1.2",
    eta_negative=0.3,
    greatest=0.5,
)
def rprop(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    previous: np.ndarray,
    step_size: np.ndarray,
    *,
    least: float,
    greatest: float,
    eta_negative: float,
    eta_positive: float,
) -> Into:
    """One step of Rprop (Riedmiller & Braun, 1993): sizes grow while the gradient keeps its sign, else shrink."""
    g = wide_of(grad)
    turn = g * previous
    factor = np.where(turn > 0, eta_positive, np.where(turn < 0, eta_negative, 1.0)).astype(g.dtype)
    size = np.clip(step_size * factor, least, greatest)
    kept = np.where(turn < 0, g.dtype.type(0), g)
    return _new(into, param, np.sign(kept) * size, (previous, step_size), (kept, size))


@_keeps(
    "moment1 moment2",
    f"{_BETAS}, float decay=0.01, bool always_adapt=False",
    "beta1_pow beta2_pow",
    by_element=False,  # it goes by the length of the whole parameter
    decay=0.0,
)
def lamb(
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
    always_adapt: bool,
) -> Into:
    """One step of LAMB (You et al., 2020): Adam's with decay, as long as the parameter is.

    Without decay it is Adam's, unless `always_adapt` is set.
    """
    g, start = wide_of(grad), wide_of(param)
    power1, power2 = beta1_pow * beta1, beta2_pow * beta2
    mean, square = beta1 * moment1 + (1 - beta1) * g, beta2 * moment2 + (1 - beta2) * np.square(g)
    change = mean / _number(1 - power1, g) / (np.sqrt(square / _number(1 - power2, g)) + epsilon) + decay * start
    step = rate_of(learning_rate, param) * change
    if decay or always_adapt:
        lengths = [np.sqrt(total(np.square(each.astype(np.float64)))) for each in (start, change)]
        has_both = (lengths[0] > 0) & (lengths[1] > 0)
        step = step * np.where(has_both, lengths[0] / np.where(has_both, lengths[1], 1), 1).astype(g.dtype)
    kept = moment1, moment2, beta1_pow, beta2_pow
    return _new(into, param, step, kept, (mean, square, power1, power2))


@_keeps("moment1 moment2 moment2_max", f"{_BETAS}, float decay=0.0", "beta1_pow beta2_pow", beta2=0.6, decay=0.1)
def amsgrad(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    moment1: np.ndarray,
    moment2: np.ndarray,
    moment2_max: np.ndarray,
    beta1_pow: np.ndarray,
    beta2_pow: np.ndarray,
    *,
    beta1: float,
    beta2: float,
    epsilon: float,
    decay: float,
) -> Into:
    """One step of AMSGrad (Reddi et al., 2018): Adam over the greatest second moment there was; `decay` is AdamW's."""
    g, power1, power2 = wide_of(grad), beta1_pow * beta1, beta2_pow * beta2
    mean, square = beta1 * moment1 + (1 - beta1) * g, beta2 * moment2 + (1 - beta2) * np.square(g)
    greatest = np.maximum(moment2_max, square)
    floor = np.sqrt(greatest) / _number(np.sqrt(1 - power2), g) + epsilon
    change = mean / _number(1 - power1, g) / floor + decay * wide_of(param)
    kept = moment1, moment2, moment2_max, beta1_pow, beta2_pow
    return _new(into, param, rate_of(learning_rate, param) * change, kept, (mean, square, greatest, power1, power2))


@_keeps("velocity", "float mu=0.9, float dampening=0.5", "steps", mu=0.5)
def dampened_momentum(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    velocity: np.ndarray,
    steps: np.ndarray,
    *,
    mu: float,
    dampening: float,
) -> Into:
    """One step of PyTorch's SGD: velocity = μ · velocity + (1 - dampening) · grad, whose first one is grad."""
    g = wide_of(grad)
    speed = mu * velocity + np.where(steps.reshape(()) > 0, 1 - dampening, 1.0).astype(g.dtype) * g
    return _new(into, param, rate_of(learning_rate, param) * speed, (velocity, steps), (speed, steps + 1))


@_keeps("moment", "float epsilon=1e-10, float lr_decay=0.1", "steps", epsilon=0.1)
def decayed_adagrad(
    into: Into,
    param: np.ndarray,
    grad: np.ndarray,
    learning_rate: np.ndarray,
    moment: np.ndarray,
    steps: np.ndarray,
    *,
    epsilon: float,
    lr_decay: float,
) -> Into:
    """One step of Adagrad at the rate / (1 + steps · lr_decay), as PyTorch has it."""
    g = wide_of(grad)
    summed = moment + np.square(g)
    rate = rate_of(learning_rate, param) / _number(1 + steps * lr_decay, g)
    return _new(into, param, rate * g / (np.sqrt(summed) + epsilon), (moment, steps), (summed, steps + 1))
