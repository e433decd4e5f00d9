"""What an expression or a compiled kernel reads again has to be what it was, whatever it is."""

import builtins
import ctypes
import functools
import mmap
import types

import numpy as np
import pytest

from opsdk.define.identity.digest import text_of
from opsdk.define.identity.unchanged import changed, reads


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
    known = reads(function)
    assert changed(function, known) == []
    scope["value"] = make(3)
    assert changed(function, known) == ["value"]


def test_another_function_of_a_library_of_c_is_seen():
    library = ctypes.CDLL(None)
    function, scope = reading(library.labs)
    known = reads(function)
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
    known = reads(function)
    change(value)
    assert changed(function, known) == ["value"]


def test_a_function_that_keeps_its_results_is_what_it_is_made_of():
    function, scope = reading(cached(2))
    known = reads(function)
    scope["value"]()
    scope["value"] = cached(2)  # its cell run again
    assert changed(function, known) == []
    assert text_of(scope["value"]) != text_of(scope["value"])  # but what it keeps may be older


def test_what_a_function_that_keeps_its_results_reads_is_seen_to_change():
    scope = {"functools": functools, "K": 2.0}
    exec("@functools.cache\ndef value(n):\n    return K * n\ndef function(x):\n    return value(x)\n", scope)
    known = reads(scope["function"])
    scope["K"] = 3.0
    assert changed(scope["function"], known) == ["value"]


def test_a_private_slot_is_read():
    assert text_of(Private(2)) == text_of(Private(2)) != text_of(Private(3))


def test_a_name_that_a_helper_lacks_hides_no_other_change():
    scope = {"K": 2.0}
    exec("def helper(x):\n    return K if x else later\ndef function(x):\n    return helper(x)\n", scope)
    known = reads(scope["function"])
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
    known = reads(function)
    assert changed(function, known) == []
    scope["value"] = [deep]
    assert changed(function, known) == ["value"]


def test_an_installed_package_does_not_change(monkeypatch):
    module = types.ModuleType("installed_one")
    module.__file__ = "/usr/lib/python3/site-packages/installed_one.py"
    exec("memory = {}\ndef value(x):\n    memory[x] = x\n    return x\n", vars(module))
    monkeypatch.setitem(__import__("sys").modules, "installed_one", module)
    function, _ = reading(module.value)
    known = reads(function)
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
    known = reads(scope["function"])
    assert changed(scope["function"], known) == []
    monkeypatch.setattr(builtins, "GAIN", 3.0)
    assert changed(scope["function"], known) == ["GAIN"]
