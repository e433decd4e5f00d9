"""Branches: inputs of many patterns of values, for what a kernel does to its inputs only where some value is met.

A kernel that clamps `x[0]` where it is large passes on every other input, and corrupts its caller's arrays later. Each
kernel runs on copies, of which nothing but the bytes is looked at afterwards, and whether a result shares their memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain
from opsdk.backends.call.language import language_of
from opsdk.core.errors import AliasError
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.verify.inputs.calls import Call, copies, each, flat
from opsdk.verify.inputs.domains import domain_of, held
from opsdk.verify.kernels.launch import plan_of
from opsdk.verify.kernels.memory import tried
from opsdk.verify.kernels.rows import check_mutation, variants
from opsdk.verify.session import Session

_MOST = 4096  # elements of a call: the text of a Numba kernel runs in Python first
_SHAPES = 3  # calls that are varied, each of another size


def _put(line: np.ndarray, place: int, value: Any) -> np.ndarray:  # Any: a number of any dtype
    made: np.ndarray = line.copy()
    made[place] = value
    return made


# From the elements of an input, in one line, to others of its dtype: only an order, or equals, that the input has ...
ORDERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ascending": np.sort,
    "descending": lambda line: np.sort(line)[::-1],
    "all equal": lambda line: np.full_like(line, line[0]),
    "the second as the first": lambda line: _put(line, 1 % line.size, line[0]),
    "the last as the first": lambda line: _put(line, -1, line[0]),
    "the last as the one before": lambda line: np.concatenate([line[:-1], line[-2:-1] if line.size > 1 else line]),
    "every value twice": lambda line: np.repeat(line, 2)[: line.size],
}
# ... or other numbers. What is tame comes first.
NUMBERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "all positive": lambda line: np.abs(line) + 0.125,
    "all negative": lambda line: -np.abs(line) - 0.125,
    "other signs": np.negative,
    "zeros": np.zeros_like,
    "negative zeros": lambda line: np.full_like(line, -0.0),
    "ones": np.ones_like,
    "within ±1": lambda line: np.tanh(line),
    "beyond ±1": lambda line: np.where(line < 0, line - 1.5, line + 1.5),
    "whole numbers": lambda line: np.arange(line.size) % 7 - 3.0,
    "0, 1, 2 and so on": lambda line: np.arange(float(line.size)),
    "in tens": lambda line: line * 10,
    "in hundreds": lambda line: line * 300,
    "the first large": lambda line: _put(line, 0, 50.0),
    "the first large and negative": lambda line: _put(line, 0, -50.0),
    "the first 0": lambda line: _put(line, 0, 0.0),
    "the last large": lambda line: _put(line, -1, 50.0),
    "small": lambda line: line * 1e-9,
    "subnormal": lambda line: np.full_like(line, np.finfo(line.dtype).smallest_subnormal),
    "huge": lambda line: np.sign(line) * np.finfo(line.dtype).max / 4,
    "one huge": lambda line: _put(line, 0, 1e30),
    "one inf": lambda line: _put(line, 0, np.inf),
    "one -inf": lambda line: _put(line, line.size // 2, -np.inf),
    "one nan": lambda line: _put(line, line.size // 2, np.nan),
    "the first nan": lambda line: _put(line, 0, np.nan),
    "all nan": lambda line: np.full_like(line, np.nan),
    "all inf": lambda line: np.full_like(line, np.inf),
}


def check_branches(session: Session) -> None:
    """Runs every kernel of an author's on patterns of values, and compares its inputs with copies."""
    opdef = session.opdef
    reference = opdef.kernels.reference()
    kernels = [kernel for kernel in opdef.kernels if session.wants(kernel) and kernel.key.place == "cpu"]
    if opdef.schema.namespace == "opsdk" or not any(language_of(kernel).changes_inputs for kernel in kernels):
        return
    first = [] if reference is None else [reference]
    served = [opdef.kernels.loaded(kernel) for kernel in dict.fromkeys([*first, *kernels])]
    for call, is_first in _varied(session.calls):
        for patterned in _patterned(session, call, is_first):
            for kernel in served:
                if not _runs(session, kernel, patterned, call) and kernel is reference:
                    break  # what the reference refuses, nobody else has to take


