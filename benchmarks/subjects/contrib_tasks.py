"""Tasks of the ops of contrib_ops: inputs as networks have them, and what their results are compared with.

Inputs that get a gradient are the floating ones that are named; the cotangent is random, of the shape of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

FORWARD, BOTH = "forward", "forward and backward"
SEED = 23
TOLERANCE = 1e-3  # of the largest element: PyTorch adds in float32 over hundreds of steps
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Task:
    """One op on inputs of one size.

    Args:
        title: what the tables call it.
        op: its name in contrib_ops.
        make: makes its inputs, in order, float32 and int64.
        wrt: the inputs that get a gradient; none where there is no backward to time.
        attrs: its attributes.
    """

    title: str
    op: str
    make: Callable[[np.random.Generator], Arrays]
    wrt: tuple[str, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def directions(self) -> tuple[str, ...]:
        """What is measured."""
        return (FORWARD, BOTH) if self.wrt else (FORWARD,)

    def work(self, direction: str) -> str:
        """Returns the name of what is measured."""
        return f"{self.title}, {direction}"


def _normal(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.standard_normal(shape, dtype=np.float32)


def _boxes(rng: np.random.Generator) -> Arrays:
    corner, size = rng.uniform(2, 24, (256, 2)), rng.uniform(4, 22, (256, 2))
    image = np.sort(rng.integers(0, 2, (256, 1)), axis=0)
    return {
        "input": _normal(rng, 2, 64, 50, 50),
        "boxes": np.hstack([image, corner, corner + size]).astype(np.float32),
    }


def _speech(rng: np.random.Generator) -> Arrays:
    return {
        "logits": _normal(rng, 150, 16, 80),
        "targets": rng.integers(1, 80, (16, 30)),
        "input_lengths": np.full(16, 150),
        "target_lengths": rng.integers(15, 31, 16),
    }


def _words(rng: np.random.Generator) -> Arrays:
    starts = np.sort(rng.integers(0, 16384, 1023))
    return {
        "weight": _normal(rng, 50_000, 64),
        "input": rng.integers(0, 50_000, 16384),
        "offsets": np.concatenate([[0], starts]),
    }


def _definite(count: int, n: int) -> Callable[[np.random.Generator], Arrays]:
    def make(rng: np.random.Generator) -> Arrays:
        x = _normal(rng, count, n, n)
        return {"A": x @ x.swapaxes(1, 2) / n + np.eye(n, dtype=np.float32)}

    return make


def _rows(rows: int, columns: int, *vectors: str) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: {"x": _normal(rng, rows, columns), **{name: _normal(rng, columns) for name in vectors}}


def _angles(rng: np.random.Generator) -> Arrays:
    angles = rng.uniform(0, 6, (512, 32)).astype(np.float32)
    return {"x": _normal(rng, 4, 8, 512, 64), "cos": np.cos(angles), "sin": np.sin(angles)}


def _ragged(rng: np.random.Generator) -> Arrays:
    return {"data": _normal(rng, 16384, 64), "segment_ids": np.sort(rng.integers(0, 1000, 16384))}


def _states(rng: np.random.Generator) -> Arrays:
    batch, channels, states, steps = 2, 128, 16, 128
    return {
        "u": _normal(rng, batch, channels, steps),
        "delta": rng.uniform(0.01, 0.2, (batch, channels, steps)).astype(np.float32),
        "A": -rng.uniform(0.5, 2, (channels, states)).astype(np.float32),
        "B": _normal(rng, batch, states, steps),
        "C": _normal(rng, batch, states, steps),
        "D": _normal(rng, channels),
    }


def _transport(rng: np.random.Generator) -> Arrays:
    return {
        "cost": rng.uniform(size=(200, 200)).astype(np.float32),
        "a": np.full(200, 1 / 200, np.float32),
        "b": np.full(200, 1 / 200, np.float32),
    }


def _quantized(rng: np.random.Generator) -> Arrays:
    return {"x": _normal(rng, 1024, 1024), "scale": np.array([0.05], np.float32)}


def _classes(rng: np.random.Generator) -> Arrays:
    return {"inputs": _normal(rng, 4096, 80), "targets": (rng.uniform(size=(4096, 80)) < 0.02).astype(np.float32)}


def _series(rng: np.random.Generator) -> Arrays:
    x, y = _normal(rng, 8, 48, 1), _normal(rng, 8, 1, 48)
    return {"distances": (x - y) ** 2}


def _overlapping(rng: np.random.Generator) -> Arrays:
    corner = rng.uniform(0, 400, (1000, 2))
    boxes = np.hstack([corner, corner + rng.uniform(20, 80, (1000, 2))]).astype(np.float32)
    return {"boxes": boxes, "scores": rng.uniform(size=1000).astype(np.float32)}


POOLED = {"output_size": [7, 7], "spatial_scale": 1.0, "sampling_ratio": 2, "aligned": True}
TASKS: Sequence[Task] = (
    Task("roi_align, 256 boxes", "roi_align", _boxes, ("input",), POOLED),
    Task("ctc_loss, 150 steps", "ctc_loss", _speech, ("logits",)),
    *(Task(f"embedding_bag {m}", "embedding_bag", _words, ("weight",), {"mode": m}) for m in ("sum", "mean", "max")),
    Task("cholesky 256 × 32 × 32", "cholesky", _definite(256, 32), ("A",)),
    Task("cholesky 512 × 512", "cholesky", _definite(1, 512), ("A",)),
    Task("rms_norm 64 × 256", "rms_norm", _rows(64, 256, "weight"), ("x", "weight")),
    Task("rms_norm 4096 × 1024", "rms_norm", _rows(4096, 1024, "weight"), ("x", "weight")),
    Task("squareplus 1 M", "squareplus", _rows(1024, 1024), ("x",)),
    Task("snake 1 M", "snake", _rows(1024, 1024, "alpha"), ("x", "alpha")),
    Task("focal_loss 4096 × 80", "focal_loss", _classes, ("inputs",)),
    Task("rotary_embedding 1 M", "rotary_embedding", _angles, ("x",)),
    Task("segment_sum 16384 × 64", "segment_sum", _ragged, ("data",), {"num_segments": 1000}),
    Task("segment_softmax 16384 × 64", "segment_softmax", _ragged, ("data",), {"num_segments": 1000}),
    Task("soft_dtw 8 × 48 × 48", "soft_dtw", _series, ("distances",)),
    Task("selective_scan", "selective_scan", _states, ("u", "delta", "A", "B", "C", "D")),
    Task(
        "sinkhorn 200 × 200", "sinkhorn", _transport, ("cost",), {"eps": 0.1, "iterations": 50, "gradient": "unrolled"}
    ),
    Task("topk_straight_through 1 M", "topk_straight_through", _rows(1024, 1024), ("x",), {"k": 32}),
    Task("fake_quantize 1 M", "fake_quantize", _quantized, ("x", "scale")),
    Task("nms, 1000 boxes", "nms", _overlapping, (), {"iou_threshold": 0.5}),
)


@lru_cache(maxsize=1)  # subjects of one task follow each other, and share what nobody writes to
def arrays_of(task: Task) -> Arrays:
    """Returns the inputs of a task."""
    return task.make(np.random.default_rng(SEED))


def cotangent(shape: tuple[int, ...]) -> np.ndarray:
    """Returns what enters the backward of a result of a shape."""
    return np.random.default_rng(SEED + 1).standard_normal(shape, dtype=np.float32)


def unlike(task: Task, got: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> str:
    """Returns where two results of a task differ, value first and then gradients, or nothing."""
    for what, a, b in zip(("value", *task.wrt), got, wanted, strict=True):
        if a.shape != b.shape and a.size != b.size:
            return f"{task.title}, {what}: expected shape {b.shape}, got {a.shape}"
        worst = np.max(np.abs(a.reshape(b.shape) - b)) / np.max(np.abs(b))
        if not worst <= TOLERANCE:
            return f"{task.title}, {what}: expected ours to {TOLERANCE:g} of the largest, got {worst:.2g}"
    return ""


@dataclass(frozen=True)
class Subject:
    """One implementation of a task.

    Args:
        name: what the tables call it.
        task: what it does.
        build: makes the names of its statements from the task and its arrays (any: each framework's own objects).
        texts: statement by direction.
        check: returns what is wrong with its results, or nothing.
    """

    name: str
    task: Task
    build: Callable[[Task, Arrays], dict[str, Any]]
    texts: Mapping[str, str]
    check: Callable[[Task], str] = lambda task: ""
    topic: str = ""

    @property
    def statements(self) -> dict[str, str]:
        """The statement by work."""
        return {self.task.work(d): text for d, text in self.texts.items() if d in self.task.directions}

    def names(self) -> dict[str, Any]:
        """Returns the names of the statements."""
        return self.build(self.task, arrays_of(self.task))

    def problem(self) -> str:
        """Returns what is wrong with the results, or nothing; a wrong one is not timed."""
        try:
            return self.check(self.task)
        except Exception as error:
            return f"{self.task.title}: {type(error).__name__}: {error}"
