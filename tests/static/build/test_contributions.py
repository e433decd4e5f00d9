import numpy as np
import pytest

from opsdk import static
from opsdk.static.build.contributions import Contributions

X = ("x", 0)  # the first value of x


@pytest.fixture
def x():
    return static.data("x", [2], "float64")


@pytest.fixture
def sums(block):
    return Contributions(block)


def test_nothing_sums_to_none(sums, x):
    assert sums.total(X) is None


def test_a_fresh_gradient_has_the_name_shape_and_dtype_of_its_variable(sums, x):
    made = sums.fresh(x)
    assert (made.name, made.shape, made.dtype) == ("x@GRAD", (2,), np.float64)


def test_one_part_is_the_whole(block, sums, x):
    part = sums.fresh(x)
    sums.add(X, part)
    assert (sums.total(X) is part, block.ops) == (True, [])


def test_parts_are_summed_once_in_the_order_in_which_they_came(block, sums, x):
    for _ in range(3):
        sums.add(X, sums.fresh(x))
    assert sums.total(X) is sums.total(X)
    assert [op.input("x") for op in block.ops] == [["x@GRAD@RENAME@0", "x@GRAD@RENAME@1", "x@GRAD@RENAME@2"]]


def test_the_sum_takes_the_name_of_the_first_part(sums, x):
    for _ in range(2):
        sums.add(X, sums.fresh(x))
    assert sums.total(X).name == "x@GRAD"


def test_parts_that_a_user_gave_keep_their_names(sums, x):
    given = static.data("given", [2], "float64")
    for part in (given, given):
        sums.add(X, part)
    assert (sums.total(X).name, given.name) == ("x@GRAD", "given")
