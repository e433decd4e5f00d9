"""Initializers whose values have a structure: cut off, orthogonal, passing on, interpolating.

Their values are computed when the op is asked for, and are attributes of it, as those of `Assign` are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import DTypeLike
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.random import next_seed
from opsdk.define.op import Op
from opsdk.ops.creation import constant
from opsdk.ops.initializer import Initializer, real


# Any, in this file: the values of attributes.
class _Structured(Initializer):
    """An initializer that computes an array."""

    def op(self, shape: Sequence[int], dtype: DTypeLike) -> tuple[Op, dict[str, Any]]:
        """Returns the op that lists the values."""
        sizes = tuple(int(size) for size in shape)
        return constant(self._values(sizes), dtype, f"initializer {type(self).__name__}")

    def _values(self, shape: tuple[int, ...]) -> np.ndarray:
        raise NotImplementedError

    def _needs(self, ranks: Sequence[int], shape: tuple[int, ...]) -> None:
        if len(shape) not in ranks:
            raise ShapeError(
                f"initializer {type(self).__name__}: expected a shape of {' or '.join(map(str, ranks))} dimensions, "
                f"got {shape}"
            )


class TruncatedNormal(_Structured):
    """Normal values, drawn again until they lie within bounds.

    Args:
        mean: of the distribution.
        std: standard deviation, > 0.
        a: lower bound, in standard deviations from the mean.
        b: upper bound, likewise.

    Raises:
        AttributeValueError: std ≤ 0, or bounds that hold fewer than one number in ten thousand.
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0) -> None:
        self.mean, self.std, self.a, self.b = (
            real(value, f"initializer TruncatedNormal: {name}")
            for name, value in (("mean", mean), ("std", std), ("a", a), ("b", b))
        )
        share = (math.erf(self.b / math.sqrt(2)) - math.erf(self.a / math.sqrt(2))) / 2
        if self.std <= 0 or share < 1e-4:
            raise AttributeValueError(
                "initializer TruncatedNormal: expected std > 0 and bounds with at least one number in ten thousand "
                f"between them, got std {std}, [{a}, {b}]"
            )

    def _values(self, shape: tuple[int, ...]) -> np.ndarray:
        rng = np.random.default_rng(next_seed())
        values = rng.standard_normal(shape)
        while (outside := (values < self.a) | (values > self.b)).any():
            values[outside] = rng.standard_normal(np.count_nonzero(outside))
        return self.mean + self.std * values


class Orthogonal(_Structured):
    """Rows, or columns where there are fewer, that are orthonormal, times `gain` (Saxe, McClelland & Ganguli, 2014).

    Args:
        gain: factor.
    """

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = real(gain, "initializer Orthogonal: gain")

    def _values(self, shape: tuple[int, ...]) -> np.ndarray:
        self._needs((2, 3, 4, 5), shape)
        rows, columns = shape[0], math.prod(shape[1:])
        drawn = np.random.default_rng(next_seed()).standard_normal((max(rows, columns), min(rows, columns)))
        q, r = np.linalg.qr(drawn)
        q *= np.sign(np.diagonal(r))  # so that all orthogonal matrices are as likely
        return self.gain * (q.T if rows < columns else q).reshape(shape)


class Dirac(_Structured):
    """The kernel of a convolution that passes each of its first channels on.

    Args:
        groups: of the convolution.
    """

    def __init__(self, groups: int = 1) -> None:
        if not isinstance(groups, int) or groups < 1:
            raise AttributeValueError(f"initializer Dirac: groups expected an integer ≥ 1, got {groups!r}")
        self.groups = groups

    def _values(self, shape: tuple[int, ...]) -> np.ndarray:
        self._needs((3, 4, 5), shape)
        if shape[0] % self.groups:
            raise ShapeError(f"initializer Dirac: expected channels that {self.groups} groups divide, got {shape[0]}")
        values, size = np.zeros(shape), shape[0] // self.groups
        middle = tuple(each // 2 for each in shape[2:])
        for group in range(self.groups):
            for channel in range(min(size, shape[1])):
                values[group * size + channel, channel][middle] = 1.0
        return values


class Bilinear(_Structured):
    """The kernel of a transposed convolution that interpolates bilinearly."""

    def _values(self, shape: tuple[int, ...]) -> np.ndarray:
        self._needs((4,), shape)

        def tent(size: int) -> np.ndarray:
            factor = math.ceil(size / 2)
            return 1 - np.abs(
                np.arange(size) / factor - (2 * factor - 1 - factor % 2) / (2 * factor)
            )  # as Paddle has it

        kernel = tent(shape[2])[:, None] * tent(shape[3])
        return np.broadcast_to(kernel, shape).copy()


class Eye(_Structured):
    """Ones on the diagonal of a matrix."""

    def _values(self, shape: tuple[int, ...]) -> np.ndarray:
        self._needs((2,), shape)
        return np.eye(shape[0], shape[1])


_GLOBAL: dict[bool, Initializer | None] = {False: None, True: None}  # by whether it is of biases


def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """Sets what parameters begin with whose `ParamAttr` names no initializer; None is what their layer says.

    Raises:
        AttributeValueError: something that is no initializer.
    """
    for each in (weight_init, bias_init):
        if not isinstance(each, (Initializer, type(None))):
            raise AttributeValueError(f"set_global_initializer: expected an initializer or None, got {each!r}")
    _GLOBAL.update({False: weight_init, True: bias_init})


def global_initializer(is_bias: bool) -> Initializer | None:
    """Returns what `set_global_initializer` set for weights, or for biases."""
    return _GLOBAL[is_bias]
