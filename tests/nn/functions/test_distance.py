import numpy as np
import pytest

from opsdk import errors
from opsdk.nn import functional as F
from tests.nn.in_runtimes import check

X = np.array([[3.0, 4.0, 0.5], [1.0, -2.0, 2.0]])
Y = np.array([[1.0, 0.2, -1.0], [0.3, 0.4, 1.2]])
W = np.sin(np.arange(18.0)).reshape(2, 3, 3)


def lengths(x, p=2, axis=-1, keepdims=False):
    return (abs(x) ** p).sum(axis, keepdims=keepdims) ** (1 / p)


CASES = {
    "normalize": (lambda x: F.normalize(x), [X], X / lengths(X, keepdims=True)),
    "normalize, of another norm": (lambda x: F.normalize(x, p=3, dim=0), [X], X / lengths(X, 3, 0, True)),
    "normalize, of little": (lambda x: F.normalize(x * 1e-3, eps=2.0), [X], X * 1e-3 / 2),
    "cosine_similarity": (
        lambda x, y: F.cosine_similarity(x, y),
        [X, Y],
        (X * Y).sum(1) / lengths(X) / lengths(Y),
    ),
    "cosine_similarity, of little": (
        lambda x, y: F.cosine_similarity(x, y, dim=0, eps=100.0),
        [X, Y],
        (X * Y).sum(0) / 100,
    ),
    "pairwise_distance": (
        lambda x, y: F.pairwise_distance(x, y, p=3, keepdim=True),
        [X, Y],
        lengths(X - Y + 1e-6, 3, -1, True),
    ),
    "pdist": (lambda x: F.pdist(x, 1.0), [np.vstack([X, Y[:1]])], [9.5, 7.3, 5.2]),
    "bilinear": (
        lambda x, y, w, b: F.bilinear(x, y, w, b),
        [X, Y, W, np.array([1.0, 2.0])],
        np.einsum("ni,oij,nj->no", X, W, Y) + np.array([1, 2]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_each_is_its_formula_in_every_runtime(name):
    check(*CASES[name])


def test_lengths_whose_squared_product_overflows_have_an_angle():
    x, y = np.array([[3e14, 4e14]], np.float32), np.array([[1e14, 0.0]], np.float32)
    assert F.cosine_similarity(x, y).tolist() == pytest.approx([0.6])


def test_points_are_rows_of_a_matrix():
    with pytest.raises(errors.ShapeError, match=r"pdist: x expected 2 axes, \(points, size\), got shape \(3,\)"):
        F.pdist(np.ones(3))
