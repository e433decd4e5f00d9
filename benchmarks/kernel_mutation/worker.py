"""A worker: judges edited kernels in a copy of their packages, each in a forked child, and never imports them itself.

`python -m benchmarks.kernel_mutation.worker FOLDER` reads a task a line and answers with an outcome a line, as JSON.
What took a second to import serves all children. A child ends with the first finding: what follows says no more.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba  # noqa: F401 - for all children
import numpy as np

from opsdk.backends.numba import cpu
from opsdk.define.op import Op
from opsdk.ship.check.command import judged_ops
from opsdk.ship.targets.loading import BrokenDefinitionError
from opsdk.ship.targets.target import resolve
from opsdk.verify import run
from opsdk.verify.inputs.sampling import calls_of
from opsdk.verify.kernels.rows import check_rows
from opsdk.verify.kernels.threads import check_blocks
from opsdk.verify.session import Case, Session
from tests.contrib_ops import planted

MOST = 1000  # characters of a message
ROWS = {"c": ("c",), "numba": ("cpu,numba",), "cuda": ("cuda",)}


def values(op: Op, rows: tuple[str, ...], check: Callable[[Session], None] = check_rows) -> None:
    """Runs the kernels of an op and of its gradient ops and compares them, which is what `verify` does first."""
    for opdef in reversed(list(run.chain(op.opdef))):
        session = Session(opdef, calls_of(opdef, None, 0), 0, 0, rows)  # without a derivative
        with run._unused(opdef), run._whole(session), np.errstate(all="ignore"):
            check(session)


def blocks(op: Op, rows: tuple[str, ...]) -> None:
    """Runs CUDA kernels on more than a block has threads for."""
    values(op, rows, check_blocks)


def whole(op: Op, rows: tuple[str, ...]) -> None:
    """Runs every check of `opsdk check`."""
    run.verify(op, rows=rows)


def thorough(op: Op, rows: tuple[str, ...]) -> None:
    """Runs every check of `opsdk check --thorough`."""
    run.verify(op, rows=rows, level="thorough")


# What is tried of a mutant, in this order, until something is found: (name, with Numba's kernels run as Python, what).
STAGES: dict[str, tuple[bool, Callable[[Op, tuple[str, ...]], None]]] = {
    "python": (True, values),
    "values": (False, values),
    "blocks": (False, blocks),
    "check": (False, whole),
    "thorough": (False, thorough),
}


# Any: of JSON.
def judged(task: dict[str, Any]) -> dict[str, str]:
    """Returns what becomes of a mutant: `found` and by which finding, `passed`, or `invalid`, which is no kernel."""
    as_python, examine = STAGES[task["stage"]]
    Case.find = planted.find_and_end  # type: ignore[method-assign]
    if as_python:
        cpu._compiled = planted.in_python
    try:
        for target, name in task["subjects"]:
            for op in judged_ops(resolve(target)):
                if op.opdef.name == name:
                    examine(op, ROWS[task["language"]])
    except planted.Found as found:
        by = str(found)
        return {"end": "invalid" if by.endswith("::compile") else "found", "by": by}
    except (BrokenDefinitionError, SyntaxError) as error:
        return {"end": "invalid", "by": str(error)[:MOST]}
    except BaseException as error:  # the judge's own; it is told, and no verdict
        return {"end": "broken", "by": f"{type(error).__name__}: {error}"[:MOST]}
    return {"end": "passed", "by": ""}


def in_child(task: dict[str, Any]) -> dict[str, str]:
    """Judges in a forked child; one that ends itself, or takes longer than it may, is found too."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.setsid()
        os.close(reading)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        os.write(writing, json.dumps(judged(task)).encode())
        os._exit(0)
    os.close(writing)
    is_there, _, _ = select.select([reading], [], [], task["limit"])
    said = os.read(reading, 8000) if is_there else b""
    os.close(reading)
    if not is_there:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if said:
        outcome: dict[str, str] = json.loads(said)
        return outcome
    if not is_there:
        return {"end": "found", "by": "takes longer than it may"}
    ended = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else f"status {status}"
    return {"end": "found", "by": f"crashes, {ended}"}


def main(folder: str) -> None:
    """Serves tasks: each puts a text in the place of a file, which is there again afterwards."""
    os.chdir(folder)
    sys.path.insert(0, folder)
    for line in sys.stdin:
        task = json.loads(line)
        file = Path(folder, task["file"])
        kept = file.read_text(encoding="utf-8")
        started = time.perf_counter()
        try:
            file.write_text(task["text"], encoding="utf-8")
            outcome: dict[str, Any] = in_child(task)
        finally:
            file.write_text(kept, encoding="utf-8")
        outcome["seconds"] = round(time.perf_counter() - started, 2)
        print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
