import numpy as np

import opsdk
from opsdk.ship.describe import catalog


def define(**options):
    @opsdk.op(namespace="catalogued", **options)
    def cube(x):
        return x**3

    return cube


def test_the_order_counts_the_backwards_that_are_there():
    cube = define()
    assert catalog.order_of(cube.opdef) == "none"

    @cube.backward
    def cube_grad(x, dy):
        return 3 * x**2 * dy

    assert catalog.order_of(cube.opdef) == "1"

    @cube_grad.backward
    def cube_grad_grad(x, dy, ddx):
        return 6 * x * dy * ddx, 3 * x**2 * ddx

    assert catalog.order_of(cube.opdef) == "2"


def test_an_op_made_of_ops_can_be_differentiated_without_end():
    cube = define()

    @cube.backward(composite=True)
    def cube_grad(x, dy):
        return dy * x * x * 3.0

    assert catalog.order_of(cube.opdef) == "∞"
    assert catalog.derivative_of(cube.opdef) == "catalogued::cube_grad, made of registered ops"


def test_what_is_saved_is_named():
    cube = define()
    assert catalog.saves_of(cube.opdef) == "nothing"

    @cube.backward
    def cube_grad(x, y, dy):
        return 3 * x**2 * dy

    assert catalog.saves_of(cube.opdef) == "input x, output y"


def test_declarations_and_surrogates_are_shown():
    cube = define(domain={"x": (0.0, None)}, deterministic=False, linear=True, surrogate=True)

    @cube.backward
    def cube_grad(dy):
        return dy

    assert catalog.derivative_of(cube.opdef).endswith("a surrogate, declared to differ from the derivative")


def test_rows_of_other_languages_are_listed_once():
    cube = define()
    cube.kernel("cpu", lambda x: x, language="numba", dtype=np.float32)
    cube.kernel("cpu", lambda x: x, language="numba", dtype=np.float64)
    cube.kernel("cuda", lambda x: x, language="numba")
    assert catalog.rows_of(cube.opdef) == ("numpy", "numba", "cuda")


def test_derived_gradients_go_on_without_end():
    @opsdk.elementwise(namespace="catalogued")
    def swish(x, *, beta: float = 1.0):
        return x / (1.0 + opsdk.vmath.exp(-beta * x))

    for opdef in (swish.opdef, swish.grad.opdef, swish.grad.grad.opdef):
        assert catalog.order_of(opdef) == "∞"
    assert catalog.derivative_of(swish.opdef) == "catalogued::swish_grad, derived from its expression, to any order"
    assert catalog.saves_of(swish.opdef) == "input x"


def test_an_expression_without_a_derivative_has_order_none():
    @opsdk.elementwise("catalogued::step(Tensor x) -> Tensor y", nondifferentiable=("x", "y"))
    def step(x):
        return opsdk.vmath.where(x > 0, 1.0, 0.0)

    assert catalog.order_of(step.opdef) == "none"
    assert catalog.derivative_of(step.opdef) == "none"
