import functools
import operator

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AliasError, ArityError, DTypeError, MutationError, ProgramError, ReturnError, ShapeError

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


def relu_grad(y, dy):
    return dy * (y > 0)


# -- what func receives and returns ------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda out: out, lambda out: [out], lambda out: (out,)], ids=["one", "list", "tuple"])
def test_it_returns_the_object_that_was_passed_as_out(x, make, wrap):
    out = wrap(make())
    assert static.py_func(relu, x, out) is out


def test_it_returns_none_where_out_is_none(x):
    assert static.py_func(lambda x: None, x, None) is None


def test_func_receives_plain_arrays(exe, x, make):
    seen = []
    static.py_func(lambda x: seen.append(type(x)) or x * 1, x, make())
    exe.run(feed={"x": ROWS})
    assert seen == [np.ndarray]


def test_func_receives_arrays_that_cannot_be_written_to_at_every_run(exe, x, make):
    seen = []
    static.py_func(lambda x: seen.append(x.flags.writeable) or x * 1, x, make())
    for _ in range(3):
        exe.run(feed={"x": ROWS})
    assert seen == [False] * 3


def test_func_receives_one_array_per_input_in_order(fetch, x, other, make):
    y = static.py_func(operator.sub, [x, other], make())
    np.testing.assert_array_equal(fetch(y, x=ROWS, other=ROWS * 3), ROWS - ROWS * 3)


@pytest.mark.parametrize("pack", [tuple, list])
def test_func_may_return_several_arrays(fetch, x, make, pack):
    outs = [make("double"), make("half")]
    static.py_func(lambda x: pack([x * 2, x / 2]), x, outs)
    double, half = fetch(outs, x=ROWS)
    np.testing.assert_array_equal(double, ROWS * 2)
    np.testing.assert_array_equal(half, ROWS / 2)


def test_without_inputs_func_is_called_with_nothing(fetch, make):
    y = static.py_func(lambda: np.arange(3, dtype=np.float32), None, make(shape=[3]))
    np.testing.assert_array_equal(fetch(y), [0.0, 1.0, 2.0])


def test_without_outputs_func_runs_and_returns_nothing(exe, x):
    seen = []
    static.py_func(lambda x: seen.append(x.sum()), x, None)
    exe.run(feed={"x": ROWS})
    assert seen == [ROWS.sum()]


def test_it_runs_though_nobody_fetches_it(exe, x, make):
    seen = []
    static.py_func(lambda x: seen.append(0) or x * 1, x, make())
    exe.run(feed={"x": ROWS})
    assert seen == [0]


def test_a_plain_number_becomes_a_0_d_array_of_the_declared_dtype(fetch, x, make):
    y = static.py_func(lambda x: float(x.sum()), x, make(shape=[]))
    np.testing.assert_array_equal(fetch(y, x=ROWS), np.float32(-3.0), strict=True)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64", "float16", "float64", "complex64"])
def test_every_dtype_goes_in_and_out(fetch, make, dtype):
    x = static.data("typed", [2], dtype)
    y = static.py_func(lambda x: x.copy(), x, make(shape=[2], dtype=dtype))
    array = np.array([0, 1], dtype)
    np.testing.assert_array_equal(fetch(y, typed=array), array, strict=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: np.asfortranarray(x * 1),
        lambda x: (x * 1)[::-1][::-1],
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: np.broadcast_to(x.sum(), x.shape),
    ],
    ids=["Fortran", "reversed", "strided", "broadcast"],
)
def test_any_layout_may_be_returned(fetch, x, make, change):
    y = static.py_func(change, x, make())
    np.testing.assert_array_equal(fetch(y, x=ROWS), change(ROWS))


def test_an_empty_batch_goes_through(fetch, x, make):
    assert fetch(static.py_func(relu, x, make()), x=np.zeros((0, 3), np.float32)).shape == (0, 3)


class Doubler:
    """An object that can be called."""

    def __call__(self, x):
        return x * 2

    def method(self, x):
        return x * 2


CALLABLES = {
    "function": lambda x: x * 2,
    "ufunc": np.square,
    "partial": functools.partial(operator.mul, 2),
    "bound method": Doubler().method,
    "callable object": Doubler(),
    "builtin": operator.neg,
    "any number of arguments": lambda *arrays: arrays[0] * 2,
    "positional default": lambda x, factor=2: x * factor,
    "keyword default": lambda x, *, factor=2: x * factor,
    "array method": np.ndarray.copy,
}


