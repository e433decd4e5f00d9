import operator

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import (
    ArityError,
    DerivativeOrderError,
    DTypeError,
    GradientMissingError,
    MutationError,
    ReturnError,
    ShapeError,
)

ROWS = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]], np.float32)


@pytest.fixture
def x():
    return static.data("x", [None, 3], "float32")


@pytest.fixture
def other():
    return static.data("other", [None, 3], "float32")


@pytest.fixture
def make(block):
    """Creates an output variable."""

    def create(name="out", shape=(None, 3), dtype="float32"):
        return block.create_var(name=name, dtype=dtype, shape=list(shape))

    return create


def relu(x):
    return np.maximum(x, 0.0)


@pytest.fixture
def received(exe, startup, x, make):
    """Runs a square with its backward; gives the arguments that the backward received."""

    def run(skip):
        seen = []

        def backward(*arrays):
            seen.extend(arrays)
            return arrays[-1] * 1

        out = make()
        static.py_func(np.square, x, out, backward, skip_vars_in_backward_input=skip(x, out))
        (grad,) = static.gradients(out * 10.0, x)
        exe.run(feed={"x": ROWS}, fetch_list=[grad])
        return [float(array[0, 1]) for array in seen]

    return run


SKIPS = {
    "nothing": (lambda x, out: None, [-2.0, 4.0, 10.0]),
    "x": (lambda x, out: x, [4.0, 10.0]),
    "out": (lambda x, out: out, [-2.0, 10.0]),
    "both": (lambda x, out: [x, out], [10.0]),
}


@pytest.mark.parametrize(("skip", "expected"), SKIPS.values(), ids=SKIPS)
def test_the_backward_receives_inputs_outputs_and_cotangents_less_what_is_skipped(received, skip, expected):
    assert received(skip) == expected


def test_two_inputs_and_two_outputs_make_six_arguments(fetch, x, other, make):
    seen = []

    def backward(a, b, p, q, dp, dq):
        seen.extend(float(array[0, 0]) for array in (a, b, p, q, dp, dq))
        return dp * 1, dq * 1

    outs = [make("p"), make("q")]
    static.py_func(lambda a, b: (a + 10, b + 20), [x, other], outs, backward)
    grads = static.gradients([outs[0] * 2.0, outs[1] * 3.0], [x, other])
    found = fetch(grads, x=ROWS, other=ROWS * 5)
    assert (seen, found[0][0, 0], found[1][0, 0]) == ([1.0, 5.0, 11.0, 25.0, 2.0, 3.0], 2.0, 3.0)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_an_output_that_nobody_uses_sends_zeros_of_its_dtype(fetch, x, make, dtype):
    seen = []

    def backward(x, p, q, dp, dq):
        seen.append(dq)
        return dp * 1

    outs = [make("p"), make("q", dtype=dtype)]
    static.py_func(lambda x: (x * 1, x.astype(dtype) * 1), x, outs, backward)
    (grad,) = static.gradients(outs[0], x)
    fetch(grad, x=ROWS)
    np.testing.assert_array_equal(seen[0], np.zeros((2, 3), dtype), strict=True)


def test_an_output_whose_gradient_is_stopped_sends_zeros(fetch, x, make):
    seen = []

    def backward(x, p, q, dp, dq):
        seen.append(dq)
        return dp * 1

    outs = [make("p"), make("q")]
    static.py_func(lambda x: (x * 1, x * 1), x, outs, backward)
    outs[1].stop_gradient = True
    (grad,) = static.gradients([outs[0], outs[1] * 5.0], x)
    fetch(grad, x=ROWS)
    np.testing.assert_array_equal(seen[0], np.zeros((2, 3), np.float32))


def test_an_output_that_several_use_sends_their_sum(fetch, x, make):
    out = static.py_func(np.square, x, make(), lambda x, y, dy: 2 * x * dy)
    (grad,) = static.gradients([out * 2.0, out * 3.0], x)
    np.testing.assert_array_equal(fetch(grad, x=ROWS), 10 * ROWS)


def test_one_variable_given_twice_gets_the_sum_of_both_gradients(fetch, x, make):
    out = static.py_func(operator.mul, [x, x], make(), lambda a, b, y, dy: (dy * b, dy * a * 100))
    (grad,) = static.gradients(out, x)
    np.testing.assert_array_equal(fetch(grad, x=ROWS), 101 * ROWS)


@pytest.mark.parametrize("ignored", [None, np.zeros(7), 3])
def test_what_is_returned_for_an_input_without_a_gradient_is_ignored(fetch, x, make, ignored):
    weight = static.create_parameter([3], default_initializer=opsdk.nn.initializer.Constant(2.0))
    out = static.py_func(operator.mul, [x, weight], make(), lambda x, w, y, dy: (ignored, (dy * x).sum(axis=0)))
    ((_, grad),) = static.append_backward(out.sum())
    np.testing.assert_array_equal(fetch(grad, x=ROWS), ROWS.sum(axis=0))


