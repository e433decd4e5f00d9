"""Checkers of gradients, ours and those of the peers that are installed, each with its defaults."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import gradcheck

# From forward, vjp, inputs and options of gradcheck.check to whether the checker finds fault. The options declare what
# a subject means, such as a domain; peers have no word for them. Any: arrays of anybody.
Judge = Callable[[Any, Any, tuple[Any, ...], Mapping[str, Any]], bool]

SHARED = ("output", "cotangent", "gradients")


def ours(forward: Any, vjp: Any, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """gradcheck.check; inconclusive is no fault."""
    return gradcheck.check(forward, vjp, inputs, **options).verdict == "fail"


def central(forward: Any, vjp: Any, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
    """Central differences with a step of 1e-6, every element, absolute 1e-5 and relative 1e-3: what people write."""
    given = [np.array(x) for x in inputs]
    try:
        outputs = _listed(forward(*_copies(given)))
        rng = np.random.default_rng(0)
        cotangents = [rng.normal(size=y.shape).astype(y.dtype) if _floats(y) else np.zeros(y.shape) for y in outputs]
        made = vjp(tuple(_copies(given)), tuple(outputs), tuple(cotangents))
        if not isinstance(made, tuple) or len(made) != len(given):
            return True
        for i, x in enumerate(given):
            if _floats(x) and _is_far(forward, given, i, cotangents, made[i]):
                return True
    except Exception:
        return True
    return False


def _is_far(forward: Any, given: list[Any], i: int, cotangents: list[Any], made: Any) -> bool:
    x = given[i]
    numeric = np.empty(x.shape)
    for index in np.ndindex(x.shape):
        sides = []
        for step in (1e-6, -1e-6):
            moved = _copies(given)
            moved[i][index] += step
            pairs = zip(cotangents, _listed(forward(*moved)), strict=True)
            sides.append(sum(np.vdot(c, y) for c, y in pairs if _floats(y)))
        numeric[index] = (sides[0] - sides[1]) / 2e-6
    if made is None:
        return bool(np.any(np.abs(numeric) > 1e-5))
    return np.shape(made) != x.shape or not np.allclose(made, numeric, rtol=1e-3, atol=1e-5)


def _torch(fast: bool) -> Judge:
    import torch

    def judge(forward: Any, vjp: Any, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
        given = [np.array(x) for x in inputs]

        class Function(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, *tensors: Any) -> Any:
                arrays = [tensor.detach().numpy() for tensor in tensors]
                made = forward(*arrays)
                outputs = tuple(torch.from_numpy(np.asarray(y)) for y in _listed(made))
                ctx.save_for_backward(*tensors, *outputs)
                return outputs if isinstance(made, (tuple, list)) else outputs[0]

            @staticmethod
            def backward(ctx: Any, *cotangents: Any) -> Any:
                saved = [tensor.detach().numpy() for tensor in ctx.saved_tensors]
                arrays, outputs = saved[: len(given)], saved[len(given) :]
                made = vjp(tuple(arrays), tuple(outputs), tuple(c.numpy() for c in cotangents))
                return tuple(None if g is None else torch.from_numpy(np.asarray(g)) for g in made)

        tensors = [torch.from_numpy(x.copy()) for x in given]
        tensors = [t.requires_grad_() if t.is_floating_point() else t for t in tensors]
        try:
            return not torch.autograd.gradcheck(Function.apply, tensors, raise_exception=True, fast_mode=fast)
        except Exception:
            return True

    return judge


def _jax() -> Judge:
    import jax
    from jax.test_util import check_grads

    jax.config.update("jax_enable_x64", True)
    logging.getLogger("jax").setLevel(logging.CRITICAL)  # it logs every exception of a callback

    def judge(forward: Any, vjp: Any, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
        given = [np.array(x) for x in inputs]
        floating = [i for i, x in enumerate(given) if _floats(x)]

        def filled(xs: Any) -> tuple[Any, ...]:
            arrays = _copies(given)
            for i, x in zip(floating, xs, strict=True):
                arrays[i] = np.asarray(x)
            return tuple(arrays)

        try:
            outputs = _listed(forward(*_copies(given)))
            shapes = tuple(jax.ShapeDtypeStruct(y.shape, y.dtype) for y in outputs)

            @jax.custom_vjp
            def function(*xs: Any) -> Any:
                return jax.pure_callback(lambda *a: tuple(_listed(forward(*filled(a)))), shapes, *xs)

            def ahead(*xs: Any) -> Any:
                values = function(*xs)
                return values, (xs, values)

            def back(saved: Any, cotangents: Any) -> Any:
                xs, values = saved
                wanted = tuple(jax.ShapeDtypeStruct(given[i].shape, given[i].dtype) for i in floating)

                def run(*arrays: Any) -> Any:
                    parts = [np.array(a) for a in arrays]
                    here, ys = parts[: len(floating)], parts[len(floating) : -len(outputs)]
                    made = vjp(filled(here), tuple(ys), tuple(parts[-len(outputs) :]))
                    if not isinstance(made, (tuple, list)) or len(made) != len(given):
                        raise TypeError("wrong number of gradients")
                    return tuple(np.zeros_like(given[i]) if made[i] is None else np.asarray(made[i]) for i in floating)

                return jax.pure_callback(run, wanted, *xs, *values, *cotangents)

            function.defvjp(ahead, back)
            check_grads(function, tuple(given[i] for i in floating), order=1, modes=["rev"])
        except Exception:
            return True
        return False

    return judge


def _autograd() -> Judge:
    from autograd.extend import defvjp, primitive
    from autograd.test_util import check_grads

    def judge(forward: Any, vjp: Any, inputs: tuple[Any, ...], options: Mapping[str, Any]) -> bool:
        given = [np.array(x) for x in inputs]
        floating = [i for i, x in enumerate(given) if _floats(x)]

        def flat(*xs: Any) -> Any:  # autograd's primitives have one output
            ys = _listed(forward(*xs))
            return ys[0] if len(ys) == 1 else np.concatenate([np.ravel(y) for y in ys if _floats(y)])

        function = primitive(flat)

        def of(position: int) -> Callable[..., Any]:
            def rule(_: Any, *xs: Any) -> Callable[[Any], Any]:
                ys = _listed(forward(*xs))

                def back(dy: Any) -> Any:
                    cotangents, start = [], 0
                    for y in ys:
                        size = y.size if _floats(y) else 0
                        part = np.ravel(dy)[start : start + size].reshape(y.shape) if size else np.zeros(y.shape)
                        cotangents.append(part if len(ys) > 1 else dy)
                        start += size
                    return vjp(xs, tuple(ys), tuple(cotangents))[position]

                return back

            return rule

        defvjp(function, *[of(i) for i in range(len(given))])
        try:
            fixed = lambda *xs: function(*[xs[floating.index(i)] if i in floating else x for i, x in enumerate(given)])  # noqa: E731 - autograd differentiates all arguments
            check_grads(fixed, modes=["rev"], order=1)(*[given[i] for i in floating])
        except Exception:
            return True
        return False

    return judge


def _listed(made: Any) -> list[Any]:
    return [np.asarray(y) for y in made] if isinstance(made, (tuple, list)) else [np.asarray(made)]


def _copies(arrays: list[Any]) -> list[Any]:
    return [x.copy() for x in arrays]


def _floats(x: Any) -> bool:
    return bool(np.issubdtype(np.asarray(x).dtype, np.inexact))


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
