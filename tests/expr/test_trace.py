import abc
import functools
import os

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, DefinitionError, TraceError
from opsdk.expr.node import Node
from opsdk.expr.symbol import Symbol, apply
from opsdk.expr.trace import as_first, check_read, trace


def swish(x, *, beta):
    return x * apply("sigmoid", beta * x)


def test_a_function_is_read_with_its_inputs_and_attributes_as_symbols():
    read = trace(swish, ["x"], ["beta"], "op 'swish'")
    x, beta = Symbol(Node("input", (), "x")), Symbol(Node("attr", (), "beta"))
    assert read.outputs == ((x * apply("sigmoid", beta * x)).node,)
    assert (read.inputs, read.attrs) == (("x",), ("beta",))


def test_several_results_are_read_in_order():
    read = trace(lambda a, b: (a + b, a - b), ["a", "b"], [], "op 'f'", outputs=2)
    assert [node.op for node in read.outputs] == ["add", "sub"]


def test_a_branch_on_an_input_names_the_line_and_the_way_out():
    def leaky(x):
        if x > 0:
            return x
        return 0.1 * x

    line = leaky.__code__.co_firstlineno + 1
    with pytest.raises(TraceError) as caught:
        trace(leaky, ["x"], [], "op 'leaky'")
    assert str(caught.value) == (
        f"op 'leaky', line {line}: 'if', 'and', 'or' and 'while' need a value, got a symbol that depends on x, while "
        "the expression is read; write vmath.where(condition, a, b)"
    )
    assert any("if x > 0:" in note for note in caught.value.__notes__)


def test_a_wrong_number_of_results_is_refused():
    with pytest.raises(TraceError, match="op 'f': expected 2 expressions, got 1"):
        trace(lambda x: x, ["x"], [], "op 'f'", outputs=2)


def test_a_condition_is_no_result():
    with pytest.raises(TraceError, match="expected a number, got the condition gt"):
        trace(lambda x: x > 0, ["x"], [], "op 'f'")


def test_something_that_is_no_expression_is_refused():
    with pytest.raises(TraceError, match="op 'f': expected a symbol or a number, got NoneType"):
        trace(lambda x: None, ["x"], [], "op 'f'")


def test_an_error_of_the_functions_own_comes_out_as_it_is():
    with pytest.raises(ZeroDivisionError):
        trace(lambda x: x * (1 / 0), ["x"], [], "op 'f'")


def test_inputs_and_attributes_are_named_for_evaluation():
    read = trace(swish, ["x"], ["beta"], "op 'swish'")
    assert (read.inputs, read.attrs) == (("x",), ("beta",))


def test_attributes_that_are_listed_are_read():
    def partly(x, *, used, kept):
        return x * used

    check_read(partly, {"used": "say so"}, "op 'f'")
    with pytest.raises(DefinitionError, match=r"op 'f': attribute 'kept' expected to be read by .*; say so"):
        check_read(partly, {"used": "read", "kept": "say so"}, "op 'f'")


def test_of_a_function_behind_a_decorator_nothing_is_known():
    @functools.wraps(swish)
    def wrapped(x, *, beta):
        return swish

    for function in (wrapped, functools.partial(swish, beta=1.0)):
        check_read(function, {"beta": "say so"}, "op 'f'")


def _of_two(x, *, c):
    first, second = c
    return first + second * x


def _of_two_or_more(x, *, c):
    first, second, *_ = c
    return first + second * x


@pytest.mark.parametrize("function", [lambda x, *, c: c[0] + c[1] * x, _of_two, _of_two_or_more])
@pytest.mark.parametrize("define", [opsdk.elementwise, opsdk.rowwise])
def test_a_list_that_is_shorter_than_the_function_reads_is_named(define, function):
    line = define("test_ops::line(Tensor x, *, float[] c=[1.0, 2.0]) -> Tensor y")(function)
    wanted = r"attributes expected lists as long as .*, got c=\[3.0\] .*; pass lists"
    with pytest.raises(AttributeValueError, match=wanted):
        line(np.ones((2, 3)), c=[3.0])
    np.testing.assert_array_equal(line(np.ones((2, 3)), c=[3.0, 4.0]), np.full((2, 3), 7.0))


