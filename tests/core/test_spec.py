import json
import math
import operator
import pickle

import numpy as np
import pytest

from opsdk.core.errors import DTypeError, ProgramError, ShapeError
from opsdk.core.spec import HeldSpec, OpenSize, SizeList, SizeTuple, TensorSpec, as_shape, shape_text, shown_shape


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


# -- open sizes --------------------------------------------------------------------------------------------------------


class Named:
    """What has a size: all that an open size asks for is its name."""

    def __init__(self, name):
        self.name = name


@pytest.fixture
def size():
    return shown_shape((2, None), Named("x"))[1]


def test_a_known_size_is_shown_as_it_is():
    assert [type(dim) for dim in shown_shape((2, None), Named("x"))] == [int, OpenSize]


def test_an_open_size_looks_like_minus_one(size):
    assert (repr(size), f"{size:3d}", str((2, size)), hash(size)) == ("-1", " -1", "(2, -1)", hash(-1))


def test_an_open_size_equals_minus_one_none_and_itself(size):
    shape = (2, size)
    assert shape == (2, -1)
    assert shape == (2, size)
    assert list(shape) == [2, None]
    assert (size in (-1,), [size].count(-1), size != -1, size == "text") == (True, 1, False, False)


@pytest.mark.parametrize("number", [0, 1, 4, 2.5, np.int64(3), np.float32(1)])
def test_whether_an_open_size_equals_a_number_is_not_known(size, number):
    for compare in (operator.eq, operator.ne):
        with pytest.raises(ProgramError, match="size 1 of 'x': expected a number to compare with"):
            compare(size, number)


def test_whether_two_open_sizes_are_equal_is_not_known(size):
    other = OpenSize(Named("y"), 0)
    with pytest.raises(ProgramError, match="size 1 of 'x': expected a number to compare with size 0 of 'y', but this"):
        assert size == other


USES = {
    "n * 2": lambda n: n * 2,
    "2 * n": lambda n: 2 * n,
    "2.0 / n": lambda n: 2.0 / n,
    "n // 2": lambda n: n // 2,
    "5 % n": lambda n: 5 % n,
    "n + 1": lambda n: n + 1,
    "1 - n": lambda n: 1 - n,
    "-n": lambda n: -n,
    "n ** 0.5": lambda n: n**0.5,
    "2 ** n": lambda n: 2**n,
    "abs": abs,
    "round": round,
    "divmod": lambda n: divmod(n, 2),
    "n > 0": lambda n: n > 0,
    "n <= 3": lambda n: n <= 3,
    "max": lambda n: max(n, 3),
    "sum": lambda n: sum((2, n)),
    "int": int,
    "float": float,
    "complex": complex,
    "range": range,
    "index": operator.index,
    "slice": lambda n: [1, 2, 3][:n],
    "math.sqrt": math.sqrt,
    "math.prod": lambda n: math.prod((2, n)),
    "math.floor": math.floor,
    "np.sqrt": np.sqrt,
    "np.prod": lambda n: np.prod((2, n)),
    "np.array": lambda n: np.array([2, n]),
    "np.asarray": np.asarray,
    "np.zeros": lambda n: np.zeros((2, n)),
    "np.float32": lambda n: np.float32(2) * n,
    "an array": lambda n: np.ones(3) / n,
    "np.full": lambda n: np.full(2, n),
    "np.arange": np.arange,
    "%d": lambda n: "%d" % n,  # noqa: UP031 - the form that asks for a number
}


@pytest.mark.parametrize("use", USES)
def test_an_open_size_is_never_a_number(size, use):
    with pytest.raises(ProgramError, match="size 1 of 'x': expected a number, but this size is known only when the"):
        USES[use](size)


def test_an_open_size_has_no_truth_value(size):
    with pytest.raises(ProgramError, match="size 1 of 'x': expected a truth value"):
        bool(size)


def test_a_shape_with_open_sizes_makes_a_spec_with_them(size):
    assert TensorSpec((2, size)) == TensorSpec((2, None))


@pytest.mark.parametrize("shape", [None, 1.5, np.array(2.0), len, 1j])
def test_what_is_no_shape_is_refused(shape):
    with pytest.raises(ShapeError, match="shape: expected sizes, got"):
        TensorSpec(shape, "float32")


def test_a_size_that_no_array_has_is_refused():
    with pytest.raises(ShapeError, match="dimension 0 expected a size ≥ 0"):
        TensorSpec([2**63], "float32")


@pytest.mark.parametrize("kind", [SizeList, SizeTuple])
def test_sizes_are_those_of_a_list_and_of_a_tuple(kind):
    sizes = kind([2, 3])
    for same in ([2, 3], (2, 3), SizeList([2, 3]), SizeTuple([2, 3]), TensorSpec((2, 3)).shape):
        assert sizes == same
        assert same == sizes
        assert (sizes != same, same != sizes) == (False, False)
    for other in ([2], (2, 4), [3, 2], 2, None, "23"):
        assert sizes != other
        assert other != sizes
        assert (sizes == other, other == sizes) == (False, False)
    assert sizes[1:] == [3]
    assert sizes[1:] == (3,)
    assert sizes[:] in ([2, 3],)
    assert sizes[0] == 2
    assert [*sizes] == [2, 3]
    assert pickle.loads(pickle.dumps(sizes)) == (2, 3)
    assert json.dumps(sizes) == "[2, 3]"


def test_sizes_print_and_hash_as_what_they_are():
    assert (repr(SizeList([2])), repr(SizeTuple([2]))) == ("[2]", "(2,)")
    assert hash(SizeTuple([2])) == hash((2,))
    with pytest.raises(TypeError, match="unhashable"):
        hash(SizeList([2]))


def test_the_spec_of_a_value_has_its_open_sizes_and_equals_others_of_its_sizes():
    class Value:
        name, spec = "x", TensorSpec([None, 3], "float32")

    held = HeldSpec(Value)
    assert held.shape[0].is_of(Value, 0)
    assert held.owner is Value
    assert held == TensorSpec([None, 3], "float32")
    assert TensorSpec([None, 3], "float32") == held
    assert held not in (3, TensorSpec([None, 3], "float64"))
    assert hash(HeldSpec(type("y", (), {"spec": TensorSpec([2])}))) == hash(TensorSpec([2]))
