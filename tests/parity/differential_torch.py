"""References in torch, for the differential tests: right to the third derivative where torch's own are not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    centred = x - x.mean(-1, keepdim=True)
    return centred * (centred.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * w + b


def gelu_tanh(x: Any) -> Any:
    return x * torch.sigmoid((8 / torch.pi) ** 0.5 * (x + 0.044715 * x**3))  # torch's own loses its digits below 0


def elu(x: Any) -> Any:
    return torch.where(x > 0, x, 1.5 * torch.expm1(torch.where(x > 0, 0.0, x)))  # torch's has no slope at 0, twice


def log_softmax(x: Any, dim: int = -1) -> Any:
    """In elementary operations, backwards too: what torch's own rounds inside of its one shows in no result of it."""
    return x - torch.logsumexp(x, dim, keepdim=True)


def softmax(x: Any, dim: int = -1) -> Any:
    return torch.exp(log_softmax(x, dim))


def cross_entropy(x: Any, label: Any) -> Any:
    return torch.logsumexp(x, -1, keepdim=True) - x.gather(-1, torch.tensor(label))


class Power(torch.autograd.Function):
    """a ** b of a > 0: torch's own has no derivative in b left of its derivative in a where b is 0."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return torch.pow(a, b)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> tuple[Any, Any]:
        a, b = ctx.saved_tensors
        return dy * (b * Power.apply(a, b - 1.0)), dy * (Power.apply(a, b) * torch.log(a))


def _as_tensor(value: Any, like: Any) -> Any:
    return value if isinstance(value, torch.Tensor) else torch.full_like(like, value)


def _where(condition: Any, a: Any, b: Any) -> Any:
    like = a if isinstance(a, torch.Tensor) else b
    return torch.where(condition, _as_tensor(a, like), _as_tensor(b, like))


def absolute(a: Any) -> Any:
    """|a| with the derivative 0 at 0; the second derivative of torch's own is a tensor that no mode may move."""
    return torch.where(a > 0, a, torch.where(a < 0, -a, 0.0 * a))


def log(a: Any) -> Any:
    """log where it has a value: torch's where lets the nan of the other branch through, backwards."""
    return torch.log(torch.where(a > 0, a, 1.0))


class Logistic(torch.autograd.Function):
    """1 / (1 + exp(-x)), whose derivatives keep their digits on both sides."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return torch.sigmoid(x)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        (x,) = ctx.saved_tensors
        return dy * (Logistic.apply(x) * Logistic.apply(-x))


class LogAddExp(torch.autograd.Function):
    """log(exp(a) + exp(b)); torch's own has the second derivative 0 where the square of exp(b - a) overflows."""

    @staticmethod
    def forward(ctx: Any, a: Any, b: Any) -> Any:
        ctx.save_for_backward(a, b)
        return torch.logaddexp(a, b)

    @staticmethod
    def backward(ctx: Any, dy: Any) -> tuple[Any, Any]:
        a, b = ctx.saved_tensors
        return dy * Logistic.apply(a - b), dy * Logistic.apply(b - a)


TORCH = SimpleNamespace(
    **{n: getattr(torch, n) for n in (
        "exp", "tanh", "sigmoid", "sin", "cos", "square", "sqrt", "log1p", "expm1", "rsqrt", "reciprocal", "erf",
        "arctan",
    )},
    abs=absolute,
    pow=lambda a, b: Power.apply(*torch.broadcast_tensors(a, b)),
    log=log,
    logaddexp=lambda a, b: LogAddExp.apply(*torch.broadcast_tensors(a, b)),
    softplus=lambda a: LogAddExp.apply(a, torch.zeros_like(a)),
    # beside a constant a tie gives nothing, else all to the first: where opsdk differs from torch, on purpose
    maximum=lambda a, b: torch.where(a > b, a, _as_tensor(b, a)) if isinstance(b, float) else torch.where(a >= b, a, b),
    minimum=lambda a, b: torch.where(a < b, a, _as_tensor(b, a)) if isinstance(b, float) else torch.where(a <= b, a, b),
    where=_where,
    row_sum=lambda a: a.sum(-1, keepdim=True),
    row_mean=lambda a: a.mean(-1, keepdim=True),
    row_max=lambda a: a.amax(-1, keepdim=True),
    row_min=lambda a: a.amin(-1, keepdim=True),
    row_logsumexp=lambda a: torch.logsumexp(a, -1, keepdim=True),
)  # fmt: skip
