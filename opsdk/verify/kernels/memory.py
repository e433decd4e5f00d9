"""Memory: kernels held to their arrays, to what they read as much as to what they write, and to writing all of them.

Compiled code that leaves its arrays corrupts memory, or computes with what lies there, and the numbers may come out
right all the same. A kernel is tried where that shows before it runs anywhere else: the Python text of a Numba kernel
and the simulator of CUDA raise; what is compiled runs in memory that ends, and then begins, at a page that nobody may
touch. Its outputs hold NaN before, or a large number, and what depends on which is an element that it never wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np

from gradcheck.report import counted
from opsdk.backends.call import first_call
from opsdk.backends.call.buffers import infer_buffers, unneeded
from opsdk.backends.call.checked import checked_first
from opsdk.backends.call.language import Launch, language_of
from opsdk.backends.memory.guarded import GUARD, GuardedMemory, Touch, filling, watcher
from opsdk.backends.numba.text import place_of
from opsdk.core.nested import named, refill
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs import calls
from opsdk.verify.inputs.calls import Call, copies
from opsdk.verify.kernels.agreement import LAST
from opsdk.verify.report import UNWRITTEN
from opsdk.verify.session import Case

_COMPILED = "compiled it reads or overwrites what lies there"
_REMEDY = "end its loops at the sizes of its arrays"
_FAR = (  # where nobody can go on
    "{}, kernel {}: expected it to stay inside its arrays at sample {}, it left them by more than "
    f"{GUARD >> 20} MiB, which ends this process: {_REMEDY}; opsdk check judges such ops in processes of their own\n"
)
_SKIPPED = "elements that no loop of it sets: none writes them, or one adds to what was there"
_RACED = f"{_SKIPPED}; or a race, as of threads that add to one element: --thorough tells one"
_NAN, _GREAT, _LEAST = range(3)  # fills of guarded memory
FEW = 512  # elements of a call up to which the text of a Numba kernel runs in Python first, at what is no sample


@dataclass(frozen=True)
class Outside:
    """An access beside an array, in words; the line that it is on, the array and the element, where they are known."""

    message: str
    at: str = ""
    name: str | None = None
    index: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Left:
    """An output of which elements depend on what memory held before, and which they are.

    Args:
        name: of the output.
        where: its elements.
        is_own: whether the kernel read memory of its own, which it had asked for, instead of leaving the output's.
    """

    name: str
    where: np.ndarray
    is_own: bool = False


@dataclass
class Trial:
    """What the trial of a kernel on one call found.

    Args:
        outside: where it left its arrays.
        is_tried: whether that could be looked at.
        left: what depends on what memory held before.
    """

    outside: Outside | None = None
    is_tried: bool = False
    left: Left | None = None


def stays_in_memory(case: Case, *, as_text: bool = True) -> bool:
    """Whether a kernel stays inside its arrays and writes all elements of its outputs; if not, that is a finding.

    Args:
        case: the kernel and the call.
        as_text: whether what stands for a compiled kernel is tried too, which takes time where there are many elements.
    """
    opdef, found = case.opdef, tried(case.opdef, case.kernel, case.call, as_text=as_text)
    if found.is_tried:
        case.did("bounds")
    if not language_of(case.kernel).stays_inside and case.kernel.key.place == "cpu" and isinstance(watcher(), str):
        unseen = f"{opdef.name}, kernel {case.kernel}: what it reads beside its arrays is not watched, {watcher()}"
        case.session.skipped[unseen] = None
    if found.outside is not None:
        tell_outside(case, opdef, case.call, found.outside)
        return False
    if found.left is not None:
        _tell_left(case, found.left)
    return found.left is None


def tell_outside(case: Case, opdef: OpDef, call: Call, outside: Outside) -> None:
    """Finds that a case's kernel, which is of an op, leaves its arrays at a call."""
    message = f"expected it to stay inside its arrays at sample {call}, {outside.message}: {_REMEDY}"
    case.find(
        "bounds",
        f"{opdef.subject}, kernel {case.kernel}: {message}",
        at=outside.at or case.at,
        input=outside.name,
        index=outside.index,
    )


