"""Agreement of two arrays: bit for bit, or within the rounding that a computation in their dtype may show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gradcheck.model.dtypes import same_bits as same_bytes
from opsdk.verify.inputs.calls import is_float, is_inexact

# Units in the last place that a right kernel may be off: two for each of a handful of elementary functions.
_UNITS = 32.0
# Multiples of the change that one unit in the last place of the inputs makes: a stable algorithm stays within a few.
_REACTIONS = 16.0
# The cause of what is wrong of the last element alone.
LAST = "only the last element: a loop that ends one too early does this"
# Relative error from which a value may be anything: zero, or what the memory held before.
_STALE = 0.5


@dataclass(frozen=True)
class Difference:
    """Where and how far two arrays disagree the most.

    Args:
        count: number of elements beyond the allowance.
        index: of the worst.
        got: the value there.
        expected: what it should be.
        error: greatest relative error over all elements, within the allowance or not.
        is_last: whether the only wrong element is the last of several, and nothing like what it should be.
    """

    count: int
    index: tuple[int, ...]
    got: Any  # a float, or a complex number
    expected: Any
    error: float
    is_last: bool = False


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two arrays agree in shape, dtype and every bit; all nan count as one."""
    if same_bytes(left, right):
        return True
    if (left.shape, left.dtype) != (right.shape, right.dtype) or left.dtype.kind not in "fc":
        return False
    nan = np.isnan(left)
    return bool(np.array_equal(nan, np.isnan(right)) and left[~nan].tobytes() == right[~nan].tobytes())


def measure(
    got: np.ndarray,
    truth: np.ndarray,
    moved: np.ndarray | None,
    eps: float,
    units: float = 1.0,
    floor: float = 0.0,
) -> Difference:
    """Compares a row's output with the truth.

    Args:
        got: the row's output.
        truth: of the same shape, float64, or of a discrete dtype that has to agree exactly.
        moved: the change of each element for one unit in the last place of the inputs; None for a discrete output.
        eps: resolution of the coarsest dtype involved.
        units: multiple of the usual allowance.
        floor: what an element smaller than this is held to as if it were this great.
    """
    if not is_inexact(truth) or not is_inexact(got) or moved is None:
        wrong = np.asarray(got != truth)
        return _worst(wrong, np.where(wrong, np.inf, 0.0), got, truth)
    if is_float(got) != is_float(truth):
        return measure(got.astype(complex), truth.astype(complex), moved, eps, units, floor)
    with np.errstate(all="ignore"):
        long = np.float64 if is_float(got) else np.complex128
        narrow = truth.astype(got.dtype).astype(long)  # beyond the range of the row's dtype, inf is right
        value = got.astype(long)
        distance = np.abs(value - narrow)
        tiny, limit = range_of(got.dtype)
        allowed = units * (_UNITS * eps * np.maximum(np.abs(narrow), floor) + _REACTIONS * moved) + tiny
        same = (value == narrow) | (np.isnan(value) & np.isnan(narrow))
        if long is np.complex128:  # which part of a product is infinite or nan depends on how it is taken
            near = ~np.isfinite(value) & ~np.isfinite(narrow)
        else:
            near = _is_at_the_edge(value, narrow, allowed + limit * eps, limit)
        wrong = ~(same | near | (distance <= allowed))
        # Relative to what enters an element before terms cancel, where that is more than the element itself.
        scale = np.maximum(np.maximum(np.abs(narrow), moved / eps), max(tiny, floor))
        relative = np.where(same | near, 0.0, distance / scale)
    return _worst(wrong, np.nan_to_num(relative, nan=np.inf), got, truth)


def _is_at_the_edge(value: np.ndarray, narrow: np.ndarray, allowed: np.ndarray, limit: float) -> np.ndarray:
    """Whether numbers just below and just above the greatest one are neighbours."""
    edge = np.isinf(value) | np.isinf(narrow)
    return np.asarray(edge & (np.abs(np.clip(value, -limit, limit) - np.clip(narrow, -limit, limit)) <= allowed))


def range_of(dtype: np.dtype[Any]) -> tuple[float, float]:
    """Returns the least normal and the greatest number of a floating dtype; bfloat16 has float32's range."""
    info = np.finfo(np.float32 if dtype.name == "bfloat16" else dtype)
    return float(info.tiny), float(info.max)


def _worst(wrong: np.ndarray, error: np.ndarray, got: np.ndarray, truth: np.ndarray) -> Difference:
    if not error.size:
        return Difference(0, (), 0.0, 0.0, 0.0)
    ranked = np.where(wrong, error, -1.0) if wrong.any() else error
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(ranked)), error.shape))
    count = int(wrong.sum())
    is_last = count == 1 and wrong.size > 1 and bool(wrong.flat[-1])
    got_there, wanted = _plain(got[index]), _plain(truth[index])
    is_last = is_last and not abs(got_there - wanted) <= _STALE * abs(wanted)  # nan is no value of a formula either
    return Difference(count, index, got_there, wanted, float(error.max()), is_last)


def _plain(value: Any) -> Any:  # Any: a number of any dtype, as a Python float, or complex where it is
    return complex(value) if np.asarray(value).dtype.kind == "c" else float(value)
