"""What bounds the elementwise ops: arithmetic alone, in cache on one thread, against large arrays on all threads."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from functools import partial

import numpy as np

import opsdk
from benchmarks.report import Section
from benchmarks.subjects.opsdk_large import FUNCTIONS
from opsdk.ship.bench.timing import alternate

TITLE = "What bounds elementwise ops"
OPS = ("relu", "swish", "softplus", "mish", "gelu")
SMALL, LARGE = 1 << 15, 1 << 20  # float32: five arrays of 32768 fill 640 KiB, which the second cache holds
IN_CACHE, ONE, ALL = "32768 elements, one thread", "1 M elements, one thread", "1 M elements, all threads"
HOW = (
    "Nanoseconds per element, {rounds} samples of about {seconds:g} s each. On 32768 elements nothing leaves the "
    "caches: that is the arithmetic and the call; divided by the number of threads it is what arithmetic alone would "
    "take on the large array. ReLU has next to no arithmetic: on all threads it takes what memory allows."
)


def run(rounds: int, seconds: float, wanted: tuple[str, ...], pythons: dict[str, str]) -> list[Section]:
    """Measures each op, forward and with its backward; returns a section for each. Peers have no part in it."""
    before = opsdk.get_flags()["threads"]
    try:
        return [_section(op, both, rounds, seconds) for op in OPS for both in (False, True)]
    finally:
        opsdk.set_flags(threads=before)


def _section(op: str, both: bool, rounds: int, seconds: float) -> Section:
    measures = {
        IN_CACHE: _measure(op, both, SMALL, 1, seconds),
        ONE: _measure(op, both, LARGE, 1, seconds),
        ALL: _measure(op, both, LARGE, 0, seconds),
    }
    return Section(
        title=f"{op}, forward and backward" if both else f"{op}, forward",
        samples=alternate(measures, rounds),
        reference=IN_CACHE,
        unit=nanoseconds,
        judged=(),
        missing=(),
        versions=(),
        how=HOW.format(rounds=rounds, seconds=seconds),
    )


def _measure(op: str, both: bool, size: int, threads: int, seconds: float) -> Callable[[], float]:
    function = FUNCTIONS[op]
    generator = np.random.default_rng(11)
    values = generator.standard_normal(size, dtype=np.float32)
    x = opsdk.to_tensor(values, stop_gradient=not both)
    dy = opsdk.to_tensor(generator.standard_normal(size, dtype=np.float32))

    def call() -> object:
        return opsdk.grad([function(x)], [x], grad_outputs=[dy]) if both else function(x)

    opsdk.set_flags(threads=threads)
    call()  # compiles
    timer = timeit.Timer(call)
    number, taken = timer.autorange()
    number = max(1, round(number * seconds / taken))
    return partial(_sample, timer, number, size, threads)


def _sample(timer: timeit.Timer, number: int, size: int, threads: int) -> float:
    opsdk.set_flags(threads=threads)
    timer.timeit(2)  # wakes the threads
    return timer.timeit(number) / number / size


def nanoseconds(seconds: float) -> str:
    """Returns a time in nanoseconds, with its unit."""
    return f"{seconds * 1e9:.3f} ns"
