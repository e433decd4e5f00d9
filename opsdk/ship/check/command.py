"""The work of `opsdk check`: prove the ops of some targets, print the report, choose the exit status.

In a worker, a kernel that crashes or hangs ends the work on its own op only.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

import opsdk
from gradcheck.run import workers
from gradcheck.run.stacks import innermost
from gradcheck.run.supervised import doing, must_work_apart
from opsdk.backends.call.language import language_of
from opsdk.core.errors import TargetError
from opsdk.core.origin import shorten
from opsdk.define.op import REGISTRY, Op
from opsdk.ship.check.kept import Pace, failed_last, remember, remember_pace
from opsdk.ship.check.report import ReportOptions, publish, status
from opsdk.ship.check.result import Checked, Run, restricted
from opsdk.ship.cli.exits import Exit
from opsdk.ship.cli.progress import Progress
from opsdk.ship.cli.terminal import narrate
from opsdk.ship.machine.environment import cores, described, facts, rendered, version_of
from opsdk.ship.targets.keyword import matcher
from opsdk.ship.targets.target import Selection, resolve
from opsdk.verify.checks import EXPECT, WATCHED, check_of
from opsdk.verify.level import Level
from opsdk.verify.report import Coverage, Finding, VerifyReport
from opsdk.verify.run import chain

Work = list[tuple[Selection, Op]]
_CRASH, _CODE = "crash", "OP302"  # the check that finds it, and the code of its findings
_OPS_EACH = 4  # ops for which a process of their own is worth its start
_EVERY = "*"  # the kernel of a finding that stopped the work before it could be said which it was


@dataclass(frozen=True)
class CheckOptions(ReportOptions):
    """The options of `opsdk check`; `--help` says what each means."""

    seed: int = 0
    jobs: int | None = None
    timeout: float | None = None
    keyword: str = ""
    exitfirst: bool = False
    last_failed: bool = False
    level: Level = "default"

    @property
    def depth(self) -> tuple[bool, Level]:
        """`trace` and `level`, as `verify` has them: the steps of each verdict, and how much is looked at."""
        return self.verbose > 1, self.level


def run_check(targets: Sequence[str], options: CheckOptions) -> Exit:
    """Checks every op of the targets and prints the report.

    Args:
        targets: as typed.
        options: the command's options.

    Returns:
        The exit status. An interrupt ends the work, and what was checked until then is reported.

    Raises:
        TargetError: a target names nothing, a keyword is no expression, or a report has no place where it could be
            written.
        BrokenDefinitionError: a file or module cannot be loaded.
    """
    options.check_places()
    selections = [resolve(text) for text in targets or (failed_last().values() if options.last_failed else ())]
    work, missing = _work(selections, targets, options)
    if not work:
        narrate(f"nothing to check: {missing}")
        return Exit.NOTHING
    started = time.perf_counter()
    ended: dict[int, Checked] = {}
    stopped: BaseException | None = None
    left = 0
    jobs = options.jobs or _jobs_for(len(work))
    pace = Pace([op.opdef.name for _, op in work], options.level, jobs or 1)
    options = replace(options, jobs=jobs)
    with Progress(len(work), "checking", left=pace.said) as progress, closing(_ends(work, options)) as ending:
        try:
            progress.start(work[0][1].opdef.name)
            for position, one in ending:
                name = work[position][1].opdef.name
                pace.end(name, None if isinstance(one, BaseException) else one.report.seconds)
                if isinstance(one, BaseException):
                    stopped = stopped or one  # the other ops go on; what was raised first is said after their report
                    progress.advance(f"{name} not judged")
                else:
                    ended[position] = one
                    progress.advance(f"{name} {one.verdict}")
                    if options.exitfirst and one.verdict == "fail":
                        left = len(work) - len(ended)
                        break
                progress.start(next((op.opdef.name for k, (_, op) in enumerate(work) if k not in ended), ""))
        except KeyboardInterrupt as interrupt:
            stopped = interrupt
    run = Run(
        tuple(ended[position] for position in sorted(ended)),
        tuple(dict.fromkeys(selection.text for selection, _ in work)),
        options.seed,
        time.perf_counter() - started,
        opsdk.__version__,
        f"numpy {version_of('numpy')} · {cores()} cores",
        described(),
        rendered(facts(exercise=False)) if options.html or options.json_path else "",  # they take a while
    )
    remember(run.checked)
    remember_pace(run.checked, options.level)
    publish(run, options)
    if isinstance(stopped, KeyboardInterrupt):
        narrate(f"interrupted after {len(ended)} of {len(work)} ops")
        return Exit.INTERRUPTED
    if stopped is not None:
        raise stopped
    if left:
        narrate(f"stopped at the first failure, with {left} of {len(work)} ops left")
    found = status(run, options)
    is_empty = any(not judged_ops(selection) for selection in selections)
    return Exit.NOTHING if is_empty and found is Exit.PASS else found  # all that was named has to pass


def _work(selections: Sequence[Selection], targets: Sequence[str], options: CheckOptions) -> tuple[Work, str]:
    """Returns the ops to check, each with what named it, or in words why there are none."""
    fits, failed = matcher(options.keyword) if options.keyword else None, failed_last() if options.last_failed else {}
    if options.last_failed and not (failed or targets):
        return [], "nothing failed last time here; name a target"
    named = [(selection, op) for selection in selections for op in judged_ops(selection)]
    if not named:
        return [], f"{', '.join(targets)} defines no op; an op is a function under @opsdk.op"
    again = [(selection, op) for selection, op in named if op.opdef.name in failed]
    if failed and not again:
        narrate("none of these failed last time: all are checked")
    work = [(selection, op) for selection, op in again or named if fits is None or fits(op.opdef.name)]
    return work, f"of {len(again or named)} ops{' that failed' if again else ''} none fits -k {options.keyword!r}"


def _jobs_for(count: int) -> int | None:
    """Returns how many ops to judge at a time where nobody said: a process for each core, where there are many ops.

    None is this process, one after the other: each of the others has to load Python and the target first.
    """
    jobs = min(cores(), count // _OPS_EACH)
    return jobs if jobs > 1 else None


def _ends(
    work: Sequence[tuple[Selection, Op]], options: CheckOptions
) -> Generator[tuple[int, Checked | BaseException], None, None]:
    """Yields each op's position and result as it ends: from this process, or where it may crash from another."""
    asked = options.jobs is not None or options.timeout is not None or must_work_apart()
    apart = [k for k, (_, op) in enumerate(work) if asked or _may_crash(op)]
    with closing(_in_workers([work[k] for k in apart], options)) as ending:
        if asked:
            yield from ending
            return
        for position, (selection, op) in enumerate(work):
            if position in apart:  # one worker, which ends them in their order
                yield position, next(ending)[1]
            else:
                doing(op.opdef.name)
                ended: Checked | BaseException
                try:
                    ended = check_one(selection, op, options.seed, *options.depth)
                except Exception as error:  # it was not verified; the other ops go on
                    ended = error
                yield position, ended


