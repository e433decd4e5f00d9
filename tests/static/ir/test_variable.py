import math
import operator

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import DTypeError, MixedRuntimeError, ProgramError


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


ROWS = np.array([[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], np.float32)


def test_an_unknown_size_reads_as_minus_one(x):
    assert x.shape == (-1, 3)


def test_it_tells_its_dtype_and_number_of_dimensions(x):
    assert (x.dtype, x.ndim) == (np.dtype("float32"), 2)


@pytest.mark.parametrize(
    ("use", "text"),
    [
        (bool, r"expected a truth value, but it has no value before an Executor .*; choose with opsdk\.where"),
        (len, "expected a length"),
        (list, "expected elements to iterate over"),
        (float, "expected a number"),
        (int, "expected a number"),
        (np.array, r"expected an array, .* call an op, such as opsdk\.exp"),
        (lambda variable: variable.numpy(), "expected an array"),
        (lambda variable: 1.0 in variable, "expected elements to iterate over"),
    ],
)
def test_it_refuses_to_be_a_value_and_says_how_to_get_one(x, use, text):
    with pytest.raises(ProgramError, match=text) as caught:
        use(x)
    assert str(caught.value).startswith("variable 'x'")
    assert "fetch it with exe.run(program, feed=..., fetch_list=[...])" in str(caught.value)


def test_it_can_be_the_key_of_a_dict(x):
    y = static.data("y", [None, 3], "float32")
    assert {x: 1, y: 2}[y] == 2


CONSTANTS = {
    "array": np.array([1.0, 2.0, 4.0], np.float32),
    "list": [1.0, 2.0, 4.0],
    "float": 2.0,
    "int": 2,
    "NumPy scalar": np.float32(2.0),
}
OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "<": lambda a, b: a < b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}


@pytest.mark.parametrize("constant", CONSTANTS.values(), ids=CONSTANTS)
@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_a_constant_on_the_right_counts_as_in_numpy(fetch, x, operator, constant):
    expected = operator(ROWS, np.asarray(constant, np.float32))
    result = fetch(operator(x, constant), x=ROWS)
    np.testing.assert_array_equal(result, expected, strict=True)


@pytest.mark.parametrize("constant", CONSTANTS.values(), ids=CONSTANTS)
@pytest.mark.parametrize("operator", OPERATORS.values(), ids=OPERATORS)
def test_a_constant_on_the_left_counts_as_in_numpy(fetch, x, operator, constant):
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = operator(np.asarray(constant, np.float32), ROWS)
    result = fetch(operator(constant, x), x=ROWS)
    np.testing.assert_array_equal(result, expected, strict=True)


def test_a_constant_array_is_copied_when_it_is_recorded(fetch, x):
    shift = np.array([1.0, 2.0, 4.0], np.float32)
    y = x + shift
    shift[:] = 100.0
    np.testing.assert_array_equal(fetch(y, x=ROWS), ROWS + np.array([1.0, 2.0, 4.0], np.float32))


def test_lists_of_different_lengths_are_no_constant(x):
    with pytest.raises(DTypeError, match="expected nested lists of equal lengths"):
        opsdk.add(x, [[1.0], [1.0, 2.0]])


@pytest.mark.parametrize("swap", [False, True])
def test_a_dynamic_tensor_beside_it_is_refused(x, swap):
    tensor = opsdk.to_tensor([1.0, 2.0, 3.0])
    with pytest.raises(MixedRuntimeError, match=r"expected .* or constants, got one of the (Program|dynamic) "):
        opsdk.add(*((tensor, x) if swap else (x, tensor)))


def test_methods_append_the_same_ops_as_functions(block, x):
    x.exp().sum(axis=1).reshape([-1, 1])
    assert [operator.type for operator in block.ops] == ["exp", "reduce_sum", "reshape"]


def test_indexing_appends_an_operator(fetch, x):
    np.testing.assert_array_equal(fetch(x[:, 1:], x=ROWS), ROWS[:, 1:])


def test_detach_gives_the_value_and_no_gradient_flows_through(x):
    weight = static.create_parameter([3], "float32")
    assert (x * weight).detach().stop_gradient is True


def test_a_result_of_data_alone_carries_no_gradient(x):
    assert (x * 2.0).stop_gradient is True


def test_a_result_of_a_parameter_carries_a_gradient(x):
    assert (x * static.create_parameter([3], "float32")).stop_gradient is False


