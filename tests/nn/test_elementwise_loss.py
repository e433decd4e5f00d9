import numpy as np
import pytest

import opsdk
from opsdk import errors, nn
from opsdk.nn import functional as F

X = np.array([[0.2, 0.9], [0.5, 0.4]])
Y = np.array([[0.0, 1.0], [0.3, 1.0]])
LOG = np.log(X)


def bce(x, y):
    return -(y * np.log(x) + (1 - y) * np.log(1 - x))


def huber(delta):
    z = abs(3 * X - Y)
    return np.where(z > delta, delta * (z - delta / 2), z * z / 2)


# The function, its arguments, and each loss in plain NumPy.
EACH = {
    "binary_cross_entropy": ((X, Y), {}, bce(X, Y)),
    "binary_cross_entropy, weighted": ((X, Y, np.array([1.0, 3.0])), {}, bce(X, Y) * [1, 3]),
    "binary_cross_entropy_with_logits": ((LOG, Y), {}, bce(1 / (1 + np.exp(-LOG)), Y)),
    "binary_cross_entropy_with_logits, of what is 1": (
        (LOG, Y),
        {"pos_weight": np.array([2.0, 0.5])},
        -([2, 0.5] * Y * np.log(X / (1 + X)) + (1 - Y) * np.log(1 / (1 + X))),
    ),
    "l1_loss": ((X, Y), {}, abs(X - Y)),
    "smooth_l1_loss": ((3 * X, Y), {"delta": 0.7}, huber(0.7)),
    "smooth_l1_loss, in PyTorch's words": ((3 * X, Y), {"beta": 0.7}, huber(0.7) / 0.7),
    "huber_loss": ((3 * X, Y), {}, huber(1.0)),
    "kl_div": ((LOG, Y), {}, np.where(Y > 0, Y * (np.log(np.where(Y > 0, Y, 1)) - LOG), 0)),
    "kl_div, of logarithms": ((LOG, X[::-1]), {"log_target": True}, np.exp(X[::-1]) * (X[::-1] - LOG)),
    "hinge_embedding_loss": ((X, np.sign(Y - 0.5)), {"margin": 0.6}, np.where(Y > 0.5, X, np.maximum(0, 0.6 - X))),
    "soft_margin_loss": ((X, np.sign(Y - 0.5)), {}, np.log(1 + np.exp(-np.sign(Y - 0.5) * X))),
    "margin_ranking_loss": (
        (X, Y, np.array([1, -1])),
        {"margin": 0.1},
        np.maximum(0, 0.1 - np.array([1, -1]) * (X - Y)),
    ),
}


@pytest.mark.parametrize("name", EACH)
def test_each_loss_is_its_formula_and_is_reduced(name):
    values, options, each = EACH[name]
    function = getattr(F, name.partition(",")[0])
    np.testing.assert_allclose(function(*values, reduction="none", **options), each, rtol=1e-7, atol=1e-12)
    assert function(*values, **options) == pytest.approx(each.mean(), rel=1e-7)
    assert function(*values, reduction="sum", **options) == pytest.approx(each.sum(), rel=1e-7)


def test_a_divergence_is_summed_over_a_row_and_averaged_over_rows():
    each = EACH["kl_div"][2]
    assert F.kl_div(LOG, Y, reduction="batchmean") == pytest.approx(each.sum() / 2, rel=1e-7)
    assert nn.KLDivLoss("batchmean")(opsdk.to_tensor(LOG), opsdk.to_tensor(Y)).item() == pytest.approx(each.sum() / 2)


def test_a_wrong_certainty_costs_100_and_has_the_gradient_of_both_libraries():
    x = opsdk.to_tensor([0.0, 1.0], stop_gradient=False)
    loss = F.binary_cross_entropy(x, opsdk.to_tensor([1.0, 0.0]), reduction="none")
    loss.sum().backward()
    assert loss.tolist() == [100.0, 100.0]
    np.testing.assert_allclose(x.grad.numpy(), [-1e12, 1e12], rtol=1e-6)


