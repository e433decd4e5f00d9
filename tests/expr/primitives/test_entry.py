import numpy as np
import pytest

from opsdk.expr.primitives import entry
from opsdk.expr.primitives.entry import REAL_ONLY, VALUED, flat, primitive
from opsdk.expr.primitives.table import PRIMITIVES


@pytest.fixture
def added(monkeypatch):
    """Adds a primitive to a table of its own, and gives it back."""
    monkeypatch.setattr(entry, "PRIMITIVES", {})
    monkeypatch.setattr(entry, "WATCHERS", [])

    def add(name, *args, **fields):
        primitive(name, *args, **fields)
        return entry.PRIMITIVES[name]

    return add


def test_what_nothing_is_said_of_has_its_name_everywhere(added):
    made = added("tan")
    assert (made.function, made.ufunc, made.c, made.cuda, made.infix) == ("tan", "tan", "tan{f}({0})", "tan", "")
    assert (made.operands, made.takes, made.gives, made.arity) == (("x",), ("float",), "float", 1)
    assert (made.cost, made.ulp, made.complex) == (1, None, VALUED)
    assert made.meaning(np, np.array([0.5])) == np.tan([0.5])


def test_libraries_may_call_it_otherwise_and_each_in_its_own_way(added):
    both = added("arctan2", "", "y x", library="atan2")
    assert (both.c, both.cuda) == ("atan2{f}({0}, {1})", "atan2")
    apart = added("round", library="nearbyint", cuda="rint")
    assert (apart.c, apart.cuda) == ("nearbyint{f}({0})", "rint")


@pytest.mark.parametrize("fields", [{"c": "{0} * {0}"}, {"infix": "+"}])
def test_what_is_written_out_is_looked_for_in_no_library(added, fields):
    made = added("own", **fields)
    assert (made.c, made.cuda) == (fields.get("c", ""), "")


def test_kinds_are_written_a_letter_each(added):
    made = added("where", "", "condition a b", takes="bff", gives="b")
    assert (made.takes, made.gives) == (("bool", "float", "float"), "bool")


def test_operands_of_the_kinds_that_are_named_are_made_floats_first(added):
    ones = np.ones(2, np.int8)
    assert added("exp", floats="biu").meaning(np, ones).dtype == np.float64
    assert added("exp", floats="b").meaning(np, ones).dtype == np.float16  # as NumPy has it
    assert added("exp", floats="biu").meaning(np, ones.astype(np.float32)).dtype == np.float32


def test_what_is_flat_sends_nothing_to_any_operand():
    assert flat("y", "a", "b") == (None, None)


def test_every_primitive_has_a_text_in_c_and_is_computed_on_a_device():
    assert [name for name, made in PRIMITIVES.items() if bool(made.c) == bool(made.infix)] == []
    assert {made.complex for made in PRIMITIVES.values()} >= {VALUED, REAL_ONLY}