def _in_workers(
    work: Sequence[tuple[Selection, Op]], options: CheckOptions
) -> Generator[tuple[int, Checked | BaseException], None, None]:
    """Yields the same from child processes, each of which loads the target anew."""
    pieces = [
        workers.Piece(op.opdef.name, f"{__name__}:check_again", (s.text, _named(op), options.seed, *options.depth))
        for s, op in work
    ]
    with closing(workers.run(pieces, jobs=options.jobs or 1, timeout=options.timeout)) as ending:
        for position, outcome in ending:
            selection, op = work[position]
            if outcome.error is not None:
                yield position, outcome.error
            else:
                report = outcome.value if outcome.kind == "done" else _report_of_end(op, outcome, options.seed)
                yield position, Checked.of(report, op, selection)


def _report_of_end(op: Op, outcome: workers.Outcome, seed: int) -> VerifyReport:
    """Returns the report of an op whose worker crashed, which is a finding, or took too long, which is none."""
    name = op.opdef.name
    if outcome.kind == "late":
        unsure = f"{name}: {outcome.message}; a larger --timeout gives it more"
        return VerifyReport(name, "inconclusive", coverage=Coverage(inconclusive=(unsure,)), seed=seed)
    place, ended = innermost(outcome.stack), outcome.message
    if " kernel (" not in place and (kernels := _compiled_kernels(op)):
        # Memory that a kernel spoilt shows wherever it is used next: in code of the op, or of whoever runs it.
        after, is_own = " or ".join(kernels), any(f"({shorten(each.origin.file)}:" in place for each in chain(op.opdef))
        ended = f"{ended}, after {after}" if is_own else f"{ended.removesuffix(f' in {place}')} in, or after, {after}"
        place = place if is_own else kernels[0]
    finding = Finding(
        _CRASH,
        f"{op.opdef.subject}: expected its kernels to return or raise, {ended}",
        id=f"{name}[{_EVERY}]::{_CRASH}",
        op=name,
        row=_EVERY,
        at=place or str(op.opdef.origin),
        code=_CODE,
    )
    told = tuple(f"{name}, {note}" for note in outcome.notes)
    return VerifyReport(name, "fail", (finding,), coverage=Coverage(notes=told, warnings=told), seed=seed)


