"""topk_straight_through: beside torch.topk, and beside a plain sort where there are ties; its gradient."""

import numpy as np
import pytest

import opsdk
from contrib_ops import topk_straight_through


def by_sorting(row, k):
    """Keeps the first k by value, from the greatest, then by position; nan is above all."""
    order = sorted(
        range(len(row)), key=lambda j: (0 if np.isnan(row[j]) else 1, 0.0 if np.isnan(row[j]) else -row[j], j)
    )
    return [row[j] if j in order[:k] else 0.0 for j in range(len(row))]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [0, 1, 5, 31, 32])
def test_the_greatest_are_kept_as_torch_finds_them(k, dtype, rng):
    torch = pytest.importorskip("torch")
    x = rng.normal(size=(3, 2, 32)).astype(dtype)
    values, index = torch.tensor(x).topk(k)
    wanted = torch.zeros(x.shape, dtype=values.dtype).scatter_(-1, index, values)
    np.testing.assert_array_equal(topk_straight_through(x, k=k), wanted.numpy())


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
@pytest.mark.parametrize("k", range(6))
def test_of_equal_entries_the_earlier_are_kept(k, dtype):
    rows = [[1.0, 2.0, 2.0, 0.0, 2.0], [3.0] * 5, [-1.0, -1.0, -2.0, -1.0, -3.0]]
    made = topk_straight_through(np.array(rows, dtype), k=k)
    assert made.tolist() == [by_sorting(row, k) for row in rows]


@pytest.mark.parametrize("k", range(6))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_nan_is_kept_first_and_infinities_are_numbers(k, dtype):
    rows = [[1.0, np.nan, np.inf, -np.inf, np.nan], [-np.inf, -np.inf, np.inf, 0.0, -0.0], [np.nan] * 5]
    made = topk_straight_through(np.array(rows, dtype), k=k)
    np.testing.assert_array_equal(made, [by_sorting(row, k) for row in rows])


@pytest.mark.parametrize("row", ["numpy", "numba"])
def test_unsigned_and_least_numbers_are_not_negated(row):
    assert topk_straight_through(np.array([3, 200, 7], "uint8"), k=2).tolist() == [0, 200, 7]
    least = np.iinfo("int64").min
    assert topk_straight_through(np.array([least, 0, 5]), k=2).tolist() == [0, 0, 5]


def test_the_gradient_passes_everything_and_the_second_is_0(rng):
    x = opsdk.to_tensor(rng.normal(size=(2, 5)), stop_gradient=False)
    dy = opsdk.to_tensor(rng.normal(size=(2, 5)))
    y = topk_straight_through(x, k=2)
    (dx,) = opsdk.grad(y, x, dy, create_graph=True)
    np.testing.assert_array_equal(dx.numpy(), dy.numpy())
    (again,) = opsdk.grad((y * y).sum(), x, create_graph=True)
    np.testing.assert_array_equal(again.numpy(), 2 * y.numpy())  # through y, which stands for x
    (second,) = opsdk.grad(again.sum(), x)
    np.testing.assert_array_equal(second.numpy(), 2.0)


# Two proofs with every kernel; gradients by hand stand for them.
@pytest.mark.slow
def test_verify_holds_the_gradient_to_the_identity_and_finds_another(rng):
    def dropped(dy, y):
        return dy * (y != 0)

    with opsdk.REGISTRY.scoped():
        wrong = opsdk.op("t::kept(Tensor x) -> Tensor y", surrogate=lambda x: x.copy())(
            lambda x: topk_straight_through(x.reshape(1, -1), k=2).reshape(x.shape)
        )
        wrong.backward(dropped)
        sample = opsdk.Sample(rng.normal(size=5))
        report = opsdk.verify(wrong, samples=[sample])
    assert report.verdict == "fail"
    assert "gradient of 'x'" in report.findings[0].message


def test_nothing_and_rows_of_nothing_are_kept_as_they_are():
    assert topk_straight_through(np.zeros((0, 4)), k=2).shape == (0, 4)
    assert topk_straight_through(np.zeros((3, 0)), k=0).shape == (3, 0)


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("k", [-1, 4])
def test_a_k_that_rows_do_not_have_is_refused(k, dtype):
    topk_straight_through(np.ones((2, 5), dtype), k=4)
    with pytest.raises(ValueError, match=rf"k expected in \[0, 3\], where the end is the length of a row, got {k}"):
        topk_straight_through(np.ones((2, 3), dtype), k=k)


def test_an_input_without_an_axis_is_refused():
    with pytest.raises(ValueError, match=r"x expected at least one axis, got shape \(\); reshape it to \(1,\)"):
        topk_straight_through(np.array(1.0), k=0)
