"""Races of parallel loops: the Python text of a kernel, each step of a `prange` on arrays as no other step has them.

What a step changes is noted and taken back before the next one; at the end of the loop all changes are made. Two steps
that change one element to different values race, whatever order threads take them in. Where the results are other
than those of the steps one after the other, a step reads what another one writes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np

from opsdk.backends.call.language import Fault, NotWatchedError
from opsdk.backends.numba.text import filled
from opsdk.core.lazy import slow
from opsdk.core.nested import each, flat, named
from opsdk.core.origin import shorten
from opsdk.define.identity.referents import added_as_a_whole
from opsdk.define.identity.uncompiled import uncompiled
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

MOST = 4096  # elements of the inputs: Python is slow, and each step looks at all arrays
# Calls of more elements than these run while there are not more than so many in all.
_SMALL, _IN_ALL = 512, 16384
_BY_THREAD = frozenset({"get_thread_id", "get_num_threads"})


# Any, in this file: functions; one entry per input, an array, a list of arrays or None; attribute values.
def races(opdef: OpDef, kernel: Kernel, calls: Sequence[tuple[Sequence[Any], dict[str, Any]]]) -> Iterator[Fault]:
    """Yields the first race of a parallel kernel at calls; larger ones than the text is run on are left out.

    Raises:
        NotWatchedError: there is no text to run, or it asks which thread it is.
    """
    function: Any = getattr(kernel.source, "py_func", kernel.source)
    if _BY_THREAD & set(function.__code__.co_names):
        raise NotWatchedError("its loops go by the number of a thread, which there is none of in Python")
    left = _IN_ALL
    for number, (inputs, attrs) in enumerate(calls):
        size = sum(array.size for array in flat(inputs))
        if size > min(MOST, max(_SMALL, left)):
            continue
        left -= size if size > _SMALL else 0
        apart = Apart()
        try:
            plain = filled(opdef, kernel, _text(function, None), each(inputs, np.copy), attrs, 0)
            made = filled(opdef, kernel, _text(function, apart), each(inputs, np.copy), attrs, 0)
        except Exception as error:
            raise NotWatchedError(f"its Python text does not run, {type(error).__name__}: {error}") from error
        if apart.race:
            yield Fault(number, "race", apart.race, apart.at)
            return
        for i, (one, other) in enumerate(zip(plain, made, strict=True)):
            for (name, first), second in zip(named(opdef.schema.output_names[i], one), flat(other), strict=True):
                if not np.array_equal(first, second, equal_nan=True):
                    told = f"a step of the parallel loop reads what another one writes, which shows in {name!r}"
                    yield Fault(number, "race", told, apart.at)
                    return


def _text(function: Any, apart: Apart | None) -> Any:
    """Returns the Python text of a kernel, in which `numba.prange` is that of `apart`."""
    known: dict[Any, Any] = {}
    text = uncompiled(function, known)
    numba = slow("numba")
    if apart is not None:
        for made in known.values():
            for name, value in list(made.__globals__.items()):
                if value is numba.prange:
                    made.__globals__[name] = apart.steps
                elif value is numba:
                    made.__globals__[name] = _Module(numba, apart)
    return text


class _Module(SimpleNamespace):
    """Numba with another `prange`."""

    def __init__(self, numba: Any, apart: Apart) -> None:
        super().__init__(prange=apart.steps)
        self._numba = numba

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numba, name)


class Apart:
    """The loops of one run.

    Attributes:
        race: what was found, in words; empty before.
        at: the line of the loop that ran last.
    """

    def __init__(self) -> None:
        self.race, self.at = "", ""
        self._is_inside = False

    def steps(self, *bounds: int) -> Iterator[int]:
        """Yields the numbers of a loop; one inside of another runs as Python has it, as Numba does."""
        if self._is_inside:
            yield from range(*bounds)
            return
        frame = sys._getframe(1)
        self.at = f"{shorten(frame.f_code.co_filename)}:{frame.f_lineno}, {frame.f_code.co_name}"
        self._is_inside = True
        arrays = _arrays(frame)
        before = {name: array.copy() for name, array in arrays.items()}
        after: dict[str, dict[int, tuple[int, Any]]] = {name: {} for name in arrays}
        for step in range(*bounds):
            yield step
            for name, array in arrays.items():
                self._note(name, array, before[name], after[name], step)
        for name, array in arrays.items():
            for at, (_, value) in after[name].items():
                array.flat[at] = value
        self._is_inside = False

    def _note(
        self, name: str, array: np.ndarray, before: np.ndarray, after: dict[int, tuple[int, Any]], step: int
    ) -> None:
        """Notes what a step changed in an array, and takes it back."""
        changed = (array != before) & ~((array != array) & (before != before))
        for at in map(int, np.flatnonzero(changed)):
            value = array.flat[at]
            other, theirs = after.setdefault(at, (step, value))
            if other != step and value != theirs and not self.race:
                index = [int(i) for i in np.unravel_index(at, array.shape)]
                place = f"{name}{index if index else ''}, of shape {array.shape}"
                self.race = f"steps {other} and {step} of the parallel loop both write {place}"
        array[...] = before


def _arrays(frame: FrameType) -> dict[str, np.ndarray]:
    """Returns the arrays that a function holds, by name, each memory once; not those that a loop adds up as a whole."""
    # Of what `total += row` binds anew Numba gives each thread one of its own.
    added = set(added_as_a_whole(frame.f_code))
    found: dict[int, tuple[str, np.ndarray]] = {}
    left = set()
    for local, held in frame.f_locals.items():
        for name, value in named(local, held):
            if not isinstance(value, np.ndarray):
                continue
            root = value
            while isinstance(root.base, np.ndarray):
                root = root.base
            if local in added:
                left.add(id(root))
            if id(root) not in found or value is root:
                found[id(root)] = (name, root)
    return {name: root for key, (name, root) in found.items() if key not in left}
