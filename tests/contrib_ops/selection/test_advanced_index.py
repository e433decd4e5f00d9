"""advanced_index: beside NumPy's own indexing, element by element in plain Python, and numbers of torch 2.14."""

from itertools import product

import numpy as np
import pytest

import opsdk
from contrib_ops import advanced_index
from opsdk import static
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch
from tests.contrib_ops.proof import by_kernel

GRADIENT = advanced_index.grad.opdef
X = np.arange(24.0).reshape(2, 3, 4)
ROWS = np.array([2, 0, 2])
# By indices: what `torch.ops.aten.index` takes, and the first and second gradient, summed, of Σ k y² over y's places k.
BY_TORCH = [
    (
        [None, ROWS, np.array([[-1], [1]])],
        [[[11, 3, 11], [9, 1, 9]], [[23, 15, 23], [21, 13, 21]]],
        [[[0, 8, 0, 6], [0] * 4, [0, 144, 0, 44]], [[0, 260, 0, 210], [0] * 4, [0, 840, 0, 644]]],
        [[[0, 8, 0, 2], [0] * 4, [0, 16, 0, 4]], [[0, 20, 0, 14], [0] * 4, [0, 40, 0, 28]]],
    ),
    (
        [np.array([1, 0, 1]), None, ROWS],
        [[14, 18, 22], [0, 4, 8], [14, 18, 22]],
        [[[0] * 4, [32, 0, 0, 0], [80, 0, 0, 0]], [[0, 0, 168, 0], [0, 0, 288, 0], [0, 0, 440, 0]]],
        [[[6, 0, 0, 0], [8, 0, 0, 0], [10, 0, 0, 0]], [[0, 0, 12, 0], [0, 0, 16, 0], [0, 0, 20, 0]]],
    ),
    (
        [np.array(1)],
        [[12, 13, 14, 15], [16, 17, 18, 19], [20, 21, 22, 23]],
        [[[0] * 4] * 3, [[0, 26, 56, 90], [128, 170, 216, 266], [320, 378, 440, 506]]],
        [[[0] * 4] * 3, [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18, 20, 22]]],
    ),
]


def loss(x, indices):
    y = advanced_index(x, indices)
    return (y * y * np.arange(float(np.prod(y.shape))).reshape(tuple(y.shape))).sum()


@pytest.mark.parametrize(("indices", "taken", "first", "second"), BY_TORCH)
def test_it_takes_what_torch_takes_with_gradients_of_two_orders(indices, taken, first, second):
    assert advanced_index(X, indices).tolist() == taken
    x = opsdk.to_tensor(X, stop_gradient=False)
    (dx,) = opsdk.grad(loss(x, indices), x, create_graph=True)
    assert dx.tolist() == first
    assert opsdk.grad(dx.sum(), x)[0].tolist() == second


def indices_of(rng, shape):
    """Gives indices of every pattern of holes, whose shapes broadcast."""
    shapes = [(), (1,), (3,), (2, 1), (2, 3), (0,)]
    for there in product([False, True], repeat=len(shape)):
        empty = rng.integers(0, 8) == 0
        chosen = [shapes[5] if empty else shapes[rng.integers(0, 5)] for _ in shape]
        pairs = zip(there, shape, chosen, strict=True)
        yield [rng.integers(-size, size, one) if is_there else None for is_there, size, one in pairs]


def walked(x, indices, dy):
    """Returns y and dx, one element after another; dy of the shape of y."""
    at = [axis for axis, index in enumerate(indices) if index is not None]
    drawn = dict(zip(at, np.broadcast_arrays(*[indices[axis] for axis in at]), strict=True))
    taken = drawn[at[0]].shape if at else ()
    whole = [axis for axis in range(x.ndim) if axis not in at]
    before = [axis for axis in whole if at and at == list(range(at[0], at[-1] + 1)) and axis < at[0]]
    sizes = [*[x.shape[a] for a in before], *taken, *[x.shape[a] for a in whole if a not in before]]
    y, dx = np.zeros(sizes, x.dtype), np.zeros_like(x)
    for place in np.ndindex(*sizes):
        positions = place[len(before) : len(before) + len(taken)]
        rest = iter([*place[: len(before)], *place[len(before) + len(taken) :]])
        source = tuple(int(drawn[a][positions]) if a in drawn else next(rest) for a in range(x.ndim))
        y[place] = x[source]
        if dy is not None:
            dx[source] += dy[place]
    return y, dx


