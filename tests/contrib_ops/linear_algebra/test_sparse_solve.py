import numpy as np
import pytest

import opsdk
from contrib_ops.linear_algebra import sparse_solve
from opsdk import errors

linalg = pytest.importorskip("scipy.sparse.linalg")

# A = [[4, 1, 0], [0, 2, 1], [3, 0, 5]]
DATA, INDICES, INDPTR = np.array([4.0, 1, 2, 1, 3, 5]), np.array([0, 1, 1, 2, 0, 2]), np.array([0, 2, 4, 6])
A = np.array([[4.0, 1, 0], [0, 2, 1], [3, 0, 5]])
B = np.array([9.0, 7, 18])  # A⁻¹ B = [2 - 11/43, ...]


@pytest.fixture
def count(monkeypatch):
    """Counts factorisations."""
    made = []

    def counted(matrix, real=linalg.splu):
        made.append(matrix.shape)
        return real(matrix)

    monkeypatch.setattr(linalg, "splu", counted)
    return made


def tensors():
    return opsdk.to_tensor(DATA, stop_gradient=False), opsdk.to_tensor(B, stop_gradient=False)


@pytest.mark.parametrize("b", [B, np.stack([B, -2 * B], axis=1)])
def test_it_solves_as_a_dense_solver_does(b):
    np.testing.assert_allclose(sparse_solve(DATA, INDICES, INDPTR, b), np.linalg.solve(A, b), rtol=1e-13)


def test_the_backward_costs_no_second_factorisation(count):
    data, b = tensors()
    sparse_solve(data, INDICES, INDPTR, b).sum().backward()
    assert count == [(3, 3)]
    w = np.linalg.solve(A.T, np.ones(3))
    np.testing.assert_allclose(b.grad.numpy(), w, rtol=1e-13)
    rows = np.array([0, 0, 1, 1, 2, 2])
    np.testing.assert_allclose(data.grad.numpy(), -w[rows] * np.linalg.solve(A, B)[INDICES], rtol=1e-13)


def test_nor_does_it_in_a_program_nor_at_the_second_order(count):
    data, b = tensors()
    (first,) = opsdk.grad(sparse_solve(data, INDICES, INDPTR, b).sum(), data, create_graph=True)
    (found,) = opsdk.grad((first * first).sum(), b)
    assert count == [(3, 3)]
    w, dense = np.linalg.solve(A.T, np.ones(3)), np.linalg.inv(A)
    jacobian = -w[[0, 0, 1, 1, 2, 2], None] * dense[INDICES]  # of first in b
    np.testing.assert_allclose(found.numpy(), 2 * first.numpy() @ jacobian, rtol=1e-12)
    static = opsdk.static
    program = static.Program()
    with static.program_guard(program, static.Program()):
        b = static.data("b", [None], "float64")
        b.stop_gradient = False
        (db,) = static.gradients(sparse_solve(DATA, INDICES, INDPTR, b), [b])
    count.clear()
    (made,) = static.Executor().run(program, feed={"b": B}, fetch_list=[db], scope=static.Scope())
    np.testing.assert_allclose(made, w, rtol=1e-13)
    assert count == [(3, 3)]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"indptr": np.array([0, 2, 4])}, r"b expected shape \(2,\) or \(2, k\), got \(3,\)"),
        ({"indptr": np.array([0, 4, 2, 6])}, "indptr expected to rise from 0 to 6"),
        ({"indices": INDICES + 1}, r"indices expected in \[0, 3\), got 1 to 3"),
        ({"indices": np.array([1, 0, 1, 2, 0, 2])}, "indices expected to ascend within a row, each column once"),
        ({"indices": INDICES[:2]}, "data and indices expected of one shape"),
        ({"b": B.astype(np.float32)}, "data and b expected both float32 or both float64, got float64 and float32"),
        ({"data": np.array([4.0, 2, 2, 1, 0, 0])}, "A expected to be regular, got a singular matrix"),
    ],
)
def test_what_is_no_system_is_refused(changed, words):
    given = {"data": DATA, "indices": INDICES, "indptr": INDPTR, "b": B} | changed
    with pytest.raises(ValueError, match=words):
        sparse_solve(**given)


def test_without_scipy_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "scipy.sparse.linalg", None)
    with pytest.raises(
        errors.MissingDependencyError, match=r'needs SciPy, not installed: pip install "opsdk\[scipy\]"'
    ):
        sparse_solve(DATA, INDICES, INDPTR, B)
