"""Initializers: from a parameter's shape and dtype to the op, and its attributes, that makes the first values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opsdk.core.dtype import DTypeLike, as_dtype
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError
from opsdk.core.fit import as_bool, as_numbers, fitted, one_number
from opsdk.core.random import next_seed
from opsdk.define.frontend import at_once
from opsdk.define.op import Op
from opsdk.ops.creation import constant, gaussian_random, uniform_random

_GAINS = {
    **dict.fromkeys(("linear", "sigmoid", "conv1d", "conv2d", "conv3d"), 1.0),
    "tanh": 5 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3 / 4,
}


# Any, in this file: the values of attributes.
class Initializer:
    """What an initializer is: it names an op without inputs. Runtimes call it, or append it to a startup program."""

    def op(self, shape: Sequence[int], dtype: DTypeLike) -> tuple[Op, dict[str, Any]]:
        """Returns the op that makes the values and its attributes; random ops carry a seed drawn now.

        Args:
            shape: sizes of the parameter, all known.
            dtype: its element type.
        """
        raise NotImplementedError(f"initializer {type(self).__name__}: expected it to define op(shape, dtype)")

    def __call__(self, value: Any) -> None:
        """Fills a value in place, now.

        Args:
            value: a parameter, or anything else with `shape`, `dtype` and `set_value`.
        """
        op, attrs = self.op(value.shape, value.dtype)
        value.set_value(at_once(op, **attrs))

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in vars(self).items() if value is not None)
        return f"{type(self).__name__}({values})"


class Constant(Initializer):
    """One value everywhere."""

    def __init__(self, value: float | complex = 0.0) -> None:
        number = one_number(value, "initializer Constant, value").item()
        is_float = not isinstance(number, complex) and abs(number) <= 2**53
        self.value = float(number) if is_float else number

    def op(self, shape: Sequence[int], dtype: DTypeLike) -> tuple[Op, dict[str, Any]]:
        """Returns the op that fills an array with the value.

        Raises:
            DTypeError: the dtype does not hold it.
        """
        return constant(self.value, dtype, "initializer Constant", [int(size) for size in shape])


class Normal(Initializer):
    """Normally distributed values.

    Args:
        mean: of the distribution.
        std: standard deviation, ≥ 0.
    """

    def __init__(self, mean: float = 0.0, std: float = 1.0) -> None:
        self.mean = real(mean, "initializer Normal: mean")
        self.std = real(std, "initializer Normal: std")
        if self.std < 0:
            raise AttributeValueError(f"initializer Normal: std expected ≥ 0, got {std}")

    def op(self, shape: Sequence[int], dtype: DTypeLike) -> tuple[Op, dict[str, Any]]:
        """Returns `gaussian_random`."""
        return gaussian_random, {**_made(shape, dtype), "mean": self.mean, "std": self.std, "seed": next_seed()}


class Uniform(Initializer):
    """Values spread evenly over [low, high)."""

    def __init__(self, low: float = -1.0, high: float = 1.0) -> None:
        self.low = real(low, "initializer Uniform: low")
        self.high = real(high, "initializer Uniform: high")
        if self.low > self.high:
            raise AttributeValueError(f"initializer Uniform: low expected ≤ high, got [{low}, {high})")

    def op(self, shape: Sequence[int], dtype: DTypeLike) -> tuple[Op, dict[str, Any]]:
        """Returns `uniform_random`."""
        return uniform_random, {**_made(shape, dtype), "min": self.low, "max": self.high, "seed": next_seed()}


class _Scaled(Initializer):
    """Values whose spread follows from a layer's fans; a subclass says the standard deviation, and how they lie."""

    fan_in: int | None
    fan_out: int | None = None
    is_uniform: bool

    def _std(self, fan_in: int, fan_out: int) -> float:
        raise NotImplementedError(f"initializer {type(self).__name__}: expected it to define _std(fan_in, fan_out)")

    def op(self, shape: Sequence[int], dtype: DTypeLike) -> tuple[Op, dict[str, Any]]:
        """Returns `uniform_random` or `gaussian_random`."""
        fan_in, fan_out = fans(shape)
        fan_in = fan_in if self.fan_in is None else self.fan_in
        fan_out = fan_out if self.fan_out is None else self.fan_out
        std = self._std(fan_in, fan_out)
        limit = math.sqrt(3.0) * std
        drawn = Uniform(-limit, limit) if self.is_uniform else Normal(0.0, std)
        return drawn.op(shape, dtype)


class _Xavier(_Scaled):
    """Glorot & Bengio (2010): variance gain² · 2 / (fan_in + fan_out).

    Args:
        fan_in: values that enter one output; from the shape unless given.
        fan_out: outputs that one input reaches; from the shape unless given.
        gain: factor on the standard deviation.
    """

    def __init__(self, fan_in: int | None = None, fan_out: int | None = None, gain: float = 1.0) -> None:
        self.fan_in = _fan(fan_in, "initializer Xavier: fan_in")
        self.fan_out = _fan(fan_out, "initializer Xavier: fan_out")
        self.gain = real(gain, "initializer Xavier: gain")

    def _std(self, fan_in: int, fan_out: int) -> float:
        return self.gain * math.sqrt(2.0 / max(fan_in + fan_out, 1))


