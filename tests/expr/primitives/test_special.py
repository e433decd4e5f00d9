"""Special functions as expressions: derivatives where branches meet and at 0, of several orders; every runtime."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import DefinitionError
from opsdk.expr.evaluate import evaluate
from opsdk.expr.gradient.derivative import reverse
from opsdk.expr.node import Node, constant
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.row.row import ROW_PRIMITIVES
from opsdk.expr.symbol import Symbol, apply

X = Node("input", (), "x")


def derivatives(name, x, order):
    nodes = [apply(name, Symbol(X)).node]
    for _ in range(order):
        nodes += reverse([nodes[-1]], [constant(1.0)], [X])
    with np.errstate(all="ignore"):
        return [np.broadcast_to(value, np.shape(x)).tolist() for value in evaluate(nodes, {"x": np.array(x)}, np)]


def test_sinc_has_its_taylor_coefficients_at_zero_to_the_eighth_order():
    found = derivatives("sinc", 0.0, 8)
    # the coefficient of x²ᵏ is (−1)ᵏ π²ᵏ/(2k + 1)!
    wanted = [0.0 if n % 2 else (-1) ** (n // 2) * np.pi**n / (n + 1) for n in range(9)]
    np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize(
    ("name", "function", "points"),
    [
        ("sinc", mpmath.sincpi, (1e-9, 0.3, 0.999, 1.0, 1.001, 2.0, 40.25)),
        ("j0", mpmath.j0, (1e-9, 0.3, 4.999, 5.001, 7.999, 8.001, 30.0)),
        ("j1", mpmath.j1, (1e-9, 0.3, 4.999, 5.001, 7.999, 8.001, 30.0)),
        ("i0e", lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), (1e-9, 0.3, 7.999, 8.001, 60.0)),
        ("i1e", lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), (1e-9, 0.3, 7.999, 8.001, 60.0)),
        ("erfcx", lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (-2.0, 0.01, 1.3, 2.999, 3.001, 60.0)),
        ("log_ndtr", lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2), (-60.0, -4.25, -1e-9, 1e-9, 4.0)),
        ("digamma", mpmath.digamma, (-5.3, 0.01, 0.999, 1.001, 1.999, 2.001, 50.0)),
    ],
)
def test_derivatives_are_right_where_branches_meet_to_the_fourth_order(name, function, points):
    found = derivatives(name, points, 4)
    with mpmath.workdps(60):
        for order, values in enumerate(found):
            wanted = [float(mpmath.diff(function, mpmath.mpf(point), order)) for point in points]
            np.testing.assert_allclose(values, wanted, rtol=2e-12, atol=4e-13)


def test_bessel_functions_have_their_derivatives_at_zero():
    assert derivatives("j0", 0.0, 4) == [1.0, 0.0, pytest.approx(-0.5), 0.0, pytest.approx(0.375)]
    assert derivatives("j1", 0.0, 5) == pytest.approx([0.0, 0.5, 0.0, -0.375, 0.0, 0.3125])
    assert derivatives("i0e", 0.0, 1) == [1.0, 0.0]  # the middle of −1 and 1 at the tip, as that of |x|
    assert derivatives("i1e", 0.0, 2) == [0.0, 0.5, 0.0]  # the middle of −1 and 1 again
    assert derivatives("i1e", 1e-12, 2)[1:] == [pytest.approx(0.5), pytest.approx(-1.0)]


def test_derivatives_at_ends_and_poles_are_the_limits():
    assert derivatives("erfinv", [0.0, 1.0, -1.0], 1)[1] == [pytest.approx(np.sqrt(np.pi) / 2), np.inf, np.inf]
    assert derivatives("log_ndtr", [-1e5, 50.0], 1)[1] == [pytest.approx(1e5), 0.0]
    assert derivatives("log_ndtr", [-1e5, 100.0], 2)[2] == [pytest.approx(-1.0), 0.0]
    assert derivatives("lgamma", [1e-300, 1e300], 1)[1] == [pytest.approx(-1e300), pytest.approx(690.7755278982137)]
    assert derivatives("erfcx", [1e10, -30.0], 1)[1] == [pytest.approx(-5.641895835477563e-21), -np.inf]
    both = Node("logaddexp", (X, X))
    with np.errstate(all="ignore"):
        value, slope = evaluate([both, *reverse([both], [constant(1.0)], [X])], {"x": np.array([0.0, 3.0])}, np)
    assert value.tolist() == [np.log(2), 3 + np.log(2)]
    assert slope.tolist() == [1.0, 1.0]


def test_logaddexp_of_equal_infinities_is_that_infinity_everywhere():
    a = np.array([np.inf, -np.inf, np.inf])
    b = np.array([np.inf, -np.inf, -np.inf])
    both = opsdk.elementwise("special::both(Tensor a, Tensor b) -> Tensor")(lambda a, b: vmath.logaddexp(a, b))
    assert vmath.logaddexp(a, b).tolist() == both(a, b).tolist() == [np.inf, -np.inf, np.inf]
    assert vmath.logaddexp(opsdk.to_tensor(a), opsdk.to_tensor(b)).tolist() == [np.inf, -np.inf, np.inf]


def test_members_of_families_are_entered_once_and_have_no_function():
    before = dict(PRIMITIVES)
    derivatives("digamma", 1.5, 3)
    derivatives("digamma", 2.5, 3)
    assert all(PRIMITIVES[name] is each for name, each in before.items())
    assert PRIMITIVES["polygamma3"].doc == ""
    assert not hasattr(vmath, "polygamma3")


def test_on_tensors_and_variables_a_function_of_vmath_is_an_op_with_gradients():
    x = opsdk.to_tensor(np.array([0.5, -0.25]), stop_gradient=False)
    (slope,) = opsdk.grad(vmath.erfinv(x).sum(), [x], create_graph=True)
    (second,) = opsdk.grad(slope.sum(), [x])
    wanted = [[float(mpmath.diff(mpmath.erfinv, at, n)) for at in (0.5, -0.25)] for n in (1, 2)]
    np.testing.assert_allclose([slope.numpy(), second.numpy()], wanted, rtol=1e-14)
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        fed = opsdk.static.data("x", [2], "float64")
        y = vmath.erfinv(fed) + vmath.arctan(fed)
    (value,) = opsdk.static.Executor().run(main, feed={"x": x.numpy()}, fetch_list=[y])
    np.testing.assert_array_equal(value, vmath.erfinv(x).numpy() + vmath.arctan(x).numpy())


@pytest.mark.slow  # compiles six kernels of each; the derivatives are held to mpmath's above
@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfcx", "erfinv", "log_ndtr", "i0e", "i1e", "j0", "j1", "sinc"])
def test_verify_proves_the_derivatives_in_both_runtimes(name):
    function = getattr(vmath, name)
    domain = {"x": (-1.0, 1.0)} if name == "erfinv" else None
    op = opsdk.elementwise(f"special::{name}(Tensor x) -> Tensor", domain=domain)(lambda x: function(x))
    report = opsdk.verify(op)
    assert report.verdict == "pass", str(report)


@pytest.mark.parametrize("name", [name for name, each in PRIMITIVES.items() if each.body is not None and each.doc])
def test_a_rule_that_is_not_that_of_its_body_is_refuted(name, monkeypatch):
    right = PRIMITIVES[name]
    domain = {"x": (-1.0, 1.0)} if name == "erfinv" else None
    wrongs = [lambda y, a: (-right.rule(y, a)[0],), lambda y, a: (1.01 * right.rule(y, a)[0],)]
    for wrong in wrongs:  # a sign, a factor
        monkeypatch.setitem(ROW_PRIMITIVES, name, replace(right, rule=wrong))
        made = opsdk.elementwise("special::wrong(Tensor x) -> Tensor", domain=domain)(lambda x: apply(name, x))
        with pytest.raises(DefinitionError, match=r"expected .* along a direction by forward-mode numbers"):
            str(opsdk.explain(made, np.array([0.5])))
