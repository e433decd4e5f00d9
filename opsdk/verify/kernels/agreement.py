"""Agreement of two arrays: bit for bit, or within the rounding that a computation in their dtype may show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opsdk.verify.inputs.calls import Call, each, flat, is_float, is_inexact, refill

# Units in the last place that a right kernel may be off: two for each of a handful of elementary functions.
_UNITS = 32.0
# Multiples of the change that one unit in the last place of the inputs makes: a stable algorithm stays within a few.
_WIGGLES = 16.0
_NEIGHBOURS = 8  # draws of what a computation loses
_NEAR = 2.0**-7  # relative distance of them: the same cancels there, and other bits are rounded away
_SHORT_EPS = 2.0**-23
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
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    if left.tobytes() == right.tobytes():
        return True
    if left.dtype.kind not in "fc":
        return False
    nan = np.isnan(left)
    return bool(np.array_equal(nan, np.isnan(right)) and left[~nan].tobytes() == right[~nan].tobytes())


def wiggle(
    run: Callable[[Call], list[Any]],
    call: Call,
    eps: float,
    seed: int,
    constant: Sequence[int] = (),
    center: Sequence[Any] | None = None,
) -> list[np.ndarray | None]:
    """Returns per output how much its elements move when the inputs move by one unit in their last place.

    Args:
        run: the computation, in float64.
        call: where; floating inputs in float64.
        eps: the relative size of the unit.
        seed: of the signs.
        constant: positions of inputs that stay.
        center: the outputs there, where they are known: of another run nobody knows whether it gives the same.
    """
    rng = np.random.default_rng([seed, 11])
    stays = [i in constant for i, value in enumerate(call.inputs) for _ in flat([value])]
    middle = flat(run(call) if center is None else center)
    moved: list[np.ndarray | None] = [np.zeros(c.shape) if is_inexact(c) else None for c in middle]
    for _ in range(2):
        inputs = [
            a if stay or not is_inexact(a) else _stepped(a, eps, rng)
            for a, stay in zip(flat(call.inputs), stays, strict=True)
        ]
        for there in _runs(run, call, inputs):
            for k, (c, t) in enumerate(zip(middle, there, strict=False)):  # a list may be of another length there
                held = moved[k]
                if held is not None and is_inexact(t) and c.shape == t.shape:
                    with np.errstate(all="ignore"):
                        moved[k] = np.maximum(held, np.nan_to_num(np.abs(t - c), nan=0.0, posinf=0.0))
    return moved


def _stepped(array: np.ndarray, eps: float, rng: np.random.Generator) -> np.ndarray:
    step = eps * rng.choice((-1.0, 1.0), array.shape)
    turn = 1j * eps * rng.choice((-1.0, 1.0), array.shape) if array.dtype.kind == "c" else 0.0
    return np.asarray(array * (1 + step + turn))


def _runs(run: Callable[[Call], list[Any]], call: Call, moved: list[Any]) -> Iterator[list[Any]]:
    """Yields the outputs where all inputs have moved; where that leaves the domain, those where one of them has."""
    held = flat(call.inputs)
    alone = [[a if i == k else b for i, (a, b) in enumerate(zip(moved, held, strict=True))] for k in range(len(held))]
    changes = [arrays for k, arrays in enumerate(alone) if moved[k] is not held[k]]
    for number, arrays in enumerate([moved, *changes]):
        try:
            made = flat(run(_refilled(call, arrays)))
        except Exception:  # a step out of the domain tells nothing about rounding
            continue
        yield made
        if number == 0:
            return


def wiggle_apart(
    run: Callable[[Call], list[Any]],
    call: Call,
    eps: float,
    seed: int,
    constant: Sequence[int] = (),
    center: Sequence[Any] | None = None,
) -> list[np.ndarray | None]:
    """Returns the sum of what `wiggle` finds for one input after the other, whose changes cannot cancel.

    It takes a run or two for each input: a second look at what seems to be wrong.
    """
    positions = range(len(call.inputs))
    moving = [i for i in positions if i not in constant]
    stays = [[other for other in positions if other != i] for i in moving] or [list(positions)]
    found = [wiggle(run, call, eps, seed, still, center) for still in stays]
    return [None if parts[0] is None else np.sum(parts, axis=0) for parts in zip(*found, strict=True)]


def lost(
    run: Callable[[Call], list[Any]], call: Call, eps: float, seed: int, constant: Sequence[int] = ()
) -> list[np.ndarray | None]:
    """Returns per output what the computation itself loses at a resolution, as where x - tanh(x) nearly cancels.

    No movement of the inputs shows that. It is told from float32: how far the results are from those in float64 for
    the same numbers, the most over some nearby, since at one it may be right by chance.
    Where float32 leaves no digit at all it tells too little.

    Args:
        run: the computation, in the dtype of its inputs.
        call: where; floating inputs in float64.
        eps: the resolution that is asked for.
        seed: of the neighbours.
        constant: positions of inputs that stay.

    Returns None for outputs that are no floats, and for all where float32 is not taken.
    """
    rng = np.random.default_rng([seed, 19])
    found: list[np.ndarray | None] = []
    for _ in range(_NEIGHBOURS):
        inputs = [
            value if i in constant else each([value], lambda a: near(a, rng))[0] for i, value in enumerate(call.inputs)
        ]
        short = replace(call, inputs=inputs).cast(np.dtype("float32"))
        try:
            pairs = list(zip(flat(run(short)), flat(run(short.cast(np.dtype("float64")))), strict=True))
        except Exception:  # written for one dtype only, or out of the domain
            continue
        with np.errstate(all="ignore"):
            gaps = [np.nan_to_num(np.abs(a - b), nan=0.0, posinf=0.0) if _is_alike(a, b) else None for a, b in pairs]
        scaled = [None if gap is None else gap.astype(np.float64) * (eps / _SHORT_EPS) for gap in gaps]
        held = found or scaled
        found = [
            None if a is None or b is None or a.shape != b.shape else np.maximum(a, b)
            for a, b in zip(held, scaled, strict=False)
        ]
    return found


def _is_alike(left: Any, right: Any) -> bool:  # Any: an array, or None
    return is_inexact(left) and is_inexact(right) and left.shape == right.shape


def near(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns numbers nearby; what is no floating array as it is."""
    return np.asarray(array * (1 + rng.uniform(-_NEAR, _NEAR, array.shape))) if is_inexact(array) else array


def _refilled(call: Call, arrays: list[Any]) -> Call:
    return replace(call, inputs=refill(call.inputs, [np.asarray(array) for array in arrays]))


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
        allowed = units * (_UNITS * eps * np.maximum(np.abs(narrow), floor) + _WIGGLES * moved) + tiny
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


def resolution(dtype: np.dtype[Any]) -> float:
    """Returns the relative distance of neighbouring numbers of a floating dtype."""
    return 2.0**-7 if dtype.name == "bfloat16" else float(np.finfo(dtype).eps)


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