@pytest.mark.parametrize("function", CALLABLES.values(), ids=CALLABLES)
def test_any_callable_is_accepted(fetch, x, make, function):
    np.testing.assert_array_equal(fetch(static.py_func(function, x, make()), x=ROWS), function(ROWS))


def test_an_exception_keeps_its_type_and_names_the_op(exe, x, make):
    class Mine(Exception):
        pass

    def failing(x):
        raise Mine("on purpose")

    static.py_func(failing, x, make())
    with pytest.raises(Mine, match="on purpose") as caught:
        exe.run(feed={"x": ROWS})
    assert any("raised in op 'py_func::failing'" in note for note in caught.value.__notes__)


def test_the_traceback_of_an_exception_ends_in_the_users_function(exe, x, make):
    def failing(x):
        raise ValueError("on purpose")

    static.py_func(failing, x, make())
    with pytest.raises(ValueError, match="on purpose") as caught:
        exe.run(feed={"x": ROWS})
    assert caught.traceback[-1].name == "failing"


def test_an_exception_that_is_no_error_goes_through(exe, x, make):
    def leave(x):
        raise SystemExit(3)

    static.py_func(leave, x, make())
    with pytest.raises(SystemExit):
        exe.run(feed={"x": ROWS})


def identity(x):
    return x


def scribble(x):
    x += 1
    return x * 1


WRONG_RETURNS = {
    "another dtype": (DTypeError, lambda x: x.astype("float64"), "'out0': expected float32, got float64"),
    "another shape": (
        ShapeError,
        lambda x: x[:, :2] * 1,
        r"'out0': expected shape \(\?, 3\) by its infer rule, got \(2, 2\)",
    ),
    "another rank": (ShapeError, lambda x: x[0] * 1, r"expected shape \(\?, 3\) by its infer rule, got \(3,\)"),
    "too many": (ArityError, lambda x: (x * 1, x * 1), r"expected 1 output \(out0\), got 2"),
    "nested lists": (ArityError, lambda x: [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], r"expected 1 output \(out0\), got 2"),
    "nothing": (ReturnError, lambda x: None, "output 'out0': expected a NumPy array, got nothing"),
    "a text": (ReturnError, lambda x: "text", "output 'out0': expected a NumPy array, got str"),
    "its input": (AliasError, identity, "output 'out0': expected a new array, got input 'x0' itself"),
    "a view of its input": (AliasError, lambda x: x[:], "'out0': expected a new array, got a view of input 'x0'"),
    "a changed input": (MutationError, scribble, "input 'x0' was changed in place, expected it untouched"),
}


@pytest.mark.parametrize(("kind", "function", "text"), WRONG_RETURNS.values(), ids=WRONG_RETURNS)
def test_a_wrong_return_is_refused_in_the_name_of_the_op(exe, x, make, kind, function, text):
    function.__name__ = "wrong"
    static.py_func(function, x, make())
    with pytest.raises(kind, match=text) as caught:
        exe.run(feed={"x": ROWS})
    assert str(caught.value).startswith("op 'py_func::wrong'")


@pytest.mark.parametrize("wrong", [lambda x: x[:, :2] * 1, lambda x: x.astype("float64"), identity])
def test_a_wrong_return_is_refused_at_a_later_run_too(exe, x, make, wrong):
    functions = iter([relu, wrong])
    static.py_func(lambda x: next(functions)(x), x, make())
    exe.run(feed={"x": ROWS})
    with pytest.raises((ShapeError, DTypeError, AliasError), match="op 'py_func::callable', output 'out0': expected"):
        exe.run(feed={"x": ROWS})


def test_a_return_where_none_is_declared_is_refused(exe, x):
    static.py_func(lambda x: x * 1, x, None)
    with pytest.raises(ArityError, match=r"expected 0 outputs \(none\), got 1"):
        exe.run(feed={"x": ROWS})


def test_a_fed_array_that_func_tries_to_change_stays_as_it_was(exe, x, make):
    static.py_func(scribble, x, make())
    fed = ROWS.copy()
    with pytest.raises(MutationError, match="input 'x0' was changed in place"):
        exe.run(feed={"x": fed})
    np.testing.assert_array_equal(fed, ROWS)


# -- what is refused when the Program is built -------------------------------------------------------------------------


