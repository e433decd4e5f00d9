import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.metric import Accuracy, Metric, Precision, Recall

SAID = np.array([0.1, 0.5, 0.6, 0.7])  # yes twice, once rightly
SO = np.array([[0], [1], [1], [0]])


def test_precision_and_recall_are_paddles():
    precision, recall = Precision(), Recall("r")
    for metric in (precision, recall):
        metric.update(SAID, SO)
        assert metric.accumulate() == 0.5
        metric.update(*metric.compute(opsdk.to_tensor([[0.9]]), opsdk.to_tensor([1])))
    assert (precision.accumulate(), recall.accumulate()) == (2 / 3, 2 / 3)
    assert (precision.name(), recall.name()) == ("precision", "r")
    recall.reset()
    assert (recall.accumulate(), Precision().accumulate()) == (0.0, 0.0)


@pytest.mark.parametrize(("said", "so"), [([[0.1, 0.2]], [0]), ([0.1], [0, 1]), ([[[0.1]]], [1])])
def test_rows_that_do_not_fit_are_refused_and_not_counted(said, so):
    metric = Recall()
    with pytest.raises(ShapeError, match="Recall: expected one probability and one label per row, got shapes"):
        metric.update(np.array(said), np.array(so))
    assert (metric.tp, metric.fn) == (0, 0)


@pytest.mark.parametrize(("said", "so"), [([1.5], [1]), ([float("nan")], [1]), ([0.5], [2])])
def test_what_is_no_probability_and_no_label_is_refused(said, so):
    with pytest.raises(AttributeValueError, match=r"Precision: expected probabilities in \[0, 1\] and labels 0 or 1"):
        Precision().update(np.array(said), np.array(so))


def test_a_metric_of_ones_own_says_what_it_has_to_define():
    class Mine(Metric):
        pass

    assert issubclass(Accuracy, Metric)
    for method in ("reset", "update", "accumulate", "name"):
        with pytest.raises(NotImplementedError, match=f"metric Mine: expected it to define {method}"):
            getattr(Mine(), method)()
    assert Mine().compute(1, 2) == (1, 2)
