import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from opsdk.nn import functional as F
from opsdk.ops.nets import attention
from opsdk.ops.nets.attention import scaled_dot_product_attention as attend


def plain(q, k, v, mask=None, bias=0.0, causal=False):
    """Attention of (B, n, H, d) with all pairs, in NumPy."""
    q, k, v = (np.swapaxes(x, 1, 2).astype(np.float64) for x in (q, k, v))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1]) + bias
    if causal:
        scores = np.where(np.arange(k.shape[2]) <= np.arange(q.shape[2])[:, None], scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.swapaxes(e / e.sum(axis=-1, keepdims=True) @ v, 1, 2)


def normal(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


CASES = {
    "several tiles": (((1, 150, 2, 8), (1, 300, 2, 8), (1, 300, 2, 5)), {}),
    "causal, several tiles": (((1, 300, 2, 8), (1, 300, 2, 8), (1, 300, 2, 5)), {"causal": True}),
    "causal, fewer keys": (((1, 300, 1, 4), (1, 140, 1, 4), (1, 140, 1, 4)), {"causal": True}),
    "causal, more keys": (((2, 3, 1, 4), (2, 200, 1, 4), (2, 200, 1, 4)), {"causal": True}),
    "heads in groups": (((1, 128, 18, 2), (1, 128, 18, 2), (1, 128, 18, 2)), {}),
}


@pytest.mark.parametrize(("shapes", "options"), CASES.values(), ids=CASES)
def test_tiles_add_up_to_all_pairs(shapes, options):
    q, k, v = normal(*shapes)
    np.testing.assert_allclose(attend(q, k, v, **options), plain(q, k, v, **options), rtol=1e-4, atol=1e-5)


def test_masks_and_numbers_reach_their_tile():
    q, k, v, bias = normal((2, 140, 2, 4), (2, 150, 2, 4), (2, 150, 2, 4), (2, 1, 150))
    mask = np.random.default_rng(1).random((2, 1, 140, 150)) < 0.7
    np.testing.assert_allclose(attend(q, k, v, mask, bias), plain(q, k, v, mask, bias), rtol=1e-4, atol=1e-5)


# What a tile is does not matter: of two queries and keys it gives what it gives of 128.
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_gradients_of_small_tiles_add_up_to_those_of_one(p, monkeypatch):
    arrays = normal((2, 5, 3, 4), (2, 7, 3, 4), (2, 7, 3, 2), (3, 1, 7))
    found = []
    for side, scores in ((128, 2**18), (2, 8)):
        monkeypatch.setattr(attention, "_SIDE", side)
        monkeypatch.setattr(attention, "_SCORES", scores)
        monkeypatch.setattr(attention, "kept", lambda rng, shape, p, like: np.ones(shape, np.bool_))
        q, k, v, bias = (opsdk.to_tensor(x, stop_gradient=False) for x in arrays)
        y = attend(q, k, v, None, bias, causal=True, p=p)
        (y * y).sum().backward()
        found.append([y.numpy(), *[x.grad.numpy() for x in (q, k, v, bias)]])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_memory_does_not_grow_with_all_pairs():
    import tracemalloc

    q, k, v = normal(*[(1, 2048, 1, 4)] * 3)
    attend(q[:, :8], k[:, :8], v[:, :8])
    tracemalloc.start()
    try:
        attend(q, k, v)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 2048 * 2048  # a quarter of the scores


def test_a_query_that_may_look_at_nothing_gives_zeros_and_gets_no_gradient():
    q, k, v = (opsdk.to_tensor(x, stop_gradient=False) for x in normal(*[(1, 2, 1, 3)] * 3))
    mask = opsdk.to_tensor([[True, True], [False, False]])
    y = F.scaled_dot_product_attention(q, k, v, mask)
    y.sum().backward()
    assert y.numpy()[0, 1].tolist() == [[0.0] * 3]
    assert q.grad.numpy()[0, 1].tolist() == [[0.0] * 3]
    assert np.isfinite(k.grad.numpy()).all()


def test_fewer_heads_of_the_key_are_shared():
    q, k, v = normal((1, 3, 4, 2), (1, 5, 2, 2), (1, 5, 2, 2))
    made = F.scaled_dot_product_attention(*map(opsdk.to_tensor, (q, k, v)))
    wanted = plain(q, k.repeat(2, axis=2), v.repeat(2, axis=2))
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-4, atol=1e-6)


def test_dropped_pairs_differ_from_call_to_call_and_are_the_backwards():
    opsdk.seed(0)
    v = opsdk.to_tensor(np.eye(6, dtype=np.float32).reshape(1, 6, 1, 6), stop_gradient=False)
    q, k = (opsdk.to_tensor(x) for x in normal((1, 2, 1, 3), (1, 6, 1, 3)))
    first = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    second = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    assert ((first.numpy() == 0) != (second.numpy() == 0)).any()
    first.sum().backward()
    np.testing.assert_allclose(v.grad.numpy()[0, :, 0, 0], first.numpy()[0, :, 0].sum(0), rtol=1e-5)
    evaluated = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5, training=False)
    np.testing.assert_allclose(evaluated.numpy().sum(-1), 1.0, rtol=1e-5)


