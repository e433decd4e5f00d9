"""`opsdk build`: compile C rows ahead of time."""

from __future__ import annotations

from pathlib import Path

import click

from opsdk.ship.package.build import run_build


@click.command("build")
@click.argument("target")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Put the libraries below DIR, each in its package's folder, in place of beside the sources.",
)
@click.pass_context
def command(ctx: click.Context, target: str, out: Path | None) -> None:
    """Compile the C rows of TARGET ahead of time, and print the path of each library."""
    ctx.exit(run_build(target, out))
