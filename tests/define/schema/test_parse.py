import numpy as np
import pytest

from opsdk.core.errors import SchemaError
from opsdk.define.schema.attr_type import AttrType
from opsdk.define.schema.attribute import AttrDecl
from opsdk.define.schema.parse import parse_schema
from opsdk.define.schema.schema import InputDecl, OutputDecl


def refused(text):
    with pytest.raises(SchemaError) as caught:
        parse_schema(text, "mine")
    return str(caught.value)


def test_a_name_without_a_namespace_gets_the_given_one():
    assert parse_schema("relu(Tensor x) -> Tensor y", "mine").identity == "mine::relu@1"


def test_a_namespace_and_a_version_in_the_text_are_taken():
    assert parse_schema("contrib::relu@3(Tensor x) -> Tensor y", "mine").identity == "contrib::relu@3"


@pytest.mark.parametrize(
    ("text", "decl"),
    [
        ("Tensor x", InputDecl("x")),
        ("Tensor? x", InputDecl("x", "optional")),
        ("Tensor? x=None", InputDecl("x", "optional")),
        ("Tensor[] x", InputDecl("x", "list")),
        ("Tensor?[] x", InputDecl("x", "list", holes=True)),
        ("Tensor<int> ? [ ] x", InputDecl("x", "list", elements=("int",), holes=True)),
        ("Tensor(a!)?[] x", InputDecl("x", "list", "a", True, holes=True)),
        ("Tensor(a) x", InputDecl("x", alias="a")),
        ("Tensor(b!) x", InputDecl("x", alias="b", mutated=True)),
        ("  Tensor   x  ", InputDecl("x")),
        ("Tensor<int> x", InputDecl("x", elements=("int",))),
        ("Tensor<bool|int> x", InputDecl("x", elements=("int", "bool"))),
        ("Tensor<int | int>? x", InputDecl("x", "optional", elements=("int",))),
        ("Tensor<float>(a!)[] x", InputDecl("x", "list", "a", True, ("float",))),
    ],
)
def test_each_form_of_a_tensor_parameter_is_read(text, decl):
    assert parse_schema(f"f({text}) -> ()", "mine").inputs == (decl,)


@pytest.mark.parametrize(
    ("text", "decl"),
    [
        ("int k", AttrDecl("k", AttrType.of("int"))),
        ("int k=-3", AttrDecl("k", AttrType.of("int"), -3)),
        ("float k=1", AttrDecl("k", AttrType.of("float"), 1.0)),
        ("float k=-inf", AttrDecl("k", AttrType.of("float"), float("-inf"))),
        ("bool k=True", AttrDecl("k", AttrType.of("bool"), True)),
        ("str k='a, (b'", AttrDecl("k", AttrType.of("str"), "a, (b")),
        ('str k="it\'s"', AttrDecl("k", AttrType.of("str"), "it's")),
        (r"str k='\')'", AttrDecl("k", AttrType.of("str"), "')")),
        ("complex k=(1+2j)", AttrDecl("k", AttrType.of("complex"), 1 + 2j)),
        ("complex k=2", AttrDecl("k", AttrType.of("complex"), 2 + 0j)),
        ("dtype k=float32", AttrDecl("k", AttrType.of("dtype"), np.dtype("float32"))),
        ("dtype k='float32'", AttrDecl("k", AttrType.of("dtype"), np.dtype("float32"))),
        ('dtype[] k=["int8"]', AttrDecl("k", AttrType.of("dtype[]"), (np.dtype("int8"),))),
        ("dtype[] k=[int8, float64]", AttrDecl("k", AttrType.of("dtype[]"), (np.dtype("int8"), np.dtype("float64")))),
        ("dtype? k=None", AttrDecl("k", AttrType.of("dtype?"), None)),
        ("int[] k=[1, 2]", AttrDecl("k", AttrType.of("int[]"), (1, 2))),
        ("float[] k=[inf, 1.0]", AttrDecl("k", AttrType.of("float[]"), (float("inf"), 1.0))),
        ("int[]? k=None", AttrDecl("k", AttrType.of("int[]?"), None)),
        ("str[] k=[]", AttrDecl("k", AttrType.of("str[]"), ())),
    ],
)
def test_each_form_of_an_attribute_is_read(text, decl):
    assert parse_schema(f"f(Tensor x, *, {text}) -> Tensor y", "mine").attrs == (decl,)


