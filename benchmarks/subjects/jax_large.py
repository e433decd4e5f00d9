"""Large ops in JAX, compiled by `jax.jit`; forward and backward are one compiled function."""

from __future__ import annotations

import jax
import numpy as np
from jax import numpy as jnp

from benchmarks.subjects.references import EPSILON
from benchmarks.subjects.tasks import BOTH, FORWARD, TASKS, Large


def _cross_entropy(x, label):
    return jax.nn.logsumexp(x, axis=-1) - jnp.take_along_axis(x, label[:, None], axis=-1)[:, 0]


def _layer_norm(x, weight, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(axis=-1, keepdims=True) + EPSILON) * weight + bias


def _rms_norm(x, weight):
    return x * jax.lax.rsqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON) * weight


FUNCTIONS = {
    "relu": jax.nn.relu,
    "swish": jax.nn.swish,
    "softplus": jax.nn.softplus,
    "mish": jax.nn.mish,
    "gelu": lambda x: jax.nn.gelu(x, approximate=True),
    "softmax": jax.nn.softmax,
    "cross_entropy": _cross_entropy,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
}


def _build(task, arrays):
    function = FUNCTIONS[task.op]
    fixed = [name for name in task.inputs if name not in task.differentiable]

    def both(inputs, rest, dy):
        value, pull = jax.vjp(lambda *free: function(*free, *rest), *inputs)
        return value, pull(dy)

    names = {"f": jax.jit(function), "both": jax.jit(both), "done": jax.block_until_ready}
    names["plain"] = [jnp.asarray(arrays[name]) for name in task.inputs]
    names["free"] = [jnp.asarray(arrays[name]) for name in task.differentiable]
    names["rest"] = [jnp.asarray(arrays[name]) for name in fixed]
    if task.has_backward:
        names["dy"] = jnp.asarray(arrays["dy"])
    return names


def _result(names):
    if "dy" not in names:
        return np.asarray(names["f"](*names["plain"])), ()
    value, gradients = names["both"](names["free"], names["rest"], names["dy"])
    return np.asarray(value), tuple(np.asarray(gradient) for gradient in gradients)


_TEXTS = {FORWARD: "done(f(*plain))", BOTH: "done(both(free, rest, dy))"}
SUBJECTS = [Large("jax jit", task, _build, _TEXTS, _result) for task in TASKS]
VERSION = jax.__version__
