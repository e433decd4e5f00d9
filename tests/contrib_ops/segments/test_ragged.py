"""Ragged rows: beside slices in plain Python, and each the other's inverse."""

import numpy as np
import pytest

import opsdk
from contrib_ops import padded_from_ragged, ragged_from_padded
from opsdk import static
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

LENGTHS = [[3, 0, 5, 1], [5, 5], [0, 0, 0], [4], []]


def drawn(rng, lengths, more, dtype):
    return rng.integers(1, 99, (len(lengths), 5, *more)).astype(dtype), np.array(lengths, "int32")


# Numba compiles for each number of dimensions; the gradients below, and rows of numbers, stand for these in make test.
@pytest.mark.parametrize(
    "more", [(), pytest.param((3,), marks=pytest.mark.slow), pytest.param((2, 2), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("kernel", list(ragged_from_padded.opdef.kernels), ids=str)
def test_every_kernel_cuts_what_slices_cut(kernel, more, rng):
    for lengths in LENGTHS:
        x, given = drawn(rng, lengths, more, kernel.key.dtype or "float64")
        values, offsets = launch(ragged_from_padded.opdef, kernel, [x, given], {})
        assert offsets.tolist() == [sum(lengths[:i]) for i in range(len(lengths) + 1)]
        assert values.tolist() == [
            item.tolist() for row, length in zip(x, lengths, strict=True) for item in row[:length]
        ]
        assert (values.dtype, offsets.dtype, values.shape[1:]) == (x.dtype, np.int64, more)


@pytest.mark.parametrize("kernel", list(padded_from_ragged.opdef.kernels), ids=str)
def test_every_kernel_pads_with_zeros(kernel):
    values = np.arange(1, 5).astype(kernel.key.dtype or "float64")
    (x,) = launch(padded_from_ragged.opdef, kernel, [values, np.array([1, 0, 3])], {"width": 3})
    assert x.tolist() == [[1, 0, 0], [0, 0, 0], [2, 3, 4]]
    assert x.dtype == values.dtype


def test_the_one_undoes_the_other_but_for_the_padding(rng):
    x, lengths = drawn(rng, [2, 0, 5], (3,), "float64")
    values, _ = ragged_from_padded(x, lengths)
    back = padded_from_ragged(values, lengths, width=5)
    x[0, 2:] = x[1] = 0
    assert back.tolist() == x.tolist()


def test_gradients_of_every_order_are_those_of_what_is_no_padding():
    x = opsdk.to_tensor(np.array([[1.0, 2, 3], [4, 5, 6]]), stop_gradient=False)
    values, _ = ragged_from_padded(x, np.array([2, 1]))
    (first,) = opsdk.grad((values * values * values).sum(), x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    assert first.numpy().tolist() == [[3, 12, 0], [48, 0, 0]]
    assert second.numpy().tolist() == [[6, 12, 0], [24, 0, 0]]


def test_a_program_cuts_other_lengths_in_each_run():
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, lengths = static.data("x", [None, 3], "float64"), static.data("lengths", [None], "int64")
        x.stop_gradient = False
        values, offsets = ragged_from_padded(x, lengths)
        (dx,) = static.gradients((values * values).sum(), x)
        assert (values.shape, offsets.shape) == ((-1,), (-1,))
    run = static.Executor().run
    for given in ([2, 0], [3, 3, 3], [0], [1, 2]):
        rows = np.arange(3.0 * len(given)).reshape(-1, 3)
        cut, slope = run(main, feed={"x": rows, "lengths": np.array(given)}, fetch_list=[values, dx])
        assert cut.tolist() == [v for row, length in zip(rows.tolist(), given, strict=True) for v in row[:length]]
        assert slope.tolist() == (2 * rows * (np.arange(3) < np.array(given)[:, None])).tolist()


def test_lengths_that_do_not_fit_are_refused():
    with pytest.raises(InputValueError, match=r"lengths expected in \[0, 3\], got 1 to 4; cut what is longer"):
        ragged_from_padded(np.ones((2, 3)), np.array([1, 4]))
    with pytest.raises(InputValueError, match="lengths expected to sum to 3, as many as there are values, got 4"):
        padded_from_ragged(np.ones(3), np.array([2, 2]), width=2)
    with pytest.raises(ShapeError, match=r"expected x of shape \(N, L, ...\) and lengths of shape \(N,\), got"):
        ragged_from_padded(np.ones((2, 3)), np.array([1]))
    with pytest.raises(
        ShapeError, match=r"expected values of shape \(sum of lengths, ...\) and lengths of shape \(N,\)"
    ):
        padded_from_ragged(np.ones(()), np.array([1]), width=2)


def test_bfloat16_is_moved_as_it_stands():
    values = opsdk.to_tensor([1.5, 2.0, 0.25]).astype("bfloat16")
    padded = padded_from_ragged(values, opsdk.to_tensor([1, 2]), width=2)
    assert (str(padded.dtype), padded.numpy().tolist()) == ("bfloat16", [[1.5, 0], [2, 0.25]])
    assert ragged_from_padded(padded, opsdk.to_tensor([1, 2]))[0].numpy().tolist() == [1.5, 2, 0.25]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "uint32"])
def test_lengths_may_be_any_integers(dtype):
    x, lengths = np.arange(1.0, 7.0).reshape(3, 2), np.array([1, 0, 2], dtype)
    values, offsets = ragged_from_padded(x, lengths)
    assert values.tolist() == [1, 5, 6]
    assert offsets.tolist() == [0, 1, 1, 3]
    assert padded_from_ragged(values, lengths, width=2).tolist() == [[1, 0], [0, 0], [5, 6]]
