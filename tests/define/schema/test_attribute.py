import ast
import enum

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, SchemaError
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import REQUIRED, AttrDecl, coerce, freeze, literal


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("int", np.int8(3), 3),
        ("float", 3, 3.0),
        ("float", np.float32(0.5), 0.5),
        ("bool", np.bool_(True), True),
        ("str", np.str_("a"), "a"),
        ("str", enum.Enum("Mode", {"SUM": "sum"}, type=str).SUM, "sum"),
        ("complex", 1, 1 + 0j),
        ("complex", np.complex64(2j), 2j),
        ("dtype", "float64", np.dtype("float64")),
        ("dtype", np.int8, np.dtype("int8")),
        ("int[]", [1, np.int64(2)], (1, 2)),
        ("int[]", np.array([3, 4]), (3, 4)),
        ("int[]", 1, (1,)),
        ("float[]", (), ()),
        ("dtype[]", ["float64", "int8"], (np.dtype("float64"), np.dtype("int8"))),
        ("int?", None, None),
        ("int[]?", None, None),
        ("str?", "a", "a"),
        ("Callable", np.sin, np.sin),
        ("Callable?", None, None),
        ("Callable[]", [np.sin, opsdk.tanh], (np.sin, opsdk.tanh)),
    ],
)
def test_a_value_is_taken_in_the_attributes_own_type(kind, value, kept):
    got = coerce(AttrDecl("k", AttrType.of(kind)), value, "op 'f'")
    assert (got, type(got)) == (kept, type(kept))


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int", 1.0),
        ("int", True),
        ("float", False),
        ("float", "1"),
        ("float", 1j),
        ("bool", 1),
        ("bool", "yes"),
        ("str", 1),
        ("str", b"a"),
        ("complex", True),
        ("dtype", "float33"),
        ("int", None),
        ("int[]", [1, 2.5]),
        ("int[]", "12"),
        ("int[]", np.ones((2, 2), int)),
        ("float[]", 1.0),
        ("str[]", "ab"),
        ("int[]?", [None]),
    ],
)
def test_a_value_of_another_type_is_refused_with_what_it_is(kind, value):
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", AttrType.of(kind)), value, "op 'f'")
    told, _, remedy = str(caught.value).rpartition("; ")
    assert told == f"op 'f': attribute 'k' expected {kind}, got {value!r} ({type(value).__name__})"
    assert remedy.startswith("write k=")


@pytest.mark.parametrize(
    ("kind", "example"), [("str", '"text"'), ("int[]", "[2]"), ("int[]?", "[2]"), ("dtype?", '"float32"')]
)
def test_a_value_of_another_type_comes_with_one_that_is_taken(kind, example):
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", AttrType.of(kind)), object(), "op 'f'")
    assert str(caught.value).endswith(f"; write k={example} or the like")
    coerce(AttrDecl("k", AttrType.of(kind)), ast.literal_eval(example), "op 'f'")


def test_a_refused_value_is_among_the_details():
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", AttrType.of("int")), "x", "op 'f'")
    assert caught.value.details == {"attribute": "k", "got": "x"}


def test_a_list_that_is_a_default_prints_in_brackets():
    assert literal((np.dtype("int8"), "a", 1.5)) == "[int8, 'a', 1.5]"


def test_an_attribute_without_a_default_is_required():
    decl = AttrDecl("k", AttrType.of("int"))
    assert decl.is_required
    assert str(decl) == "int k"


def test_the_absent_default_says_what_it_is():
    assert repr(REQUIRED) == "REQUIRED"


def test_none_as_a_default_is_a_default():
    decl = AttrDecl("k", AttrType.of("int?"), None)
    assert not decl.is_required
    assert str(decl) == "int? k=None"


@pytest.mark.parametrize("kind", ["int", "int?", "int[]", "int[]?"])
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, np.uint64(2**63), pytest.param(10**5000, id="huge")])
def test_a_whole_number_has_64_bits_in_every_kernel(kind, value):
    for entry in (value, [1, value]) if "[]" in kind else (value,):
        with pytest.raises(AttributeValueError, match=r"'k' expected int.*, a whole number from -2\*\*63 to"):
            coerce(AttrDecl("k", AttrType.of(kind)), entry, "op 'f'")
    for end in (-(2**63), 2**63 - 1):
        assert coerce(AttrDecl("k", AttrType.of(kind)), end, "op 'f'") == ((end,) if "[]" in kind else end)


@pytest.mark.parametrize("kind", ["float", "float[]", "complex", "complex?"])
def test_a_whole_number_beyond_all_floats_is_refused(kind):
    given = [1, 10**400] if "[]" in kind else 10**400
    with pytest.raises(AttributeValueError, match=r"'k' expected .*, a number that (float64|complex128) holds"):
        coerce(AttrDecl("k", AttrType.of(kind)), given, "op 'f'")


