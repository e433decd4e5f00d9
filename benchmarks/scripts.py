"""Scripts in fresh processes, in rounds: how long the stages of each took, and the whole process."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers import ROOT, Missing, ordinary
from opsdk.ship.bench.timing import Samples

WHOLE = "whole process"
FOLDER = ROOT / "benchmarks" / "processes"
_CACHES = (
    "OPSDK_CACHE_DIR",
    "NUMBA_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "JAX_COMPILATION_CACHE_DIR",
    "BENCHMARK_CACHE_DIR",  # for scripts whose framework has no variable of its own
)
Stages = dict[str, float]


@dataclass(frozen=True)
class Script:
    """A script that is run in a fresh process.

    Args:
        name: what the tables call it.
        python: the interpreter.
        file: its name in `benchmarks/processes`, or a statement where it has no suffix `.py`.
        rounds: in how many rounds it takes part, the first ones; 0 for all.
    """

    name: str
    python: str
    file: str
    rounds: int = 0


def run(script: Script, caches: Path) -> Stages:
    """Runs a script once and returns the seconds of its stages, with those of the whole process.

    Args:
        script: what to run.
        caches: the folder that everything it compiles is kept in.

    Raises:
        RuntimeError: the interpreter cannot be started, or the script failed.
    """
    environment = {**ordinary(), "GLOG_minloglevel": "2"}
    environment.update({variable: str(caches / variable.lower()) for variable in _CACHES})
    environment["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"  # else nothing quick is kept
    environment["JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES"] = "-1"
    is_file = script.file.endswith(".py")
    command = [script.python, *([str(FOLDER / script.file)] if is_file else ["-c", script.file])]
    started = time.perf_counter()
    try:
        done = subprocess.run(command, env=environment, cwd=caches, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"{script.python} cannot be started: {error.strerror}") from error
    taken = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(([line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"])[-1])
    stages: Stages = json.loads(done.stdout.splitlines()[-1]) if is_file else {}
    return {**stages, WHOLE: taken}


def take(scripts: Sequence[Script], rounds: int, is_warm: bool) -> tuple[dict[str, list[Stages]], list[Missing]]:
    """Runs scripts in rounds, in an order that rotates; returns the stages of every run, and what could not be run.

    Args:
        scripts: what to run.
        rounds: at least 1.
        is_warm: whether a run finds what the one before it has compiled; one run that does not count comes first then.
    """
    runs: dict[str, list[Stages]] = {}
    missing: list[Missing] = []
    folder = Path(tempfile.mkdtemp(prefix="opsdk-bench-"))
    try:
        for turn in range(-1 if is_warm else 0, rounds):
            shift = max(turn, 0) % len(scripts)
            for script in [*scripts[shift:], *scripts[:shift]]:
                if any(gone.name == script.name for gone in missing) or turn >= (script.rounds or rounds):
                    continue
                try:
                    stages = _once(script, folder, is_warm)
                except RuntimeError as error:
                    missing.append(Missing(script.name, str(error)))
                    runs.pop(script.name, None)
                    continue
                if turn >= 0:
                    runs.setdefault(script.name, []).append(stages)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return runs, missing


def _once(script: Script, folder: Path, is_warm: bool) -> Stages:
    if is_warm:
        return run(script, folder)
    with tempfile.TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as empty:
        return run(script, Path(empty))


def stage(runs: dict[str, list[Stages]], name: str) -> Samples:
    """Returns the samples of one stage, of the scripts that have it."""
    return {script: [each[name] for each in found] for script, found in runs.items() if name in found[0]}
