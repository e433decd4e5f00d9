import numpy as np
import pytest

from opsdk.core.errors import AttributeValueError, TraceError
from opsdk.expr.evaluate import evaluate
from opsdk.expr.node import Node, constant
from opsdk.expr.row.row import (
    COLUMN,
    FULL,
    INDEX,
    ROW,
    ROW_PRIMITIVES,
    check_positions,
    elements,
    row_logsumexp,
    row_max,
    row_mean,
    row_min,
    row_sum,
    row_take,
    spread,
)
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


def test_take_reads_the_same_position_of_every_row_and_any_position_of_a_weight():
    assert meaning("row_take", A, 1.0).tolist() == [[3.0], [-1.0]]
    assert meaning("row_take", A[0], np.array([[1.0], [2.0]])).tolist() == [[3.0], [2.0]]


@pytest.mark.parametrize(
    ("index", "text"),
    [
        (np.array([123456789]), "123456789"),
        (np.array([123456789.0]), "123456789"),
        (np.array([2**63 - 1]), "9223372036854775807"),
        (np.array([2**63 + 1], np.uint64), "9223372036854775809"),
        (np.array([1e30]), r"1e\+30"),
        (np.array([np.nan]), "nan"),
    ],
)
def test_a_position_outside_of_the_row_is_reported_as_the_number_that_it_is(index, text):
    with pytest.raises(AttributeValueError, match=rf"row_take: position expected in \[0, 3\), got {text}\n"):
        check_positions(index, 3)


@pytest.mark.parametrize("wrong", [-1, 3])
def test_a_position_outside_of_the_row_is_refused(wrong):
    with pytest.raises(AttributeValueError, match=rf"row_take: position expected in \[0, 3\), got {wrong}"):
        meaning("row_take", A, np.array([[0], [wrong]]))


def test_what_depends_on_elements_is_per_element_unless_it_is_reduced():
    x, w, r = (Symbol(Node("input", (), name)) for name in "xwr")
    roots = [(x * w + r).node, (row_mean(x) * r).node, (row_take(x, r) + 1.0).node, (row_sum(x) * Symbol(INDEX)).node]
    found = elements(roots, {"x": FULL, "w": COLUMN, "r": ROW})
    assert [root in found for root in roots] == [True, False, False, True]


# of a row of three numbers 2, and of a row of nothing
@pytest.mark.parametrize(
    ("reduction", "of_three", "of_nothing"),
    [
        (row_sum, 6.0, 0.0),
        (row_mean, 2.0, np.nan),
        (row_max, 2.0, -np.inf),
        (row_min, 2.0, np.inf),
        (row_logsumexp, 2.0 + np.log(3.0), -np.inf),
    ],
)
@pytest.mark.parametrize("of", ["row", "number"])
def test_a_number_of_the_row_is_reduced_as_a_row_of_equal_elements(reduction, of_three, of_nothing, of):
    value = Symbol(Node("input", (), "r")) if of == "row" else Symbol(constant(2.0))
    (root,) = spread([reduction(value).node], {"r": ROW})
    for size, expected in ((3.0, of_three), (0.0, of_nothing)):
        with np.errstate(all="ignore"):
            (got,) = evaluate([root], {"r": np.array([[2.0]]), "row_size()": size}, np, np.dtype(float))
        np.testing.assert_allclose(np.ravel(got), [expected], rtol=1e-15)


def test_an_element_is_not_taken_of_a_number_of_the_row():
    with pytest.raises(TraceError, match="row_take expected one number per element to take from, got r, one per row"):
        spread([row_take(Symbol(Node("input", (), "r")), 0.0).node], {"r": ROW})