def test_a_program_drops_other_pairs_in_each_run_and_none_when_tested():
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main, opsdk.static.Program()):
        x = opsdk.static.data("x", [None, 4, 1, 2])
        y = F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
    scope, exe, feed = opsdk.static.Scope(), opsdk.static.Executor(), {"x": normal((2, 4, 1, 2))[0]}
    runs = [exe.run(main, feed=feed, fetch_list=[y], scope=scope)[0] for _ in range(2)]
    assert (runs[0] != runs[1]).any()
    (tested,) = exe.run(main.clone(for_test=True), feed=feed, fetch_list=[y], scope=scope)
    np.testing.assert_allclose(tested, plain(*[feed["x"]] * 3), rtol=1e-4, atol=1e-6)


# -- the layer --------------------------------------------------------------------------------------------------------


def test_heads_see_their_part_of_the_projections():
    layer = nn.MultiHeadAttention(4, 2)
    x = opsdk.to_tensor(normal((2, 3, 4))[0])
    q, k, v = (p(x).numpy().reshape(2, 3, 2, 2) for p in (layer.q_proj, layer.k_proj, layer.v_proj))
    wanted = layer.out_proj(opsdk.to_tensor(plain(q, k, v).astype(np.float32).reshape(2, 3, 4)))
    np.testing.assert_allclose(layer(x).numpy(), wanted.numpy(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("mask", [None, np.tri(3, 5, dtype=bool), normal((1, 2, 3, 5))[0]])
def test_with_weights_it_gives_the_same_and_what_each_query_looked_at(mask):
    layer = nn.MultiHeadAttention(4, 2, kdim=3, vdim=6)
    arrays = [opsdk.to_tensor(x) for x in normal((2, 3, 4), (2, 5, 3), (2, 5, 6))]
    mask = None if mask is None else opsdk.to_tensor(mask)
    wanted = layer(*arrays, mask).numpy()
    layer.need_weights = True
    made, weights = layer(*arrays, mask)
    np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(weights.numpy().sum(-1), np.ones((2, 2, 3)), rtol=1e-5)


def test_its_parameters_have_paddles_names():
    names = [name for name, _ in nn.MultiHeadAttention(4, 2).named_parameters()]
    assert names == [
        f"{part}.{kind}" for part in ("q_proj", "k_proj", "v_proj", "out_proj") for kind in ("weight", "bias")
    ]


@pytest.mark.parametrize("first", [False, True])
def test_an_encoder_layer_is_its_parts(first):
    layer = nn.TransformerEncoderLayer(4, 2, 6, normalize_before=first).eval()
    x = opsdk.to_tensor(normal((2, 3, 4))[0])

    def feed(x):
        return layer.linear2(F.relu(layer.linear1(x)))

    if first:
        middle = x + layer.self_attn(layer.norm1(x))
        wanted = middle + feed(layer.norm2(middle))
    else:
        middle = layer.norm1(x + layer.self_attn(x))
        wanted = layer.norm2(middle + feed(middle))
    np.testing.assert_allclose(layer(x).numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)
    two = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4)).eval()
    np.testing.assert_allclose(two(x).numpy(), two.norm(layer(layer(x))).numpy(), rtol=1e-5, atol=1e-6)
    assert (layer.train()(x).numpy() != layer(x).numpy()).any()


A, B = normal((1, 3, 2, 4), (1, 5, 2, 4))
OP = "op 'opsdk::scaled_dot_product_attention': "
WRONG = {
    "axes": (
        lambda: F.scaled_dot_product_attention(A[0], B, B),
        "expected 4 axes, (batch, sequence, heads, size), got",
    ),
    "axes of the op": (lambda: attend(A[0], B, B), OP + "q expected shape (B, n, H, d) with d ≥ 1, got (3, 2, 4)"),
    "size of the key": (lambda: attend(A, B[..., :3], B), OP + "k expected shape (1, ?, 2, 4) to fit q (1, 3, 2, 4)"),
    "mask": (lambda: attend(A, B, B, np.ones((3, 4), bool)), "mask expected to broadcast to (B, H, n, m) (1, 2, 3, 5)"),
    "heads": (lambda: F.scaled_dot_product_attention(A, B[:, :, :0], B), "heads of the query expected a multiple of"),
    "activation": (
        lambda: nn.TransformerEncoderLayer(4, 2, 6, activation="x"),
        "activation expected relu or gelu, got",
    ),
    "p": (lambda: F.scaled_dot_product_attention(A, B, B, None, 1.5), "p expected a number in [0, 1], got 1.5"),
    "heads of a layer": (lambda: nn.MultiHeadAttention(6, 4), "embed_dim expected a multiple of num_heads, 4, got 6"),
    "size of a layer": (
        lambda: nn.MultiHeadAttention(0, 1),
        "MultiHeadAttention: embed_dim expected a whole number ≥ 1",
    ),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises(ValueError) as caught:
        call()
    assert text in str(caught.value)


def test_another_dtype_than_that_of_the_query_is_refused():
    with pytest.raises(errors.DTypeError, match="k expected float32 like q, got float64; cast it"):
        attend(A, B.astype(np.float64), B)
