import functools

import pytest

from opsdk.core.errors import BindingError
from opsdk.define.schema.binding import called_by_name, check_names, name_of, parameters_of, read_parameters, reorder


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

    assert parameters_of(f) == ("x", "k")


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
    assert parameters_of(function) == names


def test_keyword_arguments_without_names_are_refused():
    with pytest.raises(BindingError) as caught:
        parameters_of(mixed)
    assert str(caught.value) == "mixed: expected named parameters, got '**options'"


def test_a_callable_without_a_signature_is_refused():
    with pytest.raises(BindingError, match="expected a readable signature, since arguments bind by name") as caught:
        parameters_of(Unreadable())
    assert isinstance(caught.value.__cause__, TypeError)


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(BindingError) as caught:
        check_names(mixed, ("x", "dz"), ("x", "y", "dy"), "op 'f', backward")
    assert str(caught.value) == "op 'f', backward mixed(x, dz): nothing is called 'dz'; there are dy, x, y"
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
