import numpy as np
import pytest

import opsdk
from contrib_ops.sequences.selective_scan import selective_scan
from opsdk.verify.kernels.launch import launch

pytest.importorskip("numba")

# Compiles six kernels; test_spline and test_flash_attention stand for the family in make test.
pytestmark = pytest.mark.slow

NAMES = ("u", "delta", "A", "B", "C", "D")


def inputs(rng, batch=2, channels=5, states=3, steps=4):
    return {
        "u": rng.normal(size=(batch, channels, steps)),
        "delta": rng.uniform(0.1, 1.0, (batch, channels, steps)),
        "A": -rng.uniform(0.5, 2.0, (channels, states)),
        "B": rng.normal(size=(batch, states, steps)),
        "C": rng.normal(size=(batch, states, steps)),
        "D": rng.normal(size=channels),
    }


def in_torch(torch, u, delta, A, B, C, D):
    """The recurrence of the paper, a step at a time."""
    h, outputs = torch.zeros(*u.shape[:2], A.shape[1], dtype=u.dtype), []
    for t in range(u.shape[2]):
        decay = torch.exp(delta[:, :, t].unsqueeze(-1) * A)
        h = decay * h + (delta[:, :, t] * u[:, :, t]).unsqueeze(-1) * B[:, :, t].unsqueeze(1)
        outputs.append((h * C[:, :, t].unsqueeze(1)).sum(-1) + D * u[:, :, t])
    return torch.stack(outputs, dim=2), h


@pytest.mark.parametrize("sizes", [(2, 5, 3, 4), (1, 1, 1, 1), (3, 2, 20, 7), (1, 9, 2, 3)])
def test_both_outputs_and_all_six_gradients_are_those_of_a_loop_in_torch(rng, sizes):
    torch = pytest.importorskip("torch")
    given = inputs(rng, *sizes)
    leaves = {name: torch.tensor(value, requires_grad=True) for name, value in given.items()}
    want = in_torch(torch, **leaves)
    cotangents = [rng.normal(size=tuple(out.shape)) for out in want]
    grads = torch.autograd.grad(want, list(leaves.values()), [torch.tensor(c) for c in cotangents])
    opdef = selective_scan.opdef
    for row in opdef.kernels:
        for got, out in zip(launch(opdef, row, list(given.values()), {}), want, strict=True):
            np.testing.assert_allclose(got, out.detach().numpy(), rtol=1e-11, atol=1e-13)
    gradient = selective_scan.grad.opdef
    for row in gradient.kernels:
        for got, wanted in zip(launch(gradient, row, [*given.values(), *cotangents], {}), grads, strict=True):
            np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-10, atol=1e-12)


def test_one_state_by_hand():
    one = np.ones((1, 1, 2))
    decay = np.exp(-0.5)
    y, last = selective_scan(one, 0.5 * one, -np.ones((1, 1)), one, 2 * one, np.array([10.0]))
    np.testing.assert_allclose(y[0, 0], [10 + 2 * 0.5, 10 + 2 * (decay * 0.5 + 0.5)])
    np.testing.assert_allclose(last[0, 0], [decay * 0.5 + 0.5])


def test_no_steps_leave_the_states_at_zero(rng):
    y, last = selective_scan(*inputs(rng, steps=0).values())
    assert y.shape == (2, 5, 0)
    assert (last == 0).all()


# Each kernel is compiled for this cotangent alone; the gradients above stand for it.
@pytest.mark.slow
def test_a_loss_of_the_last_state_alone_reaches_what_the_state_is_made_of(rng):
    tensors = [opsdk.to_tensor(value, stop_gradient=False) for value in inputs(rng).values()]
    _, last = selective_scan(*tensors)
    du, ddelta, dA, dB, dC, dD = opsdk.grad(last.sum(), tensors)
    assert all(np.abs(each.numpy()).min() > 0 for each in (du, ddelta, dB))
    assert np.abs(dA.numpy()).min() > 0
    assert not dC.numpy().any()
    assert not dD.numpy().any()


def test_float32_and_strided_inputs_give_the_same_as_contiguous_ones(rng):
    given = {name: value.astype("float32") for name, value in inputs(rng).items()}
    turned = dict(given, u=np.asfortranarray(given["u"]), B=np.repeat(given["B"], 2, axis=2)[:, :, ::2])
    for got, want in zip(selective_scan(**turned), selective_scan(**given), strict=True):
        assert got.dtype == np.float32
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("u", np.zeros((2, 5)), r"expected u \(batch, channels, steps\), .* got \(2, 5\), \(5, 3\) and \(2, 3, 4\)"),
        ("delta", np.zeros((2, 5, 3)), r"delta expected shape \(2, 5, 4\) beside u .*, got \(2, 5, 3\)"),
        ("A", np.zeros((4, 3)), r"A expected shape \(5, 3\) beside u .*, got \(4, 3\)"),
        ("B", np.zeros((2, 4, 4)), r"B expected shape \(2, 3, 4\) beside u .*, got \(2, 4, 4\)"),
        ("C", np.zeros((1, 3, 4)), r"C expected shape \(2, 3, 4\) beside u .*, got \(1, 3, 4\)"),
        ("D", np.zeros(4), r"D expected shape \(5,\) beside u .*, got \(4,\)"),
        ("D", np.zeros(5, "float32"), "D expected float64 like u, got float32; cast one of them"),
        ("u", np.zeros((2, 5, 4), int), "u expected float32 or float64, got int64; cast all inputs"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(rng, name, value, message):
    with pytest.raises(ValueError, match=message):
        selective_scan(**{**inputs(rng), name: value})


def test_the_gradient_op_refuses_cotangents_of_another_shape(rng):
    given = list(inputs(rng).values())
    with pytest.raises(ValueError, match=r"dy expected shape \(2, 5, 4\) beside u .*, got \(2, 5, 3\)"):
        selective_scan.grad(*given, np.zeros((2, 5, 3)), np.zeros((2, 5, 3)))
    with pytest.raises(ValueError, match=r"dlast_state expected shape \(2, 5, 3\) beside u .*, got \(2, 5, 4\)"):
        selective_scan.grad(*given, np.zeros((2, 5, 4)), np.zeros((2, 5, 4)))
