"""Datasets that worker processes import."""

import os
import random

import numpy as np

import opsdk
from opsdk import io


@opsdk.op
def tripled(x):
    return x * 3


class Numbers(io.Dataset):
    """Sample i is a row of three, as the op of this module gives it, and i."""

    def __init__(self, count=7):
        self.count = count

    def __getitem__(self, index):
        return tripled(np.full(3, index, "float32")), index

    def __len__(self):
        return self.count


class Drawn(io.Dataset):
    """Samples are what the worker draws."""

    def __getitem__(self, index):
        return np.random.rand(), random.random(), opsdk.rand([1]).numpy()[0], io.get_worker_info().id

    def __len__(self):
        return 4


class Stream(io.IterableDataset):
    def __iter__(self):
        info = io.get_worker_info()
        yield from range(7) if info is None else range(info.id, 7, info.num_workers)


class Odd(Exception):
    """One that pickle writes and cannot read."""

    def __init__(self, what, which):
        super().__init__(f"{what} {which}")


class Broken(Numbers):
    """Samples one and three raise; the others end the process."""

    def __getitem__(self, index):
        if index == 1:
            raise KeyError("sample one")
        if index == 3:
            raise Odd("sample", "three")
        os._exit(3)
