"""More wrong backwards, each wrong in a place or by an amount that is easily missed: (name, forward, vjp, inputs)."""

from __future__ import annotations

from typing import Any

import numpy as np

_DRAW = np.random.default_rng(78)
X = _DRAW.normal(size=(4, 6))
MASK = np.array([True, False, True])
FAR = np.array([0.5, -31.0, 35.0, 2.0])

Case = tuple[str, Any, Any, tuple[Any, ...]]  # Any: the subjects are plain NumPy functions of every signature


def _cosine(inputs: Any, cotangents: Any) -> Any:
    return cotangents[0] * np.cos(inputs[0])


def _beside_nan(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.where(MASK, cotangents[0], 0.0)
    gradient[2] *= 1.5
    return (gradient,)


def _beside_inf(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = cotangents[0] / inputs[0]
    gradient[-1] *= -1
    return (gradient,)


def _cumsum_beside_nan(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.cumsum(cotangents[0][::-1])[::-1].copy()
    gradient[40] *= 1.01
    return (gradient,)


def _nan_gradient(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.cumsum(cotangents[0][::-1])[::-1].copy()
    gradient[100] = np.nan
    return (gradient,)


def _beyond_30(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.where(np.abs(inputs[0]) > 30, 1.1, 1.0) * 2 * inputs[0],)


def _one_sign(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = _cosine(inputs, cotangents)
    gradient[57] *= -1
    return (gradient,)


def _drops_three(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    gradient[:64] = _cosine(inputs, cotangents)[:64]
    return (gradient,)


def _strided(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    (x,) = inputs
    return (_cosine(inputs, cotangents) * (1.0 if x.flags.c_contiguous else 1.5),)


def _float32(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (_cosine(inputs, cotangents).astype(np.float32).astype(np.float64),)


def _neighbour(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.roll(_cosine(inputs, cotangents), 1, axis=-1),)


def _sum_for_mean(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.broadcast_to(cotangents[0][:, None], inputs[0].shape).copy(),)


class _Stale:
    """Keeps the output of the first forward of each shape."""

    def __init__(self) -> None:
        self.kept: dict[tuple[int, ...], Any] = {}

    def forward(self, x: Any) -> Any:
        y = np.exp(x)
        self.kept.setdefault(y.shape, y.copy())
        return y

    def vjp(self, inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * self.kept[outputs[0].shape],)


def _raises_below_zero(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    if (inputs[0] < 0).any():
        raise IndexError("negative")
    return (_cosine(inputs, cotangents),)


def _tanh_without_tail(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.where(np.abs(inputs[0]) > 3, 0.0, 1 - outputs[0] ** 2),)


def _short(values: Any) -> Any:
    return values.astype(np.float32).astype(np.float64)


_stale = _Stale()

SUBTLE: list[Case] = [
    (
        "wrong beside a nan",
        lambda x: np.where(MASK, x, 0.0),
        _beside_nan,
        (np.array([1.0, np.nan, 2.0]),),
    ),
    ("wrong beside an inf", np.log, _beside_inf, (np.array([0.0, 1.0, 2.0]),)),
    ("wrong before a nan", np.cumsum, _cumsum_beside_nan, (np.append(_DRAW.normal(size=90), np.nan),)),
    ("one nan among 200", np.cumsum, _nan_gradient, (_DRAW.normal(size=200),)),
    ("wrong for |x| > 30", np.square, _beyond_30, (FAR,)),
    ("wrong by 1e-7", np.sin, lambda i, o, c: (_cosine(i, c) * (1 + 1e-7),), (X,)),
    ("one sign of 91", np.sin, _one_sign, (_DRAW.normal(size=91),)),
    ("drops the last 3 of 67", np.sin, _drops_three, (_DRAW.normal(size=67),)),
    ("wrong for strided inputs", np.sin, _strided, (X,)),
    ("strided inputs, tiny values", lambda x: 1e-20 * np.sin(x), lambda i, o, c: (1e-20 * _strided(i, o, c)[0],), (X,)),
    ("rounded to float32", np.sin, _float32, (X,)),
    ("a cotangent rounded to float32", lambda x: 3 * x, lambda i, o, c: (3 * _short(c[0]),), (X,)),
    ("gradient of the neighbour", np.sin, _neighbour, (X,)),
    ("sum for a mean on one axis", lambda x: x.mean(1), _sum_for_mean, (X,)),
    ("output of the first call", _stale.forward, _stale.vjp, (X,)),
    ("raises at varied values", np.sin, _raises_below_zero, (np.abs(X),)),
    ("no gradient beyond 3", np.tanh, _tanh_without_tail, (X * 4,)),
    ("zero gradient at 1e-3", np.expm1, lambda i, o, c: (np.zeros_like(i[0]),), (X * 1e-3,)),
    ("identity for round", np.round, lambda i, o, c: (c[0].copy(),), (X * 3,)),
    ("factor 2 at 1e-150", lambda x: 3 * x, lambda i, o, c: (6 * c[0],), (X * 1e-150,)),
    ("leaky at 1e-150", lambda x: np.maximum(x, 0), lambda i, o, c: (c[0] * 1,), (X * 1e-150,)),
    ("leaky, tiny output", lambda x: 1e-20 * np.maximum(x, 0), lambda i, o, c: (1e-20 * c[0],), (X,)),
]
