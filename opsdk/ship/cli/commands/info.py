"""`opsdk info`: what there is on this machine."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

import opsdk
from opsdk.ship.machine import environment


@click.command("info")
@click.option("--json", "as_json", is_flag=True, help="The same for machines.")
def command(as_json: bool) -> None:
    """Show what opsdk finds on this machine, by trying it; a block to paste into a report."""
    found = environment.facts(exercise=True)
    text = environment.rendered(found)
    listed = {"schema": 1, "opsdk": opsdk.__version__, "facts": [asdict(fact) for fact in found], "rendered": text}
    print(json.dumps(listed, indent=1) if as_json else text)
