"""The work of `opsdk check`: prove the ops of some targets, print the report, choose the exit status."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import opsdk
from opsdk.core.errors import TargetError
from opsdk.define.op import REGISTRY, Op
from opsdk.ship import check_page, check_text
from opsdk.ship.check_result import Checked, restricted
from opsdk.ship.environment import described
from opsdk.ship.exits import Exit, of_verdicts
from opsdk.ship.progress import Progress
from opsdk.ship.target import Selection, resolve
from opsdk.ship.terminal import narrate, width


@dataclass(frozen=True)
class CheckOptions:
    """The options of `opsdk check`; `--help` says what each means."""

    html: str | None = None
    json_path: str | None = None
    seed: int = 0
    quiet: bool = False
    verbose: bool = False
    strict: bool = False
    allow_inconclusive: bool = False


def run_check(targets: Sequence[str], options: CheckOptions) -> Exit:
    """Checks every op of the targets and prints the report.

    Args:
        targets: as typed.
        options: the command's options.

    Returns:
        The exit status. An interrupt ends the work, and what was checked until then is reported.

    Raises:
        TargetError: a target names nothing.
        BrokenDefinitionError: a file or module cannot be loaded.
    """
    work = [(selection, op) for selection in map(resolve, targets) for op in judged_ops(selection)]
    if not work:
        narrate(f"nothing to check: {', '.join(targets)} defines no op; an op is a function under @opsdk.op")
        return Exit.NOTHING
    started = time.perf_counter()
    checked: list[Checked] = []
    interrupted = False
    with Progress(len(work), "checking") as progress:
        try:
            for selection, op in work:
                progress.start(op.opdef.name)
                checked.append(check_one(selection, op, options.seed))
                progress.advance(f"{op.opdef.name} {checked[-1].verdict}")
        except KeyboardInterrupt:
            interrupted = True
    text = check_text.render(
        checked,
        seconds=time.perf_counter() - started,
        seed=options.seed,
        width=width(),
        quiet=options.quiet,
        verbose=options.verbose,
        targets=targets,
    )
    print(text, file=sys.stderr if "-" in (options.html, options.json_path) else sys.stdout)
    _write(options, checked, text)
    if interrupted:
        narrate(f"interrupted after {len(checked)} of {len(work)} ops")
        return Exit.INTERRUPTED
    verdicts = [one.strict_verdict if options.strict else one.verdict for one in checked]
    return of_verdicts(verdicts, strict=options.strict, allow_inconclusive=options.allow_inconclusive)


def judged_ops(selection: Selection) -> list[Op]:
    """Returns the ops that are verified for a selection: a gradient op is judged with the op that it belongs to."""
    found = []
    for op in selection.ops:
        forward = None if op.opdef.gradient_of is None else REGISTRY.get(op.opdef.gradient_of)
        found.append(forward or op)
    return found


def check_one(selection: Selection, op: Op, seed: int) -> Checked:
    """Verifies one op; a finding's id is held to its row and check.

    Raises:
        TargetError: the id names a row that the op does not have.
    """
    report = opsdk.verify(op, seed=seed, rows=(selection.row,) if selection.row else ())
    if selection.row and not report.rows:
        rows = ", ".join(str(row) for row in op.opdef.kernels)
        raise TargetError(f"{selection.text}: no row {selection.row!r}; {op.opdef.name} has {rows}")
    return Checked(restricted(report, selection), op, selection)


def _write(options: CheckOptions, checked: Sequence[Checked], text: str) -> None:
    if options.json_path:
        document = {
            "schema": 1,
            "opsdk": opsdk.__version__,
            "environment": described(),
            "seed": options.seed,
            "reports": [one.as_dict() for one in checked],
            "rendered": text,
        }
        _put(options.json_path, json.dumps(document, indent=1, allow_nan=False) + "\n")
    if options.html:
        _put(options.html, check_page.render(checked, text))


def _put(path: str, text: str) -> None:
    if path == "-":
        print(text, end="")
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise TargetError(f"{path}: expected a file that can be written, got: {error.strerror}") from error
    narrate(f"wrote {path}")
