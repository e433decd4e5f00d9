from collections import OrderedDict

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, NameClashError


def names(layer):
    return [name for name, _ in layer.named_children()]


# -- Sequential -------------------------------------------------------------------------------------------------------


def test_layers_run_in_the_order_given():
    net = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    net[0].weight.set_value([[-1.0]])
    assert net(opsdk.to_tensor([[2.0], [-3.0]])).tolist() == [[0.0], [3.0]]
    assert names(net) == ["0", "1"]
    assert repr(net) == ("Sequential(\n  (0): Linear(in_features=1, out_features=1, dtype=float32)\n  (1): ReLU()\n)")


@pytest.mark.parametrize(
    "make",
    [
        lambda a, b: nn.Sequential(*[a, b]),
        lambda a, b: nn.Sequential([a, b]),
        lambda a, b: nn.Sequential(("x", a), ("y", b)),
        lambda a, b: nn.Sequential([("x", a), ("y", b)]),
        lambda a, b: nn.Sequential(OrderedDict([("x", a), ("y", b)])),
        lambda a, b: nn.Sequential({"x": a, "y": b}),
        lambda a, b: nn.Sequential(["x", a], ["y", b]),
    ],
)
def test_layers_come_as_arguments_a_list_pairs_or_a_mapping(make):
    a, b = nn.Linear(2, 2), nn.ReLU()
    net = make(a, b)
    assert list(net) == [a, b]
    assert names(net) in (["0", "1"], ["x", "y"])


def test_layers_come_by_add_module():
    net = nn.Sequential()
    sizes = [(15, 20), (20, 15), (15, 1)]
    for number, (rows, columns) in enumerate(sizes, 1):
        net.add_module(f"linear{number}", nn.Linear(rows, columns))
        net.add_module(f"act{number}", nn.ReLU() if number < 3 else nn.Sigmoid())
    out = net(opsdk.randn([7, 15], seed=1)).numpy()
    assert names(net) == ["linear1", "act1", "linear2", "act2", "linear3", "act3"]
    assert out.shape == (7, 1)
    assert ((out > 0) & (out < 1)).all()


def test_children_walked_by_name_give_what_the_net_gives():
    net = nn.Sequential(OrderedDict([("first", nn.Linear(3, 2)), ("act", nn.Tanh())]))
    x = first = opsdk.ones([4, 3])
    for _, layer in net.named_children():
        x = layer(x)
    assert x.tolist() == net(first).tolist()


def test_an_empty_net_returns_its_input():
    assert nn.Sequential()(3) == 3


def test_layers_are_found_by_number_name_and_slice():
    net = nn.Sequential(("a", nn.Linear(1, 1)), ("b", nn.ReLU()), ("c", nn.Tanh()))
    assert str(net[-1]) == "Tanh()"
    assert net["a"] is net[0] is net.a
    assert names(net[1:]) == ["b", "c"]
    assert isinstance(net[1:], nn.Sequential)
    assert len(net) == 3
    with pytest.raises(IndexError, match=r"Sequential: index expected in \[-3, 3\), got 9"):
        net[9]
    with pytest.raises(KeyError, match="Sequential: no layer 'd'; there are a, b, c"):
        net["d"]


def test_layers_are_replaced_deleted_appended_and_inserted():
    net = nn.Sequential(nn.Linear(1, 1), nn.ReLU())
    net[1] = nn.Tanh()
    assert str(net[1]) == "Tanh()"
    assert net.append(nn.Sigmoid()) is net
    assert names(net) == ["0", "1", "2"]
    net.insert(0, nn.Flatten())
    assert [str(layer).partition("(")[0] for layer in net] == ["Flatten", "Linear", "Tanh", "Sigmoid"]
    assert names(net) == ["0", "1", "2", "3"]
    del net[0]
    del net["2"]
    net.extend([nn.ReLU()])
    net["head"] = nn.Linear(1, 1)
    assert [str(layer).partition("(")[0] for layer in net] == ["Linear", "Sigmoid", "ReLU", "Linear"]
    assert names(net)[-1] == "head"


