"""Residuals and specs in a Program: of its run, and no variables."""

import gc
import weakref
from typing import ClassVar

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DerivativeOrderError, FetchError
from opsdk.static import Executor, Program, Scope, data, gradients, program_guard

A, B = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0])  # A⁻¹ B = [1, 2]


class Factor:
    made: ClassVar[list] = []

    def __init__(self, a):
        Factor.made.append(weakref.ref(self))
        self.inverse = np.linalg.inv(a)


@pytest.fixture
def solve():
    Factor.made = []

    @opsdk.op("t::solve(Tensor a, Tensor b) -> Tensor x, residuals (object lu)", infer=opsdk.infer.like("b"))
    def solve(a, b):
        lu = Factor(a)
        return lu.inverse @ b, lu

    @solve.backward
    def solve_grad(a, b, lu, dx):
        db = lu.inverse.T @ dx
        return -np.outer(db, lu.inverse @ b), db

    return solve


@pytest.fixture
def program():
    made = Program()
    with program_guard(made, Program()):
        yield made


def inputs():
    a, b = data("a", [None, None], "float64"), data("b", [None], "float64")
    a.stop_gradient = b.stop_gradient = False
    return a, b


def run(program, fetches, **options):
    return Executor().run(program, feed={"a": A, "b": B}, fetch_list=fetches, scope=Scope(), **options)


def test_a_run_makes_a_residual_once_and_frees_it(solve, program):
    a, b = inputs()
    found = gradients(solve(a, b), [a, b])
    da, db = run(program, found)
    np.testing.assert_allclose(db, [0.5, 0.125])
    np.testing.assert_allclose(da, [[-0.5, -1.0], [-0.125, -0.25]])
    gc.collect()
    assert [ref() for ref in Factor.made] == [None]


def test_pruning_keeps_who_makes_a_residual(solve, program):
    a, b = inputs()
    found = gradients(solve(a, b), [b])
    (db,) = run(program, found, use_prune=True)
    np.testing.assert_allclose(db, [0.5, 0.125])
    assert [op.type for op in program.prune(found).global_block().ops] == ["solve", "fill_any_like", "solve_grad"]
    assert len(Factor.made) == 1


def test_a_residual_is_no_variable(solve, program):
    a, b = inputs()
    x = solve(a, b)
    gradients(x, [b])
    first, *_, last = program.global_block().ops
    (name,) = first.residuals.values()
    assert last.residuals == {"lu": name}
    assert name not in program.global_block().vars
    assert f"residuals = ['{name}']" in str(program)
    with pytest.raises(FetchError, match="not in the Program"):
        run(program, [name])
    assert "RESIDUAL" not in str(program.clone(for_test=True))


def test_a_clone_runs_as_its_original(solve, program):
    a, b = inputs()
    (found,) = gradients(solve(a, b), [b])
    (db,) = run(program.clone(), [found.name])
    np.testing.assert_allclose(db, [0.5, 0.125])


def test_without_a_backward_nothing_is_kept(solve, program):
    a, b = inputs()
    x = solve(a, b)
    np.testing.assert_allclose(run(program, [x])[0], [1.0, 2.0])
    assert program.global_block().ops[0].residuals == {}


def test_a_second_derivative_is_refused_or_the_authors(solve, program):
    a, b = inputs()
    dx = data("dx", [None], "float64")
    dx.stop_gradient = False
    (db,) = gradients(solve(a, b), [b], [dx])
    with pytest.raises(DerivativeOrderError, match="make 'lu' an output"):
        gradients(db, [dx])
    give = solve.grad.backward(replace=True)
    again = give(lambda a, b, lu, dx, dda, ddb: (a * 0, b * 0, lu.inverse @ ddb))
    made = Program()
    with program_guard(made, Program()):
        a, b = inputs()
        dx = data("dx", [None], "float64")
        dx.stop_gradient = False
        (db,) = gradients(solve(a, b), [b], [dx])
        (found,) = gradients(db, [dx])
    assert [op.type for op in made.global_block().ops][-1] == again.opdef.schema.name
    (value,) = Executor().run(made, feed={"a": A, "b": B, "dx": np.ones(2)}, fetch_list=[found], scope=Scope())
    np.testing.assert_allclose(value, [0.375, 0.25])  # A⁻¹ [1, 1]


def test_a_gradient_op_that_is_called_by_hand_hands_its_object_on(solve, program):
    solve.grad.backward(lambda a, b, lu, dx, dda, ddb: (a * 0, b * 0, lu.inverse @ ddb))
    a, b = inputs()
    dx = data("dx", [None], "float64")
    dx.stop_gradient = False
    _, db = solve.grad(a, b, dx, lu=Factor(A))
    (found,) = gradients(db, [dx])
    (value,) = Executor().run(program, feed={"a": A, "b": B, "dx": np.ones(2)}, fetch_list=[found], scope=Scope())
    np.testing.assert_allclose(value, [0.375, 0.25])


@pytest.mark.parametrize("composite", [False, True])
def test_a_spec_has_the_sizes_of_the_run_and_open_ones_where_ops_are_appended(program, composite):
    seen = []
    x, dy, ones = data("x", [None], "float64"), data("dy", [], "float64"), data("ones", [None], "float64")
    x.stop_gradient = dy.stop_gradient = False

    @opsdk.op("t::total(Tensor x) -> Tensor y", infer=opsdk.infer.reduce)
    def total(x):
        return x.sum()

    @total.backward(composite=composite)
    def total_grad(x_spec, dy):
        seen.append(x_spec.shape)
        if composite:
            return opsdk.matmul(ones.reshape([-1, 1]), dy.reshape([1]))
        return np.full(x_spec.shape, dy, x_spec.dtype)

    (found,) = gradients(total(x), [x], [dy])
    if composite:
        (found,) = gradients(found, [dy])
    feed = {"x": np.arange(3.0), "dy": np.array(2.0)} | ({"ones": np.ones(3)} if composite else {})
    (value,) = Executor().run(program, feed=feed, fetch_list=[found], scope=Scope(), use_prune=True)
    assert (value.tolist(), seen) == ((3.0, [(None,)]) if composite else ([2.0, 2.0, 2.0], [(3,)]))
