"""Document 001, item by item: PyTorch's words for modules."""

import io
from collections import OrderedDict

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import PlaceError


class Block(nn.Module):
    def __init__(self, size=2):
        super().__init__()
        self.linear = nn.Linear(size, size)

    def forward(self, x):
        return self.linear(x)


class Encoder(nn.Module):
    """The document's lists of blocks of one's own."""

    def __init__(self):
        super().__init__()
        self.encode = nn.ModuleList()
        self.encode.append(Block())
        self.encode.insert(0, nn.ReLU())
        self.plain = [Block()]

    def forward(self, x):
        for module in self.encode:
            x = module(x)
        return x


def six():
    net = nn.Sequential()
    net.add_module("linear1", nn.Linear(15, 20))
    net.add_module("relu1", nn.ReLU())
    net.add_module("linear2", nn.Linear(20, 15))
    net.add_module("relu2", nn.ReLU())
    net.add_module("linear3", nn.Linear(15, 1))
    net.add_module("sigmoid", nn.Sigmoid())
    return net


def toggle_grad(model, on_or_off):
    for param in model.parameters():
        param.requires_grad = on_or_off


def test_b01_a_module_is_called():
    called = []
    block = Block()
    block.register_forward_hook(lambda *_: called.append(1))
    block(opsdk.ones([1, 2]))
    block.forward(opsdk.ones([1, 2]))
    assert called == [1]


def test_b02_containers_are_modules():
    assert all(issubclass(each, nn.Module) for each in (nn.Sequential, nn.ModuleList, nn.ModuleDict))


def test_b03_a_layer_object_is_used_wherever_it_is_wanted():
    block = Block()
    assert nn.Sequential(block, nn.ReLU(), block)(opsdk.ones([1, 2])).shape == [1, 2]


def test_b04_print_shows_the_tree():
    assert str(nn.Sequential(nn.Linear(15, 20), nn.ReLU())) == (
        "Sequential(\n  (0): Linear(in_features=15, out_features=20, dtype=float32)\n  (1): ReLU()\n)"
    )


def test_b05_positional_layers_run_in_the_order_given():
    double, add = nn.Linear(1, 1), nn.Linear(1, 1)
    for layer, weight, bias in ((double, 2.0, 0.0), (add, 1.0, 1.0)):
        layer.weight.data.fill_(weight)
        layer.bias.data.fill_(bias)
    assert nn.Sequential(double, add)(opsdk.ones([1, 1])).item() == 3.0
    assert nn.Sequential(add, double)(opsdk.ones([1, 1])).item() == 4.0


def test_b06_from_a_list():
    layers = [nn.ConvTranspose2d(3, 2, 2), nn.InstanceNorm2d(2)]
    assert nn.Sequential(*layers)(opsdk.ones([1, 3, 4, 4])).shape == [1, 2, 5, 5]
    assert len(nn.Sequential([nn.Linear(1, 2), nn.Linear(2, 3)])) == 2


def test_b07_an_ordered_dict_names_the_layers_and_equal_keys_are_one():
    named = OrderedDict([("linear", nn.Linear(15, 20)), ("linear", nn.Linear(20, 15))])
    net = nn.Sequential(named)
    assert (len(net), net.linear.in_features) == (1, 20)
    with pytest.raises(ValueError, match="Sequential: expected names that differ, got 'linear' twice"):
        nn.Sequential(("linear", nn.ReLU()), ("linear", nn.ReLU()))


def test_b08_add_module_six_times():
    out = six()(opsdk.randn([4, 15])).numpy()
    assert out.shape == (4, 1)
    assert ((out > 0) & (out < 1)).all()


def test_b09_a_module_list_registers_and_a_plain_list_does_not():
    net = Encoder()
    assert net(opsdk.ones([1, 2])).shape == [1, 2]
    assert [name for name, _ in net.named_parameters()] == ["encode.1.linear.weight", "encode.1.linear.bias"]
    assert [type(each).__name__ for each in net.encode] == ["ReLU", "Block"]
    with pytest.raises(NotImplementedError):
        net.encode(opsdk.ones([1, 2]))


