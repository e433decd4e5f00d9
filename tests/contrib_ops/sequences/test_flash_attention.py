import numpy as np
import pytest

import opsdk
from contrib_ops.sequences import flash_attention
from opsdk.core.errors import ShapeError
from opsdk.verify.kernels.launch import launch

Q, K = np.array([[1.0, 0], [0.5, -1], [2, 1]]), np.array([[0.0, 1], [1, 1], [-1, 0.5]])
V = np.array([[1.0], [2], [4]])


def dense(q, k, v, seen, scale=None):
    """Softmax of all pairs at once."""
    scores = (q @ np.swapaxes(k, -1, -2)) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    e = np.where(seen, np.exp(scores), 0)
    total = e.sum(axis=-1)
    return e @ v / total[..., None], np.log(total)


def test_values_and_both_gradients_are_those_of_torch():
    # torch 2.14: scaled_dot_product_attention(is_causal=True), logsumexp, of (out·w).sum() + (lse·w²).sum()
    q, k, v = (opsdk.to_tensor(x, stop_gradient=False) for x in (Q, K, V))
    out, lse = flash_attention(q, k, v, causal=True)
    np.testing.assert_allclose(out.numpy()[:, 0], [1, 1.587479001, 1.875363945], rtol=1e-9)
    np.testing.assert_allclose(lse.numpy(), [0, 0.178361386, 2.371783384], atol=1e-9)
    w = np.array([1.0, 2, 3])
    loss = (out * w[:, None]).sum() + (lse * w * w).sum()
    first = opsdk.grad(loss, [q, k, v], create_graph=True)
    for got, want in zip(
        first,
        (
            [[0, 0.707106781], [2.004372556, 2.828427125], [4.808558581, 6.188351536]],
            [[2.825063007, 0.028909901], [11.321741419, 3.155405015], [0.702437979, 0.351218989]],
            [[2.392797553], [3.510278753], [0.096923694]],
        ),
        strict=True,
    ):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-7)
    second = opsdk.grad(sum((g * g).sum() for g in first), [q, k, v])
    for got, want in zip(
        second,
        (
            [[3.995242419, 0.0408847746], [53.57339381, 12.69686110], [178.4507461, 40.80945968]],
            [[-39.256043037, -4.748561324], [140.223954485, 112.068595896], [-28.426509191, -11.555178535]],
            [[-17.417167610], [21.645649832], [-4.228482222]],
        ),
        strict=True,
    ):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_of_keys_give_what_all_pairs_give(rng, dtype):
    q, k, v = (rng.normal(size=(2, n, 4)).astype(dtype) for n in (3, 300, 300))
    mask = rng.random((2, 1, 300)) < 0.5
    out, lse = flash_attention(q, k, v, mask, scale=2.0)
    wanted = dense(*(x.astype(np.float64) for x in (q, k, v)), mask, 2.0)
    tolerance = 1e-12 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(out, wanted[0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(lse, wanted[1], rtol=tolerance, atol=tolerance)


def test_results_for_two_sets_of_keys_are_joined_by_their_log_sum_exp(rng):
    q, k, v = (rng.normal(size=(n, 4)) for n in (3, 10, 10))
    (left, a), (right, b) = (flash_attention(q, k[part], v[part]) for part in (slice(6), slice(6, 10)))
    whole, both = flash_attention(q, k, v)
    np.testing.assert_allclose(both, np.logaddexp(a, b), rtol=1e-13)
    joined = left * np.exp(a - both)[:, None] + right * np.exp(b - both)[:, None]
    np.testing.assert_allclose(whole, joined, rtol=1e-12)


def test_a_query_that_sees_nothing_gives_zeros_and_takes_no_gradient():
    q = opsdk.to_tensor(Q, stop_gradient=False)
    out, lse = flash_attention(q, K, V, np.array([[True], [False], [True]]))
    assert (out.numpy()[1, 0], lse.numpy()[1]) == (0.0, -np.inf)
    out.sum().backward()
    np.testing.assert_array_equal(q.grad.numpy()[1], [0, 0])


def test_the_backward_keeps_no_array_of_pairs(rng):
    q, k, v = (opsdk.to_tensor(rng.normal(size=(200, 8)), stop_gradient=False) for _ in range(3))
    out, _ = flash_attention(q, k, v)
    kept = [array.nbytes for array in out._edge[0].saved[::3] if array is not None]
    assert sum(kept) == (4 * 200 * 8 + 200) * 8  # q, k, v, out and lse


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        (((3, 2), (4, 3), (4, 1)), r"expected q \(…, n, d\), k \(…, m, d\) and v \(…, m, e\), got \(3, 2\), \(4, 3\)"),
        (((3, 2), (4, 2), (5, 1)), "expected q"),
        (((2, 3, 2), (1, 4, 2), (1, 4, 1)), "expected q"),
        (((3, 2), (4, 2), (4, 1), (2, 4)), r"mask expected to broadcast to \(3, 4\), got \(2, 4\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, words):
    arrays = [np.ones(shape) for shape in shapes[:3]] + [np.ones(shape, bool) for shape in shapes[3:]]
    with pytest.raises(ShapeError, match=words):
        flash_attention(*arrays)


def test_other_dtypes_and_empty_vectors_are_refused():
    with pytest.raises(ValueError, match="q, k and v expected one floating dtype, got float64, float32 and float64"):
        flash_attention(Q, K.astype(np.float32), V)
    with pytest.raises(ValueError, match=r"expected vectors of one element or more, got shape \(3, 0\)"):
        flash_attention(Q[:, :0], K[:, :0], V)


@pytest.mark.parametrize(("dtype", "unit"), [("float16", 2**-10), ("bfloat16", 2**-7)])
def test_gradients_of_long_vectors_of_16_bits_are_summed_in_float32(dtype, unit, rng):
    def outcome(kind):
        inputs = [opsdk.to_tensor(array, stop_gradient=False).astype(kind) for array in rounded]
        made = flash_attention(*inputs[:3])[0]
        return [g.numpy().astype(float) for g in opsdk.grad(made, inputs[:3], grad_outputs=inputs[3])]

    arrays = [*rng.normal(size=(2, 3, 4000)), *rng.uniform(size=(2, 3, 4000))]  # dout · v, about 1000, is to cancel
    rounded = [opsdk.to_tensor(array).astype(dtype).astype("float64").numpy() for array in arrays]
    for got, want in zip(outcome(dtype), outcome("float64"), strict=True):
        assert np.abs(got - want).max() < 4 * unit * np.abs(want).max()


@pytest.mark.parametrize("wild", [np.nan, np.inf])
def test_a_key_that_is_masked_is_absent_whatever_it_holds(wild):
    mask = np.array([[True, True, False], [True, True, True], [True, True, False]])
    k, v = K.copy(), V.copy()
    k[2], v[2] = wild, wild
    wanted = dense(Q[[0, 2]], K[:2], V[:2], True)
    for kernel in flash_attention.opdef.kernels:
        if kernel.key.dtype in (None, np.float64):
            with np.errstate(invalid="ignore"):
                out, lse = launch(flash_attention.opdef, kernel, [Q, k, v, mask], {"causal": False, "scale": None})
            np.testing.assert_allclose(out[[0, 2]], wanted[0], rtol=1e-12)
            np.testing.assert_allclose(lse[[0, 2]], wanted[1], rtol=1e-12)
            assert np.isnan(out[1]).all()


def test_a_key_that_is_masked_has_no_share_in_gradients_whatever_it_holds():
    def gradients(k, v, mask):
        inputs = [opsdk.to_tensor(array, stop_gradient=False) for array in (Q, k, v)]
        made = opsdk.grad((flash_attention(*inputs, mask)[0] * np.array([[1.0], [2], [3]])).sum(), inputs)
        return [gradient.numpy() for gradient in made]

    wild = gradients(np.vstack([K, [[np.nan, 0]]]), np.vstack([V, [[np.inf]]]), np.array([True, True, True, False]))
    for got, want in zip(wild, gradients(K, V, None), strict=True):
        np.testing.assert_allclose(got[:3], want, rtol=1e-12)
        assert not got[3:].any()


def test_a_key_that_is_masked_has_no_share_in_second_gradients_whatever_it_holds():
    def second(k, v, mask):
        inputs = [opsdk.to_tensor(array, stop_gradient=False) for array in (Q, k, v)]
        loss = (flash_attention(*inputs, mask)[0] * np.array([[1.0], [2], [3]])).sum()
        first = opsdk.grad(loss, inputs, create_graph=True)
        return [g.numpy() for g in opsdk.grad(sum((g[:3] * g[:3]).sum() for g in first), inputs)]

    wild = second(np.vstack([K, [[np.nan, 0]]]), np.vstack([V, [[np.inf]]]), np.array([True, True, True, False]))
    for got, want in zip(wild, second(K, V, None), strict=True):
        np.testing.assert_allclose(got[:3], want, rtol=1e-12)
        assert not got[3:].any()


def test_the_log_sum_exp_of_scores_with_nan_is_nan_in_every_kernel():
    q = Q.copy()
    q[0, 0] = np.nan
    for kernel in flash_attention.opdef.kernels:
        if kernel.key.dtype in (None, np.float64):
            _, lse = launch(flash_attention.opdef, kernel, [q, K, V, None], {"causal": False, "scale": None})
            assert np.isnan(lse).tolist() == [True, False, False]
