"""PyTorch's attention of several heads, against its formula in NumPy; torch 2.14.1 has the same to 1e-15."""

import numpy as np
import pytest

import opsdk
from opsdk import nn
from opsdk.core.errors import AttributeValueError, ShapeError

QUERY, KEY = np.sin(np.arange(24.0)).reshape(2, 3, 4), np.cos(np.arange(40.0)).reshape(2, 5, 4)
PAIRS = np.triu(np.ones((3, 5), bool), 2)
KEYS = np.array([[0, 0, 0, 1, 1], [0, 1, 0, 0, 0]], bool)


def made(**options):
    layer = nn.MultiheadAttention(4, 2, **options).double()
    for seed, each in enumerate(layer.parameters()):
        each.set_value(np.sin(np.arange(each.size) * 0.7 + seed).reshape(each.shape))
    return layer


def formula(layer, query, key, mask=0.0):
    """Returns what comes of (batch, length, 4), and the weights of each head."""
    wq, wk, wv = np.split(layer.in_proj_weight.numpy(), 3)
    bq, bk, bv = np.split(layer.in_proj_bias.numpy(), 3)
    parts = [query @ wq.T + bq, key @ wk.T + bk, key @ wv.T + bv]
    q, k, v = (part.reshape(*part.shape[:2], 2, 2).transpose(0, 2, 1, 3) for part in parts)
    scores = np.exp(q @ k.swapaxes(-1, -2) / np.sqrt(2) + mask)
    weights = scores / scores.sum(-1, keepdims=True)
    joined = (weights @ v).transpose(0, 2, 1, 3).reshape(*query.shape)
    return joined @ layer.out_proj.weight.numpy() + layer.out_proj.bias.numpy(), weights


MASKS = {
    "none": ({}, 0.0),
    "pairs": ({"attn_mask": PAIRS, "is_causal": True}, np.where(PAIRS, -np.inf, 0)),
    "keys": ({"key_padding_mask": KEYS}, np.where(KEYS, -np.inf, 0)[:, None, None]),
    "both": (
        {"attn_mask": PAIRS, "key_padding_mask": KEYS},
        np.where(PAIRS, -np.inf, 0) + np.where(KEYS, -np.inf, 0)[:, None, None],
    ),
    "floats of heads": (
        {"attn_mask": np.cos(np.arange(60.0)).reshape(4, 3, 5)},
        np.cos(np.arange(60.0)).reshape(2, 2, 3, 5),
    ),
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("batch_first", [True, False])
def test_heads_find_what_the_formula_says(name, batch_first):
    layer, (masks, added) = made(batch_first=batch_first), MASKS[name]
    expected, weights = formula(layer, QUERY, KEY, added)
    turned = [x if batch_first else x.swapaxes(0, 1) for x in (QUERY, KEY, KEY, expected)]
    told = {key: opsdk.to_tensor(value) if isinstance(value, np.ndarray) else value for key, value in masks.items()}
    found, mean = layer(*map(opsdk.to_tensor, turned[:3]), **told)
    assert found.numpy() == pytest.approx(turned[3], abs=1e-12)
    assert mean.numpy() == pytest.approx(weights.mean(1), abs=1e-12)
    _, each = layer(*map(opsdk.to_tensor, turned[:3]), **told, average_attn_weights=False)
    assert each.numpy() == pytest.approx(weights, abs=1e-12)
    fast, nothing = layer(*map(opsdk.to_tensor, turned[:3]), **told, need_weights=False)
    assert fast.numpy() == pytest.approx(turned[3], abs=1e-12)
    assert nothing is None


def test_a_query_without_a_batch_gives_none():
    layer = made()
    expected, weights = formula(layer, QUERY[:1], KEY[:1])
    found, mean = layer(*map(opsdk.to_tensor, (QUERY[0], KEY[0], KEY[0])))
    assert found.numpy() == pytest.approx(expected[0], abs=1e-12)
    assert mean.numpy() == pytest.approx(weights.mean(1)[0], abs=1e-12)


def test_names_and_shapes_of_parameters_are_pytorchs():
    shapes = {"in_proj_weight": (12, 4), "in_proj_bias": (12,), "out_proj.weight": (4, 4), "out_proj.bias": (4,)}
    assert {name: each.shape for name, each in made().to_torch_state_dict(numpy=True).items()} == shapes
    other = nn.MultiheadAttention(4, 2, bias=False, kdim=3, vdim=5)
    shapes = {"q_proj_weight": [4, 4], "k_proj_weight": [4, 3], "v_proj_weight": [4, 5], "out_proj.weight": [4, 4]}
    assert {name: each.shape for name, each in other.state_dict().items()} == shapes
    out, _ = other(opsdk.ones([3, 2, 4]), opsdk.ones([5, 2, 3]), opsdk.ones([5, 2, 5]))
    out.sum().backward()
    assert out.shape == [3, 2, 4]
    assert other.k_proj_weight.grad.shape == [4, 3]
    assert repr(nn.MultiheadAttention(4, 2, 0.5)).startswith("MultiheadAttention(4, num_heads=2, dropout=0.5, batch_f")


def test_what_does_not_fit_is_refused():
    layer, x = made(), opsdk.to_tensor(QUERY)
    with pytest.raises(
        AttributeValueError, match="is_causal expected an attn_mask, of which it says that it is causal"
    ):
        layer(x, x, x, is_causal=True)
    with pytest.raises(
        ShapeError, match=r"expected query, key and value of 3 axes, or of 2, got \(2, 3, 4\), \(3, 4\)"
    ):
        layer(x, x[0], x)
    with pytest.raises(AttributeValueError, match="MultiheadAttention: embed_dim expected a multiple of num_heads, 3"):
        nn.MultiheadAttention(4, 3)
