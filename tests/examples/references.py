"""The kernels of examples/kernels again, as plain loops over Python's floats, and their gradients by differences."""

from __future__ import annotations

import importlib.util
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.contracts.tree import REPOSITORY

FOLDER = REPOSITORY / "examples" / "kernels"
STEP = 1e-5  # of a central difference: its error is about STEP², 1e-10, and that of rounding 1e-16 / STEP, 1e-11


def relu(x):
    return np.array([max(value, 0.0) for value in x.ravel()]).reshape(x.shape)


def swish(x, beta):
    return np.array([value / (1 + math.exp(-beta * value)) for value in x.ravel()]).reshape(x.shape)


def scale_bias_gelu(x, w, b):
    y = np.zeros(x.shape)
    for index in np.ndindex(x.shape):
        z = x[index] * w[index[-1]] + b[index[-1]]
        y[index] = z * 0.5 * (1 + math.erf(z / math.sqrt(2)))
    return y


def softmax(x):
    y = np.zeros(x.shape)
    for row in np.ndindex(x.shape[:-1]):
        total = math.fsum(math.exp(value) for value in x[row])
        y[row] = [math.exp(value) / total for value in x[row]]
    return y


def resize_bilinear(x, size):
    """Each output pixel is the sum of all input pixels, weighted by how near they are to where its centre falls."""
    height, width = x.shape[2:]
    y = np.zeros((*x.shape[:2], *size))
    for n, c, i, j in np.ndindex(y.shape):
        v = min(max((i + 0.5) * height / size[0] - 0.5, 0), height - 1)  # beyond the outer centres: the outer pixels
        h = min(max((j + 0.5) * width / size[1] - 0.5, 0), width - 1)
        for p in range(height):
            for q in range(width):
                y[n, c, i, j] += max(1 - abs(v - p), 0) * max(1 - abs(h - q), 0) * x[n, c, p, q]
    return y


def gradients(function, inputs, dy, attrs):
    """Returns the gradient of sum(dy · function(inputs)) with respect to each input, by central differences."""
    made = []
    for position, array in enumerate(inputs):
        gradient = np.zeros(array.shape)
        for index in np.ndindex(array.shape):
            ends = []
            for step in (STEP, -STEP):
                moved = [other.copy() for other in inputs]
                moved[position][index] += step
                ends.append(float((dy * function(*moved, **attrs)).sum()))
            gradient[index] = (ends[0] - ends[1]) / (2 * STEP)
        made.append(gradient)
    return made


@dataclass(frozen=True)
class Example:
    """A file of examples/kernels: the op that it is named after, its short form, and a call of it."""

    name: str
    loop: Any
    shapes: tuple[tuple[int, ...], ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    short: bool = True

    def load(self):
        """Runs the file, and returns its module."""
        spec = importlib.util.spec_from_file_location(self.name, FOLDER / f"{self.name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def call(self, rng):
        """Returns inputs away from kinks, a cotangent, the result and the gradients, all float64."""
        inputs = [rng.choice([-1.0, 1.0], size=shape) * rng.uniform(0.1, 2.0, size=shape) for shape in self.shapes]
        y = self.loop(*inputs, **self.attrs)
        dy = rng.normal(size=y.shape)
        return inputs, dy, y, gradients(self.loop, inputs, dy, self.attrs)


EXAMPLES = (
    Example("relu", relu, ((3, 5),)),
    Example("swish", swish, ((3, 5),), {"beta": 1.7}),
    Example("scale_bias_gelu", scale_bias_gelu, ((2, 3, 4), (4,), (4,))),
    Example("softmax", softmax, ((3, 70),)),  # longer than a block of threads
    Example("resize_bilinear", resize_bilinear, ((2, 2, 3, 4), ), {"size": (5, 3)}, short=False),
)  # fmt: skip
