"""The command `python -m gradcheck`: its options, its work, and its exit status."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Any

from gradcheck.case import AnyCase
from gradcheck.errors import UsageError
from gradcheck.run.options import read_budget, read_jobs, read_seconds, read_seed, write_budget
from gradcheck.run.progress import Progress
from gradcheck.run.summary import Judged, render, report_of_end
from gradcheck.run.supervised import doing, must_work_apart, narrate
from gradcheck.run.targets import find_cases
from gradcheck.run.whole import write_whole
from gradcheck.run.workers import Outcome, Piece, run
from gradcheck.show.html import render_pages
from gradcheck.show.junit import render_junit
from gradcheck.show.render import to_json


class Exit(IntEnum):
    """What the exit status says; scripts rely on the numbers."""

    PASS = 0
    FINDING = 1
    USAGE = 2  # a bad option, no such case, or one that cannot be loaded or judged
    INTERNAL = 3  # an error of gradcheck itself
    INCONCLUSIVE = 4  # nothing wrong, and at least one case could not be judged
    NOTHING = 5  # there was nothing to check
    INTERRUPTED = 130


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
    text = render(finished, seconds, options.targets, quiet=options.quiet, verbose=options.verbose)
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
        return Judged(name, case.check(**changed))
    except UsageError as error:
        return Judged(name, broken=str(error))
    except (Exception, SystemExit) as error:
        return Judged(name, error=f"{type(error).__name__}: {error}")


def _judged(name: str, outcome: Outcome, seed: int) -> Judged:
    if outcome.kind == "done":
        return Judged(name, outcome.value)
    if outcome.kind == "raised":
        is_broken = isinstance(outcome.error, UsageError)
        return Judged(name, broken=str(outcome.error)) if is_broken else Judged(name, error=outcome.message)
    return Judged(name, report_of_end(outcome, seed))


def _command(one: Judged, options: argparse.Namespace) -> str:
    """Gives the command that judges one case as here."""
    parts = ["python -m gradcheck", shlex.quote(one.name), f"--seed {one.shown.seed}"]
    if options.budget is not None:
        parts.append(f"--budget {write_budget(options.budget)}")
    if options.no_vary:
        parts.append("--no-vary")
    if one.is_crash:
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
