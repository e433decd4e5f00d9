import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ProgramError, ShapeError


def test_data_is_float32_unless_said_otherwise():
    assert static.data("x", [None, 3]).dtype == np.float32


def test_data_carries_no_gradient():
    assert static.data("x", [None, 3]).stop_gradient is True


def test_none_and_minus_one_both_mean_any_size():
    assert static.data("x", [None, -1, 3]).shape == (-1, -1, 3)


def test_data_appears_in_the_main_program_only(main, startup):
    static.data("x", [None, 3])
    assert (list(main.global_block().vars), list(startup.global_block().vars)) == (["x"], [])


@pytest.mark.parametrize("shape", [None, 3, "3"])
def test_a_shape_is_a_sequence(shape):
    with pytest.raises(ProgramError, match="data 'x': shape expected a list or tuple, got"):
        static.data("x", shape, "float32")


def test_a_negative_size_is_refused():
    with pytest.raises(ShapeError, match="dimension 1 expected a size ≥ 0, or None"):
        static.data("x", [None, -3], "float32")


def test_a_name_is_a_text():
    with pytest.raises(ProgramError, match="data: name expected a text, the key in feed, got int"):
        static.data(3, [2], "float32")


def test_declaring_the_same_data_again_returns_it():
    made = static.data("x", [None, 3], "float32")
    assert static.data("x", [None, 3], "float32") is made


def test_declaring_it_again_with_another_shape_is_refused():
    static.data("x", [None, 3], "float32")
    with pytest.raises(ProgramError, match=r"variable 'x': expected float32 \(\?, 3\), as it was created before"):
        static.data("x", [None, 4], "float32")


def test_the_name_of_a_variable_that_is_no_data_is_refused(block):
    block.create_var("x", [None, 3], "float32")
    with pytest.raises(ProgramError, match="got that of a temporary variable for a data one"):
        static.data("x", [None, 3], "float32")


def test_levels_of_detail_are_refused():
    with pytest.raises(ProgramError, match="data 'x': lod_level expected 0, got 1; pad or pass lengths"):
        static.data("x", [None, 3], "float32", lod_level=1)


def test_a_spec_reads_unknown_sizes_as_minus_one():
    assert static.InputSpec([None, 3]).shape == (-1, 3)


def test_a_spec_is_float32_unless_said_otherwise():
    assert static.InputSpec([None, 3]).dtype == np.float32


def test_a_spec_of_an_array_takes_its_shape_and_dtype():
    spec = static.InputSpec.from_numpy(np.zeros((2, 3), np.int64), "x")
    assert spec == static.InputSpec([2, 3], "int64", "x")


def test_a_spec_of_a_tensor_takes_its_shape_and_dtype():
    assert static.InputSpec.from_tensor(opsdk.to_tensor([1.0, 2.0])) == static.InputSpec([2], "float32")


def test_a_spec_of_a_variable_keeps_unknown_sizes():
    assert static.InputSpec.from_tensor(static.data("x", [None, 3])).shape == (-1, 3)


def test_batch_adds_a_dimension_in_front():
    assert static.InputSpec([3], "int64", "x").batch(8) == static.InputSpec([8, 3], "int64", "x")


def test_unbatch_takes_the_first_dimension_off():
    assert static.InputSpec([8, 3], "int64", "x").unbatch() == static.InputSpec([3], "int64", "x")


def test_unbatch_of_a_scalar_is_refused():
    with pytest.raises(ShapeError, match=r"InputSpec.unbatch: expected at least one dimension, got shape \(\)"):
        static.InputSpec([]).unbatch()


@pytest.mark.parametrize(
    "other", [static.InputSpec([3]), static.InputSpec([2], "int64"), static.InputSpec([2], name="y"), 2]
)
def test_specs_that_differ_are_not_equal(other):
    assert static.InputSpec([2]) != other


def test_equal_specs_hash_alike():
    assert hash(static.InputSpec([None, 2])) == hash(static.InputSpec([-1, 2]))


def test_a_spec_prints_what_it_says():
    text = "InputSpec(shape=(-1, 3), dtype=float32, name=x, stop_gradient=False)"
    assert repr(static.InputSpec([None, 3], "float32", "x")) == text