def _varied(calls: Sequence[Call]) -> Iterator[tuple[Call, bool]]:
    """Yields some calls, each of sizes that none before has, and whether it is the first."""
    seen: set[Any] = set()
    for call in calls:
        sizes = tuple(array.size for array in flat(call.inputs))
        if sizes and all(sizes) and sum(sizes) <= _MOST and sizes not in seen and len(seen) < _SHAPES:
            seen.add(sizes)
            yield call, len(seen) == 1


def _patterned(session: Session, call: Call, is_first: bool) -> Iterator[Call]:
    """Yields a call with each pattern in all inputs at once; the first call also with it in each input alone."""
    count = len(call.inputs)
    chosen = [range(count), *([range(i, i + 1) for i in range(count)] if count > 1 and is_first else [])]
    opdef = session.opdef
    intervals = [domain_of(opdef, name) for name in opdef.schema.input_names]
    for reason in (*ORDERS, *NUMBERS):
        for positions in chosen:
            inputs = list(call.inputs)
            for i in positions:
                (inputs[i],) = each([call.inputs[i]], partial(_changed, reason=reason, where=intervals[i]))
            if any(new is not old for new, old in zip(flat(inputs), flat(call.inputs), strict=True)):
                made = replace(call, inputs=inputs, reason=f"values: {reason}", declared=False)
                try:
                    yield held(opdef, made)
                except Exception:  # what no rule moves inside is no pattern of this input
                    continue


def _changed(array: np.ndarray, reason: str, where: Domain) -> np.ndarray:
    """Returns an input with a pattern of values; itself where the pattern does not apply."""
    if array.dtype.kind not in ("f" if reason in NUMBERS else "fiu"):
        return array
    pattern = ORDERS.get(reason) or NUMBERS[reason]
    made: np.ndarray = pattern(np.ravel(array)).astype(array.dtype).reshape(array.shape)
    if not (where.is_bounded or where.rules):
        return made
    if made.dtype.kind == "f" and not np.isfinite(made).all() and (where.rules or np.isnan(made).any()):
        return array
    return replace(where, rules=()).project(made)


def _runs(session: Session, kernel: Kernel, patterned: Call, call: Call) -> bool:
    """Runs a kernel on copies and tells of what it changed; False where it takes no such values, or may not be run."""
    opdef = session.opdef
    variant = next(variants(opdef, kernel, patterned), None)
    if variant is None or not _is_safe(session, kernel, variant, call):
        return kernel is opdef.kernels.reference() and variant is None
    case = session.case(kernel, variant)
    inputs = copies(variant.inputs)
    try:
        plan = plan_of(opdef, kernel, variant.inputs, variant.attrs)
        raw = plan.kernel_alone(*inputs, **complete_attrs(opdef, variant.attrs))
    except Exception:  # raised at the other calls, it is told there
        return False
    check_mutation(case, inputs)
    try:
        plan.normalised(raw, inputs)
    except AliasError as error:
        case.find_raised("alias", str(error), error)
    except Exception:  # what is returned is judged at the other calls
        return True
    return True


def _is_safe(session: Session, kernel: Kernel, variant: Call, call: Call) -> bool:
    """Whether compiled code stays inside of its arrays, as far as can be told: a nan may be an index somewhere."""
    language = language_of(kernel)
    if language.stays_inside:
        return True
    if language.may_crash:  # what it reads is not watched, so its positions stay what they were
        pairs = zip(flat(variant.inputs), flat(call.inputs), strict=True)
        if any(old.dtype.kind in "iu" and new.tobytes() != old.tobytes() for new, old in pairs):
            return False
    found = tried(session.opdef, kernel, variant)
    return found.is_tried and found.outside is None
