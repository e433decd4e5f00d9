"""`opsdk demo`: one ReLU through everything."""

from __future__ import annotations

from pathlib import Path

import click

from opsdk.ship.demo.command import run_demo


@click.command("demo")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("build/demo"), show_default=True)
@click.option("--epochs", type=click.IntRange(min=1), default=30, show_default=True, help="Passes over the digits.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of weights and batch order.")
@click.pass_context
def command(ctx: click.Context, out: Path, epochs: int, seed: int) -> None:
    """Write a ReLU in every language, prove it, time it, break it, train a network with it in both modes."""
    ctx.exit(run_demo(out, epochs=epochs, seed=seed))
