import ast
import enum
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opsdk
from opsdk.core.errors import AttributeValueError, SchemaError
from opsdk.define.schema.parse import parse_schema
from opsdk.define.schema.schema import REQUIRED, AttrDecl, InputDecl, OpSchema, OutputDecl, coerce, freeze, literal

VALUES = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "str": st.text(st.characters(codec="utf-8")),
    "complex": st.complex_numbers(allow_nan=False),
    "dtype": st.sampled_from([np.dtype(name) for name in ("bool", "int8", "float32", "complex128")]),
}


@st.composite
def types_and_defaults(draw):
    scalar = draw(st.sampled_from(sorted(VALUES)))
    values = VALUES[scalar]
    kind = scalar
    if draw(st.booleans()):
        kind, values = f"{kind}[]", st.lists(values, max_size=3).map(tuple)
    if draw(st.booleans()):
        kind, values = f"{kind}?", st.none() | values
    return kind, draw(st.just(REQUIRED) | values)


@st.composite
def schemas(draw):
    names = iter(
        draw(
            st.lists(
                st.text(string.ascii_letters + "_", min_size=1, max_size=4).map("v_{}".format),
                min_size=12,
                max_size=12,
                unique=True,
            )
        )
    )
    kinds = st.lists(st.sampled_from(["tensor", "optional", "list"]), max_size=3)
    inputs = [InputDecl(next(names), kind) for kind in draw(kinds)]
    letters = iter("abc")
    inputs += [
        InputDecl(next(names), "tensor", next(letters), mutated)
        for mutated in draw(st.lists(st.booleans(), max_size=2))
    ]
    outputs = [
        OutputDecl(next(names), kind) for kind in draw(st.lists(st.sampled_from(["tensor", "list"]), max_size=2))
    ]
    outputs += [OutputDecl(next(names), "tensor", decl.alias, decl.mutated) for decl in inputs if decl.alias]
    attrs = [AttrDecl(next(names), *draw(types_and_defaults())) for _ in range(draw(st.integers(0, 3)))]
    free = draw(st.integers(0, len(attrs)))
    positional = draw(st.permutations([decl.name for decl in (*inputs, *attrs[:free])]))
    order = {name: position for position, name in enumerate(positional)}
    inputs.sort(key=lambda decl: order[decl.name])
    attrs[:free] = sorted(attrs[:free], key=lambda decl: order[decl.name])
    version = draw(st.integers(1, 99))
    return OpSchema("ns", "f", tuple(inputs), tuple(attrs), tuple(outputs), version, tuple(positional))


@settings(max_examples=300, deadline=None)
@given(schemas())
def test_a_schema_that_is_printed_and_parsed_is_the_same_schema(schema):
    assert parse_schema(str(schema), "elsewhere") == schema


@settings(max_examples=100, deadline=None)
@given(schemas())
def test_a_text_that_is_parsed_and_printed_is_the_same_text(schema):
    assert str(parse_schema(str(schema), "elsewhere")) == str(schema)


def test_nan_as_a_default_survives_printing_and_parsing():
    text = "ns::f@1(Tensor x, *, float fill=nan) -> Tensor y"
    assert str(parse_schema(text, "ns")) == text


SCHEMA = OpSchema(
    namespace="ns",
    name="f",
    inputs=(InputDecl("x", alias="a", mutated=True), InputDecl("w", "optional"), InputDecl("v", alias="b")),
    attrs=(AttrDecl("k", "int"), AttrDecl("eps", "float", 1e-5)),
    outputs=(OutputDecl("y"), OutputDecl("x_out", alias="a", mutated=True), OutputDecl("v_out", alias="b")),
    version=2,
    positional=("x", "w", "v", "k"),
)


def test_a_schema_prints_as_the_schema_language_writes_it():
    assert str(SCHEMA) == (
        "ns::f@2(Tensor(a!) x, Tensor? w=None, Tensor(b) v, int k, *, float eps=1e-05) -> "
        "(Tensor y, Tensor(a!) x_out, Tensor(b) v_out)"
    )


def test_the_identity_has_the_version_and_the_qualified_name_has_not():
    assert (SCHEMA.qualified_name, SCHEMA.identity) == ("ns::f", "ns::f@2")


