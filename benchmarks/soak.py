"""`python -m benchmarks.soak`: a hundred thousand training steps, and whether the memory of the process stays flat.

A step has whatever keeps something from one step to the next: convolution, batch normalisation, dropout, hooks, slices
at random places, one of a thousand shapes, batches from worker processes, an optimizer, a schedule and, every hundred
steps, a second order and a checkpoint.
"""

from __future__ import annotations

import argparse
import gc
import io
import itertools
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import opsdk
from benchmarks.report import machine
from opsdk import nn
from opsdk.io import DataLoader, Dataset
from opsdk.nn import functional as F

# Rows × columns of images: 1,000 shapes, between which no size is like the other one's neighbours.
SHAPES = [(4 + n % 25, 4 + n // 25) for n in range(1000)]
_BATCHES = 250  # of an epoch; its workers are started anew
ALLOWED = 1.01  # of what the process held when a tenth of the steps was done


class Numbers(Dataset):
    """Numbers that a worker process draws."""

    def __getitem__(self, index: int) -> np.ndarray:
        return np.random.default_rng(index).normal(size=8).astype("float32")

    def __len__(self) -> int:
        return 4 * _BATCHES


class Net(nn.Layer):
    """Convolution, normalisation, dropout and a hook; of any size of images."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2D(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2D(4)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(4 + 8, 3)
        self.conv.register_forward_post_hook(lambda layer, inputs, output: output * 1.0)

    def forward(self, image: Any, numbers: Any) -> Any:  # Any: tensors
        """Returns three scores a row."""
        made = self.drop(F.relu(self.norm(self.conv(image))))
        return self.head(opsdk.concat([made.mean([2, 3]), numbers], axis=1))


def steps(workers: int) -> Iterator[None]:
    """Trains without end, a step at a time."""
    draw, net = random.Random(0), Net()
    rates = opsdk.optimizer.lr.CosineAnnealingDecay(1e-3, 1000)
    optimizer = opsdk.optimizer.Adam(rates, parameters=net.parameters())
    labels = opsdk.to_tensor([0, 1, 2, 0])
    done = itertools.count(1)
    while True:
        for numbers in DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=workers):
            height, width = draw.choice(SHAPES)
            whole = opsdk.randn([4, 1, height + 3, width + 3])
            whole.stop_gradient = False
            row, column = draw.randrange(4), draw.randrange(4)
            image = whole[:, :, row : row + height, column : column + width]
            image.register_hook(lambda grad: grad * 2.0)
            loss = F.cross_entropy(net(image, numbers), labels)
            step = next(done)
            if step % 100 == 0:
                (slope,) = opsdk.grad(loss, [net.head.weight], create_graph=True)
                loss = loss + (slope * slope).sum()
                opsdk.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, io.BytesIO())
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            rates.step()
            yield


def resident() -> int:
    """Returns the bytes of memory that the process has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


def held(count: int, workers: int, marks: int = 20) -> list[tuple[int, int, int]]:
    """Trains, and looks now and then.

    Args:
        count: steps.
        workers: processes that make batches.
        marks: how often it is looked, at equal distances.

    Returns:
        Steps done, bytes held, objects that the collector knows.
    """
    found = []
    trained = steps(workers)
    for step in range(1, count + 1):
        next(trained)
        if step % (count // marks) == 0:
            gc.collect()
            found.append((step, resident(), len(gc.get_objects())))
    return found


def grown(found: Sequence[tuple[int, int, int]]) -> float:
    """Returns the largest memory of the last fifth, as a multiple of the largest of the first tenth."""
    early = max(size for _, size, _ in found[: max(1, len(found) // 10)])
    return max(size for _, size, _ in found[-max(1, len(found) // 5) :]) / early


def lines(found: Sequence[tuple[int, int, int]], seconds: float) -> list[str]:
    """Returns the page."""
    count = found[-1][0]
    text = ["# Memory over many steps", "", machine(), ""]
    text += [
        f"Written by `python -m benchmarks.soak --count {count}`, in {seconds / 60:.0f} minutes: convolution, batch "
        "normalisation, dropout, hooks, slices at random places, 1,000 shapes, batches from worker processes, Adam "
        "with a schedule; every hundred steps a second order and a checkpoint.",
        "",
        f"Growth from the first tenth of the steps to the last fifth: {100 * (grown(found) - 1):+.2f} %; "
        f"{100 * (ALLOWED - 1):.0f} % is allowed.",
        "",
        "| steps | MiB | objects |",
        "|---:|---:|---:|",
    ]
    return [*text, *(f"| {step:,} | {size / 2**20:.1f} | {objects:,} |" for step, size, objects in found), ""]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns 1 where memory grew."""
    made = argparse.ArgumentParser("python -m benchmarks.soak", description="Trains for long, and watches the memory.")
    made.add_argument("--count", type=int, default=100_000, help="steps")
    made.add_argument("--workers", type=int, default=1, help="processes that make batches")
    made.add_argument("--out", type=Path, help="where the page is written; printed without it")
    options = made.parse_args(arguments)
    started = time.perf_counter()
    found = held(options.count, options.workers)
    text = "\n".join(lines(found, time.perf_counter() - started)).rstrip() + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text)
    return int(grown(found) > ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
