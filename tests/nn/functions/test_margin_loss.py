import numpy as np
import pytest

from opsdk.nn import functional as F
from tests.nn.in_runtimes import check, in_a_program

X = np.array([[0.2, 0.9, -0.4], [0.5, -0.6, 1.1]])
Y = np.array([[1.0, 0.3, 0.7], [-0.8, 0.4, 0.6]])
Z = X[:, ::-1] + 0.3
RATES = np.array([[0.3, 1.2, 2.5], [0.7, 3.1, 0.4]])
SIGNS = np.array([1, -1])
CLASSES = np.array([2, 0])
FACTORS = np.array([0.5, 1.0, 2.0])
BITS = np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
ROWS = np.arange(2)
COS = (X * Y).sum(1) / np.linalg.norm(X, axis=1) / np.linalg.norm(Y, axis=1)
STIRLING = np.where(RATES > 1, RATES * np.log(RATES) - RATES + 0.5 * np.log(2 * np.pi * RATES), 0)


def away(x, y, p=2):
    return (abs(x - y + 1e-6) ** p).sum(1) ** (1 / p)


def bce(x, y):
    p = 1 / (1 + np.exp(-x))
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def margins(p, margin):
    each = np.maximum(margin - X[ROWS, CLASSES][:, None] + X, 0) ** p
    each[ROWS, CLASSES] = 0
    return each.sum(1) / 3


def focal(alpha, gamma):
    p = 1 / (1 + np.exp(-X))
    hit = np.where(BITS == 1, p, 1 - p)
    return np.where(BITS == 1, alpha, 1 - alpha) * (1 - hit) ** gamma * -np.log(hit)


# The function, its arrays and options, and each loss in plain NumPy.
EACH = {
    "cosine_embedding_loss": (
        [X, Y, SIGNS],
        {"margin": 0.1},
        np.where(SIGNS == 1, 1 - COS, np.maximum(COS - 0.1, 0)),
    ),
    "gaussian_nll_loss": ([X, Y, RATES], {}, 0.5 * (np.log(RATES) + (X - Y) ** 2 / RATES)),
    "gaussian_nll_loss, one variance a row": (
        [X, Y, RATES[:, 0]],
        {"full": True, "eps": 0.5},
        0.5 * (np.log([[0.5], [0.7]]) + (X - Y) ** 2 / [[0.5], [0.7]] + np.log(2 * np.pi)),
    ),
    "poisson_nll_loss": ([X, RATES], {"full": True}, np.exp(X) - RATES * X + STIRLING),
    "poisson_nll_loss, of rates": (
        [RATES, RATES[::-1]],
        {"log_input": False, "eps": 0.1},
        RATES - RATES[::-1] * np.log(RATES + 0.1),
    ),
    "multi_label_soft_margin_loss": ([X, BITS, FACTORS], {}, (bce(X, BITS) * FACTORS).mean(1)),
    "multi_margin_loss": ([X, CLASSES], {"margin": 0.8}, margins(1, 0.8)),
    "multi_margin_loss, squared and weighted": (
        [X, CLASSES],
        {"p": 2, "weight": FACTORS},
        margins(2, 1.0) * FACTORS[CLASSES],
    ),
    "multi_label_margin_loss": (
        [X, np.array([[1, -1, 0], [2, 0, -1]])],
        {},
        [
            (np.maximum(0.1 + X[0, [0, 2]], 0)).sum() / 3,
            sum(max(0, 1 - X[1, j] + X[1, 1]) for j in (2, 0)) / 3,
        ],
    ),
    "triplet_margin_loss": (
        [X, Y, Z],
        {"margin": 2.0, "p": 3},
        np.maximum(away(X, Y, 3) - away(X, Z, 3) + 2, 0),
    ),
    "triplet_margin_loss, swapped": (
        [X, Y, Z],
        {"swap": True},
        np.maximum(away(X, Y) - np.minimum(away(X, Z), away(Y, Z)) + 1, 0),
    ),
    "triplet_margin_with_distance_loss": (
        [X, Y, Z],
        {"distance_function": lambda a, b: ((a - b) * (a - b)).sum(1), "margin": 3.0},
        np.maximum(((X - Y) ** 2).sum(1) - ((X - Z) ** 2).sum(1) + 3, 0),
    ),
    "sigmoid_focal_loss": ([X, BITS], {"alpha": 0.3, "gamma": 1.5}, focal(0.3, 1.5)),
    "sigmoid_focal_loss, divided": ([X, BITS, np.array([4.0])], {}, focal(0.25, 2.0) / 4),
}


@pytest.mark.parametrize("name", EACH)
def test_each_loss_is_its_formula_and_is_reduced(name):
    arrays, options, each = EACH[name]
    function, each = getattr(F, name.partition(",")[0]), np.asarray(each)
    # labels of 0 and 1 are data: their slopes are those of no path that anybody takes
    free = [0] if "focal" in name or "label" in name else None
    check(lambda *values: function(*values, reduction="none", **options), arrays, each, free, rtol=1e-8)
    assert function(*arrays, reduction="mean", **options) == pytest.approx(each.mean(), rel=1e-8)
    assert function(*arrays, reduction="sum", **options) == pytest.approx(each.sum(), rel=1e-8)