def test_b10_a_module_dict_takes_items():
    net = nn.ModuleDict({"linear": nn.Linear(2, 3), "act": nn.ReLU()})
    net["output"] = nn.Linear(3, 1)
    assert list(net.keys()) == ["linear", "act", "output"]
    assert net["output"](net["act"](net["linear"](opsdk.ones([1, 2])))).shape == [1, 1]
    with pytest.raises(NotImplementedError):
        net(1)


def test_b11_parameters_by_name_by_index_and_by_key():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(opsdk.randn([4, 4]))
            self.listed = nn.ParameterList([nn.Parameter(opsdk.randn([4, 4])) for i in range(3)])
            self.named = nn.ParameterDict(
                {"linear1": nn.Parameter(opsdk.randn([4, 4])), "linear2": nn.Parameter(opsdk.randn([4, 1]))}
            )

        def forward(self, x):
            for each in self.listed:
                x = x @ each
            return (x @ self.weight) @ self.named["linear2"]

    net = Net()
    names = [name for name, _ in net.named_parameters()]
    assert names == ["weight", "listed.0", "listed.1", "listed.2", "named.linear1", "named.linear2"]
    assert net(opsdk.ones([2, 4])).shape == [2, 1]
    assert [net.listed[-1] is net.listed[2], len(net.listed[0:2])] == [True, 2]
    assert ("linear1" in net.named, list(net.named.keys())) == (True, ["linear1", "linear2"])


def test_b12_a_walk_over_the_children_shows_every_shape():
    net, x, shapes = six(), opsdk.randn([3, 15]), []
    for name, layer in net.named_children():
        x = layer(x)
        shapes.append((name, x.shape))
    assert shapes[0] == ("linear1", [3, 20])
    assert shapes[-1] == ("sigmoid", [3, 1])
    assert str(net[0]) == "Linear(in_features=15, out_features=20, dtype=float32)"


def test_b13_parameters_is_a_list_that_next_takes():
    net = nn.Linear(2, 3)
    assert next(net.parameters()) is net.weight
    assert str(net.parameters()).startswith("[Parameter containing:")
    parameters = net.parameters()
    assert [next(parameters), next(parameters)] == [net.weight, net.bias]
    with pytest.raises(StopIteration):
        next(parameters)
    assert isinstance(net.weight, opsdk.Tensor)


def test_b14_a_buffer_is_in_the_state_and_no_parameter():
    net = nn.Module()
    net.register_buffer("running_mean", opsdk.zeros([3]))
    assert list(net.state_dict()) == ["running_mean"]
    assert net.parameters() == []
    assert net.running_mean.tolist() == [0.0] * 3


def test_b15_one_layer_is_initialized_by_hand():
    module = nn.Linear(100, 50)
    module.weight.data.fill_(0)
    assert not module.weight.numpy().any()
    nn.init.xavier_uniform(module.weight)
    nn.init.constant_(module.bias, val=0)
    nn.init.normal_(module.weight, mean=0, std=0.01)
    assert np.std(module.weight.numpy()) == pytest.approx(0.01, rel=0.1)
    nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")
    assert np.std(module.weight.numpy()) == pytest.approx(np.sqrt(2 / 100), rel=0.1)


def test_b16_a_net_is_initialized_by_the_names_of_its_parameters():
    net = six()
    for name, p in net.named_parameters():
        if "weight" in name:
            nn.init.normal_(p, mean=0, std=0.01)
        elif "bias" in name:
            nn.init.constant_(p, val=0.5)
    assert net.linear2.bias.tolist() == [0.5] * 15
    assert abs(net.linear1.weight.numpy()).max() < 0.1


def test_b17_apply_under_no_grad_initializes_by_type():
    @opsdk.no_grad()
    def init_weights(module):
        if type(module) == nn.Linear:  # noqa: E721 - the document's line
            module.weight.fill_(1.0)

    net = six()
    net.apply(init_weights)
    assert net.linear3.weight.tolist() == [[1.0]] * 15


def test_b18_a_change_of_a_leaf_needs_no_grad_or_data():
    w = nn.Linear(1, 1).weight
    with pytest.raises(ValueError, match="got a leaf that needs a gradient"):
        w.fill_(1.0)
    with opsdk.no_grad():
        w.fill_(2.0)
    assert w.item() == 2.0
    w.data.fill_(3.0)
    assert (w.item(), w.stop_gradient) == (3.0, False)


