"""`opsdk cache`: what opsdk keeps of what it compiled."""

from __future__ import annotations

import json

import click

from opsdk.backends.cache.store import cache_info
from opsdk.ship.machine import cache


@click.group("cache")
def command() -> None:
    """Show what opsdk keeps of what it compiled, or clear it; OPSDK_CACHE_DIR names another folder."""


@command.command("info")
@click.option("--json", "as_json", is_flag=True, help="The same for machines.")
def info(as_json: bool) -> None:
    """Show the folder, whether it can be written, and how many files of what size it holds."""
    held = cache_info()
    print(json.dumps(cache.as_dict(held), indent=1) if as_json else cache.rendered(held))


@command.command("clear")
@click.option("--yes", is_flag=True, help="Do not ask.")
def clear(yes: bool) -> None:
    """Remove everything; programs that run go on, and what is missed is compiled again."""
    cache.clear(sure=yes)
