import numpy as np
import pytest

import opsdk
from contrib_ops.linear_algebra.eigh import eigh
from opsdk.core.errors import InputValueError
from opsdk.verify.kernels.launch import launch

pytest.importorskip("cffi")


def symmetric(rng, *shape):
    x = rng.normal(size=shape)
    return x + np.swapaxes(x, -1, -2)


def signed(vectors):
    """Gives vectors whose first element of more than half the greatest magnitude is positive, one by one."""
    made = vectors.copy()
    for vector in np.swapaxes(made, -1, -2).reshape(-1, made.shape[-1]):
        size = np.abs(vector)
        if vector[np.flatnonzero(size > size.max() / 2)[0]] < 0:
            vector *= -1
    return made


@pytest.mark.parametrize("n", [1, 2, 3, 8, 33])
def test_every_kernel_gives_lapacks_values_and_its_vectors_with_the_sign_that_is_promised(rng, n):
    A = symmetric(rng, 3, n, n) + np.diag(4.0 * np.arange(n))  # no two values near to each other
    values, vectors = np.linalg.eigh(A)
    expected = np.stack([signed(v) for v in vectors])
    for kernel in eigh.opdef.kernels:
        dtype = kernel.key.dtype or np.float64
        tolerance = 2e-3 if dtype == np.float32 else 1e-9
        got_values, got_vectors = launch(eigh.opdef, kernel, [A.astype(dtype)], {})
        np.testing.assert_allclose(got_values, values, rtol=0, atol=tolerance * 1e-2 * n)
        np.testing.assert_allclose(got_vectors, expected, rtol=0, atol=tolerance)


def test_equal_elements_of_a_vector_take_the_sign_of_the_first(rng):
    for kernel in eigh.opdef.kernels:
        if kernel.key.dtype in (None, np.float64):
            _, vectors = launch(eigh.opdef, kernel, [np.array([[2.0, 1.0], [1.0, 2.0]])], {})
            np.testing.assert_allclose(vectors, np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2), rtol=1e-14)


def test_the_lower_triangle_alone_is_looked_at_by_every_kernel(rng):
    A, noise = symmetric(rng, 5, 5), np.triu(rng.normal(size=(5, 5)), 1)
    for kernel in eigh.opdef.kernels:
        if kernel.key.dtype in (None, np.float64):
            values, _ = launch(eigh.opdef, kernel, [A + noise], {})
            np.testing.assert_allclose(values, np.linalg.eigvalsh(A), rtol=1e-12, atol=1e-13)


def test_first_and_second_derivatives_are_those_of_torch(rng):
    torch = pytest.importorskip("torch")
    A, dw, dV = symmetric(rng, 2, 4, 4), rng.normal(size=(2, 4)), rng.normal(size=(2, 4, 4))
    direction = symmetric(rng, 2, 4, 4)
    x = torch.tensor(A, requires_grad=True)
    their_values, their_vectors = torch.linalg.eigh((x + x.mT) / 2)
    signs = torch.tensor(
        np.sign(np.sum(signed(their_vectors.detach().numpy()) * their_vectors.detach().numpy(), axis=-2))
    )
    their_vectors = their_vectors * signs.unsqueeze(-2)
    loss = (their_values * torch.tensor(dw)).sum() + (their_vectors * torch.tensor(dV)).sum()
    (theirs,) = torch.autograd.grad(loss, x, create_graph=True)
    (their_second,) = torch.autograd.grad(theirs, x, torch.tensor(direction))

    y = opsdk.to_tensor(A, stop_gradient=False)
    values, vectors = eigh(y)
    (ours,) = opsdk.grad((values * dw).sum() + (vectors * dV).sum(), y, create_graph=True)
    (second,) = opsdk.grad(ours, y, opsdk.to_tensor(direction))
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-11)
    half = (second.numpy() + np.swapaxes(second.numpy(), -1, -2)) / 2  # of a symmetric matrix that part alone counts
    np.testing.assert_allclose(half, their_second.numpy(), rtol=1e-8, atol=1e-9)


def test_equal_eigenvalues_give_a_gradient_where_it_does_not_ask_for_single_vectors():
    """The sum of all eigenvalues is the trace, whose gradient is the unit matrix; a single vector has none."""
    A = np.diag([1.0, 1.0, 2.0])
    y = opsdk.to_tensor(A, stop_gradient=False)
    values, vectors = eigh(y)
    (trace,) = opsdk.grad(values.sum(), y, retain_graph=True)
    np.testing.assert_allclose(trace.numpy(), np.eye(3), rtol=0, atol=1e-15)
    with np.errstate(divide="ignore", invalid="ignore"):
        (gradient,) = opsdk.grad((vectors * np.arange(9.0).reshape(3, 3)).sum(), y)
    assert not np.isfinite(gradient.numpy()).all()


@pytest.mark.parametrize("place", [(0, 0), (2, 1)])
def test_what_is_not_finite_is_refused_by_every_kernel(place):
    A = np.zeros((2, 3, 3))
    A[1][place] = np.nan
    for kernel in eigh.opdef.kernels:
        if kernel.key.dtype in (None, np.float64):
            with pytest.raises(InputValueError, match="op 'contrib::eigh': A expected finite numbers, got nan or inf"):
                launch(eigh.opdef, kernel, [A], {})


def test_the_upper_triangle_is_not_looked_at():
    A = np.array([[2.0, np.nan], [1.0, 2.0]])
    for kernel in eigh.opdef.kernels:
        if kernel.key.dtype in (None, np.float64):
            np.testing.assert_allclose(launch(eigh.opdef, kernel, [A], {})[0], [1.0, 3.0], rtol=1e-14)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.ones(3), r"op 'contrib::eigh'.* A expected shape \(…, n, n\), got \(3,\)"),
        (np.ones((3, 2)), r"op 'contrib::eigh'.* A expected shape \(…, n, n\), got \(3, 2\)"),
        (np.eye(3, dtype=int), "A expected float32 or float64, got int64; cast it"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(A, message):
    with pytest.raises(ValueError, match=message):
        eigh(A)
