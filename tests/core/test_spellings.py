"""PyTorch's and NumPy's keywords, and what only PyTorch spells so."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError
from opsdk.core.spellings import renamed

X = np.array([[3.0, 1.0, 2.0], [0.5, 4.0, 4.0]])
PLACES = np.array([[2, 0], [1, 1]])
# By what is written: the call, and the call in the words of this project or NumPy.
WRITTEN = {
    "dim of a sum": (lambda x: x.sum(dim=1), X.sum(1)),
    "keepdims": (lambda x: opsdk.mean(x, dim=(0, 1), keepdims=True), X.mean(keepdims=True)),
    "input and other": (lambda x: opsdk.add(input=x, other=2.0), X + 2),
    "other of a method": (lambda x: x.eq(other=4.0), X == 4),
    "alpha": (lambda x: x.add(other=x, alpha=2), 3 * X),
    "tensors": (lambda x: opsdk.cat(tensors=[x, x], dim=1), np.concatenate([X, X], 1)),
    "stack": (lambda x: opsdk.stack([x, x], dim=-1), np.stack([X, X], -1)),
    "dims": (lambda x: x.flip(dims=[1]), X[:, ::-1]),
    "permute": (lambda x: x.permute(dims=(1, 0)), X.T),
    "dim0 and dim1": (lambda x: x.transpose(dim0=0, dim1=1), X.T),
    "numbers of axes": (lambda x: opsdk.transpose(x, 0, 1), X.T),
    "start_dim": (lambda x: x.flatten(start_dim=0, end_dim=-1), X.ravel()),
    "size": (lambda x: opsdk.broadcast_to(x, size=(2, 2, 3)), np.stack([X, X])),
    "softmax": (lambda x: x.softmax(dim=1), np.exp(X) / np.exp(X).sum(1, keepdims=True)),
    "values of max": (lambda x: x.max(dim=1).values, X.max(1)),
    "indices of max": (lambda x: opsdk.max(x, dim=1, keepdim=True).indices, X.argmax(1)[:, None]),
    "min": (lambda x: x.min(dim=0)[1], X.argmin(0)),
    "sort": (lambda x: x.sort(dim=1, descending=True)[0], -np.sort(-X, 1)),
    "order of sort": (lambda x: x.sort(dim=1)[1], np.argsort(X, 1, kind="stable")),
    "median": (lambda x: x.median(dim=0).values, X.min(0)),
    "nanmedian": (lambda x: x.nanmedian(dim=0).indices, X.argmin(0)),
    "split into sizes": (lambda x: x.split(2, dim=1)[0], X[:, :2]),
    "the rest of a split": (lambda x: x.split(split_size_or_sections=2, dim=1)[1], X[:, 2:]),
    "correction": (lambda x: x.std(dim=1, correction=0), X.std(1)),
    "unbiased": (lambda x: opsdk.var(x, dim=1), X.var(1, ddof=1)),
    "gather": (lambda x: x.gather(1, PLACES), np.take_along_axis(X, PLACES, 1)),
    "gather by name": (lambda x: opsdk.gather(x, dim=1, index=PLACES), np.take_along_axis(X, PLACES, 1)),
    "scatter": (lambda x: x.scatter(1, np.array([[1], [0]]), 9.0), [[3, 9, 2], [9, 4, 4]]),
    "scatter_add": (lambda x: x.scatter_add(1, np.array([[1], [0]]), np.ones((2, 1))), [[3, 2, 2], [1.5, 4, 4]]),
    "index_select": (lambda x: x.index_select(1, np.array([2, 0])), X[:, [2, 0]]),
    "index_add": (lambda x: x.index_add(0, np.array([1]), X[:1], alpha=2), [X[0], X[1] + 2 * X[0]]),
    "index_fill": (lambda x: x.index_fill(1, np.array([0]), 7.0), [[7, 1, 2], [7, 4, 4]]),
    "index_copy": (lambda x: x.index_copy(0, np.array([1]), X[:1]), [X[0], X[0]]),
    "in place": (lambda x: (x * 1.0).scatter_(1, np.array([[1], [0]]), 9.0), [[3, 9, 2], [9, 4, 4]]),
    "Paddle's place of an axis": (lambda x: x.max(1), X.max(1)),
    "Paddle's split": (lambda x: x.split(3, axis=1)[0], X[:, :1]),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_keyword_of_pytorch_means_what_it_means_there(name):
    ours, wanted = WRITTEN[name]
    np.testing.assert_allclose(np.asarray(ours(opsdk.to_tensor(X))), wanted, rtol=1e-14)


def test_the_gradient_of_an_extreme_goes_to_the_element_that_is_named():
    x = opsdk.to_tensor(np.array([[1.0, 4.0, 4.0]]), stop_gradient=False)
    x.max(dim=1).values.sum().backward()
    assert x.grad.tolist() == [[0, 1, 0]]


def test_names_that_a_function_has_stay_and_unknown_ones_are_refused():
    assert renamed({"axis": 1, "dim": 2}, {"axis", "x"}) == {"axis": 1, "dim": 2}
    assert renamed({"dim": 2}, {"axis", "x"}) == {"axis": 2}
    with pytest.raises(TypeError, match="nowhere"):
        opsdk.sum(X, nowhere=1)
    with pytest.raises(ArityError, match="nothing is called 'nowhere'"):
        opsdk.add(X, X, nowhere=1)
    assert renamed({"name": "ours"}, {"x"}) == {}
    assert renamed({"name": "ours"}, {"x", "name"}) == {"name": "ours"}
    assert renamed({"name": 3}, {"x"}) == {"name": 3}
