"""segment_sum: beside a plain loop, and PyTorch for two gradients."""

import os
import subprocess
import sys

import numpy as np
import pytest

import opsdk
from contrib_ops import segment_sum
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

IDS = np.array([2, 0, 2, 2, 4, 0])


def by_loops(data, ids, count):
    y = np.zeros((count, *data.shape[1:]), data.dtype)
    for row, s in zip(data, ids, strict=True):
        y[s] += row
    return y


def rows_for(dtype):
    return [k for k in segment_sum.opdef.kernels if k.key.serves("cpu", np.dtype(dtype), (np.dtype(dtype),))]


@pytest.mark.parametrize(
    ("shape", "dtype", "ids"),
    [
        ((6, 3), "float32", "int64"),
        ((6, 3), "float64", "int64"),
        ((6, 3), "float64", "int32"),
        ((6, 3), "int32", "int64"),
        ((6, 3), "uint8", "uint8"),
        ((6, 3), "complex128", "int64"),
        ((6,), "float64", "int64"),
        ((6, 2, 4), "float64", "int64"),
        ((6, 0), "float64", "int64"),
    ],
)
def test_every_row_sums_in_the_order_of_the_rows(shape, dtype, ids, rng):
    data = (9 * rng.uniform(size=shape)).astype(dtype)
    for kernel in rows_for(dtype):
        (made,) = launch(segment_sum.opdef, kernel, [data, IDS.astype(ids)], {"num_segments": 5})
        assert made.dtype == dtype
        np.testing.assert_array_equal(made, by_loops(data, IDS, 5))


def test_whole_numbers_are_summed_exactly():
    data = np.array([2**53 + 1, 1, 2])
    assert segment_sum(data, np.array([0, 0, 1]), 2).tolist() == [2**53 + 2, 2]


def test_an_empty_segment_is_zero_and_nan_stays_in_its_own():
    assert segment_sum(np.array([1.0, np.inf]), np.array([3, 3]), 4).tolist() == [0.0, 0.0, 0.0, np.inf]
    made = segment_sum(np.array([np.nan, 1.0]), np.array([0, 1]), 3)
    assert np.isnan(made[0])
    assert made[1:].tolist() == [1.0, 0.0]


def test_without_rows_or_segments_there_is_nothing_to_sum():
    assert segment_sum(np.zeros((0, 3)), IDS[:0], 2).tolist() == [[0.0] * 3] * 2
    assert segment_sum(np.zeros((0, 3)), IDS[:0], 0).shape == (0, 3)


def test_values_and_two_gradients_are_those_of_torch(rng):
    torch = pytest.importorskip("torch")
    data, weights = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    tx = torch.tensor(data, requires_grad=True)
    sums = torch.zeros(5, 3, dtype=torch.float64).index_add(0, torch.tensor(IDS), tx)
    (wanted,) = torch.autograd.grad((torch.sin(sums) * torch.tensor(weights)).sum(), tx, create_graph=True)
    (wanted_again,) = torch.autograd.grad((wanted * wanted).sum(), tx)
    x = opsdk.to_tensor(data, stop_gradient=False)
    y = segment_sum(x, IDS, 5)
    (first,) = opsdk.grad((opsdk.sin(y) * weights).sum(), x, create_graph=True)
    (again,) = opsdk.grad((first * first).sum(), x)
    for got, want in ((y, sums), (first, wanted), (again, wanted_again)):
        np.testing.assert_allclose(got.numpy(), want.detach().numpy(), rtol=1e-12, atol=1e-14)


def test_data_that_is_not_contiguous_is_summed_alike(rng):
    data = rng.normal(size=(4, 2, 6)).T
    np.testing.assert_array_equal(segment_sum(data, IDS, 5), by_loops(data, IDS, 5))