def test_inserting_keeps_names():
    net = nn.Sequential(("a", nn.ReLU()), ("b", nn.Tanh()))
    net.insert(1, nn.Sigmoid())
    assert names(net) == ["a", "1", "b"]


@pytest.mark.parametrize("wrong", [3, "relu", None, ("a", "b", "c"), nn.ReLU])
def test_what_is_no_layer_is_refused(wrong):
    with pytest.raises(AttributeValueError, match=r"Sequential: expected layers or \(name, layer\) pairs, got"):
        nn.Sequential(wrong)
    with pytest.raises(AttributeValueError, match="Sequential: expected layers"):
        nn.Sequential().insert(0, wrong)


def test_two_layers_of_one_name_are_refused():
    with pytest.raises(NameClashError, match="Sequential: expected names that differ, got 'a' twice"):
        nn.Sequential(("a", nn.ReLU()), ("a", nn.ReLU()))


# -- LayerList --------------------------------------------------------------------------------------------------------


def test_a_layer_list_is_a_list_whose_parameters_are_registered():
    layers = nn.LayerList([nn.Linear(1, 1)])
    assert layers.append(nn.ReLU()) is layers
    layers.insert(0, nn.Linear(2, 2))
    layers.extend([nn.Tanh()])
    assert [str(layer).partition("(")[0] for layer in layers] == ["Linear", "Linear", "ReLU", "Tanh"]
    assert [name for name, _ in layers.named_parameters()] == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert isinstance(layers[1:3], nn.LayerList)
    assert len(layers[1:3]) == 2
    assert layers[-1] in layers
    assert nn.ReLU() not in layers


def test_a_layer_list_renumbers():
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.Sigmoid()])
    del layers[0]
    assert names(layers) == ["0", "1"]
    assert str(layers.pop()) == "Sigmoid()"
    layers[0] = nn.ReLU()
    layers += [nn.Tanh()]
    assert [str(layer) for layer in layers + [nn.Flatten()]] == ["ReLU()", "Tanh()", "Flatten()"]  # noqa: RUF005
    del layers[:]
    assert len(layers) == 0


def test_a_layer_list_inside_a_model_is_found():
    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.encode = nn.LayerList([nn.Linear(2, 2)])
            self.plain = [nn.Linear(2, 2)]

    net = Net()
    net.encode.insert(0, nn.Linear(3, 3))
    assert [name for name, _ in net.named_parameters()] == [
        "encode.0.weight",
        "encode.0.bias",
        "encode.1.weight",
        "encode.1.bias",
    ]


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_outside_of_a_list_is_refused(index):
    layers = nn.LayerList([nn.ReLU(), nn.ReLU(), nn.ReLU()])
    for act in (lambda: layers[index], lambda: layers.pop(index), lambda: layers.__setitem__(index, nn.ReLU())):
        with pytest.raises(IndexError, match=rf"LayerList: index expected in \[-3, 3\), got {index}"):
            act()


def test_a_layer_list_takes_layers_only_and_has_no_forward():
    with pytest.raises(AttributeValueError, match="LayerList: expected a Layer, got int"):
        nn.LayerList([3])
    with pytest.raises(NotImplementedError, match="layer LayerList: expected a forward method"):
        nn.LayerList()(1)


# -- the others -------------------------------------------------------------------------------------------------------


def test_a_parameter_list_has_a_lists_indices():
    params = nn.ParameterList([nn.Parameter(np.ones((4, 4))) for _ in range(3)])
    params.append(nn.Parameter([1.0]))
    assert params[-1].shape == [1]
    assert len(params[:2]) == 2
    assert [name for name, _ in params.named_parameters()] == ["0", "1", "2", "3"]
    with pytest.raises(IndexError, match="ParameterList: index expected in"):
        params[7]
    with pytest.raises(AttributeValueError, match="ParameterList: expected a Parameter, got Tensor"):
        params.append(opsdk.ones([1]))