def test_a_comparison_carries_no_gradient(x):
    weight = static.create_parameter([3], "float32")
    assert (x > weight).stop_gradient is True


def test_an_integer_result_carries_no_gradient():
    weight = static.create_parameter([2, 3], "float32")
    assert weight.astype("int64").stop_gradient is True


def test_it_prints_as_paddle_prints_it(x):
    assert repr(x) == "var x : DENSE_TENSOR.shape(-1, 3).dtype(float32).stop_gradient(True)"


def test_a_parameter_prints_as_persistent_and_trainable():
    weight = static.create_parameter([2], "float32", name="w")
    assert str(weight) == "persist trainable param w : DENSE_TENSOR.shape(2,).dtype(float32).stop_gradient(False)"


def test_a_frozen_parameter_prints_as_persistent_only():
    weight = static.create_parameter([2], "float32", name="w")
    weight.trainable = False
    assert str(weight) == "persist var w : DENSE_TENSOR.shape(2,).dtype(float32).stop_gradient(True)"


def test_a_constant_prints_as_one(block, x):
    x + np.float32(1.0)
    assert str(block.var("constant_0")).startswith("const var constant_0")


def test_stopping_the_gradient_of_a_parameter_freezes_it():
    weight = static.create_parameter([2], "float32")
    weight.stop_gradient = True
    assert weight.trainable is False


def test_making_a_variable_persistable_keeps_its_value_from_then_on(exe, x):
    total = x.sum()
    feed = {"x": ROWS}
    exe.run(feed=feed)
    total.persistable = True
    exe.run(feed=feed)
    assert np.array(static.global_scope().find_var(total.name).get_tensor()) == ROWS.sum()


# -- open sizes --------------------------------------------------------------------------------------------------------


@pytest.fixture
def images():
    return static.data("images", [None, None, 4], "float32")


def test_a_size_that_only_a_run_can_tell_is_no_number(images):
    with pytest.raises(ProgramError, match="size 0 of 'images': expected a number, but this size is known only when"):
        images.shape[0] * 2


@pytest.mark.parametrize("use", [np.prod, math.prod, np.zeros, sum])
def test_a_shape_with_open_sizes_has_no_count(images, use):
    with pytest.raises(ProgramError, match=r"size [01] of 'images': expected a number"):
        use(images.shape)


@pytest.mark.parametrize("join", [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow])
def test_an_open_size_beside_a_variable_is_no_constant(images, state, main, join):
    before = state(main)
    for left, right in ((images, images.shape[1]), (images.shape[1], images)):
        with pytest.raises(ProgramError, match="size 1 of 'images': expected a number"):
            join(left, right)
    assert state(main) == before


@pytest.mark.parametrize("call", [lambda x: opsdk.sum(x, axis=[x.shape[1]]), lambda x: opsdk.clip(x, 0.0, x.shape[1])])
def test_an_open_size_is_no_attribute(images, call):
    with pytest.raises(ProgramError, match=r"size 1 of 'images': expected a number for op 'opsdk::.*', attribute"):
        call(images)


def test_an_open_size_is_no_bound_of_a_slice(images):
    with pytest.raises(ProgramError, match="size 1 of 'images': expected a number"):
        images[: images.shape[1]]


@pytest.mark.parametrize("reshape", [lambda x, s: x.reshape(s), lambda x, s: x.reshape(*s), opsdk.reshape, np.reshape])
def test_a_reshape_keeps_an_open_size_where_it_is(exe, images, reshape):
    made = reshape(images, [images.shape[0], -1])
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(exe.run(feed={"images": values}, fetch_list=[made])[0], values.reshape(2, 12))


def test_a_reshape_takes_all_sizes_of_another_variable(exe, images):
    flat = static.data("flat", [None], "float32")
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    made = [flat.reshape(images.shape), opsdk.reshape(flat, list(images.shape)), images.reshape(images.shape)]
    assert [value.spec.shape for value in made] == [(None, None, 4)] * 3
    for found in exe.run(feed={"images": values, "flat": values.ravel()}, fetch_list=made):
        np.testing.assert_array_equal(found, values)
    with pytest.raises(ProgramError, match="expected a number for op 'opsdk::reshape', attribute 'shape'"):
        flat.reshape([*images.shape[:2], 2, 2])


