import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import (
    ArityError,
    AttributeValueError,
    ProgramError,
    ShapeError,
    UnknownOpError,
    VariableNotFoundError,
)


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


@pytest.fixture
def out(block):
    return block.create_var("out", [None, 3], "float32")


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [({"dtype": "float32"}, "shape"), ({"shape": [2]}, "dtype"), ({}, "shape")],
)
def test_a_variable_needs_a_shape_and_a_dtype(block, arguments, missing):
    with pytest.raises(ProgramError, match=f"create_var 'v': expected a {missing}, got none; a variable needs"):
        block.create_var("v", **arguments)


def test_a_variable_without_a_name_gets_one(block):
    assert block.create_var(shape=[2], dtype="float32").name == "_generated_var_0"


def test_a_name_that_is_made_is_not_taken(block):
    block.create_var("_generated_var_0", [3], "int64")
    assert block.create_var(shape=[2], dtype="float32").name == "_generated_var_0_1"


@pytest.mark.parametrize("name", ["", 3, b"v"])
def test_a_name_is_a_text_that_is_not_empty(block, name):
    with pytest.raises(ProgramError, match="name expected a text that is not empty"):
        block.create_var(name, [2], "float32")


def test_creating_a_variable_again_returns_it(block):
    made = block.create_var("v", [-1, 2], "float32")
    assert block.create_var("v", [None, 2], "float32") is made


@pytest.mark.parametrize(("shape", "dtype"), [([3], "float32"), ([2], "float64"), ([2, 2], "float32")])
def test_a_name_that_belongs_to_another_shape_or_dtype_is_refused(block, shape, dtype):
    block.create_var("v", [2], "float32")
    with pytest.raises(ProgramError, match=r"variable 'v': expected float32 \(2,\), as it was created before, got"):
        block.create_var("v", shape, dtype)


@pytest.mark.parametrize("kind", [{"persistable": True}, {"is_data": True}])
def test_a_name_that_belongs_to_another_kind_of_variable_is_refused(block, kind):
    block.create_var("v", [2], "float32")
    with pytest.raises(ProgramError, match="'v': expected a free name, got that of a temporary variable"):
        block.create_var("v", [2], "float32", **kind)


def test_a_stopped_gradient_that_was_asked_for_stays_stopped(block):
    weight = static.create_parameter([2], "float32")
    out = block.create_var("out", [2], "float32", stop_gradient=True)
    block.append_op("tanh", {"x": weight}, {"out": out})
    assert out.stop_gradient is True


def test_a_missing_variable_lists_the_nearest(block, x):
    block.create_var("label", [None], "int64")
    with pytest.raises(VariableNotFoundError, match="variable 'labels': not in this block; it has label, x"):
        block.var("labels")


def test_it_tells_whether_it_has_a_variable(block, x):
    assert (block.has_var("x"), block.has_var("y")) == (True, False)


def test_parameters_are_listed_in_the_order_of_their_creation(block):
    names = ["b", "a", "c"]
    for name in names:
        block.create_parameter(name, [2], "float32")
    assert [p.name for p in block.iter_parameters()] == names


def test_a_parameter_of_the_same_name_is_shared(block):
    made = block.create_parameter("w", [2], "float32")
    assert block.create_parameter("w", [2], "float32") is made


def test_a_parameter_needs_known_sizes(block):
    with pytest.raises(ProgramError, match=r"parameter 'w': expected known sizes, got \(None, 2\)"):
        block.create_parameter("w", [None, 2], "float32")


def test_a_parameter_does_not_take_the_name_of_a_variable(block):
    block.create_var("w", [2], "float32")
    with pytest.raises(ProgramError, match="parameter 'w': expected a free name, got that of a variable"):
        block.create_parameter("w", [2], "float32")


def test_it_prints_how_much_is_in_it(block, x):
    x + x
    assert repr(block) == "<block 0: 2 variables, 1 operators>"


