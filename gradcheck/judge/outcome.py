"""The record of one input's gradient at one point, element by element, which the steps of the judgement hand on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np

from gradcheck.model.dtypes import Array, BoolArray, FloatArray, IntArray
from gradcheck.model.evaluation import Point
from gradcheck.numeric.columns import Columns
from gradcheck.numeric.ladder import Probe
from gradcheck.numeric.table import Table
from gradcheck.numeric.tolerance import Tolerance


class Status(IntEnum):
    """What is known about a gradient element; values above WRONG say why nothing is."""

    RIGHT = 0
    WRONG = 1
    UNSURE = 2
    JUMP = 3
    STEEP = 4
    UNDEFINED = 5
    BENT = 6


@dataclass(frozen=True)
class Comparison(Table):
    """The outcome for E elements under C cotangents.

    Args:
        elements: flat indices, shape (E,).
        analytic: the subject's gradient, shape (C, E).
        low, high: the interval of right values, shape (C, E); equal except at kinks.
        bar: half width of the uncertainty around it, shape (C, E).
        allowance: the distance from the interval that is still accepted, shape (C, E).
        floor: the part of it that rounding inside forward may hide where outputs rest, shape (C, E).
        shared: the part of it that rounding of the largest element may be, shape (C, E).
        status: `Status` per element, shape (E,).
        kink: elements at a kink, shape (E,).
    """

    elements: IntArray
    analytic: FloatArray
    low: FloatArray
    high: FloatArray
    bar: FloatArray
    allowance: FloatArray
    floor: FloatArray
    shared: FloatArray
    status: IntArray
    kink: BoolArray

    @property
    def numeric(self) -> FloatArray:
        """The right value nearest to the subject's, shape (C, E)."""
        return np.clip(np.nan_to_num(self.analytic), self.low, self.high)

    @property
    def wrong(self) -> BoolArray:
        """The wrong elements, shape (E,)."""
        return np.asarray(self.status == Status.WRONG)

    def numbers(self, row: int, position: int) -> tuple[float, float, float, float, float]:
        """Gives the subject's value, the nearest right one, low, high and bar of one element under one cotangent."""
        parts = self.analytic, self.numeric, self.low, self.high, self.bar
        analytic, numeric, low, high, bar = (float(part[row, position]) for part in parts)
        return analytic, numeric, low, high, bar

    def smallest_error_seen(self) -> float:
        """The smallest uniform relative error of the gradient that would have made an element wrong; inf if none."""
        judged = self.status == Status.RIGHT
        size = np.abs(self.numeric[:, judged & ~self.kink])
        allowance = self.allowance[:, judged & ~self.kink]
        seen = allowance[size > 0] / size[size > 0]
        return float(seen.min()) if seen.size else float("inf")


@dataclass(frozen=True)
class Gradients:
    """The subject's gradients at a point.

    Args:
        cotangents: shape (C, outputs).
        raw: for each cotangent, what vjp returned.
        perturbed: what vjp returned for the last cotangent changed by units in its last place.
    """

    cotangents: FloatArray
    raw: tuple[tuple[Array | None, ...], ...]
    perturbed: tuple[tuple[Array | None, ...], ...]


@dataclass(frozen=True)
class Fact:
    """What a step saw of some elements.

    Args:
        text: a format string with a place for each of the numbers.
        elements: flat indices, shape (E,).
        numbers: arrays of shape (E,), or (C, E) where each cotangent has its own.
    """

    text: str
    elements: IntArray
    numbers: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Seen:
    """What one step saw, and the comparison that it left."""

    step: str
    facts: tuple[Fact, ...]
    comparison: Comparison


@dataclass(frozen=True)
class Directional:
    """The judgement along one direction, the worst over cotangents.

    Args:
        wrong: the subject's derivative is outside the interval, beyond doubt.
        sharp: the bars are small enough to see a fault.
        sensitivity: smallest relative error of the gradient that would have been seen.
        analytic: the subject's directional derivative.
        numeric: the nearest right one.
        bar: half width of its uncertainty.
    """

    wrong: bool
    sharp: bool
    sensitivity: float
    analytic: float
    numeric: float
    bar: float


def _nothing() -> Comparison:
    none, rows = np.zeros(0), np.zeros((1, 0))
    whole = none.astype(np.int64)
    return Comparison(whole, rows, rows, rows, rows, rows, rows, rows, whole, none.astype(np.bool_))


@dataclass(frozen=True)
class Outcome:
    """What is known of one input's gradient at one point.

    Args:
        probe: the input, and what it takes to move it.
        generator: of all that steps draw; the one thing here that changes.
        gradients: the subject's.
        analytic: its gradient of this input, all elements, shape (C, size).
        tolerance: the rounding allowed to the subject.
        owner: which element each output depends on, for elementwise functions; else None.
        elements: flat indices of those that are measured.
        comparison: element by element.
        shift: the judgement when all elements move together and no single element explains a fault; else None.
        sensitivity: smallest uniform relative error that would have been seen.
        measured: the entries of the Jacobian that it rests on, one or more measurements of each.
        by_complex_step: how many elements the complex step judged, because finite differences could not.
        facts: what the step that is being taken saw.
        seen: what each step taken saw and said, in order.
    """

    probe: Probe
    generator: np.random.Generator
    gradients: Gradients
    analytic: FloatArray
    tolerance: Tolerance
    owner: IntArray | None
    elements: IntArray
    comparison: Comparison = field(default_factory=_nothing)
    shift: Directional | None = None
    sensitivity: float = float("inf")
    measured: tuple[Columns, ...] = ()
    by_complex_step: int = 0
    facts: tuple[Fact, ...] = ()
    seen: tuple[Seen, ...] = ()

    @property
    def k(self) -> int:
        """The input."""
        return self.probe.k

    @property
    def point(self) -> Point:
        """Where it was judged."""
        return self.probe.point

    @property
    def name(self) -> str:
        """The name of the input."""
        return self.point.subject.names[self.k]

    @property
    def given(self) -> Array:
        """The input as it was given."""
        value = self.point.given[self.k]
        assert isinstance(value, np.ndarray)
        return value

    @property
    def size(self) -> int:
        """The number of elements of the input."""
        return self.probe.room.scale.size

    @property
    def is_complete(self) -> bool:
        """Whether every element was compared."""
        return self.comparison.elements.size == self.size

    @property
    def cotangents(self) -> FloatArray:
        """Those that it was judged with, shape (C, outputs)."""
        return self.probe.cotangents

    @property
    def missing(self) -> bool:
        """Whether the subject returned None."""
        return all(row[self.k] is None for row in self.gradients.raw)

    def saw(self, text: str, elements: IntArray, *numbers: Array) -> Outcome:
        """Gives the record with a fact more."""
        return replace(self, facts=(*self.facts, Fact(text, elements, numbers)))

    def called(self, status: Status, where: Array) -> Outcome:
        """Gives the record with the elements at some places judged so."""
        changed = self.comparison.status.copy()
        changed[where] = status
        return replace(self, comparison=replace(self.comparison, status=changed))

    def after(self, steps: Mapping[str, Step]) -> Outcome:
        """Gives the record after some steps, by name, with what each saw and said."""
        outcome = self
        for name, step in steps.items():
            taken = step(replace(outcome, facts=()))
            seen = Seen(name, taken.facts, taken.comparison)
            outcome = replace(taken, facts=(), seen=(*taken.seen, seen))
        return outcome


Step = Callable[[Outcome], Outcome]