@pytest.mark.parametrize(
    ("text", "outputs"),
    [
        ("Tensor", (OutputDecl("y"),)),
        ("Tensor out", (OutputDecl("out"),)),
        ("(Tensor y, Tensor<int>? z)", (OutputDecl("y"), OutputDecl("z", "optional", elements=("int",)))),
        ("(Tensor, Tensor)", (OutputDecl("y0"), OutputDecl("y1"))),
        ("(Tensor y, Tensor[] rest)", (OutputDecl("y"), OutputDecl("rest", "list"))),
        ("Tensor?[] ys", (OutputDecl("ys", "list", holes=True),)),
        ("()", ()),
        ("(Tensor y)", (OutputDecl("y"),)),
    ],
)
def test_each_form_of_the_results_is_read(text, outputs):
    assert parse_schema(f"f(Tensor x) -> {text}", "mine").outputs == outputs


def test_attributes_before_the_star_may_be_passed_by_position():
    schema = parse_schema("f(Tensor x, int k, *, int axis=0) -> Tensor y", "mine")
    assert schema.positional == ("x", "k")


def test_an_op_may_have_no_parameters():
    assert parse_schema("f() -> Tensor y", "mine").inputs == ()


@pytest.mark.parametrize(
    "text", ["", "3f(Tensor x) -> Tensor", "a::b::c(Tensor x) -> Tensor", "f Tensor x -> Tensor y"]
)
def test_a_text_that_does_not_begin_with_a_name_is_refused(text):
    assert refused(text) == f"schema {text!r}: expected 'name(' with an optional 'namespace::' in front"


def test_a_bracket_that_is_not_closed_is_refused_with_its_column():
    text = "f(Tensor(a) x -> Tensor y"
    assert refused(text) == f"schema {text!r}: expected ')' for the '(' at column 1"


def test_a_schema_without_results_is_refused():
    text = "f(Tensor x) Tensor y"
    assert refused(text) == f"schema {text!r}: expected '-> results' after the parameters, got 'Tensor y'"


@pytest.mark.parametrize("part", ["Tensor", "x", "Tensor 3x", "int k k="])
def test_a_parameter_that_is_no_type_and_name_is_refused(part):
    text = f"f({part}) -> Tensor y"
    message = refused(text)
    assert message.startswith(f"schema {text!r}: expected 'type name', got ") or "type expected Tensor" in message


@pytest.mark.parametrize("kind", ["tensor", "Tensor(A)", "double", "int?[]"])
def test_an_unknown_type_is_refused_with_those_there_are(kind):
    assert refused(f"f({kind} x) -> Tensor y") == (
        f"schema 'f({kind} x) -> Tensor y': type expected Tensor, Tensor?, Tensor[], Tensor?[], int, float, bool, str, "
        "complex, dtype, Callable, Generator (with [], [2] or ?), a range as 0 <= float < 1, or a choice as 'a' | 'b', "
        f"got {kind!r}"
    )


@pytest.mark.parametrize(
    ("kind", "plain", "means"),
    [
        ("Tensor[2]", "Tensor[]", "a list of tensors has any length, which @op.infer or @op.check may refuse"),
        ("Tensor?[2]", "Tensor?[]", "a list of tensors has any length, which @op.infer or @op.check may refuse"),
        (
            "Tensor<int>[2]?",
            "Tensor<int>[]",
            "a list of tensors has any length, which @op.infer or @op.check may refuse",
        ),
        ("Tensor[]?", "Tensor[]", "an empty list says what None would"),
        ("Tensor?[]?", "Tensor?[]", "an empty list says what None would"),
    ],
)
@pytest.mark.parametrize("text", ["f({} x) -> Tensor y", "f(Tensor x) -> {} y"])
def test_a_list_of_a_length_and_one_that_may_be_none_are_refused_with_what_is_meant(text, kind, plain, means):
    text = text.format(kind)
    assert refused(text) == f"schema {text!r}: type expected {plain}, got {kind!r}; {means}"


def test_a_tensor_after_the_star_is_refused():
    text = "f(Tensor x, *, Tensor w) -> Tensor y"
    assert refused(text) == f"schema {text!r}: tensor 'w' expected before '*', only attributes go after it"


