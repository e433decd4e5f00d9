"""rotary_embedding: beside products of complex numbers, and beside rotate_half as models of PyTorch have it."""

import numpy as np
import pytest

import opsdk
from contrib_ops import rotary_embedding
from contrib_ops.sequences.rotary_embedding import pair_products
from opsdk.core.errors import ShapeError

# Compiles ten kernels; test_spline and test_flash_attention stand for the family in make test.
pytestmark = pytest.mark.slow

TABLES = {
    "one for all": (4, 3),
    "one position": (1, 3),
    "per sequence": (2, 1, 4, 3),
    "per head": (5, 4, 3),
    "whole": (2, 5, 4, 3),
    "one for everything": (3,),
}


def as_complex(x, interleaved):
    return x[..., ::2] + 1j * x[..., 1::2] if interleaved else x[..., :3] + 1j * x[..., 3:]


def as_pairs(z, interleaved):
    parts = [z.real, z.imag]
    return np.stack(parts, axis=-1).reshape(*z.shape[:-1], -1) if interleaved else np.concatenate(parts, axis=-1)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("shape", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_pairs_are_multiplied_by_complex_numbers_of_size_1(shape, interleaved, dtype, rng):
    x, angles = rng.normal(size=(2, 5, 4, 6)).astype(dtype), rng.uniform(-9, 9, shape)
    y = rotary_embedding(x, np.cos(angles).astype(dtype), np.sin(angles).astype(dtype), interleaved=interleaved)
    wanted = as_pairs(as_complex(x.astype(float), interleaved) * np.exp(1j * angles), interleaved)
    assert (y.dtype, y.shape) == (dtype, x.shape)
    np.testing.assert_allclose(y, wanted, rtol=0, atol=2e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("shape", TABLES.values(), ids=TABLES)
def test_the_gradient_is_the_inverse_rotation_and_the_tables_get_their_sums(shape, interleaved, rng):
    values, angles, dy = rng.normal(size=(2, 5, 4, 6)), rng.uniform(-9, 9, shape), rng.normal(size=(2, 5, 4, 6))
    x, cos, sin = (opsdk.to_tensor(a, stop_gradient=False) for a in (values, np.cos(angles), np.sin(angles)))
    rotary_embedding(x, cos, sin, interleaved=interleaved).backward(opsdk.to_tensor(dy))
    back = as_complex(dy, interleaved) * np.exp(-1j * angles)
    np.testing.assert_allclose(x.grad.numpy(), as_pairs(back, interleaved), rtol=0, atol=1e-14)
    product = as_complex(values, interleaved).conj() * as_complex(dy, interleaved)
    axes = tuple(range(4 - len(shape)))
    total = product.sum(axes)
    total = total.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)
    np.testing.assert_allclose(cos.grad.numpy(), total.real, rtol=0, atol=1e-13)
    np.testing.assert_allclose(sin.grad.numpy(), total.imag, rtol=0, atol=1e-13)


def test_it_is_rotate_half_of_torch_with_every_angle_twice(rng):
    torch = pytest.importorskip("torch")
    values, dy = rng.normal(size=(1, 2, 4, 6)), rng.normal(size=(1, 2, 4, 6))
    angles = np.outer(np.arange(4), 10000.0 ** (-2 * np.arange(3) / 6))
    x = opsdk.to_tensor(values, stop_gradient=False)
    y = rotary_embedding(x, opsdk.to_tensor(np.cos(angles)), opsdk.to_tensor(np.sin(angles)))
    y.backward(opsdk.to_tensor(dy))
    tx = torch.tensor(values, requires_grad=True)
    twice = torch.tensor(np.concatenate([angles, angles], axis=-1))
    first, second = tx.chunk(2, dim=-1)
    wanted = tx * twice.cos() + torch.cat((-second, first), dim=-1) * twice.sin()
    wanted.backward(torch.tensor(dy))
    np.testing.assert_allclose(y.numpy(), wanted.detach().numpy(), rtol=1e-14, atol=1e-15)
    np.testing.assert_allclose(x.grad.numpy(), tx.grad.numpy(), rtol=1e-14, atol=1e-15)


def test_products_of_queries_and_keys_depend_on_distances_only(rng):
    query, key = rng.normal(size=6), rng.normal(size=6)
    angles = np.outer(np.arange(5), [1.0, 0.3, 0.01])
    tables = np.cos(angles), np.sin(angles)
    queries, keys = (rotary_embedding(np.tile(v, (5, 1)), *tables, interleaved=True) for v in (query, key))
    scores = queries @ keys.T
    for distance in range(-4, 5):
        diagonal = np.diagonal(scores, distance)
        np.testing.assert_allclose(diagonal, diagonal[0], rtol=1e-12)


def test_the_second_derivative_is_that_of_complex_products(rng):
    torch = pytest.importorskip("torch")
    arrays = rng.normal(size=(3, 6)), rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    ours = [opsdk.to_tensor(array, stop_gradient=False) for array in arrays]
    first = opsdk.grad((rotary_embedding(*ours) ** 3.0).sum(), ours, create_graph=True)
    second = opsdk.grad(sum((g * g).sum() for g in first), ours)
    theirs = [torch.tensor(array, requires_grad=True) for array in arrays]
    tx, tcos, tsin = theirs
    a, b = tx.chunk(2, dim=-1)
    y = torch.cat((a * tcos - b * tsin, b * tcos + a * tsin), dim=-1)
    tfirst = torch.autograd.grad((y**3).sum(), theirs, create_graph=True)
    tsecond = torch.autograd.grad(sum((g * g).sum() for g in tfirst), theirs)
    for made, wanted in zip(second, tsecond, strict=True):
        np.testing.assert_allclose(made.numpy(), wanted.numpy(), rtol=1e-10, atol=1e-10)


def test_views_of_any_layout_are_turned(rng):
    x, angles = rng.normal(size=(6, 4, 2)), rng.normal(size=(3, 4))
    cos, sin = np.cos(angles), np.sin(angles)
    made = rotary_embedding(x.T[:, ::-1], cos.T, sin.T)
    np.testing.assert_array_equal(made, rotary_embedding(x.T[:, ::-1].copy(), cos.T.copy(), sin.T.copy()))


def test_tables_of_float64_beside_float32_give_float32_and_gradients_of_their_own_dtype(rng):
    x = opsdk.to_tensor(rng.normal(size=(4, 6)).astype("float32"), stop_gradient=False)
    cos, sin = (opsdk.to_tensor(rng.normal(size=(4, 3)), stop_gradient=False) for _ in range(2))
    y = rotary_embedding(x, cos, sin)
    y.sum().backward()
    assert [str(t.dtype) for t in (y, x.grad, cos.grad, sin.grad)] == ["float32", "float32", "float64", "float64"]


def test_no_positions_give_none():
    assert rotary_embedding(np.zeros((2, 0, 6)), np.zeros((0, 3)), np.zeros((0, 3))).shape == (2, 0, 6)


WRONG = {
    "odd": (
        (4, 5),
        (4, 2),
        (4, 2),
        r"x expected shape \(…, seq, head_dim\) with an even head_dim, got \(4, 5\); drop a",
    ),
    "0-d": ((), (2,), (2,), r"x expected shape .* got \(\); drop a feature or add one"),
    "twice": (
        (4, 6),
        (4, 6),
        (4, 6),
        r"cos expected a shape that broadcasts to \(4, 3\), .* got \(4, 6\); .* cos\[\.\.\., :",
    ),
    "positions": ((2, 4, 6), (5, 3), (5, 3), r"cos expected a shape that broadcasts to \(2, 4, 3\), .* got \(5, 3\)"),
    "axes": ((4, 6), (1, 4, 3), (1, 4, 3), r"cos expected a shape that broadcasts to \(4, 3\), .* got \(1, 4, 3\)"),
    "sin": (
        (4, 6),
        (4, 3),
        (5, 3),
        r"sin expected a shape that broadcasts to \(4, 3\), one angle per pair, got \(5, 3\)",
    ),
    "two": (
        (4, 6),
        (4, 3),
        (3,),
        r"sin expected the shape of cos, \(4, 3\), got \(3,\); give both for the same positions",
    ),
}


@pytest.mark.parametrize(("x", "cos", "sin", "message"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("runtime", ["arrays", "tape"])
def test_shapes_that_do_not_fit_are_refused_also_after_one_that_did(x, cos, sin, message, runtime):
    def call(*shapes):
        arrays = [np.ones(shape) for shape in shapes]
        if runtime == "tape":
            arrays = [opsdk.to_tensor(array, stop_gradient=False) for array in arrays]
        return rotary_embedding(*arrays)

    call((4, 6), (4, 3), (4, 3))
    with pytest.raises(ValueError, match=f"op 'contrib::rotary_embedding': {message}"):
        call(x, cos, sin)


def test_weights_of_the_two_layouts_are_not_alike(rng):
    x, tables = rng.normal(size=(4, 6)), (np.full((4, 3), 0.6), np.full((4, 3), 0.8))
    assert not np.allclose(rotary_embedding(x, *tables), rotary_embedding(x, *tables, interleaved=True))


def test_an_odd_number_of_features_has_no_pairs():
    with pytest.raises(ShapeError, match=r"pair_products: x expected an even number of features, got shape \(2, 3\)"):
        pair_products(np.ones((2, 3)), np.ones((2, 3)), interleaved=False)
