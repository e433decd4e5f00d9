import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opsdk
from opsdk.core.errors import SchemaError
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import REQUIRED, AttrDecl
from opsdk.define.schema.parse import parse_schema
from opsdk.define.schema.schema import InputDecl, OpSchema, OutputDecl

VALUES = {
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(allow_nan=False),
    "bool": st.booleans(),
    "str": st.text(st.characters(codec="utf-8")),
    "complex": st.complex_numbers(allow_nan=False),
    "dtype": st.sampled_from([np.dtype(name) for name in ("bool", "int8", "float32", "complex128")]),
}


BOUNDED = {
    "int": [
        ("-3 <= {} < 9", st.integers(-3, 8)),
        ("{} > 7", st.integers(8, 99)),
        ("(1 | 2 | -3){suffix}", st.sampled_from([1, 2, -3])),
    ],
    "float": [("0 < {} <= 1e300", st.floats(0.0, 1e300, exclude_min=True)), ("{} <= -0.1", st.floats(-9.0, -0.1))],
    "str": [("('lin, (|' | \"it's\"){suffix}", st.sampled_from(["lin, (|", "it's"]))],
}


@st.composite
def types_and_defaults(draw):
    scalar = draw(st.sampled_from(sorted(VALUES)))
    values = VALUES[scalar]
    items, optional, length = "", "", None
    if draw(st.booleans()):
        length = draw(st.none() | st.integers(1, 3))
        items = "[]" if length is None else f"[{length}]"
    if draw(st.booleans()):
        optional = "?"
    kind, values = draw(st.sampled_from([*BOUNDED.get(scalar, []), ("{}", values)]))
    kind = kind.format(f"{scalar}{items}{optional}", suffix=items + optional)
    if items:
        values = st.lists(values, min_size=length or 0, max_size=length or 3).map(tuple)
    if optional:
        values = st.none() | values
    return AttrType.of(kind), draw(st.just(REQUIRED) | values)


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
    kinds = st.sampled_from([("tensor", False), ("optional", False), ("list", False), ("list", True)])
    inputs = [InputDecl(next(names), kind, holes=holes) for kind, holes in draw(st.lists(kinds, max_size=3))]
    letters = iter("abc")
    inputs += [
        InputDecl(next(names), "tensor", next(letters), mutated)
        for mutated in draw(st.lists(st.booleans(), max_size=2))
    ]
    outputs = [OutputDecl(next(names), kind, holes=holes) for kind, holes in draw(st.lists(kinds, max_size=2))]
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
    attrs=(AttrDecl("k", AttrType.of("int")), AttrDecl("eps", AttrType.of("float"), 1e-5)),
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
