import io
import math
from functools import partial

import numpy as np
import pytest

import opsdk
from opsdk import errors, nn, optim, static
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

# The rates of torch 2.14.1, of an optimizer of rate 0.5.
OF_TORCH = {
    "LinearLR": (
        lambda o: lr.LinearLR(o, start_factor=0.2, total_iters=3),
        [0.1, 0.233333333333333, 0.366666666666667, 0.5, 0.5],
    ),
    "OneCycleLR": (
        lambda o: lr.OneCycleLR(o, max_lr=1.0, total_steps=8, cycle_momentum=False),
        [0.04, 0.819275104892192, 0.971941777387523, 0.811745653949763, 0.555984014122702, 0.283060998208699],
    ),
    "OneCycleLR, lines": (
        lambda o: lr.OneCycleLR(o, 1.0, None, 2, 5, 0.4, "linear", False, three_phase=True, div_factor=10.0),
        [0.1, 0.4, 0.7, 1.0, 0.7, 0.4, 0.1],
    ),
    "CyclicLR": (
        lambda o: lr.CyclicLR(o, 0.1, 1.0, 2, 3, "exp_range", gamma=0.9, cycle_momentum=False),
        [0.1, 0.505, 0.829, 0.5374, 0.29683, 0.1, 0.33914845, 0.53046721],
    ),
    "CosineAnnealingWarmRestarts": (
        lambda o: lr.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=0.05),
        [0.5, 0.3875, 0.1625, 0.5, 0.469855715851499, 0.3875, 0.275, 0.1625],
    ),
    "SequentialLR": (
        lambda o: lr.SequentialLR(
            o,
            [lr.LinearLR(o, start_factor=0.1, total_iters=3), lr.CosineAnnealingLR(o, 5, eta_min=0.01)],
            milestones=[3],
        ),
        [0.05, 0.2, 0.35, 0.5, 0.453209163621862, 0.330709163621862, 0.179290836378138, 0.056790836378138],
    ),
    "SequentialLR, of three": (
        lambda o: lr.SequentialLR(
            o, schedulers=[lr.ConstantLR(o, 0.5, 2), lr.ExponentialLR(o, 0.9), lr.StepLR(o, 2)], milestones=[2, 5]
        ),
        [0.25, 0.25, 0.5, 0.45, 0.405, 0.5, 0.5, 0.05],
    ),
    "ChainedScheduler": (
        lambda o: lr.ChainedScheduler([lr.LinearLR(o, total_iters=3), lr.StepLR(o, 2), lr.PolynomialLR(o, 20)]),
        [0.166666666666667, 0.263888888888889, 0.035, 0.0425, 0.004, 0.00375, 0.00035, 0.000325],
    ),
}
CASES |= OF_TORCH


@pytest.mark.parametrize("name", CASES)
def test_an_optimizer_goes_by_the_schedule_that_is_made_of_it(name):
    made, (make, rates) = optimizer(), CASES[name]
    schedule = make(made)
    assert type(schedule).__name__ == name.partition(",")[0]
    assert made.schedule is schedule
    for rate in rates:
        assert made.get_lr() == pytest.approx(rate, rel=1e-12, abs=1e-15)
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


def stepped(kind, make, steps=6, **options):
    """Returns parameters after some steps of a schedule, and the momenta that there were."""
    w = nn.Parameter(np.ones(1))
    made = getattr(optim, kind)([w], lr=0.5, **options)
    schedule, found = make(made), []
    for step in range(steps):
        w.grad = opsdk.to_tensor(np.sin([step + 1.0]))
        found.append(made.param_groups[0]["momentum" if kind == "SGD" else "betas"])
        made.step()
        schedule.step()
    return w.item(), found


# torch 2.14.1's parameter after eight steps.
@pytest.mark.parametrize(
    ("kind", "make", "expected"),
    [
        ("SGD", lambda o: lr.OneCycleLR(o, max_lr=1.0, total_steps=8), -1.909438721467617),
        ("AdamW", lambda o: lr.OneCycleLR(o, max_lr=1.0, total_steps=8), -0.05779782313204126),
        ("SGD", lambda o: lr.CyclicLR(o, 0.1, 1.0, step_size_up=3), -0.8913888087807512),
        ("AdamW", lambda o: lr.CyclicLR(o, 0.1, 1.0, step_size_up=3), 0.5099266188100724),
    ],
)
def test_a_cycle_takes_momentum_along_as_in_torch(kind, make, expected):
    found, momenta = stepped(kind, make, 8, **({"momentum": 0.5} if kind == "SGD" else {}))
    assert found == pytest.approx(expected, rel=1e-12)
    assert len(set(momenta)) > 3


