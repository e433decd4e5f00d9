"""The command `opsdk`: its options, and how each outcome becomes an exit status.

A command's work is imported when it runs, so that `--help` costs only the import of click and of opsdk itself.
"""

from __future__ import annotations

import difflib
import json
import sys
import threading
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import opsdk
from opsdk.core.errors import OpsdkError
from opsdk.ship import exits
from opsdk.ship.exits import Exit
from opsdk.ship.terminal import narrate

SHORT_HELP = f"""\
opsdk {opsdk.__version__}: write an array operator in Python, prove its gradient, run it everywhere

  opsdk demo                      write a ReLU in every language, prove it, break it, train with it
  opsdk check relu.py             prove every op of a file
  opsdk check relu.py:relu -v     one op, with everything that was found
  opsdk list --table              every op there is, its rows and how often it differentiates
  opsdk show relu                 one op: signature, what it saves, its rows
  opsdk where relu                the file and line that define it
  opsdk explain OP203             what an error code means
  opsdk info                      this machine, to paste into a report

opsdk --help lists every command; opsdk COMMAND --help its options."""


class Commands(click.Group):
    """The group of all commands: it suggests the nearest name, and turns errors into exit codes."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds a command; an unknown one is an error that names the nearest."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            commands = self.list_commands(ctx)
            near = difflib.get_close_matches(name, commands, n=1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise click.UsageError(f"no command {name!r}{hint} Commands: {', '.join(commands)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Runs a command; a user's mistake ends in a message, never in a traceback of opsdk."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except OpsdkError as error:
            narrate(described(error))
            if ctx.params.get("traceback"):
                raise
            ctx.exit(Exit.USAGE)
        except KeyboardInterrupt:
            narrate("interrupted")
            ctx.exit(Exit.INTERRUPTED)
        except BrokenPipeError:
            sys.stderr.close()  # nobody reads on, as in `opsdk list | head`
            ctx.exit(Exit.PASS)
        except Exception as error:
            if ctx.params.get("traceback"):
                raise
            again = f"opsdk --traceback {ctx.invoked_subcommand}"
            narrate(f"internal error: {type(error).__name__}: {error}; {again} … shows where")
            ctx.exit(Exit.INTERNAL)
        return None


def described(error: OpsdkError) -> str:
    """Returns an error as it is printed: the sentence, then its notes."""
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


_SECONDS = click.FloatRange(min=0, min_open=True, max=threading.TIMEOUT_MAX)


def _jobs(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    from gradcheck.run.workers import jobs_of

    try:
        return None if value is None else jobs_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=f"\b\n{exits.TABLE}",  # click wraps what no \b precedes
)
@click.option("--traceback", is_flag=True, help="Show the traceback of an error.")
@click.version_option(opsdk.__version__, prog_name="opsdk")
@click.pass_context
def cli(ctx: click.Context, traceback: bool) -> None:
    """Write an array operator in Python, prove its gradient, run it everywhere."""
    if ctx.invoked_subcommand is None:
        print(SHORT_HELP)


@cli.command()
@click.argument("targets", nargs=-1, required=True, metavar="TARGET...")
@click.option("--html", "html", metavar="PATH", help="Write the report as one offline page; - is standard output.")
@click.option("--json", "json_path", metavar="PATH", help="Write the report for machines; - is standard output.")
@click.option("--junit", metavar="PATH", help="Write the report as JUnit XML, for build servers; - is standard output.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of every random choice.")
@click.option("--jobs", callback=_jobs, metavar="N", help="Ops at a time, or auto; each in a process that may crash.")
@click.option("--timeout", type=_SECONDS, metavar="S", help="Seconds that one op may take, in a process of its own.")
@click.option("-q", "--quiet", is_flag=True, help="Failures and the summary only.")
@click.option("-v", "--verbose", is_flag=True, help="Also the full report of ops that pass.")
@click.option("--strict", is_flag=True, help="An op that cannot be judged, or lacks its backward, fails.")
@click.option("--allow-inconclusive", is_flag=True, help="An op that cannot be judged counts as a pass.")
@click.pass_context
def check(ctx: click.Context, /, targets: tuple[str, ...], **options: Any) -> None:  # Any: as click parsed them
    """Prove ops: TARGET is relu.py, relu.py:relu, module:op, package, namespace::name, name, or a finding's id."""
    from opsdk.ship.check import CheckOptions, run_check

    ctx.exit(run_check(targets, CheckOptions(**options)))


@cli.command("list")
@click.option("--table", is_flag=True, help="With provider, rows and how often each op differentiates.")
@click.option("--json", "as_json", is_flag=True, help="The same for machines.")
def list_ops(table: bool, as_json: bool) -> None:
    """List every op: the built-in ones and those of installed packages."""
    from opsdk.ship import catalog, discover, terminal

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
            narrate(f"(broken) {provider.name} {provider.version}: {provider.error}")


@cli.command()
@click.argument("op")
def where(op: str) -> None:
    """Print path:line of the definition of OP, and nothing else."""
    from opsdk.ship import catalog, target

    print(catalog.where(target.resolve_one(op)))


@cli.command()
@click.argument("op")
def show(op: str) -> None:
    """Show OP: its schema, where it is, what it saves, its rows, where its derivative comes from."""
    from opsdk.ship import catalog, target

    print(catalog.show(target.resolve_one(op)))


@cli.command()
@click.argument("code")
def explain(code: str) -> None:
    """Explain an error CODE such as OP203 or 203; works offline."""
    from opsdk.ship.explain import explained

    print(explained(code))


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="The same for machines.")
def info(as_json: bool) -> None:
    """Show what opsdk finds on this machine, by trying it; a block to paste into a report."""
    from opsdk.ship import environment

    facts = environment.facts(exercise=True)
    print(json.dumps(facts, indent=1) if as_json else environment.rendered(facts))


@cli.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("build/demo"), show_default=True)
@click.option("--epochs", type=click.IntRange(min=1), default=30, show_default=True, help="Passes over the digits.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of weights and batch order.")
@click.pass_context
def demo(ctx: click.Context, out: Path, epochs: int, seed: int) -> None:
    """Write a ReLU in every language, prove it, time it, break it, train a network with it in both modes."""
    from opsdk.ship.demo.command import run_demo

    ctx.exit(run_demo(out, epochs=epochs, seed=seed))


def main() -> None:
    """Runs the command line; output that the terminal's encoding lacks characters for is written with `?`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    cli(prog_name="opsdk")
