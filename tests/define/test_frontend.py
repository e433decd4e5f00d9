import pytest

from opsdk.core.errors import MixedRuntimeError
from opsdk.define import frontend
from opsdk.define.frontend import apply_slowly, owner_of, register_frontend
from opsdk.define.schema.parse import parse_schema


class Value:
    pass


class Symbol:
    pass


class Runtime:
    def __init__(self, name, kind):
        self.name = name
        self.kind = kind

    def accepts(self, value):
        return isinstance(value, self.kind)

    def apply(self, opdef, inputs, attrs):
        return self.name


class OpDef:
    schema = parse_schema("f(Tensor x) -> Tensor y", "ns")
    subject = "op 'ns::f'"


@pytest.fixture(autouse=True)
def runtimes(monkeypatch):
    for table in ("APPLY", "FAST_PATHS"):
        monkeypatch.setattr(frontend, table, {})
    for table in ("_FRONTENDS", "_fallback"):
        monkeypatch.setattr(frontend, table, [])
    monkeypatch.setattr(frontend, "_PLAIN", set())
    register_frontend(Runtime("values", Value), Value, fast=lambda opdef, value: "short")
    register_frontend(Runtime("symbols", Symbol), Symbol)
    register_frontend(Runtime("arrays", object), is_fallback=True)


def applied(*inputs):
    return apply_slowly(OpDef, inputs, {})


def test_the_runtime_of_a_value_takes_the_call():
    assert applied(1, Symbol()) == "symbols"


def test_a_value_inside_of_a_list_decides_too():
    assert applied(1, [2, Value()]) == "values"


def test_a_value_of_a_subclass_belongs_to_the_runtime_of_its_class():
    assert applied(type("Derived", (Value,), {})()) == "values"


def test_without_a_value_of_a_runtime_the_fallback_takes_the_call():
    assert applied(1, [2.0], None) == "arrays"


def test_values_of_two_runtimes_in_one_call_are_refused():
    with pytest.raises(MixedRuntimeError) as caught:
        applied(Value(), [Symbol()])
    assert str(caught.value) == "op 'ns::f': expected values of one runtime, got values and symbols in one call"


def test_exact_types_are_found_in_one_step():
    assert frontend.APPLY[Symbol](OpDef, (), {}) == "symbols"
    assert list(frontend.FAST_PATHS) == [Value]


def test_a_runtime_that_is_registered_twice_is_there_once():
    runtime = frontend._FRONTENDS[0]
    register_frontend(runtime, Value)
    assert frontend._FRONTENDS.count(runtime) == 1


def test_a_later_fallback_takes_the_place_of_the_earlier_one():
    register_frontend(Runtime("others", object), is_fallback=True)
    assert applied(1) == "others"


def test_the_owner_of_a_value_is_named():
    assert [owner_of(Value()), owner_of(Symbol()), owner_of(3)] == ["values", "symbols", None]


def test_values_of_a_plain_type_go_to_the_fallback_without_asking_anybody():
    class Plain:
        pass

    class Curious(Runtime):
        def accepts(self, value):
            raise AssertionError("asked")

    register_frontend(Curious("curious", Plain))
    register_frontend(Runtime("arrays", object), Plain, is_fallback=True)
    assert applied(Plain(), Plain()) == "arrays"


def test_a_plain_value_beside_one_of_a_runtime_leaves_the_call_to_the_runtime():
    class Plain:
        pass

    register_frontend(Runtime("arrays", object), Plain, is_fallback=True)
    assert applied(Plain(), Value()) == "values"


def test_a_fallback_has_its_fast_path_too():
    class Plain:
        pass

    register_frontend(Runtime("arrays", object), Plain, fast=lambda opdef, value: "short", is_fallback=True)
    assert frontend.FAST_PATHS[Plain](OpDef, Plain()) == "short"
