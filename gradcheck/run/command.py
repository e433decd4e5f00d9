"""The command `python -m gradcheck`: its options, its work, and its exit status."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from typing import Any, Literal

from gradcheck.case import AnyCase
from gradcheck.errors import UsageError
from gradcheck.report import Coverage, Finding, Report, tallied
from gradcheck.run.options import read_budget, read_jobs, read_seconds, read_seed, write_budget
from gradcheck.run.progress import Progress
from gradcheck.run.supervised import doing, must_work_apart, narrate
from gradcheck.run.targets import find_cases
from gradcheck.run.whole import write_whole
from gradcheck.run.workers import Outcome, Piece, run
from gradcheck.show.html import render_pages
from gradcheck.show.junit import render_junit
from gradcheck.show.render import render_text, to_json


class Exit(IntEnum):
    """What the exit status says; scripts rely on the numbers."""

    PASS = 0
    FINDING = 1
    USAGE = 2  # a bad option, no such case, or one that cannot be loaded or judged
    INTERNAL = 3  # an error of gradcheck itself
    INCONCLUSIVE = 4  # nothing wrong, and at least one case could not be judged
    NOTHING = 5  # there was nothing to check
    INTERRUPTED = 130


Word = Literal["pass", "fail", "inconclusive", "broken", "error"]
_COUNTED: Mapping[str, str] = {
    "fail": "failed",
    "broken": "broken",
    "error": "ended by an error of gradcheck itself",
    "inconclusive": "inconclusive",
    "pass": "passed",
}
_CRASH = "crash"
_EPILOG = """\
exit codes: 0 pass, 1 a finding, 2 usage or a broken case, 3 internal error, 4 inconclusive only, 5 nothing checked"""
# The gravest first. A broken case comes before a finding: the run was not what was asked for.
_STATUS = {
    "error": Exit.INTERNAL,
    "broken": Exit.USAGE,
    "fail": Exit.FINDING,
    "inconclusive": Exit.INCONCLUSIVE,
    "pass": Exit.PASS,
}


@dataclass(frozen=True)
class Judged:
    """What became of one case.

    Args:
        name: the target that names it alone.
        word: the verdict; where there is none, "broken" if the case itself is at fault, and "error" if gradcheck is.
        report: None where the case could not be judged at all.
        problem: why not.
    """

    name: str
    word: Word
    report: Report | None = None
    problem: str = ""

    @property
    def shown(self) -> Report:
        """The report; for a case that has none, one whose finding says why, so that no rendering is without it."""
        return self.report or Report("fail", (Finding(self.word, self.problem),))

    def shown_again_by(self, command: str) -> Judged:
        """Gives the same with a command in the place of each finding's expression."""
        if self.report is None:
            return self
        findings = tuple(replace(finding, repro=command) for finding in self.report.findings)
        return replace(self, report=replace(self.report, findings=findings))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        arguments: as typed; those of the process unless given.

    Returns:
        The exit status.
    """
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except UsageError as error:
        narrate(str(error))
        return Exit.USAGE
    except KeyboardInterrupt:
        narrate("interrupted")
        return Exit.INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gradcheck", description="Judge hand-written derivatives.", epilog=_EPILOG
    )
    add = parser.add_argument
    add("targets", nargs="+", metavar="TARGET", help="file.py, file.py:name, module or module:name")
    add("--seed", type=read_seed, help="of every random choice; of each case itself, or 0, unless given")
    add("--budget", type=read_budget, help="forward calls for one case, as 2000, or time, as 2s")
    add("--no-vary", action="store_true", help="judge at the given inputs only")
    add("--jobs", type=read_jobs, metavar="N", help="cases at a time, or auto; each in a process that may crash")
    add("--timeout", type=read_seconds, metavar="S", help="seconds that one case may take, in a process of its own")
    add("--json", metavar="PATH", help="write the reports for machines; - is standard output")
    add("--html", metavar="PATH", help="write the reports as one page")
    add("--junit", metavar="PATH", help="write the reports as JUnit's XML")
    add("-q", "--quiet", action="store_true", help="leave out cases that pass")
    add("-v", "--verbose", action="store_true", help="the whole report of cases that pass too")
    return parser


def _run(options: argparse.Namespace) -> Exit:
    _check_paths(options)
    found = {target: find_cases(target) for target in options.targets}
    work = [(target, name, case) for target in options.targets for name, case in found[target].items()]
    if not work:
        narrate(f"nothing to check: {', '.join(options.targets)} holds no gradcheck.Case")
        return Exit.NOTHING
    started = time.perf_counter()
    judged: dict[int, Judged] = {}
    interrupted = False
    with Progress(len(work)) as progress, closing(_judge(work, options)) as ending:
        try:
            for position, one in ending:
                judged[position] = one.shown_again_by(_command(one, options))
                progress.advance(f"{one.name} {one.word}")
        except KeyboardInterrupt:
            interrupted = True
    finished = [judged[position] for position in sorted(judged)]
    seconds = time.perf_counter() - started
    text = _render(finished, seconds, options.targets, quiet=options.quiet, verbose=options.verbose)
    stream = sys.stderr if "-" in (options.json, options.html, options.junit) else sys.stdout
    stream.write(f"{text}\n")
    _write(options, finished, text)
    if interrupted:
        narrate(f"interrupted after {len(finished)} of {len(work)} cases")
        return Exit.INTERRUPTED
    words = {one.word for one in finished}
    status = next(status for word, status in _STATUS.items() if word in words)
    empty = [target for target, cases in found.items() if not cases]
    if empty:
        narrate(f"nothing to check in {', '.join(empty)}: no gradcheck.Case is there")
    return Exit.NOTHING if empty and status is Exit.PASS else status  # all that was named has to pass


def _judge(
    work: Sequence[tuple[str, str, AnyCase]], options: argparse.Namespace
) -> Generator[tuple[int, Judged], None, None]:
    """Judges cases here, or in workers where something may crash or hang."""
    given = {"seed": options.seed, "budget": options.budget, "vary": False if options.no_vary else None}
    changed = {name: value for name, value in given.items() if value is not None}
    if options.jobs is None and options.timeout is None and not must_work_apart():
        for position, (_, name, case) in enumerate(work):
            doing(name)
            yield position, _here(name, case, changed)
        return
    pieces = [Piece(name, "gradcheck.run.targets:check_named", (target, name, changed)) for target, name, _ in work]
    with closing(run(pieces, jobs=options.jobs or 1, timeout=options.timeout)) as ending:
        for position, outcome in ending:
            _, name, case = work[position]
            yield position, _judged(name, outcome, int(changed.get("seed", case.options.get("seed", 0))))


def _here(name: str, case: AnyCase, changed: Mapping[str, Any]) -> Judged:
    try:
        report = case.check(**changed)
        return Judged(name, report.verdict, report)
    except UsageError as error:
        return Judged(name, "broken", problem=str(error))
    except (Exception, SystemExit) as error:
        return Judged(name, "error", problem=f"{type(error).__name__}: {error}")


def _judged(name: str, outcome: Outcome, seed: int) -> Judged:
    if isinstance(outcome.error, UsageError):
        return Judged(name, "broken", problem=str(outcome.error))
    if outcome.error is not None:
        return Judged(name, "error", problem=outcome.message)
    report: Report = outcome.value if outcome.kind == "done" else _report_of_end(outcome, seed)
    return Judged(name, report.verdict, report)


def _command(one: Judged, options: argparse.Namespace) -> str:
    """Gives the command that judges one case as here."""
    parts = ["python -m gradcheck", shlex.quote(one.name), f"--seed {one.shown.seed}"]
    if options.budget is not None:
        parts.append(f"--budget {write_budget(options.budget)}")
    if options.no_vary:
        parts.append("--no-vary")
    if any(finding.check == _CRASH for finding in one.shown.findings):
        parts.append("--jobs 1")
    return " ".join(parts)


def _check_paths(options: argparse.Namespace) -> None:
    """Looks whether reports can be written, before the work that they are about.

    Raises:
        UsageError: a file cannot be written, or two reports would go to standard output.
    """
    paths = {option: getattr(options, option) for option in ("json", "html", "junit")}
    out = [f"--{option}" for option, path in paths.items() if path == "-"]
    if len(out) > 1:
        raise UsageError(
            f"-: expected one report on standard output, got {' and '.join(out)}; name a file for the rest"
        )
    for path in paths.values():
        if path and path != "-":
            was_there = Path(path).exists()
            with _writable(path), Path(path).open("a"):
                pass
            if not was_there:
                Path(path).unlink()


def _write(options: argparse.Namespace, judged: Sequence[Judged], text: str) -> None:
    reports = {one.name: one.shown for one in judged}
    if options.json:
        documents = {name: json.loads(to_json(report)) for name, report in reports.items()}
        document = {"schema": 1, "reports": documents, "rendered": text}
        _put(options.json, json.dumps(document, indent=1, allow_nan=False) + "\n")
    if options.html:
        _put(options.html, render_pages(reports))
    if options.junit:
        _put(options.junit, render_junit(reports))


def _put(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
        return
    with _writable(path):
        write_whole(Path(path), text)
    narrate(f"wrote {path}")


@contextmanager
def _writable(path: str) -> Generator[None, None, None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: expected a file that can be written, got: {error.strerror}; name another") from error


def _report_of_end(outcome: Outcome, seed: int) -> Report:
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


def _render(
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
        return f"{one.word} {one.name}: {one.problem}"
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
