import inspect

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import DTypeError, PlaceError

MADE = {
    "Linear": (3, 4),
    "Embedding": (5, 3),
    "EmbeddingBag": (5, 3),
    "Bilinear": (2, 3, 4),
    "PReLU": (),
    "SimpleRNN": (3, 4),
    "LSTM": (3, 4),
    "GRU": (3, 4),
    "RNNCell": (3, 4),
    "SimpleRNNCell": (3, 4),
    "LSTMCell": (3, 4),
    "GRUCell": (3, 4),
    "MultiHeadAttention": (4, 2),
    "MultiheadAttention": (4, 2),
    "TransformerEncoderLayer": (4, 2, 8),
    "LayerNorm": (3,),
    "GroupNorm": (1, 3),
    "RMSNorm": (3,),
    **{f"Conv{n}{d}": (2, 2, 3) for n in (1, 2, 3) for d in "Dd"},
    **{f"ConvTranspose{n}d": (2, 2, 3) for n in (1, 2, 3)},
    **{f"Conv{n}DTranspose": (2, 2, 3) for n in (1, 2, 3)},
    **{f"{kind}{n}{d}": (3,) for kind in ("BatchNorm", "InstanceNorm") for n in (1, 2, 3) for d in "Dd"},
}


@pytest.mark.parametrize("name", MADE)
def test_a_layer_with_parameters_takes_where_and_of_what_they_are(name):
    kind = getattr(nn, name)
    layer = kind(*MADE[name], device="cpu", dtype=opsdk.float64)
    floats = [each for each in (*layer.parameters(), *layer.buffers()) if each.dtype.kind == "f"]
    assert {each.dtype for each in floats} == ({np.dtype("float64")} if floats else set())
    assert {each.dtype for each in kind(*MADE[name]).parameters()} <= {np.dtype("float32")}
    assert {"device", "dtype"} <= set(inspect.signature(kind).parameters)


def test_every_layer_that_makes_parameters_is_here():
    made = {"RNN", "BiRNN", "RNNCellBase", "TransformerEncoder", "ParameterList", "ParameterDict"}
    for name in nn.__all__:
        each = getattr(nn, name)
        if isinstance(each, type) and issubclass(each, nn.Layer) and "weight" in (each.__doc__ or ""):
            made.add(name)
    assert {name for name in made if "device" in inspect.signature(getattr(nn, name)).parameters} <= set(MADE)


def test_values_are_drawn_in_the_dtype():
    opsdk.seed(0)
    values = nn.Linear(8, 8, dtype="float64").weight.numpy()
    assert (values != values.astype("float32")).any()


def test_a_subclass_hands_the_words_on():
    class Wide(nn.Linear):
        def __init__(self, size, **options):
            super().__init__(size, 2 * size, **options)

    layer = Wide(3, dtype="float16", device=opsdk.device("cpu"))
    assert (layer.weight.dtype, layer.bias.dtype) == (np.dtype("float16"), np.dtype("float16"))
    assert nn.Linear(2, 2).weight.dtype == np.dtype("float32")


def test_none_of_both_is_as_if_they_were_left_out():
    assert nn.Linear(2, 2, device=None, dtype=None).weight.dtype == np.dtype("float32")


def test_a_place_that_is_not_served_and_a_dtype_that_there_is_not_are_named():
    with pytest.raises(PlaceError, match=r"Layer.to, Place\(cuda:0\): expected a CUDA device"):
        nn.Linear(2, 2, device="cuda")
    with pytest.raises(DTypeError, match="Layer, dtype: expected one of bool, int8"):
        nn.Linear(2, 2, dtype="float31")
    assert nn.Linear(2, 2).weight.dtype == np.dtype("float32")
