"""Agreement: of two arrays, bit for bit or within rounding, and of a kernel's values with the reference in float64.

What rounding may do to a computation is told by how far its outputs move with the last places of its inputs, and by
what is lost on the way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gradcheck.model.dtypes import resolution
from gradcheck.model.dtypes import same_bits as same_bytes
from opsdk.core.errors import OpsdkError, ShapeError
from opsdk.verify.inputs import calls
from opsdk.verify.inputs.calls import Call, flat, is_float, is_inexact, paired
from opsdk.verify.inputs.domains import held
from opsdk.verify.inputs.stock import GREAT
from opsdk.verify.kernels.launch import refusing, results
from opsdk.verify.kernels.place import place
from opsdk.verify.kernels.reach import is_finite, leaves, source, widened, without_overflow
from opsdk.verify.kernels.rounding import SHORT_EPS, Moves, Rounding
from opsdk.verify.session import Case

# Units in the last place that a right kernel may be off: two for each of a handful of elementary functions.
_UNITS = 32.0
# Multiples of the change that one unit in the last place of the inputs makes: a stable algorithm stays within a few.
_REACTIONS = 16.0
# Units of the inputs' last place that a kernel may give where the reference gives an exact 0.
_OF_ZEROS = 4.0
# Units of an output's largest element below which one whose sign is decided by rounding is a 0.
_OF_NOTHING = 64.0
# The cause of what is wrong of the last element alone.
# Of a kernel that gives a number where the reference gives nan, by whether the inputs are finite.
_OF_NAN = {
    True: "the reference gives nan of finite inputs; mend that first, unless it is meant",
    False: "nan or an infinity of the inputs makes nan in the reference and none in this kernel; decide which is meant",
}
LAST = "only the last element: a loop that ends one too early does this"
# Relative error from which a value may be anything: zero, or what the memory held before.
_STALE = 0.5
_SHORT, _LONG = (np.dtype("float32"), np.dtype("complex64")), np.dtype("float64")
_COUNTS = 1e4  # what is larger hides nothing of the others
_SHAKY = 1e-4  # of an output's largest element, from where a change is none of rounding


@dataclass(frozen=True)
class Difference:
    """Where and how far two arrays disagree the most.

    Args:
        count: number of elements beyond the allowance.
        index: of the worst.
        got: the value there.
        expected: what it should be.
        error: greatest relative error over all elements, within the allowance or not; absolute where 0 is right.
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
    declared: float = 0.0,
) -> Difference:
    """Compares a kernel's output with the truth.

    Args:
        got: the kernel's output.
        truth: of the same shape, float64, or of a discrete dtype that has to agree exactly.
        moved: the change of each element for one unit in the last place of the inputs; None for a discrete output.
        eps: resolution of the coarsest dtype involved.
        units: multiple of the usual allowance.
        floor: what an element smaller than this is held to as if it were this great.
        declared: the error that either of the two may have, as a share of the largest element.
    """
    if not is_inexact(truth) or not is_inexact(got) or moved is None:
        wrong = np.asarray(got != truth)
        return _worst(wrong, np.where(wrong, np.inf, 0.0), got, truth)
    if is_float(got) != is_float(truth):
        return measure(got.astype(complex), truth.astype(complex), moved, eps, units, floor, declared)
    with np.errstate(all="ignore"):
        long = np.float64 if is_float(got) else np.complex128
        narrow = truth.astype(got.dtype).astype(long)  # beyond the range of the kernel's dtype, inf is right
        value = got.astype(long)
        distance = np.abs(value - narrow)
        tiny, limit = range_of(got.dtype)
        allowed = units * (_UNITS * eps * np.maximum(np.abs(narrow), floor) + _REACTIONS * moved) + tiny
        if declared:
            allowed = allowed + 2.0 * declared * np.max(np.abs(narrow), initial=0.0, where=np.isfinite(narrow))
        same = (value == narrow) | (np.isnan(value) & np.isnan(narrow))
        if long is np.complex128:  # which part of a product is infinite or nan depends on how it is taken
            near = ~np.isfinite(value) & ~np.isfinite(narrow)
        else:
            near = _is_at_the_edge(value, narrow, allowed + limit * eps, limit)
        wrong = ~(same | near | (distance <= allowed))
        # Relative to what enters an element before terms cancel, where that is more than the element itself.
        scale = np.maximum(np.maximum(np.abs(narrow), moved / eps), floor)
        relative = np.where(same | near, 0.0, distance / np.maximum(scale, tiny))
    found = _worst(wrong, np.nan_to_num(relative, nan=np.inf), got, truth)
    told = np.nan_to_num(np.where(scale == 0, np.where(same | near, 0.0, distance), relative), nan=np.inf)
    return replace(found, error=float(told.max(initial=0.0)))  # beside an exact 0 it counts as it is


