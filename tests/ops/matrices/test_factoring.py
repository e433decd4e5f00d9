"""Factors of matrices, held to NumPy's; gradients are verify's, and those of what has no signs."""

import numpy as np
import pytest

import opsdk
from opsdk import linalg, static
from opsdk.core.errors import AttributeValueError, GradientMissingError, InputValueError, ShapeError
from opsdk.ops.matrices import factoring

OPS = (factoring.half_lower, factoring.cholesky, factoring.eigh, factoring.svd, factoring.qr, factoring.pinv)
RNG = np.random.default_rng(3)
TALL, SQUARE = RNG.normal(size=(2, 4, 3)), RNG.normal(size=(2, 3, 3))
WIDE, RIGHT = TALL.swapaxes(1, 2), RNG.normal(size=(2, 3, 2))
EVEN = SQUARE @ SQUARE.swapaxes(1, 2) + np.eye(3)
COMPLEX = SQUARE + 1j * RNG.normal(size=SQUARE.shape)
HERMITIAN = COMPLEX @ COMPLEX.conj().swapaxes(1, 2) + np.eye(3)
LOWER, UPPER = np.tril(SQUARE) + 3 * np.eye(3), np.triu(SQUARE) + 3 * np.eye(3)


def near(made, wanted):
    np.testing.assert_allclose(np.asarray(made), wanted, rtol=1e-9, atol=1e-10)


@pytest.mark.slow  # all of verify for each op
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.__name__)
def test_each_op_passes(op):
    assert opsdk.verify(op).verdict == "pass"


@pytest.mark.parametrize("x", [EVEN, HERMITIAN, EVEN[0]])
def test_cholesky_is_numpys_and_looks_at_one_triangle(x):
    lower = np.linalg.cholesky(x)
    near(linalg.cholesky(x), lower)
    near(linalg.cholesky(np.tril(x)), lower)
    near(linalg.cholesky(np.triu(x), upper=True), lower.conj().swapaxes(-1, -2))
    near(linalg.cholesky_inverse(lower), np.linalg.inv(x))
    near(linalg.cholesky_inverse(linalg.cholesky(x, upper=True), upper=True), np.linalg.inv(x))


def test_a_factor_solves():
    lower = np.linalg.cholesky(EVEN)
    near(linalg.cholesky_solve(RIGHT, lower), np.linalg.solve(EVEN, RIGHT))
    near(linalg.cholesky_solve(RIGHT, lower.swapaxes(1, 2), upper=True), np.linalg.solve(EVEN, RIGHT))


@pytest.mark.parametrize("x", [EVEN, HERMITIAN])
def test_eigenvalues_are_numpys_and_vectors_make_the_matrix(x):
    values, vectors = linalg.eigh(x)
    near(values, np.linalg.eigvalsh(x))
    near(vectors * values[:, None] @ vectors.conj().swapaxes(1, 2), x)
    near(linalg.eigvalsh(np.triu(x), UPLO="U"), values)
    size = np.abs(vectors)
    first = np.argmax(size > size.max(1, keepdims=True) / 2, 1)[:, None]
    leading = np.take_along_axis(vectors, first, 1)
    assert (leading.real > 0).all()
    near(leading.imag, 0 * leading.real)
    assert linalg.eigh(x).eigenvalues.dtype == np.dtype("float64")


@pytest.mark.parametrize("x", [TALL, WIDE, SQUARE, COMPLEX])
def test_singular_values_are_numpys_and_vectors_make_the_matrix(x):
    u, s, vh = linalg.svd(x)
    near(s, np.linalg.svd(x, compute_uv=False))
    near(u * s[:, None] @ vh, x)
    near(u.conj().swapaxes(1, 2) @ u, np.broadcast_to(np.eye(s.shape[1]), (2, s.shape[1], s.shape[1])))
    near(linalg.svdvals(x), s)
    near(linalg.pinv(x), np.linalg.pinv(x))


@pytest.mark.parametrize("x", [TALL, WIDE, SQUARE, COMPLEX, TALL[0]])
def test_qr_is_numpys(x):
    wanted = [np.linalg.qr(each) for each in x.reshape(-1, *x.shape[-2:])]
    q, r = linalg.qr(x)
    near(q.reshape(-1, *q.shape[-2:]), [each[0] for each in wanted])
    near(r.reshape(-1, *r.shape[-2:]), [each[1] for each in wanted])
    near(linalg.qr(x, mode="r"), r)


