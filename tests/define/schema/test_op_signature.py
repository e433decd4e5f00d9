import inspect
import pydoc
from types import SimpleNamespace

import numpy as np
import pytest

import opsdk
from opsdk.define.op import REGISTRY, Op
from opsdk.define.schema.op_signature import SignatureOf, signature_of
from opsdk.define.schema.parse import parse_schema


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
