"""The frozen outcome of a check: a verdict, its findings, what was looked at, and how elements were judged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from gradcheck.errors import GradcheckError, attach_note
from gradcheck.picture import Picture

Verdict = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True)
class Coverage:
    """A summary of one run.

    Args:
        checks: names of the checks that ran, in order.
        points: labels of the input values at which derivatives were compared.
        tested: number of gradient elements judged, over all points.
        skipped: (reason, count) of elements that have no derivative to compare with.
        inconclusive: (reason, count) of elements whose numeric derivative was too uncertain.
        smallest_error_seen: smallest relative error, uniform over the gradient, that the run would have caught in
            every differentiable input; inf when nothing was judged.
        kinks: conventions met at points where left and right derivatives differ.
        notes: sentences about limits of this run.
        evaluations: number of forward calls made.
        accuracy: the error that was declared of the gradients, as a share of their largest element; 0 where they were
            judged as exact.
        largest_error: the largest error met among those that were held to it, as the same share.
    """

    checks: tuple[str, ...] = ()
    points: tuple[str, ...] = ()
    tested: int = 0
    skipped: tuple[tuple[str, int], ...] = ()
    inconclusive: tuple[tuple[str, int], ...] = ()
    smallest_error_seen: float = math.inf
    kinks: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    evaluations: int = 0
    accuracy: float = 0.0
    largest_error: float = 0.0

    @property
    def skipped_count(self) -> int:
        """The number of elements skipped, over all reasons."""
        return sum(count for _, count in self.skipped)

    @property
    def inconclusive_count(self) -> int:
        """The number of inconclusive elements, over all reasons."""
        return sum(count for _, count in self.inconclusive)


@dataclass
class Tally:
    """The mutable counter that a run fills, frozen into a Coverage at its end."""

    checks: list[str] = field(default_factory=list)
    points: list[str] = field(default_factory=list)
    tested: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    inconclusive: Counter[str] = field(default_factory=Counter)
    sensitivity: dict[str, float] = field(default_factory=dict)
    kinks: dict[str, None] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    accuracy: float = 0.0
    largest_error: float = 0.0

    def saw_down_to(self, name: str, error: float) -> None:
        """Records that input `name` would have failed for a uniform relative error above `error`."""
        self.sensitivity[name] = min(self.sensitivity.get(name, math.inf), error)

    def add_kinks(self, conventions: Iterable[str]) -> None:
        """Records kink conventions, each once."""
        self.kinks.update(dict.fromkeys(conventions))

    def note(self, sentence: str) -> None:
        """Records a sentence about a limit of this run, once."""
        self.notes[sentence] = None

    def freeze(self, evaluations: int) -> Coverage:
        """Gives the frozen summary."""
        return Coverage(
            checks=tuple(dict.fromkeys(self.checks)),
            points=tuple(dict.fromkeys(self.points)),
            tested=self.tested,
            skipped=tuple(sorted((reason, count) for reason, count in self.skipped.items() if count)),
            inconclusive=tuple(sorted((reason, count) for reason, count in self.inconclusive.items() if count)),
            smallest_error_seen=max(self.sensitivity.values(), default=math.inf),
            kinks=tuple(self.kinks),
            notes=tuple(self.notes),
            evaluations=evaluations,
            accuracy=self.accuracy,
            largest_error=self.largest_error,
        )


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with the subject.

    Args:
        check: name of the check that found it.
        input: name of the input concerned; None when it concerns the whole subject.
        index: multi-index of the worst element; None when there is no one element.
        analytic: the value the subject gave there.
        numeric: the value expected there.
        error_bar: half width of the interval around `numeric` that was considered possible.
        cause: the one pattern that explains the finding; None when none, or several, fit.
        repro: a Python expression, or a command, that shows the finding again.
        message: one sentence, complete in itself.
        picture: the numbers around a wrong value, to be drawn; None where the finding is not about values.
    """

    check: str
    message: str
    input: str | None = None
    index: tuple[int, ...] | None = None
    analytic: float | None = None
    numeric: float | None = None
    error_bar: float | None = None
    cause: str | None = None
    repro: str = ""
    picture: Picture | None = None

    @property
    def headline(self) -> str:
        """The message with the cause, in one line."""
        return f"{self.message}; {self.cause}" if self.cause else self.message


