import numpy as np
import pytest

import opsdk
from opsdk.core.errors import BindingError, DefinitionError, LaunchError
from opsdk.define.kernel.launch import Computed, Geometry, as_launch, as_scratch
from opsdk.define.schema.parse import parse_schema

TENSORS = ("x", "y")


def computed(function):
    return as_launch(function, TENSORS, ("n",), "op 't::f', numba kernel")


def test_elementwise_covers_every_element_and_no_block_more():
    shape = opsdk.launch.elementwise("y", threads=128)
    counts = {size: shape.geometry({"y": np.empty(size)}) for size in (1, 128, 129, 256)}
    assert counts == {size: Geometry((blocks,), (128,)) for size, blocks in ((1, 1), (128, 1), (129, 2), (256, 2))}


def test_elementwise_has_no_block_for_no_element():
    assert opsdk.launch.elementwise("y").geometry({"y": np.empty((0, 3))}).grid == (0,)


def test_elementwise_shows_every_array_as_one_dimension():
    shape = opsdk.launch.elementwise("y")
    assert [shape.view_shape("x", s) for s in ((2, 3), (), (4,), (0, 3))] == [(6,), (1,), (4,), (0,)]


def test_rows_has_a_block_for_each_row():
    shape = opsdk.launch.rows("x", threads=64)
    grids = [shape.geometry({"x": np.empty(s)}).grid for s in ((5, 7), (2, 3, 7), (7,), (), (0, 7), (5, 0))]
    assert grids == [(5,), (6,), (1,), (1,), (0,), (5,)]
    assert shape.geometry({"x": np.empty((5, 7))}).block == (64,)


def test_rows_shows_the_tensors_that_it_names_as_matrices_and_others_as_they_are():
    shape = opsdk.launch.rows("x", "y")
    assert [shape.view_shape("y", s) for s in ((2, 3, 4), (4,), ())] == [(6, 4), (1, 4), (1, 1)]
    assert shape.view_shape("w", (2, 3, 4)) == (2, 3, 4)


def test_fixed_is_what_it_was_given_as():
    assert opsdk.launch.fixed(3, 32).geometry({}) == Geometry((3,), (32,))
    assert opsdk.launch.fixed((2, 3), (16, 8)).geometry({}) == Geometry((2, 3), (16, 8))
    assert opsdk.launch.fixed([2], np.int64(8)).geometry({}) == Geometry((2,), (8,))
    assert opsdk.launch.fixed(1, 1).view_shape("x", (2, 3)) == (2, 3)


@pytest.mark.parametrize("threads", [0, -1, 1025, 2.0, True, "256", None])
def test_threads_that_no_device_takes_are_refused(threads):
    for shape in (opsdk.launch.elementwise, opsdk.launch.rows):
        with pytest.raises(DefinitionError) as caught:
            shape("y", threads=threads)
        assert str(caught.value) == (
            f"launch.{shape.__name__}: threads expected a whole number from 1 to 1024, got {threads!r}"
        )


def test_a_launch_takes_tensors_by_name():
    with pytest.raises(DefinitionError, match=r"launch\.elementwise: expected the name of an input or output, got arr"):
        opsdk.launch.elementwise(np.ones(2))
    with pytest.raises(DefinitionError, match=r"launch\.rows: expected the name of an input or output, got 3"):
        opsdk.launch.rows("x", 3)


