import numpy as np
import pytest

import opsdk
from contrib_ops.losses.soft_dtw import soft_dtw
from opsdk.verify.kernels.launch import launch

pytest.importorskip("numba")

# Compiles six kernels; test_ctc_loss and test_focal_loss stand for the family in make test.
pytestmark = pytest.mark.slow


def paths(rows, columns):
    """All alignments, as lists of cells."""
    if (rows, columns) == (1, 1):
        return [[(0, 0)]]
    steps = [(rows - 1, columns), (rows, columns - 1), (rows - 1, columns - 1)]
    return [[*path, (rows - 1, columns - 1)] for p, q in steps if p and q for path in paths(p, q)]


def by_enumeration(distances, gamma):
    """The value, the expected alignment and the Hessian, as the log-sum-exp over all paths has them."""
    found = paths(*distances.shape)
    taken = np.array([[float((i, j) in path) for i, j in np.ndindex(distances.shape)] for path in found])
    costs = taken @ distances.ravel()
    least = costs.min()
    mass = np.exp((least - costs) / gamma)
    value = least - gamma * np.log(mass.sum())
    mass /= mass.sum()
    mean = mass @ taken
    hessian = -(taken.T @ (mass[:, None] * taken) - np.outer(mean, mean)) / gamma
    return value, mean.reshape(distances.shape), hessian


def rows(op, *inputs, gamma):
    opdef = op.opdef
    return [launch(opdef, row, list(inputs), {"gamma": gamma}) for row in opdef.kernels if row.key.place == "cpu"]


def test_the_number_of_paths_is_delannoys():
    assert [len(paths(n, n)) for n in (1, 2, 3, 4)] == [1, 3, 13, 63]


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("shape", [(3, 4), (4, 2), (1, 3), (1, 1)])
def test_value_gradient_and_hessian_product_are_those_of_all_paths(rng, shape, gamma):
    distances, dy = rng.normal(size=(2, *shape)), rng.normal(size=2)
    direction = rng.normal(size=(2, *shape))
    want = [by_enumeration(each, gamma) for each in distances]
    for (got,) in rows(soft_dtw, distances, gamma=gamma):
        np.testing.assert_allclose(got, [value for value, _, _ in want], rtol=1e-12)
    for (got,) in rows(soft_dtw.grad, distances, dy, gamma=gamma):
        np.testing.assert_allclose(
            got, [d * mean for d, (_, mean, _) in zip(dy, want, strict=True)], rtol=1e-9, atol=1e-13
        )
    for product, moved in rows(soft_dtw.grad.grad, distances, dy, direction, gamma=gamma):
        wanted = [(h @ z.ravel()).reshape(shape) * d for (_, _, h), z, d in zip(want, direction, dy, strict=True)]
        np.testing.assert_allclose(product, wanted, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(
            moved, [(mean * z).sum() for (_, mean, _), z in zip(want, direction, strict=True)], rtol=1e-9
        )


def test_the_second_derivative_comes_through_the_tape(rng):
    distances = rng.normal(size=(1, 3, 3))
    x = opsdk.to_tensor(distances, stop_gradient=False)
    (first,) = opsdk.grad(soft_dtw(x, gamma=0.5).sum(), x, create_graph=True)
    weights = rng.normal(size=(1, 3, 3))
    (second,) = opsdk.grad((first * weights).sum(), x)
    _, _, hessian = by_enumeration(distances[0], 0.5)
    np.testing.assert_allclose(second.numpy().ravel(), hessian @ weights.ravel(), rtol=1e-9, atol=1e-13)


def test_a_small_gamma_gives_dynamic_time_warping(rng):
    distances = rng.uniform(size=(1, 4, 5))
    least = min(sum(distances[0][cell] for cell in path) for path in paths(4, 5))
    assert soft_dtw(distances, gamma=1e-4)[0] == pytest.approx(least, abs=1e-6)


def test_float32_stays_float32_and_large_distances_do_not_vanish():
    got = soft_dtw(np.full((1, 2, 2), 1e6, "float32"))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, [2e6])


def test_strided_distances_are_read_where_they_lie(rng):
    wide = rng.normal(size=(4, 6, 2))
    assert soft_dtw(wide.T[:, ::2])[0] == pytest.approx(by_enumeration(wide.T[0, ::2], 1.0)[0])


@pytest.mark.parametrize(
    ("distances", "gamma", "message"),
    [
        (np.zeros((2, 2)), 1.0, r"soft_dtw: distances expected shape \(batch, rows, columns\), got \(2, 2\)"),
        (np.zeros((2, 0, 3)), 1.0, r"distances expected a row and a column, got shape \(2, 0, 3\); series have"),
        (np.zeros((1, 2, 2), int), 1.0, "distances expected float32 or float64, got int64; cast it"),
        (np.zeros((1, 2, 2)), 0.0, "'gamma' expected float > 0, got 0.0; write gamma=1.0"),
        (np.zeros((1, 2, 2)), -1.0, "'gamma' expected float > 0, got -1.0"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(distances, gamma, message):
    with pytest.raises(ValueError, match=message):
        soft_dtw(distances, gamma=gamma)


def test_gradient_ops_refuse_cotangents_of_another_shape():
    distances = np.zeros((2, 2, 3))
    soft_dtw.grad(distances, np.ones(2))  # a first call of a kind is in the SDK's hands
    with pytest.raises(ValueError, match=r"dy expected shape \(2,\) to fit distances, got \(3,\)"):
        soft_dtw.grad(distances, np.ones(3))
    soft_dtw.grad.grad(distances, np.ones(2), distances)
    with pytest.raises(ValueError, match=r"dddistances expected shape \(2, 2, 3\) to fit distances, got \(2, 3, 2\)"):
        soft_dtw.grad.grad(distances, np.ones(2), np.ones((2, 3, 2)))
