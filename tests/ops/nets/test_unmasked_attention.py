"""Attention without masks beside `scaled_dot_product_attention`, and its C kernels beside float64."""

import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from opsdk.ops.nets.attention import scaled_dot_product_attention
from opsdk.ops.nets.unmasked_attention import unmasked_attention

SIZES = {  # batch, queries, keys, heads, size of a key, of a value
    "few": (1, 3, 4, 2, 2, 3),
    "whole panels": (1, 32, 32, 2, 32, 64),
    "two blocks of queries, and a rest": (1, 131, 140, 2, 16, 33),
    "few keys": (2, 40, 7, 1, 5, 5),
    "few queries": (1, 7, 40, 1, 5, 1),
    "no keys": (1, 2, 0, 1, 2, 2),
    "no queries": (1, 0, 2, 1, 2, 2),
}


def called(op, inputs, cotangent, dtype, **attrs):
    """Returns result and gradients."""
    given = [opsdk.to_tensor(each.astype(dtype), stop_gradient=False) for each in inputs]
    made = op(*given, **attrs)
    grads = opsdk.grad([made], given, [opsdk.to_tensor(cotangent.astype(dtype))])
    return [each.numpy() for each in (made, *grads)]


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_it_is_the_other_without_masks_and_in_float32_nearly_so(rng, sizes, causal):
    batch, queries, keys, heads, size, wide = sizes
    shapes = (batch, queries, heads, size), (batch, keys, heads, size), (batch, keys, heads, wide)
    inputs = [rng.normal(size=shape) for shape in shapes]
    cotangent, attrs = rng.normal(size=(batch, queries, heads, wide)), {"causal": causal, "scale": 0.3}
    expected = called(scaled_dot_product_attention, inputs, cotangent, "float64", **attrs)
    for dtype, bound in (("float64", 0), ("float32", 2e-6)):
        found = called(unmasked_attention, inputs, cotangent, dtype, **attrs)
        for value, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(other, value, rtol=0, atol=bound * max(np.abs(value).max(initial=0), 1))


def test_the_kernel_for_float32_is_that_in_c():
    for op in (unmasked_attention, unmasked_attention.grad):
        assert op.opdef.kernels.select("cpu", np.dtype("float32")).language == "c"


def test_scores_of_any_size_are_served_as_the_formula_has_them():
    q = np.ones((1, 4, 1, 1), "float32")
    k = np.array([0, -1e30, 88, 3e38], "float32").reshape(1, 4, 1, 1)
    v = np.eye(4, dtype="float32").reshape(1, 4, 1, 4)
    out = unmasked_attention(q, k, v, causal=True)[0, :, 0]
    np.testing.assert_allclose(out, [[1, 0, 0, 0], [1, 0, 0, 0], [6e-39, 0, 1, 0], [0, 0, 0, 1]], atol=1e-38)
    below = np.full((1, 2, 1, 1), -np.inf, "float32")
    assert unmasked_attention(np.ones_like(below), below, np.ones_like(below)).tolist() == [[[[0.0]], [[0.0]]]]
    q[0, 1] = np.nan
    assert np.isnan(unmasked_attention(q, np.ones_like(k), v)).all(axis=(2, 3)).tolist() == [
        [False, True, False, False]
    ]


def test_shapes_and_dtypes_that_do_not_fit_are_refused_by_its_name():
    q, k = np.ones((1, 2, 1, 3)), np.ones((1, 2, 1, 4))
    with pytest.raises(errors.ShapeError, match=r"op 'opsdk::unmasked_attention': k expected shape \(1, .*, 1, 3\)"):
        unmasked_attention(q, k, k)
    with pytest.raises(errors.DTypeError, match="'opsdk::unmasked_attention': v expected float64 like q, got float32"):
        unmasked_attention(q, q, q.astype("float32"))


def test_the_function_takes_it_where_nothing_is_masked_or_dropped(rng):
    x = opsdk.to_tensor(rng.normal(size=(1, 3, 2, 4)), stop_gradient=False)
    sees = opsdk.to_tensor(np.ones((3, 3), bool))
    attend = nn.functional.scaled_dot_product_attention
    made, masked, dropped = attend(x, x, x), attend(x, x, x, sees), attend(x, x, x, dropout_p=0.5)
    names = [each._edge[0].name for each in (made, masked, dropped)]
    assert names == ["unmasked_attention", *["scaled_dot_product_attention"] * 2]
    np.testing.assert_array_equal(made.numpy(), masked.numpy())


def test_the_second_derivative_is_that_of_the_other(rng):
    def twice(op):
        x = opsdk.to_tensor(values, stop_gradient=False)
        (first,) = opsdk.grad([op(x, x * 2, x, causal=True).sum()], [x], create_graph=True)
        return opsdk.grad([(first * first).sum()], [x])[0].numpy()

    values = rng.normal(size=(1, 3, 2, 4))
    np.testing.assert_allclose(twice(unmasked_attention), twice(scaled_dot_product_attention), rtol=1e-10)
