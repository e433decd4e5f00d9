"""Every built-in op and random expressions beside torch, at a few seeds; OPSDK_DIFFERENTIAL_SEEDS asks for more."""

import os

import numpy as np
import pytest

import opsdk

torch = pytest.importorskip("torch")

from tests.by_reference import by_reference  # noqa: E402
from tests.parity import differential as d  # noqa: E402 - it imports torch
from tests.parity import differential_cases as cases  # noqa: E402
from tests.parity import differential_table as table  # noqa: E402

SEEDS = range(int(os.environ.get("OPSDK_DIFFERENTIAL_SEEDS", "3")))


def told(differences):
    return [str(difference) for difference in differences]


@pytest.mark.parametrize("name", table.BUILT_IN)
def test_built_in_ops_agree_with_torch(name):
    with by_reference():
        assert [t for seed in SEEDS for case in table.built_in(seed, name) for t in told(d.check(case))] == []


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", [cases.elementwise, cases.rowwise])
def test_random_expressions_agree_with_torch(make, seed):
    with by_reference():
        assert told(cases.scoped(make, seed, d.check)) == []


@pytest.mark.slow  # compiles every expression; references agree with every run
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("make", [cases.elementwise, cases.rowwise])
def test_compiled_random_expressions_agree_with_torch_in_both_runtimes(make, seed):
    assert told(cases.scoped(make, seed, lambda case: d.check(case, programs=True))) == []


@pytest.mark.slow  # compiles every op; references agree with every run
@pytest.mark.parametrize("name", table.BUILT_IN)
def test_compiled_built_in_ops_agree_with_torch_in_both_runtimes(name):
    assert [t for case in table.built_in(0, name) for t in told(d.check(case, programs=True))] == []


def test_every_built_in_op_is_compared_or_says_where_it_is():
    compared = set().union(*map(d.ops_of, table.built_in(0)))
    every = {op.opdef.name for op in opsdk.REGISTRY if op.opdef.is_builtin and op.opdef.gradient_of is None}
    assert sorted(every - compared) == sorted(table.ELSEWHERE)


def test_a_round_of_seeds_meets_every_draw_once():
    met = [case.name for seed in range(60, 60 + cases.SHARES) for case in table.built_in(seed, shares=cases.SHARES)]
    assert sorted(met) == sorted(case.name for case in table.built_in(0))


def test_a_random_expression_is_tried_on_other_numbers_of_the_same_shapes():
    with opsdk.REGISTRY.scoped():
        case = cases.rowwise(3)
        other, again = cases.redrawn(case, 1), cases.redrawn(case, 1)
    assert [a.shape for a in other.inputs] == [a.shape for a in case.inputs]
    assert not np.array_equal(other.inputs[0], case.inputs[0])
    assert np.array_equal(other.inputs[0], again.inputs[0])


# -- the harness itself ------------------------------------------------------------------------------------------------


def of(ours, theirs, x, **options):
    return told(d.check(d.Case("planted", ours, theirs, [np.asarray(x)], **options)))


def test_a_value_that_is_off_by_some_units_is_found_in_every_dtype():
    for dtype, off in (("float64", 1e-13), ("float32", 1e-4), ("float16", 0.02), ("bfloat16", 0.1)):
        (found,) = of(lambda x, off=off: x * (2.0 + off), lambda x: x * 2.0, [1.0, 3.0], dtypes=[dtype])
        assert f"planted, {dtype}, order 0, result 0" in found


def test_a_derivative_that_is_off_is_found_at_its_order():
    (found,) = of(lambda x: x * x * x.detach(), lambda x: x**3, [1.5, -2.0], dtypes=["float64"])
    assert "order 1" in found
    (found,) = of(lambda x: x * x * x, lambda x: x**3 + 0 * x, [1.5], dtypes=["float64"], orders=1) or [""]
    assert found == ""


def test_a_formula_that_loses_digits_may_lose_them_and_one_that_does_not_may_not():
    x = np.array([1e-6, 2e-6])

    def lossy(x):
        return (x + 1.0) - 1.0

    assert of(lossy, lossy, x, orders=1, dtypes=["float32"]) == []
    assert len(of(lossy, lambda x: x * 1.0, x, orders=1, dtypes=["float32"])) == 1


def test_ties_that_rounding_makes_are_ties():
    x = np.array([[1.0, 1.0 + 2.0**-20, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0]])

    def ours(x):
        return opsdk.max(1.0 + 1e-3 * opsdk.tanh(x * 4.0), 1)

    def reference(x):
        return torch.amax(1.0 + 1e-3 * torch.tanh(x * 4.0), 1)

    assert of(ours, reference, x, orders=1, dtypes=["float32"]) == []


def test_nan_where_the_reference_is_finite_is_found():
    (found,) = of(lambda x: opsdk.log(x) * 0.0 + x, lambda x: x * 1.0, [0.0, 1.0], dtypes=["float64"])
    assert "got nan, expected 0" in found


def test_what_raises_is_a_difference():
    def ours(x):
        raise ZeroDivisionError("planted")

    (found,) = of(ours, lambda x: x * 1.0, [1.0], dtypes=["float64"])
    assert "raised ZeroDivisionError: planted" in found
