"""P8: `import opsdk` in a fresh interpreter, against importing NumPy and the frameworks."""

from __future__ import annotations

import subprocess
import time
from functools import partial

from benchmarks.goals import Goal, judge
from benchmarks.peers import OURS, Missing, interpreters, ordinary
from benchmarks.report import Section, milliseconds
from opsdk.ship.bench.timing import alternate

TITLE = "Import time"
LEAST_ROUNDS = 10
GOALS = (Goal("P8", "import opsdk", "import numpy", 2.0, True, "at most 2 times numpy, whole process"),)
HOW = (
    "A sample is the wall time of one process, `python -c 'import NAME'`, its start included; {rounds} rounds in "
    "rotating order, byte code cached. The frameworks run under the interpreters that have them."
)


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures the imports and returns one section; `seconds` is not used, since a process is one sample."""
    rounds = max(rounds, LEAST_ROUNDS)
    found = interpreters(pythons)
    ours = found[OURS]
    candidates = {"no import": (ours, "pass"), "import numpy": (ours, "import numpy")}
    candidates["import opsdk"] = (ours, "import opsdk")
    candidates["import numba"] = (ours, "import numba")
    candidates.update({f"import {name}": (found[name], f"import {name}") for name in wanted})
    measures, missing = {}, []
    for name, (python, statement) in candidates.items():
        problem = _problem(python, statement)
        if problem:
            missing.append(Missing(name.removeprefix("import "), problem))
        else:
            measures[name] = partial(_sample, python, statement)
    samples = alternate(measures, rounds)
    return [
        Section(
            title=TITLE,
            samples=samples,
            reference="import opsdk",
            unit=milliseconds,
            judged=tuple(judge(goal, samples) for goal in GOALS),
            missing=tuple(missing),
            versions=(),
            how=HOW.format(rounds=rounds),
        )
    ]


def _command(python: str, statement: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([python, "-c", statement], env=ordinary(), capture_output=True, text=True, check=False)


def _problem(python: str, statement: str) -> str:
    try:
        done = _command(python, statement)
    except OSError as error:
        return f"{python} cannot be started: {error.strerror}"
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


def _sample(python: str, statement: str) -> float:
    started = time.perf_counter()
    _command(python, statement)
    return time.perf_counter() - started