def where_unlike(got: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Returns numbers with the truth in the place of those that agree with it in two thirds of the largest's digits."""
    largest = np.max(np.abs(truth), initial=1.0, where=np.abs(truth) < _COUNTS)
    with np.errstate(all="ignore"):
        return where_beyond(got, truth, resolution(got.dtype) ** (2 / 3) * np.maximum(np.abs(truth), largest))


def where_beyond(got: np.ndarray, truth: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Returns numbers with the truth in the place of those that are as near to it as is allowed."""
    with np.errstate(all="ignore"):
        is_near = np.abs(got - truth) <= allowed
        return np.where(is_near & np.isfinite(truth), truth, got).astype(got.dtype)


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


def check_values(
    case: Case,
    made: list[Any],
    units: float,
    judged: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> None:
    """Compares what a kernel made with the reference on the same values in float64.

    Args:
        case: the kernel and the call.
        made: what it gave.
        units: multiple of the usual allowance.
        judged: given at values that are nobody's sample; gives, of what a kernel and what the reference made, the
            kernel's with what is not asked put right. There outputs that answer to rounding by anything are not judged.
    """
    opdef, call = case.opdef, case.call
    reference = opdef.kernels.reference()
    is_reference = case.kernel is reference
    is_truth = is_reference and all(array.dtype not in _SHORT for array in flat(call.inputs))
    if is_truth and not (call.float_dtype == _LONG and leaves(call, made)):
        return  # the reference in float64 is the truth, where that has a number
    long = call.cast(_LONG)

    def run(there: Call) -> list[Any]:
        values = results(opdef, reference, there.inputs, there.attrs)
        return widened(opdef, there, values) if judged is None else values

    try:
        truth = run(long)
    except Exception:  # written for one dtype only
        try:
            long, truth = call, run(call)
        except OpsdkError as error:  # of what the reference returns: it gives nothing to compare with
            case.session.reference(call).find_raised(refusing(error), str(error), error)
            return
    if not opdef.traits.deterministic or (is_truth and all(map(same_bits, flat(made), flat(truth)))):
        return
    floats = [array.dtype for array in (*flat(call.inputs), *flat(made)) if is_inexact(array)]
    eps = max([resolution(dtype) for dtype in floats], default=resolution(_LONG))
    rounding = Rounding(run, long, eps, case.session.seed, opdef.constant_inputs(), truth, partial(held, opdef))
    names = calls.result_names(opdef)
    declared = opdef.traits.accuracy or 0.0 if opdef.gradient_of is not None else 0.0
    made = [None if want is None else got for got, want in zip(made, truth, strict=True)]  # of what nobody wants
    for k, (name, kept, want) in enumerate(paired(names, made, truth)):
        got = kept if judged is None else judged(kept, want)
        if got.shape != want.shape:
            case.did("value")
            what = f"{opdef.subject}, {calls.called(opdef, name)}"
            message = f"{what}: expected shape {want.shape} like the reference, got {got.shape}"
            case.find(f"value.{name}", message, code=ShapeError.default_code)
        elif is_inexact(want) or not is_reference:
            # Far out, what is lost beside 1 is no fault: what is meant to show there is an overflow.
            floor = 1.0 if call.reason == GREAT or judged is not None else 0.0
            if judged is not None and _is_shaky(rounding.together[k], want, eps):
                continue
            if judged is None and not is_reference and is_float(want):
                want = without_overflow(case, long, name, got, want)
            # The reference is to lose no more than its inputs have digits.
            most = eps * _largest(long, want.shape) if is_reference else None
            for moved in _moves(rounding, k, most, want):
                found = measure(got, want, moved, eps, units, floor, declared)
                if not found.count:
                    break
            _record(case, name, found, got.shape, source(case, long, k, found.index) if found.count else "")


def _is_shaky(moved: np.ndarray | None, want: np.ndarray, eps: float) -> bool:
    """Whether a unit in the last place of the inputs changes an output as a whole, as vectors that are not unique."""
    if moved is None:
        return False
    most = _SHAKY if eps < SHORT_EPS else 16 * eps  # a kernel of float32 has a twin that is judged
    return bool(np.max(moved, initial=0.0) > most * np.max(np.abs(want), initial=0.0, where=np.isfinite(want)))


def _moves(rounding: Rounding, k: int, most: np.ndarray | None, want: np.ndarray) -> Iterator[np.ndarray | None]:
    """Yields how far rounding may take an output: at more cost and further each time, for what seemed wrong before."""
    yield rounding.together[k]
    if rounding.together[k] is not None:
        apart = rounding.apart[k]  # inputs that moved together may have changed nothing by chance
        yield apart
        looks: tuple[Callable[[], Moves], ...] = (lambda: rounding.lost, lambda: rounding.lost_by_some)
        for look in looks:  # terms that cancel lose digits by themselves
            lost = dict(enumerate(look())).get(k)
            if apart is not None and lost is not None and lost.shape == apart.shape:
                yield np.maximum(apart, lost if most is None else np.minimum(lost, most))
        if most is None and apart is not None:
            # What cancels to 0 at every input shows nothing of its terms: a kernel that joins a product and a sum into
            # one rounding leaves the digits that the other lost.
            of_inputs = rounding.eps * _largest(rounding.call, want.shape) * (_OF_ZEROS / _REACTIONS)
            yield np.maximum(apart, np.where(want == 0, of_inputs, 0.0))
            left = dict(enumerate(rounding.signless)).get(k)
            if left is not None and left.shape == apart.shape:
                most_of_all = np.max(np.abs(want), initial=0.0, where=np.isfinite(want))
                yield np.maximum(apart, np.where(left <= _OF_NOTHING * rounding.eps * most_of_all, left, 0.0))


def rounds_alike(rounding: Rounding, pairs: Iterable[tuple[np.ndarray, np.ndarray]]) -> bool:
    """Whether two runs of a computation differ by no more than rounding, judged by how its results answer to that."""
    for k, (one, other) in enumerate(pairs):
        if (one.shape, one.dtype) != (other.shape, other.dtype):
            return False
        if all(measure(other, one, moved, rounding.eps).count for moved in _moves(rounding, k, None, one)):
            return False
    return True


def _largest(call: Call, shape: tuple[int, ...]) -> np.ndarray:
    """Returns for each element of an output how great the inputs are there; or anywhere, where none has its shape."""
    arrays = [np.abs(array) for array in flat(call.inputs) if is_float(array)]
    sizes = [array for array in arrays if array.shape == shape]
    return np.asarray(np.max(sizes, axis=0) if sizes else max((np.max(a, initial=0.0) for a in arrays), default=0.0))


def _record(case: Case, name: str, found: Difference, shape: Any, source: str) -> None:
    opdef, call, line = case.opdef, case.call, case.line
    case.did("value")
    if not (found.count and call.is_far):
        line.worst = max(line.worst or 0.0, found.error)
    if not found.count:
        return
    is_blind = case.kernel is not opdef.kernels.reference() and found.expected != found.expected
    case.find(
        f"value.{name}",
        f"{opdef.subject}, {calls.called(opdef, name)}: wrong in {found.count} of {math.prod(shape)} elements, "
        f"worst {place(opdef, call, name, shape, found.index)}: "
        f"this kernel gives {found.got:.9g}, {source} gives {found.expected:.9g}",
        index=found.index,
        analytic=None if isinstance(found.got, complex) else found.got,
        numeric=None if isinstance(found.expected, complex) else found.expected,
        cause=LAST if found.is_last else None,
        compare=_OF_NAN[is_finite(call)] if is_blind else "",
    )
