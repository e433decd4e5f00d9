import builtins
import ctypes
import fractions
import functools
import math
import mmap
import operator
import os
import types

import numpy as np
import pytest

import opsdk
from opsdk.define.identity.digest import text_of
from opsdk.define.identity.sameness import Reads, changed, holds_same, is_one, reads_world


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


# -- whether what a function reads is what it was: an expression or a compiled kernel reads it again


def reading(value):
    """Returns a function that reads a global, and its globals."""
    scope = {"value": value}
    exec("def function(x):\n    return value\n", scope)
    return scope["function"], scope


class Structure(ctypes.Structure):
    _fields_ = [("k", ctypes.c_double)]


class Private:
    __slots__ = ("__k",)

    def __init__(self, k):
        self.__k = k


def structure_of(k):
    return Structure(k)


def array_of(k):
    return (ctypes.c_double * 1)(k)


def memory_of(k):
    made = mmap.mmap(-1, 16)
    made[0] = k
    return made


def cached(k):
    @functools.cache
    def coefficient():
        return k

    return coefficient


def ufunc(k):
    return np.frompyfunc(lambda x: k, 1, 1)


def flat(k):
    return np.array([float(k)]).flat


@pytest.mark.parametrize("make", [structure_of, array_of, memory_of, cached, ufunc, flat, Private])
def test_another_value_in_its_place_is_seen(make):
    function, scope = reading(make(2))
    known = Reads(function)
    assert changed(function, known) == []
    scope["value"] = make(3)
    assert changed(function, known) == ["value"]


def test_another_function_of_a_library_of_c_is_seen():
    library = ctypes.CDLL(None)
    function, scope = reading(library.labs)
    known = Reads(function)
    assert changed(function, known) == []
    scope["value"] = library.llabs
    assert changed(function, known) == ["value"]


@pytest.mark.parametrize(
    ("make", "change"),
    [
        (structure_of, lambda value: setattr(value, "k", 3.0)),
        (array_of, lambda value: value.__setitem__(0, 3.0)),
        (memory_of, lambda value: value.__setitem__(0, 3)),
        (flat, lambda value: value.base.__setitem__(0, 3.0)),
    ],
)
def test_what_objects_of_c_hold_is_seen_to_change(make, change):
    value = make(2)
    function, _ = reading(value)
    known = Reads(function)
    change(value)
    assert changed(function, known) == ["value"]


def test_a_function_that_keeps_its_results_is_what_it_is_made_of():
    function, scope = reading(cached(2))
    known = Reads(function)
    scope["value"]()
    scope["value"] = cached(2)  # its cell run again
    assert changed(function, known) == []
    assert text_of(scope["value"]) != text_of(scope["value"])  # but what it keeps may be older


def test_what_a_function_that_keeps_its_results_reads_is_seen_to_change():
    scope = {"functools": functools, "K": 2.0}
    exec("@functools.cache\ndef value(n):\n    return K * n\ndef function(x):\n    return value(x)\n", scope)
    known = Reads(scope["function"])
    scope["K"] = 3.0
    assert changed(scope["function"], known) == ["value"]


def test_a_private_slot_is_read():
    assert text_of(Private(2)) == text_of(Private(2)) != text_of(Private(3))


def test_a_name_that_a_helper_lacks_hides_no_other_change():
    scope = {"K": 2.0}
    exec("def helper(x):\n    return K if x else later\ndef function(x):\n    return helper(x)\n", scope)
    known = Reads(scope["function"])
    scope["later"] = 1.0
    assert changed(scope["function"], known) == []  # its first value counts
    scope["later"] = 2.0
    assert changed(scope["function"], known) == ["helper"]
    scope["later"], scope["K"] = 1.0, 3.0
    assert changed(scope["function"], known) == ["helper"]


def test_what_is_nested_too_deep_to_be_read_is_known_by_which_it_is():
    deep = []
    for _ in range(5000):
        deep = [deep]
    function, scope = reading(deep)
    known = Reads(function)
    assert changed(function, known) == []
    scope["value"] = [deep]
    assert changed(function, known) == ["value"]


def test_an_installed_package_does_not_change(monkeypatch):
    module = types.ModuleType("installed_one")
    module.__file__ = "/usr/lib/python3/site-packages/installed_one.py"
    exec("memory = {}\ndef value(x):\n    memory[x] = x\n    return x\n", vars(module))
    monkeypatch.setitem(__import__("sys").modules, "installed_one", module)
    function, _ = reading(module.value)
    known = Reads(function)
    module.value(3)
    assert changed(function, known) == []


@pytest.mark.parametrize("options", [{"locals": {"t": "float32"}}, {"fastmath": True}, "eager"])
def test_how_numba_compiled_a_helper_is_read(options):
    numba = pytest.importorskip("numba")

    def scaled(v):
        t = v * 0.1
        return t

    if options == "eager":
        made = numba.njit("float32(float32)")(scaled)
    else:
        options = {**options, **({"locals": {"t": numba.float32}} if "locals" in options else {})}
        made = numba.njit(**options)(scaled)
    assert text_of(numba.njit(scaled)) == text_of(numba.njit(scaled)) != text_of(made)


def test_a_name_that_somebody_put_among_the_builtins_is_read_as_a_global(monkeypatch):
    monkeypatch.setattr(builtins, "GAIN", 2.0, raising=False)
    scope = {}
    exec("def function(x):\n    return x * GAIN + len(x)\n", scope)
    known = Reads(scope["function"])
    assert changed(scope["function"], known) == []
    monkeypatch.setattr(builtins, "GAIN", 3.0)
    assert changed(scope["function"], known) == ["GAIN"]
