import dataclasses
import io
from typing import NamedTuple

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, SavedFileError


@dataclasses.dataclass(frozen=True)
class Sizes:
    wide: int
    names: tuple


class Pair(NamedTuple):
    one: int
    other: opsdk.Tensor


class Block(nn.Layer):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.activation = nn.functional.gelu

    def forward(self, x):
        return self.activation(self.fc(x))


class Net(nn.Layer):
    """A model with what models hold beside layers."""

    def __init__(self):
        super().__init__()
        self.sizes = Sizes(3, ("a", "b"))
        self.blocks = nn.LayerList([Block(3), Block(3)])
        self.tied = self.blocks[0]
        self.op = opsdk.relu
        self.register_buffer("scale", opsdk.full([1], 2.0))
        self.seen = self.create_tensor("seen")
        self.scales = {1: [1.0, 2.0]}

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.op(x) * self.scale


def saved(value):
    file = io.BytesIO()
    opsdk.save(value, file)
    return file


def test_a_whole_model_comes_back_where_its_classes_are_named():
    net = Net().eval()
    net.register_forward_post_hook(lambda layer, inputs, output: 0)
    found = opsdk.load(saved(net), classes=[Net, Block, Sizes])
    x = opsdk.ones([1, 3])
    assert found(x).tolist() == net.forward(x).tolist()  # hooks stay behind
    assert (type(found), found.training, found.sizes, found.scales) == (Net, False, net.sizes, net.scales)
    assert found.tied is found.blocks[0]
    assert list(found.state_dict()) == list(net.state_dict())
    assert (repr(found), repr(found.seen)) == (repr(net), "Tensor(Not initialized)")
    assert all(isinstance(each, nn.Parameter) and each.trainable for each in found.parameters())
    found(x).sum().backward()
    assert found.tied.fc.weight.grad is not None


def test_arrays_are_asked_for_of_values_not_of_models():
    found = opsdk.load(saved({"net": nn.Linear(2, 2), "x": opsdk.ones([1])}), return_numpy=True)
    assert isinstance(found["x"], np.ndarray)
    assert found["net"](opsdk.ones([1, 2])).shape == [1, 2]


def test_opsdks_own_layers_need_no_naming():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    found = opsdk.load(saved(net))
    assert np.array_equal(found[0].weight.numpy(), net[0].weight.numpy())


def test_a_class_that_was_not_named_is_not_made():
    with pytest.raises(
        SavedFileError, match=r"expected class 'Block' of module .* among classes, got Net, Sizes; pass"
    ) as e:
        opsdk.load(saved(Net()), classes=[Net, Sizes])
    assert "pass classes=[Block], if you trust the file to fill it" in str(e.value)


def test_a_class_may_have_moved_to_another_module(monkeypatch):
    monkeypatch.setattr(Block, "__module__", "__main__")
    file = saved(Block(2))
    monkeypatch.undo()
    assert isinstance(opsdk.load(file, classes=[Block]), Block)


@pytest.mark.parametrize("classes", [Net, [int], "Net", [Net()]])
def test_classes_are_a_list_of_layers_and_dataclasses(classes):
    with pytest.raises(
        AttributeValueError, match="load: classes expected a list of layer classes and dataclasses, got"
    ):
        opsdk.load(saved(1), classes=classes)


def test_init_is_not_called():
    class Picky(nn.Layer):
        def __init__(self, needed):
            super().__init__()
            self.needed = needed

    assert opsdk.load(saved(Picky(7)), classes=[Picky]).needed == 7


def test_what_a_layer_holds_that_cannot_be_saved_is_told_with_its_place():
    net = nn.Sequential(Block(2))
    net[0].activation = lambda x: x
    with pytest.raises(AttributeValueError, match=r"save, 0\.activation: expected tensors, arrays, .* got function"):
        saved(net)


def test_a_named_tuple_is_one_again_where_it_is_named():
    pair = Pair(1, opsdk.ones([2]))
    found = opsdk.load(saved([pair, pair]), classes=[Pair])
    assert (type(found[0]), found[0].one, found[0].other.tolist()) == (Pair, 1, [1.0, 1.0])
    assert found[0] is found[1]
    with pytest.raises(SavedFileError, match="expected class 'Pair' of module"):
        opsdk.load(saved(pair))


def test_every_layer_of_opsdks_that_needs_nothing_comes_back():
    x = opsdk.ones([2, 4])
    for kind in (nn.LayerNorm, nn.RMSNorm):
        layer = nn.Sequential(kind(4), nn.Dropout(0.5)).eval()
        found = opsdk.load(saved(layer))
        assert found(x).tolist() == layer(x).tolist()
        assert list(found.to_torch_state_dict(numpy=True)) == list(layer.to_torch_state_dict(numpy=True))
