"""`opsdk check`: prove ops."""

from __future__ import annotations

import threading
from typing import Any

import click

from gradcheck.run.workers import jobs_of
from opsdk.ship.check.command import CheckOptions, run_check
from opsdk.ship.cli import completion
from opsdk.ship.cli.commands.rendering import of_the_report

_SECONDS = click.FloatRange(min=0, min_open=True, max=threading.TIMEOUT_MAX)


def _jobs(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    try:
        return None if value is None else jobs_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command("check")
@click.argument("targets", nargs=-1, metavar="TARGET...", shell_complete=completion.targets)
@click.option("--html", "html", metavar="PATH", help="Write the report as one offline page; - is standard output.")
@click.option("--json", "json_path", metavar="PATH", help="Write the report for machines; - is standard output.")
@click.option("--junit", metavar="PATH", help="Write the report as JUnit XML, for build servers; - is standard output.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of every random choice.")
@click.option("--jobs", callback=_jobs, metavar="N", help="Ops at a time, or auto; each in a process that may crash.")
@click.option("--timeout", type=_SECONDS, metavar="S", help="Seconds that one op may take, in a process of its own.")
@click.option("-k", "keyword", metavar="EXPR", default="", help="Only ops whose names fit, such as 'snake or not sum'.")
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first op that fails.")
@click.option("--lf", "--last-failed", "last_failed", is_flag=True, help="Only ops that did not pass last time here.")
@of_the_report
@click.pass_context
def command(ctx: click.Context, /, targets: tuple[str, ...], **options: Any) -> None:  # Any: as click parsed them
    """Prove ops: TARGET is relu.py, relu.py:relu, module:op, package, namespace::name, name, or a finding's id."""
    if not (targets or options["last_failed"]):
        raise click.UsageError("Missing argument 'TARGET...'.", ctx)
    ctx.exit(run_check(targets, CheckOptions(**options)))
