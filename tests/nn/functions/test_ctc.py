import itertools

import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from opsdk.nn import functional as F
from tests.nn.in_runtimes import check

SCORES = np.sin(1 + np.arange(4 * 2 * 3.0)).reshape(4, 2, 3)
LABELS = np.array([[1, 1], [2, 0]])
TIMES, LENGTHS = np.array([4, 3]), np.array([2, 1])


def by_alignments(blank=0, scores=SCORES, labels=LABELS, times=TIMES, lengths=LENGTHS):
    """-log of the sum over every path whose repetitions and blanks removed are the labels, path by path."""
    found = []
    for n in range(scores.shape[1]):
        p = np.exp(scores[:, n]) / np.exp(scores[:, n]).sum(-1, keepdims=True)
        wanted, total = labels[n, : lengths[n]].tolist(), 0.0
        for path in itertools.product(range(scores.shape[2]), repeat=int(times[n])):
            seen = [one for one, before in zip(path, (None, *path), strict=False) if one != before and one != blank]
            if seen == wanted:
                total += np.prod(p[np.arange(len(path)), path])
        found.append(-np.log(total) if total else np.inf)
    return np.array(found)


EACH = by_alignments()


def call(**options):
    return lambda x: F.ctc_loss(x, LABELS, TIMES, LENGTHS, **options)


CASES = {
    "each": (call(reduction="none"), EACH),
    "the mean, by labels": (call(), (EACH / LENGTHS).mean()),
    "the sum, by times": (call(reduction="sum", norm_by_times=True), (EACH / TIMES).sum()),
    "another blank": (
        lambda x: F.ctc_loss(x, LABELS - 1, TIMES, LENGTHS, blank=2, reduction="none"),
        by_alignments(2, labels=LABELS - 1),
    ),
    "in PyTorch's words, of logarithms, nothing to find": (
        lambda x: F.ctc_loss(
            F.log_softmax(x), targets=LABELS, input_lengths=TIMES, target_lengths=LENGTHS - 1, reduction="none"
        ),
        by_alignments(lengths=LENGTHS - 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_loss_is_that_of_all_alignments_in_every_runtime(name):
    function, wanted = CASES[name]
    check(function, [SCORES], wanted)


def test_labels_that_no_alignment_gives_are_infinite_or_zero_and_leave_the_others_their_gradient():
    x = opsdk.to_tensor(SCORES, stop_gradient=False)
    short = np.array([2, 3])  # two steps for 1, blank, 1
    lost = F.ctc_loss(x, LABELS, short, LENGTHS, reduction="none")
    assert lost.tolist() == pytest.approx([np.inf, EACH[1]])
    loss = nn.CTCLoss(reduction="sum", zero_infinity=True)(x, LABELS, short, LENGTHS)
    loss.backward()
    assert loss.item() == pytest.approx(EACH[1])
    assert np.isfinite(x.grad.numpy()).all()
    assert not x.grad.numpy()[:, 0].any()
    assert x.grad.numpy()[:3, 1].any()


def test_what_lies_beyond_a_length_is_not_looked_at_and_no_steps_give_no_labels():
    labels = np.array([[1, 1], [2, -1]])
    assert F.ctc_loss(SCORES, labels, TIMES, LENGTHS, reduction="none") == pytest.approx(EACH)
    none = F.ctc_loss(SCORES, labels, TIMES * 0, np.array([0, 1]), reduction="none")
    assert none.tolist() == [0.0, np.inf]


WRONG = {
    "axes": (
        lambda: F.ctc_loss(SCORES[0], LABELS, TIMES, LENGTHS),
        "ctc_loss: expected log_probs (time, batch, classes)",
    ),
    "batch": (
        lambda: F.ctc_loss(SCORES, LABELS, TIMES[:1], LENGTHS),
        "ctc_loss: input_lengths expected shape (2,), one for each sequence, got (1,)",
    ),
    "class": (lambda: F.ctc_loss(SCORES, LABELS + 5, TIMES, LENGTHS), "[-3, 3)"),
    "class below 0": (lambda: F.ctc_loss(SCORES, LABELS - 2, TIMES, LENGTHS), "[-3, 3)"),
    "time": (lambda: F.ctc_loss(SCORES, LABELS, TIMES + 9, LENGTHS), "[-5, 5)"),
    "time below 0": (lambda: F.ctc_loss(SCORES, LABELS, TIMES - 4, LENGTHS), "[-5, 5)"),
    "length": (lambda: F.ctc_loss(SCORES, LABELS, TIMES, LENGTHS + 1), "[-5, 5)"),
    "length below 0": (lambda: F.ctc_loss(SCORES, LABELS, TIMES, LENGTHS - 2), "[-5, 5)"),
    "reduction": (lambda: F.ctc_loss(SCORES, LABELS, TIMES, LENGTHS, reduction="x"), "reduction expected mean, sum"),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises(errors.OpsdkError) as caught:
        call()
    assert text in str(caught.value)
