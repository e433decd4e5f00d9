"""Tasks on large arrays: an op, a shape, and how many arrays of that shape it has to move at least."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.subjects.references import REFERENCES

FORWARD, BOTH = "forward", "forward and backward"
STEP = "forward, backward and clear_grad"
SEED = 11
TOLERANCE = 2e-5  # of the largest element: float32, sums of 4096 rows among it
Inputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class Task:
    """One op on arrays of one shape.

    Args:
        title: what the tables call it.
        op: its name among the references.
        topic: the page that it stands on.
        shape: of its input.
        forward, both: arrays of that shape that are read or written at least, by the forward and by both; numbers per
            row or per column do not count.
        directions: what is measured: FORWARD without a graph, BOTH as a call of `grad`, STEP as users train, into the
            `grad` of leaves that is cleared each time.
        is_checked: whether results are compared with the reference; one that another task has checked need not be.
    """

    title: str
    op: str
    topic: str
    shape: tuple[int, ...]
    forward: float
    both: float
    directions: tuple[str, ...] = (FORWARD, BOTH)
    is_checked: bool = True

    def work(self, direction: str) -> str:
        """Returns the name of what is measured."""
        return f"{self.title}, {direction}"

    def moved(self, direction: str) -> float:
        """Returns how many arrays are read or written at least."""
        return self.forward if direction == FORWARD else self.both

    @property
    def has_backward(self) -> bool:
        """Whether any direction asks for gradients."""
        return self.directions != (FORWARD,)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The op's inputs, in order."""
        return REFERENCES[self.op].inputs

    @property
    def differentiable(self) -> tuple[str, ...]:
        """The inputs that get a gradient."""
        return tuple(name for name in self.inputs if name != "label")


MILLION, LARGE, ROWS = (1 << 20,), (1 << 26,), (4096, 1024)
TASKS = (
    Task("relu on 1 M", "relu", "elementwise", MILLION, 2, 5, (FORWARD, STEP)),
    Task("relu on 64 M", "relu", "elementwise", LARGE, 2, 5, (FORWARD,), is_checked=False),
    *(
        Task(f"{op} on 1 M", op, "elementwise", MILLION, 2, 5, (FORWARD, BOTH, STEP))
        for op in ("swish", "softplus", "mish", "gelu")
    ),
    Task("softmax", "softmax", "rows", ROWS, 2, 5),
    Task("cross entropy", "cross_entropy", "rows", ROWS, 1, 3),  # reads logits; reads them again, writes a gradient
    Task("layer norm", "layer_norm", "rows", ROWS, 2, 5),
    Task("rms norm", "rms_norm", "rows", ROWS, 2, 5),
)
# Of a GPU, whose caches hold 1 M elements: that size tells what a call costs, 256 MB what memory allows.
CUDA_OPS = ("relu", "swish", "softplus", "mish", "gelu")
CUDA_TASKS = (
    *(Task(f"{op} on 1 M", op, "cuda", MILLION, 2, 5) for op in CUDA_OPS),
    *(Task(f"{op} on 64 M", op, "cuda", LARGE, 2, 5, is_checked=False) for op in CUDA_OPS),
)


@lru_cache(maxsize=1)  # subjects of one task follow each other, and share what nobody writes to
def arrays_of(task: Task) -> Inputs:
    """Returns inputs and the cotangent `dy`, float32; labels int64."""
    generator = np.random.default_rng(SEED)
    made: Inputs = {}
    for name in task.inputs:
        if name == "label":
            made[name] = generator.integers(0, task.shape[-1], task.shape[0])
        else:
            shape = task.shape if name == "x" else task.shape[-1:]
            made[name] = generator.standard_normal(shape, dtype=np.float32)
    if task.has_backward:
        made["dy"] = generator.standard_normal(task.shape[:1] if task.op == "cross_entropy" else task.shape, np.float32)
    return made


@lru_cache(maxsize=1)
def expected(task: Task) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """Returns value and gradients, computed in float64."""
    given = {name: a.astype(np.float64) if a.dtype.kind == "f" else a for name, a in arrays_of(task).items()}
    given.setdefault("dy", np.ones(task.shape))
    return REFERENCES[task.op].compute(**given)


@dataclass(frozen=True)
class Large:
    """One implementation of a task.

    Args:
        name: what the tables call it.
        task: what it does.
        build: makes the names of its statements from the task and its arrays (any: each framework's own objects).
        texts: statement by direction; one that is missing cannot be done.
        result: the value, and the gradients if the backward can be done, once, as arrays, from the names.
        calls: how many calls a statement makes.
    """

    name: str
    task: Task
    build: Callable[[Task, Inputs], dict[str, Any]]
    texts: Mapping[str, str]
    result: Callable[[dict[str, Any]], tuple[Any, tuple[Any, ...]]]
    calls: int = 1

    @property
    def topic(self) -> str:
        """The page that it stands on."""
        return self.task.topic

    @property
    def statements(self) -> dict[str, str]:
        """The statement by work."""
        return {self.task.work(d): text for d, text in self.texts.items() if d in self.task.directions}

    def names(self) -> dict[str, Any]:
        """Returns the names of the statements."""
        return self.build(self.task, arrays_of(self.task))

    def problem(self) -> str:
        """Returns what is wrong with the results, or nothing; a wrong one is not timed."""
        if not self.task.is_checked:
            return ""
        try:
            value, gradients = self.result(self.names())
        except Exception as error:
            return f"{self.task.title}: {type(error).__name__}: {str(error).strip().splitlines()[:1]}"
        wanted, derivatives = expected(self.task)
        pairs = [("value", value, wanted)]
        pairs += zip(self.task.differentiable, gradients, derivatives, strict=True) if gradients else []
        for what, got, want in pairs:
            if np.shape(got) != want.shape and np.size(got) != want.size:
                return f"{self.task.title}: {what}: expected shape {want.shape}, got {np.shape(got)}"
            worst = np.max(np.abs(np.reshape(got, want.shape) - want)) / np.max(np.abs(want))
            if not worst <= TOLERANCE:
                return f"{self.task.title}: {what}: expected NumPy's to {TOLERANCE:g} of the largest, got {worst:.2g}"
        return ""


def queued(texts: Mapping[str, str], calls: int = 20) -> tuple[dict[str, str], int]:
    """Returns statements that make several calls, one behind the other on a device, and wait for all; and how many."""
    return {
        direction: "\n".join([f"for _ in range({calls}):", *(f"    {line}" for line in text.splitlines()), "wait()"])
        for direction, text in texts.items()
    }, calls


def copied(task: Task, direction: str, arrays: Inputs) -> np.ndarray:
    """Returns an array whose copy moves as many bytes as the task has to."""
    return np.resize(arrays["x"], round(arrays["x"].size * task.moved(direction) / 2))


@dataclass(frozen=True)
class Copy:
    """A copy of as many bytes as a task has to move in one direction: what no implementation can be much faster than.

    Args:
        name, task, build, calls: as of `Large`.
        texts: its one statement, by the direction.
    """

    name: str
    task: Task
    build: Callable[[Task, Inputs], dict[str, Any]]
    texts: Mapping[str, str]
    calls: int = 1

    @property
    def topic(self) -> str:
        """The page that it stands on."""
        return self.task.topic

    @property
    def statements(self) -> dict[str, str]:
        """The statement by work."""
        return {self.task.work(direction): text for direction, text in self.texts.items()}

    def names(self) -> dict[str, Any]:
        """Returns the names of the statement."""
        return self.build(self.task, arrays_of(self.task))

    def problem(self) -> str:
        """Returns nothing: a copy has no result of its own."""
        return ""
