"""The kernel table of the demonstration: every kernel of its ops, and how long each takes on the CPU.

A kernel is timed as an op that is held to it: the same definition, without the kernels of the other languages.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.backends.call.language import is_usable
from opsdk.core.errors import KernelNotFoundError
from opsdk.define.giving import renewed
from opsdk.define.kernel.kernel import KernelTable
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.ship.demo.device import OnDevice

SIZE = 1_000_000
TITLES = ("op", "kernel", "forward", "backward", "speed")
_BUDGET, _LEAST = 0.15, 5  # seconds spent on a measurement, and calls of which the fastest is told


def table(ops: Sequence[Op], on_device: OnDevice | None) -> list[tuple[str, ...]]:
    """Returns a line for each kernel of each op; speed is that of both directions beside the first op's reference.

    Args:
        ops: each of one input.
        on_device: what the CUDA kernels gave; None where they could not run.
    """
    first = None
    lines: list[tuple[str, ...]] = []
    for op in ops:
        for row in op.opdef.kernels:
            if row.key.place == "cuda":
                lines.append((op.opdef.schema.name, str(row), *_told(op, on_device)))
            elif is_usable(row):
                forward, backward = timed(only(op, row.language))
                first = first or forward + backward
                speed = f"{first / (forward + backward):.1f}×"
                lines.append((op.opdef.schema.name, str(row), _milliseconds(forward), _milliseconds(backward), speed))
    return lines


def timed(op: Op) -> tuple[float, float]:
    """Returns the seconds that forward and backward take on a million float32, the fastest of several calls."""
    x = np.random.default_rng(0).standard_normal(SIZE).astype(np.float32)
    dy = np.ones_like(x)
    y = op(x)
    gradient = op.grad
    assert gradient is not None, op.opdef.name
    named = {op.opdef.schema.input_names[0]: x, op.opdef.schema.output_names[0]: y}
    saved = [named.get(name, dy) for name in gradient.opdef.schema.input_names]
    return fastest(lambda: op(x)), fastest(lambda: gradient(*saved))


def fastest(call: Callable[[], Any]) -> float:  # Any: a result that nobody looks at
    """Returns the seconds of the fastest call; the first one, which may compile, is not counted."""
    call()
    taken: list[float] = []
    end = time.perf_counter() + _BUDGET
    while len(taken) < _LEAST or time.perf_counter() < end:
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)


def _told(op: Op, on_device: OnDevice | None) -> tuple[str, str, str]:
    if on_device is None or on_device.problem:
        return "not run", "not run", "–"
    word = "right" if dict(on_device.right).get(op.opdef.name) else "wrong"
    return (f"{word}, simulated" if on_device.simulated else f"{word}, on the GPU",) * 2 + ("–",)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.2f} ms"


def only(op: Op, language: str) -> Op:
    """Returns an op like this one whose forward and backward have the kernels of one language only.

    Args:
        op: any op; it is left as it is.
        language: `numpy`, `numba`, …

    Raises:
        KernelNotFoundError: the forward or the backward has no such kernel.
    """
    opdef = op.opdef
    kept = _only(opdef, language)
    if opdef.grad is not None:
        kept = renewed(kept, rule=replace(opdef.grad, op=Op(_only(opdef.grad.op.opdef, language))))
    return Op(kept)


def _only(opdef: OpDef, language: str) -> OpDef:
    table = KernelTable()
    for row in opdef.kernels:
        if row.language == language:
            table.add(row)
    if not len(table):
        known = ", ".join(row.language for row in opdef.kernels)
        raise KernelNotFoundError(f"{opdef.subject}: expected a {language} kernel, got kernels in {known}")
    return renewed(opdef, kernels=table)


def row_that_runs(op: Op) -> str:
    """Returns the language of the kernel that a float32 call on the CPU chooses."""
    chosen = op.opdef.kernels.select("cpu", np.dtype("float32"))
    return chosen.language if chosen else "none"
