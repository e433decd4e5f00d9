import numpy as np
import pytest

import opsdk
from contrib_ops.linear_algebra.sinkhorn import sinkhorn
from opsdk.verify.kernels.launch import launch

pytest.importorskip("numba")


def problem(rng, rows=4, columns=5):
    return rng.uniform(size=(rows, columns)), rng.uniform(0.5, 1.5, rows), rng.uniform(0.5, 1.5, columns)


def plans(cost, a, b, **attrs):
    opdef = sinkhorn.opdef
    given = {"eps": 0.1, "iterations": 100, "gradient": "implicit", **attrs}
    return [launch(opdef, row, [cost, a, b], given)[0] for row in opdef.kernels]


def by_scaling(cost, a, b, eps, iterations):
    """Cuturi's algorithm 1, as it is written there: without logarithms."""
    kernel, v = np.exp(-cost / eps), np.ones(len(b))
    for _ in range(iterations):
        u = (a / a.sum()) / (kernel @ v)
        v = (b / b.sum()) / (kernel.T @ u)
    return u[:, None] * kernel * v


@pytest.mark.parametrize("iterations", [1, 3, 40])
def test_every_row_gives_the_plan_of_scaling(rng, iterations):
    cost, a, b = problem(rng)
    for got in plans(cost, a, b, eps=0.2, iterations=iterations):
        np.testing.assert_allclose(got, by_scaling(cost, a, b, 0.2, iterations), rtol=1e-10)


def test_the_plan_has_its_marginals_once_it_has_converged(rng):
    cost, a, b = problem(rng)
    for got in plans(cost, a, b, eps=0.3, iterations=300):
        np.testing.assert_allclose(got.sum(axis=1), a / a.sum(), rtol=1e-10)
        np.testing.assert_allclose(got.sum(axis=0), b / b.sum(), rtol=1e-12)


def test_a_small_eps_neither_underflows_nor_misses_the_best_assignment(rng):
    best = np.eye(5)[rng.permutation(5)]  # exp(-1 / eps), of every other pair, is 0
    for got in plans(1 + rng.uniform(size=(5, 5)) - best * 1.5, np.ones(5), np.ones(5), eps=1e-3, iterations=50):
        np.testing.assert_allclose(got, best / 5, atol=1e-12)


@pytest.mark.parametrize("gradient", ["implicit", "unrolled"])
def test_gradients_are_those_of_torch_through_the_iterations(rng, gradient):
    torch = pytest.importorskip("torch")
    given, weights = problem(rng), rng.normal(size=(4, 5))
    iterations = 200 if gradient == "implicit" else 3
    leaves = [torch.tensor(each, requires_grad=True) for each in given]
    cost, a, b = leaves
    log_a, log_b, g = torch.log(a / a.sum()), torch.log(b / b.sum()), torch.zeros(5, dtype=torch.float64)
    for _ in range(iterations):
        f = log_a - torch.logsumexp(-cost / 0.3 + g, dim=1)
        g = log_b - torch.logsumexp(-cost / 0.3 + f[:, None], dim=0)
    want = torch.autograd.grad(torch.exp(f[:, None] + g - cost / 0.3), leaves, torch.tensor(weights))
    tensors = [opsdk.to_tensor(each, stop_gradient=False) for each in given]
    plan = sinkhorn(*tensors, eps=0.3, iterations=iterations, gradient=gradient)
    for got, wanted in zip(opsdk.grad(plan, tensors, opsdk.to_tensor(weights)), want, strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-7, atol=1e-10)


def test_gradients_of_weights_are_tangential_and_those_of_costs_know_no_shift(rng):
    given = problem(rng)
    tensors = [opsdk.to_tensor(each, stop_gradient=False) for each in given]
    plan = sinkhorn(*tensors, eps=0.3, iterations=200)
    dcost, da, db = opsdk.grad(plan, tensors, opsdk.to_tensor(rng.normal(size=(4, 5))))
    assert abs(da.numpy() @ given[1]) < 1e-12
    assert abs(db.numpy() @ given[2]) < 1e-12
    np.testing.assert_allclose(dcost.numpy().sum(axis=0), 0, atol=1e-11)  # a column of costs plus a number: g takes it
    np.testing.assert_allclose(dcost.numpy().sum(axis=1), 0, atol=1e-11)


def test_the_sum_of_the_weights_does_not_count_and_one_row_is_b(rng):
    cost, a, b = problem(rng)
    np.testing.assert_allclose(sinkhorn(cost, 7 * a, b / 3), sinkhorn(cost, a, b), rtol=1e-12)
    np.testing.assert_allclose(sinkhorn(cost[:1], a[:1], b)[0], b / b.sum(), rtol=1e-12)


def test_float32_stays_float32(rng):
    cost, a, b = problem(rng)
    for got in plans(*(each.astype("float32") for each in (cost, a, b)), eps=0.2, iterations=40):
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, by_scaling(cost, a, b, 0.2, 40), rtol=1e-4)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"cost": np.zeros(3)}, r"expected cost \(rows, columns\), a \(rows,\) and b \(columns,\), got \(3,\)"),
        ({"cost": np.zeros((0, 2)), "a": np.zeros(0)}, r"cost expected a row and a column, got shape \(0, 2\)"),
        ({"cost": np.zeros((3, 2), int)}, "cost expected float32 or float64, got int64; cast all inputs"),
        ({"a": np.ones(2)}, r"a expected shape \(3,\) beside cost \(3, 2\), got \(2,\)"),
        ({"b": np.ones(3)}, r"b expected shape \(2,\) beside cost \(3, 2\), got \(3,\)"),
        ({"b": np.ones(2, "float32")}, "b expected float64 like cost, got float32; cast one of them"),
        ({"a": np.array([1.0, 0.0, 1.0])}, "a expected weights above 0, got 0.0; leave out what has none"),
        ({"eps": 0.0}, "'eps' expected float > 0, got 0.0; write eps=0.1"),
        ({"iterations": 0}, "'iterations' expected int >= 1, got 0; write iterations=1"),
        ({"gradient": "exact"}, r"'gradient' expected 'implicit' \| 'unrolled', got 'exact'"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(wrong, message):
    with pytest.raises(ValueError, match=message):
        sinkhorn(**{"cost": np.zeros((3, 2)), "a": np.ones(3), "b": np.ones(2), **wrong})


def test_the_gradient_op_refuses_a_plan_or_cotangent_of_another_shape():
    cost, a, b = np.zeros((3, 2)), np.ones(3), np.ones(2)
    # A call of this kind is known then; the first of one is in the SDK's hands.
    sinkhorn.grad(cost, a, b, np.ones((3, 2)), cost, eps=0.1, iterations=1, gradient="implicit")
    for name in ("plan", "dplan"):
        given = {"plan": cost, "dplan": cost, name: np.zeros((2, 3))}
        with pytest.raises(ValueError, match=rf"{name} expected shape \(3, 2\) like cost, got \(2, 3\)"):
            sinkhorn.grad(cost, a, b, *given.values(), eps=0.1, iterations=1, gradient="implicit")
