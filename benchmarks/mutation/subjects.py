"""Ops with right gradients, written plainly so that they can be edited: `gradient(inputs…, output, cotangent)`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

# Any, in this file: arrays; the functions read like those of a user, who writes no types.


@dataclass(frozen=True)
class Subject:
    """An op with one output.

    Args:
        name: of the op.
        forward: from the inputs to the output.
        gradient: from the inputs, the output and its cotangent to the gradients, one per input.
        draw: makes inputs from a generator.
    """

    name: str
    forward: Callable[..., Any]
    gradient: Callable[..., Any]
    draw: Callable[[np.random.Generator], tuple[np.ndarray, ...]]

    def vjp(self, gradient: Callable[..., Any]) -> Callable[..., tuple[Any, ...]]:
        """Returns a gradient of this op's form as `vjp(inputs, outputs, cotangents)`."""

        def vjp(inputs: Any, outputs: Any, cotangents: Any) -> tuple[Any, ...]:
            made = gradient(*inputs, *outputs, *cotangents)
            return made if isinstance(made, tuple) else (made,)

        return vjp


SUBJECTS: list[Subject] = []


def subject(draw: Callable[[np.random.Generator], tuple[np.ndarray, ...]], forward: Callable[..., Any]) -> Any:
    """Enters the gradient below it, with its forward and its inputs."""

    def enter(gradient: Callable[..., Any]) -> Callable[..., Any]:
        SUBJECTS.append(Subject(gradient.__name__, forward, gradient, draw))
        return gradient

    return enter


def normal(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    """Returns what draws normal arrays."""
    return lambda rng: tuple(rng.normal(size=shape) for shape in shapes)


def positive(*shapes: tuple[int, ...]) -> Callable[[np.random.Generator], tuple[np.ndarray, ...]]:
    """Returns what draws arrays between 0.5 and 2."""
    return lambda rng: tuple(rng.uniform(0.5, 2.0, shape) for shape in shapes)


@subject(normal((3, 5)), lambda x: np.sin(x))
def sin(x: Any, y: Any, dy: Any) -> Any:
    return dy * np.cos(x)


@subject(normal((7,)), lambda x: np.exp(x))
def exp(x: Any, y: Any, dy: Any) -> Any:
    return dy * y


@subject(positive((3, 5)), lambda x: np.log(x))
def log(x: Any, y: Any, dy: Any) -> Any:
    return dy / x


@subject(positive((7,)), lambda x: np.sqrt(x))
def sqrt(x: Any, y: Any, dy: Any) -> Any:
    return 0.5 * dy / y


@subject(normal((3, 5)), lambda x: np.tanh(x))
def tanh(x: Any, y: Any, dy: Any) -> Any:
    return dy * (1.0 - y * y)


@subject(normal((3, 5)), lambda x: 1.0 / (1.0 + np.exp(-x)))
def sigmoid(x: Any, y: Any, dy: Any) -> Any:
    return dy * y * (1.0 - y)


@subject(normal((5, 3)), lambda x: x**3 - 2.0 * x)
def cubic(x: Any, y: Any, dy: Any) -> Any:
    return dy * (3.0 * x**2 - 2.0)


@subject(normal((4, 3)), lambda x: np.maximum(x, 0.0))
def relu(x: Any, y: Any, dy: Any) -> Any:
    return dy * (x > 0.0)


@subject(normal((4, 3)), lambda x: np.where(x > 0.0, x, 0.1 * x))
def leaky_relu(x: Any, y: Any, dy: Any) -> Any:
    return np.where(x > 0.0, dy, 0.1 * dy)


@subject(normal((11,)), lambda x: x / (1.0 + np.exp(-x)))
def swish(x: Any, y: Any, dy: Any) -> Any:
    s = 1.0 / (1.0 + np.exp(-x))
    return dy * (s + x * s * (1.0 - s))


@subject(normal((3, 5)), lambda x: np.log1p(np.exp(x)))
def softplus(x: Any, y: Any, dy: Any) -> Any:
    return dy / (1.0 + np.exp(-x))


@subject(normal((3, 5), (3, 5)), lambda a, b: a * b)
def product(a: Any, b: Any, y: Any, dy: Any) -> Any:
    return dy * b, dy * a


@subject(positive((3, 5), (3, 5)), lambda a, b: a / b)
def quotient(a: Any, b: Any, y: Any, dy: Any) -> Any:
    return dy / b, -dy * a / b**2


@subject(positive((7,), (7,)), lambda a, b: a**b)
def power(a: Any, b: Any, y: Any, dy: Any) -> Any:
    return dy * b * a ** (b - 1.0), dy * y * np.log(np.where(a == 0, 1.0, a))


@subject(positive((5,), (5,)), lambda a, b: np.hypot(a, b))
def hypot(a: Any, b: Any, y: Any, dy: Any) -> Any:
    return dy * a / y, dy * b / y


@subject(normal((3, 5), (5,)), lambda x, b: x + b)
def bias(x: Any, b: Any, y: Any, dy: Any) -> Any:
    return dy, dy.sum(axis=0)


@subject(normal((4, 3), (4, 1)), lambda x, s: x * s)
def scale_rows(x: Any, s: Any, y: Any, dy: Any) -> Any:
    return dy * s, (dy * x).sum(axis=1, keepdims=True)


@subject(normal((3, 4), (4, 5)), lambda a, b: a @ b)
def matmul(a: Any, b: Any, y: Any, dy: Any) -> Any:
    return dy @ b.T, a.T @ dy


@subject(normal((4, 3), (5, 3), (5,)), lambda x, w, b: x @ w.T + b)
def linear(x: Any, w: Any, b: Any, y: Any, dy: Any) -> Any:
    return dy @ w, dy.T @ x, dy.sum(axis=0)


@subject(normal((3, 5)), lambda x: x.sum(axis=1))
def row_sum(x: Any, y: Any, dy: Any) -> Any:
    return np.repeat(dy[:, None], x.shape[1], axis=1)


@subject(normal((3, 5)), lambda x: x.mean(axis=1, keepdims=True))
def row_mean(x: Any, y: Any, dy: Any) -> Any:
    return np.ones_like(x) * dy / x.shape[1]


@subject(normal((3, 5)), lambda x: x.max(axis=1))
def row_max(x: Any, y: Any, dy: Any) -> Any:
    dx = np.zeros_like(x)
    dx[np.arange(x.shape[0]), x.argmax(axis=1)] = dy
    return dx


@subject(normal((3, 5)), lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True))
def softmax(x: Any, y: Any, dy: Any) -> Any:
    return y * (dy - (dy * y).sum(axis=1, keepdims=True))


