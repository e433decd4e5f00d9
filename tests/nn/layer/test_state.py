from collections import OrderedDict

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError, StateDictError


def net():
    made = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    made.register_buffer("seen", opsdk.to_tensor([0]))
    return made


def arrays(layer):
    return {name: value.numpy() for name, value in layer.state_dict().items()}


def test_state_dict_holds_the_live_tensors_in_order():
    layer = net()
    state = layer.state_dict()
    assert isinstance(state, OrderedDict)
    assert list(state) == ["seen", "0.weight", "0.bias", "2.weight", "2.bias"]
    assert state["0.weight"] is layer[0].weight


def test_state_dict_options():
    layer, mine = net(), {}
    assert layer.state_dict(mine, structured_name_prefix="net.") is mine
    assert list(mine)[:2] == ["net.seen", "net.0.weight"]
    assert list(layer.state_dict(include_sublayers=False)) == ["seen"]
    kept = layer.state_dict(keep_vars=False)["0.weight"]
    assert kept.stop_gradient
    assert np.shares_memory(kept, layer[0].weight)


def test_a_layer_without_parameters_has_an_empty_state():
    assert nn.ReLU().state_dict() == {}


def test_a_state_hook_edits_the_state_on_its_way_out():
    layer = nn.Linear(1, 1)
    handle = layer.register_state_dict_hook(lambda state: {"renamed": state["weight"]})
    assert list(layer.state_dict()) == ["renamed"]
    assert list(layer.state_dict(use_hook=False)) == ["weight", "bias"]
    handle.remove()
    layer.register_state_dict_hook(lambda state: state.popitem() and None)
    assert list(layer.state_dict()) == ["weight"]


@pytest.mark.parametrize("load", ["set_state_dict", "set_dict", "load_dict", "load_state_dict"])
@pytest.mark.parametrize("as_arrays", [True, False])
def test_a_state_goes_into_another_layer(load, as_arrays):
    source, target = net(), net()
    state = arrays(source) if as_arrays else source.state_dict()
    assert getattr(target, load)(state) == ([], [])
    assert all((arrays(target)[name] == value).all() for name, value in arrays(source).items())
    assert target[0].weight is not source[0].weight
    target[0].weight.set_value(np.zeros((2, 3)))
    assert source[0].weight.numpy().any()


def test_the_dtype_is_converted():
    target = nn.Linear(1, 1)
    target.set_state_dict({"weight": np.array([[2.0]]), "bias": [3]})
    assert (target.weight.dtype, target.weight.tolist(), target.bias.tolist()) == (np.float32, [[2.0]], [3.0])


def test_missing_and_unexpected_names_are_returned():
    layer = nn.Linear(1, 1)
    assert layer.set_state_dict({"weight": [[1.0]], "other": [1.0]}) == (["bias"], ["other"])
    found = layer.load_state_dict({"weight": [[1.0]], "other": [1.0]}, strict=False)
    assert (found.missing_keys, found.unexpected_keys) == (["bias"], ["other"])


def test_strict_loading_refuses_other_names_and_copies_nothing():
    layer = nn.Linear(1, 1)
    before = arrays(layer)
    with pytest.raises(
        StateDictError,
        match="load_state_dict: expected exactly the keys of Linear, missing: bias; unexpected: other; pass strict=F",
    ) as caught:
        layer.load_state_dict({"weight": [[9.0]], "other": [1.0]})
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.details == {"missing": ["bias"], "unexpected": ["other"], "wrong_shape": []}
    assert (arrays(layer)["weight"] == before["weight"]).all()


@pytest.mark.parametrize("load", ["set_state_dict", "load_state_dict"])
def test_another_shape_is_refused_and_nothing_copied(load):
    layer = nn.Linear(1, 1)
    before = arrays(layer)
    with pytest.raises(ShapeError, match=rf"{load}, 'bias': expected shape \(1,\), got \(2,\)"):
        getattr(layer, load)({"weight": [[9.0]], "bias": [1.0, 2.0]})
    assert (arrays(layer)["weight"] == before["weight"]).all()


def test_what_is_no_state_is_refused():
    layer = nn.Linear(1, 1)
    with pytest.raises(AttributeValueError, match="set_state_dict: expected a mapping from names to tensors, got list"):
        layer.set_state_dict([1])
    with pytest.raises(AttributeValueError, match="set_state_dict, 'bias': expected a tensor or array, got str"):
        layer.set_state_dict({"bias": "text"})
    with pytest.raises(
        AttributeValueError, match="load_state_dict: assign expected False, got True; values are always"
    ):
        layer.load_state_dict({}, assign=True)


def test_own_names_may_be_the_keys():
    source = nn.Linear(1, 1)
    state = {parameter.name: parameter.numpy() + 1 for parameter in source.parameters()}
    assert source.set_state_dict(state, use_structured_name=False) == ([], [])
    assert source.bias.tolist() == [1.0]


