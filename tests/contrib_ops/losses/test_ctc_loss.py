import itertools

import numpy as np
import pytest

import opsdk
from contrib_ops.losses.ctc_loss import ctc_loss, ctc_terms
from opsdk.verify.kernels.launch import launch

pytest.importorskip("cffi")


def log_softmax(x):
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


def collapsed(path, blank):
    return [label for label, _ in itertools.groupby(path) if label != blank]


def by_enumeration(log_probs, target, blank=0):
    """-log of the summed probability of all paths, each written out."""
    steps, classes = log_probs.shape
    total = sum(
        np.exp(sum(log_probs[t, label] for t, label in enumerate(path)))
        for path in itertools.product(range(classes), repeat=steps)
        if collapsed(path, blank) == list(target)
    )
    return -np.log(total) if total else np.inf


def rows(*inputs, op=ctc_terms, **attrs):
    """The result of each row of an op."""
    opdef, inputs = op.opdef, [np.asarray(value) for value in inputs]
    return {
        row.language: launch(opdef, row, inputs, {"blank": 0, **attrs})[0]
        for row in opdef.kernels
        if row.key.place == "cpu" and (row.key.dtype is None or row.key.dtype == inputs[0].dtype)
    }


@pytest.mark.parametrize(
    ("target", "blank"), [([1, 2], 0), ([1, 1], 0), ([2, 1, 2], 0), ([], 0), ([0, 1], 2), ([1, 1, 1], 0)]
)
def test_every_row_agrees_with_all_paths_written_out(rng, target, blank):
    log_probs = rng.normal(size=(4, 3))  # not normalised: the formula does not ask for it
    want = by_enumeration(log_probs, target, blank)
    labels = np.array([target], dtype=np.int64).reshape(1, -1)
    for got in rows(log_probs[:, None], labels, [4], [len(target)], blank=blank).values():
        assert got[0] == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("concatenated", [False, True])
