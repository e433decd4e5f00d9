import functools
import sys

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import BindingError, InputValueError, ReturnError, noted
from opsdk.define.schema.binding import (
    ValueCheck,
    called_by_name,
    name_of,
    parameters_among,
    read_parameters,
    reorder,
)
from opsdk.define.schema.parse import parse_schema

KNOWN = ("x", "xs", "y", "k")


def mixed(x, /, k, *rest, axis, **options):
    return x, k, rest, axis, options


def wrapped(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs)

    return wrapper


class Dispatcher:
    """Looks as a compiled Numba function does."""

    def __init__(self, function):
        self.py_func = function


class Unreadable:
    __signature__ = "none"

    def __call__(self, x):
        return x


def test_parameters_are_read_by_how_they_are_passed():
    assert read_parameters(mixed) == (("x", "k"), ("rest",), ("axis",), ("options",))


def test_local_variables_are_no_parameters():
    def f(x, *, k):
        local = x
        return local, k

    assert parameters_among(f, KNOWN, "op") == ("x", "k")


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (lambda: 0, ()),
        (lambda x, *xs, k: 0, ("x", "xs", "k")),
        (wrapped(lambda x, y: 0), ("x", "y")),
        (functools.partial(lambda x, y, k: 0, 1), ("y", "k")),
        (Dispatcher(lambda x, y: 0), ("x", "y")),
    ],
)
def test_the_parameters_of_every_kind_of_callable_are_read(function, names):
    assert parameters_among(function, KNOWN, "op") == names


def test_keyword_arguments_without_names_are_refused():
    with pytest.raises(BindingError) as caught:
        parameters_among(mixed, KNOWN, "op")
    assert str(caught.value) == "mixed: expected named parameters, got '**options'"


def test_a_callable_without_a_signature_is_refused():
    with pytest.raises(BindingError, match="expected a readable signature, since arguments bind by name") as caught:
        parameters_among(Unreadable(), KNOWN, "op")
    assert type(caught.value.__cause__) is (TypeError if sys.version_info < (3, 12) else ValueError)  # inspect's own


def test_an_unknown_name_is_refused_with_those_there_are():
    def named(x, dz):
        raise AssertionError

    with pytest.raises(BindingError) as caught:
        parameters_among(named, ("x", "y", "dy"), "op 'f', backward")
    assert str(caught.value) == "op 'f', backward named(x, dz): nothing is called 'dz'; there are dy, x, y"
    assert caught.value.details == {"parameter": "dz", "known": ("x", "y", "dy")}


def test_a_callable_without_a_name_goes_by_its_class():
    assert (name_of(mixed), name_of(functools.partial(mixed))) == ("mixed", "partial")


def test_a_function_whose_parameters_stand_in_order_is_left_as_it_is():
    def f(x, w, *, k):
        return x, w, k

    assert reorder(f, ("x", "w")) is f


@pytest.mark.parametrize(
    "function",
    [
        lambda w, x, k: (x, w, k),
        lambda w, x, *, k: (x, w, k),
        lambda k, w, x: (x, w, k),
        lambda k, *, w, x: (x, w, k),
        lambda x, k, w: (x, w, k),
        lambda x, /, w, k: (x, w, k),
        lambda x, w, k, /: (x, w, k),
        lambda x, /, k, *, w: (x, w, k),
    ],
)
def test_a_function_in_another_order_gets_each_value_under_its_name(function):
    assert reorder(function, ("x", "w"))(1, 2, k=3) == (1, 2, 3)


@pytest.mark.parametrize(
    ("function", "tensors"),
    [
        (lambda x, *xs: (x, xs), ("x", "xs")),
        (lambda *xs, x: (x, xs), ("x", "xs")),
        (lambda x, *xs: (x, xs), ("xs", "x")),
        (lambda *xs, x: (x, xs), ("xs", "x")),
    ],
)
def test_a_starred_parameter_gets_the_items_of_its_list(function, tensors):
    values = {"x": 1, "xs": [2, 3]}
    assert reorder(function, tensors)(*[values[name] for name in tensors]) == (1, (2, 3))


def test_an_attribute_that_was_not_given_keeps_the_functions_own_default():
    def f(w, x, k=7, *, axis=8):
        return x, w, k, axis

    assert reorder(f, ("x", "w"))(1, 2) == (1, 2, 7, 8)
    assert reorder(f, ("x", "w"))(1, 2, axis=3) == (1, 2, 7, 3)


def test_a_compiled_dispatcher_is_called_itself():
    class Compiled(Dispatcher):
        def __call__(self, *args):
            return "compiled", self.py_func(*args)

    assert reorder(Compiled(lambda w, x: (x, w)), ("x", "w"))(1, 2) == ("compiled", (1, 2))


def test_a_function_called_by_name_gets_what_it_names_and_nothing_else():
    assert called_by_name(lambda w, *, k: (w, k))({"x": 1, "w": 2, "k": 3}) == (2, 3)


# -- the check of an op

SCHEMA = parse_schema("f(Tensor x, Tensor? w=None, Tensor[] xs, *, int k=1) -> Tensor y", "ns")