def test_the_name_table_of_paddles_files_is_no_parameter():
    layer = nn.Linear(1, 1)
    state = {**arrays(layer), "StructuredToParameterName@@": {"weight": "linear_0.w_0"}}
    assert layer.set_state_dict(state) == ([], [])


def test_a_buffer_without_values_is_no_state_until_it_has_some():
    class Saving(nn.Layer):
        def __init__(self):
            super().__init__()
            self.register_buffer("last", self.create_tensor("last"))

    layer = Saving()
    assert layer.state_dict() == {}
    assert layer.load_state_dict({}) == ([], [])
    layer.load_state_dict({"last": np.ones((2, 2))})
    assert layer.last.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_loading_makes_an_old_graph_unusable_rather_than_wrong():
    layer = nn.Linear(1, 1)
    x = opsdk.to_tensor([[1.0]], stop_gradient=False)
    loss = layer(x)
    layer.set_state_dict({"weight": [[5.0]]})
    with pytest.raises(opsdk.core.errors.VersionError):
        loss.backward()


def test_values_that_a_buffer_does_not_hold_are_refused_and_nothing_is_copied():
    layer = net()
    before = arrays(layer)
    state = {**arrays(net()), "seen": np.array([1.5])}
    with pytest.raises(DTypeError, match=r"set_state_dict, 'seen': expected whole numbers that int64 holds, .*got 1.5"):
        layer.set_state_dict(state)
    for name, value in arrays(layer).items():
        np.testing.assert_array_equal(value, before[name])


@pytest.mark.parametrize("taken", [lambda t: t, lambda t: t.numpy(), lambda t: t.detach()])
def test_a_state_may_hold_the_layers_own_tensors_under_other_names(taken):
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2))
    before = [layer.weight.numpy().copy() for layer in net]
    state = {f"{(i + 1) % 3}.weight": taken(layer.weight) for i, layer in enumerate(net)}
    net.set_state_dict(state)
    assert [layer.weight.tolist() for layer in net] == [before[i - 1].tolist() for i in range(3)]


def test_a_parameter_of_two_names_is_given_one_value():
    shared = nn.Linear(1, 1, bias_attr=False)
    tied = nn.Sequential(shared, shared)
    tied.set_state_dict({name: np.full((1, 1), np.nan, "float32") for name in ("0.weight", "1.weight")})
    one, two = np.ones((1, 1), "float32"), np.full((1, 1), 2.0, "float32")
    with pytest.raises(StateDictError, match=r"expected one value for '0.weight' and '1.weight', which are one param"):
        tied.set_state_dict({"0.weight": one, "1.weight": two})
    assert np.isnan(shared.weight.item())
    tied.set_state_dict({"1.weight": two})
    assert shared.weight.item() == 2.0


def test_an_array_of_a_dtype_that_no_tensor_has_is_refused_by_its_dtype():
    with pytest.raises(DTypeError, match=r"set_state_dict, 'weight': expected one of bool, .*, got dtype\('V2'\)"):
        nn.Linear(1, 1).set_state_dict({"weight": np.ones((1, 1), "V2")})


def test_everything_that_does_not_fit_is_told_at_once():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    before = net[1].bias.numpy()
    state = {"0.weight": np.zeros((3, 2)), "0.bias": np.zeros(3), "1.weight": np.zeros((1, 1)), "1.bias": np.ones(1)}
    wrong = r"'0\.weight': expected shape \(2, 3\), got \(3, 2\); '1\.weight': expected shape \(3, 1\), got \(1, 1\)"
    with pytest.raises(ShapeError, match=f"set_state_dict, {wrong}") as error:
        net.set_state_dict(state)
    assert error.value.details == {"missing": [], "unexpected": [], "wrong_shape": ["0.weight", "1.weight"]}
    del state["0.bias"]
    state["2.bias"] = np.zeros(1)
    with pytest.raises(
        StateDictError, match=rf"missing: 0\.bias; unexpected: 2\.bias; of another shape: {wrong}; pass strict=False"
    ):
        net.load_state_dict(state)
    assert np.array_equal(net[1].bias.numpy(), before)


def test_hooks_on_states_run_before_and_after_of_the_layers_below_too():
    made, calls = net(), []
    made[0].register_state_dict_pre_hook(lambda layer, prefix, keep: calls.append((layer, prefix, keep)))
    made[0].register_state_dict_hook(lambda state: {**state, "more": 1})
    made.register_state_dict_hook(lambda state: state.update(last=len(state)))
    state = made.state_dict(structured_name_prefix="net.")
    assert calls == [(made[0], "net.", True)]
    assert (state["more"], state["last"]) == (1, len(made.state_dict(use_hook=False)) + 1)
    assert "more" not in made.state_dict(use_hook=False)


def test_a_static_state_has_the_buffers_that_are_not_persistable_too():
    made = nn.Sequential(nn.Linear(1, 1))
    made[0].register_buffer("count", opsdk.zeros([1]), persistable=False)
    assert list(made.state_dict()) == ["0.weight", "0.bias"]
    assert list(made.to_static_state_dict()) == ["0.weight", "0.bias", "0.count"]