P = np.array([[[0.2, 0.8], [0.6, 0.4]], [[0.3, 0.7], [0.9, 0.1]]])
SAME = np.array([3, 5, 3])
PAIRS = np.array([[0.1, 0.5], [0.4, -0.2], [0.3, 0.3]])
SHARE = np.array([[0.5, 0, 0.5], [0, 1, 0], [0.5, 0, 0.5]])
SCORES = PAIRS @ PAIRS[::-1].T
OTHERS = {
    "dice_loss": (
        lambda x: F.dice_loss(x, np.array([[[1], [0]], [[0], [0]]])),
        [P],
        np.mean([1 - 2 * 1.4 / (4 + 1e-5), 1 - 2 * 1.2 / (4 + 1e-5)]),
    ),
    "log_loss": (
        F.log_loss,
        [RATES / 4, BITS],
        -BITS * np.log(RATES / 4 + 1e-4) - (1 - BITS) * np.log(1 - RATES / 4 + 1e-4),
    ),
    "npair_loss": (
        lambda x, y: F.npair_loss(x, y, SAME, 0.1),
        [PAIRS, PAIRS[::-1]],
        0.025 * 2 * (PAIRS**2).sum(1).mean()
        + (SHARE * -(SHARE * (SCORES - np.log(np.exp(SCORES).sum(1, keepdims=True)))).sum(1, keepdims=True))
        .sum(0)
        .mean(),
    ),
    "label_smooth": (F.label_smooth, [BITS], 0.9 * BITS + 0.1 / 3),
    "label_smooth, of a prior": (
        lambda x, prior: F.label_smooth(x, prior, 0.2),
        [BITS, FACTORS[None]],
        0.8 * BITS + 0.2 * FACTORS,
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_each_is_its_formula_in_every_runtime(name):
    check(*OTHERS[name])


def test_a_program_has_no_loss_of_a_variance_below_zero():
    function = lambda x, v: F.gaussian_nll_loss(x, Y, v, reduction="none")  # noqa: E731
    assert np.isnan(in_a_program(function, [X, RATES - 1])).tolist() == (RATES < 1).tolist()


def test_pytorchs_spellings_are_the_same_functions():
    assert F.multilabel_margin_loss is F.multi_label_margin_loss
    assert F.multilabel_soft_margin_loss is F.multi_label_soft_margin_loss


WRONG = {
    "shapes": (lambda: F.triplet_margin_loss(X, Y[:1], Z), "triplet_margin_loss: label expected shape (2, 3)"),
    "margin": (lambda: F.triplet_margin_loss(X, Y, Z, -1.0), "margin expected a number ≥ 0, got -1.0"),
    "label of pairs": (
        lambda: F.cosine_embedding_loss(X, Y, np.ones(3)),
        "cosine_embedding_loss: label expected shape (2,), of the input without its last axis, got (3,)",
    ),
    "variance": (
        lambda: F.gaussian_nll_loss(X, Y, np.ones(3)),
        "gaussian_nll_loss: variance expected shape (2, 3), of the input, got (3,)",
    ),
    "variance below 0": (
        lambda: F.gaussian_nll_loss(X, Y, -RATES),
        "gaussian_nll_loss: variance expected numbers ≥ 0, got -3.1",
    ),
    "epsilon": (lambda: F.poisson_nll_loss(X, Y, epsilon=0), "poisson_nll_loss: epsilon expected a number > 0, got 0"),
    "p": (lambda: F.multi_margin_loss(X, CLASSES, 3), "multi_margin_loss: p expected 1 or 2, got 3"),
    "weight": (
        lambda: F.multi_margin_loss(X, CLASSES, weight=np.ones(2)),
        "multi_margin_loss: weight expected shape (3,), with a factor for each class, got (2,)",
    ),
    "classes": (
        lambda: F.multi_margin_loss(X, X),
        "multi_margin_loss: label expected shape (2,), of the input without",
    ),
    "labels": (
        lambda: F.multi_label_margin_loss(X, CLASSES),
        "multi_label_margin_loss: label expected shape (2, 3), of the input, got (2,)",
    ),
    "no class": (lambda: F.multi_label_margin_loss(X, np.full((2, 3), 7)), "[0, 3)"),
    "dice": (
        lambda: F.dice_loss(P, P),
        "dice_loss: label expected shape (2, 2, 1), of the input with size 1 for the classes",
    ),
    "smooth": (lambda: F.label_smooth(BITS, epsilon=2), "label_smooth: epsilon expected a number in [0, 1], got 2"),
    "reduction": (lambda: F.multi_margin_loss(X, CLASSES, reduction="x"), "reduction expected mean, sum or none"),
}


@pytest.mark.parametrize(("call", "text"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_by_name(call, text):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert text in str(caught.value)