@pytest.mark.parametrize(
    ("grid", "block", "message"),
    [
        (0, 32, "launch.fixed, grid: expected sizes from 1 to 2147483647, got 0 in 0"),
        ((4, 0), 32, "launch.fixed, grid: expected sizes from 1 to 65535, got 0 in (4, 0)"),
        ((1, 70000), 32, "launch.fixed, grid: expected sizes from 1 to 65535, got 70000 in (1, 70000)"),
        (1.0, 32, "launch.fixed, grid: expected whole numbers, got 1.0"),
        ((1, True), 32, "launch.fixed, grid: expected whole numbers, got (1, True)"),
        ("1", 32, "launch.fixed, grid: expected whole numbers, got '1'"),
        ((1, 1, 1, 1), 32, "launch.fixed, grid: expected 1 to 3 dimensions, got 4 in (1, 1, 1, 1)"),
        ((), 32, "launch.fixed, grid: expected 1 to 3 dimensions, got 0 in ()"),
        (1, 0, "launch.fixed, block: expected sizes from 1 to 1024, got 0 in 0"),
        (1, 1025, "launch.fixed, block: expected sizes from 1 to 1024, got 1025 in 1025"),
        (1, (1, 1, 65), "launch.fixed, block: expected sizes from 1 to 64, got 65 in (1, 1, 65)"),
        (1, None, "launch.fixed, block: expected whole numbers, got None"),
        (
            1,
            (64, 32),
            "launch.fixed: block expected 1024 threads at most, got 2048 in (64, 32); use more blocks of fewer threads",
        ),
    ],
)
def test_a_fixed_launch_that_no_device_takes_is_refused(grid, block, message):
    with pytest.raises(DefinitionError) as caught:
        opsdk.launch.fixed(grid, block)
    assert str(caught.value) == message


def test_a_function_takes_tensors_and_attributes_by_name():
    shape = computed(lambda n, x: ((x.shape[0],), (n, 2)))
    assert isinstance(shape, Computed)
    assert shape.geometry({"x": np.empty((5, 2)), "y": None, "n": 8}) == Geometry((5,), (8, 2))
    assert shape.view_shape("x", (5, 2)) == (5, 2)


def test_a_function_may_give_a_stream_and_shared_memory():
    stream = object()
    assert computed(lambda: (1, 32, stream)).geometry({}) == Geometry((1,), (32,), stream, 0)
    assert computed(lambda: (1, 32, 0, 512)).geometry({}) == Geometry((1,), (32,), None, 512)


def test_a_function_may_give_no_block_which_is_right_where_nothing_is_written():
    assert computed(lambda: (0, 32)).geometry({}).grid == (0,)


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (7, "expected (grid, block), or (grid, block, stream, shared_bytes), from shape, got 7"),
        ("ab", "expected (grid, block), or (grid, block, stream, shared_bytes), from shape, got 'ab'"),
        ((1,), "expected (grid, block), or (grid, block, stream, shared_bytes), from shape, got (1,)"),
        ((1.5, 32), "grid: expected whole numbers, got 1.5"),
        ((-1, 32), "grid: expected sizes from 0 to 2147483647, got -1 in -1"),
        ((1, 0), "block: expected sizes from 1 to 1024, got 0 in 0"),
        ((1, (1024, 2)), "block expected 1024 threads at most, got 2048 in (1024, 2)"),
        ((1, 1, 0, -1), "shared memory expected a number of bytes ≥ 0, got -1"),
        ((1, 1, 0, 1.5), "shared memory expected a number of bytes ≥ 0, got 1.5"),
    ],
)
def test_what_a_function_returns_is_held_to_what_a_device_takes(made, message):
    def shape():
        return made

    with pytest.raises(LaunchError) as caught:
        computed(shape).geometry({})
    assert str(caught.value).startswith("op 't::f', numba kernel, launch")
    assert message in str(caught.value)


@pytest.fixture
def op():
    return opsdk.op(lambda x: x + 1, name="f", namespace="t")


def kernel(x, y):
    raise AssertionError("nothing is launched here")


@pytest.mark.parametrize("shape", [opsdk.launch.elementwise("z"), opsdk.launch.rows("x", "z")])
def test_a_launch_of_a_tensor_that_the_op_does_not_have_is_refused_at_once(op, shape):
    with pytest.raises(DefinitionError) as caught:
        op.kernel("cuda", kernel, language="numba", launch=shape)
    assert str(caught.value) == "op 't::f', numba kernel, launch: nothing is called 'z'; there are x, y"


def test_a_launch_function_that_asks_for_what_the_op_does_not_have_is_refused_at_once(op):
    with pytest.raises(BindingError, match=r"op 't::f', numba kernel, launch .*nothing is called 'z'"):
        op.kernel("cuda", kernel, language="numba", launch=lambda z: (1, 32))


