import json
import sys

import numpy as np
import pytest

import opsdk
from opsdk.ship.describe import catalog
from tests.installed import install, path_without_metadata


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


@pytest.fixture
def site(here, monkeypatch):
    """A folder that packages are installed into; nothing else announces ops."""
    monkeypatch.setattr(sys, "path", [str(here), *path_without_metadata()])
    return here


def test_announced_modules_are_imported(site, right):
    install(site, "good-ops", {"mine": "good"})
    (state,) = catalog.load_providers()
    assert (state.entry_point, state.state, state.ops, state.reason) == ("mine = good", "ok", 1, "")


def test_one_that_raises_is_reported_and_the_next_loaded(site, right):
    install(site, "a-ops", {"broken": "no_such_module_anywhere"})
    install(site, "good-ops", {"mine": "good"})
    broken, mine = catalog.load_providers()
    assert (broken.state, broken.reason) == ("failed", "ModuleNotFoundError: No module named 'no_such_module_anywhere'")
    assert mine.state == "ok"


def test_list_providers_says_who_announces_ops_and_how_each_loaded(run, site, right):
    install(site, "good-ops", {"mine": "good"}, version="0.3")
    install(site / "old", "good_ops", {"mine": "good"}, version="0.2")
    install(site, "bad-ops", {"bad": "bad_ops"}, version="1.2")
    (site / "bad_ops.py").write_text("\nimport foo\n")
    sys.path.append(str(site / "old"))
    result = run("list", "--providers")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "provider      entry point    ops  state",
        "bad-ops 1.2   bad = bad_ops    0  failed",
        "good-ops 0.3  mine = good      1  ok",
        "good_ops 0.2  mine = good      0  shadowed",
        f"bad-ops 1.2 in {site}: failed, ModuleNotFoundError: No module named 'foo', at bad_ops.py:2",
        f"good_ops 0.2 in {site}/old: shadowed, good-ops 0.3 in {site} comes first on sys.path",
    ]


def test_list_providers_for_machines(run, site, right):
    install(site, "good-ops", {"mine": "good"}, version="0.3")
    assert json.loads(run("list", "--providers", "--json").stdout) == [
        {
            "name": "good-ops",
            "version": "0.3",
            "entry_point": "mine = good",
            "folder": str(site),
            "state": "ok",
            "ops": 1,
            "reason": "",
        }
    ]


def test_without_providers_it_says_so(run, site):
    expected = "no installed package announces ops in the entry point group opsdk.ops\n"
    assert run("list", "--providers").stdout == expected


def test_the_table_of_ops_names_the_package_that_an_op_is_from(run, site, right):
    (site / "good.py").write_text(right.read_text().replace("@opsdk.op\n", "@opsdk.op(namespace='other')\n"))
    install(site, "good-ops", {"mine": "good"}, version="0.3")
    (line,) = [line for line in run("list", "--table").stdout.splitlines() if "other::clamp" in line]
    assert line.split()[1:3] == ["good-ops", "0.3"]
