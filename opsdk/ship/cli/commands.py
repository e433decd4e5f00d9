"""The commands of `opsdk`: arguments and options of each, and nothing that thinks.

The work of a command is imported when it is called: `--help` costs only click and opsdk itself.
"""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

import opsdk
from opsdk.define.op import PROVIDERS, REGISTRY
from opsdk.ship.cli import terminal
from opsdk.ship.cli.exits import Exit
from opsdk.ship.package import DEFAULT, LICENSES

_FOLDER = click.Path(file_okay=False, path_type=Path)
_SECONDS = click.FloatRange(min=0, min_open=True, max=threading.TIMEOUT_MAX)
_REPORT = (
    click.option("--durations", type=click.IntRange(min=0), default=0, metavar="N", help="Also what took longest."),
    click.option("-q", "--quiet", is_flag=True, help="Failures and the summary only."),
    click.option(
        "-v", "--verbose", count=True, help="Also the full report of ops that pass; -vv: each verdict's steps."
    ),
    click.option("--strict", is_flag=True, help="An op that is not judged, lacks its backward or has a note fails."),
    click.option("--allow-inconclusive", is_flag=True, help="An op that cannot be judged counts as a pass."),
)
_as_json = click.option("--json", "as_json", is_flag=True, help="The same for machines.")


