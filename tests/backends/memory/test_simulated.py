import operator

import numpy as np
import pytest

from opsdk.backends.memory.simulated import SimulatedArray

X = np.array([[1.0, -2.0], [3.0, 4.0]])


@pytest.fixture
def x():
    return SimulatedArray(X.copy())


def test_numpy_functions_take_and_give_arrays_of_the_device(x):
    for made, wanted in (
        (np.maximum(x, 0), np.maximum(X, 0)),
        (x @ x, X @ X),
        (2 - x, 2 - X),
        (np.float64(2) * x, 2 * X),
        (np.sum(x, axis=0), X.sum(axis=0)),
        (np.where(x > 0, x, 0.0), np.where(X > 0, X, 0)),
        (np.concatenate([x, x]), np.concatenate([X, X])),
        (x.sum(), X.sum()),
        (x.reshape(4), X.reshape(4)),
        (x.T, X.T),
        (x[0], X[0]),
        (x[0, 1], X[0, 1]),
        (np.zeros_like(x), np.zeros_like(X)),
    ):
        assert isinstance(made, SimulatedArray)
        assert (made.tolist(), made.shape, made.dtype) == (wanted.tolist(), wanted.shape, wanted.dtype)
    assert [part.tolist() for part in np.split(x, 2)] == [[[1.0, -2.0]], [[3.0, 4.0]]]


def test_what_runs_there_gives_inf_and_nan_without_a_warning(x):
    assert (x / 0).tolist() == [[np.inf, -np.inf], [np.inf, np.inf]]


def test_memory_of_the_device_is_not_read_by_numpy_unasked(x):
    for read in (np.asarray, np.array, lambda a: np.ones(2) + np.asarray(a)):
        with pytest.raises(TypeError, match=r"not converted to a NumPy array implicitly; use get\(\)"):
            read(x)
    assert not hasattr(x, "__array_interface__")


@pytest.mark.parametrize("mix", [operator.add, operator.matmul, np.maximum, lambda a, b: np.concatenate([a, b])])
def test_numpy_arrays_beside_it_are_an_error(x, mix):
    for operands in ((x, X), (X, x)):
        with pytest.raises(TypeError, match="a NumPy array beside simulated CUDA arrays: move it to the device first"):
            mix(*operands)


def test_results_may_be_written_into_an_array_of_the_device(x):
    out = SimulatedArray(np.empty((2, 2)))
    assert np.add(x, 1, out=out) is out
    assert out.tolist() == (X + 1).tolist()
    x += out
    assert x.tolist() == (2 * X + 1).tolist()
    x[0] = x[1]
    x[x > 8] = 0
    assert x.tolist() == [[7.0, 0.0], [7.0, 0.0]]
    with pytest.raises(TypeError, match="a NumPy array beside simulated CUDA arrays"):
        x[0] = np.ones(2)


def test_a_copy_comes_to_the_host_when_it_is_asked_for(x):
    copy = x.get()
    copy[:] = 0
    assert (type(copy), x.tolist()) == (np.ndarray, X.tolist())


def test_it_has_what_an_array_has(x):
    assert (x.shape, x.dtype, x.ndim, x.size, x.strides, x.base, len(x)) == ((2, 2), np.float64, 2, 4, (16, 8), None, 2)
    assert x[0].base is x.host
    assert [row.tolist() for row in x] == X.tolist()
    assert (float(x[0, 0]), int(x[1, 1]), bool(x[0, 0] > 0), x[0, 1].item()) == (1.0, 4, True, -2.0)
    assert repr(x[0]) == "<simulated CUDA array([ 1., -2.])>"
    with pytest.raises(AttributeError):
        _ = x.no_such_attribute


def test_what_numpy_makes_with_a_word_that_cupy_lacks_is_refused(x):
    for name, make in (("ones", np.ones), ("full", lambda shape, like: np.full(shape, 2.0, like=like))):
        with pytest.raises(TypeError, match=f"^{name} with like= does not reach CuPy: use {name}_like$"):
            make(2, like=x)
    assert np.zeros(2, like=x).tolist() == np.full_like(x, 0.0, shape=2).tolist() == [0, 0]