@pytest.mark.parametrize("upper", [True, False])
def test_triangles_solve_from_both_sides(upper):
    x, shift = (UPPER, 1) if upper else (LOWER, -1)
    both, turned = SQUARE + 3 * np.eye(3), x.swapaxes(1, 2)
    ones = (np.triu if upper else np.tril)(SQUARE, shift) + np.eye(3)
    near(linalg.solve_triangular(both, RIGHT, upper=upper), np.linalg.solve(x, RIGHT))
    left = linalg.solve_triangular(both, RIGHT.swapaxes(1, 2), upper=upper, left=False)
    near(left, np.linalg.solve(turned, RIGHT).swapaxes(1, 2))
    near(linalg.solve_triangular(SQUARE, RIGHT, upper=upper, unitriangular=True), np.linalg.solve(ones, RIGHT))
    near(linalg.triangular_solve(both, RIGHT, upper), np.linalg.solve(x, RIGHT))
    near(linalg.triangular_solve(both, RIGHT, upper, transpose=True), np.linalg.solve(turned, RIGHT))


@pytest.mark.parametrize("x", [TALL, WIDE, np.array([[[1.0, 2.0], [2.0, 4.0], [0.0, 0.0]]])])
def test_least_squares_are_numpys(x):
    y = np.random.default_rng(1).normal(size=(*x.shape[:2], 2))
    made = linalg.lstsq(x, y)
    for i, each in enumerate(x):
        solution, _, rank, values = np.linalg.lstsq(each, y[i])
        near(made.solution[i], solution)
        near(made.residuals[i], ((y[i] - each @ solution) ** 2).sum(0))
        assert made.rank[i] == rank
        near(made.singular_values[i], values)


def test_ranks_and_condition_numbers_are_numpys():
    low = np.array([[1.0, 2.0], [2.0, 4.0 + 1e-9]])
    assert [linalg.matrix_rank(low).item(), linalg.matrix_rank(low, 1e-6).item()] == [2, 1]
    assert linalg.matrix_rank(opsdk.to_tensor(TALL)).tolist() == [3, 3]
    for p in (None, 2, -2, 1, -1, np.inf, -np.inf, "fro", "nuc"):
        near(linalg.cond(SQUARE, p), np.linalg.cond(SQUARE, p))


# By name a function of a tensor, without signs of its own, and NumPy's way.
SMOOTH = {
    "cholesky": (lambda x: linalg.cholesky(x @ x.mT + opsdk.eye(3, dtype="float64")), SQUARE, None),
    "eigh": (lambda x: linalg.eigvalsh(x + x.mT), SQUARE, lambda x: np.linalg.eigvalsh(x + x.swapaxes(1, 2))),
    "projections": (
        lambda x: (v := linalg.eigh(x + x.mT).eigenvectors[..., :1]) @ v.mT,
        SQUARE,
        lambda x: (v := np.linalg.eigh(x + x.swapaxes(1, 2))[1][..., :1]) @ v.swapaxes(1, 2),
    ),
    "svdvals": (linalg.svdvals, WIDE, lambda x: np.linalg.svd(x, compute_uv=False)),
    **{
        f"a pair of vectors, {name}": (
            lambda x: (f := linalg.svd(x)).U[..., :1] @ f.Vh[..., :1, :],
            at,
            lambda x: (f := np.linalg.svd(x, full_matrices=False))[0][..., :1] @ f[2][..., :1, :],
        )
        for name, at in (("tall", TALL), ("wide", WIDE))
    },
    "qr": (lambda x: linalg.qr(x).R, WIDE, lambda x: np.stack([np.linalg.qr(each)[1] for each in x])),
    "pinv": (linalg.pinv, TALL, np.linalg.pinv),
    "lstsq": (lambda x: linalg.lstsq(x, TALL).solution, TALL + 1, lambda x: np.linalg.pinv(x) @ TALL),
    "triangular": (
        lambda x: linalg.solve_triangular(x + 3 * opsdk.eye(3, dtype="float64"), RIGHT, upper=False),
        SQUARE,
        lambda x: np.linalg.solve(np.tril(x) + 3 * np.eye(3), RIGHT),
    ),
    "factor": (
        lambda x: linalg.cholesky_solve(RIGHT, x),
        LOWER,
        lambda x: np.linalg.solve(np.tril(x) @ np.tril(x).swapaxes(1, 2), RIGHT),
    ),
    "cond": (linalg.cond, SQUARE, np.linalg.cond),
}
SMOOTH["cholesky"] = (*SMOOTH["cholesky"][:2], lambda x: np.linalg.cholesky(x @ x.swapaxes(1, 2) + np.eye(3)))


