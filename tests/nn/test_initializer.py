import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.nn import init, initializer
from opsdk.ops.initializer import as_param_attr, fans

SHAPE = (200, 300)


def drawn(made, shape=SHAPE, dtype="float64"):
    opsdk.seed(5)
    op, attrs = made.op(shape, dtype)
    return op(**attrs)


def test_constant_fills():
    assert drawn(initializer.Constant(2.0), (2,)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("made", "std"),
    [
        (initializer.Normal(0.0, 3.0), 3.0),
        (initializer.XavierNormal(), np.sqrt(2 / 500)),
        (initializer.XavierNormal(gain=2.0), 2 * np.sqrt(2 / 500)),
        (initializer.XavierNormal(fan_in=10, fan_out=30), np.sqrt(2 / 40)),
        (initializer.KaimingNormal(), np.sqrt(2 / 200)),
        (initializer.KaimingNormal(mode="fan_out", nonlinearity="linear"), np.sqrt(1 / 300)),
        (initializer.KaimingNormal(negative_slope=1.0, nonlinearity="leaky_relu"), np.sqrt(1 / 200)),
        (initializer.KaimingNormal(fan_in=8), np.sqrt(2 / 8)),
    ],
)
def test_normal_values_have_the_spread_that_was_asked_for(made, std):
    values = drawn(made)
    assert values.std() == pytest.approx(std, rel=0.01)
    assert abs(values.mean()) < 0.02 * std


@pytest.mark.parametrize(
    ("made", "low", "high"),
    [
        (initializer.Uniform(2.0, 5.0), 2.0, 5.0),
        (initializer.XavierUniform(), -np.sqrt(6 / 500), np.sqrt(6 / 500)),
        (initializer.KaimingUniform(), -np.sqrt(6 / 200), np.sqrt(6 / 200)),
    ],
)
def test_uniform_values_fill_their_interval(made, low, high):
    values = drawn(made)
    assert low <= values.min() < low + 0.01 * (high - low)
    assert high - 0.01 * (high - low) < values.max() <= high
    assert values.std() == pytest.approx((high - low) / np.sqrt(12), rel=0.01)


def test_assign_gives_values():
    assert drawn(initializer.Assign([[1, 2], [3, 4]]), (2, 2)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(ShapeError, match=r"initializer Assign: expected values of shape \(3,\), got \(2,\)"):
        initializer.Assign([1, 2]).op((3,), "float32")


def test_every_draw_has_a_seed_of_its_own_that_the_global_seed_repeats():
    made = initializer.Normal()
    opsdk.seed(1)
    seeds = [made.op((1,), "float32")[1]["seed"] for _ in range(3)]
    assert len(set(seeds)) == 3
    opsdk.seed(1)
    assert [made.op((1,), "float32")[1]["seed"] for _ in range(3)] == seeds


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((), (1, 1)), ((1000,), (1000, 1000)), ((10, 3), (10, 3)), ((64, 3, 5, 5), (75, 1600))],
)
def test_fans(shape, expected):
    assert fans(shape) == expected


@pytest.mark.parametrize(
    ("name", "param", "gain"),
    [
        ("linear", None, 1),
        ("tanh", None, 5 / 3),
        ("relu", None, 2**0.5),
        ("leaky_relu", 0, 2**0.5),
        ("selu", None, 0.75),
    ],
)
def test_gains(name, param, gain):
    assert initializer.calculate_gain(name, param) == pytest.approx(gain)


def test_initializers_print_and_fill():
    assert repr(initializer.Constant(2.0)) == "Constant(value=2.0)"
    assert repr(initializer.XavierUniform()) == "XavierUniform(gain=1.0)"
    assert repr(initializer.Assign([1.0])) == "Assign(shape=(1,))"
    assert "nonlinearity='relu'" in repr(initializer.KaimingNormal())
    p = nn.Parameter([1.0, 2.0])
    assert initializer.Constant(9.0)(p) is None
    assert p.tolist() == [9.0, 9.0]
    assert not p.stop_gradient


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: initializer.Normal(std=-1), "initializer Normal: std expected ≥ 0, got -1"),
        (lambda: initializer.Uniform(2, 1), r"initializer Uniform: low expected ≤ high, got \[2, 1\)"),
        (lambda: initializer.KaimingNormal(mode="fan"), "KaimingNormal: mode expected fan_in or fan_out, got 'fan'"),
        (
            lambda: initializer.calculate_gain("gelu"),
            "calculate_gain: nonlinearity expected one of linear, .* got 'gelu'",
        ),
    ],
)
def test_wrong_arguments_are_refused(make, text):
    with pytest.raises(AttributeValueError, match=text):
        make()


