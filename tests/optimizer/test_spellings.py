"""PyTorch's form of optimizers: the steps, settings and defaults of torch 2.14.1."""

import numpy as np
import pytest

import opsdk
from opsdk import errors, nn, optimizer, static
from opsdk.optimizer import spellings

GRADIENTS = np.array([[0.5, -1.0], [1.0, 0.3], [1.5, -0.2], [-0.7, 0.9], [-0.2, 0.4], [0.9, -0.6]])
# What torch.optim leaves of parameters [1, -2] after these gradients, in float64.
CASES = [
    ("SGD", {"lr": 0.1}, [0.7, -1.98]),
    ("SGD", {"lr": 0.1, "momentum": 0.9}, [-0.021939500000000053, -1.8454139999999997]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, [-0.1526925407940002, -1.521607772712]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}, [-0.21974555000000004, -1.8408726]),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3}, [0.2143584999999999, -1.7512221]),
    ("SGD", {"lr": 0.1, "maximize": True, "weight_decay": 0.1}, [1.232227102896, -1.9008384034919998]),
    ("SGD", {}, [0.9970000000000001, -1.9998]),
    ("Adam", {}, [0.9956310950595944, -1.9984380563981428]),
    (
        "Adam",
        {"lr": 0.1, "betas": (0.8, 0.9), "eps": 0.01, "weight_decay": 0.1},
        [0.5642065528663414, -1.754810557133602],
    ),
    ("Adam", {"lr": 0.1, "betas": (0.9, 0.5), "amsgrad": True, "eps": 0.01}, [0.6229646373473496, -1.8553015112069637]),
    ("AdamW", {"lr": 0.1}, [0.5584414954166612, -1.8325963383117363]),
    (
        "AdamW",
        {"lr": 0.1, "weight_decay": 0.2, "betas": (0.9, 0.5), "amsgrad": True},
        [0.5278346522621202, -1.6393971555256528],
    ),
    ("RMSprop", {}, [0.7339930590786083, -1.9641526904785809]),
    (
        "RMSprop",
        {"lr": 0.1, "alpha": 0.9, "eps": 0.01, "momentum": 0.5, "centered": True, "weight_decay": 0.1},
        [-0.6027210365486126, -1.4790426478741043],
    ),
    ("Adagrad", {}, [0.9734476359279342, -1.9963884625059367]),
    (
        "Adagrad",
        {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1, "initial_accumulator_value": 0.3, "eps": 0.01},
        [0.806931064065496, -1.9096721595327597],
    ),
    ("Adadelta", {}, [0.9881098932930967, -1.9996768341493982]),
    ("Adadelta", {"lr": 0.1, "rho": 0.8, "eps": 0.01, "weight_decay": 0.1}, [0.9140809904800803, -1.9733981687559659]),
    ("Adamax", {}, [0.9932877656361976, -1.9972348241563476]),
    (
        "Adamax",
        {"lr": 0.1, "betas": (0.8, 0.7), "eps": 0.1, "weight_decay": 0.1},
        [0.6326788907884167, -1.7666061432299567],
    ),
    ("NAdam", {}, [0.9934449419961947, -1.9991030735467314]),
    (
        "NAdam",
        {"lr": 0.1, "betas": (0.8, 0.7), "eps": 0.1, "weight_decay": 0.1, "momentum_decay": 0.1},
        [0.6704150728793777, -1.8576866949580855],
    ),
    ("RAdam", {}, [0.9968056276747631, -1.9986278614853767]),
    (
        "RAdam",
        {"lr": 0.1, "betas": (0.8, 0.7), "eps": 0.1, "weight_decay": 0.1},
        [0.592903263844026, -1.7700334039238341],
    ),
    ("Rprop", {}, [0.9708, -1.9875]),
    ("Rprop", {"lr": 0.1, "etas": (0.3, 1.5), "step_sizes": (0.02, 0.3)}, [0.5924999999999999, -1.89]),
]
IDS = [f"{number}-{case[0]}" for number, case in enumerate(CASES)]


def close(name, expected):
    return pytest.approx(expected, abs=1e-8 if name == "NAdam" else 1e-13)  # torch keeps a product of NAdam in float32


@pytest.mark.parametrize(("name", "options", "expected"), CASES, ids=IDS)
def test_steps_are_those_of_torch(name, options, expected):
    w = nn.Parameter(np.array([1.0, -2.0]))
    made = getattr(optimizer, name)([w], **options)
    for gradient in GRADIENTS:
        w.grad = opsdk.to_tensor(gradient)
        made.step()
    assert w.tolist() == close(name, expected)


@pytest.mark.parametrize(("name", "options", "expected"), [case for case in CASES if "lr" in case[1]])
def test_steps_of_a_program_are_those_of_torch(name, options, expected):
    main, startup = static.Program(), static.Program()
    with static.program_guard(main, startup):
        x = static.data("x", [2], "float64")
        start = nn.initializer.Assign(np.array([1.0, -2.0]))
        w = static.create_parameter([2], "float64", attr=static.ParamAttr(initializer=start))
        getattr(optimizer, name)(**options).minimize((w * x).sum())
    exe, scope = static.Executor(), static.Scope()
    exe.run(startup, scope=scope)
    for gradient in GRADIENTS:
        exe.run(main, feed={"x": gradient}, scope=scope)
    assert scope.lookup(w.name).tolist() == close(name, expected)