def test_a_launch_that_is_no_launch_is_refused_at_once(op):
    with pytest.raises(DefinitionError) as caught:
        op.kernel("cuda", kernel, language="numba", launch=(1, 32))
    assert str(caught.value) == (
        "op 't::f', numba kernel: expected a launch shape, got (1, 32); pass launch=opsdk.launch.elementwise('y'), "
        "opsdk.launch.rows, opsdk.launch.fixed, or a function that returns (grid, block)"
    )


def test_a_row_of_the_cpu_has_no_launch(op):
    with pytest.raises(DefinitionError, match="a launch shape is for kernels of place 'cuda', got one for 'cpu'"):
        op.kernel("cpu", kernel, language="numba", launch=opsdk.launch.fixed(1, 1))


@pytest.mark.parametrize(("option", "value"), [("paralel", True), ("contiguous", 1)])
def test_an_option_that_a_row_of_the_cpu_does_not_have_is_refused_at_once(op, option, value):
    message = rf"numba kernel: expected options parallel and contiguous, each True or False, got {option}={value}"
    with pytest.raises(DefinitionError, match=message):
        op.kernel("cpu", kernel, language="numba", **{option: value})


def test_a_row_carries_its_launch_as_data(op):
    shape = opsdk.launch.elementwise("y")
    op.kernel("cuda", kernel, language="numba", launch=shape)
    row = op.opdef.kernels.select("cuda", np.dtype("float64"))
    assert row.options["launch"] is shape
    assert (row.parameters, str(row)) == (("x", "y"), "numba (cuda, *)")


def test_a_row_without_a_launch_is_registered_and_refused_only_when_it_runs(op):
    op.kernel("cuda", kernel, language="numba")
    assert op(np.ones(2)).tolist() == [2.0, 2.0]


def test_an_option_that_no_cuda_row_has_is_refused():
    op = opsdk.op("t::misspelt(Tensor x) -> Tensor y")(lambda x: x)
    with pytest.raises(DefinitionError, match=r"expected an option of a CUDA kernel, got 'scrath'; there are "):
        op.kernel("cuda", lambda x, y: None, language="numba", launch=opsdk.launch.elementwise("y"), scrath={})


# -- scratch


def is_array(value):
    return isinstance(value, np.ndarray)


SCHEMA = parse_schema("t::f(Tensor x, *, int n) -> Tensor y", "t")


def spec(x, n):
    return opsdk.TensorSpec((*x.shape, n), "float64")


def test_a_function_of_inputs_and_attributes_says_shape_and_dtype():
    made = as_scratch({"room": spec}, SCHEMA, "row")["room"].made({"x": np.zeros((2, 3)), "n": 4, "y": None}, is_array)
    assert made == opsdk.TensorSpec((2, 3, 4), "float64")


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


def test_it_may_be_an_array_that_is_made_of_the_inputs():
    made = as_scratch({"ends": lambda x: np.cumsum(x)}, SCHEMA, "row")["ends"].made({"x": np.arange(4)}, is_array)
    assert made.tolist() == [0, 1, 3, 6]


@pytest.mark.parametrize("made", [(2, 3), np.float64(2), opsdk.TensorSpec((None,), "float32")])
def test_what_is_no_spec_of_known_sizes_and_no_array_is_refused_at_the_launch(made):
    scratch = as_scratch({"r": lambda x: made}, SCHEMA, "row")["r"]
    with pytest.raises(LaunchError, match=r"scratch 'r': expected opsdk.TensorSpec\(shape, dtype\) of known sizes, or"):
        scratch.made({"x": np.zeros(2)}, is_array)


def test_rows_of_the_cpu_have_none():
    op = opsdk.op("t::g(Tensor x) -> Tensor y")(lambda x: x)
    with pytest.raises(DefinitionError, match="scratch is for kernels of place 'cuda', got one for 'cpu'"):
        op.kernel("cpu", lambda x, y: None, language="numba", scratch={})