def _ops(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns the ops that a word may become, opsdk's own by their bare names; no package is imported for it."""
    names = sorted(op.opdef.name.removeprefix("opsdk::") for op in REGISTRY if op.opdef.gradient_of is None)
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _ops_and_files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Returns ops, modules of installed packages that announce ops, and what makes the shell offer files."""
    modules = sorted({provider.module for provider in PROVIDERS.announced()})
    found = [CompletionItem(name) for name in modules if name.startswith(incomplete)]
    return [*_ops(ctx, parameter, incomplete), *found, CompletionItem(incomplete, type="file")]


_op = click.argument("op", shell_complete=_ops)
_targets = functools.partial(click.argument, "targets", nargs=-1, metavar="TARGET...", shell_complete=_ops_and_files)


# Any: a command's function, as click passes it on.
def _of_the_report(function: Callable[..., Any]) -> Callable[..., Any]:
    """Gives a command what is shown of a report, and what counts as a failure."""
    for option in reversed(_REPORT):
        function = option(function)
    return function


def _jobs(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    from gradcheck.run.workers import jobs_of

    try:
        return None if value is None else jobs_of(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command(short_help="Prove ops, and show what is wrong with them.")
@_targets()
@click.option("--html", "html", metavar="PATH", help="Write the report as one offline page; - is standard output.")
@click.option("--json", "json_path", metavar="PATH", help="Write the report for machines; - is standard output.")
@click.option("--junit", metavar="PATH", help="Write the report as JUnit XML, for build servers; - is standard output.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of every random choice.")
@click.option("--jobs", callback=_jobs, metavar="N", help="Ops at a time, in processes; auto is all cores.")
@click.option("--timeout", type=_SECONDS, metavar="S", help="Seconds that one op may take, in a process of its own.")
@click.option("-k", "keyword", metavar="EXPR", default="", help="Only ops whose names fit, such as 'snake or not sum'.")
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first op that fails.")
@click.option("--quick", is_flag=True, help="What a second per op allows; the report says what that leaves out.")
@click.option("--thorough", is_flag=True, help="Also what takes seconds per op: kernels compiled to watch themselves.")
@click.option("--lf", "--last-failed", "last_failed", is_flag=True, help="Only ops that did not pass last time here.")
@_of_the_report
def check(targets: tuple[str, ...], **options: Any) -> Exit:  # Any: as click parsed them
    """Prove ops: TARGET is relu.py, relu.py:relu, module:op, package, namespace::name, name, or a finding's id."""
    from opsdk.ship.check.command import CheckOptions, run_check
    from opsdk.verify.level import Level

    if not (targets or options["last_failed"]):
        raise click.UsageError("Missing argument 'TARGET...'.", click.get_current_context())
    quick, thorough = options.pop("quick"), options.pop("thorough")
    if quick and thorough:
        raise click.UsageError("--quick and --thorough: expected at most one of them, got both; leave one out")
    level: Level = "quick" if quick else "thorough" if thorough else "default"
    return run_check(targets, CheckOptions(**options, level=level))


@click.command(short_help="Render what a check found, from its JSON.")
@click.argument("file", metavar="FILE")
@click.option("--html", "html", metavar="PATH", help="Write it as one offline page; - is standard output.")
@click.option("--junit", metavar="PATH", help="Write it as JUnit XML, for build servers; - is standard output.")
@_of_the_report
def report(file: str, **options: Any) -> Exit:  # Any: as click parsed them
    """Render what `opsdk check --json FILE` found, with its exit code; no op is run, and none has to be there."""
    from opsdk.ship.check.report import ReportOptions, run_report

    return run_report(file, ReportOptions(**options))


@click.command(short_help="Time every kernel of ops, after holding it to the reference.")
@_targets(required=True)
@click.option("--n", default="1M", show_default=True, metavar="SIZES", help="Elements, as 64K or 4K,64K,1M; K is 1024.")
@click.option("--dtype", default="float32", show_default=True, help="Of floating inputs.")
@click.option(
    "--backward/--forward", default=False, help="Time the gradient op, or the op itself; the op unless given."
)
@click.option("--threads", type=click.IntRange(min=0), default=0, help="Threads that a kernel may use; 0 is all.")
@click.option("--peers", metavar="FILE", help="A file whose PEERS names what is timed beside; docs/ops.md says how.")
@click.option("--rounds", type=click.IntRange(min=1), default=15, show_default=True, help="Samples of each, at most.")
@click.option("--seconds", type=click.FloatRange(min=0, min_open=True), default=0.03, show_default=True, metavar="S",
              help="About how long one sample takes.")  # fmt: skip
@click.option("--json", "json_path", metavar="PATH", help="Write every sample for machines; - is standard output.")
@click.option("--plot", metavar="PATH", help="Draw GB/s by size as SVG; - is standard output.")
def bench(targets: tuple[str, ...], **options: Any) -> Exit:  # Any: as click parsed them
    """Time every kernel of ops that runs here, after holding it to the reference. TARGET is as for check."""
    from opsdk.ship.bench.command import BenchOptions, run_bench

    return run_bench(targets, BenchOptions(**options))


@click.command(short_help="Write a ReLU in every language, prove it, break it, train with it.")
@click.option("--out", type=_FOLDER, default=Path("build/demo"), show_default=True)
@click.option("--epochs", type=click.IntRange(min=1), default=30, show_default=True, help="Passes over the digits.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of weights and batch order.")
def demo(out: Path, epochs: int, seed: int) -> Exit:
    """Write a ReLU in every language, prove it, time it, break it, train a network with it in both modes."""
    from opsdk.ship.demo.command import run_demo

    return run_demo(out, epochs=epochs, seed=seed)


@click.command("list", short_help="List every op there is.")
@click.option("--table", is_flag=True, help="With provider, kernels and how often each op differentiates.")
@click.option("--providers", "of_providers", is_flag=True, help="The packages that announce ops, and how each loaded.")
@_as_json
def list_ops(table: bool, of_providers: bool, as_json: bool) -> None:
    """List every op: the built-in ones and those of installed packages."""
    from opsdk.ship.describe import catalog

    states = catalog.load_providers()
    if of_providers:
        listed = [asdict(state) for state in states]
        print(json.dumps(listed, indent=1) if as_json else catalog.table_of_providers(states, terminal.width()))
        return
    if as_json or table:
        found = catalog.entries()
        lines = json.dumps([asdict(entry) for entry in found], indent=1)
        print(lines if as_json else catalog.table_of(found, terminal.width()))
    else:
        print("\n".join(catalog.names()))
    for state in states:
        if state.state == "failed":
            terminal.narrate(f"(failed) {state}: {state.reason}")


@click.command(short_help="Show one op: schema, what it saves, kernels, derivative.")
@_op
@_as_json
def show(op: str, as_json: bool) -> None:
    """Show OP: its schema, what it computes and saves, its derivative as a formula, its kernels and promises."""
    from opsdk.ship.describe import op_facts
    from opsdk.ship.targets import target

    facts = op_facts.facts_of(target.resolve_one(op))
    print(json.dumps(asdict(facts), indent=1) if as_json else op_facts.screen(facts, terminal.width()))


@click.command(short_help="Print path:line of an op's definition.")
@_op
def where(op: str) -> None:
    """Print path:line of the definition of OP, and nothing else."""
    from opsdk.ship.describe import catalog
    from opsdk.ship.targets import target

    print(catalog.where(target.resolve_one(op)))


@click.command(short_help="Write a reference page for every op.")
@_targets(required=True)
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("docs/reference"), show_default=True, metavar="DIR"
)
def doc(targets: tuple[str, ...], out: Path) -> Exit:
    """Write a reference page in Markdown for every op of TARGET, with plots, and an index; print their paths."""
    from opsdk.ship.describe.reference import write_pages

    return write_pages(targets, out)


