"""`opsdk show`: one op on a screen."""

from __future__ import annotations

import click

from opsdk.ship import catalog, target


@click.command("show")
@click.argument("op")
def command(op: str) -> None:
    """Show OP: its schema, where it is, what it saves, its rows, where its derivative comes from."""
    print(catalog.show(target.resolve_one(op)))