@dataclass(frozen=True)
class StepTrace:
    """What one step made of an element.

    Args:
        step: its name.
        saw: what it found out, a sentence each; empty where it had no question to the element.
        said: the verdict it left, with the numbers where they are new.
    """

    step: str
    saw: tuple[str, ...]
    said: str


@dataclass(frozen=True)
class Trace:
    """The judgement of one element of an input at one point.

    Args:
        element: the input and the index, as in messages.
        point: the label of the input values.
        verdict: right, wrong, unsure, jump, steep or undefined, and under which cotangent; or why the element was left
            out.
        steps: in the order in which they were taken.
    """

    element: str
    point: str
    verdict: str
    steps: tuple[StepTrace, ...] = ()

    def lines(self) -> list[str]:
        """Writes the trace for people: the element and its verdict, then the steps, each with what it saw above."""
        lines = [f"{self.element}, at {self.point}: {self.verdict}"]
        for step in self.steps:
            texts = [*(f"saw {text}" for text in step.saw), f"says {step.said}"]
            names = [step.step, *[""] * (len(texts) - 1)]
            lines += [f"  {name:<13} {text}" for name, text in zip(names, texts, strict=True)]
        return lines


@dataclass(frozen=True)
class Report:
    """The outcome of `gradcheck.check`.

    Args:
        verdict: "fail" when there is a finding, "inconclusive" when there is none but too little could be judged.
        findings: what is wrong, gravest first.
        coverage: what was looked at.
        seed: the seed of the run; the same seed gives an equal report.
        trace: how some elements were judged, step by step, where that was asked for.
    """

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    coverage: Coverage = field(default_factory=Coverage)
    seed: int = 0
    trace: tuple[Trace, ...] = ()

    def raise_if_failed(self, subject: str = "subject") -> None:
        """Raises when the verdict is "fail".

        Args:
            subject: what was checked, in words; it starts the message.

        Raises:
            GradcheckError: the verdict is "fail". The message starts with the gravest finding; the rest are notes.
        """
        if self.verdict != "fail":
            return
        first, rest = self.findings[0], self.findings[1:]
        error = GradcheckError(f"{subject}, {first.headline}")
        annotate(error, notes_of(first, self), [finding.headline for finding in rest])
        raise error


def labelled(notes: Iterable[tuple[str, str]], indent: str = "  ") -> list[str]:
    """Writes labels with their texts, a line each."""
    return [f"{indent}{label:<8} {text}" for label, text in notes]


def annotate(error: BaseException, notes: Iterable[tuple[str, str]], others: Sequence[str]) -> None:
    """Adds to an error about the gravest finding its labelled lines, and the sentences of the next four."""
    for note in labelled([*notes, *(("also", other) for other in others[:4])]):
        attach_note(error, note)


def verdict_word(verdict: str) -> str:
    """Gives how a verdict is printed."""
    return "FAIL" if verdict == "fail" else verdict


def tallied(verdicts: Iterable[str], words: Mapping[str, str]) -> str:
    """Writes how many have each verdict that occurs, in the order of `words`, as in "2 failed, 1 passed"."""
    counts = Counter(verdicts)
    return ", ".join(f"{counts[verdict]} {word}" for verdict, word in words.items() if counts[verdict])


def counted(count: int, noun: str) -> str:
    """Writes a count with its noun, as in "1 finding" and "2 findings"."""
    return f"{count} {noun}{'s' * (count != 1)}"


def notes_of(finding: Finding, report: Report) -> list[tuple[str, str]]:
    """Gives the labelled lines that follow a finding's headline: passed, which is said once for all findings, rerun."""
    failed = {other.check for other in report.findings}
    passed = [check for check in report.coverage.checks if check not in failed]
    lines = []
    if passed and any(finding is first for first in report.findings[:1]):
        lines.append(("passed", f"{counted(len(passed), 'other check')}: {', '.join(passed)}"))
    if finding.repro:
        lines.append(("rerun", finding.repro))
    return lines
