"""A clone for tests runs every op as it is where nothing is trained."""

import inspect

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ProgramError
from opsdk.static.ir.operator import WHEN_TESTED

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], np.float32)


@pytest.fixture
def x():
    variable = static.data("x", [None, 3], "float32")
    variable.stop_gradient = False
    return variable


def taking(name, function):
    """Returns a function whose second parameter has a name."""

    def named(x, **attrs):
        return function(x, attrs[name])

    kinds = inspect.Parameter
    parameters = [kinds("x", kinds.POSITIONAL_OR_KEYWORD), kinds(name, kinds.KEYWORD_ONLY)]
    named.__signature__ = inspect.Signature(parameters)
    return named


def run(exe, program, fetch):
    return exe.run(program, feed={"x": ROWS}, fetch_list=[fetch])[0]


@pytest.mark.parametrize("name", WHEN_TESTED)
def test_an_op_of_anybodys_is_told_that_it_is_tested(exe, main, x, name):
    op = opsdk.op(f"tests::doubles_in_training(Tensor x, *, bool {name}) -> Tensor y")(
        taking(name, lambda x, value: x * (1.0 if value is WHEN_TESTED[name] else 2.0))
    )
    y = op(x, **{name: not WHEN_TESTED[name]})
    test = main.clone(for_test=True)
    np.testing.assert_array_equal(run(exe, test, y.name), ROWS)
    np.testing.assert_array_equal(run(exe, main, y.name), ROWS * 2)
    np.testing.assert_array_equal(run(exe, main.clone(), y.name), ROWS * 2)


def test_an_op_that_is_tested_already_stays_so(exe, main, x):
    op = opsdk.op("tests::halves(Tensor x, *, bool training=False) -> Tensor y")(lambda x, training: x / (1 + training))
    y = op(x)
    np.testing.assert_array_equal(run(exe, main.clone(for_test=True), y.name), ROWS)


@pytest.fixture
def scaled():
    """A composite that doubles where it is trained."""

    @opsdk.op("tests_mode::scaled(Tensor x, *, bool training=True) -> Tensor y", composite=True)
    def scaled(x, *, training=True):
        return x * 2.0 + 1.0 if training else x * 1.0

    return scaled


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("needs_gradient", [True, False])
def test_a_composite_is_tested_whole(exe, main, startup, x, scaled, when, needs_gradient):
    x.stop_gradient = not needs_gradient
    y = scaled(x)
    loss = static.nn.fc(y * 3.0, 1).mean()
    test = main.clone(for_test=True) if when == "before" else None
    opsdk.optimizer.SGD(learning_rate=0.1).minimize(loss)
    test = test or main.clone(for_test=True)
    exe.run(startup)
    np.testing.assert_array_equal(run(exe, test, y.name), ROWS)
    np.testing.assert_array_equal(run(exe, main, y.name), ROWS * 2 + 1)


def test_a_composite_that_the_backward_took_apart_is_tested_whole(exe, main, x, scaled):
    x.stop_gradient = True
    y = scaled(x)  # appended whole, since nothing needed a gradient
    x.stop_gradient = False
    y.stop_gradient = False
    (dx,) = static.gradients(y.square(), [x])
    assert "scale" in [operator.type for operator in main.global_block().ops]
    np.testing.assert_array_equal(run(exe, main, dx), 4 * (2 * ROWS + 1))
    np.testing.assert_array_equal(run(exe, main.clone(for_test=True), y.name), ROWS)


def test_a_composite_inside_of_one_is_tested_with_it(exe, main, x, scaled):
    @opsdk.op("tests::twice(Tensor x, *, bool training) -> Tensor y", composite=True)
    def twice(x, *, training):
        return scaled(scaled(x, training=training), training=training)

    y = twice(x, training=True)
    clone = main.clone().clone(for_test=True)
    assert [operator.type for operator in clone.global_block().ops] == ["twice"]
    np.testing.assert_array_equal(run(exe, clone, y.name), ROWS)
    np.testing.assert_array_equal(run(exe, main, y.name), 2 * (2 * ROWS + 1) + 1)


def test_a_composite_that_is_not_trained_stays_as_it_is(main, x, scaled):
    scaled(x, training=False)
    assert [op.type for op in main.clone(for_test=True).global_block().ops] == ["scale"]


def test_names_that_change_change_in_the_whole_call_too(exe, main, x, scaled):
    y = scaled(x)
    main.global_block().rename(y, "renamed")
    np.testing.assert_array_equal(run(exe, main.clone(for_test=True), "renamed"), ROWS)


@pytest.mark.parametrize(
    ("schema", "value"),
    [("int training", 1), ("str training", "yes"), ('str mode="train"', "train"), ('str phase="test"', "Training")],
)
def test_what_cannot_be_told_is_refused(main, x, schema, value):
    name = schema.split()[1].partition("=")[0]
    op = opsdk.op(f"tests::odd(Tensor x, *, {schema}) -> Tensor y")(taking(name, lambda x, _: x + 0))
    op(x, **{name: value})
    with pytest.raises(ProgramError, match=r"clone\(for_test=True\): operator 'odd' expected to say by a bool, "):
        main.clone(for_test=True)
    assert len(main.clone().global_block().ops) == 1


def test_an_optional_truth_value_that_is_not_given_stays_open(main, x):
    op = opsdk.op("tests::open(Tensor x, *, bool? training=None) -> Tensor y")(lambda x, training: x + 0)
    op(x)
    assert main.clone(for_test=True).global_block().ops[0].attr("training") is None
