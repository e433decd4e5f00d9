"""Further calls: an op's own samples, or the stock, in other sizes, and for a gradient op with other values too.

What a gradient op is called with fits together: the op runs on each further call of its own, and cotangents are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.backends.call.language import language_of
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, flat, refill
from opsdk.verify.inputs.patterns import patterned
from opsdk.verify.inputs.sampling import UnusableSamplesError, calls_of, derive, forward_of
from opsdk.verify.inputs.sizes import LARGER, bases, cut, lengths_beyond, lengths_of, resized, resized_calls
from opsdk.verify.inputs.thresholds import numbers_of
from opsdk.verify.kernels.launch import launch

_FAR = 200  # int8 ends at 127
_PARTS = (4, 32)  # of what a call of a gradient op may have, its op's: outputs and cotangents come to that
_LONG = 2051  # elements of an axis, for threads to meet
_NAN = "one nan"
# Of the patterns of values those that differ in what a gradient is there.
_VALUES = (
    *("every value twice", "all equal", "whole numbers", "halves", "zeros", "in tens", "great", _NAN, "one inf"),
    *("every other one", "none"),
)


# Of many elements: all of them count where a kernel counts those of one value, or puts them in order.
_TIED = ("all equal", "ascending", "descending")

INTEGERS = "integers of"  # how the reason of such a call begins
_INTEGERS = ("int32", "int64", "int16", "uint8", "int8", "uint16", "uint32", "uint64")


def further_calls(opdef: OpDef, calls: Sequence[Call], seed: int, kernels: Iterable[Kernel]) -> list[Call]:
    """Returns calls beside those that an op is judged at; the op need not take them.

    Args:
        opdef: the op.
        calls: those that it is judged at.
        seed: of the random values.
        kernels: whose sources tell which lengths count.
    """
    kernels = list(kernels)
    beyond = lengths_beyond(numbers_of(opdef, kernels))
    reads_any = any(language_of(kernel).may_crash for kernel in kernels)
    return _further(opdef, calls, beyond, np.random.default_rng([seed, 29]), reads_any)


def long_calls(opdef: OpDef, calls: Sequence[Call], seed: int) -> list[Call]:
    """Returns calls of an op that is no gradient with one axis that is long, each; of a gradient op what fits them."""
    return _lengthened(opdef, calls, np.random.default_rng([seed, 33]), _LONG, 1)


def past_a_block(opdef: OpDef, calls: Sequence[Call], seed: int, threads: int) -> list[Call]:
    """Returns two such calls with one axis longer by one than a block has threads, those of the fewest numbers."""
    made = _lengthened(opdef, calls, np.random.default_rng([seed, 34]), threads + 1, 2)
    return sorted(made, key=_numbers)[:2]


def cut_calls(opdef: OpDef, calls: Sequence[Call], seed: int, most: int) -> list[Call]:
    """Returns calls of more than `most` numbers made smaller, one of each form; what the reference refuses is left out.

    Of a gradient op they are those that belong to smaller calls of its op.
    """
    rng = np.random.default_rng([seed, 35])
    forward = forward_of(opdef)
    if forward is not None:
        own = calls_of(forward, None, seed)
        made = (list(derive(forward, cut_calls(forward, own, seed, most // n), rng)) for n in _PARTS)
        return next((fit for there in made if (fit := [c for c in there if _numbers(c) <= most])), [])
    found: dict[Any, Call] = {}
    for call in calls:
        there = cut(opdef, call, most, rng) if _numbers(call) > most else None
        if there is not None:
            with suppress(Exception):  # lengths that do not fit together
                launch(opdef, opdef.kernels.reference(), there.inputs, there.attrs)
                found.setdefault(tuple(array.shape for array in flat(there.inputs)), there)
    return list(found.values())


def _numbers(call: Call) -> int:
    return sum(array.size for array in flat(call.inputs))


def _lengthened(opdef: OpDef, calls: Sequence[Call], rng: np.random.Generator, length: int, forms: int) -> list[Call]:
    forward = forward_of(opdef)
    if forward is not None:
        try:
            calls = calls_of(forward, None, int(rng.integers(2**31)))
        except UnusableSamplesError:  # the forward's own report says so
            return []
        return list(derive(forward, _lengthened(forward, calls, rng, length, forms), rng))
    made = [(call, {old: length}) for call in bases(opdef, calls)[:forms] for old in list(lengths_of(opdef, call))[:2]]
    return [there for call, change in made if (there := resized(opdef, call, change, rng)) is not None]


def _further(
    opdef: OpDef, calls: Sequence[Call], beyond: Sequence[int], rng: np.random.Generator, reads_any: bool
) -> list[Call]:
    """Returns further calls; of a kernel that `reads_any` integers by their dtype some that only one dtype holds."""
    forward = forward_of(opdef)
    if forward is None:
        far = _of_far_integers(opdef, calls, rng) if reads_any else ()
        sized = resized_calls(opdef, calls, beyond, rng)
        return [*sized, *_tied(opdef, sized), *_of_other_integers(opdef, calls), *far]
    try:
        own = calls_of(forward, None, int(rng.integers(2**31)))
    except UnusableSamplesError:  # the forward's own report says so
        return []
    found = _further(forward, own, beyond, rng, reads_any)
    if forward.gradient_of is None:
        chosen = bases(forward, own)
        found += [made for call in chosen for reason in _VALUES for made in patterned(forward, call, reason)]
        for i in range(count) if (count := len(forward.schema.inputs)) > 1 else ():  # one of them may refuse nan
            found += [made for call in chosen[:1] for made in patterned(forward, call, _NAN, [i])]
    return list(derive(forward, found, rng))


def _tied(opdef: OpDef, calls: Sequence[Call]) -> Iterator[Call]:
    """Yields those calls that have a long axis, past a number of a source too, with values that tie or are in order."""
    for call in calls:
        if max(lengths_of(opdef, call).values(), default=0) >= LARGER[-1]:
            for reason in _TIED:
                made = patterned(opdef, call, reason)
                yield from (replace(there, reason=f"{call.reason}, values: {reason}") for there in made)


def _of_other_integers(opdef: OpDef, calls: Sequence[Call]) -> Iterator[Call]:
    """Yields calls whose integers have other dtypes, of those that hold them; with integers below 0 where there are."""
    holding = [call for call in bases(opdef, calls) if any(array.dtype.kind in "iu" for array in flat(call.inputs))]
    signed = [call for call in calls if any(a.dtype.kind == "i" and a.size and a.min() < 0 for a in flat(call.inputs))]
    for call in dict.fromkeys([*holding[:1], *signed[:1]]):
        yield from (made for name in _INTEGERS if (made := _with_integers(call, name)) is not None)


def _of_far_integers(opdef: OpDef, calls: Sequence[Call], rng: np.random.Generator) -> Iterator[Call]:
    """Yields calls with integers of uint8 that int8 does not hold, in one input, which count along a long axis."""
    for call in bases(opdef, calls):
        for k, array in enumerate(flat(call.inputs)):
            is_count = array.dtype.kind in "iu" and array.size > 0 and array.min() >= 0
            along = [pair for pair in lengths_of(opdef, call).items() if is_count and array.max() <= pair[1]]
            for label, old in along:
                made = resized(opdef, call, {label: _FAR}, rng)
                if made is not None:
                    arrays = flat(made.inputs)
                    arrays[k] = (arrays[k].astype(np.int64) * _FAR // old).astype(array.dtype)
                    there = _with_integers(replace(made, inputs=refill(made.inputs, arrays)), "uint8")
                    if there is not None and arrays[k].max() > np.iinfo(np.int8).max:
                        yield replace(there, reason=f"{there.reason}, far from 0")


def _with_integers(call: Call, name: str) -> Call | None:
    """Returns a call whose integers have another dtype; None where that does not hold them, or they have it."""
    arrays = flat(call.inputs)
    cast = [array.astype(name) if array.dtype.kind in "iu" else array for array in arrays]
    changes = any(new.dtype != old.dtype for new, old in zip(cast, arrays, strict=True))
    if not changes or not all(new is old or np.array_equal(new, old) for new, old in zip(cast, arrays, strict=True)):
        return None
    inputs = refill(call.inputs, cast)
    return replace(call, inputs=inputs, reason=f"{INTEGERS} {name}", declared=False, extra=True)
