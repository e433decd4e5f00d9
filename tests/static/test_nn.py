import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, ProgramError

Assign, Constant = opsdk.nn.initializer.Assign, opsdk.nn.initializer.Constant
ROWS = np.array([[1.0, -2.0], [0.5, 3.0]], np.float32)
WEIGHT = np.array([[1.0, 2.0, -1.0], [0.5, -0.5, 4.0]], np.float32)
BIAS = np.array([0.5, 0.0, -1.0], np.float32)


@pytest.fixture
def x():
    return static.data("x", [None, 2], "float32")


def layer(x, **options):
    return static.nn.fc(x, 3, weight_attr=Assign(WEIGHT), bias_attr=Assign(BIAS), **options)


def test_it_multiplies_and_adds(fetch, x):
    np.testing.assert_allclose(fetch(layer(x), x=ROWS), ROWS @ WEIGHT + BIAS, rtol=1e-6)


def softmax(z):
    weights = np.exp(z - z.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


ACTIVATIONS = {
    "relu": lambda z: np.maximum(z, 0),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "tanh": np.tanh,
    "softmax": softmax,
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_activation_is_applied(fetch, x, activation):
    expected = ACTIVATIONS[activation](ROWS @ WEIGHT + BIAS)
    np.testing.assert_allclose(fetch(layer(x, activation=activation), x=ROWS), expected, rtol=1e-5)


def test_an_unknown_activation_is_refused(x):
    with pytest.raises(
        ProgramError, match="fc: activation expected one of relu, sigmoid, tanh, softmax or None, got 'gelu'"
    ):
        layer(x, activation="gelu")


def test_a_bias_can_be_left_out(block, x):
    static.nn.fc(x, 3, bias_attr=False)
    assert [operator.type for operator in block.ops] == ["mul"]


def test_a_weight_cannot_be_left_out(x):
    with pytest.raises(
        ProgramError, match="fc: weight_attr expected a weight, got False; only the bias can be left out"
    ):
        static.nn.fc(x, 3, weight_attr=False)


def test_a_bias_starts_at_zero(exe, startup, x):
    static.nn.fc(x, 3)
    np.testing.assert_array_equal(exe.run(startup, fetch_list=["fc_0.b_0"])[0], np.zeros(3))


def test_a_weight_starts_inside_xaviers_limits(exe, startup):
    static.nn.fc(static.data("wide", [None, 300], "float32"), 300)
    (weight,) = exe.run(startup, fetch_list=["fc_0.w_0"])
    limit = np.sqrt(6 / 600)
    assert (np.abs(weight).max() <= limit, np.abs(weight).max() > 0.99 * limit) == (True, True)


@pytest.mark.parametrize("bias", [static.ParamAttr(name="shift"), "shift"])
def test_a_bias_can_be_named(main, x, bias):
    static.nn.fc(x, 3, bias_attr=bias)
    assert main.all_parameters()[1].name == "shift"


def test_a_bias_attribute_of_another_kind_is_refused(x):
    with pytest.raises(AttributeValueError, match="fc: bias_attr: expected a ParamAttr"):
        static.nn.fc(x, 3, bias_attr=3)


@pytest.mark.parametrize(
    ("flatten", "weight", "out"), [(1, (48, 7), (-1, 7)), (2, (16, 7), (-1, 3, 7)), (3, (4, 7), (-1, 3, 4, 7))]
)
def test_trailing_dimensions_are_flattened(main, flatten, weight, out):
    image = static.data("image", [None, 3, 4, 4], "float32")
    made = static.nn.fc(image, 7, num_flatten_dims=flatten)
    assert (main.all_parameters()[0].shape, made.shape) == (weight, out)


def test_flattened_rows_are_multiplied(fetch):
    image = static.data("image", [None, 2, 2], "float32")
    y = static.nn.fc(image, 1, weight_attr=Constant(1.0))
    np.testing.assert_array_equal(fetch(y, image=np.arange(8, dtype=np.float32).reshape(2, 2, 2)), [[6.0], [22.0]])


def test_the_gradient_of_more_than_two_dimensions_is_right(fetch):
    image = static.data("image", [None, 2, 2], "float32")
    y = static.nn.fc(image, 1, num_flatten_dims=2, weight_attr=Assign([[3.0], [5.0]]))
    (grad,) = static.gradients(y, image)
    np.testing.assert_array_equal(fetch(grad, image=np.zeros((1, 2, 2), np.float32)), [[[3.0, 5.0], [3.0, 5.0]]])


def test_names_are_numbered(main, x):
    static.nn.fc(static.nn.fc(x, 2), 2)
    assert [p.name for p in main.all_parameters()] == ["fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"]


def test_a_name_is_a_prefix(main, x):
    made = static.nn.fc(x, 2, name="hidden")
    assert [made.name, *(p.name for p in main.all_parameters())] == ["hidden.tmp_1", "hidden.w_0", "hidden.b_0"]


def test_two_layers_of_one_name_do_not_share_parameters(main, x):
    for _ in range(2):
        static.nn.fc(x, 2, name="hidden")
    assert [p.name for p in main.all_parameters()] == ["hidden.w_0", "hidden.b_0", "hidden.w_1", "hidden.b_1"]


def test_two_layers_of_one_parameter_name_share_it(main, x):
    for _ in range(2):
        static.nn.fc(x, 2, weight_attr="shared", bias_attr=False)
    assert [p.name for p in main.all_parameters()] == ["shared"]


def test_a_shared_weight_gets_the_sum_of_both_gradients(fetch, x):
    total = sum(static.nn.fc(part, 1, weight_attr="shared", bias_attr=False).sum() for part in (x, x * 2.0))
    ((_, grad),) = static.append_backward(total)
    np.testing.assert_array_equal(fetch(grad, x=ROWS), 3 * ROWS.sum(axis=0)[:, None])


WRONG_INPUTS = {
    "rank 1": (
        lambda: static.data("v", [3], "float32"),
        {},
        r"fc: x expected a Variable of more than 1 dimensions, got",
    ),
    "array": (lambda: ROWS, {}, "fc: x expected a Variable of more than 1 dimensions, got ndarray"),
    "too much flattened": (
        lambda: static.data("v", [None, 3], "float32"),
        {"num_flatten_dims": 2},
        "expected a Variable of more than 2 dimensions",
    ),
    "nothing flattened": (
        lambda: static.data("v", [None, 3], "float32"),
        {"num_flatten_dims": 0},
        "expected a Variable of more than 0 dimensions",
    ),
    "integers": (
        lambda: static.data("v", [None, 3], "int64"),
        {},
        "fc: x expected a float Variable, got 'v' of int64; cast it first",
    ),
    "unknown columns": (
        lambda: static.data("v", [None, None], "float32"),
        {},
        r"fc: expected known columns and size > 0, got columns \(-1,\) and size 3",
    ),
    "no outputs": (
        lambda: static.data("v", [None, 3], "float32"),
        {"size": 0},
        "fc: expected known columns and size > 0",
    ),
}


@pytest.mark.parametrize(("make", "options", "text"), WRONG_INPUTS.values(), ids=WRONG_INPUTS)
def test_a_wrong_input_is_refused_and_nothing_is_appended(main, startup, state, make, options, text):
    x = make()
    before = state(main), state(startup)
    with pytest.raises(ProgramError, match=text):
        static.nn.fc(x, **{"size": 3, **options})
    assert (state(main), state(startup)) == before


def test_a_variable_of_another_program_is_refused(x):
    with (
        static.program_guard(static.Program()),
        (
            pytest.raises(
                ProgramError, match="fc: 'x' expected in the default main Program; call fc inside its program_guard"
            )
        ),
    ):
        static.nn.fc(x, 3)


def test_a_bias_that_does_not_fit_leaves_both_programs_as_they_were(main, startup, state, x):
    static.create_parameter([5], name="shift")
    before = state(main), state(startup)
    with pytest.raises(ProgramError, match="variable 'shift': expected float32"):
        static.nn.fc(x, 3, bias_attr="shift")
    assert (state(main), state(startup)) == before
