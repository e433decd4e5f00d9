"""Shapes and dtypes of row ops, from the roles of their inputs and results."""

import numpy as np
import pytest

from opsdk.core.errors import ShapeError
from opsdk.core.spec import TensorSpec
from opsdk.define.schema.parse import parse_schema
from opsdk.expr.row.row import COLUMN, FLAT, FULL, ROW
from opsdk.expr.row.row_infer import RowInfer

THREE = parse_schema("t::f(Tensor x, Tensor w, Tensor m) -> (Tensor a, Tensor b, Tensor c)", "t")


def inferred(shapes, dtypes=("float64",) * 3, fixed=(), **attrs):
    rule = RowInfer((FULL, COLUMN, ROW), (FULL, ROW, FLAT), fixed)
    specs = [TensorSpec(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
    return rule(THREE, specs, attrs)


def shapes(*given, **options):
    return [spec.shape for spec in inferred(given, **options)]


def test_results_are_full_or_have_one_element_a_row_with_the_axis_or_without():
    assert shapes((2, 3, 4), (4,), (2, 3, 1)) == [(2, 3, 4), (2, 3, 1), (2, 3)]


def test_rows_lie_along_the_axis_that_the_call_names():
    assert shapes((2, 3, 4), (3,), (2, 1, 4), axis=1) == [(2, 3, 4), (2, 1, 4), (2, 4)]
    assert shapes((2, 3, 4), (2,), (1, 3, 4), axis=-3) == [(2, 3, 4), (1, 3, 4), (3, 4)]


def test_open_sizes_are_carried_through_and_fit_what_is_known():
    assert shapes((None, 4), (None,), (2, 1)) == [(None, 4), (None, 1), (None,)]


@pytest.mark.parametrize(
    ("dtypes", "wanted"),
    [
        (("float32", "float32", "float64"), "float32"),  # one number a row says nothing of the dtype
        (("float32", "float64", "float32"), "float64"),
        (("int32", "int64", "float64"), "float32"),
        (("bool", "float32", "float64"), "float32"),
        (("bool", "bool", "float64"), "float32"),
        (("int64", "float32", "float64"), "float32"),
    ],
)
def test_the_dtype_is_that_of_what_has_a_number_per_position_whole_numbers_give_float32(dtypes, wanted):
    assert {spec.dtype for spec in inferred([(2, 4), (4,), (2, 1)], dtypes)} == {np.dtype(wanted)}


def test_what_carries_no_gradient_may_come_without_the_axis():
    assert shapes((2, 4), (4,), (2,), fixed=("m",)) == [(2, 4), (2, 1), (2,)]
    with pytest.raises(ShapeError, match=r"'t::f': input 'm' expected shape \(2, 1\) beside x \(2, 4\), got \(2,\)"):
        shapes((2, 4), (4,), (2,))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (((2, 4), (3,), (2, 1)), r"input 'w' expected shape \(4,\) beside x \(2, 4\), got \(3,\)"),
        (((2, 4), (4,), (2, 4)), r"input 'm' expected shape \(2, 1\) beside x \(2, 4\), got \(2, 4\)"),
        (((), (4,), (2, 1)), r"op 't::f': input 'x' expected at least one axis, got shape \(\)"),
    ],
)
def test_shapes_that_do_not_fit_their_role_are_refused(given, said):
    with pytest.raises(ShapeError, match=said):
        shapes(*given)
