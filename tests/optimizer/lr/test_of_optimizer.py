import math

import numpy as np
import pytest

from opsdk import errors, nn
from opsdk.optimizer import SGD, lr


def optimizer():
    return SGD(learning_rate=0.5, parameters=[nn.Parameter(np.ones(1))])


# A schedule of an optimizer of rate 0.5, and the rates of its first steps.
CASES = {
    "StepLR": (lambda o: lr.StepLR(o, 2), [0.5, 0.5, 0.05, 0.05, 0.005]),
    "MultiStepLR": (lambda o: lr.MultiStepLR(o, milestones=(1, 3), gamma=0.5), [0.5, 0.25, 0.25, 0.125, 0.125]),
    "ExponentialLR": (lambda o: lr.ExponentialLR(o, 0.5), [0.5, 0.25, 0.125, 0.0625, 0.03125]),
    "CosineAnnealingLR": (
        lambda o: lr.CosineAnnealingLR(o, 4, eta_min=0.1),
        [0.1 + 0.2 * (1 + math.cos(math.pi * t / 4)) for t in range(5)],
    ),
    "LambdaLR": (lambda o: lr.LambdaLR(o, lambda t: 1 / (1 + t)), [0.5, 0.25, 0.5 / 3, 0.125, 0.1]),
    "MultiplicativeLR": (
        lambda o: lr.MultiplicativeLR(o, lr_lambda=lambda t: 0.5),
        [0.5, 0.25, 0.125, 0.0625, 0.03125],
    ),
    "PolynomialLR": (lambda o: lr.PolynomialLR(o, 4, power=2.0), [0.5 * (1 - t / 4) ** 2 for t in range(5)]),
    "ConstantLR": (lambda o: lr.ConstantLR(o, factor=0.2, total_iters=3), [0.1, 0.1, 0.1, 0.5, 0.5]),
}


@pytest.mark.parametrize("name", CASES)
def test_an_optimizer_goes_by_the_schedule_that_is_made_of_it(name):
    made, (make, rates) = optimizer(), CASES[name]
    schedule = make(made)
    assert type(schedule).__name__ == name
    assert made.schedule is schedule
    for rate in rates:
        assert made.get_lr() == pytest.approx(rate, rel=1e-12)
        assert schedule.get_last_lr() == [made.get_lr()]
        schedule.step()


def test_a_plateau_lowers_the_rate_of_its_optimizer():
    made = optimizer()
    schedule = lr.ReduceLROnPlateau(made, "max", factor=0.5, patience=1, eps=1e-9)
    for value in (1.0, 1.0, 0.9):
        schedule.step(value)
    assert made.get_lr() == 0.25


def test_a_schedule_goes_on_from_its_state():
    first = lr.StepLR(optimizer(), 2)
    for _ in range(3):
        first.step()
    made = optimizer()
    second = lr.StepLR(made, 2)
    second.load_state_dict(first.state_dict())
    assert made.get_lr() == pytest.approx(0.05)
    assert second.last_epoch == 3


def test_it_is_made_of_an_optimizer():
    with pytest.raises(errors.AttributeValueError, match=r"StepLR: optimizer expected one of opsdk\.optimizer, got"):
        lr.StepLR(0.1, 2)
    with pytest.raises(errors.AttributeValueError, match=r"ConstantLR: expected a factor in \[0, 1\] and total_iters"):
        lr.ConstantLR(optimizer(), factor=2.0)
    with pytest.raises(errors.AttributeValueError, match="StepLR: step_size expected an integer ≥ 1, got 0"):
        lr.StepLR(optimizer(), 0)
