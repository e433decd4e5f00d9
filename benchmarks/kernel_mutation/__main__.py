"""`python -m benchmarks.kernel_mutation`: how many edits of kernels `opsdk check` misses."""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.kernel_mutation import c_edits, page, python_edits, units
from benchmarks.kernel_mutation.edit import Mutant, drawn, mutants
from benchmarks.kernel_mutation.judge import Judge, Records, in_turns
from benchmarks.kernel_mutation.units import Unit

GOAL = 0.98


def main(arguments: list[str] | None = None) -> int:
    """Runs the bench; returns 1 where more than 2 % of what changes anything was missed."""
    options = parser().parse_args(arguments)
    every = units.units()
    chosen = [unit for unit in every if _is_wanted(unit, options)]
    lists = [drawn(mutants_of(unit), options.limit, options.seed) for unit in chosen]
    if options.list:
        for mutant in in_turns(lists):
            print(f"{mutant.unit.language} {mutant.id}\n    {mutant.before}\n    {mutant.after}")
        return 0
    records = Records(options.results)
    waiting = [mutant for mutant in in_turns(lists) if _is_open(mutant, records, options)]
    _judge_all(waiting, records, options)
    results = [found for each in lists for mutant in each if (found := records.of(mutant)) is not None]
    touched = {mutant.unit for each in lists for mutant in each if records.of(mutant) is not None}
    why = page.reasons()
    text = page.lines(results, why, len(chosen), [str(unit) for unit in chosen if unit not in touched])
    print("\n".join(text))
    if options.out is not None:
        options.out.write_text("\n".join(text), encoding="utf-8")
    return int(page.score(results, why) < GOAL)


def mutants_of(unit: Unit) -> list[Mutant]:
    """Returns every mutant of a function."""
    language = c_edits if unit.language == "c" else python_edits
    return list(mutants(unit, language.edits(unit.text, unit.name)))


def _is_wanted(unit: Unit, options: argparse.Namespace) -> bool:
    return (
        unit.family in (options.family or [unit.family])
        and unit.language in (options.language or [unit.language])
        and options.only in str(unit)
    )


def _is_open(mutant: Mutant, records: Records, options: argparse.Namespace) -> bool:
    known = records.of(mutant)
    return known is None or bool({known.verdict, page.part_of(known, page.reasons())} & set(options.again or []))


def _judge_all(waiting: list[Mutant], records: Records, options: argparse.Namespace) -> None:
    """Judges mutants, several at a time, until time is up."""
    ends = time.monotonic() + 60 * options.minutes
    limits: dict[tuple[Any, ...], float | None] = {}
    left = iter(waiting)
    lock = threading.Lock()
    counts: Counter[str] = Counter()

    def work(folder: Path) -> None:
        folder.mkdir()
        with Judge(folder, limits, options.depth) as judge:
            while time.monotonic() < ends:
                with lock:
                    mutant = next(left, None)
                if mutant is None:
                    return
                result = judge.judge(mutant)
                records.add(result)
                with lock:
                    counts[result.verdict] += 1
                    done = f"{sum(counts.values())} of {len(waiting)}"
                    print(f"{done}: {result.verdict} {result.id} {result.seconds:.1f} s", file=sys.stderr, flush=True)

    scratch = tempfile.TemporaryDirectory(prefix="kernel-mutation-", ignore_cleanup_errors=True)
    with scratch, ThreadPoolExecutor(options.jobs) as threads:
        list(threads.map(work, [Path(scratch.name, f"copy{n}") for n in range(options.jobs)]))


def parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.kernel_mutation", description=__doc__)
    made.add_argument("--limit", type=int, default=5, help="mutants of each function, drawn from all")
    made.add_argument("--seed", type=int, default=0, help="of the draw")
    made.add_argument("--family", nargs="*", help="folders of contrib_ops, or examples; all")
    made.add_argument("--language", nargs="*", choices=units.LANGUAGES, help="of the kernels; all")
    made.add_argument("--only", default="", metavar="TEXT", help="functions whose 'language file:name' has this in it")
    made.add_argument("--jobs", type=int, default=2, help="how many are judged at a time")
    made.add_argument("--minutes", type=float, default=60.0, help="after which no other mutant is begun")
    made.add_argument("--results", type=Path, default=Path("kernel_mutation.jsonl"), help="file that results go on in")
    made.add_argument(
        "--again",
        nargs="*",
        choices=("survived", "missed", "broken"),
        help="judge these again; missed ones lack a reason",
    )
    depth = made.add_mutually_exclusive_group()
    for name, what in (
        ("quick", "ask the first stage alone; the rest with --again"),
        ("thorough", "as of opsdk check"),
    ):
        depth.add_argument(f"--{name}", dest="depth", action="store_const", const=name, default="", help=what)
    made.add_argument("--list", action="store_true", help="print the mutants and judge none")
    made.add_argument("--out", type=Path, help="file for the page")
    return made


if __name__ == "__main__":
    sys.exit(main())