def _tell_left(case: Case, left: Left) -> None:
    """Finds elements of an output that are no values of the inputs; they may look right, or change at every call."""
    name, where = left.name, left.where
    is_watched = not case.session.is_quick and "race" in language_of(case.kernel).watches(case.kernel, compiles=False)
    skipped = _RACED if runs_in_threads(case.kernel) and not is_watched else _SKIPPED
    count, index = int(where.sum()), tuple(map(int, np.argwhere(where)[0]))
    case.did("value")
    case.find(
        f"value.{name}",
        f"{case.opdef.subject}, {calls.called(case.opdef, name)}: wrong in {count} of {where.size} elements, first "
        f"{name}{list(index) if index else ''}: this kernel {UNWRITTEN[left.is_own]}, expected a value",
        index=index,
        cause=LAST if count == 1 and where.size > 1 and bool(where.flat[-1]) else None if left.is_own else skipped,
    )


def runs_in_threads(kernel: Kernel) -> bool:
    """Whether a kernel of the CPU shares its loops between threads."""
    return bool(kernel.options.get("parallel") or kernel.options.get("openmp"))


def tried(opdef: OpDef, kernel: Kernel, call: Call, *, as_text: bool = True) -> Trial:
    """Returns what the trial of a kernel on a call finds; nothing of one that runs as Python."""
    language = language_of(kernel)
    if language.stays_inside and not (language.is_derived and language.has_entry):
        return Trial()
    found = _text(opdef, kernel, call) if as_text else Trial()
    if found.outside is not None:
        return found
    if kernel.key.place == "cpu":
        return _watched(opdef, kernel, call, found)
    if found.is_tried:
        trial = partial(_tried, opdef, kernel, call)
        unwritten = next(first_call.unwritten(opdef, kernel, call.inputs, call.attrs, trial), None)
        found.left = None if unwritten is None else Left(*unwritten)
    return found


def is_inside(opdef: OpDef, kernel: Kernel, call: Call) -> bool:
    """Whether a compiled kernel of the CPU stays inside of its arrays at a call; not where that cannot be looked at.

    Its Python text, which takes time, is tried at few elements, and where pages cannot be watched.
    """
    is_few = sum(array.size for array in calls.flat(call.inputs)) <= FEW or isinstance(watcher(), str)
    found = _text(opdef, kernel, call) if is_few else Trial()
    if found.outside is not None:
        return False
    runs = (run_guarded(opdef, kernel, call, at_end=flag) for flag in (True, False))
    return not any(run.touches for run in runs) and (found.is_tried or not isinstance(watcher(), str))


# Any: one entry per output that the kernel makes.
def _tried(opdef: OpDef, kernel: Kernel, call: Call, fill: int) -> list[Any] | None:
    """Tries what stands for a kernel on memory that holds `fill`; None where that is not possible, or slow."""
    return language_of(kernel).trial(opdef, kernel, copies(call.inputs), complete_attrs(opdef, call.attrs), fill)


def _text(opdef: OpDef, kernel: Kernel, call: Call) -> Trial:
    """Tries what stands for a compiled kernel and raises an IndexError where that would leave its arrays.

    Other exceptions tell nothing: a kernel may use what only its compiler understands.
    """
    try:
        return Trial(is_tried=_tried(opdef, kernel, call, 0) is not None)
    except IndexError as error:
        return Trial(Outside(f"{error}; {_COMPILED}", place_of(error)), is_tried=True)
    except Exception:
        return Trial()


@dataclass
class Run:
    """What a kernel touched beside its arrays, and what it gave, or raised."""

    touches: list[Touch] = field(default_factory=list)
    made: list[Any] | None = None
    raised: Exception | None = None


def run_guarded(
    opdef: OpDef, kernel: Kernel, call: Call, *, at_end: bool = True, fill: int = _NAN, **options: Any
) -> Run:
    """Runs a kernel once in guarded memory."""
    memory, ran = GuardedMemory(at_end=at_end, fill=fill, **options), Run()
    inputs = []
    for name, value in zip(opdef.schema.input_names, call.inputs, strict=True):
        inputs.append(refill(value, iter([memory.holding(array, called) for called, array in named(name, value)])))
    try:
        launch, room = _launch_in(opdef, kernel)
        room[:] = [memory]
        with memory.watched(_FAR.format(opdef.subject, kernel, call)):
            made = launch(*inputs, **complete_attrs(opdef, call.attrs))
        ran.made = list(made) if isinstance(made, tuple) else [made]
    except Exception as error:
        ran.raised = error
    ran.touches = list(memory.touches())
    return ran


@lru_cache(maxsize=16)
def _launch_in(opdef: OpDef, kernel: Kernel) -> tuple[Launch, list[GuardedMemory]]:
    """Returns what launches a kernel, which takes as long to make as a launch, and where to put the memory for it."""
    room: list[GuardedMemory] = []
    launch = language_of(kernel).launch_into(opdef, kernel, lambda shape, dtype: room[0].empty(shape, dtype))
    return checked_first(opdef, kernel, launch), room


