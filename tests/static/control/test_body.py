"""Bodies: closed Programs that are run on arrays and differentiated by themselves."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import DTypeError, PlaceError, ShapeError
from opsdk.static.control.body import Body, as_array


def squared():
    """The body of x² y and 3."""
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x, k = static.data("a", [2]), static.data("k", [], "int64")
        x.stop_gradient = False
        y = x * x
        three = k * 3
    return Body(program, ["a", "k"], [y.name, three.name])


GIVEN = [np.array([3.0, 4.0], np.float32), np.array(2)]


def test_a_body_is_run_on_arrays():
    y, three = squared()(GIVEN)
    assert (y.tolist(), three.tolist()) == ([9.0, 16.0], 6)


def test_its_gradient_takes_cotangents_behind_its_inputs():
    body = squared().gradient([0], [0])
    assert body.inputs[:2] == ("a", "k")
    (slope,) = body([*GIVEN, np.array([1.0, 10.0], np.float32)])
    assert slope.tolist() == [6.0, 80.0]


def test_a_gradient_is_made_once():
    body = squared()
    assert body.gradient([0], [0]) is body.gradient([0], [0])


def test_what_no_output_depends_on_has_zeros_for_its_gradient():
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x, z = static.data("x", [2]), static.data("z", [2])
        x.stop_gradient = z.stop_gradient = False
        y = x * 2.0
    _, unread = Body(program, ["x", "z"], [y.name]).gradient([0, 1], [0])([*GIVEN[:1] * 2, np.ones(2, np.float32)])
    assert unread.tolist() == [0.0, 0.0]


def test_its_specs_are_those_of_its_program():
    body = squared()
    assert [str(spec) for spec in (*body.given, *body.specs)] == [
        str(opsdk.TensorSpec(shape, dtype)) for shape, dtype in ([(2,), "float32"], [(), "int64"]) * 2
    ]
    assert repr(body) == "<body: 2 inputs, 2 operators>"


def test_a_body_takes_what_it_was_built_for():
    with pytest.raises(DTypeError, match=r"control flow: 'a' expected float32\(2,\), as the body was built for it"):
        squared()([GIVEN[0].astype(np.float64), GIVEN[1]])
    with pytest.raises(ShapeError, match=r"control flow: 'a' expected float32\(2,\), .* got float32\(3,\)"):
        squared()([np.ones(3, np.float32), GIVEN[1]])


def test_values_that_are_no_arrays_of_the_host_are_refused():
    with pytest.raises(PlaceError, match="control flow: expected values in host memory, where Programs run"):
        squared()([object(), GIVEN[1]])


def test_numbers_of_python_have_the_dtypes_of_tensors():
    assert [as_array(value).dtype.name for value in (1.5, 2, True, np.float64(1.0))] == [
        "float32",
        "int64",
        "bool",
        "float64",
    ]