def test_a_reshape_refuses_an_open_size_elsewhere(images):
    other = static.data("other", [None, 4], "float32")
    for wanted in ([images.shape[1], -1], [other.shape[0], -1], [2, images.shape[0], -1]):
        with pytest.raises(ProgramError, match="expected a number for op 'opsdk::reshape', attribute 'shape'"):
            images.reshape(wanted)


def test_variables_and_specs_take_a_shape_with_open_sizes(block, images):
    assert block.create_var("like", images.shape, "float32").spec.shape == (None, None, 4)
    assert static.InputSpec(images.shape).spec.shape == (None, None, 4)
    assert static.InputSpec.from_tensor(images).shape == (-1, -1, 4)


def test_an_open_size_of_an_input_spec_is_no_number():
    with pytest.raises(ProgramError, match="size 0 of 'x': expected a number"):
        static.InputSpec([None, 2], name="x").shape[0] + 1


def average(x):
    return x.sum(axis=-1) / x.shape[-1]


@pytest.fixture
def row_average():
    op = opsdk.op("tests::row_average(Tensor x) -> Tensor y", composite=True)(average)
    op.infer(lambda x: opsdk.TensorSpec(x.shape[:-1], x.dtype))
    return op


def test_a_composite_that_computes_with_an_open_size_is_refused(row_average, images):
    images.stop_gradient = False
    with pytest.raises(ProgramError, match="size 2 of 'open': expected a number"):
        opened = static.data("open", [2, 3, None], "float32")
        opened.stop_gradient = False
        row_average(opened)
    assert row_average(images).shape[:1] == (-1,)


def test_a_composite_backward_that_computes_with_an_open_size_is_refused_where_it_is_differentiated():
    @opsdk.op("tests::halves(Tensor x) -> Tensor y")
    def halves(x):
        return x / x.shape[-1]

    @halves.backward(composite=True)
    def halves_grad(x, dy):
        return dy / x.shape[-1]

    x = static.data("x", [2, None], "float32")
    x.stop_gradient = False
    (dx,) = static.gradients(halves(x), [x])
    with pytest.raises(ProgramError, match="size 1 of 'x': expected a number"):
        static.gradients(dx * x, [x])


def test_a_composite_without_gradient_runs_on_arrays_that_have_sizes(exe, row_average):
    made = row_average(static.data("x", [None, None], "float32"))
    np.testing.assert_array_equal(
        exe.run(feed={"x": np.array([[1.0, 2.0, 6.0]], np.float32)}, fetch_list=[made])[0], [3.0]
    )


@pytest.mark.parametrize("attribute", ["name", "shape", "dtype"])
def test_what_a_block_knows_a_variable_by_is_read_alone(block, attribute):
    x = static.data("x", [2], "float32")
    with pytest.raises(AttributeError, match=attribute):
        setattr(x, attribute, "other")
    assert (x.name, block.has_var("x"), x.shape) == ("x", True, (2,))


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("backward", r"optimizer\.minimize\(loss\)"),
        ("grad", r"static\.gradients"),
        ("item", "fetch it"),
        ("cuda", "place"),
    ],
)
def test_what_only_tensors_have_says_what_does_that_in_a_program(name, remedy):
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [2], "float32")
        with pytest.raises(AttributeError, match=rf"variable 'x': \.{name} is of tensors, .*{remedy}"):
            getattr(x, name)
        assert not hasattr(x, "grad")


def test_it_is_asked_and_cast_as_a_tensor_is(x):
    assert [x.size(1), x.dim(), x.ndimension(), x.element_size()] == [x.shape[1], x.ndim, x.ndim, x.dtype.itemsize]
    assert (x.is_floating_point(), x.is_complex(), x.is_integer(), x.is_signed()) == (True, False, False, True)
    assert x.size() == x.shape and x.to(x.dtype) is x and x.type_as(x) is x
    assert [x.long().dtype, x.half().dtype, x.to("float64").dtype] == ["int64", "float16", "float64"]
    assert x.to(x.double()).dtype == "float64"


def test_it_goes_to_no_place_and_does_not_change(x):
    with pytest.raises(ProgramError, match="to: expected a dtype, got place 'cuda:0'; a Program runs where its Exec"):
        x.to("cuda:0")
    with pytest.raises(ProgramError, match=r"relu_: expected a tensor, whose memory can change; .* x = x.relu\("):
        x.relu_()
    with pytest.raises(AttributeError, match="a Variable has no attribute 'nowhere_'"):
        x.nowhere_()
