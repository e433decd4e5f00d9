"""Tests of opsdk.ops.nets.batch_norm; gradients and runtimes are swept in tests/parity."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError, InputValueError, ShapeError
from opsdk.ops.nets.batch_norm import batch_norm

ONES, ZEROS = np.ones(3), np.zeros(3)


def test_a_batch_is_normalized_by_its_own_statistics(rng):
    x, weight, bias = rng.normal(2.0, 3.0, (4, 3, 2, 2)), rng.normal(size=3), rng.normal(size=3)
    flat = np.moveaxis(x, 1, 0).reshape(3, -1)
    mean, var = flat.mean(1)[:, None, None], flat.var(1)[:, None, None]
    expected = (x - mean) / np.sqrt(var + 0.1) * weight[:, None, None] + bias[:, None, None]
    running = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
    out, saved, rstd = batch_norm(x, weight, bias, *running, momentum=0.25, epsilon=0.1)
    np.testing.assert_allclose(out, expected)
    np.testing.assert_allclose((saved, rstd), (flat.mean(1), 1 / np.sqrt(flat.var(1) + 0.1)))
    np.testing.assert_allclose(running, 0.25 * np.array([1, 2, 3]) + 0.75 * np.array([flat.mean(1), flat.var(1)]))
    last = batch_norm(np.moveaxis(x, 1, -1), weight, bias, epsilon=0.1, channels_last=True)[0]
    np.testing.assert_allclose(last, np.moveaxis(expected, 1, -1))


@pytest.mark.parametrize(("unbiased", "variance"), [(False, 1.0556), (True, 1.1333)])  # Paddle's, and PyTorch's
def test_the_running_variance_is_biased_or_not(unbiased, variance):
    mean, var = np.zeros(1), np.ones(1)
    batch_norm(np.array([[1.0], [2.0], [4.0]]), None, None, mean, var, unbiased=unbiased)
    np.testing.assert_allclose((mean[0], var[0]), (0.2333, variance), atol=1e-4)


def test_without_a_momentum_the_mean_of_all_batches_is_kept(rng):
    batches, mean, var, count = rng.normal(size=(3, 5, 2)), np.zeros(2), np.ones(2), np.array(0)
    for batch in batches:
        batch_norm(batch, None, None, mean, var, count, momentum=None)
    np.testing.assert_allclose(mean, batches.mean((0, 1)))
    np.testing.assert_allclose(var, batches.var(1).mean(0))
    assert count == 3


def test_outside_of_training_running_statistics_are_taken_and_stay():
    mean, var = np.array([1.0]), np.array([4.0])
    out = batch_norm(np.array([[3.0], [5.0]]), None, None, mean, var, training=False, epsilon=1e-12)[0]
    np.testing.assert_allclose(out, [[1.0], [2.0]])
    assert (mean[0], var[0]) == (1.0, 4.0)


def test_a_mean_far_from_0_costs_no_digits_of_the_gradient():
    """In float32 the mean 1e4 is rounded by 5e-4; levelled in the backward, Σ dout · (x - mean) keeps its digits."""
    x = np.float32(1e4) + np.linspace(-1, 1, 4096, dtype=np.float32).reshape(-1, 1)
    given = opsdk.to_tensor(x), opsdk.to_tensor(np.ones(1, np.float32), stop_gradient=False)
    out = batch_norm(*given, opsdk.to_tensor(np.zeros(1, np.float32)))[0]
    out.sum().backward()
    assert abs(given[1].grad.item()) < 1e-2  # Σ of what is normalized is 0; without levelling some 3


def test_16_bits_have_statistics_in_float32():
    x = np.full((4096, 1), 2.0, np.float16)
    mean, var = np.zeros(1, np.float32), np.ones(1, np.float32)
    out, saved, _ = batch_norm(x, None, None, mean, var, momentum=0.0)
    assert (out.dtype, saved.dtype, mean[0], var[0]) == (np.float16, np.float32, 2.0, 0.0)


@pytest.mark.parametrize(
    ("given", "attrs", "error", "text"),
    [
        ((np.ones(3), ONES, ONES), {}, ShapeError, r"x expected shape \(N, C, \*size\), got \(3,\)"),
        (
            (np.ones((2, 3)), np.ones(2)),
            {},
            ShapeError,
            r"weight expected one element for each channel of x \(2, 3\), got",
        ),
        (
            (np.ones((2, 3)), np.ones(3, np.float32)),
            {},
            DTypeError,
            "op 'opsdk::batch_norm': weight expected float64 like x, got",
        ),
        (
            (np.ones((2, 3)), None, None, ONES),
            {},
            InputValueError,
            "running_var expected beside running_mean, got one of",
        ),
        (
            (np.ones((2, 3)),),
            {"training": False},
            InputValueError,
            "running_mean expected where training=False, got None",
        ),
        (
            (np.ones((0, 3)),),
            {},
            InputValueError,
            "x expected 1 values per channel or more where training=True, got shape",
        ),
        (
            (np.ones((1, 3)), None, None, ZEROS, ONES),
            {"unbiased": True},
            InputValueError,
            "x expected 2 values per channel or more",
        ),
        (
            (np.ones((2, 3)), None, None, ZEROS, ONES),
            {"momentum": None},
            InputValueError,
            "batches expected where momentum=None, got None",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(given, attrs, error, text):
    given = [None if each is None else each.copy() for each in given]
    kept = [None if each is None else each.copy() for each in given]
    with pytest.raises(error, match=text):
        batch_norm(*given, **attrs)
    np.testing.assert_equal(given, kept)
