"""Functions that are made of several ops, beside NumPy's."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, ShapeError

X = np.array([[[0.5, -1.5, 2.0], [3.0, 0.25, -0.5]], [[1.0, 4.0, -2.0], [0.75, -3.0, 1.25]]])
M = X[0]
SQUARE = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.5], [1.0, 4.0, -2.0]])
# What each function gives of X, or of what is named, and NumPy's way to say it.
SAID = {
    "prod": (lambda x: opsdk.prod(x, [0, 2]), lambda x: np.prod(x, (0, 2))),
    "prod, kept": (lambda x: opsdk.prod(x, 1, keepdim=True), lambda x: np.prod(x, 1, keepdims=True)),
    "cumprod": (lambda x: opsdk.cumprod(x, -1), lambda x: np.cumprod(x, -1)),
    "cumprod of all": (lambda x: opsdk.cumprod(x), lambda x: np.cumprod(x)),
    "var": (lambda x: opsdk.var(x, 1), lambda x: np.var(x, 1, ddof=1)),
    "var, biased": (lambda x: opsdk.var(x, [0, 1], False, True), lambda x: np.var(x, (0, 1), keepdims=True)),
    "std of all": (lambda x: opsdk.std(x), lambda x: np.std(x, ddof=1)),
    "norm": (lambda x: opsdk.norm(x), lambda x: np.linalg.norm(x.ravel())),
    "norm, 1": (lambda x: opsdk.norm(x, 1, 2), lambda x: np.abs(x).sum(2)),
    "norm, 3": (lambda x: opsdk.norm(x, 3, 2, True), lambda x: np.linalg.norm(x, 3, 2, keepdims=True)),
    "norm, inf": (lambda x: opsdk.norm(x, np.inf, 1), lambda x: np.abs(x).max(1)),
    "norm, -inf": (lambda x: opsdk.norm(x, -np.inf, 1), lambda x: np.abs(x).min(1)),
    "flip": (lambda x: opsdk.flip(x, [0, -1]), lambda x: np.flip(x, (0, -1))),
    "roll": (lambda x: opsdk.roll(x, [1, -2], [0, 2]), lambda x: np.roll(x, (1, -2), (0, 2))),
    "roll, axes in any order": (lambda x: opsdk.roll(x, [1, 2], [-1, 0]), lambda x: np.roll(x, (1, 2), (-1, 0))),
    "roll of all": (lambda x: opsdk.roll(x, 5), lambda x: np.roll(x, 5)),
    "tile": (lambda x: opsdk.tile(x, [2, 3]), lambda x: np.tile(x, (2, 3))),
    "tile, new axes": (lambda x: opsdk.tile(x, [2, 1, 1, 2]), lambda x: np.tile(x, (2, 1, 1, 2))),
    "repeat_interleave": (lambda x: opsdk.repeat_interleave(x, 2, 1), lambda x: np.repeat(x, 2, 1)),
    "repeat_interleave of all": (lambda x: opsdk.repeat_interleave(x, 3), lambda x: np.repeat(x, 3)),
    "moveaxis": (lambda x: opsdk.moveaxis(x, [0, 1], [-1, 0]), lambda x: np.moveaxis(x, (0, 1), (-1, 0))),
    "moveaxis, back": (lambda x: opsdk.moveaxis(x, [2, 0], [0, 1]), lambda x: np.moveaxis(x, (2, 0), (0, 1))),
    "swapaxes": (lambda x: opsdk.swapaxes(x, 0, -1), lambda x: np.swapaxes(x, 0, -1)),
    "diagonal": (lambda x: opsdk.diagonal(x, 1, 1, 2), lambda x: np.diagonal(x, 1, 1, 2)),
    "diagonal, below": (lambda x: opsdk.diagonal(x, -1, 2, 0), lambda x: np.diagonal(x, -1, 2, 0)),
    "diagonal, beyond": (lambda x: opsdk.diagonal(x, 7), lambda x: np.diagonal(x, 7)),
    "trace": (lambda x: opsdk.trace(x, 0, 1, 2), lambda x: np.trace(x, 0, 1, 2)),
    "tril": (lambda x: opsdk.tril(x, 1), lambda x: np.tril(x, 1)),
    "triu": (lambda x: opsdk.triu(x, -1), lambda x: np.triu(x, -1)),
    "broadcast_to": (lambda x: opsdk.broadcast_to(x, [3, 2, 2, 3]), lambda x: np.broadcast_to(x, (3, 2, 2, 3))),
    "masked_fill": (lambda x: opsdk.masked_fill(x, X > 0, -1.0), lambda x: np.where(X > 0, -1.0, x)),
    "lerp": (lambda x: opsdk.lerp(x, X + 1, 0.25), lambda x: x + 0.25),
    "outer": (lambda x: opsdk.outer(x, M), lambda x: np.outer(x, M)),
    "dot": (lambda x: opsdk.dot(x, X), lambda x: (x * X).sum(-1)),
    "bmm": (lambda x: opsdk.bmm(x, X.transpose(0, 2, 1)), lambda x: x @ X.transpose(0, 2, 1)),
    "add_n": (lambda x: opsdk.add_n([x, x]), lambda x: x + x),
    "argmin": (lambda x: opsdk.argmin(x, 1), lambda x: np.argmin(x, 1)),
    "all": (lambda x: opsdk.all(x > -2, 2), lambda x: np.all(x > -2, 2)),
    "any": (lambda x: opsdk.any(x > 2, [0, 2], keepdim=True), lambda x: np.any(x > 2, (0, 2), keepdims=True)),
}


@pytest.mark.parametrize(("ours", "numpys"), SAID.values(), ids=SAID)
def test_arrays_and_tensors_give_what_numpy_gives(ours, numpys):
    np.testing.assert_allclose(np.asarray(ours(X)), numpys(X), rtol=1e-12)
    made = ours(opsdk.to_tensor(X))
    assert isinstance(made, opsdk.Tensor)
    np.testing.assert_allclose(made.numpy(), numpys(X), rtol=1e-12)


def test_of_matrices_and_vectors_too():
    for offset in (-1, 0, 2):
        np.testing.assert_array_equal(opsdk.diag(M[0], offset), np.diag(M[0], offset))
        np.testing.assert_array_equal(opsdk.diag(SQUARE, offset), np.diag(SQUARE, offset))
    np.testing.assert_array_equal(opsdk.diag(M[0], 1, padding_value=7.0)[:2], [[7, 0.5, 7, 7], [7, 7, -1.5, 7]])
    np.testing.assert_allclose(opsdk.mm(M, SQUARE), M @ SQUARE)
    np.testing.assert_allclose(opsdk.mv(SQUARE, M[0]), SQUARE @ M[0])
    np.testing.assert_array_equal(opsdk.t(M), M.T)
    np.testing.assert_array_equal(opsdk.t(M[0]), M[0])


def test_pieces_are_those_of_numpy_and_of_paddle():
    x = opsdk.to_tensor(np.arange(10.0).reshape(5, 2))
    assert [piece.shape for piece in opsdk.chunk(x, 2)] == [[3, 2], [2, 2]]
    assert [piece.shape for piece in x.chunk(4, axis=0)] == [[2, 2], [2, 2], [1, 2]]
    assert [piece.tolist() for piece in opsdk.unbind(x, 1)] == [[0, 2, 4, 6, 8], [1, 3, 5, 7, 9]]


def test_closeness_is_that_of_numpy():
    left = np.array([1.0, 1.0, np.nan, np.inf, np.inf, 0.0, 1e-9])
    right = np.array([1.0 + 1e-6, 1.1, np.nan, np.inf, -np.inf, -0.0, 0.0])
    for equal_nan in (False, True):
        wanted = np.isclose(left, right, equal_nan=equal_nan)
        np.testing.assert_array_equal(opsdk.isclose(left, right, equal_nan=equal_nan), wanted)
    assert bool(opsdk.to_tensor(X).allclose(X + 1e-9))
    assert not bool(opsdk.allclose(X, X + 1.0))


def test_closeness_of_two_dtypes_loses_nothing_of_the_finer():
    assert opsdk.isclose(np.float32([1.0]), np.array([1.0 + 1e-9]), 0, 0).tolist() == [False]
    assert opsdk.isclose(np.array([1.0]), np.array([1.0 + 5j])).tolist() == [False]


def test_values_of_two_shapes_are_not_equal():
    assert bool(opsdk.equal_all(X, X.copy()))
    assert not bool(opsdk.equal_all(X, X + 1))
    assert not bool(opsdk.equal_all(np.zeros(0), np.zeros((0, 2))))


def test_gradients_go_back_where_elements_came_from():
    x = opsdk.to_tensor(X, stop_gradient=False)
    weights = np.arange(12.0).reshape(2, 2, 3)
    (opsdk.roll(opsdk.flip(x, 2), 1, 0) * weights).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.flip(np.roll(weights, -1, 0), 2))


@pytest.mark.parametrize("name", ["flip", "roll", "tile", "moveaxis", "prod", "norm", "std"])
def test_a_program_gives_the_bits_of_arrays(name):
    ours = SAID.get(name, SAID.get("std of all"))[0]
    program = static.Program()
    with static.program_guard(program, static.Program()):
        made = ours(static.data("x", [2, 2, 3], "float64"))
    (got,) = static.Executor().run(program, feed={"x": X}, fetch_list=[made])
    np.testing.assert_array_equal(got, np.asarray(ours(X)))


REFUSED = {
    "norm: p expected a number or 'fro', got 'nuc'": (AttributeValueError, lambda: opsdk.norm(X, "nuc")),
    "mm: input expected 2 axes, got shape (2, 2, 3)": (ShapeError, lambda: opsdk.mm(X, M)),
    "diag: x expected 1 axes, got shape (2, 2, 3)": (ShapeError, lambda: opsdk.diag(X)),
    "t: input expected at most 2 axes, got shape (2, 2, 3); use transpose": (ShapeError, lambda: opsdk.t(X)),
    "diagonal: expected two axes, got axis1=1 and axis2=-2 of 3": (ShapeError, lambda: opsdk.diagonal(X, 0, 1, -2)),
    "tril: x expected at least 2 axes, got shape (3,)": (ShapeError, lambda: opsdk.tril(M[0])),
    "roll: expected a shift for each of 2 axes, got 1": (ShapeError, lambda: opsdk.roll(X, [1], [0, 1])),
    "chunk: chunks expected a number > 0, got 0": (ShapeError, lambda: opsdk.chunk(X, 0)),
    "moveaxis: expected a place for each of 2 axes, got 1": (ShapeError, lambda: opsdk.moveaxis(X, [0, 1], [2])),
}


@pytest.mark.parametrize(("message", "refused"), REFUSED.items(), ids=REFUSED)
def test_what_has_no_meaning_is_refused(message, refused):
    error, call = refused
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value).startswith(message)


def test_a_size_that_only_a_run_can_tell_is_refused_by_name():
    with static.program_guard(static.Program(), static.Program()):
        x = static.data("x", [None, 3], "float64")
        with pytest.raises(Exception, match="tile"):
            opsdk.tile(x, [2, 1])
        assert opsdk.flip(x, 1).shape[1] == 3
