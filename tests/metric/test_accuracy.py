import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.metric import Accuracy, accuracy

SCORES = np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3], [0.2, 0.3, 0.5], [0.4, 0.35, 0.25]], "float32")
LABEL = np.array([1, 2, 0, 1])  # ranks of the labels' scores: first, second, third, second


@pytest.mark.parametrize(("k", "share"), [(1, 0.25), (2, 0.75), (3, 1.0)])
@pytest.mark.parametrize("label", [LABEL, LABEL[:, None]])
def test_accuracy_counts_labels_among_the_k_greatest(k, share, label):
    found = accuracy(opsdk.to_tensor(SCORES), opsdk.to_tensor(label), k)
    assert (found.shape, found.dtype, found.item()) == ([], np.float32, share)
    assert found.stop_gradient
    assert accuracy(SCORES, label, k) == share


def test_accuracy_of_a_program():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, label = static.data("x", [None, 3], "float32"), static.data("label", [None, 1], "int64")
        found = accuracy(x, label)
    (value,) = static.Executor().run(main, feed={"x": SCORES, "label": LABEL[:, None]}, fetch_list=[found])
    assert value == 0.25


def test_k_is_at_least_one():
    with pytest.raises(AttributeValueError, match="accuracy: k expected ≥ 1, got 0"):
        accuracy(SCORES, LABEL, 0)


def test_there_is_one_label_per_row():
    with pytest.raises(ShapeError, match=r"op 'opsdk::accuracy': label expected 4 rows like x, got shape \(3,\)"):
        accuracy(SCORES, LABEL[:3])


def test_accuracy_over_batches():
    metric = Accuracy()
    assert metric.accumulate() == 0.0
    assert metric.update(metric.compute(opsdk.to_tensor(SCORES), opsdk.to_tensor(LABEL[:, None]))) == 0.25
    assert metric.update(metric.compute(SCORES[:1], LABEL[:1])) == 1.0
    assert metric.accumulate() == 0.4
    assert metric.name() == "acc"
    metric.reset()
    assert metric.accumulate() == 0.0


def test_accuracy_for_several_ks():
    metric = Accuracy((1, 2))
    assert metric.compute(SCORES, LABEL).shape == (4, 2)
    metric.update(metric.compute(SCORES, LABEL))
    assert metric.accumulate() == [0.25, 0.75]
    assert metric.name() == ["acc_top1", "acc_top2"]


def test_a_batch_fits_its_labels():
    with pytest.raises(
        ShapeError, match=r"Accuracy: expected scores \(rows, classes\) and one label per row, got \(4, 3\) and \(3,\)"
    ):
        Accuracy().compute(SCORES, LABEL[:3])


@pytest.mark.parametrize("topk", [(), (0,)])
def test_ks_are_at_least_one(topk):
    with pytest.raises(AttributeValueError, match="Accuracy: topk expected numbers ≥ 1, got"):
        Accuracy(topk)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "bool", "float16"])
def test_scores_of_every_dtype_are_ranked(dtype):
    lowest, highest = {"uint8": (0, 255), "int8": (-128, 127)}.get(dtype, (0, 1))
    scores = np.array([[lowest, highest], [highest, lowest], [lowest, lowest]]).astype(dtype)
    label = np.array([1, 0, 0])
    assert float(accuracy(scores, label)) == 1
    assert Accuracy().update(Accuracy().compute(scores, label)) == 1