WRONG_GRADIENTS = {
    "nothing": (ArityError, lambda x, y, dy: None, "gradient of 'x0': expected an array, got nothing; is a"),
    "another shape": (
        ShapeError,
        lambda x, y, dy: dy[:1] * 1,
        r"gradient of 'x0': expected \(2, 3\) like x0, got \(1, 3\)",
    ),
    "another dtype": (DTypeError, lambda x, y, dy: dy.astype("float64"), "expected float32 like x0, got float64"),
    "too many": (ArityError, lambda x, y, dy: (dy * 1, dy * 1), r"expected 1 gradient \(dx0\), got 2"),
    "a text": (ReturnError, lambda x, y, dy: "text", "output 'dx0': expected a NumPy array, got str"),
}


@pytest.mark.parametrize(("kind", "backward", "text"), WRONG_GRADIENTS.values(), ids=WRONG_GRADIENTS)
def test_a_wrong_gradient_is_refused_in_the_name_of_the_op(fetch, x, make, kind, backward, text):
    (grad,) = static.gradients(static.py_func(relu, x, make(), backward), x)
    with pytest.raises(kind, match=text) as caught:
        fetch(grad, x=ROWS)
    assert str(caught.value).startswith("op 'py_func::relu'")


def test_a_backward_that_changes_what_it_receives_is_refused(fetch, x, make):
    def backward(x, y, dy):
        dy *= 2
        return dy * 1

    (grad,) = static.gradients(static.py_func(relu, x, make(), backward), x)
    with pytest.raises(MutationError, match="input 'dout0' was changed in place, expected it untouched"):
        fetch(grad, x=ROWS)


def test_a_backward_may_return_the_cotangent_itself(fetch, x, make):
    (grad,) = static.gradients(static.py_func(lambda x: x + 1, x, make(), lambda x, y, dy: dy), x)
    np.testing.assert_array_equal(fetch(grad, x=ROWS), np.ones((2, 3)))


def test_an_exception_in_the_backward_keeps_its_type(fetch, x, make):
    (grad,) = static.gradients(static.py_func(relu, x, make(), lambda x, y, dy: {}["none"]), x)
    with pytest.raises(KeyError, match="none"):
        fetch(grad, x=ROWS)


def test_without_a_backward_a_gradient_is_refused_when_it_is_asked_for(main, state, x, make):
    weight = static.create_parameter([3])
    loss = static.py_func(relu, x * weight, make()).sum()
    before = state(main)
    with pytest.raises(GradientMissingError, match="op 'py_func::relu': no backward, and x0 needs a gradient"):
        static.append_backward(loss)
    assert state(main) == before


def test_without_a_backward_a_stopped_output_trains_around_it(fetch, x, make):
    weight = static.create_parameter([3], default_initializer=opsdk.nn.initializer.Constant(2.0))
    out = static.py_func(np.square, x * weight, make())
    out.stop_gradient = True
    ((_, grad),) = static.append_backward((out * weight).sum())
    np.testing.assert_array_equal(fetch(grad, x=ROWS), (4 * ROWS**2).sum(axis=0))


def test_a_second_derivative_is_refused_and_nothing_is_appended(main, state, x, make):
    out = static.py_func(np.square, x, make(), lambda x, y, dy: 2 * x * dy)
    (first,) = static.gradients(out, x)
    before = state(main)
    with pytest.raises(DerivativeOrderError, match="op 'py_func::callable': a derivative of it was asked for"):
        static.gradients(first, x)
    assert state(main) == before


def test_gradients_can_be_asked_for_after_append_backward(fetch, x, make):
    weight = static.create_parameter([3], default_initializer=opsdk.nn.initializer.Constant(2.0))
    out = static.py_func(np.square, x * weight, make(), lambda x, y, dy: 2 * x * dy)
    loss = out.sum()
    ((_, of_weight),) = static.append_backward(loss)
    found = fetch([of_weight, *static.gradients(loss, x)], x=ROWS)
    np.testing.assert_array_equal(found[0], (4 * ROWS**2).sum(axis=0))
    np.testing.assert_array_equal(found[1], 8 * ROWS)


def test_an_output_of_data_alone_carries_no_gradient(x, make):
    assert static.py_func(relu, x, make()).stop_gradient is True


def test_an_output_of_a_parameter_carries_a_gradient(x, make):
    assert static.py_func(relu, x * static.create_parameter([3]), make()).stop_gradient is False


def test_an_integer_output_carries_no_gradient(x, make):
    out = make(dtype="int64")
    assert static.py_func(lambda x: x.astype("int64"), x * static.create_parameter([3]), out).stop_gradient is True


@pytest.mark.parametrize("stop", ["created", "set"])
def test_an_output_that_was_stopped_before_stays_stopped(block, x, stop):
    out = block.create_var("out", [None, 3], "float32", stop_gradient=stop == "created")
    if stop == "set":
        out.stop_gradient = True
    static.py_func(relu, x * static.create_parameter([3]), out)
    assert out.stop_gradient is True


def test_complex_gradients_through_a_backward_func_are_refused(block):
    z = static.data("z", [3], "complex64")
    z.stop_gradient = False
    out = block.create_var(name="out", dtype="complex64", shape=[3])
    static.py_func(lambda v: 2 * v, z, out, backward_func=lambda v, y, dy: 2 * dy)
    with pytest.raises(GradientMissingError, match="a backward_func says nothing of them; register an op"):
        static.gradients(opsdk.abs(out).sum(), z)
