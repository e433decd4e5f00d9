import inspect

import numpy as np
import pytest

import opsdk
from opsdk import nn, static
from opsdk.core.errors import DTypeError, InPlaceError
from opsdk.nn import functional as F
from opsdk.nn.functions.words import IN_PLACE

X = np.array([[-4.0, -0.5, 0.0, 0.5, 4.0, 8.0]])
MORE = {"threshold": (0.1, 2.0)}  # arguments that have no default
LAYERS = {
    **{name: (getattr(nn, name), ()) for name in ("ReLU", "ReLU6", "ELU", "SELU", "CELU", "LeakyReLU", "Hardtanh")},
    **{name: (getattr(nn, name), ()) for name in ("Hardswish", "Hardsigmoid", "SiLU", "Mish", "RReLU")},
    "Threshold": (nn.Threshold, (0.1, 2.0)),
}


def recorded():
    """A leaf, and a tensor that was computed from it, so that it may change."""
    leaf = opsdk.to_tensor(X, stop_gradient=False)
    return leaf, leaf * 1.5


@pytest.mark.parametrize("name", sorted(IN_PLACE))
def test_in_place_a_tensor_becomes_what_the_function_gives_with_its_gradient(name):
    function, options = getattr(F, name), {"training": False} if name == "rrelu" else {}
    (leaf, x), (other, y) = recorded(), recorded()
    made = function(x, *MORE.get(name, ()), **options, inplace=True)
    wanted = function(y, *MORE.get(name, ()), **options)
    assert made is x
    assert x.tolist() == wanted.tolist() != y.tolist()
    (made * made).sum().backward()
    (wanted * wanted).sum().backward()
    assert leaf.grad.tolist() == other.grad.tolist()


@pytest.mark.parametrize(("layer", "args"), LAYERS.values(), ids=LAYERS)
def test_a_layer_changes_its_input_where_it_is_made_to(layer, args):
    (_, x), (_, y) = recorded(), recorded()
    told, plain = layer(*args, inplace=True).eval(), layer(*args).eval()
    assert told(x) is x
    assert x.tolist() == plain(y).tolist() != y.tolist()
    assert layer is nn.Threshold or layer is nn.RReLU or "inplace=True" in repr(told)
    assert "inplace" not in repr(plain)


def test_the_word_comes_last_as_in_pytorch():
    x = opsdk.to_tensor(X)
    assert F.leaky_relu(x, 0.5, True) is x
    assert x.tolist() == [[-2.0, -0.25, 0.0, 0.5, 4.0, 8.0]]
    assert F.relu(x, False) is not x
    assert list(inspect.signature(F.relu).parameters) == ["x", "inplace"]
    assert nn.ReLU(True)(x) is x


@pytest.mark.parametrize(
    "drop", [F.dropout, F.alpha_dropout, nn.Dropout(0.5), nn.Dropout(0.5, True), nn.AlphaDropout()]
)
def test_what_drops_does_so_in_place_where_it_is_asked_to(drop):
    x = opsdk.ones([64])
    if isinstance(drop, nn.Layer):
        drop.inplace = True
    made = drop(x) if isinstance(drop, nn.Layer) else drop(x, 0.5, inplace=True)
    assert made is x
    assert len(set(x.tolist())) == 2


def test_a_map_is_dropped_in_place():
    x = opsdk.ones([8, 4, 2, 2])
    assert nn.Dropout2d(0.5, inplace=True)(x) is x
    assert set(x.flatten().tolist()) == {0.0, 2.0}
    y = opsdk.ones([8, 4, 2, 2])
    assert F.dropout2d(y, 0.5, inplace=True) is y
    assert set(y.flatten().tolist()) == {0.0, 2.0}


def test_what_drops_nothing_leaves_a_leaf_as_it_is():
    w = nn.Parameter(opsdk.ones([3]))
    assert F.dropout(w, 0.5, training=False, inplace=True) is w
    assert w.inplace_version == 0


def test_a_leaf_that_needs_a_gradient_is_not_changed():
    w = opsdk.to_tensor(X, stop_gradient=False)
    with pytest.raises(InPlaceError, match="relu"):
        F.relu(w, inplace=True)
    assert w.tolist() == X.tolist()


def test_arrays_and_what_is_in_a_program_do_not_change():
    text = "relu: inplace=True expected a tensor to change, got ndarray; leave inplace out, and use what is returned"
    with pytest.raises(DTypeError, match=text):
        F.relu(X, inplace=True)
    with static.program_guard(static.Program()), pytest.raises(DTypeError, match="got Variable"):
        nn.ReLU(inplace=True)(static.data("x", [2, 3], "float32"))


def test_a_function_that_pytorch_has_not_in_place_takes_no_such_word():
    with pytest.raises(TypeError, match="inplace"):
        F.linear(opsdk.ones([2, 2]), opsdk.ones([2, 2]), inplace=True)


def test_a_block_in_place_trains_as_one_that_is_not():
    def gradients(inplace):
        opsdk.seed(3)
        net = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=inplace), nn.Conv2d(4, 4, 3, padding=1)
        )
        end = nn.Sequential(nn.SiLU(inplace=inplace), nn.Dropout(0.5, inplace=inplace))
        x = opsdk.randn(2, 2, 5, 5)
        loss = (end(net(x)) ** 2).mean()
        loss.backward()
        return [loss.item(), *(each.grad.tolist() for each in net.parameters())]

    assert gradients(True) == gradients(False)
