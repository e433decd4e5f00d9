"""Schedules, against the values of Paddle 3.3.1."""

import io

import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.core.errors import AttributeValueError, ScheduleError, StateDictError
from opsdk.optimizer import SGD, lr

CASES = [
    ("StepDecay(.1,2)", [0.1, 0.1, 0.01, 0.01, 0.001, 0.001, 0.0001, 0.0001, 1e-05, 1e-05]),
    ("MultiStepDecay(.1,[2,4])", [0.1, 0.1, 0.01, 0.01, 0.001, 0.001, 0.001, 0.001, 0.001, 0.001]),
    ("ExponentialDecay(.1,.5)", [0.1, 0.05, 0.025, 0.0125, 0.00625, 0.003125, 0.001563, 0.000781, 0.000391, 0.000195]),
    (
        "NaturalExpDecay(.1,.5)",
        [0.1, 0.060653, 0.036788, 0.022313, 0.013534, 0.008208, 0.004979, 0.00302, 0.001832, 0.001111],
    ),
    ("InverseTimeDecay(.1,.5)", [0.1, 0.066667, 0.05, 0.04, 0.033333, 0.028571, 0.025, 0.022222, 0.02, 0.018182]),
    ("PolynomialDecay(.1,4)", [0.1, 0.075025, 0.05005, 0.025075, 0.0001, 0.0001, 0.0001, 0.0001, 0.0001, 0.0001]),
    (
        "PolynomialDecay(.1,2,power=2.,cycle=True)",
        [0.1, 0.025075, 0.0001, 0.006344, 0.0001, 0.002875, 0.0001, 0.001661, 0.0001, 0.001099],
    ),
    ("PiecewiseDecay([2,4],[.1,.05,.01])", [0.1, 0.1, 0.05, 0.05, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01]),
    ("CosineAnnealingDecay(.1,4)", [0.1, 0.085355, 0.05, 0.014645, 0.0, 0.014645, 0.05, 0.085355, 0.1, 0.085355]),
    ("CosineAnnealingDecay(.1,3,eta_min=.01)", [0.1, 0.0775, 0.0325, 0.01, 0.0325, 0.0775, 0.1, 0.0775, 0.0325, 0.01]),
    ("LinearWarmup(.1,3,0,.1)", [0.0, 0.033333, 0.066667, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]),
    ("LinearWarmup(StepDecay(.1,2),3,0.,.2)", [0.0, 0.066667, 0.133333, 0.1, 0.1, 0.01, 0.01, 0.001, 0.001, 0.0001]),
    ("NoamDecay(64,3)", [0.0, 0.024056, 0.048113, 0.072169, 0.0625, 0.055902, 0.051031, 0.047246, 0.044194, 0.041667]),
    (
        "LambdaDecay(.1,lambda e:.9**e)",
        [0.1, 0.09, 0.081, 0.0729, 0.06561, 0.059049, 0.053144, 0.04783, 0.043047, 0.038742],
    ),
    (
        "MultiplicativeDecay(.1,lambda e:.9+.01*e)",
        [0.1, 0.091, 0.08372, 0.07786, 0.073188, 0.069529, 0.066747, 0.064745, 0.06345, 0.062816],
    ),
    ("LinearLR(.1,4)", [0.033333, 0.05, 0.066667, 0.083333, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]),
    ("OneCycleLR(.1,6)", [0.004, 0.099442, 0.081193, 0.046317, 0.013434, 0.0001]),
    ('OneCycleLR(.1,10,three_phase=True,anneal_strategy="linear")', [0.004, 0.052, 0.1, 0.052, 0.004, 0.00322]),
    ("CyclicLR(.1,.5,2)", [0.1, 0.3, 0.5, 0.3, 0.1, 0.3, 0.5, 0.3, 0.1, 0.3]),
    ('CyclicLR(.1,.5,2,1,mode="triangular2")', [0.1, 0.3, 0.5, 0.1, 0.2, 0.3, 0.1, 0.15, 0.2, 0.1]),
    (
        'CyclicLR(.1,.5,2,mode="exp_range",exp_gamma=.9)',
        [0.1, 0.28, 0.424, 0.2458, 0.1, 0.218098, 0.312576, 0.195659, 0.1, 0.177484],
    ),
    ("CosineAnnealingWarmRestarts(.1,2)", [0.1, 0.05, 0.1, 0.05, 0.1, 0.05, 0.1, 0.05, 0.1, 0.05]),
    (
        "CosineAnnealingWarmRestarts(.1,2,2,.01)",
        [0.1, 0.055, 0.1, 0.08682, 0.055, 0.02318, 0.1, 0.096575, 0.08682, 0.072221],
    ),
]
IDS = [source for source, _ in CASES]