@click.command(short_help="Explain an error code such as OP203.")
@click.argument("code")
def explain(code: str) -> None:
    """Explain an error CODE such as OP203 or 203; works offline."""
    from opsdk.ship.explain.page import explained

    print(explained(code))


class _ListsKinds(click.Command):
    """A command whose help ends with the kinds of package; the templates that tell them are read for it alone."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes a line for each kind."""
        from opsdk.ship.package import scaffold

        marks = {DEFAULT: " (start here)"}
        lines = [f"  {kind.name:<12} {kind.about}{marks.get(kind.name, '')}" for kind in scaffold.kinds().values()]
        self.epilog = "\n".join(["\b", "Kinds:", *lines])  # click wraps what no \b precedes
        super().format_epilog(ctx, formatter)


@click.command(cls=_ListsKinds, short_help="Start a package: an op as a worked example, with its tests.")
@click.argument("name")
@click.option("--kind", default=DEFAULT, show_default=True, metavar="KIND", help="What the package shows; see below.")
@click.option(
    "--license",
    "license_",
    type=click.Choice(LICENSES, case_sensitive=False),
    default=LICENSES[0],
    show_default=True,
    help="The licence that others get it under.",
)
@click.option(
    "--into", type=click.Path(path_type=Path), default=Path(), metavar="DIR", help="The folder it is made in."
)
@click.option("--dry-run", is_flag=True, help="Print the tree, and write nothing.")
def new(name: str, kind: str, license_: str, into: Path, dry_run: bool) -> None:
    """Start a package NAME: an op as a worked example, its tests, what it takes to install and to publish it."""
    from opsdk.ship.package import scaffold
    from opsdk.ship.package.name import check_name

    chosen = scaffold.kind_of(kind)
    check_name(name)
    scaffold.check_place(into / name)
    package = scaffold.Package(name, chosen, scaffold.author_of_git(), license_)
    target = into / name if dry_run else scaffold.write(package, into)
    print(scaffold.tree(package, target, created=not dry_run))
    if not dry_run:
        print(scaffold.next_commands(package, target))


@click.command(short_help="Compile C kernels ahead of time, so that their users need no compiler.")
@click.argument("target")
@click.option(
    "--out",
    type=_FOLDER,
    metavar="DIR",
    help="Put the libraries below DIR, each in its package's folder, in place of beside the sources.",
)
def build(target: str, out: Path | None) -> Exit:
    """Compile the C kernels of TARGET ahead of time, and print the path of each library."""
    from opsdk.ship.package.build import run_build

    return run_build(target, out)


@click.command(short_help="Show what opsdk finds on this machine, by trying it.")
@_as_json
def info(as_json: bool) -> None:
    """Show what opsdk finds on this machine, by trying it; a block to paste into a report."""
    from opsdk.ship.machine import environment

    found = environment.facts(exercise=True)
    text = environment.rendered(found)
    listed = {"schema": 1, "opsdk": opsdk.__version__, "facts": [asdict(fact) for fact in found], "rendered": text}
    print(json.dumps(listed, indent=1) if as_json else text)


@click.group(short_help="Show what opsdk keeps of what it compiled, or clear it.")
def cache() -> None:
    """Show what opsdk keeps of what it compiled, or clear it; OPSDK_CACHE_DIR names another folder."""


@cache.command("info")
@_as_json
def cache_info(as_json: bool) -> None:
    """Show the folder, whether it can be written, and how many files of what size it holds."""
    from opsdk.backends.cache import store
    from opsdk.ship.machine.cache import as_dict, rendered

    held = store.cache_info()
    print(json.dumps(as_dict(held), indent=1) if as_json else rendered(held))


@cache.command("clear")
@click.option("--yes", is_flag=True, help="Do not ask.")
def cache_clear(yes: bool) -> None:
    """Remove everything; programs that run go on, and what is missed is compiled again."""
    from opsdk.ship.machine.cache import clear

    clear(sure=yes)


COMMANDS = (bench, build, cache, check, demo, doc, explain, info, list_ops, new, report, show, where)
