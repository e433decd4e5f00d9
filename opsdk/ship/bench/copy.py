"""Copies of as many bytes as an op moves: what memory allows, on one thread and on all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import numpy as np

from opsdk.ship.bench.result import COPIES


@contextmanager
def copies(moved: int, threads: int) -> Iterator[dict[str, Callable[[], object]]]:
    """Gives a call per way to copy, each of which reads one half of some bytes and writes the other.

    Args:
        moved: bytes.
        threads: at least 1.
    """
    source = np.ones(max(1, moved // 2), np.uint8)
    target = np.zeros_like(source)  # written to once, so that its pages are there
    target[...] = source
    one, several = COPIES
    calls: dict[str, Callable[[], object]] = {one: lambda: np.copyto(target, source)}
    if threads == 1:
        yield calls
        return
    pieces = list(zip(np.array_split(target, threads), np.array_split(source, threads), strict=True))
    with ThreadPoolExecutor(threads - 1) as pool:

        def split() -> None:
            others = [pool.submit(np.copyto, *piece) for piece in pieces[1:]]
            np.copyto(*pieces[0])
            wait(others)

        yield {**calls, several: split}