@pytest.mark.parametrize("kind", ["float", "complex"])
@pytest.mark.parametrize("number", [2**53 + 1, np.int64(-(2**53) - 1), 2**80 + 1])
def test_a_whole_number_that_a_float_attribute_would_round_is_refused(kind, number):
    wanted = rf"'k' expected {kind}, a number that \w+ holds, got -?\d+; pass it as"
    with pytest.raises(AttributeValueError, match=wanted):
        coerce(AttrDecl("k", AttrType.of(kind)), number, "op 'f'")
    assert coerce(AttrDecl("k", AttrType.of(kind)), 2**80, "op 'f'") == 2.0**80


def test_lists_and_arrays_of_a_call_become_tuples_of_plain_values():
    attrs = {"a": [1, 2], "b": np.array([0.5], "float32"), "c": (3,), "d": None, "e": 1, "f": [4]}
    freeze(attrs, ("a", "b", "c", "d", "e", "absent"))
    assert attrs == {"a": (1, 2), "b": (0.5,), "c": (3,), "d": None, "e": 1, "f": [4]}
    assert type(attrs["b"][0]) is float


def test_an_array_of_more_dimensions_stays_what_will_be_refused():
    attrs = {"a": np.ones((2, 2))}
    freeze(attrs, ("a",))
    assert attrs["a"].shape == (2, 2)


# -- lengths, ranges and choices


@pytest.mark.parametrize(
    ("kind", "value", "kept"),
    [
        ("int[2]", 3, (3, 3)),
        ("int[2]", np.array([1, 2]), (1, 2)),
        ("int[2]?", None, None),
        ("float[3]", 1, (1.0, 1.0, 1.0)),
        ("str[2]", "ab", ("ab", "ab")),
        ("dtype[2]", "int8", (np.dtype("int8"),) * 2),
        ("0 <= float < 1", 0, 0.0),
        ("0 <= float < 1", np.float32(0.5), 0.5),
        ("int? >= 1", None, None),
        ("0 < float[]", [1, 2.5], (1.0, 2.5)),
        ("-1 <= int[2] <= 1", 1, (1, 1)),
        ("'a' | 'b'", np.str_("b"), "b"),
        ("(1 | 3)[]", [3, 1, 3], (3, 1, 3)),
    ],
)
def test_a_value_inside_is_taken_in_the_attributes_own_type(kind, value, kept):
    got = coerce(AttrDecl("k", AttrType.of(kind)), value, "op 'f'")
    assert (got, type(got)) == (kept, type(kept))
    assert list(map(type, got or ())) == list(map(type, kept or ())) if isinstance(kept, tuple) else True


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("int[2]", [1], "int[2], got [1] (list); write k=[2, 2] or the like"),
        ("int[2]", (1, 2, 3), "int[2], got [1, 2, 3] (list); write k=[2, 2] or the like"),
        ("float[2]", [], "float[2], got [] (list); write k=[0.5, 0.5] or the like"),
        ("str[2]", ["a"], 'str[2], got [\'a\'] (list); write k=["text", "text"] or the like'),
        ("0 <= float < 1", 1.0, "0 <= float < 1, got 1.0"),
        ("0 <= float < 1", -1e-300, "0 <= float < 1, got -1e-300; write k=0.0"),
        ("0 <= float < 1", float("nan"), "0 <= float < 1, got nan"),
        ("float <= 2", float("nan"), "float <= 2, got nan"),
        ("float < inf", float("inf"), "float < inf, got inf"),
        ("0 <= float < 1", "a", "0 <= float < 1, got 'a' (str); write k=0.5 or the like"),
        ("-1 <= float <= 2", 7, "-1 <= float <= 2, got 7.0; write k=2.0"),
        ("int >= 1", 0, "int >= 1, got 0; write k=1"),
        ("0 < int < 9", -4, "0 < int < 9, got -4; write k=1"),
        ("0 < int < 9", 9, "0 < int < 9, got 9; write k=8"),
        ("0 <= int[] <= 9", [12, 3, -1], "0 <= int[] <= 9, got 12 at position 0; write k=[9, 3, 0]"),
        ("0 < float[]", [1.0, -2.0], "float[] > 0, got -2.0 at position 1"),
        ("'linear' | 'cubic'", "qubic", "'linear' | 'cubic', got 'qubic'; write k='cubic'"),
        ("'linear' | 'cubic'", "x", "'linear' | 'cubic', got 'x'; write k='linear'"),
        ("'linear' | 'cubic'", None, "'linear' | 'cubic', got None (NoneType); write k='linear' or the like"),
        ("1 | 2", 3, "1 | 2, got 3; write k=2"),
        ("1.5 | 2.0", 1.7, "1.5 | 2.0, got 1.7; write k=1.5"),
        ("1.5 | 2", np.float32(7), "1.5 | 2.0, got 7.0; write k=2.0"),
        ("1.5 | 2.0", "1.5", "1.5 | 2.0, got '1.5' (str); write k=1.5 or the like"),
        ("1.0 | 0.5", True, "1.0 | 0.5, got True (bool); write k=1.0 or the like"),
        ("('a' | 'b')[2]", ["a", "c"], "('a' | 'b')[2], got 'c' at position 1; write k=['a', 'a']"),
    ],
)
def test_a_value_outside_meets_one_sentence(kind, value, told):
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", AttrType.of(kind)), value, "op 'f'")
    assert str(caught.value) == f"op 'f': attribute 'k' expected {told}"
    assert caught.value.details == {"attribute": "k", "got": list(value) if isinstance(value, tuple) else value}


