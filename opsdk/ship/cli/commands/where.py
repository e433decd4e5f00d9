"""`opsdk where`: the place of an op's definition."""

from __future__ import annotations

import click

from opsdk.ship.cli import completion
from opsdk.ship.describe import catalog
from opsdk.ship.targets import target


@click.command("where")
@click.argument("op", shell_complete=completion.ops)
def command(op: str) -> None:
    """Print path:line of the definition of OP, and nothing else."""
    print(catalog.where(target.resolve_one(op)))