LAYERS = {
    "BCELoss": "binary_cross_entropy",
    "BCEWithLogitsLoss": "binary_cross_entropy_with_logits",
    "L1Loss": "l1_loss",
    "HuberLoss": "huber_loss",
    "KLDivLoss": "kl_div",
    "SoftMarginLoss": "soft_margin_loss",
    "MarginRankingLoss": "margin_ranking_loss",
    "HingeEmbeddingLoss": "hinge_embedding_loss",
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_is_its_function_with_the_options_that_it_was_made_with(name):
    values, options, each = EACH[LAYERS[name]]
    layer = getattr(nn, name)(**options, reduction="sum")
    assert layer(*map(opsdk.to_tensor, values)).item() == pytest.approx(each.sum(), rel=1e-7)
    assert repr(layer) == f"{name}()"


def test_a_layer_takes_what_it_compares_by_the_functions_names():
    x, y = map(opsdk.to_tensor, (X, Y))
    assert nn.L1Loss()(label=y, input=x).item() == pytest.approx(abs(X - Y).mean(), rel=1e-7)


# Paddle 3.3.1 of these log-probabilities.
P = np.log([[0.2, 0.8], [0.5, 0.5]])
NLL = {
    "mean": ((np.array([1, 0]),), {}, 0.45814537),
    "one ignored": ((np.array([1, -100]),), {}, 0.22314355),
    "all ignored": ((np.array([-100, -100]),), {}, 0.0),
    "weighted": ((np.array([1, 0]), np.array([1.0, 3.0])), {}, 0.34064446),
    "sum": ((np.array([1, 0]),), {"reduction": "sum"}, 0.91629073),
}


@pytest.mark.parametrize("case", NLL)
def test_the_loss_of_log_probabilities_is_paddles(case):
    values, options, wanted = NLL[case]
    assert F.nll_loss(P, *values, **options) == pytest.approx(wanted, rel=1e-7)


def test_classes_stand_on_axis_one():
    x = np.moveaxis(np.stack([P] * 3), 2, 1)
    label = np.array([[1, 0]] * 3)
    assert F.nll_loss(x, label, reduction="none") == pytest.approx(-np.stack([P[[0, 1], [1, 0]]] * 3))
    loss = nn.NLLLoss(reduction="sum")(opsdk.to_tensor(x), opsdk.to_tensor(label)).item()
    assert loss == pytest.approx(3 * 0.91629073)


def test_sixteen_bits_are_summed_in_float32_and_rounded_once():
    x = np.full(4096, 0.1, np.float16)
    made = F.l1_loss(x, np.zeros(4096, np.float16), reduction="sum")
    assert made.dtype == np.float16
    assert made == np.float16(4096 * np.float32(np.float16(0.1)))


WRONG = {
    "reduction": (lambda: F.l1_loss(X, Y, "x"), "l1_loss: reduction expected mean, sum or none, got 'x'"),
    "reduction of a layer": (
        lambda: nn.BCELoss(reduction="x"),
        "BCELoss: reduction expected mean, sum or none, got 'x'",
    ),
    "reduction of a layer of classes": (
        lambda: nn.CrossEntropyLoss(reduction="x"),
        "CrossEntropyLoss: reduction expected mean, sum or none, got 'x'",
    ),
    "shape": (lambda: F.binary_cross_entropy(X, Y[:, :1]), "binary_cross_entropy: label expected shape (2, 2)"),
    "integers": (lambda: F.l1_loss(np.ones(2, int), np.ones(2, int)), "l1_loss: expected floats, got int64 and int64"),
    "delta": (lambda: F.smooth_l1_loss(X, Y, delta=0.0), "delta expected a number above 0, got 0.0"),
    "label of classes": (lambda: F.nll_loss(P, np.array([[1, 0]])), "nll_loss: label expected shape (2,)"),
    "weight of classes": (lambda: F.nll_loss(P, np.array([1, 0]), np.ones(3)), "nll_loss: weight expected shape (2,)"),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert text in str(caught.value)


def test_a_label_that_is_no_class_is_refused():
    with pytest.raises(errors.AttributeValueError, match=r"position expected in \[0, 2\), got 2"):
        F.nll_loss(P, np.array([2, 0]))
