"""Checkers of gradients, ours and those of the peers that are installed, each with its defaults."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np

import gradcheck
from benchmarks.mutation.subjects import Subject

# From the op, a gradient and inputs to whether the checker finds fault; Any: arrays of anybody.
Judge = Callable[[Subject, Callable[..., Any], tuple[np.ndarray, ...]], bool]


def ours(subject: Subject, gradient: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> bool:
    """gradcheck.check; inconclusive is no fault, nor is shared memory, about which no peer has an opinion."""
    shared = ("output", "cotangent", "gradients")
    return gradcheck.check(subject.forward, subject.vjp(gradient), inputs, alias_ok=shared).verdict == "fail"


def central(subject: Subject, gradient: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> bool:
    """Central differences with a step of 1e-6, every element, absolute 1e-5 and relative 1e-3: what people write."""
    y = np.asarray(subject.forward(*inputs))
    dy = np.random.default_rng(0).normal(size=y.shape)
    try:
        made = subject.vjp(gradient)(inputs, (y,), (dy,))
    except Exception:
        return True
    if len(made) != len(inputs):
        return True
    for i, x in enumerate(inputs):
        numeric = np.empty_like(x)
        for index in np.ndindex(x.shape):
            sides = []
            for step in (1e-6, -1e-6):
                moved = x.copy()
                moved[index] += step
                sides.append(np.vdot(dy, subject.forward(*inputs[:i], moved, *inputs[i + 1 :])))
            numeric[index] = (sides[0] - sides[1]) / 2e-6
        if np.shape(made[i]) != x.shape or not np.allclose(made[i], numeric, rtol=1e-3, atol=1e-5):
            return True
    return False


def _torch(fast: bool) -> Judge:
    import torch

    def judge(subject: Subject, gradient: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> bool:
        class Function(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *tensors: Any) -> Any:
                arrays = [tensor.detach().numpy() for tensor in tensors]
                y = torch.from_numpy(np.array(subject.forward(*arrays)))
                ctx.save_for_backward(*tensors, y)
                return y

            @staticmethod
            def backward(ctx: Any, dy: Any) -> Any:
                *tensors, y = (tensor.detach().numpy() for tensor in ctx.saved_tensors)
                made = subject.vjp(gradient)(tuple(tensors), (y,), (dy.numpy(),))
                return tuple(torch.from_numpy(np.array(g, dtype=np.float64)) for g in made)

        tensors = [torch.from_numpy(x.copy()).requires_grad_() for x in inputs]
        try:
            return not torch.autograd.gradcheck(Function.apply, tensors, raise_exception=True, fast_mode=fast)
        except Exception:
            return True

    return judge


def _jax() -> Judge:
    import jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)

    def judge(subject: Subject, gradient: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> bool:
        y = np.asarray(subject.forward(*inputs))
        shape = jax.ShapeDtypeStruct(y.shape, y.dtype)

        @jax.custom_vjp
        def function(*xs: Any) -> Any:
            return jax.pure_callback(lambda *a: np.asarray(subject.forward(*map(np.asarray, a))), shape, *xs)

        def forward(*xs: Any) -> Any:
            value = function(*xs)
            return value, (xs, value)

        def backward(saved: Any, dy: Any) -> Any:
            xs, value = saved
            shapes = tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in inputs)

            def run(*arrays: Any) -> Any:
                *given, its_y, its_dy = map(np.asarray, arrays)
                made = subject.vjp(gradient)(tuple(given), (its_y,), (its_dy,))
                return tuple(np.asarray(g, np.float64) for g in made)

            return jax.pure_callback(run, shapes, *xs, value, dy)

        function.defvjp(forward, backward)
        try:
            check_grads(function, inputs, order=1, modes=["rev"])
        except Exception:
            return True
        return False

    return judge


def _autograd() -> Judge:
    from autograd.extend import defvjp, primitive
    from autograd.test_util import check_grads

    def judge(subject: Subject, gradient: Callable[..., Any], inputs: tuple[np.ndarray, ...]) -> bool:
        function = primitive(subject.forward)

        def of(position: int) -> Callable[..., Any]:
            def rule(y: Any, *xs: Any) -> Callable[[Any], Any]:
                return lambda dy: subject.vjp(gradient)(xs, (y,), (dy,))[position]

            return rule

        defvjp(function, *[of(i) for i in range(len(inputs))])
        try:
            check_grads(function, modes=["rev"], order=1)(*inputs)
        except Exception:
            return True
        return False

    return judge


def installed() -> tuple[dict[str, Judge], list[str]]:
    """Returns the checkers by name, and the peers that are not installed."""
    found: dict[str, Judge] = {"opsdk": ours, "central differences": central}
    missing = []
    for package, made in (
        ("torch", lambda: {"torch gradcheck": _torch(False), "torch gradcheck, fast": _torch(True)}),
        ("jax", lambda: {"jax check_grads": _jax()}),
        ("autograd", lambda: {"autograd check_grads": _autograd()}),
    ):
        if importlib.util.find_spec(package) is None:
            missing.append(package)
        else:
            found |= made()
    return found, missing
