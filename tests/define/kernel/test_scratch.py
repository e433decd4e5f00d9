import numpy as np
import pytest

import opsdk
from opsdk.core.errors import BindingError, DefinitionError, LaunchError
from opsdk.define.kernel.scratch import as_scratch
from opsdk.define.schema.parse import parse_schema

SCHEMA = parse_schema("t::f(Tensor x, *, int n) -> Tensor y", "t")


def spec(x, n):
    return opsdk.TensorSpec((*x.shape, n), "float64")


def test_a_function_of_inputs_and_attributes_says_shape_and_dtype():
    made = as_scratch({"room": spec}, SCHEMA, "row")
    assert made["room"].spec({"x": np.zeros((2, 3)), "n": 4, "y": None}) == ((2, 3, 4), np.float64)


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (spec, DefinitionError, "row: scratch expected a dict from names to functions, got <function spec"),
        ({1: spec}, DefinitionError, "row: scratch expected a dict from names to functions, got {1: "),
        ({"y": spec}, DefinitionError, "scratch 'y' expected a name of its own and a function, got the name of an"),
        ({"r": 3}, DefinitionError, "scratch 'r' expected a name of its own and a function, got 3 for it"),
        ({"r": lambda z: z}, BindingError, "row, scratch 'r' .*nothing is called 'z'; there are n, x"),
    ],
)
def test_what_is_no_scratch_is_refused(value, error, message):
    with pytest.raises(error, match=message):
        as_scratch(value, SCHEMA, "row")


@pytest.mark.parametrize("made", [(2, 3), opsdk.TensorSpec((None,), "float32")])
def test_what_is_no_spec_of_known_sizes_is_refused_at_the_launch(made):
    scratch = as_scratch({"r": lambda x: made}, SCHEMA, "row")["r"]
    with pytest.raises(LaunchError, match=r"scratch 'r': expected opsdk.TensorSpec\(shape, dtype\) of known sizes"):
        scratch.spec({"x": np.zeros(2)})


def test_rows_of_the_cpu_have_none():
    op = opsdk.op("t::g(Tensor x) -> Tensor y")(lambda x: x)
    with pytest.raises(DefinitionError, match="scratch is for rows of place 'cuda', got one for 'cpu'"):
        op.kernel("cpu", lambda x, y: None, language="numba", scratch={})
