"""`opsdk info`: what there is on this machine."""

from __future__ import annotations

import json

import click

from opsdk.ship import environment


@click.command("info")
@click.option("--json", "as_json", is_flag=True, help="The same for machines.")
def command(as_json: bool) -> None:
    """Show what opsdk finds on this machine, by trying it; a block to paste into a report."""
    facts = environment.facts(exercise=True)
    print(json.dumps(facts, indent=1) if as_json else environment.rendered(facts))
