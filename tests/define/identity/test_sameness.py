import fractions
import functools
import math
import operator
import os

import numpy as np
import pytest

import opsdk
from opsdk.define.identity.digest import text_of
from opsdk.define.identity.sameness import holds_same, is_one, reads_world


class Scale:
    """A callable that holds what may change."""

    def __init__(self):
        self.k = 1.0

    def __call__(self, x):
        return x * self.k

    def forward(self, x):
        return x * self.k


HOLDERS = {
    "an object": lambda held: held,
    "a method": lambda held: held.forward,
    "a partial of a method": lambda held: functools.partial(held.forward),
    "a partial": lambda held: functools.partial(Scale.forward, held),
    "a method of a builtin": lambda held: [held].index,
}


@pytest.mark.parametrize("made", HOLDERS.values(), ids=HOLDERS)
def test_callables_that_hold_two_objects_are_two_though_their_texts_are_equal(made):
    first, second = Scale(), Scale()
    assert text_of(made(first)) == text_of(made(second))
    assert not holds_same(made(first), made(second))
    assert not is_one(made(first), made(second))


def test_callables_that_hold_one_object_or_plain_values_are_one():
    held = Scale()
    assert holds_same(held.forward, held.forward)
    assert is_one(functools.partial(Scale.forward, held), functools.partial(Scale.forward, held))
    assert is_one(functools.partial(pow, 2, mod=(3, "a")), functools.partial(pow, 2, mod=(3, "a")))
    assert is_one(np.sin, np.sin)


def test_functions_with_defaults_that_may_change_hold_them():
    def make():
        def f(x, k=[1.0], *, n=(1, 2)):  # noqa: B006 - what is tested
            return x

        return f

    assert not holds_same(make(), make())


@pytest.mark.parametrize("made", list(HOLDERS.values())[:4], ids=list(HOLDERS)[:4])
def test_an_op_calls_the_object_that_it_was_given(made):
    first, second = Scale(), Scale()
    ops = [opsdk.register_op("t::held", forward=made(held)) for held in (first, second)]
    second.k = 5.0
    assert [op(np.ones(1)).tolist() for op in ops] == [[1.0], [5.0]]


def test_a_backward_calls_the_object_that_it_was_given():
    @opsdk.op(name="twice")
    def twice(x):
        return 2 * x

    class Gradient:
        def __init__(self, k):
            self.k = k

        def __call__(self, dy):
            return self.k * dy

    first, second = Gradient(2.0), Gradient(2.0)
    twice.backward(first)
    twice.backward(second)
    second.k = 3.0
    x = opsdk.to_tensor([1.0], stop_gradient=False)
    twice(x).backward()
    assert x.grad.tolist() == [3.0]


def by_table(x):
    return float(np.load("table.npy")[0]) * x


def by_environment(x):
    return float(os.environ["K"]) * x


def by_variable(x):
    return float(os.getenv("K")) * x


def by_clock(x):
    import time

    return time.time() * x


def by_name(x):
    from numpy import loadtxt

    return float(loadtxt("k")) * x


def by_mathematics(x):
    return opsdk.vmath.exp(x) * math.pi + functools.reduce(operator.add, [np.float64(1.0), fractions.Fraction(1, 2)])


@pytest.mark.parametrize("function", [by_table, by_environment, by_variable, by_clock, by_name])
def test_a_function_may_read_the_world_through_a_library(function):
    assert reads_world(function)


def test_mathematics_reads_no_world():
    assert not reads_world(by_mathematics)


CELL = """
@opsdk.elementwise(name="looked_up_{kind}")
def looked_up(x, *, mode: str = "plain"):
    k = {read} if mode != "plain" else 1.0
    return k * x
"""
READS = {
    "file": ("float(np.load(path)[0])", "np.save(path, [{}])"),
    "environment": ("float(os.getenv('OPSDK_TEST_K'))", "os.environ['OPSDK_TEST_K'] = '{}'"),
    "metaclass": ("Config.k", "Meta.k = {}"),
}


@pytest.mark.parametrize("kind", READS)
def test_an_expression_that_is_defined_again_reads_the_world_again(kind, tmp_path, monkeypatch):
    read, write = READS[kind]
    monkeypatch.setenv("OPSDK_TEST_K", "")
    cell = {"np": np, "os": os, "opsdk": opsdk, "path": str(tmp_path / "k.npy"), "__name__": "__main__"}
    exec("class Meta(type):\n    k = 0.0\nclass Config(metaclass=Meta):\n    pass\n", cell)
    found = []
    for k in (2.0, 5.0):
        exec(write.format(k), cell)
        exec(CELL.format(kind=kind, read=read), cell)
        found.append(cell["looked_up"](np.array([1.0]), mode="table").tolist())
    assert found == [[2.0], [5.0]]


def test_an_expression_of_mathematics_alone_that_is_defined_again_is_the_one_there_is():
    cell = {"opsdk": opsdk, "__name__": "__main__"}
    made = []
    for _ in range(2):
        exec("@opsdk.elementwise\ndef doubled_again(x):\n    return 2.0 * opsdk.vmath.sin(x)\n", cell)
        made.append(cell["doubled_again"])
    assert made[0] is made[1]
