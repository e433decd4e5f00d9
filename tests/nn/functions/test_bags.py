import numpy as np
import pytest

from opsdk.nn import functional as F
from tests.nn.in_runtimes import check

TABLE = np.sin(1 + np.arange(18.0)).reshape(6, 3)
BAGS = np.array([[1, 4], [2, 5]])
LINE, OFFSETS = np.array([1, 4, 2, 0, 3]), np.array([0, 2, 2])
FACTORS = np.array([0.5, 2.0, -1.0, 1.5, 0.25])
SPLIT = [TABLE[[1, 4]], TABLE[:0], TABLE[[2, 0, 3]]]


def of_each(reduce, parts):
    return np.array([reduce(part, 0) if len(part) else np.zeros(3) for part in parts])


CASES = {
    "mean": (lambda w: F.embedding_bag(BAGS, w), [TABLE], TABLE[BAGS].mean(1)),
    "sum": (lambda w: F.embedding_bag(BAGS, w, mode="sum"), [TABLE], TABLE[BAGS].sum(1)),
    "max": (lambda w: F.embedding_bag(BAGS, w, mode="max"), [TABLE], TABLE[BAGS].max(1)),
    "mean of a line": (lambda w: F.embedding_bag(LINE, w, OFFSETS), [TABLE], of_each(np.mean, SPLIT)),
    "max of a line": (lambda w: F.embedding_bag(LINE, w, OFFSETS, mode="max"), [TABLE], of_each(np.max, SPLIT)),
    "sum of a line with its end": (
        lambda w, f: F.embedding_bag(
            LINE, w, np.array([0, 2, 5]), mode="sum", per_sample_weights=f, include_last_offset=True
        ),
        [TABLE, FACTORS],
        [FACTORS[:2] @ SPLIT[0], FACTORS[2:] @ SPLIT[2]],
    ),
    "without padding": (
        lambda w: F.embedding_bag(LINE, w, OFFSETS, padding_idx=-6),
        [TABLE],
        [SPLIT[0].mean(0), np.zeros(3), TABLE[[2, 3]].mean(0)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_bags_are_reduced_in_every_runtime(name):
    check(*CASES[name])


WRONG = {
    "mode": (lambda: F.embedding_bag(BAGS, TABLE, mode="x"), "embedding_bag: mode expected mean, sum or max, and sum"),
    "factors": (
        lambda: F.embedding_bag(BAGS, TABLE, per_sample_weights=FACTORS),
        "embedding_bag: mode expected mean, sum or max, and sum with per_sample_weights, got 'mean'",
    ),
    "line": (lambda: F.embedding_bag(LINE, TABLE), "embedding_bag: input expected shape (bags, size), or (rows,) with"),
    "offsets": (
        lambda: F.embedding_bag(LINE, TABLE, np.array([1, 2])),
        "embedding_bag: offsets expected to grow from 0 to 5 at most, got [1 2]",
    ),
    "option": (lambda: F.embedding_bag(BAGS, TABLE, max_norm=1.0), "embedding: expected max_norm=None"),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert text in str(caught.value)
