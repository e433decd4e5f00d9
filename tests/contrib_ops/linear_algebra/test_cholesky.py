import numpy as np
import pytest

import opsdk
from contrib_ops.linear_algebra.cholesky import cholesky, unfactored
from opsdk.core.errors import OpsdkError
from opsdk.verify.kernels.launch import launch

pytest.importorskip("cffi")


def positive(rng, *shape):
    x = rng.normal(size=shape)
    return x @ np.swapaxes(x, -1, -2) + shape[-1] * np.eye(shape[-1])


def c_row(op, dtype):
    return next(row for row in op.opdef.kernels if row.language == "c" and row.key.dtype == dtype)


# 6 and 16 or 32 are sides of a tile, 32 of a triangle that is not halved, 96 or 256 of a block of the gradient; the
# depth of a panel is 256: sizes on both sides of each
@pytest.mark.parametrize("n", [1, 2, 5, 6, 7, 16, 17, 31, 32, 33, 63, 65, 95, 97, 130, 300, 400])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_c_row_gives_lapacks_factor_and_murrays_gradient(rng, n, dtype):
    A, dL = positive(rng, 2, n, n), rng.normal(size=(2, n, n))
    L = np.linalg.cholesky(A)
    inverse = np.linalg.inv(L)
    inner = np.tril(np.swapaxes(L, -1, -2) @ np.tril(dL))
    inner -= 0.5 * np.eye(n) * inner
    dA = np.swapaxes(inverse, -1, -2) @ inner @ inverse
    dA = (dA + np.swapaxes(dA, -1, -2)) / 2
    tolerance = 2e-4 if dtype == "float32" else 1e-11
    (got,) = launch(cholesky.opdef, c_row(cholesky, dtype), [A.astype(dtype)], {})
    np.testing.assert_allclose(got, L, rtol=tolerance, atol=tolerance * np.abs(L).max())
    assert not np.triu(got, 1).any()
    gradient = cholesky.grad
    given = {"A_spec": opsdk.TensorSpec(A.shape, dtype)}
    (got,) = launch(gradient.opdef, c_row(gradient, dtype), [L.astype(dtype), dL.astype(dtype)], given)
    np.testing.assert_allclose(got, dA, rtol=tolerance, atol=tolerance * np.abs(dA).max())


def test_first_and_second_derivatives_are_those_of_torch(rng):
    torch = pytest.importorskip("torch")
    A, dL, direction = positive(rng, 3, 4, 4), rng.normal(size=(3, 4, 4)), rng.normal(size=(3, 4, 4))
    x, y = torch.tensor(A, requires_grad=True), opsdk.to_tensor(A, stop_gradient=False)
    weights = torch.tensor(dL, requires_grad=True)
    their_factor = torch.linalg.cholesky((x + x.mT) / 2)
    (theirs,) = torch.autograd.grad(their_factor, x, weights, create_graph=True)
    their_second = torch.autograd.grad(theirs, [x, weights], torch.tensor(direction))

    ours_weights = opsdk.to_tensor(dL, stop_gradient=False)
    (ours,) = opsdk.grad(cholesky(y), y, ours_weights, create_graph=True)
    second = opsdk.grad(ours, [y, ours_weights], opsdk.to_tensor(direction))
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.numpy(), np.swapaxes(ours.numpy(), -1, -2))
    for got, want in zip(second, their_second, strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-8, atol=1e-11)


def test_the_lower_triangle_alone_is_looked_at_by_every_row(rng):
    A, noise = positive(rng, 40, 40), np.triu(rng.normal(size=(40, 40)), 1)
    for row in cholesky.opdef.kernels:
        if row.key.dtype in (None, np.float64):
            (got,) = launch(cholesky.opdef, row, [A + noise], {})
            np.testing.assert_allclose(got, np.linalg.cholesky(A), rtol=1e-11, atol=1e-12)


def test_strides_and_leading_axes_make_no_difference(rng):
    A = positive(rng, 2, 3, 4, 4)
    want = np.linalg.cholesky(A)
    np.testing.assert_allclose(cholesky(np.asfortranarray(A)), want, rtol=1e-12)
    np.testing.assert_allclose(cholesky(A[:, ::2]), want[:, ::2], rtol=1e-12)


def test_the_upper_triangle_of_what_the_gradient_is_given_has_no_say(rng):
    L, dL, noise = np.linalg.cholesky(positive(rng, 5, 5)), rng.normal(size=(5, 5)), np.triu(rng.normal(size=(5, 5)), 1)
    for row in cholesky.grad.opdef.kernels:
        if row.key.dtype in (None, np.float64):
            (clean,) = launch(cholesky.grad.opdef, row, [L, np.tril(dL)], {"A_spec": opsdk.TensorSpec.of(L)})
            (noisy,) = launch(cholesky.grad.opdef, row, [L + noise, dL], {"A_spec": opsdk.TensorSpec.of(L)})
            np.testing.assert_allclose(noisy, clean, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("wrong", [-np.eye(3), np.zeros((3, 3)), np.diag([1.0, np.nan, 1.0]), np.diag([1, 1, -1e-3])])
def test_the_first_matrix_without_a_factor_is_named_by_every_row(rng, wrong):
    A = np.stack([np.eye(3), np.eye(3), wrong, -np.eye(3)])
    for row in cholesky.opdef.kernels:
        if row.key.dtype in (None, np.float64) and not np.isnan(wrong).any():
            with pytest.raises(OpsdkError, match=r"op 'contrib::cholesky'.*A\[2\] expected positive definite, got a"):
                launch(cholesky.opdef, row, [A], {})
    with pytest.raises(OpsdkError, match=r"A\[2\] expected positive definite, got a matrix that is not; add to its"):
        cholesky(A)


@pytest.mark.parametrize(
    ("A", "message"),
    [
        (np.ones(3), r"op 'contrib::cholesky'.* A expected shape \(…, n, n\), got \(3,\)"),
        (np.ones((3, 2)), r"op 'contrib::cholesky'.* A expected shape \(…, n, n\), got \(3, 2\)"),
        (np.eye(3, dtype=int), "A expected float32 or float64, got int64; cast it"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(A, message):
    with pytest.raises(ValueError, match=message):
        cholesky(A)


def test_gradient_ops_refuse_cotangents_of_another_shape():
    with pytest.raises(ValueError, match=r"dL expected shape \(3, 3\) like L, got \(2, 2\)"):
        cholesky.grad(np.eye(3), np.eye(2))
    cholesky.grad.grad(np.eye(3), np.eye(3), np.eye(3))  # a first call of a kind is in the SDK's hands
    with pytest.raises(ValueError, match=r"ddA expected shape \(3, 3\) like L, got \(2, 2\)"):
        cholesky.grad.grad(np.eye(3), np.eye(3), np.eye(2))


def test_the_message_about_the_first_matrix_without_a_factor_is_asked_for_where_one_has_none():
    with pytest.raises(AssertionError, match="no matrix fails alone"):
        unfactored(np.eye(2))