def test_append_op_connects_variables_that_exist(fetch, block, x, out):
    block.append_op("relu", {"x": x}, {"out": out})
    rows = np.array([[-1.0, 0.0, 2.0]], np.float32)
    np.testing.assert_array_equal(fetch(out, x=rows), [[0.0, 0.0, 2.0]])


def test_append_op_takes_names_and_paddles_slots(fetch, block, x, out):
    block.append_op(type="relu", inputs={"X": ["x"]}, outputs={"Out": ["out"]})
    np.testing.assert_array_equal(fetch("out", x=np.full((1, 3), -1.0, np.float32)), np.zeros((1, 3)))


def test_append_op_takes_none_for_an_input_that_is_absent(fetch, block, x, out):
    @opsdk.op("test_ops::shift(Tensor x, Tensor? by=None) -> Tensor out")
    def shift(x, by=None):
        return x + (1 if by is None else by)

    block.append_op("test_ops::shift", {"x": x, "by": None}, {"out": out})
    np.testing.assert_array_equal(fetch(out, x=np.zeros((1, 3), np.float32)), np.ones((1, 3)))


def test_append_op_marks_the_outputs_of_a_parameter_as_differentiable(block):
    weight = static.create_parameter([2], "float32")
    out = block.create_var("out", [2], "float32")
    block.append_op("tanh", {"x": weight}, {"out": out})
    assert out.stop_gradient is False


def test_append_op_marks_the_outputs_of_data_alone_as_not_differentiable(block, x, out):
    block.append_op("tanh", {"x": x}, {"out": out})
    assert out.stop_gradient is True


def test_append_op_does_not_freeze_a_parameter_that_it_writes(block):
    weight = static.create_parameter([2], "float32")
    block.append_op("assign", {"x": static.data("v", [2], "float32")}, {"out": weight})
    assert weight.trainable is True


def test_append_op_takes_an_update_without_its_output(fetch, block):
    weight = static.create_parameter([2], "float32", default_initializer=opsdk.nn.initializer.Constant(1.0))
    rate = block.create_constant(np.array([0.5], np.float32))
    grad = block.create_constant(np.array([2.0, 4.0], np.float32))
    block.append_op("sgd", {"param": weight, "grad": grad, "learning_rate": rate})
    np.testing.assert_array_equal(fetch(weight), [0.0, -1.0])


def op_with_wrong_update(block):
    weight = static.create_parameter([3], "float32")
    rate = block.create_constant(np.array([0.5], np.float32))
    grad = block.create_constant(np.ones(3, np.float32))
    other = block.create_var("other", [3], "float32")
    return ("sgd", {"param": weight, "grad": grad, "learning_rate": rate}, {"param_out": other}, None)


def two_inputs_for_one(block):
    return "relu", {"x": ["x", "x"]}, {"out": "out"}, None


def an_output_too_many(block):
    return "relu", {"x": "x"}, {"out": ["out", "out"]}, None


def a_piece_too_few(block):
    @opsdk.op("test_ops::halves(Tensor x) -> Tensor[] out", infer=lambda x: [x, x])
    def halves(x):
        return [x / 2, x / 2]

    return "test_ops::halves", {"x": "x"}, {"out": ["out"]}, None


def of_another_program(block):
    with static.program_guard(static.Program()):
        stranger = static.data("stranger", [None, 3], "float32")
    return "relu", {"x": stranger}, {"out": "out"}, None


