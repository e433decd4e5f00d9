"""The text of `python -m gradcheck`: a line per case that passes, a block for each other, the summary last."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gradcheck.report import Coverage, Finding, Report, tallied
from gradcheck.run.workers import Outcome
from gradcheck.show.render import render_text

Word = Literal["pass", "fail", "inconclusive", "broken", "error"]
_COUNTED: Mapping[str, str] = {
    "fail": "failed",
    "broken": "broken",
    "error": "ended by an error of gradcheck itself",
    "inconclusive": "inconclusive",
    "pass": "passed",
}
_CRASH = "crash"


@dataclass(frozen=True)
class Judged:
    """What became of one case.

    Args:
        name: the target that names it alone.
        report: None where the case could not be judged at all.
        broken: why not, where the case itself is at fault.
        error: why not, where gradcheck is.
    """

    name: str
    report: Report | None = None
    broken: str = ""
    error: str = ""

    @property
    def word(self) -> Word:
        """The verdict, or "broken" or "error" where there is none."""
        if self.report is not None:
            return self.report.verdict
        return "broken" if self.broken else "error"

    @property
    def shown(self) -> Report:
        """The report; for a case that has none, one whose finding says why, so that no rendering is without it."""
        return self.report or Report("fail", (Finding(self.word, self.broken or self.error),))

    @property
    def is_crash(self) -> bool:
        """Whether its process crashed."""
        return any(finding.check == _CRASH for finding in self.shown.findings)

    def shown_again_by(self, command: str) -> Judged:
        """Gives the same with a command in the place of each finding's expression."""
        if self.report is None:
            return self
        findings = tuple(replace(finding, repro=command) for finding in self.report.findings)
        return replace(self, report=replace(self.report, findings=findings))


def report_of_end(outcome: Outcome, seed: int) -> Report:
    """Gives the report of a case whose worker crashed, which is a finding, or took too long, which is none.

    Args:
        outcome: of kind "crashed" or "late".
        seed: of the run.
    """
    if outcome.kind == "late":
        notes = (f"{outcome.message}; give it more time", *outcome.notes)
        return Report("inconclusive", coverage=Coverage(notes=notes), seed=seed)
    message = f"expected forward and vjp to return or raise, {outcome.message}"
    return Report("fail", (Finding(_CRASH, message),), Coverage(notes=tuple(outcome.notes)), seed)


def render(
    judged: Sequence[Judged], seconds: float, targets: Sequence[str], *, quiet: bool = False, verbose: bool = False
) -> str:
    """Writes the whole text.

    Args:
        judged: one entry per case.
        seconds: wall time of all.
        targets: as typed, for the command that comes next.
        quiet: leaves out cases that pass.
        verbose: writes the whole report of those that pass too.
    """
    blocks = [_block(one, verbose) for one in judged if not (quiet and one.word == "pass")]
    summary = f"{tallied((one.word for one in judged), _COUNTED) or 'nothing checked'} in {seconds:.1f} s"
    return "\n".join([*blocks, summary, *_next(judged, targets, verbose)])


def _block(one: Judged, verbose: bool) -> str:
    if one.report is None:
        return f"{one.word} {one.name}: {one.broken or one.error}"
    text = render_text(one.report)
    first, _, rest = text.partition("\n")
    word, _, totals = first.partition("  ")
    shown = f"\n{rest}" if rest and (verbose or one.word != "pass") else ""
    return f"{word} {one.name}: {totals}{shown}"


def _next(judged: Sequence[Judged], targets: Sequence[str], verbose: bool) -> list[str]:
    failed = next((one for one in judged if one.word == "fail"), None)
    if failed is not None:
        assert failed.report is not None
        return [f"next: {failed.report.findings[0].repro}"]
    return [] if verbose else [f"next: python -m gradcheck {' '.join(map(shlex.quote, targets))} -v"]