class _Kaiming(_Scaled):
    """He et al. (2015): variance gain² / fan.

    Args:
        fan_in: values that enter one output; from the shape unless given.
        negative_slope: slope of leaky_relu below 0.
        nonlinearity: what follows the layer; see `calculate_gain`.
        mode: "fan_in" keeps the forward's variance, "fan_out" the backward's.
    """

    def __init__(
        self,
        fan_in: int | None = None,
        negative_slope: float = 0.0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            raise AttributeValueError(
                f"initializer {type(self).__name__}: mode expected fan_in or fan_out, got {mode!r}"
            )
        self.fan_in = _fan(fan_in, "initializer Kaiming: fan_in")
        self.negative_slope = real(negative_slope, "initializer Kaiming: negative_slope")
        self.nonlinearity = nonlinearity
        self.mode = mode
        self._gain = calculate_gain(nonlinearity, negative_slope)

    def _std(self, fan_in: int, fan_out: int) -> float:
        return self._gain / math.sqrt(max(fan_in if self.mode == "fan_in" else fan_out, 1))

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(negative_slope={self.negative_slope!r}, nonlinearity={self.nonlinearity!r}, "
            f"mode={self.mode!r})"
        )


class XavierUniform(_Xavier):
    """Uniform values of Xavier's variance: U(-√3·std, √3·std)."""

    is_uniform = True


class XavierNormal(_Xavier):
    """Normal values of Xavier's variance."""

    is_uniform = False


class KaimingUniform(_Kaiming):
    """Uniform values of Kaiming's variance: U(-√3·std, √3·std)."""

    is_uniform = True


class KaimingNormal(_Kaiming):
    """Normal values of Kaiming's variance."""

    is_uniform = False


class Assign(Initializer):
    """Given values.

    Args:
        value: array, or whatever NumPy makes one of, of the parameter's shape.
    """

    def __init__(self, value: Any) -> None:
        self.value = np.array(as_numbers(value, "initializer Assign, value"))

    def op(self, shape: Sequence[int], dtype: DTypeLike) -> tuple[Op, dict[str, Any]]:
        """Returns the op that lists the values.

        Raises:
            ShapeError: the values have another shape than the parameter.
            DTypeError: the dtype does not hold them.
        """
        if self.value.shape != tuple(shape):
            raise ShapeError(f"initializer Assign: expected values of shape {tuple(shape)}, got {self.value.shape}")
        return constant(self.value, dtype, "initializer Assign")

    def __repr__(self) -> str:
        return f"Assign(shape={self.value.shape})"


def real(value: Any, subject: str) -> float:
    """Returns a number as a float.

    Raises:
        AttributeValueError: it is something else, or beyond all floats.
    """
    try:
        return float(fitted(one_number(value, subject), np.dtype("float64"), subject))
    except (DTypeError, ShapeError) as error:
        raise AttributeValueError(f"{subject} expected a number, got {value!r}") from error


def _fan(value: Any, subject: str) -> Any:
    """Returns a fan, or None.

    Raises:
        AttributeValueError: it is no number above 0.
    """
    if value is not None and not 0 < real(value, subject) < math.inf:
        raise AttributeValueError(f"{subject} expected a number above 0 or None, got {value!r}")
    return value


def _made(shape: Sequence[int], dtype: DTypeLike) -> dict[str, Any]:
    return {"shape": [int(size) for size in shape], "dtype": as_dtype(dtype)}


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Returns how many values enter one output, and how many outputs one input reaches.

    Args:
        shape: (in, out) of a linear weight, or (out, in, *kernel) of a convolution's.
    """
    sizes = [int(size) for size in shape]
    if len(sizes) < 2:
        return (sizes[0], sizes[0]) if sizes else (1, 1)
    if len(sizes) == 2:
        return sizes[0], sizes[1]
    receptive = math.prod(sizes[2:])
    return sizes[1] * receptive, sizes[0] * receptive


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Returns the factor by which a nonlinearity asks weights to be wider.

    Args:
        nonlinearity: linear, conv1d, conv2d, conv3d, sigmoid, tanh, relu, leaky_relu or selu.
        param: the slope of leaky_relu below 0; 0.01 unless given.

    Raises:
        AttributeValueError: another name.
    """
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else float(param)) ** 2))
    if nonlinearity not in _GAINS:
        raise AttributeValueError(
            f"calculate_gain: nonlinearity expected one of {', '.join([*_GAINS, 'leaky_relu'])}, got {nonlinearity!r}"
        )
    return _GAINS[nonlinearity]


@dataclass(frozen=True)
class ParamAttr:
    """What a user may say about a parameter.

    Attributes:
        name: its name; a unique one is made unless given.
        initializer: its first values; the layer's default unless given.
        learning_rate: factor on the optimizer's learning rate, for this parameter.
        regularizer: an L2 coefficient, or an object with `coeff`; takes the place of the optimizer's weight decay.
        trainable: whether it receives gradients and updates.
        need_clip: whether gradient clipping counts it.
    """

    name: str | None = None
    initializer: Initializer | None = None
    learning_rate: float = 1.0
    regularizer: Any = None  # Any: a number or an object with `coeff`
    trainable: bool = True
    need_clip: bool = True

    def __post_init__(self) -> None:
        as_bool(self.trainable, "ParamAttr: trainable")
        as_bool(self.need_clip, "ParamAttr: need_clip")


# Any: every form that a layer's weight_attr and bias_attr take.
def as_param_attr(value: Any, subject: str = "attr") -> ParamAttr | None:
    """Returns a parameter attribute from all that may stand for one; None where no parameter is wanted.

    Args:
        value: None or True for the defaults, False for no parameter, a name, an initializer or a `ParamAttr`.
        subject: who asks, for the message.

    Raises:
        AttributeValueError: anything else.
    """
    if value is False:
        return None
    if value is None or value is True:
        return ParamAttr()
    if isinstance(value, ParamAttr):
        return value
    if isinstance(value, str):
        return ParamAttr(name=value)
    if isinstance(value, Initializer):
        return ParamAttr(initializer=value)
    raise AttributeValueError(
        f"{subject}: expected a ParamAttr, an Initializer, a name or False, got {type(value).__name__}"
    )
