"""Ops without tensor inputs: constants and random numbers with explicit seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opsdk.core.dtype import DTypeLike, as_dtype, word_of
from opsdk.core.fit import as_numbers, fitted, one_number
from opsdk.core.spec import TensorSpec
from opsdk.define.decorators import op
from opsdk.define.infer import normalize_axes
from opsdk.define.op import Op
from opsdk.define.sample import Sample

_MOST_WHOLE = 2**53  # up to which float64, the attributes' type, holds every whole number


# Any: numbers, as `as_numbers` takes them; the values of attributes.
def constant(
    value: Any, dtype: DTypeLike, subject: str, shape: Sequence[int] | None = None, name: str = "value"
) -> tuple[Op, dict[str, Any]]:
    """Returns the op without inputs that makes given numbers, and its attributes; the same for every runtime.

    Args:
        value: one number, or as many as the shape has elements.
        dtype: of the result; asked for by name, so that integers drop fractions.
        subject: who asks, for the message.
        shape: of the result; that of `value` unless given, and then one number fills it.
        name: what the number is called, for the message.

    Raises:
        DTypeError: these are no numbers, or the dtype does not hold them.
        ShapeError: they are several, where one fills a shape.
    """
    kind = as_dtype(dtype, subject)
    if shape is not None and value.__class__ in (int, float) and 0 <= value <= 100 and kind.kind != "c":
        exact = float(int(value) if kind.kind in "iu" else value)
        return fill_constant, {"shape": list(shape), "value": exact, "dtype": kind}
    numbers = as_numbers(value, subject) if shape is None else one_number(value, f"{subject}, {name}")
    held = fitted(numbers, kind, subject, truncates=True)
    attrs: dict[str, Any] = {"shape": list(numbers.shape if shape is None else shape), "dtype": kind}
    word = word_of(kind)
    whole = word == "int" and held.size
    if word == "complex" or (whole and not -_MOST_WHOLE <= held.min() <= held.max() <= _MOST_WHOLE):
        return exact_value, {**attrs, "values": [str(number) for number in held.reshape(-1).tolist()]}
    listed = [float(number) for number in (held if word == "int" else numbers).reshape(-1).tolist()]
    if numbers.ndim == 0 and shape is not None:
        return fill_constant, {**attrs, "value": listed[0]}
    return assign_value, {**attrs, "values": listed}


def _made(shape: Sequence[int], dtype: np.dtype[Any]) -> TensorSpec:
    return TensorSpec(shape, dtype)


@op("opsdk::fill_constant(*, int[] shape, float value, dtype dtype=float32) -> Tensor out", infer=_made)
def fill_constant(*, shape: Sequence[int], value: float, dtype: np.dtype[Any]) -> np.ndarray:
    """An array of one value."""
    return np.full(tuple(shape), number_in(dtype, value, "op 'opsdk::fill_constant': value"), dtype)


@op("opsdk::assign_value(*, int[] shape, float[] values, dtype dtype=float32) -> Tensor out", infer=_made)
def assign_value(*, shape: Sequence[int], values: Sequence[float], dtype: np.dtype[Any]) -> np.ndarray:
    """An array of the values listed, in C order."""
    held = fitted(np.array(values, float), dtype, "op 'opsdk::assign_value': values", truncates=True)
    return held.reshape(tuple(shape)).copy()


@op("opsdk::exact_value(*, int[] shape, str[] values, dtype dtype) -> Tensor out", infer=_made)
def exact_value(*, shape: Sequence[int], values: Sequence[str], dtype: np.dtype[Any]) -> np.ndarray:
    """An array of the numbers written, in C order, or of the only one: whole beyond 2⁵³, or complex."""
    read, kind = (complex, complex) if dtype.kind == "c" else (int, object)
    held = fitted(np.array([read(text) for text in values], kind), dtype, "op 'opsdk::exact_value': values")
    return np.full(tuple(shape), held[0]) if held.size == 1 else held.reshape(tuple(shape))


@op(
    "opsdk::uniform_random(*, int[] shape, float min=-1.0, float max=1.0, int seed, dtype dtype=float32) -> Tensor out",
    infer=_made,
)
def uniform_random(*, shape: Sequence[int], min: float, max: float, seed: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Numbers drawn uniformly from [min, max); the same seed gives the same numbers."""
    drawn = np.random.default_rng(seed).uniform(min, max, tuple(shape))
    lower, upper, made = (fitted(np.array(v), dtype, "op 'opsdk::uniform_random'") for v in (min, max, drawn))
    return np.where(made < upper, made, np.nextafter(upper, lower)) if lower < upper else made  # rounded up to the end


