"""`opsdk doc`: reference pages of ops."""

from __future__ import annotations

from pathlib import Path

import click

from opsdk.ship.cli import completion
from opsdk.ship.describe.reference import write_pages


@click.command("doc")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...", shell_complete=completion.targets)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("docs/reference"), show_default=True, metavar="DIR"
)
@click.pass_context
def command(ctx: click.Context, targets: tuple[str, ...], out: Path) -> None:
    """Write a reference page in Markdown for every op of TARGET, with plots, and an index; print their paths."""
    ctx.exit(write_pages(targets, out))