def test_names_come_in_the_order_of_declaration():
    assert (SCHEMA.input_names, SCHEMA.attr_names) == (("x", "w", "v"), ("k", "eps"))
    assert SCHEMA.output_names == ("y", "x_out", "v_out")


def test_mutated_inputs_are_known_by_position():
    assert SCHEMA.mutated_inputs == (0,)


def test_fresh_outputs_are_those_that_are_no_mutated_input():
    assert SCHEMA.fresh_outputs == (0, 2)


def test_a_mutated_output_hands_on_the_input_of_its_letter():
    assert SCHEMA.mutated_source(1) == 0


def test_an_output_may_share_memory_with_the_inputs_of_its_letter_only():
    assert [SCHEMA.aliased_sources(i) for i in range(3)] == [(), (0,), (2,)]


def test_an_attribute_is_found_by_its_name():
    assert SCHEMA.attr("eps").default == 1e-5


def test_a_call_by_position_may_leave_out_optional_inputs_at_the_end():
    assert parse_schema("f(Tensor x, Tensor w, Tensor? b=None, *, str mode='a') -> Tensor y", "t").required_inputs == 2
    assert parse_schema("f(Tensor? x, Tensor w, Tensor[] rest) -> Tensor y", "t").required_inputs == 3
    assert parse_schema("f(Tensor? x, Tensor? y) -> Tensor z", "t").required_inputs == 0
    assert parse_schema("f(Tensor x, int n, Tensor? b=None) -> Tensor y", "t").required_inputs == 3  # of 2


def test_an_op_is_variadic_where_its_last_input_is_a_list():
    assert parse_schema("f(Tensor x, Tensor[] rest, int n=1) -> Tensor y", "t").is_variadic
    assert not parse_schema("f(Tensor[] xs, Tensor y) -> Tensor z", "t").is_variadic
    assert not parse_schema("f() -> Tensor y", "t").is_variadic


NAMES = ["lib::a b", "li b::a", "", "lib::", "::a", "lib::foo.out", "a::b::c", "lib::2a", "lib::a-b", "lib::a@2", "a\n"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["op", "elementwise", "rowwise", "register_op", "backward"])
def test_one_rule_for_names_holds_in_every_form_of_registration(form, name):
    before = opsdk.REGISTRY.names()
    space, colons, bare = name.rpartition("::")
    with pytest.raises(SchemaError, match=r"(namespace|name) expected letters, digits and underscores, and no digit"):
        if form == "register_op":
            opsdk.register_op(name, forward=lambda x: x)
        elif form == "backward":
            OpSchema("t", name, (), (), ())
        else:
            getattr(opsdk, form)(name=bare, namespace=space if colons else "t")(lambda x: x)
    assert opsdk.REGISTRY.names() == before


@pytest.mark.parametrize("name", NAMES[:-2])
def test_a_schema_as_text_has_the_same_names(name):
    with pytest.raises(SchemaError, match=r"expected 'name\(' with an optional 'namespace::' in front"):
        parse_schema(f"{name}(Tensor x) -> Tensor y", "t")


@pytest.mark.parametrize("name", ["a b", "", "x::y", "a.out"])
def test_a_gradient_has_a_name_of_the_same_rule(name):
    op = opsdk.op(name="f", namespace="t", replace=True)(lambda x: x)
    with pytest.raises(SchemaError, match="name expected letters, digits and underscores, and no digit first"):
        op.backward(lambda dy: dy, name=name)
    assert op.grad is None


def test_names_may_have_letters_of_any_script():
    assert opsdk.op(name="größe", namespace="maße", replace=True)(lambda x: x).opdef.name == "maße::größe"
    assert parse_schema("maße::größe(Tensor x) -> Tensor y", "t").qualified_name == "maße::größe"


def test_a_schema_knows_which_of_its_attributes_are_lists():
    schema = parse_schema("t::f(Tensor x, int k, *, int[] a, float[]? c=None) -> Tensor y", namespace="t")
    assert schema.list_attrs == ("a", "c")


