import functools
import math
import re
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, NameClashError
from opsdk.define.identity.callables import callable_text, captured, importable_name, value_text


def at_the_top(x):
    return x


class Holder:
    def __init__(self, weight):
        self.weight = weight

    def method(self, x):
        return x * self.weight

    @classmethod
    def made(cls):
        return cls(1.0)

    def __call__(self, x):
        return self.method(x)


HERE = __name__


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (at_the_top, f"{HERE}:at_the_top"),
        (Holder, f"{HERE}:Holder"),
        (Holder.method, f"{HERE}:Holder.method"),
        (Holder.made, f"{HERE}:Holder.made"),
        (math.sin, "math:sin"),
        (opsdk.nn.functional.softsign, "opsdk::softsign"),
        (opsdk.softmax, "opsdk.ops.functions:softmax"),
    ],
)
def test_what_can_be_imported_has_a_name(function, name):
    assert importable_name(function, "save") == name


def nested():
    def inner(x):
        return x

    return inner


@pytest.mark.parametrize(
    ("function", "got"),
    [
        (lambda x: x, "<lambda> at "),
        (nested(), "nested.inner at "),
        (functools.partial(at_the_top), "a partial of at_the_top, of which the arguments would be lost"),
        (Holder(1.0).method, "Holder.method, a method of an object, which would be lost"),
        (Holder(1.0), "Holder; define a function"),
    ],
    ids=["lambda", "nested", "partial", "method", "object"],
)
def test_what_cannot_is_refused_with_its_line(function, got):
    wanted = f"save: expected a callable that can be imported by name, got {got}"
    with pytest.raises(AttributeValueError, match=re.escape(wanted)) as caught:
        importable_name(function, "save")
    shown = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert bool(re.search(r"test_callables\.py:\d+", shown)) is ("Holder;" not in got)


def test_the_program_that_runs_has_another_name_elsewhere(monkeypatch):
    monkeypatch.setattr(at_the_top, "__module__", "__main__")
    monkeypatch.setattr("__main__.at_the_top", at_the_top, raising=False)
    with pytest.raises(AttributeValueError, match="got at_the_top, of the program that runs; define a function"):
        importable_name(at_the_top, "save")


def test_an_op_that_lost_its_name_has_none():
    schema = "test_callables::f(Tensor x) -> Tensor y"
    first, second = opsdk.op(schema)(lambda x: x * 1.0), opsdk.op(schema)(lambda x: x * 2.0)
    assert importable_name(second, "save") == "test_callables::f"
    with pytest.raises(NameClashError):
        importable_name(first, "save")
    opsdk.unregister(second)


def test_what_is_shown_is_the_name_and_a_line_where_that_says_too_little():
    assert callable_text(at_the_top) == "at_the_top"
    assert callable_text(opsdk.tanh) == "opsdk::tanh"
    assert callable_text(Holder(1.0)) == "Holder"
    assert re.fullmatch(r"nested\.inner at .*test_callables\.py:\d+", callable_text(nested()))
    assert callable_text(functools.partial(at_the_top, 2, k=np.sin)) == "partial(at_the_top, 2, k=sin)"
    assert value_text([1, "a"]) == "[1, 'a']"


def held_by(function):
    return sorted(name for name, _ in captured(function, lambda value: isinstance(value, opsdk.Tensor)))


GLOBAL = opsdk.ones([2])


def reads_a_global(x):
    return x * GLOBAL


def calls_one_that_does(x):
    return reads_a_global(x) + 1


def test_values_are_found_wherever_a_callable_holds_them():
    t = opsdk.ones([2])
    layer = opsdk.nn.Linear(2, 2)

    def enclosing(x, *, default=t):
        return x * t + default

    assert held_by(reads_a_global) == held_by(calls_one_that_does) == ["GLOBAL"]
    assert held_by(lambda x: x * t) == ["t"]
    assert held_by(enclosing) == ["default"]  # once, by one of its names
    assert held_by(lambda x, w=t: x) == ["w"]
    assert held_by(functools.partial(at_the_top, t)) == ["argument 0"]
    assert held_by(functools.partial(at_the_top, k=[t])) == ["k[0]"]
    assert held_by(Holder({"a": t}).method) == held_by(Holder({"a": t})) == ["weight['a']"]
    assert held_by(layer) == held_by(layer.forward) == ["bias", "weight"]
    assert held_by(lambda x: layer(x)) == ["layer.bias", "layer.weight"]
    assert held_by(at_the_top) == held_by(opsdk.tanh) == held_by(np.tanh) == held_by(math.sin) == []


def test_they_are_found_in_what_the_standard_library_holds_them_in():
    t = opsdk.ones([2])
    held = SimpleNamespace(w=deque([t]))
    assert held_by(lambda x: x * held.w[0]) == ["held.w[0]"]
    assert held_by(functools.lru_cache(lambda n: t * n)) == ["t"]


class Slotted:
    __slots__ = ("_unset", "weight")

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return x * self.weight


class Bare:
    def __call__(self, x):
        return x * GLOBAL


def test_values_are_found_in_slots_and_by_the_call_of_an_object_without_attributes():
    assert held_by(Slotted([opsdk.ones([2])])) == ["weight[0]"]
    assert held_by(type("Below", (Slotted,), {"__slots__": ()})(opsdk.ones([2]))) == ["weight"]
    assert held_by(Bare()) == ["GLOBAL"]


def test_what_has_no_value_yet_and_what_holds_itself_are_no_trouble():
    def early(x):
        return late(x)

    assert held_by(early) == []
    ring = []
    ring.append(ring)
    assert held_by(lambda x: ring) == []
    late = opsdk.ones([1])
    assert held_by(early) == ["late"]
