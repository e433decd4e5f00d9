"""`opsdk bench`: time every row of ops."""

from __future__ import annotations

from typing import Any

import click

from opsdk.ship.bench.command import BenchOptions, run_bench
from opsdk.ship.cli import completion


@click.command("bench")
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...", shell_complete=completion.targets)
@click.option("--n", default="1M", show_default=True, metavar="SIZES", help="Elements, as 64K or 4K,64K,1M; K is 1024.")
@click.option("--dtype", default="float32", show_default=True, help="Of floating inputs.")
@click.option(
    "--backward/--forward", default=False, help="Time the gradient op, or the op itself; the op unless given."
)
@click.option("--threads", type=click.IntRange(min=0), default=0, help="Threads that a row may use; 0 is all.")
@click.option("--peers", metavar="FILE", help="A file whose PEERS names what is timed beside; docs/ops.md says how.")
@click.option("--rounds", type=click.IntRange(min=1), default=15, show_default=True, help="Samples of each, at most.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), default=0.03, show_default=True, metavar="S",
              help="About how long one sample takes.")  # fmt: skip
@click.option("--json", "json_path", metavar="PATH", help="Write every sample for machines; - is standard output.")
@click.option("--plot", metavar="PATH", help="Draw GB/s by size as SVG; - is standard output.")
@click.pass_context
def command(ctx: click.Context, /, targets: tuple[str, ...], **options: Any) -> None:  # Any: as click parsed them
    """Time every row of ops that runs here, after holding it to the reference. TARGET is as for check."""
    ctx.exit(run_bench(targets, BenchOptions(**options)))
