"""`opsdk explain`: what an error code means."""

from __future__ import annotations

import click

from opsdk.ship.explain.codes import explained


@click.command("explain")
@click.argument("code")
def command(code: str) -> None:
    """Explain an error CODE such as OP203 or 203; works offline."""
    print(explained(code))
