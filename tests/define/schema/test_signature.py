from __future__ import annotations

import collections.abc
import inspect
import pydoc
import typing
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

import opsdk
from opsdk.core.errors import SchemaError
from opsdk.define.op import REGISTRY, Op
from opsdk.define.schema.parse import parse_schema
from opsdk.define.schema.signature import SignatureOf, schema_of, signature_of

INT8 = np.dtype("int8")


def text_of(function):
    return str(schema_of(function, "ns", "f")).removeprefix("ns::f@1")


def refused(function):
    with pytest.raises(SchemaError) as caught:
        schema_of(function, "ns", "f")
    return str(caught.value)


def test_positional_parameters_are_tensors_and_the_output_is_y():
    assert text_of(lambda x, w: 0) == "(Tensor x, Tensor w) -> Tensor y"


def test_none_as_a_default_makes_a_tensor_optional():
    assert text_of(lambda x, w=None: 0) == "(Tensor x, Tensor? w=None) -> Tensor y"


def test_a_starred_parameter_is_a_list_of_tensors():
    assert text_of(lambda x, *rest: 0) == "(Tensor x, Tensor[] rest) -> Tensor y"


def test_a_parameter_annotated_as_a_sequence_is_a_list_of_tensors():
    def f(xs: collections.abc.Sequence[np.ndarray], ys: list[np.ndarray]):
        return 0

    assert text_of(f) == "(Tensor[] xs, Tensor[] ys) -> Tensor y"


def test_a_sequence_of_what_may_be_none_is_a_list_with_holes():
    def f(xs: list[np.ndarray | None], ys: typing.Sequence[npt.NDArray[np.integer] | None], *zs: np.ndarray | None):
        return 0

    assert text_of(f) == "(Tensor?[] xs, Tensor<int>?[] ys, Tensor?[] zs) -> Tensor y"
    assert text_of(_annotated("xs", xs=typing.Sequence[typing.Optional[INTEGERS]])) == "(Tensor<int>?[] xs) -> Tensor y"  # noqa: UP045
    assert text_of(_annotated("xs", xs=tuple[np.ndarray, ...])) == "(Tensor[] xs) -> Tensor y"


def test_keyword_only_parameters_are_attributes_with_their_defaults():
    def f(x, *, axis: int, beta: float = 1, names: tuple[str, ...] = ("a",), to: np.dtype | None = None):
        return 0

    assert text_of(f) == "(Tensor x, *, int axis, float beta=1.0, str[] names=['a'], dtype? to=None) -> Tensor y"


def test_an_attribute_without_an_annotation_has_the_type_of_its_default():
    def f(x, *, axis=0, eps=1e-5, keep=False, mode="sum", axes=(1, 2), to=INT8):
        return 0

    assert text_of(f) == (
        "(Tensor x, *, int axis=0, float eps=1e-05, bool keep=False, str mode='sum', int[] axes=[1, 2], "
        "dtype to=int8) -> Tensor y"
    )


def test_the_output_is_called_out_where_an_input_is_called_y():
    assert text_of(lambda x, y: 0) == "(Tensor x, Tensor y) -> Tensor out"


def test_keyword_arguments_without_names_are_refused():
    assert refused(lambda x, **more: 0) == "op 'f': expected named attributes, got '**more'; list them after '*'"


def test_a_number_as_the_default_of_a_tensor_is_refused():
    assert refused(lambda x, beta=1.0: 0) == (
        "op 'f': parameter 'beta' has the default 1.0, but positional parameters are tensors; "
        "put '*' before it to make it an attribute"
    )


def test_an_attribute_without_a_type_is_refused():
    def f(x, *, axis, mode: dict = None):  # noqa: RUF013
        return 0

    assert refused(f) == (
        "op 'f': attribute 'axis' expected an annotation (int, float, bool, str, complex, np.dtype, Callable, "
        "opsdk.Generator, list[int], Literal['a', 'b'], or one of them with '| None'), got <class 'inspect._empty'>"
    )


