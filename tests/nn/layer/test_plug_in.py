import copy

import numpy as np
import pytest

import opsdk
from opsdk import errors, nn


def net_and_calls():
    calls = []
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2))
    return net, calls, lambda y: calls.append(tuple(y.shape)) or y * 2.0


def test_a_plug_gets_the_input_or_the_output_of_its_layer():
    net, calls, plug = net_and_calls()
    x = opsdk.ones([1, 2])
    plain = net(x).numpy()
    with nn.PlugIn(net, {"0": plug}, at="input") as plugged:
        plugged(x)
    with nn.PlugIn(net, [("0", plug), ("", plug, "input"), (net[2], plug)]) as plugged:
        plugged(x)
    assert calls == [(1, 2), (1, 2), (1, 3), (1, 2)]
    np.testing.assert_array_equal(net(x).numpy(), plain)
    assert len(calls) == 4


def test_what_was_removed_stays_away_while_the_net_trains():
    net, calls, plug = net_and_calls()
    plugged = nn.PlugIn(net, {"1": plug})
    plugged.remove()
    plugged.train()(opsdk.ones([1, 2]))
    assert calls == []
    assert plugged.training


def test_a_plug_is_off_where_the_layer_that_it_is_put_into_is_evaluated():
    net, calls, plug = net_and_calls()
    plugged = nn.PlugIn(net, {"1": plug})
    net.eval()
    plugged(opsdk.ones([1, 2]))
    assert calls == []


def test_it_begins_in_the_mode_of_the_net():
    net, calls, plug = net_and_calls()
    plugged = nn.PlugIn(net.eval(), {"1": plug})
    plugged(opsdk.ones([1, 2]))
    assert (plugged.training, calls) == (False, [])


def test_plugs_with_parameters_are_trained_and_saved_behind_those_of_the_net():
    net, _, _ = net_and_calls()
    plugged = nn.PlugIn(net, {"1": nn.Linear(3, 3), "2": nn.Dropout(0.5)})
    names = ["0.weight", "0.bias", "2.weight", "2.bias", "plugs.0.weight", "plugs.0.bias"]
    assert [name for name, _ in plugged.named_parameters()] == list(plugged.state_dict()) == names
    assert [name for name, _ in nn.Sequential(plugged).named_parameters()] == [f"0.{name}" for name in names]
    (plugged(opsdk.ones([1, 2])) * 1.0).sum().backward()
    assert plugged.plugs[0].bias.grad is not None


def test_attributes_of_the_net_are_read_through_it_and_a_name_that_is_none_is_said():
    net, _, plug = net_and_calls()
    net.classes = 7
    plugged = nn.PlugIn(net, {"1": plug})
    assert plugged.classes == 7
    with pytest.raises(AttributeError, match="no attribute 'clases'"):
        plugged.clases  # noqa: B018 - to read it is the test


def test_a_copy_has_plugs_of_its_own():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    plugged = nn.PlugIn(net, {"1": nn.Dropout(1.0)})
    other = copy.deepcopy(plugged)
    plugged.eval()
    assert (other(opsdk.ones([1, 2])).numpy() == 0).all()
    other.eval()
    np.testing.assert_array_equal(other(opsdk.ones([1, 2])).numpy(), plugged(opsdk.ones([1, 2])).numpy())


def test_it_prints_where_plugs_are():
    net, _, _ = net_and_calls()
    text = repr(nn.PlugIn(net, [("0", nn.Dropout(0.1)), ("", nn.ReLU(), "input")]))
    assert text.splitlines()[0] == "PlugIn(output of 0, input of the net"


def test_it_works_on_variables_of_a_program():
    net, _, _ = net_and_calls()
    with nn.PlugIn(net, {"": nn.Dropout(1.0)}) as plugged:
        main = opsdk.static.Program()
        with opsdk.static.program_guard(main, opsdk.static.Program()):
            y = plugged.plugs[0](opsdk.static.data("x", [2]))
    (made,) = opsdk.static.Executor().run(main, feed={"x": np.ones(2, np.float32)}, fetch_list=[y])
    assert made.tolist() == [0.0, 0.0]


NET = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
WRONG = {
    "no net": (lambda: nn.PlugIn(len, {}), errors.AttributeValueError, "PlugIn: model expected a Layer, got builtin"),
    "no layer": (
        lambda: nn.PlugIn(NET, {"9": nn.ReLU()}),
        errors.AttributeValueError,
        "a place expected a layer of the net or its name, 0, 1; got '9'",
    ),
    "another's layer": (
        lambda: nn.PlugIn(NET, {nn.ReLU(): nn.ReLU()}),
        errors.AttributeValueError,
        "got a ReLU that is none of them",
    ),
    "no plug": (lambda: nn.PlugIn(NET, {"1": 0.3}), errors.HookError, "a plug expected a layer or a function, got flo"),
    "no end": (lambda: nn.PlugIn(NET, {}, at="x").at, AttributeError, "no attribute 'at'"),
}


@pytest.mark.parametrize(("call", "kind", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_and_no_hook_stays(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
    assert [len(layer._post_hooks) for layer in NET] == [0, 0]
