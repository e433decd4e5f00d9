"""Where the report of a check goes: the terminal, and the files that are asked for; now, or later from its JSON."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from opsdk.ship.check import json as check_json
from opsdk.ship.check import render
from opsdk.ship.check.result import Run
from opsdk.ship.cli.exits import Exit, of_verdicts
from opsdk.ship.cli.places import PRINTED, check_places, put
from opsdk.ship.cli.terminal import width


@dataclass(frozen=True)
class ReportOptions:
    """The options of `opsdk report`; `--help` says what each means."""

    html: str | None = None
    json_path: str | None = None
    junit: str | None = None
    durations: int = 0
    quiet: bool = False
    verbose: int = 0
    strict: bool = False
    allow_inconclusive: bool = False

    def check_places(self) -> None:
        """Refuses places where no report can be written.

        Raises:
            TargetError: there is one.
        """
        check_places({"--html": self.html, "--json": self.json_path, "--junit": self.junit})


def run_report(path: str, options: ReportOptions) -> Exit:
    """Renders what a check found.

    Args:
        path: of the JSON that it wrote.
        options: the command's options.

    Returns:
        The exit status that the check had with the same options.

    Raises:
        TargetError: the file is no such report, or a report has no place where it could be written.
    """
    options.check_places()
    run = check_json.read(path)
    try:
        publish(run, options)
    except (ValueError, IndexError, TypeError, KeyError) as error:  # what the parts say of each other does not agree
        raise check_json.changed(path, error) from error
    return status(run, options)


def publish(run: Run, options: ReportOptions) -> None:
    """Prints a report and writes it to its files; standard output is left to a file that is meant for it.

    Raises:
        TargetError: a file cannot be written.
    """
    text = render.render_text(
        run,
        width=width(),
        quiet=options.quiet,
        verbose=options.verbose > 0,
        strict=options.strict,
        durations=options.durations,
    )
    print(text, file=sys.stderr if PRINTED in (options.html, options.json_path, options.junit) else sys.stdout)
    if options.json_path:
        put(options.json_path, check_json.render(run, text))
    if options.html:
        put(options.html, render.render_html(run, text))
    if options.junit:
        put(options.junit, render.render_junit(run.checked))


def status(run: Run, options: ReportOptions) -> Exit:
    """Returns the exit status of a run."""
    verdicts = [one.strict_verdict if options.strict else one.verdict for one in run.checked]
    return of_verdicts(verdicts, strict=options.strict, allow_inconclusive=options.allow_inconclusive)