@pytest.mark.parametrize("zero_infinity", [False, True])
def test_values_and_gradients_through_log_softmax_are_those_of_torch(rng, reduction, concatenated, zero_infinity):
    torch = pytest.importorskip("torch")
    logits = rng.normal(size=(9, 4, 5))
    targets, sizes = rng.integers(1, 5, (4, 4)), np.array([4, 2, 0, 3])
    targets[0] = [2, 2, 2, 2]
    inputs = np.array([9, 5, 7, 4 if zero_infinity else 6])
    if zero_infinity:
        targets[3] = 1  # 1 1 1 takes 5 steps
    given = np.concatenate([row[:size] for row, size in zip(targets, sizes, strict=True)]) if concatenated else targets
    weights = rng.normal(size=4 if reduction == "none" else ())

    x = torch.tensor(logits, requires_grad=True)
    want = torch.nn.functional.ctc_loss(
        x.log_softmax(-1), torch.tensor(given), torch.tensor(inputs), torch.tensor(sizes), 0, reduction, zero_infinity
    )
    (want_grad,) = torch.autograd.grad(want, x, torch.tensor(weights))

    y = opsdk.to_tensor(logits, stop_gradient=False)
    got = ctc_loss(opsdk.log_softmax(y), given, inputs, sizes, 0, reduction, zero_infinity)
    (got_grad,) = opsdk.grad(got, y, opsdk.to_tensor(weights))
    np.testing.assert_allclose(got.numpy(), want.detach().numpy(), rtol=1e-12)
    np.testing.assert_allclose(got_grad.numpy(), want_grad.numpy(), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_long_sequence_of_unlikely_labels_keeps_its_digits(rng, dtype):
    torch = pytest.importorskip("torch")
    logits = (8 * rng.normal(size=(300, 2, 12))).astype(dtype)
    targets, sizes = rng.integers(1, 12, (2, 60)), np.array([60, 45])
    inputs = np.array([300, 250])
    probs = torch.tensor(logits, dtype=torch.float64).log_softmax(-1)
    args = (torch.tensor(targets), torch.tensor(inputs), torch.tensor(sizes))
    want = torch.nn.functional.ctc_loss(probs, *args, reduction="none")
    got = ctc_loss(probs.numpy().astype(dtype), targets, inputs, sizes, reduction="none")
    np.testing.assert_allclose(got, want.numpy(), rtol=1e-6 if dtype == "float32" else 1e-13)
    assert got.dtype == dtype


def test_an_unreachable_target_is_infinite_or_zero_and_its_gradient_is_zero(rng):
    x = opsdk.to_tensor(rng.normal(size=(2, 2, 3)), stop_gradient=False)
    targets, sizes = np.array([[1, 1], [1, 2]]), np.array([2, 2])
    for zero_infinity, value in ((False, np.inf), (True, 0.0)):
        loss = ctc_loss(x, targets, np.array([2, 2]), sizes, reduction="none", zero_infinity=zero_infinity)
        assert loss.numpy()[0] == value
        (grad,) = opsdk.grad(loss, x, opsdk.to_tensor(np.ones(2)))
        assert (grad.numpy()[:, 0] == 0).all()
        np.testing.assert_allclose(grad.numpy()[:, 1].sum(axis=-1), -1.0)  # at each step, in some class


def test_a_probability_of_zero_is_no_obstacle_and_nan_stays_nan():
    with np.errstate(divide="ignore"):
        log_probs = np.log(np.array([[0.5, 0.5, 0.0], [0.25, 0.0, 0.75]]))[:, None]
    for got in rows(log_probs, [[1, 2]], [2], [2]).values():
        assert got[0] == pytest.approx(-np.log(0.5 * 0.75))
    log_probs[0, 0, 1] = np.nan
    with np.errstate(invalid="ignore"):
        for got in rows(log_probs, [[1, 2]], [2], [2]).values():
            assert np.isnan(got[0])


@pytest.mark.parametrize("kind", ["uint8", "int16", "int32", "uint64"])
@pytest.mark.parametrize("spread", [1, 100, 3000])
def test_rows_agree_on_any_lengths_labels_and_integers_and_far_beyond_the_range_of_floats(rng, kind, spread):
    for _ in range(20):
        steps, classes, size = rng.integers(1, 30), rng.integers(2, 9), rng.integers(0, 12)
        blank = int(rng.integers(classes))
        targets = rng.integers(0, classes - 1, (3, size))
        targets[targets >= blank] += 1
        inputs, sizes = rng.integers(0, steps + 1, 3).astype(kind), rng.integers(0, size + 1, 3).astype(kind)
        log_probs = spread * rng.normal(size=(steps, 3, classes))
        log_probs[rng.random(log_probs.shape) < 0.05] = -np.inf
        for op, more in ((ctc_terms, ()), (ctc_terms.grad, (rng.normal(size=3),))):
            made = rows(log_probs, targets.astype(kind), inputs, sizes, *more, op=op, blank=blank)
            np.testing.assert_allclose(made["c"], made["numpy"], rtol=1e-8, atol=1e-9)


def test_infinite_and_lost_log_probabilities_are_told_apart():
    log_probs = np.full((3, 1, 3), -np.log(2.0))
    log_probs[:, :, 2] = -1e30  # a mask, on no path of this target
    for got in rows(log_probs, [[1]], [3], [1]).values():
        assert got[0] == pytest.approx(-np.log(6 / 8))  # 1__ _1_ __1 11_ _11 111
    for got in rows(log_probs, [[2]], [3], [1]).values():
        assert got[0] == pytest.approx(1e30)
    log_probs[1, 0, 1] = np.inf
    with np.errstate(invalid="ignore"):
        for got in rows(log_probs, [[1]], [3], [1]).values():
            assert np.isnan(got[0])


def test_strided_inputs_and_steps_beyond_the_length_change_nothing(rng):
    wide = rng.normal(size=(2, 6, 8))
    log_probs = wide.transpose(1, 0, 2)[:, :, ::2]
    targets, inputs, sizes = np.array([[1, 3], [2, 0]]), np.array([5, 4]), np.array([2, 1])
    want = [by_enumeration(log_probs[:5, 0], [1, 3]), by_enumeration(log_probs[:4, 1], [2])]
    np.testing.assert_allclose(ctc_loss(log_probs, targets, inputs, sizes, reduction="none"), want)


GOOD = {
    "log_probs": np.zeros((3, 2, 4)),
    "targets": np.array([[1, 2], [3, 1]]),
    "input_lengths": np.array([3, 2]),
    "target_lengths": np.array([2, 1]),
}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"log_probs": np.zeros((3, 4))}, r"ctc_loss: expected log_probs \(steps, batch, classes\), .* got \(3, 4\), "),
        ({"log_probs": np.zeros((3, 2, 4), int)}, "log_probs expected float32 or float64, got int64; cast it"),
        ({"targets": np.ones((2, 2))}, "targets expected integers, got float64; cast it to int64"),
        ({"targets": np.array([[1, 4], [3, 1]])}, r"targets expected in \[0, 4\), got 1 to 4; they are classes"),
        ({"targets": np.array([[1, -1], [3, 1]])}, r"targets expected in \[0, 4\), got -1 to 3; they are classes"),
        ({"targets": np.array([[1, 0], [3, 1]])}, "targets expected labels other than the blank, 0, got one"),
        ({"targets": np.ones((3, 2), int)}, r"targets expected shape \(2, labels\) beside log_probs \(3, 2, 4\), got"),
        ({"targets": np.array([1, 2])}, "target_lengths expected a sum of 2, the labels in targets, got 3; targets of"),
        ({"input_lengths": np.array([4, 2])}, r"input_lengths expected in \[0, 3\], got 2 to 4"),
        ({"input_lengths": np.array([3, -1])}, r"input_lengths expected in \[0, 3\], got -1 to 3"),
        ({"target_lengths": np.array([3, 1])}, r"target_lengths expected in \[0, 2\], got 1 to 3"),
        ({"target_lengths": np.array([2])}, r"target_lengths expected 2 integers, .* got int64\(1,\)"),
        ({"input_lengths": np.array([3.0, 2.0])}, "input_lengths expected integers, got float64; cast it to int64"),
        ({"blank": 4}, r"blank expected in \[0, 4\), got 4; it is a class of log_probs"),
        ({"reduction": "max"}, r"'reduction' expected 'none' \| 'mean' \| 'sum', got 'max'; write"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ctc_loss(**{**GOOD, **wrong})


def test_the_gradient_op_refuses_cotangents_and_labels_that_do_not_fit():
    grad = ctc_terms.grad
    with pytest.raises(ValueError, match=r"dloss expected shape \(2,\), one for each sequence, got \(3,\)"):
        grad(*GOOD.values(), np.ones(3))
    with pytest.raises(ValueError, match=r"dloss expected shape \(2,\), one for each sequence, got \(3,\)"):
        grad.opdef.check([*GOOD.values(), np.ones(3)], {"blank": 0})  # what a machine without a C compiler relies on
    with pytest.raises(ValueError, match=r"targets expected in \[0, 4\), got 1 to 9"):
        grad(*{**GOOD, "targets": np.array([[1, 9], [3, 1]])}.values(), np.ones(2))
