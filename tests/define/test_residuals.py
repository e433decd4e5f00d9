"""Residuals and specs, as an author declares and names them."""

from dataclasses import replace

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError, AttributeValueError, BindingError, DefinitionError, SchemaError
from opsdk.define.infer import InferFunction
from opsdk.define.schema.parse import parse_schema

TEXT = "t::solve@1(Tensor a, Tensor b) -> Tensor x, residuals (Tensor<int> order, object lu)"


def norm(name="norm", **options):
    """An op that keeps its row lengths: y = x / |x|."""

    @opsdk.op(name=name, namespace="t", replace=True, residuals=["length"], **options)
    def norm(x):
        length = np.sqrt((x * x).sum(axis=-1, keepdims=True))
        return x / length, length

    return norm


@pytest.mark.parametrize("text", [TEXT, "t::f@1(Tensor x) -> (Tensor y, Tensor z), residuals (object plan)"])
def test_a_schema_with_residuals_prints_as_it_is_written(text):
    assert str(parse_schema(text, "n")) == text


def test_a_bare_name_in_residuals_is_a_tensor():
    assert str(norm().schema) == "t::norm@1(Tensor x) -> Tensor y, residuals (Tensor length)"


def test_the_digest_of_an_op_covers_its_residuals():
    other = replace(norm().opdef.schema, residuals=())
    assert norm().opdef.digest != replace(norm().opdef, schema=other, defined_as="").digest


def test_the_residuals_of_a_call_are_not_among_its_results():
    np.testing.assert_array_equal(norm()(np.array([[3.0, 4.0]])), [[0.6, 0.8]])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, "residuals expected a list of texts, got 3"),
        (["Tensor[] xs"], r"residual expected 'Tensor name'.*got 'Tensor\[\] xs'; a list of arrays is an object"),
        (["int k"], "residual expected 'Tensor name'"),
        (["Tensor(a) x2"], "residual expected 'Tensor name'"),
        (["x"], "expected every name once, got 'x' twice"),
    ],
)
def test_what_is_no_residual_is_refused(given, words):
    with pytest.raises(SchemaError, match=words):
        opsdk.op(name="f", namespace="t", residuals=given)(lambda x: (x, x))


def test_what_only_gradient_ops_are_given_is_no_attribute_of_an_author():
    with pytest.raises(SchemaError, match="attribute 'lu' expected a type that a call can be recorded with"):
        opsdk.op("t::f(Tensor x, *, object lu) -> Tensor y")(lambda x, lu: x)


def test_residuals_beside_a_schema_as_text_belong_into_it():
    with pytest.raises(DefinitionError, match=r"expected residuals= beside a signature, got \['a'\] beside a schema"):
        opsdk.op("t::f(Tensor x) -> Tensor y", residuals=["a"])(lambda x: (x, x))


def test_a_composite_forward_has_no_residuals():
    with pytest.raises(DefinitionError, match="expected residuals of NumPy code, got a of a composite"):
        opsdk.op(name="f", namespace="t", composite=True, residuals=["a"])(lambda x: (x, x))


def test_an_infer_rule_gives_residuals_after_the_outputs_or_by_name_or_not_at_all():
    schema = parse_schema(TEXT, "t")
    one, two = opsdk.TensorSpec([2], "float64"), opsdk.TensorSpec([3], "int64")
    for rule in (lambda a, b: (one, two), lambda a, b: {"order": two, "x": one}):
        assert InferFunction(rule, schema)(schema.whole, [one, one], {}) == (one, two, None)
        assert InferFunction(rule, schema)(schema, [one, one], {}) == (one,)
    assert InferFunction(lambda a, b: one, schema)(schema.whole, [one, one], {}) == (one, None, None)
    with pytest.raises(ArityError, match="expected 2 specs for x, order, got 3"):
        InferFunction(lambda a, b: (one, two, one), schema)(schema, [one, one], {})


def test_stock_rules_know_nothing_of_residuals():
    schema, spec = norm().opdef.schema.whole, opsdk.TensorSpec([2, 3], "float64")
    for rule in (opsdk.infer.like("x"), opsdk.infer.broadcast):
        assert rule(schema, [spec], {}) == (spec, None)


