"""What a run looked at, what it could not judge, and how small an error it would have seen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


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
        )