def test_a_default_that_contradicts_the_annotation_is_refused():
    def f(x, *, axis: int = 0.5):
        return 0

    assert refused(f) == "op 'f': default of attribute 'axis' expected int, got 0.5"


def test_a_callable_without_a_signature_is_refused():
    class Opaque:
        __signature__ = "none"

        def __call__(self, x):
            return x

    message = refused(Opaque())
    assert message.startswith("op 'f': ")
    assert message.endswith("has no readable signature; write the schema as text")


def test_an_op_whose_inputs_take_both_names_of_the_output_is_refused():
    assert refused(lambda y, out: 0) == "schema of 'ns::f': expected every name once, got 'out' twice"


TENSORS = {
    "starred number": lambda: _annotated("*rest", rest=int),
    "starred text": lambda: _annotated("*rest", rest="str"),
    "number": lambda: _annotated("x", x=int),
    "float": lambda: _annotated("x", x="float"),
    "number or None": lambda: _annotated("x=None", x=int | None),
    "list of numbers": lambda: _annotated("x", x=list[int]),
    "tuple of two types": lambda: _annotated("x", x=typing.Tuple[int, str]),  # noqa: UP006 - users write it
    "dtype": lambda: _annotated("x", x=np.dtype),
}


def _annotated(parameters, result=None, **annotations):
    scope = {}
    exec(f"def f({parameters}): return 0", scope)
    scope["f"].__annotations__.update(annotations)
    if result is not None:
        scope["f"].__annotations__["return"] = result
    return scope["f"]


@pytest.mark.parametrize("make", TENSORS.values(), ids=TENSORS)
def test_a_tensor_that_is_annotated_as_something_else_is_refused(make):
    assert "expected an array, since it is a tensor, got the annotation" in refused(make())


def test_the_refusal_of_an_annotation_says_what_to_do():
    assert refused(_annotated("x, *rest", rest=int)) == (
        "op 'f': parameter 'rest' expected an array, since it is a tensor, got the annotation int; put '*' before it "
        "to make it an attribute, or correct the annotation"
    )


@pytest.mark.parametrize("annotation", [dict, bytes, typing.Tuple[int, str], "set"])  # noqa: UP006
def test_an_attribute_annotated_as_what_the_schema_language_lacks_is_refused_whatever_its_default(annotation):
    assert "attribute 'k' expected an annotation (int, float," in refused(_annotated("x, *, k=(1, 2)", k=annotation))


@pytest.mark.parametrize(
    "result", [int, "str", float, bool, dict, type(None), "None", tuple[np.ndarray, np.ndarray], list[np.ndarray]]
)
def test_a_return_annotation_that_is_not_one_array_is_refused(result):
    message = refused(_annotated("x", result))
    assert message.startswith("op 'f': return annotation expected an array for each of y, such as np.ndarray, got ")
    assert message.endswith("; correct it, or write the schema as text, which names several results")


def test_a_return_annotation_of_nothing_is_refused():
    def f(x) -> None:
        return x

    assert "return annotation expected an array for each of y, such as np.ndarray, got None" in refused(f)


@pytest.mark.parametrize("result", [np.ndarray, "np.ndarray", typing.Any, "opsdk.Tensor", "NDArray[np.float64]"])
def test_a_return_annotation_of_one_array_is_right(result):
    assert text_of(_annotated("x", result, x=result)) == "(Tensor x) -> Tensor y"


def test_annotations_are_held_to_a_schema_as_text_too():
    def pair(x) -> tuple[np.ndarray, np.ndarray]:
        return x, x

    assert opsdk.op("t::f(Tensor x) -> (Tensor a, Tensor b)", replace=True)(pair) is not None
    assert opsdk.op("t::f(Tensor[] x) -> Tensor[] ys", replace=True)(_annotated("x", list[np.ndarray])) is not None
    with pytest.raises(SchemaError, match=r"expected an array for each of a, b, c, such as np\.ndarray, got tuple"):
        opsdk.op("t::f(Tensor x) -> (Tensor a, Tensor b, Tensor c)", replace=True)(pair)
    with pytest.raises(SchemaError, match="parameter 'x' expected an array"):
        opsdk.op("t::f(Tensor x, int k) -> Tensor y", replace=True)(_annotated("x, k", x=int, k=int))