@pytest.mark.parametrize("words", ["two numbers, please", "not enough values to unpack, two please"])
def test_what_the_author_raises_reaches_the_user(words):
    def checked(x, *, c):
        if len(c) != 2:
            raise ValueError(words)
        return c[0] + c[1] * x

    line = opsdk.elementwise("test_ops::checked(Tensor x, *, float[] c=[1.0, 2.0]) -> Tensor y")(checked)
    with pytest.raises(ValueError, match=rf"^{words}"):
        line(np.ones(2), c=[3.0])


def test_what_a_function_remembers_itself_while_it_is_read_is_no_change():
    memory = {}

    def factor(name):
        return memory.setdefault(name, 2.0)

    with opsdk.REGISTRY.scoped():

        @opsdk.elementwise(namespace="t")
        def scaled(x, *, mode: str = "a"):
            return factor(mode) * x

        assert [scaled(np.ones(1), mode=mode).tolist() for mode in "abc"] == [[2.0], [2.0], [2.0]]
        memory["d"] = 5.0
        with pytest.raises(DefinitionError, match="expected 'factor' to be what it was when the op was defined"):
            scaled(np.ones(1), mode="d")


def overlooked(how):
    """Returns how something that no reading of a function looks at is read, and how it is changed."""

    class Fast(abc.ABC):  # noqa: B024 - what is registered with it is what counts
        pass

    class Thing:
        pass

    def documented(k: [2.0]):
        "2.0"

    table, note, notes = {"t": np.zeros((2, 3))}, [2.0], documented.__annotations__["k"]
    dtype = np.dtype("f8", metadata={"k": note})
    return {
        "a virtual base": (lambda: 5.0 if isinstance(Thing(), Fast) else 2.0, lambda: Fast.register(Thing)),
        "a docstring": (lambda: float(documented.__doc__), lambda: setattr(documented, "__doc__", "5.0")),
        "an annotation": (lambda: documented.__annotations__["k"][0], lambda: notes.__setitem__(0, 5.0)),
        "a layout": (
            lambda: 2.0 if table["t"].flags.c_contiguous else 5.0,
            lambda: table.update(t=np.asfortranarray(table["t"])),
        ),
        "a note on a dtype": (lambda: dtype.metadata["k"][0], lambda: note.__setitem__(0, 5.0)),
        "a name": (lambda: len(Thing.__name__) - 3.0, lambda: setattr(Thing, "__name__", "Thinggg!")),
        "the environment": (
            lambda: float(os.getenv("OPSDK_TEST_K")),
            lambda: os.environ.__setitem__("OPSDK_TEST_K", "5"),
        ),
    }[how]


@pytest.mark.parametrize(
    "how",
    ["a virtual base", "a docstring", "an annotation", "a layout", "a note on a dtype", "a name", "the environment"],
)
@pytest.mark.parametrize("define", [opsdk.elementwise, opsdk.rowwise])
def test_a_function_that_computes_something_else_is_another_whatever_it_read(define, how, monkeypatch):
    monkeypatch.setenv("OPSDK_TEST_K", "2")
    read, change = overlooked(how)
    one = np.ones((1, 1))
    with opsdk.REGISTRY.scoped():

        @define(namespace="t")
        def scaled(x, *, mode: str = "a"):
            return x * read()

        assert (scaled(one), scaled(one, mode="b")) == (2.0, 2.0)
        change()
        assert read() == 5.0
        expected = r"op 't::scaled': expected its function to compute what it computed when it was first read, it"
        with pytest.raises(DefinitionError, match=expected):
            scaled(one, mode="c")
        assert (scaled(one), scaled(one, mode="b")) == (2.0, 2.0)


def test_the_first_expression_is_compared_too_where_it_is_read_again():
    factor = [2.0]

    class Read:
        def __getattr__(self, name):
            return factor[0]

    def make(kind):
        return trace(lambda x: x * Read().factor, ("x",), (), "op 't::f'")

    read = as_first(make, "op 't::f'")
    assert read("a").text == make("a").text
    factor[0] = 5.0
    for kind in ("a", "b"):
        with pytest.raises(DefinitionError, match="expected its function to compute what it computed when it was"):
            read(kind)
