"""What objects lead to where their attributes do not say: a change of it is seen where it is read again."""

import contextvars
import ctypes
import dis
import functools
import threading
import types
import weakref

import numpy as np
import pytest

from opsdk.define.identity.referents import (
    added_as_a_whole,
    contents_of,
    memory_of,
    reads_of,
    texts_of,
    unread,
    with_inner,
)
from opsdk.define.identity.sameness import Reads, changed


class KeyErrors(dict):
    __getattr__ = dict.__getitem__  # what it lacks is a KeyError


class Held:
    pass


def setting(name, value):
    return lambda of: setattr(of, name, value)


def partial():
    made = functools.partial(len)
    made.k = 2.0
    return made


def variable():
    made = contextvars.ContextVar("k")
    made.set(2.0)
    return made


def local():
    made = threading.local()
    made.k = 2.0
    return made


def generator():
    def numbers():
        k = 2.0
        while True:
            k = yield k

    made = numbers()
    next(made)
    return made


KEPT = []  # what weak references and views are of


def kept(made):
    KEPT.append(made)
    return made


def held():
    made = kept(Held())
    made.k = 2.0
    return made


OBJECTS = {
    "an object that raises KeyError": (lambda: KeyErrors(k=2.0), lambda of: of.update(k=3.0)),
    "attributes of a partial": (partial, setting("k", 3.0)),
    "a cell": (lambda: types.CellType(2.0), setting("cell_contents", 3.0)),
    "a context variable": (variable, lambda of: of.set(3.0)),
    "what is a thread's own": (local, setting("k", 3.0)),
    "a generator": (generator, lambda of: of.send(3.0)),
    "a pointer": (lambda: ctypes.pointer(ctypes.c_double(2.0)), lambda of: setattr(of.contents, "value", 3.0)),
    "an object for C": (lambda: ctypes.py_object([2.0]), lambda of: of.value.append(3.0)),
    "keys": (lambda: kept({"k": 2.0}).keys(), lambda of: KEPT[-1].update(m=3.0)),
    "values": (lambda: kept({"k": 2.0}).values(), lambda of: KEPT[-1].update(k=3.0)),
    "items": (lambda: kept({"k": 2.0}).items(), lambda of: KEPT[-1].update(k=3.0)),
    "a view of a dict": (lambda: types.MappingProxyType(kept({"k": 2.0})), lambda of: KEPT[-1].update(k=3.0)),
    "a reference": (lambda: weakref.ref(held()), lambda of: setattr(of(), "k", 3.0)),
    "a set of references": (lambda: weakref.WeakSet([held()]), lambda of: setattr(KEPT[-1], "k", 3.0)),
    "a set of objects": (lambda: {held()}, lambda of: setattr(KEPT[-1], "k", 3.0)),
    "a view of bytes": (lambda: memoryview(kept(bytearray(b"2"))), lambda of: of.__setitem__(0, 51)),
    "elements": (lambda: kept(np.array([2.0])).flat, lambda of: of.__setitem__(0, 3.0)),
    "a method": (lambda: kept([2.0]).append, lambda of: of(3.0)),
}


def reading(value):
    """Returns a function that reads a global."""
    scope = {"value": value}
    exec("def function(x):\n    return value\n", scope)
    return scope["function"]


@pytest.mark.parametrize(("make", "change"), OBJECTS.values(), ids=OBJECTS)
def test_a_change_of_what_an_object_leads_to_is_seen(make, change):
    value = make()
    function = reading(value)
    known = Reads(function)
    assert changed(function, known) == []
    change(value)
    assert changed(function, known) == ["value"]


def test_an_empty_cell_is_known_as_empty():
    cell = types.CellType()
    function = reading(cell)
    known = Reads(function)
    assert changed(function, known) == []
    cell.cell_contents = 2.0
    assert changed(function, known) == ["value"]


def test_null_pointers_and_ended_generators_are_read_as_such():
    ended = generator()
    ended.close()
    for value in (ctypes.POINTER(ctypes.c_double)(), ctypes.py_object(), ended):
        function = reading(value)
        assert changed(function, Reads(function)) == []


def test_lists_and_dicts_of_numba_are_read():
    numba = pytest.importorskip("numba")
    items, table = numba.typed.List([2.0]), numba.typed.Dict.empty(numba.int64, numba.float64)
    for value in (items, table):
        function = reading(value)
        known = Reads(function)
        value.append(3.0) if value is items else value.__setitem__(1, 3.0)
        assert changed(function, known) == ["value"]


def test_a_stencil_is_its_function_whatever_it_has_compiled():
    numba = pytest.importorskip("numba")
    k = 2.0

    @numba.stencil
    def twice(a):
        return a[0] * k

    function = reading(twice)
    known = Reads(function)
    assert twice(np.ones(3)).tolist() == [2, 2, 2]
    assert changed(function, known) == []
    k = 3.0
    assert changed(function, known) == ["value"]


def test_data_of_cffi_is_read():
    ffi = pytest.importorskip("cffi").FFI()
    for value in (ffi.new("double *", 2.0), ffi.new("double[2]")):
        function = reading(value)
        known = Reads(function)
        assert changed(function, known) == []
        value[0] = 3.0
        assert changed(function, known) == ["value"]


def test_other_objects_lead_nowhere():
    assert contents_of(Held()) is None
    assert memory_of(Held()) is None
    assert memory_of(b"ab") == b"ab"


# -- code


TEXT = """
def f(x):
    import os.path
    inner = [scale.k.j * v for v in x]
    def g():
        return helper(x) + "name"
    return g, x.shape
"""


def code():
    scope = {}
    exec(compile(TEXT, "somewhere.py", "exec"), scope)
    return scope["f"].__code__


def test_globals_attributes_and_imports_of_a_function_and_of_what_is_in_it_are_found():
    chains, names, modules = reads_of(code())
    assert names == {"scale", "helper"}
    assert chains["scale"] == {("k", "j")}
    assert chains["helper"] == {()}
    assert modules == ("os.path",)


def test_texts_that_may_be_names_are_found():
    assert [text for each in with_inner(code()) for text in texts_of(each) if text == "name"] == ["name"]


def test_parameters_that_no_code_reads_are_told():
    def outer(x, *, used=1.0, inner=2.0, kept=3.0, given=4.0):
        given = 5.0
        return (lambda: x * inner) if used else given

    assert unread(outer.__code__) == ["kept"]
    assert unread((lambda a, b: locals()).__code__) == []


def test_what_a_thousand_functions_read_is_known_when_they_are_looked_at_again(monkeypatch):
    codes = [compile(f"known{i}.part", "somewhere.py", "eval") for i in range(3000)]
    for each in codes:
        reads_of(each)
    monkeypatch.delattr(dis, "get_instructions")
    assert [reads_of(each)[1] for each in codes] == [{f"known{i}"} for i in range(3000)]


def test_what_a_function_adds_to_as_a_whole_is_told_from_what_it_adds_to_in_places():
    def sums(x):
        total, column, each = 0.0, x[0], x.copy()
        for row in x:
            total += row.sum()
            column *= row
            each[0] += row
            other = total + 1
        return total, column, each, other

    assert set(added_as_a_whole(sums.__code__)) == {"total", "column"}