def test_a_check_gets_the_inputs_and_attributes_that_it_names():
    seen = []
    ValueCheck(lambda k, w, x: seen.append((k, w, x)), SCHEMA)(("x", None, ["a", "b"]), {"k": 3})
    ValueCheck(lambda xs: seen.append(xs), SCHEMA)(("x", None, ["a", "b"]), {"k": 3})
    assert seen == [(3, None, "x"), ["a", "b"]]


def test_what_a_check_returns_is_the_message_behind_the_op():
    def positive(x):
        return f"x expected above 0, got {x}; take its absolute value"

    with pytest.raises(InputValueError) as caught:
        ValueCheck(positive, SCHEMA)((-1, None, []), {"k": 3})
    assert str(caught.value) == "op 'ns::f': x expected above 0, got -1; take its absolute value"
    assert isinstance(caught.value, ValueError)
    assert caught.value.code == "OP208"
    assert noted(caught.value, "at").endswith(f"test_binding.py:{positive.__code__.co_firstlineno}")


@pytest.mark.parametrize("returned", [True, False, 0])
def test_a_check_that_returns_something_else_than_a_text_is_an_error(returned):
    with pytest.raises(ReturnError, match="op 'ns::f', check: expected None, or a text that says what is wrong, got "):
        ValueCheck(lambda x: returned, SCHEMA)((1, None, []), {"k": 3})


def test_a_check_that_names_nothing_is_refused_when_it_is_registered():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x + 1)
    with pytest.raises(BindingError, match=r"op 't::f', check .*nothing is called 'index'; there are x"):
        op.check(lambda index: None)
    assert op.opdef.check is None


def test_a_check_given_before_the_backward_stays():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x + 1)
    op.check(lambda x: "x expected away from here")
    op.backward(lambda dy: dy)
    with pytest.raises(InputValueError, match="op 't::f': x expected away from here"):
        op(np.ones(1))
    assert op.grad(np.ones(1)).tolist() == [1.0]


def test_a_check_given_after_a_call_holds_from_then_on():
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x + 1)
    op(np.ones(1))
    op.check(lambda x: "x expected away from here")
    with pytest.raises(InputValueError):
        op(np.ones(1))


@pytest.mark.parametrize("given", [0, 1], ids=["first call", "later call"])
def test_what_a_check_raises_itself_keeps_its_type_behind_the_ops_name(given):
    op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x + 1)

    def refused(x):
        if x.size > given:
            raise ZeroDivisionError("ouch")

    op.check(refused)
    if given:
        op(np.ones(1))
    with pytest.raises(ZeroDivisionError) as caught:
        op(np.ones(2))
    assert str(caught.value) == "op 't::f', check: ouch"
    (note,) = caught.value.__notes__  # and none that the kernel raised it, which has not run
    assert note.startswith("  raised in op 't::f', check at ")


def test_a_file_that_runs_again_keeps_its_check(run_file):
    text = "@opsdk.op(namespace='t')\ndef f(x):\n    return x + 1\n"
    first = run_file("ops.py", text + "f.check(lambda x: 'x expected away from here')\n")["f"]
    again = run_file("ops.py", text)["f"]
    assert again is first
    with pytest.raises(InputValueError):
        again(np.ones(1))


@pytest.fixture
def divided():
    """An op whose infer rule divides by an attribute that its check refuses to be zero."""

    @opsdk.op
    def divided(x, *, n: int):
        return x[: x.shape[0] // n].copy()

    @divided.infer
    def _(x, n):
        return opsdk.TensorSpec((None if x.shape[0] is None else x.shape[0] // n,), x.dtype)

    return divided


@pytest.mark.parametrize("make", [np.ones, lambda n: opsdk.to_tensor(np.ones(n))], ids=["array", "tensor"])
@pytest.mark.parametrize("names", ["attributes", "inputs"])
def test_the_checks_words_come_before_what_the_infer_rule_meets(divided, make, names):
    if names == "attributes":
        divided.check(lambda n: None if n else f"n expected above 0, got {n}")
    else:
        divided.check(lambda x, n: None if n else f"n expected above 0, got {n} for {x.size} elements")
    for _ in range(2):
        with pytest.raises(InputValueError, match=r"op 'tests::divided': n expected above 0, got 0"):
            divided(make(4), n=0)
        assert np.asarray(divided(make(4), n=2)).shape == (2,)  # the second time of a kind that is known


def test_a_check_of_attributes_is_asked_where_a_program_is_built(divided):
    divided.check(lambda n: None if n > 0 else f"n expected above 0, got {n}")
    x = opsdk.static.data("x", [4], "float64")
    count = len(opsdk.static.default_main_program().global_block().ops)
    for n in (0, -1):
        with pytest.raises(InputValueError, match=f"op 'tests::divided': n expected above 0, got {n}"):
            divided(x, n=n)
    assert len(opsdk.static.default_main_program().global_block().ops) == count
    assert divided(x, n=2).shape == (2,)


def test_where_the_check_has_nothing_to_say_the_rules_own_error_names_the_op(divided):
    divided.check(lambda x: x[0, 0] and None)  # fails on vectors
    with pytest.raises(ZeroDivisionError) as caught:
        divided(np.ones(4), n=0)
    assert any("raised in op 'tests::divided', infer rule at" in note for note in caught.value.__notes__)
