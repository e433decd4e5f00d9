"""Peers: the frameworks, each in a process under the interpreter that has it, or named as missing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OURS = "opsdk"
NAMES = (OURS, "torch", "jax", "paddle")
CLOCK = "OPSDK_BENCH_CLOCK"  # of the environment: `cpu` for processor time
BARE = "numpy"  # what costs no framework; it runs under our interpreter


@dataclass(frozen=True)
class Missing:
    """A peer that could not be measured, and why."""

    name: str
    reason: str


class Peer:
    """One running worker.

    Args:
        name: the framework.
        python: the interpreter that has it.
        kind: which of its modules of subjects; `benchmarks/subjects/<name>_<kind>.py`.
        topic: which subjects of the module; all where it is empty.
        environment: variables that the worker gets besides ours.

    Raises:
        RuntimeError: the interpreter cannot be started, or lacks the framework.
    """

    def __init__(
        self,
        name: str,
        python: str,
        kind: str = "relu",
        topic: str = "",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        command = [python, "-m", "benchmarks.worker", f"{name}_{kind}", topic]
        quiet = {"GLOG_v": "0", "GLOG_minloglevel": "2"}
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                env={**ordinary(), **quiet, **(environment or {})},
                text=True,
            )
        except OSError as error:
            raise RuntimeError(f"{name}: {python} cannot be started: {error.strerror}") from error
        answer = self._answer()
        if "error" in answer:
            self.close()
            raise RuntimeError(f"{name}: {answer['error']}")
        self.version: str = answer["version"]
        self.subjects: list[dict] = answer["subjects"]

    def sample(self, subject: str, work: str, seconds: float) -> float:
        """Returns one sample: seconds per call.

        Raises:
            RuntimeError: the statement raised, or the worker died.
        """
        return float(self._asked({"name": subject, "work": work, "seconds": seconds})["seconds"])

    def result(self, subject: str, work: str) -> dict[str, list[float]]:
        """Returns what a subject computes, where that is compared with other frameworks: numbers by name.

        Raises:
            RuntimeError: it raised, or the worker died.
        """
        return dict(self._asked({"name": subject, "work": work})["result"])

    def _asked(self, request: dict) -> dict:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._answer()
        if "error" in answer:
            raise RuntimeError(f"{request['name']}, {request['work']}: {answer['error']}")
        return answer

    def close(self) -> None:
        """Ends the worker."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def _answer(self) -> dict:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line else {"error": "the worker ended without an answer"}


def ordinary() -> dict[str, str]:
    """Returns the environment of a process that finds this checkout first, and byte code where it was run before."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    folders = filter(None, [str(ROOT), inherited.get("PYTHONPATH")])  # else a worker has other packages than we have
    return {**inherited, "PYTHONPATH": os.pathsep.join(folders)}


def interpreters(given: Mapping[str, str]) -> dict[str, str]:
    """Returns the interpreter per framework: given, or named in `OPSDK_BENCH_<NAME>_PYTHON`, or this one."""
    return {
        name: given.get(name) or os.environ.get(f"OPSDK_BENCH_{name.upper()}_PYTHON") or sys.executable
        for name in NAMES
    }


def start(
    wanted: tuple[str, ...],
    given: Mapping[str, str],
    kind: str = "relu",
    topic: str = "",
    environment: Mapping[str, str] | None = None,
    bare: bool = False,
) -> tuple[list[Peer], list[Missing]]:
    """Starts the workers of ours and of every wanted peer that is installed.

    Args:
        wanted: names of peers; ours is always among them.
        given: interpreters by name.
        kind, topic, environment: as a `Peer` takes them.
        bare: whether NumPy alone has a worker too.
    """
    pythons = interpreters(given)
    pythons[BARE] = pythons[OURS]
    running: list[Peer] = []
    missing: list[Missing] = []
    for name in (*NAMES, *([BARE] if bare else [])):
        if name not in (OURS, BARE, *wanted):
            missing.append(Missing(name, "not asked for"))
            continue
        try:
            running.append(Peer(name, pythons[name], kind, topic, environment))
        except RuntimeError as error:
            missing.append(Missing(name, str(error).removeprefix(f"{name}: ")))
    return running, missing
