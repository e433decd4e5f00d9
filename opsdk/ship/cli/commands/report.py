"""`opsdk report`: render what a check found."""

from __future__ import annotations

from typing import Any

import click

from opsdk.ship.check.report import ReportOptions, run_report
from opsdk.ship.cli.commands.rendering import of_the_report


@click.command("report")
@click.argument("file", metavar="FILE")
@click.option("--html", "html", metavar="PATH", help="Write it as one offline page; - is standard output.")
@click.option("--junit", metavar="PATH", help="Write it as JUnit XML, for build servers; - is standard output.")
@of_the_report
@click.pass_context
def command(ctx: click.Context, /, file: str, **options: Any) -> None:  # Any: as click parsed them
    """Render what `opsdk check --json FILE` found, with its exit code; no op is run, and none has to be there."""
    ctx.exit(run_report(file, ReportOptions(**options)))
