import numpy as np
import pytest

from opsdk.core.errors import DTypeError, ShapeError
from opsdk.core.spec import TensorSpec, as_shape, shape_text


def test_minus_one_and_none_both_mean_an_unknown_size():
    assert as_shape([-1, None, 3]) == (None, None, 3)


def test_one_number_is_a_shape_of_one_dimension():
    assert as_shape(np.int64(4)) == (4,)


@pytest.mark.parametrize("dim", [-2, 1.5, True, "3"])
def test_a_dimension_that_is_no_size_is_refused_with_its_position(dim):
    with pytest.raises(ShapeError) as caught:
        as_shape([2, dim], "InputSpec")
    assert str(caught.value) == (
        f"InputSpec: dimension 1 expected a size ≥ 0, or None for any size, got {dim!r} in {[2, dim]!r}"
    )


def test_a_spec_takes_float32_unless_told():
    assert TensorSpec([2]).dtype == np.float32


def test_a_spec_refuses_what_is_no_dtype():
    with pytest.raises(DTypeError):
        TensorSpec([2], "float33")


def test_the_spec_of_an_array_is_its_shape_and_dtype():
    assert TensorSpec.of(np.zeros((2, 0), "int8")) == TensorSpec((2, 0), "int8")


def test_specs_are_equal_by_value_and_can_be_keys():
    assert len({TensorSpec([None, 2], "float64"), TensorSpec([-1, 2], np.float64)}) == 1


def test_a_spec_cannot_be_changed():
    with pytest.raises(AttributeError):
        TensorSpec([2]).shape = (3,)


@pytest.mark.parametrize(
    ("shape", "fits"), [((5, 3), True), ((0, 3), True), ((5, 4), False), ((3,), False), ((1, 5, 3), False)]
)
def test_a_spec_admits_shapes_that_differ_only_in_unknown_sizes(shape, fits):
    assert TensorSpec([None, 3]).admits(shape) is fits


def test_unknown_sizes_print_as_question_marks():
    assert (shape_text((None, 3)), shape_text((4,)), shape_text(())) == ("(?, 3)", "(4,)", "()")
    assert repr(TensorSpec([None, 3], "int8")) == "int8(?, 3)"


def test_ndim_counts_unknown_sizes_too():
    assert TensorSpec([None, 3]).ndim == 2