def test_a_function_of_scalars_may_call_them_numbers():
    assert str(schema_of(_annotated("x, *, b=1.0", float, x=float), "ns", "f", of_scalars=True)) == (
        "ns::f@1(Tensor x, *, float b=1.0) -> Tensor y"
    )
    with pytest.raises(SchemaError, match="return annotation"):
        schema_of(_annotated("x", str, x=float), "ns", "f", of_scalars=True)


INTEGERS = npt.NDArray[np.integer]


@pytest.mark.parametrize(
    ("annotation", "wanted"),
    [
        (INTEGERS, "int"),
        ("npt.NDArray[np.integer[Any]]", "int"),
        ("np.ndarray[Any, np.dtype[np.signedinteger]]", "int"),
        (npt.NDArray[np.floating], "float"),
        (npt.NDArray[np.bool_], "bool"),
        ("NDArray[np.inexact]", "float|complex"),
        ("NDArray[np.integer | np.bool_]", "int|bool"),
        (INTEGERS | npt.NDArray[np.bool_], "int|bool"),
    ],
)
def test_an_abstract_dtype_in_an_annotation_says_which_elements_a_tensor_has(annotation, wanted):
    assert text_of(_annotated("x", annotation, x=annotation)) == f"(Tensor<{wanted}> x) -> Tensor<{wanted}> y"


def test_optional_and_listed_arrays_have_elements_too():
    assert text_of(_annotated("x=None", x=INTEGERS | None)) == "(Tensor<int>? x=None) -> Tensor y"
    assert text_of(_annotated("x=None", x=typing.Optional[INTEGERS])) == "(Tensor<int>? x=None) -> Tensor y"  # noqa: UP045
    assert text_of(_annotated("*xs", xs="NDArray[np.integer]")) == "(Tensor<int>[] xs) -> Tensor y"
    assert text_of(_annotated("xs", xs=collections.abc.Sequence[INTEGERS])) == "(Tensor<int>[] xs) -> Tensor y"


@pytest.mark.parametrize("annotation", [np.ndarray, "NDArray[np.float64]", "NDArray[Any]", INTEGERS | np.ndarray])
def test_an_annotation_that_leaves_the_dtype_open_declares_no_elements(annotation):
    assert text_of(_annotated("x", x=annotation)) == "(Tensor x) -> Tensor y"


def test_an_annotation_may_not_contradict_the_elements_of_a_schema():
    both = _annotated("x", x=npt.NDArray[np.inexact])
    assert opsdk.op("t::f(Tensor<float> x) -> Tensor y", replace=True)(both) is not None
    with pytest.raises(SchemaError, match="parameter 'x' expected Tensor<int>, as its schema declares, got the annot"):
        opsdk.op("t::f(Tensor<int> x) -> Tensor y", replace=True)(both)


