import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, StateDictError
from opsdk.optimizer import SGD, Adam, AdamW, Momentum


def trained(optimizer, parameters, gradients=(0.5, 1.0, 1.5)):
    found = []
    for gradient in gradients:
        for each in parameters:
            each.grad = opsdk.to_tensor(np.full(each.shape, gradient, each.dtype))
        optimizer.step()
        found.append([each.item() for each in parameters])
    return found


def test_groups_have_settings_of_their_own_as_in_paddle():
    w = [nn.Parameter(np.ones(1)) for _ in range(2)]
    groups = [{"params": [w[0]], "learning_rate": 0.5, "weight_decay": 0.1}, {"params": [w[1]], "beta1": 0.5}]
    found = trained(Adam(0.1, parameters=groups), w)
    expected = [  # of Paddle 3.3.1
        [0.9500000008333334, 0.900000002],
        [0.9012736193716844, 0.7946065637317057],
        [0.8528933861152046, 0.6822176765768488],
    ]
    assert np.allclose(found, expected, rtol=0, atol=1e-12)


def test_settings_of_groups_are_saved_and_put_back():
    w = nn.Parameter(np.ones(1))
    one = Momentum(0.1, parameters=[{"params": [w], "learning_rate": 0.5, "mu": 0.3}])
    other = Momentum(0.1, parameters=[{"params": [w], "learning_rate": 1.0, "mu": 0.9}])
    trained(one, [w])
    other.set_state_dict(one.state_dict())
    assert other.state_dict()["groups"] == [{"learning_rate": 0.5, "weight_decay": None, "mu": 0.3}]
    for state in ([], [{"learning_rate": 0.5}], 3):
        with pytest.raises(StateDictError, match="groups expected the settings of 1 groups as they are here, got"):
            other.set_state_dict({"groups": state})


@pytest.mark.parametrize(
    ("groups", "match"),
    [
        (
            [{"params": [], "rate": 0.1}],
            "a group of parameters expected params, learning_rate, weight_decay, got 'rate'",
        ),
        ([{"weight_decay": 0.1}], "groups of parameters expected a list of dictionaries, each with params, got other"),
        ([{"params": [1]}], "parameter 0: expected a tensor"),
        ([{"params": [], "weight_decay": -1}], "weight_decay expected a number ≥ 0"),
    ],
)
def test_groups_that_are_none_are_refused(groups, match):
    with pytest.raises(AttributeValueError, match=match):
        SGD(0.1, parameters=groups)
    with pytest.raises(AttributeValueError, match=r"beta1 expected in \[0, 1\), got 2"):
        Adam(0.1, parameters=[{"params": [], "beta1": 2.0}])


def test_state_goes_by_the_names_that_a_layer_has_for_its_parameters():
    net = nn.Sequential(("fc", nn.Linear(1, 1)), ("out", nn.Linear(1, 1)))
    optimizer = Momentum(0.1, parameters=net.parameters())
    trained(optimizer, [net.fc.weight])
    assert [key for key in optimizer.state_dict() if "velocity" in key] == ["fc.weight.velocity"]
    groups = [{"params": net.fc.parameters()}, {"params": net.out.parameters(), "learning_rate": 0.1}]
    optimizer = Momentum(0.1, parameters=groups)
    assert list(optimizer.named()) == ["weight", "bias", "2.weight", "3.bias"]


def test_adamw_draws_what_the_function_names_and_goes_at_the_ratio_that_the_other_gives():
    drawn, free = nn.Parameter(np.ones(1), name="w"), nn.Parameter(np.ones(1), name="b")
    ratio = {"w": 1.0, "b": 0.5}
    optimizer = AdamW(
        0.1,
        parameters=[drawn, free],
        weight_decay=0.5,
        apply_decay_param_fun=lambda name: name == "w",
        lr_ratio=lambda param: ratio[param.name],
    )
    ((w, b),) = trained(optimizer, [drawn, free], [1.0])
    assert (w, b) == (pytest.approx(0.95 - 0.1), pytest.approx(1 - 0.05))
    with pytest.raises(AttributeValueError, match="optimizer AdamW: lr_ratio expected a function, got "):
        AdamW(lr_ratio=0.5)


def test_a_state_of_paddles_is_put_in_by_the_parameters_own_names():
    """What Paddle 3.3.1 has of Adam after one step of gradient 1: its powers of β are those of the next step."""
    w = nn.Parameter(np.ones((2, 1), "float32"), name="linear_0.w_0")
    names = ("moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc")
    values = ([[0.1], [0.1]], [[0.001], [0.001]], [0.81], [0.998001])
    state = {f"linear_0.w_0_{name}_0": np.array(v, "float32") for name, v in zip(names, values, strict=True)}
    theirs, ours = Adam(0.1, parameters={"fc.weight": w}), Adam(0.1, parameters={"fc.weight": w})
    theirs.set_state_dict({**state, "StructuredToParameterName@@": {}})
    w.grad = opsdk.ones([2, 1])
    ours.step()
    for key, value in ours.state_dict().items():
        assert np.allclose(theirs.state_dict()[key], value, rtol=1e-6), key


def test_momentum_is_a_fraction():
    with pytest.raises(AttributeValueError, match=r"Momentum: mu expected in \[0, 1\), got 1"):
        Momentum(0.1, 1.0)


def test_an_accumulator_does_not_begin_below_zero():
    with pytest.raises(AttributeValueError, match="Adagrad: initial_accumulator_value expected a number ≥ 0, got -1"):
        opsdk.optimizer.Adagrad(0.1, initial_accumulator_value=-1)
