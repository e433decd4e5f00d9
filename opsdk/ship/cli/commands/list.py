"""`opsdk list`: every op there is."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from opsdk.ship.cli import terminal
from opsdk.ship.describe import catalog, discover


@click.command("list")
@click.option("--table", is_flag=True, help="With provider, rows and how often each op differentiates.")
@click.option("--providers", "of_providers", is_flag=True, help="The packages that announce ops, and how each loaded.")
@click.option("--json", "as_json", is_flag=True, help="The same for machines.")
def command(table: bool, of_providers: bool, as_json: bool) -> None:
    """List every op: the built-in ones and those of installed packages."""
    states = discover.load_providers()
    if of_providers:
        listed = [state.as_dict() for state in states]
        print(json.dumps(listed, indent=1) if as_json else discover.table_of(states, terminal.width()))
        return
    if as_json or table:
        found = catalog.entries([state.provider for state in states])
        lines = json.dumps([asdict(entry) for entry in found], indent=1)
        print(lines if as_json else catalog.table_of(found, terminal.width()))
    else:
        print("\n".join(catalog.names()))
    for state in states:
        if state.state == "failed":
            terminal.narrate(f"(failed) {state.provider}: {state.reason}")