def test_arrays_are_inputs_of_the_gradient_op_and_objects_attributes():
    solve = opsdk.op(TEXT, replace=True)(lambda a, b: (b, b, b))
    gradient = solve.backward(lambda b, order, lu, a_spec, dx: (dx, dx))
    assert gradient.schema == (
        "t::solve_grad@1(Tensor b, Tensor<int> order, Tensor dx, *, object lu, spec a_spec) -> (Tensor da, Tensor db)"
    )
    assert str(parse_schema(gradient.schema, "n")) == gradient.schema
    assert gradient.opdef.reads == ("order", "lu")
    rule = solve.opdef.grad
    assert (rule.saves("input"), rule.saves("residual")) == ((1,), (0, 1))


def test_a_spec_is_named_of_inputs_alone():
    with pytest.raises(BindingError, match="nothing is called 'y_spec'; there are dy, length, needs_input_grad, x, y"):
        norm().backward(lambda y_spec, dy: dy)


def test_a_direct_call_of_a_gradient_op_gives_the_spec_or_is_told_so():
    total = opsdk.op(name="total", namespace="t", replace=True, infer=opsdk.infer.reduce)(lambda x: x.sum())
    gradient = total.backward(lambda x_spec, dy: np.full(x_spec.shape, dy, x_spec.dtype))
    np.testing.assert_array_equal(gradient(np.float64(2), x_spec=opsdk.TensorSpec([2], "float64")), [2.0, 2.0])
    with pytest.raises(ArityError, match=r"expected attribute 'x_spec' \(spec\), got no value for it"):
        gradient(np.float64(2))
    with pytest.raises(
        AttributeValueError, match=r"'x_spec' expected an opsdk.TensorSpec, got \(2,\) .*; write x_spec=opsdk.Tens"
    ):
        gradient(np.float64(2), x_spec=(2,))


def test_a_second_backward_has_a_gradient_of_what_a_residual_moves_with_and_nobody_reads():
    op = norm()
    gradient = op.backward(lambda y, length, dy: dy / length)
    assert gradient.schema == "t::norm_grad@1(Tensor y, Tensor length, Tensor dy) -> Tensor dx"
    assert (gradient.opdef.unread, op.opdef.grad.unread, op.opdef.grad.saves("input")) == (("x",), (0,), ())
    second = gradient.backward(lambda y, length, ddx: {"y": y, "dy": ddx, "x": y})
    assert str(second.opdef.schema.outputs[-1]) == "Tensor x_grad"
    assert (second.opdef.unread, gradient.opdef.grad.wrt, gradient.opdef.grad.unread) == (
        ("dy", "x"),
        (0, 2, 3),
        (2, 3),
    )
    assert norm().backward(lambda x, length, dy: dy / length).opdef.unread == ()


def test_a_list_that_a_residual_may_depend_on_is_named():
    joined = opsdk.op("t::joined(Tensor[] xs) -> Tensor y, residuals (Tensor norm)")(lambda xs: (xs[0], xs[0]))
    gradient = joined.backward(lambda norm, dy: [norm * dy])
    with pytest.raises(
        DefinitionError, match="expected joined_grad to read the lists, and what is changed in place, that"
    ):
        gradient.backward(lambda norm, ddxs: ddxs[0])


@pytest.mark.parametrize("name, what", [("x", "value .* keeps it"), ("x_spec", "spec"), ("p", "attribute .* nothing")])
def test_a_second_backward_names_what_the_first_names(name, what):
    scaled = opsdk.op("t::scaled(Tensor x, *, float p=2.0) -> Tensor y", replace=True)(lambda x, *, p: x**p)
    gradient = scaled.backward(lambda y, dy: dy * y)
    second = eval(f"lambda {name}, dy, ddx: (dy, dy)")
    text = rf"'{name}' expected to be named by scaled_grad too, of which this is the backward, got a {what}"
    with pytest.raises(BindingError, match=text):
        gradient.backward(second)


def test_compiled_kernels_make_and_take_no_object():
    solve = opsdk.op(TEXT, replace=True)(lambda a, b: (b, b, b))
    with pytest.raises(DefinitionError, match="cannot make an object of Python, got object lu; declare its parts as"):
        solve.kernel("cpu", lambda a, b, x, order: None, language="numba")
    gradient = solve.backward(lambda lu, dx: (dx, dx))
    with pytest.raises(DefinitionError, match="compiled code cannot read an object of Python, got object lu"):
        gradient.kernel("cpu", language="c", source="int f;")
