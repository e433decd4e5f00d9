"""Polynomials, and where numbers lie in an interval."""

import numpy as np
import pytest

from opsdk.expr.node import Node
from opsdk.expr.primitives.bodies.polynomial import mapped, polynomial
from opsdk.expr.symbol import Symbol


def test_coefficients_come_from_the_constant_one_upwards():
    assert polynomial(2.0, [5.0, -1.0, 3.0]) == 5.0 - 2.0 + 12.0
    np.testing.assert_array_equal(polynomial(np.array([0.0, 1.0]), (1.0, 2.0, 4.0)), [1.0, 7.0])


def test_a_constant_alone_is_that():
    assert polynomial(7.0, [3.0]) == 3.0


def test_of_a_symbol_it_is_a_chain_of_products_and_sums():
    made = polynomial(Symbol(Node("input", (), "x")), [1.0, 2.0, 3.0])
    assert repr(made.node) == "add(mul(add(mul(3.0, x), 2.0), x), 1.0)"


@pytest.mark.parametrize(("x", "wanted"), [(2.0, -1.0), (6.0, 1.0), (4.0, 0.0), (10.0, 3.0)])
def test_an_interval_is_mapped_onto_minus_one_to_one(x, wanted):
    assert mapped(x, 4.0, 2.0) == wanted