@pytest.mark.parametrize(
    "part", ["Tensor x=None", "Tensor? x=0", "Tensor[] x=[]", "Tensor?[] x=[]", "Tensor?[] x=None", "Tensor[] x=None"]
)
def test_a_default_of_a_tensor_is_refused(part):
    text = f"f({part}) -> Tensor y"
    assert refused(text) == f"schema {text!r}: {part!r} has a default; only 'Tensor?' may have one, None"


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        ("int", "1.0"),
        ("int", "two"),
        ("int", "None"),
        ("float", "True"),
        ("float", "'1'"),
        ("bool", "1"),
        ("bool", "true"),
        ("str", "word"),
        ("str", "'open"),
        ("complex", "i"),
        ("dtype", "float33"),
        ("dtype", "'float33'"),
        ("int[]", "[1, x]"),
        ("int[]", "(1, 2"),
    ],
)
def test_a_default_that_is_no_literal_of_its_type_is_refused(kind, default):
    text = f"f(Tensor x, *, {kind} k={default}) -> Tensor y"
    if default == "(1, 2":
        assert "expected ')' for the '('" in refused(text)
    else:
        assert refused(text) == f"schema {text!r}: default of 'k' expected a literal of type {kind}, got {default!r}"


@pytest.mark.parametrize("part", ["int y", "y", ""])
def test_a_result_that_is_no_tensor_is_refused(part):
    text = f"f(Tensor x) -> {part}"
    assert refused(text) == (
        f"schema {text!r}: result expected 'Tensor name', 'Tensor? name', 'Tensor[] name' or 'Tensor?[] name', "
        f"got {part!r}"
    )


def test_two_results_without_brackets_are_refused():
    text = "f(Tensor x) -> Tensor y, Tensor z"
    assert refused(text) == f"schema {text!r}: result name expected an identifier, got 'y, Tensor z'"


@pytest.mark.parametrize(
    "text", ["f(Tensor x, Tensor x) -> Tensor y", "f(Tensor x, *, int x) -> Tensor", "f(Tensor x) -> Tensor x"]
)
def test_a_name_that_occurs_twice_is_refused(text):
    assert refused(text) == "schema of 'mine::f': expected every name once, got 'x' twice"


def test_an_alias_without_a_source_is_refused():
    assert refused("f(Tensor(b) x) -> Tensor(a) y") == (
        "schema of 'mine::f': output 'y' aliases (a), which no input carries; mark the input it shares memory with"
    )


def test_a_mutated_result_without_a_mutated_input_is_refused():
    assert refused("f(Tensor(a) x) -> Tensor(a!) y") == (
        "schema of 'mine::f': output 'y' is marked (a!), but no input is mutated under that letter"
    )


def test_a_result_that_shares_memory_with_a_list_is_refused():
    assert refused("f(Tensor(a)[] xs) -> Tensor(a)[] ys") == (
        "schema of 'mine::f': output 'ys' aliases (a), a list, expected one tensor that it shares memory with; "
        "return copies"
    )


@pytest.mark.parametrize(
    "text",
    [
        "f(Tensor(a!)[] xs) -> Tensor(a!) y",
        "f(Tensor(a!)? x) -> Tensor(a!) y",
        "f(Tensor(a!)[] xs) -> Tensor(a!)?[] y",
        "f(Tensor(a!)?[] xs) -> Tensor(a!)[] y",
    ],
)
def test_a_changed_input_is_handed_on_as_what_it_is(text):
    assert refused(text) == (
        "schema of 'mine::f': output 'y' hands on the input marked (a!), expected both a Tensor, both a Tensor[] or "
        "both a Tensor?[]"
    )


def test_the_elements_of_a_result_are_read_and_printed():
    schema = parse_schema("f(Tensor<complex> x)->(Tensor v,Tensor<int | bool>[] i)", "mine")
    assert schema.outputs == (OutputDecl("v"), OutputDecl("i", "list", elements=("int", "bool")))
    assert str(schema) == "mine::f@1(Tensor<complex> x) -> (Tensor v, Tensor<int|bool>[] i)"
    assert parse_schema(str(schema), "mine") == schema
    assert parse_schema("f(Tensor x) -> Tensor<int>", "mine").outputs == (OutputDecl("y", elements=("int",)),)


@pytest.mark.parametrize("word", ["int64", "", "Int", "float32|int", "str"])
def test_elements_that_the_language_does_not_have_are_refused(word):
    for text in (f"f(Tensor<{word}> x) -> Tensor y", f"f(Tensor x) -> Tensor<{word}> y"):
        got = refused(text)
        assert "Tensor<...> expected int, float, bool, complex, or several of them as int|bool, got" in got, text
        assert repr(word.partition("|")[0]) in got


def test_a_name_before_its_type_is_told_how_it_is_written():
    message = refused("f(Tensor x, *, alpha: 1.5 | 2.0 = 1.5) -> Tensor y")
    assert message.endswith("got 'alpha: 1.5 | 2.0 = 1.5'; write the type before the name: 1.5 | 2.0 alpha")