@pytest.mark.parametrize("kernel", rows_for("float64"), ids=str)
@pytest.mark.parametrize(
    ("ids", "count", "text"),
    [
        ([0, 5], 5, "op 'contrib::segment_sum': segment_ids expected in [0, 5), got 0 to 5; drop those rows, or take"),
        (
            [-1, 0],
            5,
            "op 'contrib::segment_sum': segment_ids expected in [0, 5), got -1 to 0; drop those rows, or take",
        ),
        ([0, 0], 0, "op 'contrib::segment_sum': segment_ids expected in [0, 0), got 0 to 0; drop those rows, or take"),
    ],
)
def test_no_row_runs_on_ids_outside(kernel, ids, count, text):
    launch(segment_sum.opdef, kernel, [np.ones((2, 3)), np.array([0, 1])], {"num_segments": 2})
    with pytest.raises(InputValueError) as caught:
        launch(segment_sum.opdef, kernel, [np.ones((2, 3)), np.array(ids)], {"num_segments": count})
    assert str(caught.value).startswith(text)


def test_a_number_of_segments_below_zero_is_refused():
    with pytest.raises(AttributeValueError, match="attribute 'num_segments' expected int >= 0, got -1"):
        segment_sum(np.ones((2, 3)), np.array([0, 0]), -1)


@pytest.mark.parametrize(
    ("data", "ids", "error", "text"),
    [
        (
            np.ones((3, 2)),
            IDS,
            ShapeError,
            r"expected data of shape \(N, ...\) and segment_ids of shape \(N,\), got \(3, 2\)",
        ),
        (
            np.array(1.0),
            IDS[0],
            ShapeError,
            r"expected data of shape \(N, ...\) and segment_ids of shape \(N,\), got \(\)",
        ),
        (np.ones(6), IDS[:, None], ShapeError, r"and segment_ids of shape \(N,\), got \(6,\) and \(6, 1\)"),
        (np.ones(6), IDS / 1, DTypeError, "segment_ids expected integers, got float64; cast it to int64"),
        (np.ones(6, bool), IDS, DTypeError, "data expected numbers, got bool; cast it"),
    ],
)
def test_shapes_and_dtypes_that_do_not_fit_are_refused(data, ids, error, text):
    for _ in range(2):
        with pytest.raises(error, match=text):
            segment_sum(data, ids, 5)
        segment_sum(np.ones(6), IDS, 5)


def test_a_cotangent_of_another_shape_is_refused():
    with pytest.raises(InputValueError, match=r"dy expected a row per segment, 5 of them, got shape \(4, 2\)"):
        segment_sum.grad(IDS, np.ones((4, 2)), num_segments=5)
    with pytest.raises(
        InputValueError, match=r"op 'contrib::segment_sum_grad': segment_ids expected in \[0, 4\), got 0 to 4"
    ):
        segment_sum.grad(IDS, np.ones((4, 2)), num_segments=4)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_long_segment_does_not_stop_to_add_up(dtype):
    data = np.full((500_000, 2), 0.1, dtype)
    number = float(data[0, 0])
    made = segment_sum(data, np.zeros(len(data), np.int64), 2)
    np.testing.assert_allclose(made[0].astype(float), 500_000 * number, rtol=2**-11 if dtype == "float16" else 1e-6)


SIMULATED = '''
import numpy as np
import opsdk
from contrib_ops import segment_sum
from opsdk.verify.kernels.launch import launch

(kernel,) = [kernel for kernel in segment_sum.opdef.kernels if kernel.key.place == "cuda"]
ids = np.array([2, 0, 2, 2, 4, 0])
for dtype in ("float16", "float32", "float64", "int32", "complex64"):
    data = np.arange(18).reshape(6, 3).astype(dtype)
    want = np.zeros((5, 3), dtype)
    np.add.at(want, ids, data)
    (made,) = launch(segment_sum.opdef, kernel, [data, ids], {"num_segments": 5})
    assert made.dtype == dtype and (made == want).all(), (dtype, made)
ones = np.ones((3000, 1), np.float16)
print(launch(segment_sum.opdef, kernel, [ones, np.zeros(3000, int)], {"num_segments": 1})[0].item())
'''


def test_a_simulated_device_does_not_stop_to_add_up_either():
    done = subprocess.run(
        [sys.executable, "-c", SIMULATED],
        env={**os.environ, "NUMBA_ENABLE_CUDASIM": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("3000.0\n", "")