def test_a_momentum_that_there_is_not_cannot_be_cycled():
    match = "SGD: expected a momentum or betas for OneCycleLR to cycle, has none; make it with momentum="
    made = optimizer()
    with pytest.raises(errors.AttributeValueError, match=match):
        lr.OneCycleLR(made, max_lr=1.0, total_steps=8)
    assert made.schedule is None
    with static.program_guard(static.Program(), static.Program()):
        w = nn.Parameter(np.ones(1))
        built = SGD([w], lr=0.1, momentum=0.9)
        loss = (static.data("x", [1], "float64") * w).sum()
        built.minimize(loss)
        with pytest.raises(
            errors.ProgramError, match="a Program has its momentum as a number, got CyclicLR, which cycles"
        ):
            lr.CyclicLR(built, 0.1, 0.2)
        cycled = SGD([w], lr=0.1, momentum=0.9)
        lr.CyclicLR(cycled, 0.1, 0.2)
        with pytest.raises(
            errors.ProgramError, match="a Program has its momentum as a number, got CyclicLR, which cycles"
        ):
            cycled.minimize((static.data("y", [1], "float64") * w).sum())


def test_a_schedule_that_another_one_took_the_place_of_says_so():
    made = optimizer()
    first = lr.StepLR(made, 2)
    second = lr.ExponentialLR(made, 0.5)
    assert made.get_lr() == 0.5  # of what the optimizer began with
    with pytest.raises(
        errors.ScheduleError, match="StepLR, step: expected a schedule that an optimizer goes by, got one"
    ):
        first.step()
    second.step()
    assert made.get_lr() == 0.25


def test_groups_that_start_from_rates_of_their_own_go_by_what_follows_one_another():
    made = optim.SGD(
        [{"params": [nn.Parameter(np.ones(1))]}, {"params": [nn.Parameter(np.ones(1))], "lr": 0.1}], lr=0.5
    )
    schedule = OF_TORCH["SequentialLR"][0](made)
    for _ in range(4):
        schedule.step()
    assert schedule.get_last_lr() == pytest.approx(
        [0.453209163621862, 0.0914057669751688]
    )  # 0.01 + 0.09 (1 + cos π/5) / 2
    one = optim.SGD([{"params": [nn.Parameter(np.ones(1))]}, {"params": [nn.Parameter(np.ones(1))], "lr": 0.1}], lr=0.5)
    plateau = lr.ReduceLROnPlateau(one, patience=0)
    for loss in (1.0, 2.0):
        plateau.step(loss)
    assert plateau.get_last_lr() == pytest.approx([0.05, 0.01])
    least = lr.ReduceLROnPlateau(one, min_lr=0.01)
    with pytest.raises(
        errors.ScheduleError, match=r"expected min_lr=0 where groups have an lr of their own, got 0\.01"
    ):
        least.get_last_lr()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda o: lr.SequentialLR(o, [lr.StepLR(o, 2)] * 2, []), r"milestones expected 1 growing steps, .* got \[\]"),
        (
            lambda o: lr.SequentialLR(o, [lr.StepLR(o, 2)] * 3, [2, 1]),
            "milestones expected 2 growing steps, at which the next of 3 schedules begins",
        ),
        (lambda o: lr.SequentialLR(o, [], []), "SequentialLR: schedulers expected a list of schedules, and none of R"),
        (lambda o: lr.SequentialLR(o, [lr.ReduceLROnPlateau(o)], []), "none of ReduceOnPlateau, got ReduceLROnPlateau"),
        (
            lambda o: lr.SequentialLR(o, [lr.StepLR(o, 2), lr.MultiplicativeLR(o, float)], [1]),
            "SequentialLR: expected MultiplicativeLR first, since it goes on from the rate before it",
        ),
        (
            lambda o: lr.ChainedScheduler([lr.LambdaLR(o, float)]),
            "ChainedScheduler: schedulers expected .* got LambdaLR",
        ),
        (lambda o: lr.ChainedScheduler([lr.CosineAnnealingLR(o, 2, 0.1)]), "got a cosine with eta_min above 0"),
        (lambda o: lr.ChainedScheduler([lr.StepDecay(0.1, 2)]), "ChainedScheduler: optimizer expected one of opsdk"),
        (
            lambda o: lr.OneCycleLR(o, 1.0),
            "OneCycleLR: expected total_steps, or epochs and steps_per_epoch, got neither",
        ),
        (lambda o: lr.CyclicLR(o, [0.1], 0.2), "CyclicLR, base_lr: learning_rate expected a number ≥ 0"),
    ],
)
def test_what_cannot_be_joined_is_refused(make, match):
    with pytest.raises(errors.AttributeValueError, match=match):
        make(optimizer())


