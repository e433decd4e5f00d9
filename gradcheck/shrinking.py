"""Smaller and simpler inputs at which the same fault still shows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from gradcheck.checking import check
from gradcheck.errors import UsageError
from gradcheck.judge.variation import resize_inputs, vary_inputs
from gradcheck.model.dtypes import Array, as_float64, from_float64, is_continuous
from gradcheck.model.protocol import Also, Forward, Vjp, build_subject, read_inputs
from gradcheck.report import Finding

_BUDGET = 400  # forward calls of one check: enough for a few elements
_SINGLY = 16  # elements that are simplified one by one
_LENGTHS = (3, 5, 7, 37, 1, 0)  # a fault of other sizes shows at one of them
_Candidates: TypeAlias = Callable[[tuple[object, ...]], Iterator[tuple[object, ...]]]


def shrink(
    forward: Forward,
    vjp: Vjp,
    inputs: Sequence[object],
    *,
    finding: Finding | None = None,
    checks: int = 200,
    **options: Any,  # those of check, whose types are written there
) -> tuple[object, ...]:
    """Makes failing inputs small and simple: shorter axes first, then 0, 1, -1, integers and halves as values.

    Equal lengths shrink together, to the leading elements or to the trailing ones. Deterministic: equal arguments give
    equal results. What is returned is never worse than `inputs`, but need not be the least.

    Args:
        forward: as for `check`.
        vjp: as for `check`.
        inputs: arrays and scalars at which, or near which, `check(forward, vjp, inputs, **options)` has a finding.
        finding: what is to stay wrong, by its check and input; by default the gravest finding of that check.
        checks: how many checks may be made, >= 1; each takes about 400 forward calls.
        options: further arguments of `check`, such as `domain`, `names` and `seed`.

    Returns:
        Inputs of the given dtypes, in their order, at which the finding's check fails for the finding's input when
        `check` is called with `vary=False`.

    Raises:
        UsageError: `check` has no such finding, or does not accept the inputs, or `finding` or `checks` is of another
            form.
    """
    if finding is not None and not isinstance(finding, Finding):
        raise UsageError(
            f"finding: expected one of a report's findings, got {type(finding).__name__}; pass report.findings[0]"
        )
    if isinstance(checks, bool) or not isinstance(checks, (int, np.integer)) or checks < 1:
        raise UsageError(f"checks: expected an integer >= 1, got {checks!r}; leave it out")
    values = read_inputs(inputs)
    settings = {**options, "vary": False, "budget": _BUDGET}
    wanted = finding or next(iter(check(forward, vjp, values, **options).findings), None)

    def fails(candidate: tuple[object, ...]) -> bool:
        try:
            found = check(forward, vjp, candidate, **settings).findings
        except UsageError:  # forward does not accept them, or they are outside the domain
            return False
        return wanted is not None and (wanted.check, wanted.input) in {(one.check, one.input) for one in found}

    start = next(filter(fails, _starts(forward, vjp, values, options)), None) if wanted else None
    if start is None:
        sought = f"the finding {wanted.check!r} of {wanted.input or 'the subject'}" if wanted else "a finding"
        raise UsageError(f"inputs: expected {sought} at these values, got none; pass inputs at which check fails")
    spent = itertools.count(1)

    def descend(best: tuple[object, ...], candidates: _Candidates) -> tuple[object, ...]:
        """Takes the first smaller candidate that still fails as the next start, until none does or no check is left."""
        while True:
            tried = (made for made in candidates(best) if next(spent) <= checks and fails(made))
            found = next(tried, None)
            if found is None:
                return best
            best = found

    best = start
    while (smaller := descend(descend(best, _shorter), _simpler)) is not best:
        best = smaller
    return best


def _starts(
    forward: Forward, vjp: Vjp, inputs: tuple[object, ...], options: dict[str, Any]
) -> Iterator[tuple[object, ...]]:
    """Gives the inputs, then those at other values and at other sizes: the finding may show there only."""
    yield inputs
    declared = {name: options.get(name, ()) for name in ("nondifferentiable", "alias_ok")}
    subject = build_subject(
        forward, vjp, None, inputs, options.get("names"), options.get("domain"), **declared, also=Also()
    )
    generator = np.random.default_rng([options.get("seed", 0), 2])
    for _, varied in vary_inputs(subject, inputs, generator):
        yield varied
    shapes = [value.shape if isinstance(value, np.ndarray) else None for value in inputs]
    for old in sorted({length for shape in shapes for length in shape or ()}):
        for new in _LENGTHS:
            tied = [None if shape is None else tuple(new if n == old else n for n in shape) for shape in shapes]
            resized = resize_inputs(subject, inputs, tied, generator)
            if resized is not None:
                yield resized


def _shorter(inputs: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
    """Gives inputs with one length less: 1, 2 and 3 first, then a half, then one element less."""
    arrays = [value for value in inputs if isinstance(value, np.ndarray)]
    lengths = sorted({length for value in arrays for length in value.shape}, reverse=True)
    for old in lengths:
        for new in sorted({n for n in (1, 2, 3, old // 2, old - 1) if 0 < n < old}):
            for side in (slice(None, new), slice(old - new, None)):
                yield tuple(_cut(value, old, side) if isinstance(value, np.ndarray) else value for value in inputs)


def _cut(value: Array, length: int, side: slice) -> Array:
    return np.array(value[tuple(side if n == length else slice(None) for n in value.shape)], order="C")


def _simpler(inputs: tuple[object, ...]) -> Iterator[tuple[object, ...]]:
    """Gives inputs with simpler values in one array: all at once, then element by element."""
    for k, value in enumerate(inputs):
        if not isinstance(value, np.ndarray) or not value.size:
            continue
        given = as_float64(value) if is_continuous(value.dtype) else np.array(value, dtype=np.float64)
        whole = [np.full_like(given, number) for number in (0.0, 1.0, -1.0)]
        for made in (*whole, np.round(given), np.round(2.0 * given) / 2.0, np.round(given, 1)):
            if _weight(made) < _weight(given):
                yield _replaced(inputs, k, made)
        for element in range(min(given.size, _SINGLY)):
            number = given.flat[element]
            for simple in (0.0, 1.0, -1.0, np.round(number), np.round(2.0 * number) / 2.0):
                made = given.copy()
                made.flat[element] = simple
                if _weight(made) < _weight(given):
                    yield _replaced(inputs, k, made)


def _replaced(inputs: tuple[object, ...], k: int, made: Array) -> tuple[object, ...]:
    value = inputs[k]
    assert isinstance(value, np.ndarray)
    return (*inputs[:k], from_float64(made, value), *inputs[k + 1 :])


def _weight(values: Array) -> tuple[float, ...]:
    """Orders arrays by how much there is to read: each step makes it smaller, so that the descent ends."""
    return (float(sum(map(_number_weight, values.flat))), float(np.unique(values).size))


def _number_weight(number: float) -> float:
    for rank, simple in enumerate((0.0, 1.0, -1.0)):
        if number == simple:
            return float(rank)
    if number == np.round(number):
        return 3.0 + min(abs(number) / 1e3, 1.0)
    if 2.0 * number == np.round(2.0 * number):
        return 5.0
    return 6.0 if number == np.round(number, 1) else 7.0
