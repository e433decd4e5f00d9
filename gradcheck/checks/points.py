"""The judgement of values over several points, gathered into findings, coverage and a verdict."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from gradcheck.explain.depict import depict
from gradcheck.explain.explanation import explain_values
from gradcheck.explain.tracing import Tracer
from gradcheck.explain.wording import (
    as_given,
    count_noun,
    describe_bound,
    describe_number,
    describe_values,
    name_element,
    repro_call,
)
from gradcheck.judge.outcome import Gradients, Outcome, Status
from gradcheck.judge.second_look import is_at_random
from gradcheck.judge.values import Limits, judge_input, largest_element, take_gradients
from gradcheck.model.budget import Budget
from gradcheck.model.dtypes import Array, fit_gradient
from gradcheck.model.evaluation import GIVEN, Point, VjpError
from gradcheck.model.protocol import Subject
from gradcheck.numeric.ladder import ladder_steps
from gradcheck.picture import Picture
from gradcheck.report import Finding, Tally

_SINGLE_LIMIT = 64
_SHARED_LIMIT = 100_000  # for memory only: one ladder serves any number of elements
_VARIED_SINGLE_LIMIT = 12
_VARIED_SHARED_LIMIT = 256
# Above this relative error nothing was really judged.
_BLUNT = 0.05
_REASONS = {
    Status.UNSURE: "error bar too wide to judge",
    Status.JUMP: "the function jumps there",
    Status.STEEP: "the slope is infinite there",
    Status.UNDEFINED: "the input, the output or its neighbourhood is not finite there",
    Status.BENT: "it is tied to others, without a derivative",
}


class PointCheck:
    """Judges points one after the other and remembers what the verdict needs.

    Args:
        subject: what is judged.
        tally: coverage, filled on the way.
        seed: of the run.
        budget: shared by all points; counts the forward calls.
        tracer: looks at every judgement where traces were asked for.
    """

    def __init__(self, subject: Subject, tally: Tally, seed: int, budget: Budget, tracer: Tracer | None = None) -> None:
        self.subject = subject
        self.tally = tally
        self.seed = seed
        self.budget = budget
        self.tracer = tracer
        self._count = 0
        self._sharpness: dict[int, float] = {}
        self._nonzero: set[int] = set()
        self._lost: set[int] = set()
        self._pictured: set[int] = set()
        self._blind = self._seen = self._had_elements = False

    def judge(self, point: Point, singly: int | None = None, known: Collection[str | None] = ()) -> list[Finding]:
        """Judges every floating input at `point`; a vjp that raises there is a finding.

        `singly` bounds how many elements of each are measured by themselves, below what the budget allows. Inputs in
        `known` are wrong by a finding already, and are judged again only to be traced.
        """
        self._count += 1
        generator = np.random.default_rng([self.seed, 10 + self._count])
        self.tally.checks.append("vjp value")
        try:
            return self._judge(point, generator, singly, known)
        except VjpError as error:
            return self._raised(error, point)
        finally:
            self.budget.used += point.evaluations

    def _raised(self, error: VjpError, point: Point) -> list[Finding]:
        if not np.isfinite(point.center).all():
            self.tally.note(f"{point.label}: skipped, vjp raised {error}, and an output is not finite")
            return []
        if point.label != GIVEN and is_at_random(point, np.random.default_rng([self.seed, 9])):
            self.tally.note(
                f"{point.label}: skipped, vjp raised {error}, and a rounding of the inputs moves forward far"
            )
            return []
        if point.label != GIVEN and isinstance(error.__cause__, np.linalg.LinAlgError):
            self.tally.note(f"{point.label}: skipped, vjp raised {error}")  # as singular as where a formula gives nan
            return []
        place = "for float64 inputs" if point.label == GIVEN else f"at {point.label}, where forward is finite"
        repro = repro_call(point.given, point.label, self.seed)
        return [Finding("vjp raises", f"vjp: expected gradients, got {error}, {place}", repro=repro)]

    def is_conclusive(self) -> bool:
        """Whether what was judged supports a verdict: outputs were finite, and every gradient was seen sharply."""
        if self._blind:
            return False
        bluntest = max(_BLUNT, 2.0 * self.subject.also.accuracy)
        blunt = [k for k in self._nonzero if self._sharpness.get(k, np.inf) > bluntest]
        for k in sorted({*blunt, *self._lost}):
            self.tally.note(f"gradient of {self.subject.names[k]!r}: no element could be judged sharply")
        if not (blunt or self._lost or self._seen):
            self.tally.note("no element had a derivative that could be seen")
        judged_something = self.tally.tested > 0 or not self._had_elements
        return judged_something and not (blunt or self._lost)

    def _judge(
        self, point: Point, generator: np.random.Generator, singly: int | None, known: Collection[str | None]
    ) -> list[Finding]:
        if point.size and not np.isfinite(point.center).any():
            if point.label == GIVEN:
                self._blind = True
                self.tally.note("no output is finite at the given inputs; check where the function is defined")
            else:
                self.tally.note(f"{point.label}: skipped, no output is finite")
            return []
        gradients = take_gradients(point, generator)
        self.tally.points.append(point.label)
        limits = self._limits(point)
        if singly is not None:
            limits = replace(limits, singly=min(limits.singly, singly), together=_SINGLE_LIMIT)
        declared = self.subject.declared
        fitting = [
            k
            for k in sorted((*self.subject.differentiable, *declared))
            if point.values(k).size and point.size and _fits(gradients, k, point)
        ]
        asked = [k for k in fitting if self.subject.names[k] not in known]
        of_each = {k: _silenced(gradients, k) if k in declared else gradients for k in fitting}
        outcomes = [judge_input(point, k, of_each[k], limits, generator) for k in asked]
        if self.tracer is not None:
            used = point.evaluations  # a trace changes nothing else of a report
            for k in (k for k in fitting if k not in asked):
                self.tracer.look(judge_input(point, k, of_each[k], limits, np.random.default_rng([self.seed, k])))
            point.evaluations = used
        findings = []
        for outcome in outcomes:
            if self.tracer is not None:
                self.tracer.look(outcome)
            self._remember(outcome, point)
            findings += self._findings(outcome, outcomes, point)
        if point.shape_change:
            findings.append(Finding("output shape", f"forward: expected one output shape, got {point.shape_change}"))
        if point.dtype_change:
            findings.append(Finding("output dtype", f"forward: expected one output dtype, got {point.dtype_change}"))
        return findings

    def _limits(self, point: Point) -> Limits:
        calls = 2 * len(ladder_steps(point.forward_eps))
        inputs = len(self.subject.differentiable) + len(self.subject.declared)
        if point.label == GIVEN:
            return Limits(self.budget.elements(_SINGLE_LIMIT, calls, 0.5 / inputs), _SHARED_LIMIT)
        return Limits(self.budget.elements(_VARIED_SINGLE_LIMIT, calls, 0.05 / inputs), _VARIED_SHARED_LIMIT)

    def _remember(self, outcome: Outcome, point: Point) -> None:
        comparison, name = outcome.comparison, self.subject.names[outcome.k]
        judged = int(np.isin(comparison.status, (Status.RIGHT, Status.WRONG)).sum())
        self.tally.tested += judged
        for status, reason in _REASONS.items():
            count = int((comparison.status == status).sum())
            if count and status is Status.JUMP and point.label == GIVEN:
                self.tally.note(f"gradient of {name!r}: not judged at {_first(outcome, status)}, as {reason}")
            (self.tally.inconclusive if status is Status.UNSURE else self.tally.skipped)[reason] += count
        if outcome.by_complex_step:
            counted = f"{outcome.by_complex_step} elements judged by the complex step"
            self.tally.note(f"gradient of {name!r}, at {point.label}: {counted}")
        if point.label == GIVEN and comparison.elements.size < outcome.size:
            rest = "the others all together" if outcome.owner is None else "the others not"
            judged_of = f"{comparison.elements.size} of {outcome.size} elements judged"
            self.tally.note(f"gradient of {name!r}: {judged_of}, {rest}")
        self._had_elements |= comparison.elements.size > 0
        self._seen |= bool((comparison.status == Status.WRONG).any()) or np.isfinite(outcome.sensitivity)
        unsure = int((comparison.status == Status.UNSURE).sum())
        if point.label == GIVEN and unsure > judged:
            self._lost.add(outcome.k)
        if outcome.k in self.subject.declared:
            return
        self._remember_error(outcome)
        self._sharpness[outcome.k] = min(self._sharpness.get(outcome.k, np.inf), outcome.sensitivity)
        if np.isfinite(outcome.sensitivity):
            self.tally.saw_down_to(name, outcome.sensitivity)
        if np.any(comparison.analytic[:, comparison.status != Status.WRONG]):
            self._nonzero.add(outcome.k)
        self.tally.add_kinks(_conventions(outcome, name, point))

    def _remember_error(self, outcome: Outcome) -> None:
        """Records how far the gradient is off, where an error was declared."""
        comparison, largest = outcome.comparison, largest_element(outcome.analytic)
        judged = np.isin(comparison.status, (Status.RIGHT, Status.WRONG))
        if self.subject.also.accuracy and judged.any() and largest:
            error = np.abs(comparison.analytic - comparison.numeric)[:, judged]
            self.tally.largest_error = max(self.tally.largest_error, largest_element(error) / largest)

    def _findings(self, outcome: Outcome, outcomes: list[Outcome], point: Point) -> list[Finding]:
        name, value = self.subject.names[outcome.k], point.given[outcome.k]
        assert isinstance(value, np.ndarray)
        given = replace(outcome, comparison=as_given(outcome))
        repro = repro_call(point.given, point.label, self.seed)
        if outcome.k in self.subject.declared:
            return [_declared(given, name, value, repro)] if outcome.comparison.wrong.any() else []
        if outcome.comparison.wrong.any():
            sentence, fields = describe_values(given)
            others = {
                other.name: other.comparison.numeric
                for other in outcomes
                if other.k != outcome.k and other.size == outcome.size and other.is_complete
            }
            check = "gradient missing" if outcome.missing else "vjp value"
            cause = explain_values(outcome, others)
            fields["picture"] = self._picture(outcome)
            return [replace(Finding(check, sentence, input=name, cause=cause, repro=repro), **fields)]  # type: ignore[arg-type]
        if outcome.shift is not None:
            shift = outcome.shift
            sentence = (
                f"gradient of {name!r}: wrong when all {outcome.size} {count_noun(value.dtype)} move together: "
                f"yours {shift.analytic:.6g}, derivative {shift.numeric:.6g} ± {shift.bar:.0e}, at {point.label}"
                f"{describe_bound(outcome, shift.analytic, shift.numeric)}"
            )
            cause = "each of them alone is right, so tied elements are counted more than once, or not at all"
            return [Finding("vjp value", sentence, name, None, shift.analytic, shift.numeric, shift.bar, cause, repro)]
        return []

    def _picture(self, outcome: Outcome) -> Picture | None:
        """Takes the picture of a wrong gradient, once per input: later points show the same fault again."""
        if outcome.k in self._pictured:
            return None
        self._pictured.add(outcome.k)
        return depict(outcome, self.budget)


def _first(outcome: Outcome, status: Status) -> str:
    """Names the first element that was judged so, with its value, and counts the others."""
    found = np.flatnonzero(outcome.comparison.status == status)
    index, part = name_element(int(outcome.comparison.elements[found[0]]), outcome.given)
    place = f"{outcome.name}{list(index)}" if index else outcome.name
    more = f" and {found.size - 1} more" if found.size > 1 else ""
    return f"{place} = {describe_number(outcome.given[index])}{part}{more}"


def _fits(gradients: Gradients, k: int, point: Point) -> bool:
    """Says whether the gradient can be compared at all; if not, its shape or dtype is a finding already."""
    return all(fit_gradient(row[k], point.values(k).shape) is not None for row in gradients.raw)


def _declared(outcome: Outcome, name: str, value: Array, repro: str) -> Finding:
    comparison = outcome.comparison
    position = int(np.argmax(np.where(comparison.wrong, np.abs(comparison.numeric[0]), -1.0)))
    index, part = name_element(int(comparison.elements[position]), value)
    row = int(np.argmax(np.abs(comparison.numeric[:, position])))
    numeric, bar = float(comparison.numeric[row, position]), float(comparison.bar[row, position])
    message = (
        f"gradient of {name!r}: expected derivative 0, as {name} is declared non-differentiable, "
        f"got {numeric:.6g} ± {bar:.0e} at {name}{list(index)}{part}; remove the declaration and return its gradient"
    )
    return Finding("nondifferentiable", message, name, index, 0.0, numeric, bar, None, repro)


def _silenced(gradients: Gradients, k: int) -> Gradients:
    """Replaces the gradient of an input declared non-differentiable by zero, which is what the declaration claims."""
    raw = tuple(tuple(None if j == k else g for j, g in enumerate(row)) for row in gradients.raw)
    perturbed = tuple(tuple(None if j == k else g for j, g in enumerate(row)) for row in gradients.perturbed)
    return Gradients(gradients.cotangents, raw, perturbed)


def _conventions(outcome: Outcome, name: str, point: Point) -> list[str]:
    """Words the kinks met: where, and which of the right values the subject chose."""
    comparison = as_given(outcome)
    value = point.given[outcome.k]
    assert isinstance(value, np.ndarray)
    found = np.flatnonzero(comparison.kink & (comparison.status == Status.RIGHT))
    if not found.size:
        return []
    first = found[0]
    index, part = name_element(int(comparison.elements[first]), value)
    place = f"{name}{list(index)}" if index else name
    low, high = comparison.low[0, first], comparison.high[0, first]
    more = f", and {found.size - 1} more" if found.size > 1 else ""
    where = "" if point.label == GIVEN else f", at {point.label}"
    chosen = float(comparison.analytic[0, first])
    right = f"any value in [{low:.6g}, {high:.6g}] is right"
    return [f"{place} = {describe_number(value[index])}{part}: yours {chosen:.6g}, {right}{more}{where}"]