def test_a_layer_dict_has_a_dicts_methods():
    layers = nn.LayerDict({"linear": nn.Linear(1, 1), "act": nn.ReLU()})
    layers["output"] = nn.Linear(1, 2)
    assert list(layers) == list(layers.keys()) == ["linear", "act", "output"]
    assert len(layers.parameters()) == 4
    assert str(layers.pop("act")) == "ReLU()"
    assert layers.pop("act", None) is None
    assert "act" not in layers
    layers.update([("more", nn.Tanh())])
    assert [str(value) for value in layers.values()][-1] == "Tanh()"
    assert dict(layers.items())["more"] is layers["more"]
    del layers["more"]
    assert len(layers) == 2
    layers.clear()
    assert len(layers) == 0
    with pytest.raises(KeyError, match="LayerDict: no entry 'act'; there are none"):
        layers["act"]
    with pytest.raises(AttributeValueError, match="LayerDict, 'x': expected a Layer, got int"):
        layers["x"] = 3


def test_a_parameter_dict_registers_by_name():
    params = nn.ParameterDict({"linear1": nn.Parameter(np.ones((4, 4))), "linear2": nn.Parameter(np.ones((4, 1)))})
    assert [name for name, _ in params.named_parameters()] == ["linear1", "linear2"]
    assert params["linear2"].shape == [4, 1]
    assert nn.ModuleDict is nn.LayerDict


# -- inserting --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [nn.LayerList, nn.ParameterList, nn.Sequential])
@pytest.mark.parametrize("index", [3, 7, -3])
def test_nothing_is_inserted_beyond_an_end(kind, index):
    entry = (lambda: nn.Parameter([1.0])) if kind is nn.ParameterList else nn.ReLU
    held = [entry(), entry()]
    made = kind(*held) if kind is nn.Sequential else kind(held)
    with pytest.raises(IndexError, match=rf"{kind.__name__}: index to insert at expected in \[-2, 2\], got {index}"):
        made.insert(index, entry())
    assert list(made) == held


@pytest.mark.parametrize(("index", "position"), [(0, 0), (2, 2), (1, 1), (-1, 1), (-2, 0)])
@pytest.mark.parametrize("kind", [nn.LayerList, nn.Sequential])
def test_an_entry_is_inserted_before_the_one_at_an_index_or_at_the_end(kind, index, position):
    held, new = [nn.ReLU(), nn.ReLU()], nn.ReLU()
    made = kind(*held) if kind is nn.Sequential else kind(held)
    made.insert(index, new)
    assert list(made).index(new) == position
    assert list(made.state_dict()) == []


def test_lists_and_dictionaries_are_made_by_both_keyword_names():
    a, p = nn.ReLU(), nn.Parameter(np.zeros(1))
    assert [list(nn.LayerList(sublayers=[a])), list(nn.ModuleList(modules=[a]))] == [[a], [a]]
    assert [nn.LayerDict(sublayers={"a": a})["a"], nn.ModuleDict(modules={"a": a})["a"]] == [a, a]
    assert nn.ParameterList(parameters=[p])[0] is nn.ParameterList(values=[p])[0]
    assert nn.ParameterDict(parameters={"p": p})["p"] is p


def test_a_parameter_list_has_the_methods_of_a_list():
    a, b, c = (nn.Parameter(np.zeros(1)) for _ in range(3))
    made = nn.ParameterList([a, b])
    made[1:] = [c, b]
    assert [made.index(b), made.pop() is b, made.index(c)] == [2, True, 1]
    made.remove(a)
    assert [name for name, _ in made.named_parameters()] == ["0"]
    with pytest.raises(ValueError, match="is not in list"):
        made.index(a)
    with pytest.raises(AttributeValueError, match="ParameterList: expected a Parameter, got int"):
        made[:] = [1]
    made.clear()
    assert len(made) == 0


def test_a_layer_dict_has_the_methods_of_a_dictionary():
    made, a = nn.LayerDict(), nn.ReLU()
    assert (made.get("a"), made.setdefault("a", a), made.setdefault("a", nn.Tanh()), made.get("a")) == (None, a, a, a)
    assert made.popitem() == ("a", a)