# -- the signature of an op in Python


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ("f(Tensor x) -> Tensor y", "(x: 'Tensor') -> 'Tensor'"),
        (
            "f(Tensor x, Tensor? w=None, *, float beta=1.0, int k) -> Tensor y",
            "(x: 'Tensor', w: 'Tensor | None' = None, *, beta: float = 1.0, k: int) -> 'Tensor'",
        ),
        (
            "f(Tensor x, float a=0.5) -> (Tensor y, Tensor z)",
            "(x: 'Tensor', a: float = 0.5) -> 'tuple[Tensor, Tensor]'",
        ),
        ("f(Tensor[] xs, *, int axis=0) -> Tensor[] ys", "(*xs: 'Tensor', axis: int = 0) -> 'Sequence[Tensor]'"),
        ("f(Tensor?[] xs) -> Tensor?[] ys", "(*xs: 'Tensor | None') -> 'Sequence[Tensor | None]'"),
        ("f(Tensor<int>?[] at, Tensor x) -> Tensor", "(at: 'Sequence[Tensor<int> | None]', x: 'Tensor') -> 'Tensor'"),
        (
            "f(Tensor x, *, int[] a=[1, 2], str? s=None, bool b=True) -> Tensor y",
            "(x: 'Tensor', *, a: tuple[int, ...] = (1, 2), s: str | None = None, b: bool = True) -> 'Tensor'",
        ),
        (
            "f(Tensor x, *, dtype d, complex c=1j, float[]? w=None) -> Tensor y",
            "(x: 'Tensor', *, d: numpy.dtype, c: complex = 1j, w: tuple[float, ...] | None = None) -> 'Tensor'",
        ),
    ],
)
def test_a_schema_is_a_signature_of_python(schema, expected):
    assert str(signature_of(parse_schema(schema, "t"))) == expected


def test_an_op_has_the_signature_of_its_schema_and_its_calls_bind_to_it():
    @opsdk.elementwise
    def swish_like(x, *, beta: float = 1.0):
        """Smooth gate."""
        return x * beta

    signature = inspect.signature(swish_like)
    assert str(signature) == "(x: 'Tensor', *, beta: float = 1.0) -> 'Tensor'"
    bound = signature.bind(np.ones(2), beta=2.0)
    np.testing.assert_array_equal(swish_like(*bound.args, **bound.kwargs), [2.0, 2.0])
    assert swish_like.__name__ == "swish_like"
    text = pydoc.render_doc(swish_like, renderer=pydoc.plaintext)
    assert "Smooth gate." in text
    assert "swish_like@1(Tensor x, *, float beta=1.0) -> Tensor y" in text


def test_every_op_has_a_signature_and_the_class_keeps_its_own():
    for op in REGISTRY:
        assert set(inspect.signature(op).parameters) == {*op.opdef.schema.input_names, *op.opdef.schema.attr_names}
    assert list(inspect.signature(Op).parameters) == ["opdef"]


def test_a_name_that_python_cannot_have_as_a_parameter_shows_no_signature():
    schema = parse_schema("f(Tensor x, *, float lambda=1.0) -> Tensor y", "t")
    with pytest.raises(ValueError, match="lambda"):
        signature_of(schema)
    with pytest.raises(AttributeError, match="__signature__"):
        SignatureOf().__get__(SimpleNamespace(opdef=SimpleNamespace(schema=schema)))
    with pytest.raises(AttributeError, match="__signature__"):
        Op.__signature__  # noqa: B018 - asked as inspect does


def test_elements_are_shown_with_the_type():
    schema = parse_schema("f(Tensor<int> i, Tensor<bool>? m=None, Tensor<int|bool>[] x) -> Tensor<int> y", "t")
    assert str(signature_of(schema)) == (
        "(i: 'Tensor<int>', m: 'Tensor<bool> | None' = None, *x: 'Tensor<int|bool>') -> 'Tensor<int>'"
    )


def test_a_literal_that_the_language_cannot_say_is_refused_and_not_the_type_of_its_default():
    def mixed(x, *, k: typing.Literal["a", 1] = "a"):
        return x

    def named(x, *, k: typing.Literal[FIRST] = 1):  # noqa: F821 - a name that nobody knows
        return x

    def floats(x, *, k: typing.Literal[1.5, 2] = 2):
        return x

    assert refused(mixed).startswith("op 'f', attribute 'k': type 'a' | 1: expected choices of one type, all texts or")
    assert "attribute 'k' expected an annotation" in refused(named)
    assert text_of(floats) == "(Tensor x, *, 1.5 | 2.0 k=2.0) -> Tensor y"