def _may_crash(op: Op) -> bool:
    """Whether an op or one of its gradient ops has a kernel, such as one in C, that may end the process it runs in."""
    return any(language_of(kernel).may_crash for opdef in chain(op.opdef) for kernel in opdef.kernels)


def _compiled_kernels(op: Op) -> list[str]:
    """Returns the kernels that may have spoilt memory as stacks name them, each once."""
    every = [(opdef, kernel) for opdef in chain(op.opdef) for kernel in opdef.kernels if kernel.key.place == "cpu"]
    names = (
        f"{opdef.schema.name}, {kernel.language} kernel ({kernel.origin})"
        for opdef, kernel in every
        if language_of(kernel).may_crash or not language_of(kernel).stays_inside
    )
    return list(dict.fromkeys(names))


def judged_ops(selection: Selection) -> list[Op]:
    """Returns the ops that are verified for a selection: a gradient op is judged with the op that it belongs to.

    Primitives are, each as the op that it is alone.
    """
    found = []
    for op in selection.ops:
        forward = None if op.opdef.gradient_of is None else REGISTRY.get(op.opdef.gradient_of)
        found.append(forward or op)
    return [*found, *selection.primitives]


def _named(op: Op) -> str:
    """Returns what tells an op from a primitive of the same name, in another process too."""
    return f"{op.opdef.name} at {op.opdef.origin.file}:{op.opdef.origin.line}"


def check_one(selection: Selection, op: Op, seed: int, trace: bool = False, level: Level = "default") -> Checked:
    """Verifies one op; a finding's id is held to its kernel and check, `trace` and `level` are as for `verify`.

    Raises:
        TargetError: the id names a kernel that the op does not have.
    """
    return Checked.of(_verified(selection, op, seed, trace, level), op, selection)


def _verified(selection: Selection, op: Op, seed: int, trace: bool, level: Level) -> VerifyReport:
    is_whole = not selection.row or selection.check.startswith(EXPECT)  # it may show in any kernel
    rows = () if is_whole else (selection.row,)
    if check_of(selection.check) in WATCHED:  # the id is of a finding that shows there alone
        level = "thorough"
    report = opsdk.verify(op, seed=seed, rows=rows, trace=trace, level=level)
    if selection.row and not report.rows:
        there = ", ".join(str(row) for row in op.opdef.kernels)
        raise TargetError(f"{selection.text}: no kernel {selection.row!r}; {op.opdef.name} has {there}")
    return restricted(report, selection)


def check_again(text: str, named: str, seed: int, trace: bool = False, level: Level = "default") -> VerifyReport:
    """Verifies one op of a target in a worker, which loads the target once.

    Args:
        text: the target as typed.
        named: the op, one of those that the target names: its name, and where it is defined.
        seed: of every random choice.
        trace: as for `verify`.
        level: likewise.
    """
    selection = _resolved(text)
    op = next(op for op in judged_ops(selection) if _named(op) == named)
    return _verified(selection, op, seed, trace, level)


_resolved = functools.cache(resolve)
