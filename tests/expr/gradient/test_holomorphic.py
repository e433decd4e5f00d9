import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import GradientMissingError
from opsdk.expr.gradient.holomorphic import without_derivative, without_meaning
from opsdk.expr.trace import trace

Z = np.array([1 + 2j, -0.5 + 1j, 0.3 - 2j])


def outputs(function, names=("x", "y"), attrs=("k",)):
    return trace(function, names, attrs, "op 'planted::f'").outputs


@pytest.mark.parametrize(
    ("function", "by"),
    [
        (lambda x, y, k: vmath.exp(x) / (1 + y * y), None),
        (lambda x, y, k: vmath.where(x == 0, 1.0, vmath.sin(x) / x) + y, None),
        (lambda x, y, k: vmath.where(vmath.maximum(k, 0.0) > 1, x, y), None),
        (lambda x, y, k: x * abs(y), "abs"),
        (lambda x, y, k: vmath.where(x > 0, x, y), "gt"),
        (lambda x, y, k: vmath.maximum(vmath.exp(x), y), "maximum"),
        (lambda x, y, k: vmath.erf(x) + y, "erf"),
    ],
)
def test_what_keeps_an_expression_from_being_holomorphic_is_named(function, by):
    assert without_derivative(outputs(function)) == by


def test_what_has_no_value_for_complex_numbers_is_named():
    assert without_meaning(outputs(lambda x, y, k: vmath.softplus(x) + y)) == "softplus"
    assert without_meaning(outputs(lambda x, y, k: vmath.softplus(k) * x + abs(y))) is None


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_every_order_are_conjugated_once(order):
    op = opsdk.elementwise(lambda x: x * x * vmath.exp(x), name=f"square_exp_{order}")
    z = opsdk.to_tensor(Z, stop_gradient=False)
    value = op(z)
    for step in range(order):
        (value,) = opsdk.grad(value, z, opsdk.to_tensor(np.ones_like(Z)), create_graph=step + 1 < order)
    # of z² exp z: for a real cotangent, that of conj(f') is that of Re f', so conj(f″)
    want = {1: Z**2 + 2 * Z, 2: Z**2 + 4 * Z + 2, 3: Z**2 + 6 * Z + 6}[order] * np.exp(Z)
    np.testing.assert_allclose(value.numpy(), np.conj(want), rtol=1e-13)


def test_a_gradient_op_called_by_itself_has_the_convention_too():
    square = opsdk.elementwise(lambda x: x * x, name="square_alone")
    dy = np.array([1j, 2.0, 1 - 1j])
    np.testing.assert_allclose(square.grad(Z, dy), dy * np.conj(2 * Z))


def test_attributes_that_choose_another_expression_choose_whether_it_has_a_derivative():
    def held(x, *, is_bounded: bool = False):
        return vmath.maximum(x, 0.0) if is_bounded else 2.0 * x

    op = opsdk.elementwise(held, name="held_or_not")
    z = opsdk.to_tensor(Z, stop_gradient=False)
    opsdk.abs(op(z)).sum().backward()
    np.testing.assert_allclose(z.grad.numpy(), 2 * Z / np.abs(Z))
    with pytest.raises(GradientMissingError, match="expected real numbers, since maximum has no complex derivative"):
        opsdk.abs(op(z, is_bounded=True)).sum().backward()


def test_an_expression_that_is_not_holomorphic_is_refused_with_its_remedy():
    op = opsdk.elementwise(lambda x: x / (1 + abs(x)), name="softsign_refused")
    z = opsdk.to_tensor(Z, stop_gradient=False)
    y = op(z)
    message = "got complex ones: abs has no complex derivative; give the op a complex_backward"
    with pytest.raises(GradientMissingError, match=message):
        opsdk.abs(y).sum().backward()
    np.testing.assert_allclose(op(Z), Z / (1 + np.abs(Z)))


def test_a_complex_backward_serves_complex_tensors_and_the_derived_gradient_real_ones():
    def backward(x, dy):
        r = opsdk.abs(x)
        along = opsdk.real(opsdk.conj(dy) * x) / (r * (1 + r) * (1 + r))
        return dy / (1 + r) - along * x

    op = opsdk.elementwise(lambda x: x / (1 + abs(x)), name="softsign_complex", complex_backward=backward)
    x = opsdk.to_tensor(np.array([2.0, -1.0]), stop_gradient=False)
    op(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / 9, 1 / 4])
    report = opsdk.verify(op, samples=[opsdk.Sample(Z)])
    assert report.findings == ()
    assert {"complex", "complex2"} <= set(report.coverage.checks)


def test_row_expressions_are_conjugated_alike():
    center = opsdk.rowwise(lambda x: x * x - vmath.row_mean(x * x), name="center_squares")
    z = opsdk.to_tensor(Z[np.newaxis], stop_gradient=False)
    dy = np.array([[1 + 1j, 0, 0]])
    (gradient,) = opsdk.grad(center(z), z, opsdk.to_tensor(dy))
    np.testing.assert_allclose(gradient.numpy(), (dy - dy.mean()) * np.conj(2 * Z))
    top = opsdk.rowwise(lambda x: x - vmath.row_max(x), name="below_the_top")
    with pytest.raises(GradientMissingError, match="row_max has no complex derivative"):
        opsdk.abs(top(z)).sum().backward()