WRONG_CALLABLES = {
    "too few parameters": (
        lambda: 0,
        r"py_func: func <lambda>\(\) expected to take 1 argument \(x\), it does not: too many",
    ),
    "too many parameters": (
        lambda x, y: 0,
        r"expected to take 1 argument \(x\), it does not: missing a required argument: 'y'",
    ),
    "a keyword that is required": (lambda x, *, k: 0, "it does not: missing a required argument: 'k'"),
    "a ufunc of two": (np.add, "py_func: func add expected 1 inputs like the call, it takes 2"),
    "a method": (Doubler().method.__func__, "missing a required argument: 'x'"),
}


@pytest.mark.parametrize(("function", "text"), WRONG_CALLABLES.values(), ids=WRONG_CALLABLES)
def test_a_func_that_cannot_take_its_inputs_is_refused_at_once(main, state, x, make, function, text):
    out = make()
    before = state(main)
    with pytest.raises(ArityError, match=text):
        static.py_func(function, x, out)
    assert state(main) == before


@pytest.mark.parametrize(
    ("skip", "taken"), [(False, "3 arguments (x, {y}, {y}@GRAD)"), (True, "2 arguments ({y}, {y}@GRAD)")]
)
def test_a_backward_that_cannot_take_its_arguments_is_refused_at_once(main, state, x, make, skip, taken):
    out = make()
    before = state(main)
    with pytest.raises(ArityError) as caught:
        static.py_func(relu, x, out, lambda dy: dy, skip_vars_in_backward_input=x if skip else None)
    assert str(caught.value) == (
        f"py_func: backward_func <lambda>(dy) expected to take {taken.format(y=out.name)}, it does not: too many "
        "positional arguments; inputs and outputs may be left out: skip_vars_in_backward_input=[...]"
    )
    assert state(main) == before


WRONG_ARGUMENTS = {
    "x is an array": ({"x": ROWS}, "py_func: x expected Variables, got ndarray"),
    "x holds an array": ({"x": [ROWS]}, "py_func: x expected Variables, got ndarray"),
    "x is a tensor": ({"x": opsdk.to_tensor(ROWS)}, "py_func: x expected Variables, got Tensor"),
    "out is an array": ({"out": ROWS}, "py_func: out expected Variables, got ndarray"),
    "neither": ({"x": None, "out": None}, "py_func: expected variables as x or out, got none of either"),
    "func is no callable": ({"func": 3}, "py_func: func expected a callable, got int"),
    "func is none": ({"func": None}, "py_func: func expected a callable, got NoneType"),
    "backward_func is no callable": ({"backward_func": 3}, "py_func: backward_func expected a callable, got int"),
    "skipped is an array": (
        {"skip_vars_in_backward_input": ROWS},
        "py_func: skip_vars_in_backward_input expected Variables, got ndarray",
    ),
}


@pytest.mark.parametrize(("arguments", "text"), WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_a_wrong_argument_is_refused_and_nothing_is_appended(main, state, x, make, arguments, text):
    call = {"func": relu, "x": x, "out": make(), **arguments}
    before = state(main)
    with pytest.raises(ProgramError, match=text):
        static.py_func(**call)
    assert state(main) == before


def test_a_variable_to_skip_that_is_neither_input_nor_output_is_refused(x, other, make):
    text = "skip_vars_in_backward_input expected inputs or outputs, 'other' is neither"
    with pytest.raises(ProgramError, match=text):
        static.py_func(relu, x, make(), relu_grad, skip_vars_in_backward_input=other)


def test_variables_of_two_programs_are_refused(x, make):
    with static.program_guard(static.Program()):
        stranger = static.data("stranger", [None, 3], "float32")
    with pytest.raises(
        ProgramError, match="py_func: expected variables of one Program, 'x' and 'stranger' belong to two"
    ):
        static.py_func(operator.add, [x, stranger], make())


def test_data_is_no_output(x, other):
    with pytest.raises(ProgramError, match="py_func: out expected variables to write to, 'other' is data"):
        static.py_func(relu, x, other)


def test_a_constant_is_no_output(block, x):
    constant = block.create_constant(ROWS)
    with pytest.raises(ProgramError, match="py_func: out expected variables to write to, 'constant_0' is a constant"):
        static.py_func(relu, x, constant)


def test_one_output_twice_is_refused(x, make):
    out = make()
    with pytest.raises(ProgramError, match="py_func: out expected each variable once, got 'out' twice"):
        static.py_func(lambda x: (x * 1, x * 2), x, [out, out])
