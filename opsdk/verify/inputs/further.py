"""Further calls: an op's own samples, or the stock, in other sizes, and for a gradient op with other values too.

What a gradient op is called with fits together: the op runs on each further call of its own, and cotangents are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, flat, refill
from opsdk.verify.inputs.patterns import patterned
from opsdk.verify.inputs.sampling import UnusableSamplesError, calls_of, derive, forward_of
from opsdk.verify.inputs.sizes import bases, lengths_beyond, lengths_of, resized, resized_calls
from opsdk.verify.inputs.thresholds import numbers_of

_LONG = 2051  # elements of an axis, for threads to meet
_NAN = "one nan"
# Of the patterns of values those that differ in what a gradient is there.
_VALUES = (
    *("every value twice", "all equal", "whole numbers", "zeros", "in tens", "great", _NAN, "one inf"),
    *("every other one", "none"),
)


INTEGERS = "integers of"  # how the reason of such a call begins
_INTEGERS = ("int32", "int64", "int16", "uint8")


def further_calls(opdef: OpDef, calls: Sequence[Call], seed: int, kernels: Iterable[Kernel]) -> list[Call]:
    """Returns calls beside those that an op is judged at; the op need not take them.

    Args:
        opdef: the op.
        calls: those that it is judged at.
        seed: of the random values.
        kernels: whose sources tell which lengths count.
    """
    return _further(opdef, calls, lengths_beyond(numbers_of(opdef, kernels)), np.random.default_rng([seed, 29]))


def long_calls(opdef: OpDef, calls: Sequence[Call], seed: int) -> list[Call]:
    """Returns calls of an op that is no gradient with one axis that is long, each; of a gradient op what fits them."""
    rng = np.random.default_rng([seed, 33])
    forward = forward_of(opdef)
    if forward is not None:
        try:
            calls = calls_of(forward, None, seed)
        except UnusableSamplesError:  # the forward's own report says so
            return []
        return list(derive(forward, long_calls(forward, calls, seed), rng))
    made = [(call, {old: _LONG}) for call in bases(calls)[:1] for old in lengths_of(call)[:2]]
    return [there for call, change in made if (there := resized(opdef, call, change, rng)) is not None]


def _further(opdef: OpDef, calls: Sequence[Call], beyond: Sequence[int], rng: np.random.Generator) -> list[Call]:
    forward = forward_of(opdef)
    if forward is None:
        return [*resized_calls(opdef, calls, beyond, rng), *_of_other_integers(calls)]
    try:
        own = calls_of(forward, None, int(rng.integers(2**31)))
    except UnusableSamplesError:  # the forward's own report says so
        return []
    found = _further(forward, own, beyond, rng)
    if forward.gradient_of is None:
        found += [made for call in bases(own) for reason in _VALUES for made in patterned(forward, call, reason)]
        for i in range(count) if (count := len(forward.schema.inputs)) > 1 else ():  # one of them may refuse nan
            found += [made for call in bases(own)[:1] for made in patterned(forward, call, _NAN, [i])]
    return list(derive(forward, found, rng))


def _of_other_integers(calls: Sequence[Call]) -> Iterator[Call]:
    """Yields calls whose integers have other dtypes, of those that hold them."""
    for call in bases(calls)[:1]:
        integers = [array for array in flat(call.inputs) if array.dtype.kind in "iu"]
        for name in _INTEGERS if integers else ():
            cast = [array.astype(name) for array in integers]
            of = {id(old): new for new, old in zip(cast, integers, strict=True)}
            changes = any(new.dtype != old.dtype for new, old in zip(cast, integers, strict=True))
            if changes and all(map(np.array_equal, cast, integers)):
                inputs = refill(call.inputs, [of.get(id(array), array) for array in flat(call.inputs)])
                yield replace(call, inputs=inputs, reason=f"{INTEGERS} {name}", declared=False, extra=True)
