"""`opsdk report`: render what a check found."""

from __future__ import annotations

from typing import Any

import click

from opsdk.ship.check_report import ReportOptions, run_report


@click.command("report")
@click.argument("file", metavar="FILE")
@click.option("--html", "html", metavar="PATH", help="Write it as one offline page; - is standard output.")
@click.option("--junit", metavar="PATH", help="Write it as JUnit XML, for build servers; - is standard output.")
@click.option("--durations", type=click.IntRange(min=0), default=0, metavar="N", help="Also the N slowest ops.")
@click.option("-q", "--quiet", is_flag=True, help="Failures and the summary only.")
@click.option("-v", "--verbose", is_flag=True, help="Also the full report of ops that pass.")
@click.option("--strict", is_flag=True, help="An op that is not judged, lacks its backward or has a note fails.")
@click.option("--allow-inconclusive", is_flag=True, help="An op that cannot be judged counts as a pass.")
@click.pass_context
def command(ctx: click.Context, /, file: str, **options: Any) -> None:  # Any: as click parsed them
    """Render what `opsdk check --json FILE` found, with its exit code; no op is run, and none has to be there."""
    ctx.exit(run_report(file, ReportOptions(**options)))
