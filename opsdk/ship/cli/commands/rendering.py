"""Options of every command that prints the report of a check."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    click.option("--durations", type=click.IntRange(min=0), default=0, metavar="N", help="Also the N slowest ops."),
    click.option("-q", "--quiet", is_flag=True, help="Failures and the summary only."),
    click.option(
        "-v", "--verbose", count=True, help="Also the full report of ops that pass; -vv: each verdict's steps."
    ),
    click.option("--strict", is_flag=True, help="An op that is not judged, lacks its backward or has a note fails."),
    click.option("--allow-inconclusive", is_flag=True, help="An op that cannot be judged counts as a pass."),
)


# Any: a command's function, as click passes it on.
def of_the_report(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command what is shown of a report, and what counts as a failure."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
