"""The work of `opsdk check`: prove the ops of some targets, print the report, choose the exit status."""

from __future__ import annotations

import functools
import json
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import opsdk
from opsdk.core.errors import TargetError
from opsdk.define.op import REGISTRY, Op
from opsdk.ship import check_junit, check_page, check_text
from opsdk.ship.check_result import Checked, restricted
from opsdk.ship.environment import described
from opsdk.ship.exits import Exit, of_verdicts
from opsdk.ship.isolated import check_in_workers
from opsdk.ship.places import check_places, put
from opsdk.ship.progress import Progress
from opsdk.ship.target import Selection, resolve
from opsdk.ship.terminal import narrate, width

if TYPE_CHECKING:
    from opsdk.verify.report import VerifyReport


@dataclass(frozen=True)
class CheckOptions:
    """The options of `opsdk check`; `--help` says what each means."""

    html: str | None = None
    json_path: str | None = None
    junit: str | None = None
    seed: int = 0
    jobs: int | None = None
    timeout: float | None = None
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
        TargetError: a target names nothing, or a report has no place where it could be written.
        BrokenDefinitionError: a file or module cannot be loaded.
    """
    check_places({"--html": options.html, "--json": options.json_path, "--junit": options.junit})
    work = [(selection, op) for selection in map(resolve, targets) for op in judged_ops(selection)]
    if not work:
        narrate(f"nothing to check: {', '.join(targets)} defines no op; an op is a function under @opsdk.op")
        return Exit.NOTHING
    started = time.perf_counter()
    ended: dict[int, Checked] = {}
    stopped: BaseException | None = None
    with Progress(len(work), "checking") as progress, closing(_ends(work, options)) as ending:
        try:
            progress.start(work[0][1].opdef.name)
            for position, one in ending:
                name = work[position][1].opdef.name
                if isinstance(one, BaseException):
                    stopped = stopped or one  # the other ops go on; what was raised first is said after their report
                    progress.advance(f"{name} not judged")
                else:
                    ended[position] = one
                    progress.advance(f"{name} {one.verdict}")
                progress.start(next((op.opdef.name for k, (_, op) in enumerate(work) if k not in ended), ""))
        except KeyboardInterrupt as interrupt:
            stopped = interrupt
    checked = [ended[position] for position in sorted(ended)]
    text = check_text.render(
        checked,
        seconds=time.perf_counter() - started,
        seed=options.seed,
        width=width(),
        quiet=options.quiet,
        verbose=options.verbose,
        targets=targets,
        strict=options.strict,
    )
    print(text, file=sys.stderr if "-" in (options.html, options.json_path, options.junit) else sys.stdout)
    _write(options, checked, text)
    if isinstance(stopped, KeyboardInterrupt):
        narrate(f"interrupted after {len(checked)} of {len(work)} ops")
        return Exit.INTERRUPTED
    if stopped is not None:
        raise stopped
    verdicts = [one.strict_verdict if options.strict else one.verdict for one in checked]
    return of_verdicts(verdicts, strict=options.strict, allow_inconclusive=options.allow_inconclusive)


def _ends(
    work: Sequence[tuple[Selection, Op]], options: CheckOptions
) -> Generator[tuple[int, Checked | BaseException], None, None]:
    """Yields each op's position and result as it ends: from this process, or where it may crash from another."""
    asked = options.jobs is not None or options.timeout is not None
    apart = [k for k, (_, op) in enumerate(work) if asked or _has_c_row(op)]
    pieces = [work[k] for k in apart]
    with closing(check_in_workers(pieces, options.seed, options.jobs or 1, options.timeout)) as ending:
        if asked:
            yield from ending
            return
        for position, (selection, op) in enumerate(work):
            if position in apart:  # one worker, which ends them in their order
                yield position, next(ending)[1]
            else:
                yield position, check_one(selection, op, options.seed)


def _has_c_row(op: Op) -> bool:
    """Whether an op or one of its gradient ops runs C, which may end the process that it runs in."""
    from opsdk.verify.run import chain

    return any(row.language == "c" for opdef in chain(op.opdef) for row in opdef.kernels)


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


def check_again(text: str, name: str, seed: int) -> VerifyReport:
    """Verifies one op of a target in a worker, which loads the target once.

    Args:
        text: the target as typed.
        name: of the op, one of those that the target names.
        seed: of every random choice.
    """
    selection = _resolved(text)
    op = next(op for op in judged_ops(selection) if op.opdef.name == name)
    return check_one(selection, op, seed).report


_resolved = functools.cache(resolve)


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
        put(options.json_path, json.dumps(document, indent=1, allow_nan=False) + "\n")
    if options.html:
        put(options.html, check_page.render(checked, text))
    if options.junit:
        put(options.junit, check_junit.render(checked))
