"""Values of attributes that verify tries: beside the defaults, inside of ranges and choices."""

import pytest

import opsdk
from opsdk.core.random import Generator
from opsdk.verify.inputs.attributes import draws, needed, others


def opdef(attrs, names="k"):
    with opsdk.scoped_registry():
        return opsdk.op(f"t::f(Tensor x, *, {attrs}) -> Tensor y")(eval(f"lambda x, {names}: x")).opdef


def tried(attrs):
    return [(name, value) for name, value, _ in others(opdef(attrs))]


@pytest.mark.parametrize(
    ("attrs", "values"),
    [
        ("bool k=True", [False]),
        ("int k=3", [4, 2]),
        ("float k=1.0", [2.0, -2.0]),
        ("float k=inf", []),
        ('str k="a"', []),
        ("int[] k=[1, 2]", []),
        ('"a" | "b" | "c" k="b"', ["a", "c"]),
        ("0 <= int < 4 k=3", [2]),
        ("0 <= int < 9 k=3", [4, 2]),
        ("0 <= float <= 1 k=1.0", [0.5]),
        ("0 < float <= 3 k=1.0", [2.0, 0.5]),
        ("0 <= float <= 1 k=0.0", [0.3]),
    ],
)
def test_values_beside_a_default_are_inside_what_the_type_allows(attrs, values):
    found = tried(attrs)
    assert [name for name, _ in found] == ["k"] * len(values)
    is_float = values and isinstance(values[0], float)
    assert [value for _, value in found] == (pytest.approx(values) if is_float else values)


def test_a_list_that_is_bounded_has_one_value_everywhere():
    assert tried("0 <= int[2] < 9 k=[3, 3]") == [("k", (4, 4)), ("k", (2, 2))]


def test_what_no_type_allows_is_told_as_invented():
    (_, value, invented), _ = others(opdef("int k=3"))
    assert (invented.name, invented.value, invented.default) == ("k", value, 3)
    assert [each for *_, each in others(opdef("0 <= int < 9 k=3"))] == [None, None]


def test_what_has_to_be_given_and_says_what_there_is_gets_a_value():
    found = needed(opdef('"a" | "b" k, int n, 0 <= int < 4 m, 0 <= int < 4 o=1', "k, n, m, o"))
    assert found.keys() == {"k", "m"}
    assert (found["k"], found["m"] in range(4)) == ("a", True)


def test_each_generator_gives_a_draw_that_all_kernels_share():
    own = opdef("Generator rng, Generator other", "rng, other")
    found = needed(own)
    assert found == needed(own)
    assert found["rng"] == Generator(2**32 + 1).peek() != found["other"] == Generator(2**32 + 2).peek()
    held = Generator(7)
    assert draws(own, {"rng": held})["rng"] == held.peek()
    assert held.state_dict()["count"] == 0