@pytest.mark.parametrize(("ours", "at", "numpys"), SMOOTH.values(), ids=SMOOTH)
def test_a_gradient_is_the_slope_that_numpy_gives(ours, at, numpys):
    x = opsdk.to_tensor(at, stop_gradient=False)
    made = ours(x)
    weights = np.cos(np.arange(made.size)).reshape(made.shape)
    (made * weights).sum().backward()
    direction = np.sin(np.arange(at.size) + 1.0).reshape(at.shape)
    slope = ((numpys(at + 1e-6 * direction) - numpys(at - 1e-6 * direction)) * weights).sum() / 2e-6
    np.testing.assert_allclose((x.grad.numpy() * direction).sum(), slope, rtol=1e-6, atol=1e-8)


def test_equal_values_have_a_gradient_where_nobody_asks_for_their_vectors():
    x = opsdk.to_tensor(np.eye(3), stop_gradient=False)
    (linalg.eigvalsh(x).sum() + linalg.svdvals(x).sum()).backward()
    near(x.grad.numpy(), 2 * np.eye(3))


@pytest.mark.parametrize("name", ["cholesky", "eigvalsh", "svdvals", "pinv", "qr"])
def test_a_program_gives_the_bits_of_arrays_and_16_bits_are_computed_in_32(name):
    function = getattr(linalg, name)
    program = static.Program()
    with static.program_guard(program, static.Program()):
        made = function(static.data("x", [2, 3, 3], "float64"))
    made = made if isinstance(made, tuple) else (made,)
    got = static.Executor().run(program, feed={"x": EVEN}, fetch_list=list(made))
    wanted = function(EVEN)
    for ours, theirs in zip(got, wanted if isinstance(wanted, tuple) else (wanted,), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    small = function(EVEN.astype("float16"))
    first = small[0] if isinstance(small, tuple) else small
    assert first.dtype == np.dtype("float16")


def test_pytorchs_words_are_taken():
    near(linalg.eigh(A=EVEN).eigenvalues, linalg.eigvalsh(EVEN))
    near(linalg.solve_triangular(A=LOWER, B=RIGHT, upper=False), np.linalg.solve(LOWER, RIGHT))


WRONG = {
    "op 'opsdk::cholesky': x expected positive definite matrices, got another": (
        InputValueError,
        lambda: linalg.cholesky(-np.eye(2)),
    ),
    "op 'opsdk::svd': x expected finite numbers, got nan or inf": (
        InputValueError,
        lambda: linalg.svdvals(np.full((2, 2), np.nan)),
    ),
    "op 'opsdk::eigh': x expected square matrices, got shape (2, 3)": (
        ShapeError,
        lambda: linalg.eigh(np.ones((2, 3))),
    ),
    "op 'opsdk::qr': x expected as many rows as columns or more, got shape (2, 3, 4)": (
        ShapeError,
        lambda: factoring.qr(WIDE),
    ),
    "op 'opsdk::pinv': x expected matrices, got shape (3,)": (ShapeError, lambda: factoring.pinv(WIDE[0, :, 0])),
    "svd: x expected at least 2 axes": (ShapeError, lambda: linalg.svd(np.ones(3))),
    "svd: full_matrices expected False, got True": (AttributeValueError, lambda: linalg.svd(SQUARE, True)),
    "qr: mode expected 'reduced' or 'r', got 'complete'": (AttributeValueError, lambda: linalg.qr(SQUARE, "complete")),
    "eigh: UPLO expected 'L' or 'U', got 'A'": (AttributeValueError, lambda: linalg.eigvalsh(EVEN, "A")),
    "cond: p expected 2, -2, 'fro', 'nuc', 1, -1, inf or -inf, got 3": (
        AttributeValueError,
        lambda: linalg.cond(SQUARE, 3),
    ),
}


@pytest.mark.parametrize(("text", "kind", "call"), [(text, *each) for text, each in WRONG.items()], ids=WRONG)
def test_what_is_wrong_is_said_by_name(text, kind, call):
    with pytest.raises(kind) as caught:
        call()
    assert text in str(caught.value)


def test_the_derivative_of_complex_matrices_is_refused_by_name():
    x = opsdk.to_tensor(HERMITIAN, stop_gradient=False)
    with pytest.raises(GradientMissingError, match="op 'opsdk::eigh': expected real tensors"):
        linalg.eigvalsh(x).sum().backward()