@subject(normal((3, 5)), lambda x: x - np.log(np.exp(x).sum(axis=1, keepdims=True)))
def log_softmax(x: Any, y: Any, dy: Any) -> Any:
    return dy - np.exp(y) * dy.sum(axis=1, keepdims=True)


@subject(normal((3, 5)), lambda x: np.log(np.exp(x).sum(axis=1)))
def logsumexp(x: Any, y: Any, dy: Any) -> Any:
    return dy[:, None] * np.exp(x - y[:, None])


@subject(normal((3, 7)), lambda x: (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5))
def layer_norm(x: Any, y: Any, dy: Any) -> Any:
    scale = 1.0 / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return scale * (dy - dy.mean(axis=1, keepdims=True) - y * (dy * y).mean(axis=1, keepdims=True))


@subject(normal((3, 7), (7,)), lambda x, w: w * x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-6))
def rms_norm(x: Any, w: Any, y: Any, dy: Any) -> Any:
    scale = 1.0 / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-6)
    g = dy * w
    return scale * g - x * scale**3 * (g * x).mean(axis=1, keepdims=True), (dy * x * scale).sum(axis=0)


@subject(normal((6,)), lambda x: np.sqrt((x * x).sum()))
def norm(x: Any, y: Any, dy: Any) -> Any:
    return dy * x / y


@subject(normal((4, 6)), lambda x: np.cumsum(x, axis=1))
def cumsum(x: Any, y: Any, dy: Any) -> Any:
    return np.cumsum(dy[:, ::-1], axis=1)[:, ::-1]


@subject(normal((3, 4, 5)), lambda x: x.transpose(2, 0, 1))
def transpose(x: Any, y: Any, dy: Any) -> Any:
    return dy.transpose(1, 2, 0)


@subject(normal((3, 7)), lambda x: x[:, 1:5])
def part(x: Any, y: Any, dy: Any) -> Any:
    dx = np.zeros_like(x)
    dx[:, 1:5] = dy
    return dx


@subject(normal((3, 4), (3, 2)), lambda a, b: np.concatenate([a, b], axis=1))
def concat(a: Any, b: Any, y: Any, dy: Any) -> Any:
    return dy[:, :4], dy[:, 4:]


@subject(normal((9,)), lambda x: x[1:] - x[:-1])
def difference(x: Any, y: Any, dy: Any) -> Any:
    dx = np.zeros_like(x)
    dx[1:] = dy
    dx[:-1] -= dy
    return dx


@subject(normal((9,), (3,)), lambda x, k: np.array([x[i : i + 3] @ k for i in range(7)]))
def correlate(x: Any, k: Any, y: Any, dy: Any) -> Any:
    dx, dk = np.zeros_like(x), np.zeros_like(k)
    for i in range(7):
        dx[i : i + 3] += dy[i] * k
        dk += dy[i] * x[i : i + 3]
    return dx, dk


@subject(normal((4, 4)), lambda x: np.linalg.inv(x + 5.0 * np.eye(4)))
def inverse(x: Any, y: Any, dy: Any) -> Any:
    return -y.T @ dy @ y.T


@subject(normal((5,), (5,)), lambda a, b: a @ b / np.sqrt((a @ a) * (b @ b)))
def cosine(a: Any, b: Any, y: Any, dy: Any) -> Any:
    na, nb = np.sqrt(a @ a), np.sqrt(b @ b)
    return dy * (b / (na * nb) - y * a / na**2), dy * (a / (na * nb) - y * b / nb**2)


@subject(normal((4, 3), (4, 3)), lambda p, t: ((p - t) ** 2).mean())
def squared_error(p: Any, t: Any, y: Any, dy: Any) -> Any:
    return 2.0 * dy * (p - t) / p.size, -2.0 * dy * (p - t) / p.size