MISTAKES = {
    "unknown type": (UnknownOpError, "op 'nope': not registered", ("nope", {"x": "x"}, {"out": "out"}, None)),
    "missing input": (ArityError, "input 'x' expected a tensor, got None", ("relu", {}, {"out": "out"}, None)),
    "missing output": (ProgramError, "output 'out' expected a variable, got none", ("relu", {"x": "x"}, {}, None)),
    "unknown input": (
        ProgramError,
        "op 'opsdk::relu': no input is called 'z'; there are x",
        ("relu", {"x": "x", "z": "x"}, {"out": "out"}, None),
    ),
    "unknown output": (
        ProgramError,
        "no output is called 'y'; there are out",
        ("relu", {"x": "x"}, {"y": "out"}, None),
    ),
    "unknown attribute": (
        ProgramError,
        "op 'opsdk::softmax': no attribute is called 'axes'; there are axis",
        ("softmax", {"x": "x"}, {"out": "out"}, {"axes": 1}),
    ),
    "wrong attribute": (
        AttributeValueError,
        "attribute 'axis' expected int, got 'last'",
        ("softmax", {"x": "x"}, {"out": "out"}, {"axis": "last"}),
    ),
    "unknown variable": (
        VariableNotFoundError,
        "variable 'y': not in this block",
        ("relu", {"x": "y"}, {"out": "out"}, None),
    ),
    "variable of another Program": (
        VariableNotFoundError,
        "op 'opsdk::relu': variable 'stranger' expected in this block, it is not there",
        of_another_program,
    ),
    "no variable": (
        ProgramError,
        "op 'opsdk::relu': expected a Variable or its name, got ndarray",
        ("relu", {"x": np.zeros((1, 3), np.float32)}, {"out": "out"}, None),
    ),
    "wrong output shape": (
        ProgramError,
        r"output 'out' expected float32\(\?, 1\), variable 'out' is float32\(\?, 3\)",
        ("reduce_sum", {"x": "x"}, {"out": "out"}, {"axis": [1], "keepdim": True}),
    ),
    "wrong output dtype": (
        ProgramError,
        r"output 'out' expected float64\(\?, 3\), variable 'out' is float32",
        ("cast", {"x": "x"}, {"out": "out"}, {"dtype": "float64"}),
    ),
    "shapes that do not fit": (
        ShapeError,
        "expected shapes that broadcast",
        ("elementwise_add", {"x": "x", "y": "out4"}, {"out": "out"}, None),
    ),
    "two variables for one input": (ProgramError, "'x' expected one variable, got 2", two_inputs_for_one),
    "two variables for one output": (ProgramError, "'out' expected one variable, got 2", an_output_too_many),
    "a variable too few in a list": (ProgramError, "output 'out' expected 2 variables, got 1", a_piece_too_few),
    "an update into another variable": (
        ProgramError,
        "output 'param_out' expected 'create_parameter_0.w_0', which the op changes in place, got 'other'",
        op_with_wrong_update,
    ),
}


@pytest.mark.parametrize(("kind", "text", "call"), MISTAKES.values(), ids=MISTAKES)
def test_append_op_leaves_the_block_as_it_was_when_something_is_wrong(main, block, state, x, out, kind, text, call):
    block.create_var("out4", [None, 4], "float32")
    call = call(block) if callable(call) else call
    before = state(main)
    with pytest.raises(kind, match=text):
        block.append_op(*call)
    assert state(main) == before


def test_a_call_that_fails_leaves_no_constant_behind(main, state, x):
    before = state(main)
    with pytest.raises(ShapeError, match="expected shapes that broadcast"):
        x + np.ones((7,), np.float32)
    assert state(main) == before


def test_renaming_a_variable_renames_it_in_every_operator(fetch, block, x):
    y = x + 1.0
    z = y * y
    block.rename(y, "sum")
    assert [op.input_arg_names for op in block.ops] == [["x"], ["sum", "sum"]]
    np.testing.assert_array_equal(fetch(z, x=np.ones((1, 3), np.float32)), np.full((1, 3), 4.0))


def test_renaming_a_variable_renames_it_where_a_gradient_is_like_it(fetch, block, x):
    y = x + 1.0
    (grad,) = static.gradients(y * np.float32(3.0), y)
    block.rename(y, "sum")
    np.testing.assert_array_equal(fetch(grad, x=np.ones((1, 3), np.float32)), np.full((1, 3), 3.0))


def test_the_name_of_a_constant_is_not_taken(block, x):
    taken = block.create_var("constant_0", [2], "int64")
    x + np.float32(1.0)
    assert (block.var("constant_0") is taken, block.has_var("constant_0_1")) == (True, True)