@by_kernel(advanced_index.opdef)
def test_every_kernel_takes_what_a_walk_takes_for_every_pattern_of_holes(kernel, rng):
    for shape in [(3, 4, 2, 3), (5,), (1, 6)]:
        x = rng.normal(size=shape).astype(kernel.key.dtype or "float64")
        for indices in indices_of(rng, shape):
            for given in (indices, [i if i is None else i.astype("int32") for i in indices], indices[:-1]):
                (made,) = launch(advanced_index.opdef, kernel, [x, given], {})
                want, _ = walked(x, given, None)
                np.testing.assert_array_equal(made, want, strict=True)
                np.testing.assert_array_equal(made, x[tuple(slice(None) if i is None else i for i in given)])


@by_kernel(GRADIENT)
def test_every_kernel_of_the_gradient_adds_where_a_walk_adds(kernel, rng):
    for shape in [(3, 4, 2, 3), (5,), (1, 6)]:
        x = np.zeros(shape, kernel.key.dtype or "float64")
        for indices in indices_of(rng, shape):
            dy = rng.integers(-9, 9, walked(x, indices, None)[0].shape).astype(x.dtype)  # sums are exact
            specs = {"x_spec": opsdk.TensorSpec(x.shape, x.dtype)}
            (made,) = launch(GRADIENT, kernel, [indices, dy], specs)
            np.testing.assert_array_equal(made, walked(x, indices, dy)[1], strict=True)


def test_a_program_takes_and_gives_back_in_open_sizes():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, at = static.data("x", [None, 3], "float64"), static.data("at", [None], "int64")
        x.stop_gradient = False
        y = advanced_index(x, [None, at])
        assert y.shape == (-1, -1)
        (dx,) = static.gradients((y * y).sum(), x)
        (ddx,) = static.gradients(dx.sum(), x)
    for rows, taken in ((2, [2, 0, 2]), (1, [])):
        values = np.arange(3.0 * rows).reshape(rows, 3)
        feed = {"x": values, "at": np.array(taken, "int64")}
        made, slope, bend = static.Executor().run(main, feed=feed, fetch_list=[y, dx, ddx])
        counts = np.bincount(np.array(taken, int), minlength=3)
        assert made.tolist() == values[:, np.array(taken, int)].tolist()
        assert slope.tolist() == (2 * values * counts).tolist()
        assert bend.tolist() == (2 * counts + 0 * values).tolist()


def test_nothing_of_x_is_kept_but_its_shape():
    assert [source.kind for source in advanced_index.opdef.grad.sources] == ["input", "cotangent"]
    assert advanced_index.grad.opdef.schema.input_names == ("indices", "dy")


@pytest.mark.parametrize(
    ("indices", "error", "text"),
    [
        ([None, np.array([0, 3])], InputValueError, r"indices\[1\] expected in \[-3, 3\), got 0 to 3"),
        ([np.array([-3])], InputValueError, r"indices\[0\] expected in \[-2, 2\), got -3 to -3"),
        ([None] * 4, ShapeError, "advanced_index: indices expected at most 3, one per axis of x, got 4"),
        (
            [np.zeros(2, int), np.zeros(3, int)],
            ShapeError,
            r"advanced_index: indices expected shapes that broadcast, got \(2,\) and \(3,\)",
        ),
    ],
)
def test_what_lies_outside_and_what_does_not_fit_is_refused(indices, error, text):
    with pytest.raises(error, match=text):
        advanced_index(X, indices)


def test_a_cotangent_of_another_shape_is_refused_before_a_kernel_reads_beyond_it():
    spec = opsdk.TensorSpec(X.shape, X.dtype)
    with pytest.raises(InputValueError, match=r"dy expected shape \(2, 3, 4\), got \(2, 2, 4\)"):
        advanced_index.grad([None, ROWS], np.ones((2, 2, 4)), x_spec=spec)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"])
def test_positions_may_be_any_integers(dtype):
    rows = np.array([[1, 0], [0, 1], [1, 1]])
    x = opsdk.to_tensor(X, stop_gradient=False)
    y = advanced_index(x, [rows.astype(dtype)])
    np.testing.assert_array_equal(y.numpy(), X[rows])
    opsdk.sum(y).backward()
    np.testing.assert_array_equal(x.grad.numpy()[:, 0, 0], [2, 4])