def test_the_table_is_of_optimizers_that_there_are():
    assert {case[0] for case in CASES} == {*spellings.FORMS}
    assert "In PyTorch's form: `SGD(params, lr=0.001, momentum=0.0" in optimizer.SGD.__doc__


def parameter():
    return nn.Parameter(np.ones(1))


@pytest.mark.parametrize(
    "make",
    [
        lambda w: optimizer.SGD([w], 0.1, 0.9),
        lambda w: optimizer.SGD((each for each in [w]), lr=0.1, momentum=0.9, foreach=True, fused=None),
        lambda w: optimizer.SGD(lr=0.1, params=iter([{"params": [w]}]), momentum=0.9),
        lambda w: optimizer.SGD([("w", w)], learning_rate=0.1, momentum=0.9),
        lambda w: optimizer.SGD([{"params": w, "momentum": 0.9}], lr=0.1),
        lambda w: optimizer.SGD([{"params": [w], "lr": 0.1, "momentum": 0.9}], lr=0.5),
    ],
)
def test_parameters_come_first_as_any_iterable_or_by_name(make):
    w = parameter()
    made = make(w)
    for _ in range(2):
        w.grad = opsdk.ones([1], dtype="float64")
        made.step()
    assert w.item() == pytest.approx(1 - 0.1 - 0.19)
    assert [group["lr"] for group in made.param_groups] == [0.1]
    assert [group["momentum"] for group in made.param_groups] == [0.9]


def test_param_groups_show_what_holds_in_torchs_words():
    a, b = parameter(), parameter()
    made = optimizer.Adam([{"params": [a]}, {"params": b, "lr": 0.5, "betas": (0.5, 0.6), "name": "head"}], lr=0.1)
    first, second = made.param_groups
    assert dict(first) == {"params": [a], "lr": 0.1, "weight_decay": 0.0, "betas": (0.9, 0.999), "eps": 1e-08}
    assert dict(second) == {**first, "params": [b], "lr": 0.5, "betas": (0.5, 0.6), "name": "head"}
    assert len(second) == 6
    assert repr(first) == "ParamGroup(1 parameters, lr=0.1, weight_decay=0.0, betas=(0.9, 0.999), eps=1e-08)"
    assert list(optimizer.Adadelta([a]).param_groups[0]) == ["params", "lr", "weight_decay", "eps", "rho"]
    assert list(optimizer.RMSprop([a]).param_groups[0])[3:] == ["alpha", "eps", "momentum", "centered"]


def test_what_is_written_into_param_groups_holds_from_then_on():
    a, b = parameter(), parameter()
    made = optimizer.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=0.1)
    whole = optimizer.SGD([parameter()], lr=0.1, momentum=0.9)
    for group in (*made.param_groups, *whole.param_groups):
        group["lr"] = 0.25
        group["weight_decay"] = 1.0
    whole.param_groups[0]["momentum"] = 0.5
    assert (whole.get_lr(), whole.state_dict()["mu"]) == (0.25, 0.5)
    for each in (a, b):
        each.grad = opsdk.ones([1], dtype="float64")
    made.step()
    assert (a.item(), b.item()) == (0.5, 0.5)  # 1 - 0.25 (1 + 1)
    other = optimizer.SGD([{"params": [parameter()]}, {"params": [parameter()], "lr": 0.5}], lr=0.1)
    other.load_state_dict(made.state_dict())
    assert [(group["lr"], group["weight_decay"]) for group in other.param_groups] == [(0.25, 1.0)] * 2


def test_a_group_is_added_with_settings_of_its_own():
    a, b = parameter(), parameter()
    made = optimizer.SGD([a], lr=0.1)
    made.add_param_group({"params": b, "lr": 0.5})
    for each in (a, b):
        each.grad = opsdk.ones([1], dtype="float64")
    made.step()
    assert (a.item(), b.item()) == (0.9, 0.5)
    assert [group["params"] for group in made.param_groups] == [[a], [b]]
    match = "SGD, add_param_group: expected parameters that it does not have, got '0'"
    with pytest.raises(errors.AttributeValueError, match=match):
        made.add_param_group({"params": [parameter(), a]})
    with pytest.raises(
        errors.AttributeValueError, match="add_param_group: expected a dictionary with params, got list"
    ):
        made.add_param_group([parameter()])
    assert len(made.param_groups) == 2


def test_a_schedule_changes_the_rates_of_groups_as_in_torch():
    made = optimizer.SGD([{"params": [parameter()]}, {"params": [parameter()], "lr": 0.5}], lr=0.1)
    schedule = optimizer.lr.CosineAnnealingLR(made, 4, eta_min=0.05)
    for _ in range(2):
        schedule.step()
    assert [group["lr"] for group in made.param_groups] == pytest.approx([0.075, 0.275])  # halfway to 0.05
    assert schedule.get_last_lr() == [group["lr"] for group in made.param_groups]

    class Halved(optimizer.lr.LRScheduler):
        def get_lr(self):
            return self.last_lr / 2

    made.set_lr_scheduler(Halved(0.1))
    with pytest.raises(
        errors.ScheduleError, match="Halved: expected an optimizer whose groups have no lr of their own"
    ):
        made.param_groups[1]["lr"]


