"""The steps of an LSTM beside `rnn`, which has loops of its own; and its C kernels beside float64."""

import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from opsdk.ops.nets.lstm import lstm
from opsdk.ops.nets.recurrent import rnn

SIZES = {
    "three steps": (3, 2, 2),
    "one unit": (2, 3, 1),
    "units beyond a vector": (4, 9, 33),
    "whole blocks": (2, 8, 64),
    "one unit less": (2, 5, 31),
    "no steps": (0, 2, 3),
    "no rows": (2, 0, 3),
}


def drawn(rng, steps, batch, size):
    return [rng.normal(size=shape) for shape in ((steps, batch, 4 * size), (2, batch, size), (4 * size, size))]


def called(op, inputs, cotangents, dtype, **attrs):
    """Returns results and gradients."""
    given = [opsdk.to_tensor(each.astype(dtype), stop_gradient=False) for each in inputs]
    made = op(*given, **attrs)
    arrived = [opsdk.to_tensor(each.astype(dtype)) for each in cotangents]
    return [each.numpy() for each in (*made, *opsdk.grad(list(made), given, arrived))]


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_it_is_rnn_behind_the_product_and_in_float32_nearly_so(rng, sizes, reverse):
    steps, batch, size = sizes
    x, state, weights = drawn(rng, *sizes)
    cotangents = rng.normal(size=(steps, batch, size)), rng.normal(size=(2, batch, size))
    given = (x, state, np.eye(4 * size), weights)  # so that what enters the gates is the sequence itself
    out, last, dx, dstate, _, dweights = called(lambda *a: rnn(*a, reverse=reverse), given, cotangents, "float64")
    expected = [out, last, dx, dstate, dweights]
    for dtype, bound in (("float64", 1e-13), ("float32", 2e-6)):
        found = called(lstm, (x, state, weights), cotangents, dtype, reverse=reverse)
        for value, other in zip(expected, found, strict=True):
            np.testing.assert_allclose(other, value, rtol=0, atol=bound * max(np.abs(value).max(initial=0), 1))


def test_the_kernel_for_float32_is_that_in_c():
    for op in (lstm, lstm.grad):
        assert op.opdef.kernels.select("cpu", np.dtype("float32")).language == "c"


def test_gates_of_any_size_saturate_and_nan_stays():
    entered = np.zeros((1, 8, 4), "float32")
    entered[0, :, 0] = entered[0, :, 3] = 3.4e38  # both are open
    entered[0, :, 2] = [-np.inf, -1e30, -20, 1e-8, 1e-3, 20, np.inf, np.nan]
    entered[0, :, 1] = [0, -np.inf, -88.5, -89, 0, 88.5, 1e30, 0]
    state = np.ones((2, 8, 1), "float32")
    expected = np.tanh(entered[0, :, 2], dtype="float64") + np.array([0.5, 0, 0, 0, 0.5, 1, 1, 0.5])
    cell = lstm(entered, state, np.zeros((4, 1), "float32"))[1][1, :, 0]
    np.testing.assert_allclose(cell, expected, rtol=3e-7, atol=1e-37)


def test_shapes_and_dtypes_that_do_not_fit_are_refused_by_name(rng):
    entered, state, weights = drawn(rng, 3, 2, 5)
    with pytest.raises(errors.ShapeError, match=r"'opsdk::lstm': entered expected shape \(T, B, 4 H\), got \(2, 20\)"):
        lstm(entered[0], state, weights)
    with pytest.raises(errors.ShapeError, match=r"op 'opsdk::lstm': state expected shape \(2, 2, 5\) to fit"):
        lstm(entered, state[:1], weights)
    with pytest.raises(errors.DTypeError, match="op 'opsdk::lstm': w_hh expected float64 like entered, got float32"):
        lstm(entered, state, weights.astype("float32"))


def test_a_layer_takes_it_unless_sequences_have_lengths_and_gives_the_same(rng):
    layer, x = nn.LSTM(3, 4, 2, direction="bidirect"), opsdk.to_tensor(rng.normal(size=(2, 5, 3)).astype("float32"))
    made, (h, c) = layer(x)
    other, (h2, c2) = layer(x, sequence_length=opsdk.to_tensor(np.array([5, 5])))
    for value, same in ((made, other), (h, h2), (c, c2)):
        np.testing.assert_allclose(value.numpy(), same.numpy(), rtol=0, atol=1e-6)
    names = set()
    node = made._edge[0]
    waiting = [node]
    while waiting:
        node = waiting.pop()
        names.add(getattr(node, "name", ""))
        waiting += [edge[0] for edge in getattr(node, "edges", ()) if edge is not None]
    assert "lstm" in names
    assert "rnn" not in names
