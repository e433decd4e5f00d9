"""`opsdk show`: one op on a screen."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from opsdk.ship.cli import completion, terminal
from opsdk.ship.describe import op_facts
from opsdk.ship.targets import target


@click.command("show")
@click.argument("op", shell_complete=completion.ops)
@click.option("--json", "as_json", is_flag=True, help="The same for machines.")
def command(op: str, as_json: bool) -> None:
    """Show OP: its schema, what it computes and saves, its derivative as a formula, its rows and promises."""
    facts = op_facts.facts_of(target.resolve_one(op))
    print(json.dumps(asdict(facts), indent=1) if as_json else op_facts.screen(facts, terminal.width()))