@pytest.mark.parametrize(
    ("kind", "default", "given", "told"),
    [
        ("float > 0", 0.25, 0, "float > 0, got 0.0; write k=0.25"),
        ("float[2] > 0", (0.25, 1.0), [1, 0], "float[2] > 0, got 0.0 at position 1; write k=[0.25, 1.0]"),
        ("float? > 0", None, 0, "float? > 0, got 0.0"),
    ],
)
def test_beside_an_open_bound_the_default_is_told(kind, default, given, told):
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", AttrType.of(kind), default), given, "op 'f'")
    assert str(caught.value) == f"op 'f': attribute 'k' expected {told}"


def test_an_open_size_of_a_spec_among_numbers_is_told_with_its_remedy():
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("shape", AttrType.of("int[]")), (2, None), "op 'f'")
    assert str(caught.value) == (
        "op 'f': attribute 'shape' expected int[], got [2, None] (list); write shape=x.shape, with the value itself: "
        "None is a size that only a run can tell, as in x_spec.shape"
    )


def bounded(x, *, p=0.5, k=(1, 1), mode="a", alpha=1.5):
    return x * p


BOUNDED = "t::bounded(Tensor x, *, 0 <= float < 1 p=0.5, int[2] k=1, 'a' | 'b' mode='a', 1.5 | 2 alpha=2) -> Tensor y"


@pytest.mark.parametrize(("name", "value"), [("p", 1.0), ("k", [1]), ("mode", "c"), ("alpha", 1.7)])
def test_every_runtime_refuses_a_value_before_anything_runs(name, value):
    ran = []
    op = opsdk.op(BOUNDED, replace=True)(lambda x, p, k, mode, alpha: ran.append(1) or x * p)
    op.backward(lambda dy, p: dy * p)
    x = np.ones(2)
    wanted = rf"op 't::bounded': attribute {name!r} expected"
    for call in (x, opsdk.to_tensor(x), opsdk.to_tensor(x, stop_gradient=False)):
        for _ in range(2):  # with a plan and without one
            with pytest.raises(AttributeValueError, match=wanted):
                op(call, **{name: value})
            op(call)
    before = len(ran)
    with opsdk.static.program_guard(opsdk.static.Program()) as _:
        program = opsdk.static.default_main_program()
        with pytest.raises(AttributeValueError, match=wanted):
            op(opsdk.static.data("x", [2], "float64"), **{name: value})
        assert program.global_block().ops == []
    assert len(ran) == before


def test_a_gradient_holds_its_attributes_to_the_same_range():
    op = opsdk.op(BOUNDED, replace=True)(bounded)
    grad = op.backward(lambda dy, p: dy * p)
    assert grad.schema == "t::bounded_grad@1(Tensor dy, *, 0 <= float < 1 p=0.5) -> Tensor dx"
    with pytest.raises(AttributeValueError, match=r"attribute 'p' expected 0 <= float < 1, got 2.0; write p=0.5"):
        grad(np.ones(1), p=2)


def test_a_default_outside_is_refused_where_the_op_is_defined():
    with pytest.raises(SchemaError, match="default of 'p' expected a literal of type 0 <= float < 1, got '1'"):
        opsdk.op("t::f(Tensor x, *, 0 <= float < 1 p=1) -> Tensor y")(lambda x, p: x)


def test_what_cannot_be_called_is_no_callable_and_one_is_no_default():
    decl = AttrDecl("f", AttrType.of("Callable"))
    with pytest.raises(AttributeValueError, match=r"op 'f': attribute 'f' expected Callable, got 3 \(int\); write f="):
        coerce(decl, 3, "op 'f'")
    with pytest.raises(AttributeValueError, match=r"op 'f': default of 'f' expected None, of Callable\?, since a"):
        decl.with_default(np.sin, "op 'f'")
    assert str(AttrDecl("f", AttrType.of("Callable?")).with_default(None, "op 'f'")) == "Callable? f=None"
    assert (literal(opsdk.tanh), literal((np.sin,))) == ("opsdk::tanh", "[sin]")


def test_the_default_of_a_generator_is_the_global_one():
    decl = AttrDecl("rng", AttrType.of("Generator"))
    assert (decl.default, decl.is_required, decl.with_default(None, "op 'f'")) == (None, False, decl)
    told = r"op 'f': default of 'rng' expected None, the global generator, got opsdk.Generator\(3\)"
    with pytest.raises(AttributeValueError, match=told):
        decl.with_default(opsdk.Generator(3), "op 'f'")
