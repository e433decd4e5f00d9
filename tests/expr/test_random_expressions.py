"""Random expressions and their derivatives to the third order, compared with mpmath."""

import os

import mpmath
import numpy as np
import pytest

import opsdk
from tests.by_reference import by_reference
from tests.expr.random_expressions import N, RandomExpression, of_symbols, shifted


@pytest.fixture(autouse=True)
def _by_the_reference():
    """Compiling every order of every expression would take an hour."""
    with by_reference(), opsdk.REGISTRY.scoped():
        yield


def made(seed, of_rows):
    """Returns an op, its expression, and a point: as arrays of one row, and as plain numbers."""
    rng = np.random.default_rng(seed)
    if not of_rows:
        expression = RandomExpression(seed, ("x", "w"), of_rows)
        steps = expression.steps
        op = opsdk.elementwise("t::f(Tensor x, Tensor w) -> Tensor y")(lambda x, w: of_symbols(steps, x, w))
        numbers = list(rng.normal(size=2))
        return op, expression, [np.array([number]) for number in numbers], numbers
    expression = RandomExpression(seed, ("x", "w", "r"), of_rows)
    steps = expression.steps
    op = opsdk.rowwise("t::f(Tensor x, Tensor w, Tensor r) -> Tensor y", per_column=("w",), per_row=("r",))(
        lambda x, w, r: of_symbols(steps, x, w, r)
    )
    x, w, r = rng.normal(size=N), rng.normal(size=N), rng.normal()
    return op, expression, [x[None], w, np.array([[r]])], [x, w, r]


def computed(op, arrays, cotangent, directions, orders):
    """Returns cotangent · f, and its derivatives of orders 1, 2, … along directions, by the tape."""
    inputs = [opsdk.to_tensor(array, stop_gradient=False) for array in arrays]
    value = op(*inputs)
    value = (value * opsdk.to_tensor(cotangent[: value.size].reshape(value.shape))).sum()
    found = [float(value.numpy())]
    for order in range(orders):
        if value.stop_gradient:
            break
        grads = opsdk.grad(value, inputs, create_graph=order + 1 < orders, allow_unused=True)
        along = [opsdk.to_tensor(d[order].reshape(a.shape)) for a, d in zip(arrays, directions, strict=True)]
        terms = [(grad * d).sum() for grad, d in zip(grads, along, strict=True) if grad is not None]
        if not terms:
            break
        value = sum(terms[1:], terms[0])
        found.append(float(value.numpy()))
    return found


def check(seed, of_rows, orders):
    op, expression, arrays, numbers = made(seed, of_rows)
    rng = np.random.default_rng(seed + 1)
    cotangent = rng.normal(size=N)
    directions = [[rng.normal(size=np.shape(number)) for _ in range(orders)] for number in numbers]

    def value(*steps):
        steps = (*steps, *[mpmath.mpf(0)] * (orders - len(steps)))
        given = expression.of_numbers(*shifted(numbers, directions, steps))
        given = given if isinstance(given, list) else [given]
        return mpmath.fsum(mpmath.mpf(float(c)) * v for c, v in zip(cotangent, given, strict=False))

    with np.errstate(all="ignore"):
        got = computed(op, arrays, cotangent, directions, orders)
    try:
        expected = [value() if not n else mpmath.diff(value, (0,) * n, (1,) * n) for n in range(len(got))]
    except (ZeroDivisionError, ValueError):
        return  # a quotient by 0, or the tip of a cone, from where it has no derivative
    for order, (found, want) in enumerate(zip(got, expected, strict=True)):
        assert found == pytest.approx(float(mpmath.re(want)), rel=1e-8, abs=1e-8), f"{seed}, {order}: {expression}"


@pytest.mark.parametrize("seed", range(5))
def test_random_elementwise_expressions_have_the_derivatives_of_mpmath(seed):
    check(seed, of_rows=False, orders=2)


@pytest.mark.parametrize("seed", range(12))
def test_random_row_expressions_have_the_derivatives_of_mpmath(seed):
    check(seed, of_rows=True, orders=2)


# RANDOM_EXPRESSIONS=1000 python -m pytest tests/expr/test_random_expressions.py takes ten minutes
@pytest.mark.slow  # the third order; two are held above, with every run
@pytest.mark.parametrize("of_rows", [False, True])
def test_random_expressions_have_the_derivatives_of_mpmath_to_the_third_order(of_rows):
    for seed in range(100, 100 + int(os.environ.get("RANDOM_EXPRESSIONS", "1"))):
        with opsdk.REGISTRY.scoped():
            check(seed, of_rows, orders=3)
