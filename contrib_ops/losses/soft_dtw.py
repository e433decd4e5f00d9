"""Soft-DTW: dynamic time warping with a smooth minimum, so that it has derivatives everywhere."""

import numpy as np

import opsdk
from opsdk import errors

INF = np.inf


def soft_dtw_infer(distances):
    if distances.ndim != 3:
        raise errors.ShapeError(f"soft_dtw: distances expected shape (batch, rows, columns), got {distances.shape}")
    return opsdk.TensorSpec(distances.shape[:1], distances.dtype)


@opsdk.op(
    "contrib::soft_dtw(Tensor distances, *, float > 0 gamma=1.0) -> Tensor y",
    infer=soft_dtw_infer,
)
def soft_dtw(distances, *, gamma):
    """-γ log Σ_A exp(-⟨A, D⟩ / γ) over all alignments A of two series (Cuturi and Blondel 2017, Soft-DTW, eq. 1).

    An alignment is a path from the first to the last element of D that steps down, right, or both; ⟨A, D⟩ is the sum of
    D along it. By the recursion R_ij = D_ij + min^γ(R_i-1,j-1, R_i-1,j, R_i,j-1) (algorithm 1).

    Args:
        distances: float array D (N, n, m): D[k, i, j] is how far element i of the one series of pair k is from element
            j of the other, such as a squared difference. Any real numbers.
        gamma: how smooth the minimum is, > 0; towards 0 the result goes to that of dynamic time warping.

    Returns y (N,), of the dtype of distances. With several paths it is less than the least of their sums, and may be
    negative.

    Raises ValueError: distances has other axes, a series of no elements, or gamma is not above 0.

    Gradient: with respect to distances, to order 2: the expected alignment E (algorithm 2), and by it the product with
    the Hessian (Mensch and Blondel 2018, Differentiable Dynamic Programming, algorithm 2), each in time n · m.
    """
    totals, _ = alignments(distances, gamma)
    return totals[:, -1, -1].astype(distances.dtype)


@soft_dtw.check
def soft_dtw_check(distances):
    if 0 in distances.shape[1:]:
        return f"distances expected a row and a column, got shape {distances.shape}; series have an element at least"
    if distances.dtype.name not in ("float32", "float64"):
        return f"distances expected float32 or float64, got {distances.dtype}; cast it"
    return None


@soft_dtw.backward
def soft_dtw_grad(distances, dy, gamma):
    _, weights = alignments(distances, gamma)
    return (dy[:, None, None] * expected(weights)).astype(distances.dtype)


@soft_dtw_grad.check
def soft_dtw_grad_check(distances, dy):
    wrong = soft_dtw_check(distances)
    return wrong or (None if dy.shape == distances.shape[:1] else misfit("dy", distances.shape[:1], dy))


@soft_dtw_grad.backward
def soft_dtw_grad_grad(distances, dy, dddistances, gamma):
    _, weights = alignments(distances, gamma)
    product = dy[:, None, None] * tangent(weights, dddistances, gamma)
    moved = (expected(weights) * dddistances).sum(axis=(1, 2))
    return product.astype(distances.dtype), moved.astype(dy.dtype)


@soft_dtw_grad_grad.check
def soft_dtw_grad_grad_check(distances, dy, dddistances):
    wrong = soft_dtw_grad_check(distances, dy)
    fits = dddistances.shape == distances.shape
    return wrong or (None if fits else misfit("dddistances", distances.shape, dddistances))


def misfit(name, shape, got):
    return f"{name} expected shape {shape} to fit distances, got {got.shape}"


# The three cells before (i, j) are (i-1, j-1), (i-1, j) and (i, j-1). In arrays with one row and column more than the
# distances, in front, cell (i, j) is at (i+1, j+1), and nothing asks where the edge is.


def before(i, j):
    return (i, j), (i, j + 1), (i + 1, j)


def alignments(distances, gamma):
    """Returns R with its edge, and the weights: of each cell, the probabilities that a path came from those before.

    In float64: derivatives of weights are differences of nearly equal numbers.
    """
    count, rows, columns = distances.shape
    totals = np.full((count, rows + 1, columns + 1), INF)
    totals[:, 0, 0] = 0
    weights = np.empty((count, rows, columns, 3))
    for i, j in np.ndindex(rows, columns):
        came = np.stack([totals[:, p, q] for p, q in before(i, j)], axis=-1)
        least = came.min(axis=-1, keepdims=True)
        mass = np.exp((least - came) / gamma)
        total = mass.sum(axis=-1, keepdims=True)
        weights[:, i, j] = mass / total
        soft = least - gamma * np.log(total)
        totals[:, i + 1, j + 1] = distances[:, i, j] + soft[:, 0]
    return totals, weights