def test_a_closure_makes_the_gradients_of_its_step():
    w = parameter()
    made = optimizer.SGD([w], lr=0.1)

    def closure():
        made.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    with opsdk.no_grad():
        assert made.step(closure).item() == 1.0
    assert w.item() == pytest.approx(0.8)
    assert made.step() is None


def refused(make, match, error=errors.AttributeValueError):
    return pytest.param(make, match, error, id=match[:30])


@pytest.mark.parametrize(
    ("make", "match", "error"),
    [
        refused(lambda w: optimizer.SGD([]), "SGD: parameters expected at least one, got none; a generator is empty"),
        refused(lambda w: optimizer.SGD(w), "parameters expected a list of them, got one Parameter"),
        refused(lambda w: optimizer.Adam([w], betas=0.9), "Adam: betas expected a pair of numbers, got 0.9"),
        refused(lambda w: optimizer.Adam([w], betas=(0.9, 1.0)), r"beta2 expected in \[0, 1\), got 1"),
        refused(
            lambda w: optimizer.AdamW([w], lr=opsdk.ones([1])), "AdamW: learning_rate expected a number ≥ 0, got T"
        ),
        refused(lambda w: optimizer.Adam([w], differentiable=True), "differentiable expected False, got True"),
        refused(lambda w: optimizer.Adam([w], 0.1, lr=0.2), "Adam: expected one value of lr, got two", TypeError),
        refused(
            lambda w: optimizer.SGD([w], *range(6)), "expected at most 6 arguments, params, lr, momentum", TypeError
        ),
        refused(lambda w: optimizer.SGD([w], lr=0.1, nesterov=True), "nesterov expected a momentum, and no dampening"),
        refused(lambda w: optimizer.SGD([{"params": [w]}, {"params": [w]}]), "each parameter in one group, got '0'"),
        refused(lambda w: optimizer.SGD([{"params": [w], "rate": 1}]), "lr a rate, as in PyTorch"),
        refused(lambda w: optimizer.SGD([{"params": [w], "lr": 1.0, "learning_rate": 0.5}]), "a rate, got both"),
        refused(lambda w: optimizer.Adam([{"params": [w], "betas": 0.5}]), "group: betas expected 2 numbers, got 0.5"),
        refused(lambda w: optimizer.Rprop([{"params": [w], "lr": 0.5}]), "Rprop: lr expected of all parameters alike"),
    ],
)
def test_what_is_no_optimizer_in_torchs_form_is_refused(make, match, error):
    with pytest.raises(error, match=match):
        make(parameter())


def test_a_setting_that_cannot_be_changed_is_refused():
    w = parameter()
    group = optimizer.Adam([w], lr=0.1).param_groups[0]
    for key in ("params", "momentum"):
        with pytest.raises(errors.AttributeValueError, match=f"param_groups: expected .*to change, got '{key}'"):
            group[key] = 0.5
    with pytest.raises(errors.AttributeValueError, match=r"beta1 expected in \[0, 1\), got 2"):
        group["betas"] = (2.0, 0.5)
    assert group["betas"] == (0.9, 0.999)
    with pytest.raises(TypeError, match="param_groups: a setting can be changed, not deleted"):
        del group["lr"]
    made = optimizer.SGD([{"params": [w], "lr": 0.5}], lr=0.1)
    optimizer.lr.StepLR(made, 2)
    with pytest.raises(errors.ScheduleError, match="param_groups: expected an optimizer of a fixed rate, StepLR gives"):
        made.param_groups[0]["lr"] = 0.2


def test_programs_have_one_rate_and_keep_their_numbers():
    main, startup = static.Program(), static.Program()
    w = parameter()
    with static.program_guard(main, startup):
        loss = (static.data("x", [1], "float64") * w).sum()
        match = "expected learning_rate, a factor on the one rate of the Program, got lr=0.5"
        with pytest.raises(errors.ProgramError, match=match):
            optimizer.SGD([{"params": [w], "lr": 0.5}], lr=0.1).minimize(loss)
        made = optimizer.SGD([w], lr=0.1)
        made.minimize(loss)
    with pytest.raises(errors.ProgramError, match=r"expected 'weight_decay' as Programs were built with it, got 0\.5"):
        made.param_groups[0]["weight_decay"] = 0.5
    with pytest.raises(errors.ProgramError, match="add_param_group: expected no Program"):
        made.add_param_group({"params": [parameter()]})


def test_optim_is_torchs_name_for_the_optimizers_and_their_schedules():
    from opsdk import optim
    from opsdk.optim.lr_scheduler import StepLR

    assert opsdk.optim is optim
    assert (optim.SGD, optim.lr_scheduler.StepLR) == (optimizer.SGD, optimizer.lr.StepLR)
    assert StepLR is optimizer.lr.StepLR
