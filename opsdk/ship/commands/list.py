"""`opsdk list`: every op there is."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from opsdk.ship import catalog, discover, terminal


@click.command("list")
@click.option("--table", is_flag=True, help="With provider, rows and how often each op differentiates.")
@click.option("--json", "as_json", is_flag=True, help="The same for machines.")
def command(table: bool, as_json: bool) -> None:
    """List every op: the built-in ones and those of installed packages."""
    providers = discover.load_providers()
    found = catalog.entries(providers)
    if as_json:
        print(json.dumps([asdict(entry) for entry in found], indent=1))
    elif table:
        print(catalog.table_of(found, terminal.width()))
    else:
        print("\n".join(entry.op for entry in found))
    for provider in providers:
        if provider.error:
            terminal.narrate(f"(broken) {provider.name} {provider.version}: {provider.error}")