def test_b19_xavier_uniform_has_its_limit():
    w = nn.Linear(100, 50).weight
    assert nn.init.xavier_uniform_(w, gain=2.0) is w
    limit = np.sqrt(3) * 2 * np.sqrt(2 / 150)
    assert 0.98 * limit < abs(w.numpy()).max() <= limit


def test_b20_a_module_that_is_used_twice_gathers_both_gradients():
    linear = nn.Linear(1, 1, bias=False)
    linear.weight.data.fill_(3.0)
    nn.Sequential(linear, linear)(opsdk.ones([1, 1])).backward()
    assert linear.weight.grad.item() == 6.0  # of w²
    assert len(nn.Sequential(linear, linear).parameters()) == 1


def test_b21_a_state_dict_is_loaded_from_a_file(tmp_path):
    net, other = six(), six()
    opsdk.save(net.state_dict(), tmp_path / "net.pt")
    assert other.load_state_dict(opsdk.load(tmp_path / "net.pt")) == ([], [])
    x = opsdk.randn([2, 15])
    assert net(x).tolist() == other(x).tolist()


def test_b22_eval_reaches_every_module_and_dropout_reads_it():
    net = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    net.eval()
    assert [each.training for each in net.modules()] == [False] * 4
    assert net(opsdk.ones([100])).tolist() == [1.0] * 100
    assert net.train()(opsdk.ones([100])).tolist() != [1.0] * 100


def test_b23_eval_does_not_stop_gradients():
    net = six().eval()
    net(opsdk.randn([2, 15])).sum().backward()
    assert net.linear1.weight.grad is not None
    toggle_grad(net, False)
    assert net(opsdk.randn([2, 15])).stop_gradient
    toggle_grad(net, True)
    with opsdk.no_grad():
        assert net(opsdk.randn([2, 15])).stop_gradient
    assert all(p.requires_grad for p in net.parameters())
    assert net.train().training


def test_b24_a_model_predicts_where_its_input_is_and_is_told_where_it_cannot_be():
    net, x = nn.Linear(128, 2), opsdk.randn([10, 128])
    assert net.cpu()(x).shape == [10, 2]
    with pytest.raises((PlaceError, ImportError), match=r"Layer.to.*(?i:cuda|cupy)"):
        net.to("cuda:7")


def test_b25_the_suffix_is_free(tmp_path):
    for suffix in ("pt", "pth", "ckpt"):
        opsdk.save({"w": opsdk.ones([1])}, tmp_path / f"x.{suffix}")
        assert opsdk.load(tmp_path / f"x.{suffix}")["w"].item() == 1.0


def test_b26_a_state_dict_maps_names_to_tensors_and_is_empty_without_parameters():
    assert list(nn.Linear(1, 2).state_dict()) == ["weight", "bias"]
    assert nn.ReLU().state_dict() == {}
    assert nn.ReLU().load_state_dict({}) == ([], [])


def test_b27_optimizers_have_both_too():
    net = nn.Linear(1, 1)
    adam = opsdk.optimizer.Adam(0.1, beta1=0.8, parameters=net.parameters())
    net(opsdk.ones([1, 1])).backward()
    adam.step()
    other = opsdk.optimizer.Adam(0.3, parameters=net.parameters())
    other.load_state_dict(adam.state_dict())
    assert (other.get_lr(), other.state_dict()["beta1"]) == (0.1, 0.8)
    assert other.state_dict()["weight.moment1"].tolist() == adam.state_dict()["weight.moment1"].tolist()


def whole(model):
    file = io.BytesIO()
    opsdk.save(model, file)
    return file


def test_b28_a_whole_model_is_loaded_where_its_class_is_named():
    net = Block()
    found = opsdk.load(whole(net), classes=[Block])
    assert found(opsdk.ones([1, 2])).tolist() == net(opsdk.ones([1, 2])).tolist()
    with pytest.raises(ValueError, match="expected class 'Block' of module"):
        opsdk.load(whole(net))


def test_b29_a_loaded_model_is_in_the_mode_that_it_was_saved_in():
    assert opsdk.load(whole(Block()), classes=[Block]).training
    assert not opsdk.load(whole(Block().eval()), classes=[Block]).training
    fresh = Block()
    fresh.load_state_dict(Block().eval().state_dict())
    assert fresh.training
