"""The command `opsdk`: finds the command that is named, and turns each outcome into an exit status."""

from __future__ import annotations

import difflib
import functools
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TextIO

import click

import opsdk
from opsdk.core.errors import OpsdkError
from opsdk.ship.cli import exits
from opsdk.ship.cli.commands import COMMANDS
from opsdk.ship.cli.exits import Exit
from opsdk.ship.cli.terminal import AUTO, COLOUR_CHOICES, choose_colour, narrate, narrate_error, write_plainly
from opsdk.ship.targets.loading import watchers

SHORT_HELP = f"""\
opsdk {opsdk.__version__}: write an array operator in Python, prove its gradient, run it everywhere

  opsdk demo                      write a ReLU in every language, prove it, break it, train with it
  opsdk check relu.py             prove every op of a file
  opsdk bench relu.py:relu        time every kernel of one op beside the reference
  opsdk list --table              every op there is, its kernels and how often it differentiates
  opsdk show relu                 one op: signature, what it saves, its derivative, its kernels
  opsdk new my_ops                a package to start from: an op, its tests, its build
  opsdk explain OP203             what an error code means
  opsdk info                      this machine, to paste into a report

opsdk --help lists every command; opsdk COMMAND --help its options."""


RUNNING = ("bench", "build", "check", "doc", "show")  # commands that run the code of ops, as do all that get a file


def _choose(ctx: click.Context, parameter: click.Parameter, choice: str | None) -> None:
    if choice is not None or ctx.parent is None:  # each run starts anew; a command changes only what it was told
        choose_colour(choice or AUTO)


COLOR = click.Option(
    ["--color"],
    type=click.Choice(COLOUR_CHOICES),
    callback=_choose,
    expose_value=False,
    help="Verdict words in colour; auto is on terminals, unless NO_COLOR is set.",
)


class Commands(click.Group):
    """The group of all commands: it suggests the nearest name, and turns errors into exit codes."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds a command; an unknown one is an error that names the nearest."""
        name = args[0]
        if name not in self.commands and not name.startswith("-"):
            commands = self.list_commands(ctx)
            near = difflib.get_close_matches(name, commands, n=1)
            hint = f"; did you mean {near[0]}?" if near else "."
            raise click.UsageError(f"no command {name!r}{hint} Commands: {', '.join(commands)}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Runs a command; a user's mistake ends in a message, never in a traceback of opsdk."""
        try:
            try:
                status = super().invoke(ctx)
            finally:
                sys.stdout.flush()  # where it fails, that is the outcome
            ctx.exit(status or Exit.PASS)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except OpsdkError as error:
            narrate_error(error)
            if ctx.params.get("traceback"):
                raise
            ctx.exit(Exit.USAGE)
        except KeyboardInterrupt:
            narrate("interrupted")
            ctx.exit(Exit.INTERRUPTED)
        except SystemExit as error:  # of code that was looked at; click's own end is another class
            if ctx.params.get("traceback"):
                traceback.print_exception(error)
            narrate(f"{ctx.invoked_subcommand}: expected code that returns or raises an error, got {error!r}")
            ctx.exit(Exit.USAGE)
        except BrokenPipeError:
            sys.stderr.close()  # nobody reads on, as in `opsdk list | head`
            ctx.exit(Exit.INTERNAL if ctx.invoked_subcommand == "check" else Exit.PASS)  # a verdict has to be read
        except OSError as error:
            if error.filename is not None or not _refuses(sys.stdout):
                self._end_internally(ctx, error)
            narrate(f"standard output: expected to take what is written, got: {error.strerror}; write it elsewhere")
            ctx.exit(Exit.USAGE)
        except Exception as error:
            self._end_internally(ctx, error)

    def _end_internally(self, ctx: click.Context, error: Exception) -> NoReturn:
        if ctx.params.get("traceback"):
            raise error
        again = f"opsdk --traceback {ctx.invoked_subcommand}"
        narrate(f"internal error: {type(error).__name__}: {error}; {again} … shows where")
        ctx.exit(Exit.INTERNAL)


def _refuses(stream: TextIO) -> bool:
    """Whether a stream does not take a line more; it then drops what it holds, so that nobody is told of it twice."""
    try:
        stream.write("\n")  # a stream without a buffer has forgotten what it did not take
        stream.flush()
    except OSError:
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        return True
    return False


@click.group(
    cls=Commands,
    commands=COMMANDS,
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


for command in (cli, *COMMANDS):
    command.params.append(COLOR)  # so that it may stand before the command and behind it


def main() -> None:
    """Runs the command line; what the terminal's encoding lacks characters for is written in those that it has."""
    for stream in (sys.stdout, sys.stderr):
        write_plainly(stream)
    named = [word for word in sys.argv[1:] if word in RUNNING]
    work: Callable[[], int] = functools.partial(cli, prog_name="opsdk")
    if named or any(".py" in word for word in sys.argv):  # code that ends its process cannot end this one
        from gradcheck.run.supervised import LOADING, doing, supervise

        watchers.append(lambda subject: doing(f"{LOADING}{subject}" if subject else ""))
        command = " ".join(["opsdk", *named[:1]])
        raise SystemExit(supervise(work, command, repeat="check" in named[:1]))
    work()
