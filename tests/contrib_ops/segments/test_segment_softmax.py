"""segment_softmax: beside SciPy's softmax of each segment, and PyTorch for two gradients."""

import numpy as np
import pytest
from scipy.special import softmax

import opsdk
from contrib_ops import segment_softmax
from opsdk.core.errors import DTypeError, InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

IDS = np.array([2, 0, 2, 2, 4, 0])
ROWS = [k for k in segment_softmax.opdef.kernels if "32" not in str(k.key)]


def by_segments(data, ids):
    y = np.zeros(data.shape)
    for s in set(ids.tolist()):
        y[ids == s] = softmax(data[ids == s].astype(float), axis=0)
    return y


def run(kernel, data, ids, count):
    return launch(segment_softmax.opdef, kernel, [data, ids], {"num_segments": count})[0]


@pytest.mark.parametrize("kernel", ROWS, ids=str)
@pytest.mark.parametrize(
    ("shape", "ids"), [((6,), "int64"), ((6, 3), "int64"), ((6, 3), "int32"), ((6, 2, 4), "int64"), ((6, 0), "int64")]
)
def test_every_row_gives_the_softmax_of_each_segment(kernel, shape, ids, rng):
    data = 5 * rng.normal(size=shape)
    made = run(kernel, data, IDS.astype(ids), 5)
    np.testing.assert_allclose(made, by_segments(data, IDS), rtol=1e-13)


def test_float32_stays_float32(rng):
    data = rng.normal(size=(6, 3)).astype("float32")
    made = segment_softmax(data, IDS, 5)
    assert made.dtype == "float32"
    np.testing.assert_allclose(made, by_segments(data, IDS), rtol=1e-6)


@pytest.mark.parametrize("kernel", ROWS, ids=str)
def test_nothing_overflows(kernel):
    made = run(kernel, np.array([1e300, 1e300, -1e300, 800.0]), np.array([0, 0, 0, 1]), 2)
    assert made.tolist() == [0.5, 0.5, 0.0, 1.0]


@pytest.mark.parametrize("kernel", ROWS, ids=str)
def test_what_is_not_finite_stays_in_its_segment(kernel):
    data = np.array([-np.inf, 1.0, np.inf, 1.0, np.nan, 1.0, -np.inf, 2.0])
    made = run(kernel, data, np.array([0, 0, 1, 1, 2, 2, 3, 4]), 5)
    np.testing.assert_array_equal(made, [0.0, 1.0, np.nan, np.nan, np.nan, np.nan, np.nan, 1.0])


def test_two_gradients_are_those_of_torch(rng):
    torch = pytest.importorskip("torch")
    data, weights = rng.normal(size=(6, 3)), rng.normal(size=(6, 3))
    tx, ids = torch.tensor(data, requires_grad=True), torch.tensor(IDS)
    powers = torch.exp(tx)
    ty = powers / torch.zeros(5, 3, dtype=torch.float64).index_add(0, ids, powers)[ids]
    (wanted,) = torch.autograd.grad((ty * torch.tensor(weights)).sum(), tx, create_graph=True)
    (wanted_again,) = torch.autograd.grad((wanted * wanted).sum(), tx)
    x = opsdk.to_tensor(data, stop_gradient=False)
    y = segment_softmax(x, IDS, 5)
    (plain,) = opsdk.grad((y * weights).sum(), x, retain_graph=True)  # on the compiled row
    (first,) = opsdk.grad((y * weights).sum(), x, create_graph=True)
    (again,) = opsdk.grad((first * first).sum(), x)
    for got, want in ((y, ty), (plain, wanted), (first, wanted), (again, wanted_again)):
        np.testing.assert_allclose(got.numpy(), want.detach().numpy(), rtol=1e-11, atol=1e-14)


def test_without_rows_there_is_nothing():
    assert segment_softmax(np.zeros((0, 3)), IDS[:0], 2).shape == (0, 3)
    assert segment_softmax(np.zeros((0, 3)), IDS[:0], 0).shape == (0, 3)


@pytest.mark.parametrize("kernel", ROWS, ids=str)
def test_no_row_runs_on_ids_outside(kernel):
    run(kernel, np.ones(6), IDS, 5)
    with pytest.raises(
        InputValueError, match=r"op 'contrib::segment_softmax': segment_ids expected in \[0, 4\), got 0 to 4"
    ):
        run(kernel, np.ones(6), IDS, 4)


@pytest.mark.parametrize(
    ("data", "ids", "error", "text"),
    [
        (np.ones(5), IDS, ShapeError, r"expected data of shape \(N, ...\) and segment_ids of shape \(N,\), got \(5,\)"),
        (np.ones(6), IDS / 1, DTypeError, "segment_ids expected integers, got float64; cast it to int64"),
        (np.ones(6, int), IDS, DTypeError, "data expected floats, got int64; cast it"),
    ],
)
def test_shapes_and_dtypes_that_do_not_fit_are_refused(data, ids, error, text):
    for _ in range(2):
        with pytest.raises(error, match=text):
            segment_softmax(data, ids, 5)
        segment_softmax(np.ones(6), IDS, 5)


def test_the_gradient_op_refuses_what_does_not_fit():
    y, grad = np.ones(6), segment_softmax.grad
    with pytest.raises(InputValueError, match=r"dy expected the shape of y, \(6,\), got \(5,\)"):
        grad(y, IDS, np.ones(5), num_segments=5)
    with pytest.raises(InputValueError, match=r"segment_ids expected in \[0, 3\), got 0 to 4"):
        grad(y, IDS, y, num_segments=3)


def test_a_segment_of_more_rows_than_float16_has_numbers_for_adds_up_to_one():
    y = segment_softmax(np.zeros(80_000, np.float16), np.zeros(80_000, int), 1)
    assert np.unique(y).tolist() == [float(np.float16(1 / 80_000))]