def made(source):
    return eval(source, vars(lr))


def through_a_file(value):
    file = io.BytesIO()
    opsdk.save(value, file)
    return opsdk.load(file)


@pytest.mark.parametrize(("source", "expected"), CASES, ids=IDS)
def test_rates_are_paddles(source, expected):
    schedule, found = made(source), []
    for _ in expected:
        found.append(schedule())
        schedule.step()
    assert found == pytest.approx(expected, abs=6e-7)


@pytest.mark.parametrize(("source", "expected"), CASES, ids=IDS)
def test_a_schedule_goes_on_from_its_state(source, expected):
    schedule, other = made(source), made(source)
    schedule.step()
    schedule.step()
    other.set_state_dict(through_a_file(schedule.state_dict()))
    for _ in expected[3:]:
        schedule.step()
        other.step()
        assert other() == schedule()
    assert other.state_dict() == schedule.state_dict()


@pytest.mark.parametrize(
    ("options", "values", "expected"),
    [
        ({"patience": 1, "factor": 0.5}, [1, 1, 1, 1, 1, 0.5], [0.1, 0.1, 0.05, 0.05, 0.025, 0.025]),
        (
            {"mode": "max", "patience": 0, "cooldown": 2, "threshold": 0.1},
            [1, 1.05, 1.3, 1.3, 1.3, 1.3, 1.2, 1],
            [0.1, 0.01, 0.01, 0.01, 0.01, 0.001, 0.001, 0.001],
        ),
        (
            {"patience": 0, "threshold_mode": "abs", "threshold": 0.3, "min_lr": 0.01},
            [1, 1.05, 1.3, 1.3],
            [0.1, 0.01, 0.01, 0.01],
        ),
    ],
)
def test_a_plateau_brings_the_rate_down(options, values, expected):
    schedule, found = lr.ReduceOnPlateau(0.1, **options), []
    for value in values:
        schedule.step(opsdk.to_tensor(float(value)))
        found.append(schedule())
    assert found == pytest.approx(expected, abs=6e-7)


def test_a_plateau_goes_on_from_its_state():
    one, other = (lr.ReduceOnPlateau(0.1, patience=1, factor=0.5) for _ in range(2))
    for _ in range(2):
        one.step(1.0)
    other.set_state_dict(through_a_file(one.state_dict()))
    other.step(1.0)
    assert (other(), other.last_epoch) == (0.05, 3)


def test_a_step_may_be_given_by_its_number_and_the_last_one_too():
    schedule = lr.StepDecay(0.1, 2)
    schedule.step(5)
    assert schedule() == pytest.approx(0.001)
    assert lr.StepDecay(0.1, 2, last_epoch=3)() == pytest.approx(0.001)


def test_a_schedule_of_ones_own_defines_get_lr(capsys):
    class Halves(lr.LRScheduler):
        def get_lr(self):
            return self.base_lr / 2**self.last_epoch

    schedule = Halves(0.8, verbose=True)
    schedule.step()
    assert (schedule(), schedule.state_dict()) == (0.4, {"last_epoch": 1, "last_lr": 0.4})
    assert capsys.readouterr().out.splitlines()[1] == "Epoch 1: Halves set learning rate to 0.4."
    with pytest.raises(NotImplementedError, match=r"schedule LRScheduler: expected it to define get_lr\(\)"):
        lr.LRScheduler()


def test_steps_go_by_the_schedule_on_tensors_and_in_programs():
    schedule = lr.ExponentialDecay(0.5, 0.5)
    w = nn.Parameter(np.array([1.0]))
    optimizer = SGD(schedule, parameters=[w])
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        v = static.create_parameter([1], "float64", attr=nn.initializer.Constant(1.0))
        SGD(schedule).minimize(v.sum())
    exe = static.Executor()
    exe.run(startup)
    for expected in (0.5, 0.25, 0.125):
        w.grad = opsdk.to_tensor(np.ones(1))
        optimizer.step()
        exe.run(main)
        assert (w.item(), static.global_scope().lookup(v.name).item()) == (expected, expected)
        schedule.step()
    assert optimizer.get_lr() == 0.0625
    assert len(optimizer._rates) == 2  # of the rate that holds now, however many there were


