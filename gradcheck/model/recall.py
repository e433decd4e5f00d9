"""Recall: outputs of one forward at moved inputs, kept while several vjps are judged against it.

Kernels of one backward are judged at the same points with the same steps, so that all but the first find the outputs
there. Only what measures derivatives asks for them: whatever looks for state or for repeats calls forward itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gradcheck.model.dtypes import FloatArray

_Key = tuple[object, ...]
_MOST_BYTES = 64 * 2**20  # of outputs and keys; beyond that later ones are computed


class Recall:
    """Outputs by the inputs that they are of; those of a judgement are there for the next ones, not for itself.

    A forward that gives other numbers for inputs that it has seen is no function: nothing of it is kept.
    """

    def __init__(self) -> None:
        self._known: dict[_Key, FloatArray] = {}
        self._fresh: dict[_Key, FloatArray] = {}
        self._room = _MOST_BYTES
        self._is_function = True

    def settle(self) -> None:
        """Ends a judgement."""
        if self._is_function:
            self._known.update(self._fresh)
        self._fresh.clear()

    def find(self, key: _Key) -> FloatArray | None:
        """Gives the outputs that an earlier judgement saw."""
        found = self._known.get(key)
        return None if found is None else found.copy()

    def keep(self, key: _Key, outputs: FloatArray) -> None:
        """Enters outputs that were computed."""
        seen = self._fresh.get(key)
        if seen is not None and seen.tobytes() != outputs.tobytes():
            self._is_function, self._room = False, 0
            self._known.clear()
            self._fresh.clear()
        elif seen is None and self._room > 0:
            self._room -= outputs.nbytes + sum(len(part) for part in key if isinstance(part, bytes))
            self._fresh[key] = outputs.copy()


_RECALL: ContextVar[Recall | None] = ContextVar("gradcheck_recall", default=None)


def recalled() -> Recall | None:
    """Gives what is kept in the block that this is called from, if anything is."""
    return _RECALL.get()


@contextmanager
def one_forward() -> Iterator[None]:
    """Says that all judgements in a `with` block are of one forward, which is a function of its inputs."""
    before = _RECALL.set(Recall())
    try:
        yield
    finally:
        _RECALL.reset(before)


@contextmanager
def one_judgement() -> Iterator[None]:
    """Marks one of these judgements."""
    try:
        yield
    finally:
        kept = _RECALL.get()
        if kept is not None:
            kept.settle()
