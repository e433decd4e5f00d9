from collections.abc import Callable
from typing import Annotated, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import contrib_ops  # noqa: F401 - registers its ops
import opsdk
from opsdk.core.errors import SchemaError
from opsdk.define.op import REGISTRY
from opsdk.define.schema.grammar import FORMS, GRAMMAR, RESULTS, TERMINALS, expected, pattern
from opsdk.define.schema.parse import parse_schema
from opsdk.define.schema.scalars import SCALARS
from opsdk.define.schema.signature import schema_of

NAMES = {"opsdk": opsdk, "np": np, "Annotated": Annotated, "Literal": Literal, "NDArray": NDArray, "Callable": Callable}


@pytest.mark.parametrize("form", [form for form in FORMS if form.python], ids=lambda form: form.text)
def test_both_forms_of_a_parameter_are_the_same_declaration(form):
    scope = dict(NAMES)
    exec(f"def f({form.python}): ...", scope)
    is_attribute = form.python.startswith("*,")
    text = f"ns::f({'*, ' if is_attribute else ''}{form.text}) -> Tensor y"
    assert schema_of(scope["f"], "ns", "f") == parse_schema(text, "ns")


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.text)
def test_a_form_prints_as_the_reference_writes_it(form):
    star = "" if form.text.startswith("Tensor") else "*, "
    printed = str(parse_schema(f"ns::f({star}{form.text}) -> Tensor y", "ns"))
    wanted = {"int[2] k=1": "int[2] k=[1, 1]", "Generator k": "Generator k=None"}.get(form.text, form.text)
    assert printed == f"ns::f@1({star}{wanted}) -> Tensor y"


@pytest.mark.parametrize("form", RESULTS, ids=lambda form: form.text)
def test_a_form_of_results_is_parsed(form):
    assert parse_schema(f"f(Tensor x) {form.text}", "ns").outputs


def test_every_scalar_type_has_a_row_and_is_expected():
    assert {form.text.split()[0] for form in FORMS} >= set(SCALARS)
    assert all(name in expected() for name in SCALARS)


def test_the_grammar_has_every_schema_that_there_is():
    texts = [str(REGISTRY.held(name).opdef.schema) for name in REGISTRY.names()]
    assert len(texts) > 100
    assert [text for text in texts if pattern("schema").fullmatch(text) is None] == []


@pytest.mark.parametrize(
    "text",
    ["", "f", "3f() -> ()", "f(Tensor x) Tensor y", "f(double x) -> Tensor y", "f(Tensor x -> Tensor y", "f(int) -> ()",
     "f(Tensor<int64> x) -> Tensor", "f(Tensor x=0) -> Tensor", "f(int?[] k) -> Tensor", "f(int k=) -> Tensor",
     "f(Tensor x) -> Tensor y, Tensor z", "f(Tensor x) -> int y", "f(1 | k) -> Tensor", "f(str k='open) -> Tensor"],
)  # fmt: skip
def test_what_the_grammar_has_not_the_parser_refuses(text):
    assert pattern("schema").fullmatch(text) is None
    with pytest.raises(SchemaError):
        parse_schema(text, "ns")


def test_every_name_of_a_production_is_one():
    known = {*GRAMMAR, *TERMINALS}
    for rule in GRAMMAR.values():
        bare = " ".join(part for i, part in enumerate(rule.split('"')) if i % 2 == 0)
        assert {word for word in bare.replace("[", " ").replace("]", " ").split() if word.isidentifier()} <= known