# -- values of attributes


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
    ],
)
def test_a_value_is_taken_in_the_attributes_own_type(kind, value, kept):
    got = coerce(AttrDecl("k", kind), value, "op 'f'")
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
        coerce(AttrDecl("k", kind), value, "op 'f'")
    told, _, remedy = str(caught.value).rpartition("; ")
    assert told == f"op 'f': attribute 'k' expected {kind}, got {value!r} ({type(value).__name__})"
    assert remedy.startswith("write k=")


@pytest.mark.parametrize(
    ("kind", "example"), [("str", '"text"'), ("int[]", "[2]"), ("int[]?", "[2]"), ("dtype?", '"float32"')]
)
def test_a_value_of_another_type_comes_with_one_that_is_taken(kind, example):
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", kind), object(), "op 'f'")
    assert str(caught.value).endswith(f"; write k={example} or the like")
    coerce(AttrDecl("k", kind), ast.literal_eval(example), "op 'f'")


def test_a_refused_value_is_among_the_details():
    with pytest.raises(AttributeValueError) as caught:
        coerce(AttrDecl("k", "int"), "x", "op 'f'")
    assert caught.value.details == {"attribute": "k", "got": "x"}


def test_a_list_that_is_a_default_prints_in_brackets():
    assert literal((np.dtype("int8"), "a", 1.5)) == "[int8, 'a', 1.5]"


def test_an_attribute_without_a_default_is_required():
    decl = AttrDecl("k", "int")
    assert decl.is_required
    assert str(decl) == "int k"


def test_the_absent_default_says_what_it_is():
    assert repr(REQUIRED) == "REQUIRED"


def test_none_as_a_default_is_a_default():
    decl = AttrDecl("k", "int?", None)
    assert not decl.is_required
    assert str(decl) == "int? k=None"


@pytest.mark.parametrize("kind", ["int", "int?", "int[]", "int[]?"])
@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, np.uint64(2**63), pytest.param(10**5000, id="huge")])
def test_a_whole_number_has_64_bits_in_every_kernel(kind, value):
    for entry in (value, [1, value]) if "[]" in kind else (value,):
        with pytest.raises(AttributeValueError, match=r"'k' expected int.*, a whole number from -2\*\*63 to"):
            coerce(AttrDecl("k", kind), entry, "op 'f'")
    for end in (-(2**63), 2**63 - 1):
        assert coerce(AttrDecl("k", kind), end, "op 'f'") == ((end,) if "[]" in kind else end)


@pytest.mark.parametrize("kind", ["float", "float[]", "complex", "complex?"])
def test_a_whole_number_beyond_all_floats_is_refused(kind):
    given = [1, 10**400] if "[]" in kind else 10**400
    with pytest.raises(AttributeValueError, match=r"'k' expected .*, a number that (float64|complex128) holds"):
        coerce(AttrDecl("k", kind), given, "op 'f'")


@pytest.mark.parametrize("kind", ["float", "complex"])
@pytest.mark.parametrize("number", [2**53 + 1, np.int64(-(2**53) - 1), 2**80 + 1])
def test_a_whole_number_that_a_float_attribute_would_round_is_refused(kind, number):
    wanted = rf"'k' expected {kind}, a number that \w+ holds, got -?\d+; pass it as"
    with pytest.raises(AttributeValueError, match=wanted):
        coerce(AttrDecl("k", kind), number, "op 'f'")
    assert coerce(AttrDecl("k", kind), 2**80, "op 'f'") == 2.0**80


def test_lists_and_arrays_of_a_call_become_tuples_of_plain_values():
    attrs = {"a": [1, 2], "b": np.array([0.5], "float32"), "c": (3,), "d": None, "e": 1, "f": [4]}
    freeze(attrs, ("a", "b", "c", "d", "e", "absent"))
    assert attrs == {"a": (1, 2), "b": (0.5,), "c": (3,), "d": None, "e": 1, "f": [4]}
    assert type(attrs["b"][0]) is float


def test_an_array_of_more_dimensions_stays_what_will_be_refused():
    attrs = {"a": np.ones((2, 2))}
    freeze(attrs, ("a",))
    assert attrs["a"].shape == (2, 2)
