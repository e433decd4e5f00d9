"""The judge of mutants: `opsdk check` in workers, the quickest part of it first; what came of it goes into a file."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.kernel_mutation.edit import Mutant
from benchmarks.kernel_mutation.units import EXAMPLES, REPOSITORY, Unit
from benchmarks.report import commit

# What is tried of kernels in each language, until something is found; the simulator runs a thread after the other, and
# no checks but these look at kernels there.
STAGES = {"c": ("values", "check"), "numba": ("python", "values", "check"), "cuda": ("values", "blocks")}
FIRST_LIMIT = 600.0  # seconds for kernels as they are, which tell how long edited ones may take
AT_LEAST, TIMES = 60.0, 5.0  # of a machine that others use too; what a compiler takes is in both


@dataclass(frozen=True)
class Result:
    """What came of a mutant.

    Args:
        id: the mutant's.
        digest: of the file that it is an edit of.
        kind: of edit.
        language: of the kernel.
        family: of the op.
        op: the op that it is judged with.
        before: the lines concerned.
        after: the same, edited.
        verdict: caught, survived, invalid (not a kernel: it does not compile), or broken (the judge raised).
        stage: which part of the check it was that ended it.
        by: the finding, or how it ended.
        seconds: that it took.
        commit: at which it was judged; the kernel's text is the same since, the check need not be.
    """

    id: str
    digest: str
    kind: str
    language: str
    family: str
    op: str
    before: str
    after: str
    verdict: str
    stage: str
    by: str
    seconds: float
    commit: str = ""


class Records:
    """Results in a file of JSON lines; the last line of a mutant counts, if it is of the text that there is now."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._limits: dict[tuple[str, ...], float | None] = {}
        self.results: dict[str, Result] = {}
        for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
            read = json.loads(line)
            self.results[read["id"]] = Result(**read)

    def add(self, result: Result) -> None:
        """Writes a result."""
        with self._lock:
            self.results[result.id] = result
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")

    def of(self, mutant: Mutant) -> Result | None:
        """Returns what is known of a mutant of the text that there is now."""
        known = self.results.get(mutant.id)
        return known if known is not None and known.digest == mutant.unit.digest else None


class Judge:
    """A worker for kernels of the host and one for the simulator, each started when it is first asked.

    Args:
        folder: for its copy of the packages; what is compiled is kept in a folder beside, which judges share.
        limits: seconds that a stage may take, which judges share; None where kernels as they are do not pass it.
        depth: `quick` asks the first stage alone, which is over in a second; `thorough` is as of `opsdk check`.
    """

    def __init__(self, folder: Path, limits: dict[tuple[Any, ...], float | None], depth: str = "") -> None:
        self.folder, self.limits, self.depth, self.commit = folder, limits, depth, commit()
        for part in ("contrib_ops", EXAMPLES):
            shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        self._workers: dict[bool, subprocess.Popen[str]] = {}

    def __enter__(self) -> Judge:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for worker in self._workers.values():
            assert worker.stdin is not None
            with worker:  # which closes its pipes and waits
                worker.stdin.close()

    def judge(self, mutant: Mutant) -> Result:
        """Returns what comes of a mutant."""
        unit, seconds, stage = mutant.unit, 0.0, ""
        outcome = {"end": "broken", "by": "the kernel as it is does not pass"}
        for stage in self._stages(unit):
            outcome = self._asked(unit, stage, mutant.text, self.limits[unit.language, stage, unit.subjects])
            seconds += outcome["seconds"]
            if outcome["end"] != "passed":
                break
        verdict = {"passed": "survived", "found": "caught"}.get(outcome["end"], outcome["end"])
        return Result(
            mutant.id, unit.digest, mutant.edit.kind, unit.language, unit.family, unit.subjects[0][1],
            mutant.before, mutant.after, verdict, stage, outcome["by"], round(seconds, 2), self.commit,
        )  # fmt: skip

    def _stages(self, unit: Unit) -> Iterator[str]:
        """Yields the stages to ask; of those that kernels as they are do not pass there is nothing to learn."""
        stages = STAGES[unit.language]
        if self.depth == "thorough":
            stages = tuple("thorough" if stage == "check" else stage for stage in stages)
        for stage in stages:
            if self.limit(unit, stage) is not None:
                yield stage
                if self.depth == "quick":
                    return

    def limit(self, unit: Unit, stage: str) -> float | None:
        """Returns the seconds that a stage may take, by what it takes with kernels as they are."""
        key = (unit.language, stage, unit.subjects)
        if key not in self.limits:
            outcome = self._asked(unit, stage, _as_it_is(unit, stage), FIRST_LIMIT)
            passes = outcome["end"] == "passed"
            self.limits[key] = AT_LEAST + TIMES * outcome["seconds"] if passes else None
            if not passes:
                print(f"{unit}: as it is, {stage} gives {outcome['end']}: {outcome['by']}", file=sys.stderr, flush=True)
        return self.limits[key]

    # Any: of JSON.
    def _asked(self, unit: Unit, stage: str, text: str, limit: float | None) -> dict[str, Any]:
        worker = self._worker(unit.language == "cuda")
        assert worker.stdin is not None and worker.stdout is not None
        task = {"file": unit.file, "text": text, "subjects": unit.subjects, "language": unit.language}
        worker.stdin.write(json.dumps({**task, "stage": stage, "limit": limit}) + "\n")
        worker.stdin.flush()
        answer = worker.stdout.readline()
        if not answer:
            raise RuntimeError(f"{unit}: expected an answer of the worker, it ended with {worker.wait()}")
        read: dict[str, Any] = json.loads(answer)
        return read

    def _worker(self, simulated: bool) -> subprocess.Popen[str]:
        if simulated not in self._workers:
            command = [sys.executable, "-m", "benchmarks.kernel_mutation.worker", str(self.folder)]
            env = {
                **os.environ,
                "OPSDK_CACHE_DIR": str(self.folder.parent / "cache"),
                "OPENBLAS_NUM_THREADS": "1",
                "PYTHONDONTWRITEBYTECODE": "1",  # an edited file may be as long as it was, and as old
                "NUMBA_ENABLE_CUDASIM": str(int(simulated)),
            }
            self._workers[simulated] = subprocess.Popen(
                command, cwd=REPOSITORY, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
        return self._workers[simulated]


def _as_it_is(unit: Unit, stage: str) -> str:
    """Returns the text of a unit with a comment that is its own, so that it is compiled as an edited one has to be."""
    told = f"{stage} {' '.join(name for _, name in unit.subjects)}"
    return f"{unit.text}\n/* {told} */\n" if unit.language == "c" else f"{unit.text}\n# {told}\n"


def in_turns(lists: Iterable[list[Mutant]]) -> Iterator[Mutant]:
    """Yields the first mutant of each function, then the second of each: whenever time is up, all were looked at."""
    waiting = [list(reversed(each)) for each in lists]
    while waiting := [each for each in waiting if each]:
        yield from [each.pop() for each in waiting]
