"""Numbers drawn at random: their distributions, the seed that they come from, and what is refused."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError, DTypeError, InPlaceError, InputValueError

N = 4000
# By method: its arguments, and mean and standard deviation of its distribution; None where there is none.
DRAWN = {
    "uniform_": ((), 0.0, 2 / 12**0.5),
    "uniform_ in [0, 4)": ((0.0, 4.0), 2.0, 4 / 12**0.5),
    "normal_": ((), 0.0, 1.0),
    "normal_ of 3 ± 2": ((3.0, 2.0), 3.0, 2.0),
    "log_normal_": ((0.0, 0.5), np.exp(0.125), np.sqrt((np.exp(0.25) - 1) * np.exp(0.25))),
    "bernoulli_": ((0.25,), 0.25, np.sqrt(0.25 * 0.75)),
    "exponential_": ((2.0,), 0.5, 0.5),
    "geometric_": ((0.5,), 2.0, np.sqrt(2.0)),
    "random_": ((10,), 4.5, np.sqrt(99 / 12)),
    "cauchy_": ((), None, None),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_tensor_is_filled_from_a_distribution(name):
    args, mean, std = DRAWN[name]
    opsdk.seed(3)
    x = opsdk.zeros([N])
    assert getattr(x, name.partition(" ")[0])(*args) is x
    assert x.inplace_version == 1
    values = x.numpy()
    if mean is not None:
        assert abs(values.mean() - mean) < 5 * std / N**0.5
        assert abs(values.std() - std) < 0.1 * std
    opsdk.seed(3)
    np.testing.assert_array_equal(getattr(opsdk.zeros([N]), name.partition(" ")[0])(*args).numpy(), values)


def test_numbers_in_the_shape_of_another_tensor():
    x = opsdk.to_tensor(np.zeros((2, 3)))
    for made in (opsdk.rand_like(x), opsdk.randn_like(x), opsdk.randint_like(x, 5), opsdk.bernoulli(x + 0.5)):
        assert (made.shape, made.dtype) == ([2, 3], np.float64)
    assert opsdk.rand_like(x, "float32").dtype == np.float32
    assert opsdk.standard_normal([2]).shape == [2]
    assert opsdk.log_normal(shape=[2]).numpy().min() > 0


def test_what_is_drawn_by_values():
    opsdk.seed(5)
    assert opsdk.bernoulli(opsdk.to_tensor([0.0, 1.0, 1.0])).tolist() == [0, 1, 1]
    assert opsdk.poisson(opsdk.zeros([3])).tolist() == [0, 0, 0]
    assert abs(opsdk.poisson(opsdk.full([N], 4.0)).numpy().mean() - 4) < 0.2
    weights = opsdk.to_tensor([[0.0, 1.0, 0.0, 3.0], [1.0, 1.0, 1.0, 1.0]])
    made = opsdk.multinomial(weights, 2).numpy()
    assert sorted(made[0]) == [1, 3]
    assert len(set(made[1])) == 2
    share = (opsdk.multinomial(weights[0], N, replacement=True).numpy() == 3).mean()
    assert abs(share - 0.75) < 0.05


REFUSED = {
    "uniform_: expected min, max, got [1, 2, 3]": (ArityError, lambda: opsdk.zeros([2]).uniform_(1, 2, 3)),
    "normal_: scale < 0, got": (InputValueError, lambda: opsdk.zeros([2]).normal_(0, -1)),
    "normal_: expected a tensor of numbers, got bool": (DTypeError, lambda: opsdk.zeros([2]).bool().normal_()),
    "bernoulli: x expected probabilities in [0, 1]": (InputValueError, lambda: opsdk.bernoulli(np.array([2.0]))),
    "poisson: x expected means >= 0": (InputValueError, lambda: opsdk.poisson(np.array([-1.0]))),
    "multinomial: x expected rows of finite weights >= 0": (
        InputValueError,
        lambda: opsdk.multinomial(np.array([-1.0])),
    ),
    "multinomial: num_samples expected at most as many as weights above 0": (
        InputValueError,
        lambda: opsdk.multinomial(np.array([1.0, 0.0]), 2),
    ),
    "uniform_: expected a tensor without stop_gradient=False": (
        InPlaceError,
        lambda: opsdk.to_tensor([1.0], stop_gradient=False).uniform_(),
    ),
}


@pytest.mark.parametrize(("message", "refused"), REFUSED.items(), ids=REFUSED)
def test_what_has_no_meaning_is_refused(message, refused):
    error, call = refused
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_values_that_only_a_run_has_are_no_probabilities():
    with opsdk.static.program_guard(opsdk.static.Program(), opsdk.static.Program()):
        x = opsdk.static.data("x", [2], "float32")
        with pytest.raises(
            DTypeError, match="bernoulli: expected a tensor or array, got Variable, whose values only a run"
        ):
            opsdk.bernoulli(x)
