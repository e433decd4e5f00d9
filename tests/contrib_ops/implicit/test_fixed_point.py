import numpy as np
import pytest

import opsdk
from contrib_ops import fixed_point
from opsdk import static
from opsdk.core.errors import InputValueError, ShapeError

A = np.array([0.5, 2.0, 9.0])


def mean_with_quotient(x, a):
    return (x + a / x) * 0.5  # whose fixed point is √a


def affine(x, matrix, shift):
    return opsdk.matmul(matrix, x) + shift


@pytest.fixture
def system(rng):
    matrix = rng.normal(size=(4, 4))
    return 0.7 * matrix / np.linalg.norm(matrix, 2), rng.normal(size=4)


def test_the_square_root_is_found_with_all_its_derivatives():
    a = opsdk.to_tensor(A, stop_gradient=False)
    x = fixed_point(np.ones(3), a, f=mean_with_quotient)
    np.testing.assert_allclose(x.numpy(), np.sqrt(A), rtol=1e-14)
    (first,) = opsdk.grad(x.sum(), a, create_graph=True)
    (second,) = opsdk.grad(first.sum(), a, create_graph=True)
    (third,) = opsdk.grad(second.sum(), a)
    for got, wanted in ((first, 0.5 * A**-0.5), (second, -0.25 * A**-1.5), (third, 0.375 * A**-2.5)):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-10)


def test_a_linear_map_has_the_solution_and_the_gradients_of_its_system(system, rng):
    matrix, shift = (opsdk.to_tensor(value, stop_gradient=False) for value in system)
    x, dx = fixed_point(np.zeros(4), matrix, shift, f=affine), rng.normal(size=4)
    np.testing.assert_allclose(x.numpy(), np.linalg.solve(np.eye(4) - system[0], system[1]), rtol=1e-12)
    got = opsdk.grad(x, [matrix, shift], opsdk.to_tensor(dx))
    weight = np.linalg.solve(np.eye(4) - system[0].T, dx)
    np.testing.assert_allclose(got[1].numpy(), weight, rtol=1e-11)
    np.testing.assert_allclose(got[0].numpy(), np.outer(weight, x.numpy()), rtol=1e-11)


def test_a_program_computes_the_bits_of_the_tape_to_the_second_order():
    a = opsdk.to_tensor(A, stop_gradient=False)
    x = fixed_point(np.ones(3), a, f=mean_with_quotient)
    (first,) = opsdk.grad(x.sum(), a, create_graph=True)
    wanted = [x, first, *opsdk.grad(first.sum(), a)]
    with static.program_guard(static.Program()):
        v = static.data("v", [3], "float64")
        y = fixed_point(np.ones(3), v, f=mean_with_quotient)
        (dy,) = static.gradients([y], [v])
        found = static.Executor().run(feed={"v": A}, fetch_list=[y, dy, *static.gradients([dy], [v])])
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want.numpy())


def counted(f):
    seen = []

    def counting(x, *theta):
        seen.append(type(x))
        return f(x, *theta)

    return counting, seen


def test_nothing_is_recorded_of_the_iterations_which_run_on_arrays(system):
    f, seen = counted(affine)
    matrix, shift = (opsdk.to_tensor(value, stop_gradient=False) for value in system)
    x = fixed_point(np.zeros(4), matrix, shift, f=f)
    assert set(seen) == {np.ndarray}
    assert {edge[1] for edge in x._edge[0].edges if edge is not None} == {-1}  # its inputs are the leaves


def test_residuals_that_cancel_take_fewer_values_than_the_plain_iteration(system):
    taken = []
    for memory in (1, 5):
        f, seen = counted(affine)
        fixed_point(np.zeros(4), *system, f=f, memory=memory)
        taken.append(len(seen))
    assert 2 * taken[1] < taken[0]


def test_float32_is_as_exact_as_it_is():
    made = fixed_point(np.ones(3, np.float32), A.astype(np.float32), f=mean_with_quotient)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, np.sqrt(A), rtol=1e-6)


@pytest.mark.parametrize("f", [lambda x: x + 1.0, lambda x: x * x + 3.0, lambda x: x * np.nan])
def test_what_does_not_come_to_rest_is_refused(f):
    wanted = "expected f to have a fixed point near x0, got a residual of"
    with np.errstate(over="ignore"), pytest.raises(InputValueError, match=wanted):
        fixed_point(np.ones(2), [], f=f, max_iter=30, memory=1)


def test_another_shape_and_another_dtype_are_refused():
    with pytest.raises(ShapeError, match=r"op 'contrib::fixed_point': f expected to give \(2,\), got \(\)"):
        fixed_point(np.ones(2), [], f=lambda x: x.sum())
    with pytest.raises(InputValueError, match="x0 expected float32 or float64, got int64; cast it"):
        fixed_point(np.array([1, 2]), [], f=opsdk.tanh)


def test_a_tolerance_ends_it_early(system):
    f, seen = counted(affine)
    got = fixed_point(np.zeros(4), *system, f=f, tol=1e-2)
    assert len(seen) < 8
    np.testing.assert_allclose(got, np.linalg.solve(np.eye(4) - system[0], system[1]), atol=0.1)