def expected(weights):
    """Returns E: how likely each cell lies on the path, from the last cell back."""
    count, rows, columns, _ = weights.shape
    likely = np.zeros((count, rows + 1, columns + 1))
    likely[:, -1, -1] = 1
    for i, j in reversed(list(np.ndindex(rows, columns))):
        for k, (p, q) in enumerate(before(i, j)):
            likely[:, p, q] += weights[:, i, j, k] * likely[:, i + 1, j + 1]
    return likely[:, 1:, 1:]


def tangent(weights, direction, gamma):
    """Returns the derivative of E along a direction of the distances."""
    count, rows, columns, _ = weights.shape
    moved = np.zeros((count, rows + 1, columns + 1))  # of R
    turned = np.empty_like(weights)  # of the weights
    for i, j in np.ndindex(rows, columns):
        came = np.stack([moved[:, p, q] for p, q in before(i, j)], axis=-1)
        mean = (weights[:, i, j] * came).sum(axis=-1, keepdims=True)
        moved[:, i + 1, j + 1] = direction[:, i, j] + mean[:, 0]
        turned[:, i, j] = weights[:, i, j] * (mean - came) / gamma
    likely = np.zeros_like(moved)
    likely[:, -1, -1] = 1
    product = np.zeros_like(moved)
    for i, j in reversed(list(np.ndindex(rows, columns))):
        for k, (p, q) in enumerate(before(i, j)):
            w, here = weights[:, i, j, k], likely[:, i + 1, j + 1]
            likely[:, p, q] += w * here
            product[:, p, q] += w * product[:, i + 1, j + 1] + turned[:, i, j, k] * here
    return product[:, 1:, 1:]


@soft_dtw.samples
def soft_dtw_samples(rng):
    yield opsdk.Sample(rng.normal(size=(2, 2, 3)), reason="two pairs")
    yield opsdk.Sample(rng.uniform(size=(1, 3, 2)), gamma=0.1, reason="a sharp minimum")
    yield opsdk.Sample(rng.normal(size=(1, 1, 3)), gamma=10.0, reason="one row: a single path")
    yield opsdk.Sample(rng.normal(size=(2, 1, 1)), reason="a single cell")
    yield opsdk.Sample(1e4 + rng.normal(size=(1, 2, 2)), reason="exp(-D) would vanish")
    yield opsdk.Sample(np.zeros((1, 2, 2)), reason="ties")
    yield opsdk.Sample(np.zeros((0, 2, 3)), reason="no pairs")


@soft_dtw.bench
def soft_dtw_bench(rng, n):
    """Pairs of series of 48 numbers."""
    x, y = rng.normal(size=(2, max(1, n // 48**2), 48))
    return opsdk.Sample((x[:, :, None] - y[:, None]) ** 2)


for op, name in ((soft_dtw, "forward"), (soft_dtw_grad, "backward")):
    op.kernel("cpu", language="numba", source=f".soft_dtw_numba:{name}", parallel=True, contiguous=True)


def a_block_for_each_pair(distances):
    return distances.shape[0], 64


def table_of(shape):
    """Returns the spec of cells with a row and a column in front, for each pair."""
    return opsdk.TensorSpec((shape[0], shape[1] + 1, shape[2] + 1), "float64")


ROOM = {
    "totals": lambda distances: table_of(distances.shape),
    "weights": lambda distances: opsdk.TensorSpec((*distances.shape, 3), "float64"),
}
LIKELY = {"likely": lambda distances: opsdk.TensorSpec(distances.shape, "float64")}
for op, name, room in ((soft_dtw, "forward", ROOM), (soft_dtw_grad, "backward", ROOM | LIKELY)):
    source = f".soft_dtw_cuda:{name}"
    op.kernel("cuda", language="numba", source=source, launch=a_block_for_each_pair, scratch=room)
soft_dtw_grad_grad.kernel("cpu", language="numba", source=".soft_dtw_numba:backward_of_backward", contiguous=True)