def _watched(opdef: OpDef, kernel: Kernel, call: Call, found: Trial) -> Trial:
    """Runs a compiled kernel in memory that ends, and in memory that begins, at a page that nobody may touch."""
    run = partial(run_guarded, opdef, kernel, call)
    runs = []
    for flag, fill in ((True, _NAN), (False, _LEAST)):
        runs.append(run(at_end=flag, fill=fill))
        for touch in runs[-1].touches:  # the next run might go by what it reads there, and crash
            return Trial(leaving(opdef, kernel, call, touch), is_tried=True)
    at_end, at_start = runs
    if at_end.made is None or at_start.made is None:
        return found
    found.is_tried = found.is_tried or not isinstance(watcher(), str)
    fills = (opdef.schema.outputs[i].name in kernel.parameters for i in opdef.schema.fresh_outputs)
    if not (language_of(kernel).is_derived or all(fills)):
        return found  # it makes its own
    found.left = _left(opdef, call, at_end, partial(run, at_end=True), (_NAN, _GREAT))
    if found.left is None and any(_unlike(opdef, call, at_end, at_start)):
        found.left = _left(opdef, call, at_start, partial(run, at_end=False), (_LEAST, _GREAT))
    return found


def leaving(opdef: OpDef, kernel: Kernel, call: Call, touch: Touch) -> Outside:
    """Returns an access beside an array in words, with the line where the kernel's language knows it."""
    language, at = language_of(kernel), ""
    traced = language.traced(kernel)
    if traced is not None:  # once more, line by line, and without the room that alignment leaves behind an output
        again = run_guarded(opdef, traced, call, at_end=touch.index >= 0, aligned=1).touches
        stack = next((one.stack for one in again if one.stack and one.name == touch.name), ())
        at = language.line_at(opdef, traced, stack)
    if isinstance(touch.name, str):
        role, name = f"input {touch.name!r}", touch.name
    else:
        specs = infer_buffers(opdef, call.inputs, complete_attrs(opdef, call.attrs))
        made = [n for i in opdef.schema.fresh_outputs for n, _ in named(opdef.schema.output_names[i], specs[i])]
        role, name = calls.called(opdef, made[touch.name]) if touch.name < len(made) else "an output", None
    message = f"it {touch.access} index {touch.index} of {role}, which has {counted(touch.size, 'element')}"
    return Outside(message, at, name, (touch.index,))


def _left(opdef: OpDef, call: Call, first: Run, run: Callable[..., Run], fills: tuple[int, int]) -> Left | None:
    """Returns the first output that is another where memory held another number before, and in which elements.

    Of elements that are another at each call anyway those count that are as they were before.
    """
    second = run(fill=fills[1])
    unlike = dict(_unlike(opdef, call, first, second))
    if not unlike:
        return None
    moving = dict(_unlike(opdef, call, first, run(fill=fills[0]))) if opdef.traits.deterministic else unlike
    kept = dict(_kept(opdef, call, second, fills[1]))
    for name, where in _kept(opdef, call, first, fills[0]):
        if name in unlike:
            left = unlike[name] & (~moving.get(name, np.False_) | (where & kept[name]))
            if left.any():
                asked = dict(_unlike(opdef, call, first, run(fill=fills[0], asked=fills[1])))
                return Left(name, left, is_own=bool((left & asked.get(name, np.False_)).any()))
    return None


def _unlike(opdef: OpDef, call: Call, first: Run, second: Run) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the outputs in which two runs differ, and in which elements."""
    others = dict(_outputs(opdef, call, second))
    for name, array in _outputs(opdef, call, first):
        other = others.get(name)
        if other is not None and other.shape == array.shape:
            differs = np.asarray((array != other) & ~((array != array) & (other != other)))
            if differs.any():
                yield name, differs


def _kept(opdef: OpDef, call: Call, run: Run, fill: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yields for each output of a run which elements are as they were before."""
    for name, array in _outputs(opdef, call, run):
        number = np.asarray(filling(array.dtype, fill)).astype(array.dtype)
        yield name, np.asarray((array == number) | ((array != array) & (number != number)))


def _outputs(opdef: OpDef, call: Call, run: Run) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the outputs that a run gave, without gradients that nobody wants."""
    left = unneeded(opdef, call.inputs, complete_attrs(opdef, call.attrs))
    for i, made in zip(opdef.schema.fresh_outputs, run.made or (), strict=False):
        if i not in left:
            yield from named(opdef.schema.output_names[i], made)
