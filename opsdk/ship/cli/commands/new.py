"""`opsdk new`: start a package."""

from __future__ import annotations

from pathlib import Path

import click

from opsdk.ship.package import scaffold_text
from opsdk.ship.package.kinds import DEFAULT, kind_of, kinds
from opsdk.ship.package.name import check_name
from opsdk.ship.package.scaffold import LICENSES, Package, author_of_git, check_place, write


def _listed() -> str:
    """Returns a line for each kind."""
    marks = {DEFAULT: " (start here)"}
    lines = [f"  {kind.name:<12} {kind.about}{marks.get(kind.name, '')}" for kind in kinds().values()]
    return "\n".join(["\b", "Kinds:", *lines])  # click wraps what no \b precedes


@click.command("new", epilog=_listed())
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
def command(name: str, kind: str, license_: str, into: Path, dry_run: bool) -> None:
    """Start a package NAME: an op as a worked example, its tests, what it takes to install and to publish it."""
    chosen = kind_of(kind)
    check_name(name)
    check_place(into / name)
    package = Package(name, chosen, author_of_git(), license_)
    target = into / name if dry_run else write(package, into)
    print(scaffold_text.tree(package, target, created=not dry_run))
    if not dry_run:
        print(scaffold_text.next_commands(package, target))
