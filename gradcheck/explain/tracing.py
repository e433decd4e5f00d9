"""Traces of the elements that decide a report, taken from what the steps of each judgement saw and said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.explain.wording import find_worst, name_element, tell_apart
from gradcheck.judge.outcome import Comparison, Fact, Outcome, Seen, Status
from gradcheck.model.dtypes import Array, IntArray, as_float64
from gradcheck.model.protocol import Subject
from gradcheck.report import StepTrace, Trace

# The verdicts that decide most; of equal ones the element that is furthest off counts.
_GRAVITY = {Status.WRONG: 2, Status.UNSURE: 1}


class Tracer:
    """Keeps, over the points of a run, the trace of each input's worst element, and of the elements asked for.

    Args:
        asked: for some inputs, the elements to trace at every point, as numbers of a flat float64 view.
    """

    def __init__(self, asked: Mapping[int, Sequence[int]]) -> None:
        self._asked = asked
        self._worst: dict[int, tuple[tuple[int, float], Trace]] = {}
        self._others: list[Trace] = []

    def look(self, outcome: Outcome) -> None:
        """Takes the traces of one judgement; of equally grave elements the first is kept."""
        gravity, element = _find_worst(outcome)
        kept = self._worst.get(outcome.k)
        if kept is None or gravity > kept[0]:
            self._worst[outcome.k] = gravity, self._trace(outcome, element)
        for asked in self._asked.get(outcome.k, ()):
            if asked < outcome.size:  # an input of another size may lack it
                self._others.append(self._trace(outcome, asked))

    def traces(self) -> tuple[Trace, ...]:
        """Gives the traces, each once: of the worst elements by input, then of those asked for by point."""
        return tuple(dict.fromkeys([*(self._worst[k][1] for k in sorted(self._worst)), *self._others]))

    def _trace(self, outcome: Outcome, element: int) -> Trace:
        label = outcome.point.label
        index, part = name_element(element, outcome.given)
        words = f"{outcome.name}{list(index) if index else ''}{part}"
        places = np.flatnonzero(outcome.comparison.elements == element)
        if not places.size:
            return Trace(words, label, "not measured alone, only together with others")
        row = int(np.argmax(_share(outcome.comparison)[:, places[0]]))  # under which it is furthest off
        if outcome.comparison.wrong.any() and (worst := find_worst(outcome.comparison))[1] == places[0]:
            row = worst[0]  # that of the message
        steps, before = [], None
        for seen in outcome.seen:
            found = np.flatnonzero(seen.comparison.elements == element)
            if found.size:
                after = seen.comparison[found]
                steps.append(_trace_step(seen, element, row, before, after))
                before = after
        under = f"under {'ones' if row == 0 else 'random numbers'} as cotangent"
        return Trace(words, label, f"{_word(outcome.comparison[places])} {under}", tuple(steps))


def read_trace(trace: object, subject: Subject, values: Sequence[object]) -> Tracer | None:
    """Reads which elements to trace; gives None where none are.

    Raises:
        UsageError: it is of another form, or names no element of a differentiated input.
    """
    if isinstance(trace, (bool, np.bool_)):
        return Tracer({}) if trace else None
    if not isinstance(trace, Mapping):
        raise UsageError(f"trace: expected True, False or a mapping from names to indices, got {trace!r}; pass True")
    asked = {}
    for name, indices in trace.items():
        k = subject.names.index(name) if name in subject.names else -1
        if k not in (*subject.differentiable, *subject.declared):
            known = ", ".join(subject.names[i] for i in subject.differentiable)
            raise UsageError(f"trace: expected names among {known}, got {name!r}; name an input with a gradient")
        value = values[k]
        assert isinstance(value, np.ndarray)
        asked[k] = [number for index in indices for number in _numbers(index, name, value)]
    return Tracer(asked)


def _numbers(index: object, name: str, value: Array) -> list[int]:
    """Gives the places of an element in a flat float64 view: two where it is complex."""
    parts = as_float64(value).size // max(value.size, 1)
    try:
        flat = int(np.ravel_multi_index(np.atleast_1d(index), value.shape)) if value.shape else 0  # type: ignore[call-overload]
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"trace of {name!r}: expected indices into shape {value.shape}, got {index!r}; pass a tuple of integers"
        ) from error
    return list(range(flat * parts, flat * parts + parts))


def _share(comparison: Comparison) -> Array:
    """Gives how far each element is off, in shares of what is accepted, shape (C, E)."""
    with np.errstate(all="ignore"):
        return np.nan_to_num(np.abs(comparison.analytic - comparison.numeric) / comparison.allowance, nan=np.inf)


def _find_worst(outcome: Outcome) -> tuple[tuple[int, float], int]:
    """Gives how grave an input's worst element is, and its number: that of the message where one is wrong."""
    comparison = outcome.comparison
    if comparison.wrong.any():
        return (2, 0.0), int(comparison.elements[find_worst(comparison)[1]])
    gravity = np.array([_GRAVITY.get(Status(status), 0) for status in comparison.status])
    share = _share(comparison).max(axis=0)
    place = int(np.lexsort((share, gravity))[-1])
    grave = (2, 0.0) if outcome.shift is not None else (int(gravity[place]), float(share[place]))
    return grave, int(comparison.elements[place])


def _trace_step(seen: Seen, element: int, row: int, before: Comparison | None, after: Comparison) -> StepTrace:
    saw = tuple(text for fact in seen.facts for text in _saw(fact, element, row))
    if before is not None and not _differ(before, after):
        return StepTrace(seen.step, saw, f"{_word(after)}, {'as before' if saw else 'not asked'}")
    analytic, numeric, low, high, bar = after.numbers(row, 0)
    yours, right = tell_apart(analytic, numeric)
    right = f"in [{low:.6g}, {high:.6g}]" if high > low else right
    numbers = f"yours {yours}, derivative {right} ± {bar:.0e}, accepted to within {after.allowance[row, 0]:.0e}"
    if after.status[0] > Status.UNSURE:  # what was measured of it is no number
        numbers = f"yours {analytic:.6g}, no derivative to compare it with"
    return StepTrace(seen.step, saw, f"{_word(after)}: {numbers}{', a kink' if after.kink[0] else ''}")


def _saw(fact: Fact, element: int, row: int) -> list[str]:
    places: IntArray = np.flatnonzero(fact.elements == element)
    numbers = [number[row] if number.ndim == 2 else number for number in fact.numbers]
    return [fact.text.format(*(float(number[place]) for number in numbers)) for place in places]


def _differ(first: Comparison, second: Comparison) -> bool:
    parts = ((one.status, one.low, one.high, one.bar, one.allowance) for one in (first, second))
    return any(not np.array_equal(a, b, equal_nan=True) for a, b in zip(*parts, strict=True))


def _word(comparison: Comparison) -> str:
    return Status(int(comparison.status[0])).name.lower()