def test_the_schedule_is_part_of_the_optimizers_state():
    w = nn.Parameter(np.array([1.0]))
    one = SGD(lr.StepDecay(0.1, 1), parameters=[w])
    one._schedule.step()
    state = through_a_file(one.state_dict())
    assert state["LR_Scheduler"] == {"last_epoch": 1, "last_lr": pytest.approx(0.01)}
    other = SGD(lr.StepDecay(0.1, 1), parameters=[w])
    other.set_state_dict(state)
    assert other.get_lr() == one.get_lr()
    other._schedule.step()
    assert other.get_lr() == pytest.approx(0.001)


def test_a_state_with_a_schedule_needs_an_optimizer_with_one():
    state = SGD(lr.StepDecay(0.1, 1), parameters=[]).state_dict()
    plain = SGD(0.3, parameters=[])
    with pytest.raises(StateDictError, match="expected a state without LR_Scheduler, since it has a fixed rate"):
        plain.set_state_dict(state)
    assert plain.get_lr() == 0.3


@pytest.mark.parametrize(
    "state", [{}, 3, {"last_epoch": 1}, {"last_epoch": 0.5, "last_lr": 0.1}, {"last_epoch": 1, "last_lr": "x"}]
)
def test_a_state_of_another_schedule_is_refused(state):
    schedule = lr.StepDecay(0.1, 1)
    with pytest.raises(StateDictError, match="StepDecay, set_state_dict: expected last_epoch, last_lr as state_dict"):
        schedule.set_state_dict(state)
    optimizer = SGD(schedule, parameters=[])
    with pytest.raises(StateDictError):
        optimizer.set_state_dict({"LR_Scheduler": state, "weight_decay": 0.5})
    assert (schedule.last_epoch, optimizer.state_dict()["weight_decay"]) == (0, 0.0)


def test_a_rate_is_not_set_by_hand_where_a_schedule_gives_it():
    optimizer = SGD(lr.StepDecay(0.1, 1), parameters=[])
    with pytest.raises(ScheduleError, match="set_lr: expected an optimizer of a fixed rate, StepDecay") as error:
        optimizer.set_lr(0.5)
    assert isinstance(error.value, RuntimeError)
    optimizer.set_lr_scheduler(lr.ExponentialDecay(0.4, 0.5))
    assert optimizer.get_lr() == 0.4
    with pytest.raises(AttributeValueError, match="set_lr_scheduler: expected an LRScheduler, got float"):
        optimizer.set_lr_scheduler(0.1)


def test_a_schedule_of_a_fixed_length_ends():
    schedule = lr.OneCycleLR(0.1, 2)
    schedule.step()
    schedule.step()
    before = schedule.state_dict()
    with pytest.raises(ScheduleError, match="OneCycleLR: expected at most 2 steps, got step 3; make a longer one"):
        schedule.step()
    assert schedule.state_dict() == before


@pytest.mark.parametrize(
    ("source", "match"),
    [
        ("StepDecay('0.1', 2)", "StepDecay: learning_rate expected a number ≥ 0, got '0.1'"),
        ("StepDecay(.1, 0)", "StepDecay: step_size expected an integer ≥ 1, got 0"),
        ("StepDecay(.1, 2.5)", "StepDecay: step_size expected an integer ≥ 1"),
        ("MultiStepDecay(.1, [4, 2])", "milestones expected a list of steps, each greater than the one before"),
        ("ExponentialDecay(.1, None)", "gamma expected a number, got None"),
        ("PolynomialDecay(.1, 4, power=0)", "power expected a number > 0"),
        ("PiecewiseDecay([2, 4], [.1, .2])", "values expected one more than boundaries, 3, got 2"),
        ("LambdaDecay(.1, .9)", "lr_lambda expected a function of the step, got 0.9"),
        ("OneCycleLR(.1, 4, phase_pct=2)", "phase_pct expected a number from 0 to 1"),
        ("CyclicLR(.1, .5, 2, mode='up')", "mode expected triangular, triangular2 or exp_range, got 'up'"),
        ("ReduceOnPlateau(.1, factor=1.0)", r"factor expected a number in \(0, 1\)"),
        (
            "LinearWarmup(ReduceOnPlateau(.1), 3, 0., .1)",
            "learning_rate expected a number or a schedule of the step",
        ),
    ],
)
def test_arguments_that_are_none_are_refused(source, match):
    with pytest.raises(AttributeValueError, match=match):
        made(source)
