"""ReLU in JAX: jit of the native one, and jit of a custom_vjp with NumPy behind pure_callback."""

from __future__ import annotations

import jax
import numpy as np

from benchmarks.subjects.subject import Subject


@jax.custom_vjp
def callback_relu(x):
    return jax.pure_callback(lambda a: np.maximum(np.asarray(a), 0), jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def _forward(x):
    y = callback_relu(x)
    return y, y


def _backward(y, dy):
    def gradient(value, cotangent):
        return np.asarray(cotangent) * (np.asarray(value) > 0)

    return (jax.pure_callback(gradient, jax.ShapeDtypeStruct(dy.shape, dy.dtype), y, dy),)


callback_relu.defvjp(_forward, _backward)


def _both(function):
    def both(x, dy):
        y, pull = jax.vjp(function, x)
        return y, pull(dy)[0]

    return jax.jit(both)


def _arrays(x, dy):
    return {
        "x": jax.numpy.asarray(x),
        "dy": jax.numpy.asarray(dy),
        "native": jax.jit(jax.nn.relu),
        "native_both": _both(jax.nn.relu),
        "callback": jax.jit(callback_relu),
        "callback_both": _both(callback_relu),
    }


def _result(name):
    def result(names):
        value, gradient = names[f"{name}_both"](names["x"], names["dy"])
        return np.asarray(value), np.asarray(gradient)

    return result


def _statements(name):
    return {
        "forward": f"{name}(x).block_until_ready()",
        "both": f"{name}_both(x, dy)[1].block_until_ready()",
    }


SUBJECTS = [
    Subject("jax jit native", _arrays, _statements("native"), _result("native")),
    Subject("jax jit + pure_callback", _arrays, _statements("callback"), _result("callback")),
]
VERSION = jax.__version__