def test_a_name_of_both_libraries_says_both_forms():
    assert "In PyTorch's form: `LinearLR(optimizer, start_factor: 'float' =" in lr.LinearLR.__doc__
    assert lr.LinearLR(0.5, 5).last_lr == lr.LinearLR(optimizer=optimizer(), total_iters=5).last_lr == 0.5 / 3


# Made of a rate in Paddle's form, of the optimizer in PyTorch's: every schedule that there is.
RESUMED = {
    "CosineAnnealingDecay": lambda o: lr.CosineAnnealingDecay(0.5, 4),
    "ExponentialDecay": lambda o: lr.ExponentialDecay(0.5, 0.9),
    "InverseTimeDecay": lambda o: lr.InverseTimeDecay(0.5, 0.9),
    "LambdaDecay": lambda o: lr.LambdaDecay(0.5, lambda t: 1 / (1 + t)),
    "LinearWarmup": lambda o: lr.LinearWarmup(lr.StepDecay(0.5, 2), 4, 0.1, 0.5),
    "MultiStepDecay": lambda o: lr.MultiStepDecay(0.5, [2, 4]),
    "MultiplicativeDecay": lambda o: lr.MultiplicativeDecay(0.5, lambda t: 0.9),
    "NaturalExpDecay": lambda o: lr.NaturalExpDecay(0.5, 0.1),
    "NoamDecay": lambda o: lr.NoamDecay(16, 3),
    "PiecewiseDecay": lambda o: lr.PiecewiseDecay([2, 4], [0.5, 0.3, 0.1]),
    "PolynomialDecay": lambda o: lr.PolynomialDecay(0.5, 5),
    "ReduceOnPlateau": lambda o: lr.ReduceOnPlateau(0.5, patience=0, cooldown=1),
    "StepDecay": lambda o: lr.StepDecay(0.5, 2),
    "ReduceLROnPlateau": lambda o: lr.ReduceLROnPlateau(o, patience=0, cooldown=1),
    **{name: make for name, (make, _) in CASES.items() if "Cycl" not in name},
    "OneCycleLR": lambda o: lr.OneCycleLR(o, 1.0, 8),
    "CyclicLR": lambda o: lr.CyclicLR(o, 0.1, 1.0, 3),
}


def test_the_table_has_every_schedule():
    assert {name.partition(",")[0] for name in RESUMED} == {*lr.__all__} - {"LRScheduler", "Schedule"}


@pytest.mark.parametrize("name", RESUMED)
def test_resumed_training_equals_uninterrupted_training(name):
    def begun():
        w = nn.Parameter(np.array([1.0, -2.0]))
        made = optim.Adam([("w", w)], lr=0.5)
        schedule = RESUMED[name](made)
        if made.schedule is not schedule:
            made.set_lr_scheduler(schedule)
        return w, made, schedule

    def train(w, made, schedule, steps):
        def closure(step):
            w.grad = opsdk.to_tensor(np.sin([step + 1.0, step - 2.0]))
            return float(step % 3)

        for step in steps:
            loss = made.step(partial(closure, step))
            schedule.step(*([loss] if "Plateau" in name else []))

    whole = begun()
    train(*whole, range(3))
    file = io.BytesIO()
    opsdk.save({"w": whole[0], "optimizer": whole[1].state_dict()}, file)
    train(*whole, range(3, 7))
    resumed, state = begun(), opsdk.load(file)
    resumed[0].data = state["w"]
    resumed[1].load_state_dict(state["optimizer"])
    train(*resumed, range(3, 7))
    assert whole[0].numpy().tobytes() == resumed[0].numpy().tobytes()
    assert whole[2].state_dict() == resumed[2].state_dict()