def test_an_initializer_of_ones_own_says_its_op():
    with pytest.raises(NotImplementedError, match=r"initializer Initializer: expected it to define op\(shape, dtype\)"):
        initializer.Initializer().op((1,), "float32")


def test_a_scaled_initializer_of_ones_own_says_its_spread():
    class Odd(initializer.XavierUniform.__mro__[2]):
        fan_in = None

    with pytest.raises(NotImplementedError, match=r"initializer Odd: expected it to define _std\(fan_in, fan_out\)"):
        Odd().op((2, 2), "float32")


# -- attributes of parameters -----------------------------------------------------------------------------------------


def test_all_forms_of_an_attribute():
    constant = initializer.Constant()
    assert as_param_attr(None) == as_param_attr(True) == nn.ParamAttr()
    assert as_param_attr(False) is None
    assert as_param_attr("w").name == "w"
    assert as_param_attr(constant).initializer is constant
    attr = nn.ParamAttr(learning_rate=2.0)
    assert as_param_attr(attr) is attr


# -- PyTorch's names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda t: init.normal_(t, mean=0.0, std=0.01), 0.01),
        (lambda t: init.xavier_uniform_(t, gain=2.0), 2 * np.sqrt(2 / 500)),
        (lambda t: init.xavier_uniform(t), np.sqrt(2 / 500)),
        (lambda t: init.xavier_normal_(t), np.sqrt(2 / 500)),
        (lambda t: init.kaiming_normal_(t, mode="fan_in", nonlinearity="relu"), np.sqrt(2 / 200)),
        (lambda t: init.kaiming_uniform_(t), np.sqrt(2 / 200)),
        (lambda t: init.uniform_(t, -1.0, 1.0), np.sqrt(1 / 3)),
        (lambda t: init.zeros_(t), 0.0),
    ],
)
def test_tensors_are_filled_in_place(fill, std):
    opsdk.seed(5)
    tensor = nn.Parameter(np.full(SHAPE, 9.0))
    assert fill(tensor) is tensor
    assert tensor.numpy().std() == pytest.approx(std, rel=0.01)
    assert not tensor.stop_gradient


def test_constants_are_filled_in_place():
    assert init.constant_(nn.Parameter([1.0]), val=3).tolist() == [3.0]
    assert init.ones_(nn.Parameter([5.0])).tolist() == [1.0]


def test_a_whole_net_is_initialised_by_name():
    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 1))
    for name, parameter in net.named_parameters():
        if "weight" in name:
            init.constant_(parameter, 0.5)
        elif "bias" in name:
            init.constant_(parameter, 0.1)
    assert net[1].weight.tolist() == [[0.5], [0.5], [0.5]]


def test_a_whole_net_is_initialised_by_apply():
    @opsdk.no_grad()
    def init_weights(module):
        if type(module) is nn.Linear:
            module.weight.fill_(1.0)

    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    net.apply(init_weights)
    assert net[0].weight.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    net[0].weight.data.fill_(0)
    assert not net[0].weight.numpy().any()


@pytest.mark.parametrize("value", ["a", None, [1.0], 1j, 10**400, np.ones(2)])
@pytest.mark.parametrize(
    "make",
    [
        lambda v: initializer.Normal(v),
        lambda v: initializer.Normal(0.0, v),
        lambda v: initializer.Uniform(v),
        lambda v: initializer.Uniform(0.0, v),
        lambda v: initializer.XavierNormal(gain=v),
        lambda v: initializer.KaimingNormal(negative_slope=v),
        lambda v: initializer.XavierUniform(fan_in=[v]),
        lambda v: initializer.KaimingUniform(fan_in=[v]),
    ],
)
def test_what_is_no_number_is_refused(make, value):
    with pytest.raises(AttributeValueError, match=r"initializer .* expected a number, got"):
        make(value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_a_fan_is_above_0(value):
    with pytest.raises(AttributeValueError, match="initializer Xavier: fan_in expected a number above 0 or None, got"):
        initializer.XavierUniform(fan_in=value)
