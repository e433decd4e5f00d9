import numpy as np
import pytest

from opsdk.core.errors import AttributeValueError
from opsdk.expr.node import Node
from opsdk.expr.row import COLUMN, FULL, INDEX, ROW, ROW_PRIMITIVES, elements, row_mean, row_sum, row_take
from opsdk.expr.symbol import Symbol

A = np.array([[1.0, 3.0, 2.0], [-1.0, -1.0, 0.5]])


def meaning(name, *arrays):
    return ROW_PRIMITIVES[name].meaning(np, *arrays)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("row_sum", [[6.0], [-1.5]]),
        ("row_mean", [[2.0], [-0.5]]),
        ("row_max", [[3.0], [0.5]]),
        ("row_min", [[1.0], [-1.0]]),
        ("row_logsumexp", [[np.log(np.exp([1, 3, 2]).sum())], [np.log(np.exp([-1, -1, 0.5]).sum())]]),
    ],
)
def test_a_reduction_gives_one_number_per_row(name, wanted):
    np.testing.assert_allclose(meaning(name, A), wanted, rtol=1e-15)


def test_logsumexp_neither_overflows_nor_loses_infinities():
    x = np.array([[1000.0, 1000.0], [-np.inf, -np.inf], [np.inf, 0.0], [-np.inf, 2.0]])
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(meaning("row_logsumexp", x).ravel(), [1000 + np.log(2), -np.inf, np.inf, 2.0])


def test_a_row_of_nothing_has_sum_zero_and_no_mean():
    nothing = np.zeros((2, 0))
    assert meaning("row_sum", nothing).tolist() == [[0], [0]]
    assert np.isnan(meaning("row_mean", nothing)).all()
    assert meaning("row_max", nothing).tolist() == [[-np.inf], [-np.inf]]


def test_take_reads_one_position_per_row():
    assert meaning("row_take", A, np.array([[1], [2]])).tolist() == [[3.0], [0.5]]


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_position_outside_of_the_row_is_refused(wrong):
    with pytest.raises(AttributeValueError, match=rf"row_take: position expected in \[0, 3\), got {wrong}"):
        meaning("row_take", A, np.array([[0], [wrong]]))


def test_what_depends_on_elements_is_per_element_unless_it_is_reduced():
    x, w, r = (Symbol(Node("input", (), name)) for name in "xwr")
    roots = [(x * w + r).node, (row_mean(x) * r).node, (row_take(x, r) + 1.0).node, (row_sum(x) * Symbol(INDEX)).node]
    found = elements(roots, {"x": FULL, "w": COLUMN, "r": ROW})
    assert [root in found for root in roots] == [True, False, False, True]