@op(
    "opsdk::gaussian_random(*, int[] shape, float mean=0.0, float std=1.0, int seed, dtype dtype=float32) "
    "-> Tensor out",
    infer=_made,
)
def gaussian_random(*, shape: Sequence[int], mean: float, std: float, seed: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Numbers from a normal distribution; the same seed gives the same numbers."""
    drawn = np.random.default_rng(seed).normal(mean, std, tuple(shape))
    return fitted(drawn, dtype, "op 'opsdk::gaussian_random'")


@op("opsdk::random_integers(*, int[] shape, int low, int high, int seed, dtype dtype=int64) -> Tensor out", infer=_made)
def random_integers(*, shape: Sequence[int], low: int, high: int, seed: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Whole numbers drawn uniformly from [low, high); the same seed gives the same numbers."""
    drawn = np.random.default_rng(seed).integers(low, high, tuple(shape))
    return fitted(drawn, dtype, "op 'opsdk::random_integers'")


@op("opsdk::random_order(*, int >= 0 n, int seed, dtype dtype=int64) -> Tensor out")
def random_order(*, n: int, seed: int, dtype: np.dtype[Any]) -> np.ndarray:
    """The whole numbers from 0 to n - 1 in an order that is drawn; the same seed gives the same order."""
    return fitted(np.random.default_rng(seed).permutation(n), dtype, "op 'opsdk::random_order'")


@random_order.infer
def _order(n: int, dtype: np.dtype[Any]) -> TensorSpec:
    return TensorSpec([n], dtype)


@random_integers.check
def _check_integers(low: int, high: int) -> str | None:
    return None if low < high else f"low and high expected low < high, got [{low}, {high}); no number is there"


@uniform_random.check
def _check_uniform(min: float, max: float, dtype: np.dtype[Any]) -> str | None:
    if not (np.isfinite(max - min) and min <= max):
        return f"min and max expected finite numbers, min ≤ max, got {min} and {max}"
    return _not_drawn(dtype)


@gaussian_random.check
def _check_gaussian(mean: float, std: float, dtype: np.dtype[Any]) -> str | None:
    if not (np.isfinite(mean) and 0 <= std < np.inf):
        return f"mean and std expected finite numbers, std ≥ 0, got {mean} and {std}"
    return _not_drawn(dtype)


def _not_drawn(dtype: np.dtype[Any]) -> str | None:
    return None if word_of(dtype) == "float" else f"dtype expected a float, got {dtype}; cast the numbers drawn"


@op("opsdk::fill_any_like(Tensor x, *, float value=0.0) -> Tensor out", nondifferentiable=("x", "out"))
def fill_any_like(x: np.ndarray, *, value: float) -> np.ndarray:
    """An array of one value, of the shape and dtype of x."""
    return np.full_like(x, number_in(x.dtype, value, "op 'opsdk::fill_any_like': value"), order="C")


@op(
    "opsdk::arange(Tensor like, *, int axis=0, float start=0.0, float step=1.0, dtype dtype=int64) -> Tensor out",
    nondifferentiable=("like", "out"),
)
def arange(like: np.ndarray, *, axis: int, start: float, step: float, dtype: np.dtype[Any]) -> np.ndarray:
    """Evenly spaced numbers from `start` on, below the size that an axis of `like` has."""
    made = np.arange(start, like.shape[axis], step, like=like)
    return fitted(made, dtype, "op 'opsdk::arange'", truncates=True)


@arange.infer
def _arange(like: TensorSpec, axis: int, start: float, step: float, dtype: np.dtype[Any]) -> TensorSpec:
    size = like.shape[normalize_axes([axis], like.ndim, "op 'opsdk::arange'")[0]]
    return TensorSpec([None if size is None else len(np.arange(start, size, step))], dtype)


@arange.check
def _check_arange(start: float, step: float) -> str | None:
    if not (np.isfinite(start) and np.isfinite(step) and step):
        return f"start and step expected finite numbers, step ≠ 0, got {start} and {step}"
    return None


@arange.samples
def _ranges() -> Iterator[Sample]:
    yield Sample(np.zeros((2, 3)), axis=-1, reason="positions along an axis")
    yield Sample(np.zeros(4), start=1.0, step=0.5, dtype=np.dtype("float64"), reason="in halves")
    yield Sample(np.zeros((0, 2)), reason="none")


def number_in(dtype: np.dtype[Any], value: float, subject: str) -> Any:
    """Returns a number that a dtype holds, to fill an array with, wherever that is; from 0 to 100 all do.

    Raises:
        DTypeError: the dtype does not hold it.
    """
    return value if 0 <= value <= 100 else fitted(np.asarray(value), dtype, subject, truncates=True)[()]


@fill_constant.samples
def _constants() -> Iterator[Sample]:
    yield Sample(shape=[2, 3], value=1.5, reason="float32 unless said otherwise")
    yield Sample(shape=[4], value=2.0, dtype=np.dtype("int64"), reason="integers")
    yield Sample(shape=[], value=1.0, dtype=np.dtype("float64"), reason="0-d")
    yield Sample(shape=[0, 4], value=0.0, reason="empty")


@assign_value.samples
def _values() -> Iterator[Sample]:
    yield Sample(shape=[2, 2], values=[1.0, 2.0, 3.0, 4.0], reason="matrix in C order")
    yield Sample(shape=[], values=[1.0], dtype=np.dtype("bool"), reason="0-d, bool")
    yield Sample(shape=[0], values=[], reason="empty")


@exact_value.samples
def _exact() -> Iterator[Sample]:
    yield Sample(shape=[2], values=["9007199254740993", "-1"], dtype=np.dtype("int64"), reason="beyond float64")
    yield Sample(shape=[2, 1], values=["(1.5-2j)"], dtype=np.dtype("complex64"), reason="one complex number for all")
    yield Sample(shape=[], values=["3"], dtype=np.dtype("uint8"), reason="0-d")
    yield Sample(shape=[0], values=[], dtype=np.dtype("int64"), reason="empty")


@random_integers.samples
def _integers() -> Iterator[Sample]:
    yield Sample(shape=[3, 5], low=-2, high=3, seed=7, reason="matrix")
    yield Sample(shape=[], low=0, high=2**40, seed=7, reason="0-d, beyond 32 bits")
    yield Sample(shape=[0, 4], low=0, high=1, seed=0, dtype=np.dtype("int32"), reason="empty")


@random_order.samples
def _orders() -> Iterator[Sample]:
    yield Sample(n=7, seed=7, reason="an order")
    yield Sample(n=0, seed=7, dtype=np.dtype("int32"), reason="empty")


@uniform_random.samples
@gaussian_random.samples
def _draws() -> Iterator[Sample]:
    yield Sample(shape=[3, 5], seed=7, reason="matrix")
    yield Sample(shape=[], seed=7, dtype=np.dtype("float64"), reason="0-d, float64")
    yield Sample(shape=[0, 4], seed=0, reason="empty")
