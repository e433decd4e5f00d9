"""`python -m benchmarks.bank`: every pair of the bank at many seeds, and each verdict that is not the right one.

Results go on in a file, so that a run that ended early goes on where it was; what was judged with other sources, of
gradcheck or of the bank, is judged again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

import gradcheck
from benchmarks.peers import ROOT
from benchmarks.report import machine
from tests.gradcheck.bank import Entry, entries

# A pair at so many seeds is one piece of work: some seconds at most, which an end loses.
_SEEDS_AT_ONCE = 5
_TOLD_EVERY = 10.0  # seconds
_MOST = 300  # characters of a first line


@dataclass(frozen=True)
class Result:
    """What came of a pair at one seed.

    Attributes:
        key: of the entry.
        seed: of the check.
        verdict: as of the report, or "raises".
        seconds: of processor time.
        said: the first line of the gravest finding, or of the exception.
        sources: the digest of what judged and was judged.
    """

    key: str
    seed: int
    verdict: str
    seconds: float
    said: str
    sources: str


Known: TypeAlias = dict[tuple[str, int], Result]  # by key and seed


@dataclass(frozen=True)
class Task:
    """A pair, by its key, and the seeds that are wanted of it."""

    key: str
    seeds: tuple[int, ...]


def main(arguments: list[str] | None = None) -> int:
    """Runs the bank; returns 1 where a verdict is not the right one, or one is missing."""
    options = parser().parse_args(arguments)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # of the processes: threads of small products only wait
    chosen = {key: entry for key, entry in _by_key().items() if options.only in key}
    sources = digest()
    known = {(r.key, r.seed): r for r in _read(options.results) if r.sources == sources}
    blocks = [range(n, min(n + _SEEDS_AT_ONCE, options.seeds)) for n in range(0, options.seeds, _SEEDS_AT_ONCE)]
    tasks = [Task(key, tuple(n for n in block if (key, n) not in known)) for block in blocks for key in chosen]
    _run([task for task in tasks if task.seeds], known, options, sources)
    results = [known[key, n] for key in chosen for n in range(options.seeds) if (key, n) in known]
    others = [r for r in results if r.verdict != chosen[r.key].verdict]
    text = lines(results, {key: (entry.kind, entry.verdict) for key, entry in chosen.items()}, options.seeds)
    print("\n".join(text))
    if options.out is not None:
        options.out.write_text("\n".join(text), encoding="utf-8")
    return int(bool(others) or len(results) < len(chosen) * options.seeds)


def parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.bank", description=__doc__)
    made.add_argument("--seeds", type=int, default=100, help="each pair is judged at seeds 0 to this less one")
    made.add_argument("--only", default="", metavar="TEXT", help="pairs whose 'kind: name (verdict)' has this in it")
    made.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    made.add_argument("--minutes", type=float, default=600.0, help="after which nothing else is begun")
    made.add_argument("--results", type=Path, default=Path("bank.jsonl"), help="file that results go on in")
    made.add_argument("--out", type=Path, help="file for the page")
    return made


def digest() -> str:
    """Returns what tells the sources of gradcheck and of the bank from others."""
    found = hashlib.sha256()
    for file in sorted([*ROOT.glob("gradcheck/**/*.py"), *ROOT.glob("tests/gradcheck/*.py")]):
        if not file.name.startswith("test_"):
            found.update(file.read_bytes())
    return found.hexdigest()[:16]


def judged(task: Task, sources: str) -> list[Result]:
    """Judges a pair at some seeds, in whatever process this is called."""
    entry, found = _by_key()[task.key], []
    for seed in task.seeds:
        forward, vjp, inputs, options = entry.fresh()
        started = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                report = gradcheck.check(forward, vjp, inputs, seed=seed, **options)
                verdict, said = entry.judged(report), report.findings[0].headline if report.findings else ""
            except Exception as error:
                verdict, said = "raises", f"{type(error).__name__}: {error}"
        found.append(Result(task.key, seed, verdict, time.process_time() - started, said[:_MOST], sources))
    return found


@cache
def _by_key() -> dict[str, Entry]:
    return {entry.key: entry for entry in entries()}


def _read(file: Path) -> Iterable[Result]:
    if not file.exists():
        return []
    # The last line of a run that was ended may be part of one.
    written = [line for line in file.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("}\n")]
    return [Result(**json.loads(line)) for line in written]


def _run(tasks: Sequence[Task], known: Known, options: argparse.Namespace, sources: str) -> None:
    """Judges in several processes at once, until all is done or time is up."""
    left = iter(tasks)
    total, done, told = sum(len(task.seeds) for task in tasks), 0, time.monotonic()
    started = told
    if not total:
        return
    pool = ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn"))
    with pool, options.results.open("a", encoding="utf-8") as file:
        running: set[Future[list[Result]]] = set()
        while True:
            while len(running) < 2 * options.jobs and time.monotonic() - started < 60 * options.minutes:
                task = next(left, None)
                if task is None:
                    break
                running.add(pool.submit(judged, task, sources))
            if not running:
                return
            ended, running = wait(running, return_when=FIRST_COMPLETED)
            for result in (result for future in ended for result in future.result()):
                known[result.key, result.seed] = result
                file.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")
                done += 1
            file.flush()
            if time.monotonic() - told > _TOLD_EVERY or not running:
                told = time.monotonic()
                minutes = (told - started) / 60 * (total - done) / done
                print(f"{done} of {total} checks, {minutes:.0f} minutes left", file=sys.stderr, flush=True)


def lines(results: Sequence[Result], kinds: dict[str, tuple[str, str]], seeds: int) -> list[str]:
    """Returns the page; `kinds` has the kind of each entry and the verdict that is right."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    pairs = Counter(kinds.values())
    seconds: Counter[str] = Counter()
    for result in results:
        kind, _ = kinds[result.key]
        counts[kinds[result.key]][result.verdict] += 1
        seconds[kind] += result.seconds
    wanted, total = len(kinds) * seeds, sum(seconds.values())
    text = [
        "# The bank at many seeds",
        "",
        machine(),
        "",
        f"Written by `python -m benchmarks.bank --seeds {seeds}`: {len(results)} of {wanted} checks of {len(kinds)} "
        f"entries, a vjp beside its forward each, in {total / 60:.0f} minutes of processor time.",
        "",
        "| kind | wrong ones | found | let through | unsure | right ones | passed | blamed | unsure | ms a check |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind in dict.fromkeys(kind for kind, _ in kinds.values()):
        wrong, right = counts[kind, "fail"], counts[kind, "pass"]
        checks = max(1, wrong.total() + right.total())
        row = [kind, pairs[kind, "fail"], *_parts(wrong, "fail"), pairs[kind, "pass"], *_parts(right, "pass")]
        text.append(f"| {' | '.join(map(str, row))} | {1e3 * seconds[kind] / checks:.0f} |")
    others = [result for result in results if result.verdict != kinds[result.key][1]]
    text += ["", f"{len(others)} verdicts other than the right one{':' if others else '.'}", ""]
    text += [f"- {r.key}, seed {r.seed}: {r.verdict}{': ' if r.said else ''}{r.said}" for r in others]
    return [*text, ""] if others else text


def _parts(counts: Counter[str], right: str) -> list[int]:
    """Returns how many verdicts are right, opposite, and neither."""
    opposite = "pass" if right == "fail" else "fail"
    return [counts[right], counts[opposite], counts.total() - counts[right] - counts[opposite]]


if __name__ == "__main__":
    sys.exit(main())
