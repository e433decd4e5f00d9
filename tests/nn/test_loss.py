import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, DTypeError, ShapeError
from opsdk.nn import functional as F

LOGITS = np.array([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0], [2.0, 2.0, 2.0]])
LABEL = np.array([1, 2, 0])


def log_softmax(x, axis=-1):
    return x - np.log(np.exp(x).sum(axis=axis, keepdims=True))


ROWS = -log_softmax(LOGITS)[np.arange(3), LABEL]


def test_mse_loss():
    a, b = opsdk.to_tensor(np.array([1.0, 2.0]), stop_gradient=False), opsdk.to_tensor(np.array([3.0, 5.0]))
    loss = F.mse_loss(a, b)
    assert loss.item() == 6.5
    loss.backward()
    assert a.grad.tolist() == [-2.0, -3.0]
    assert F.mse_loss(a, b, "sum").item() == 13.0


# -- cross entropy ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [LABEL, LABEL[:, None], LABEL.astype("int32")])
@pytest.mark.parametrize(("reduction", "expected"), [("mean", ROWS.mean()), ("sum", ROWS.sum())])
def test_labels_come_flat_or_with_an_axis_of_one(label, reduction, expected):
    loss = F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor(label), reduction=reduction)
    assert loss.shape == []
    assert loss.item() == pytest.approx(expected, rel=1e-12)


def test_without_reduction_there_is_one_loss_per_row_in_the_labels_shape():
    flat = F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor(LABEL), reduction="none")
    column = F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor(LABEL[:, None]), reduction="none")
    assert flat.numpy() == pytest.approx(ROWS, rel=1e-12)
    assert column.numpy() == pytest.approx(ROWS[:, None], rel=1e-12)


def test_the_gradient_is_softmax_minus_one_hot_over_the_rows():
    x = opsdk.to_tensor(LOGITS, stop_gradient=False)
    F.cross_entropy(x, opsdk.to_tensor(LABEL)).backward()
    expected = (np.exp(log_softmax(LOGITS)) - np.eye(3)[LABEL]) / 3
    assert x.grad.numpy() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("ignored", [-100, 2])
def test_ignored_rows_count_for_nothing(ignored):
    label = np.array([1, ignored, 0])
    x = opsdk.to_tensor(LOGITS, stop_gradient=False)
    loss = F.cross_entropy(x, opsdk.to_tensor(label), ignore_index=ignored)
    assert loss.item() == pytest.approx(ROWS[[0, 2]].mean(), rel=1e-12)
    loss.backward()
    assert not x.grad.numpy()[1].any()
    assert x.grad.numpy()[0].any()


def test_all_rows_ignored_give_zero():
    x = opsdk.to_tensor(LOGITS, stop_gradient=False)
    loss = F.cross_entropy(x, opsdk.to_tensor([-100, -100, -100]))
    loss.backward()
    assert loss.item() == 0.0
    assert not x.grad.numpy().any()


def test_weights_count_classes_and_the_mean_is_over_them():
    weight = np.array([0.5, 2.0, 0.1])
    loss = F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor(LABEL), opsdk.to_tensor(weight))
    factor = weight[LABEL]
    assert loss.item() == pytest.approx((ROWS * factor).sum() / factor.sum(), rel=1e-12)
    ignored = F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor([1, -100, 0]), weight)
    expected = (ROWS * factor)[[0, 2]].sum() / factor[[0, 2]].sum()
    assert ignored.item() == pytest.approx(expected, rel=1e-12)
    assert F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor([-100] * 3), weight).item() == 0.0


def test_soft_labels_are_probabilities():
    target = np.array([[0.2, 0.8, 0.0], [0.0, 0.0, 1.0], [1 / 3, 1 / 3, 1 / 3]])
    rows = -(target * log_softmax(LOGITS)).sum(axis=-1)
    x = opsdk.to_tensor(LOGITS, stop_gradient=False)
    loss = F.cross_entropy(x, opsdk.to_tensor(target), soft_label=True)
    assert loss.item() == pytest.approx(rows.mean(), rel=1e-12)
    loss.backward()
    assert x.grad.numpy() == pytest.approx((np.exp(log_softmax(LOGITS)) - target) / 3, abs=1e-12)
    each = F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor(target), soft_label=True, reduction="none")
    assert each.numpy() == pytest.approx(rows[:, None], rel=1e-12)


def test_soft_labels_with_weights():
    target = np.array([[0.2, 0.8, 0.0], [0.0, 0.0, 1.0], [0.5, 0.25, 0.25]])
    weight = np.array([0.5, 2.0, 0.1])
    rows = -(target * log_softmax(LOGITS)).sum(axis=-1)
    factor = target @ weight
    loss = F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor(target), opsdk.to_tensor(weight), soft_label=True)
    assert loss.item() == pytest.approx((rows * factor).sum() / factor.sum(), rel=1e-12)


def test_probabilities_need_no_softmax():
    probability = np.exp(log_softmax(LOGITS))
    x = opsdk.to_tensor(probability)
    assert F.cross_entropy(x, opsdk.to_tensor(LABEL), use_softmax=False).item() == pytest.approx(ROWS.mean(), rel=1e-12)
    target = opsdk.to_tensor(np.eye(3)[LABEL])
    loss = F.cross_entropy(x, target, soft_label=True, use_softmax=False)
    assert loss.item() == pytest.approx(ROWS.mean(), rel=1e-12)


@pytest.mark.parametrize("keep", [True, False])
def test_classes_may_stand_on_another_axis(keep, rng):
    logits = rng.normal(size=(2, 3, 4))
    label = rng.integers(0, 3, size=(2, 4))
    each = -np.take_along_axis(log_softmax(logits, axis=1), label[:, None, :], axis=1)
    given = label[:, None, :] if keep else label
    loss = F.cross_entropy(opsdk.to_tensor(logits), opsdk.to_tensor(given), axis=1, reduction="none")
    assert loss.numpy() == pytest.approx(each if keep else each[:, 0], rel=1e-12)
    mean = F.cross_entropy(opsdk.to_tensor(logits), opsdk.to_tensor(given), axis=1)
    assert mean.item() == pytest.approx(each.mean(), rel=1e-12)


def test_a_label_out_of_range_is_refused():
    with pytest.raises(AttributeValueError, match=r"row_take: position expected in \[0, 3\), got 5"):
        F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor([0, 5, 1]))


def test_a_label_of_another_rank_is_refused():
    with pytest.raises(
        ShapeError, match="cross_entropy: label expected 1 dimensions, or 2 with size 1 for the classes, got 3"
    ):
        F.cross_entropy(opsdk.to_tensor(LOGITS), opsdk.to_tensor(LABEL.reshape(3, 1, 1)))


@pytest.mark.parametrize("function", [F.cross_entropy, F.mse_loss])
def test_another_reduction_is_refused(function):
    with pytest.raises(
        AttributeValueError, match=f"{function.__name__}: reduction expected mean, sum or none, got 'average'"
    ):
        function(opsdk.to_tensor(LOGITS), opsdk.to_tensor(LABEL), reduction="average")


# -- in a Program -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"reduction": "none"}, {"ignore_index": 2}, {"use_softmax": False}])
def test_a_program_computes_the_same(options):
    logits = np.exp(log_softmax(LOGITS)) if "use_softmax" in options else LOGITS
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x, label = static.data("x", [None, 3], "float64"), static.data("label", [None, 1], "int64")
        x.stop_gradient = False
        loss = F.cross_entropy(x, label, **options)
        (dx,) = static.gradients(loss, x)
    feed = {"x": logits, "label": LABEL[:, None]}
    value, gradient = static.Executor().run(main, feed=feed, fetch_list=[loss, dx])
    t = opsdk.to_tensor(logits, stop_gradient=False)
    expected = F.cross_entropy(t, opsdk.to_tensor(LABEL[:, None]), **options)
    expected.backward()
    assert value.tolist() == expected.tolist()
    assert gradient.tolist() == t.grad.tolist()


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32", "uint64"])
@pytest.mark.parametrize("keep", [False, True])
def test_labels_of_every_integer_dtype_are_classes(dtype, keep, rng):
    logits, label = rng.normal(size=(4, 30)), np.array([1, 29, 7, 7])
    given = label.astype(dtype).reshape((4, 1) if keep else 4)
    for weight in (None, rng.uniform(0.5, 1.0, 30)):
        wanted = F.cross_entropy(opsdk.to_tensor(logits), opsdk.to_tensor(label), weight=weight)
        made = F.cross_entropy(opsdk.to_tensor(logits), opsdk.to_tensor(given), weight=weight)
        np.testing.assert_array_equal(made.numpy(), wanted.numpy())
    with pytest.raises(AttributeValueError, match=r"position expected in \[0, 30\), got 31"):
        F.cross_entropy(opsdk.to_tensor(logits), opsdk.to_tensor(np.array([1, 31, 7, 7], dtype)))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("function", ["labels", "soft", "weighted"])
def test_a_loss_over_more_rows_than_sixteen_bits_count_is_right(dtype, function):
    rows = 70_000
    x = opsdk.to_tensor(np.tile([1.0, 3.0, -2.0], (rows, 1)), dtype, stop_gradient=False)
    label = np.tile([0, 1], rows // 2)
    if function == "soft":
        loss = F.cross_entropy(x, opsdk.to_tensor(np.eye(3)[label], dtype), soft_label=True)
    else:
        weight = [1.0, 3.0, 1.0] if function == "weighted" else None
        loss = F.cross_entropy(x, label, weight=weight)
    share = np.where(label == 1, 3.0, 1.0) / (2 * rows) if function == "weighted" else np.full(rows, 1 / rows)
    softmax = np.exp([1.0, 3.0, -2.0]) / np.exp([1.0, 3.0, -2.0]).sum()
    eps = 2**-10 if dtype == "float16" else 2**-7
    np.testing.assert_allclose(float(loss.numpy()), (-np.log(softmax[label]) * share).sum(), rtol=eps)
    assert loss.dtype == x.dtype
    loss.backward()
    wanted = (softmax - np.eye(3)[label]) * share[:, None]
    np.testing.assert_allclose(x.grad.numpy().astype(np.float64), wanted, rtol=eps, atol=2**-25)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_squares_of_sixteen_bits_may_be_greater_than_their_mean(dtype):
    x = opsdk.to_tensor(np.r_[300.0, np.zeros(999)], dtype, stop_gradient=False)
    loss = F.mse_loss(x, opsdk.to_tensor(np.zeros(1000), dtype))
    np.testing.assert_allclose(float(loss.numpy()), 90.0, rtol=2**-8)
    loss.backward()
    np.testing.assert_allclose(x.grad.numpy().astype(float), np.r_[0.6, np.zeros(999)], rtol=2**-8)


def test_a_bfloat16_layer_trains(rng):
    layer = opsdk.nn.Linear(3, 2)
    layer.astype("bfloat16")
    x = opsdk.to_tensor(rng.normal(size=(50, 3)), "bfloat16")
    target = opsdk.to_tensor(x.numpy().astype(np.float32) @ rng.normal(size=(3, 2)), "bfloat16")
    optimizer = opsdk.optimizer.Adam(learning_rate=0.05, parameters=layer.parameters())
    losses = []
    for _ in range(100):
        loss = F.mse_loss(layer(x), target)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss.numpy()))
    assert losses[-1] < 0.02 * losses[0]


SCORES = np.array([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize("shape", [(), (1,), (2,), (4,), (3, 1), (1, 3)], ids=str)
def test_cross_entropy_takes_one_weight_for_each_class(shape):
    for label, soft in ((np.array([2, 1]), False), (SCORES / 6, True)):
        with pytest.raises(ShapeError, match=r"cross_entropy: weight expected shape \(3,\), with a factor for each"):
            F.cross_entropy(SCORES, label, weight=np.ones(shape), soft_label=soft)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 1), (1, 3)], ids=str)
def test_soft_labels_are_one_for_each_class_of_each_row(shape):
    with pytest.raises(ShapeError, match=r"cross_entropy: label expected shape \(2, 3\), of the input, a probability"):
        F.cross_entropy(SCORES, np.ones(shape), soft_label=True)


@pytest.mark.parametrize("shape", [(1,), (3,), (2, 1), (1, 3), (2, 3, 1)], ids=str)
def test_squared_errors_are_of_one_shape_or_against_one_number(shape):
    for given in ((SCORES, np.ones(shape)), (opsdk.to_tensor(SCORES), opsdk.to_tensor(np.ones(shape)))):
        with pytest.raises(ShapeError, match=r"squared error: label expected shape \(2, 3\), of the input, got"):
            F.mse_loss(*given)
    assert F.mse_loss(SCORES, 1.0).item() == ((SCORES - 1.0) ** 2).mean()
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        x = opsdk.static.data("x", [None, 3], "float64")
        loss = F.mse_loss(x, opsdk.static.data("y", [None, 3], "float64"))  # how many rows, a run tells
    feed = {"x": SCORES, "y": SCORES + 1.0}
    assert opsdk.static.Executor().run(main, feed=feed, fetch_list=[loss])[0] == 1.0


@pytest.mark.parametrize("value", [None, 3, [[0.1, 0.2]], "a"])
def test_cross_entropy_is_of_tensors_or_arrays(value):
    x, label = np.ones((1, 2)), np.array([0])
    with pytest.raises(DTypeError, match="cross_entropy: input expected a tensor or array, got"):
        F.cross_entropy(value, label)
    with pytest.raises(DTypeError, match="cross_entropy: label expected a tensor or array, got"):
        F.cross_entropy(x, value)


@pytest.mark.parametrize("weight", [[0.1, 0.3], (0.1, 0.3), np.array([0.1, 0.3])], ids=lambda w: type(w).__name__)
def test_the_weights_of_classes_are_as_precise_as_the_scores(weight):
    loss = F.cross_entropy(opsdk.to_tensor(np.zeros((2, 2))), opsdk.to_tensor([0, 1]), weight=weight, reduction="none")
    assert loss.tolist() == pytest.approx([0.1 * np.log(2), 0.3 * np.log(2)], rel=1e-15)
    listed = [float(factor) for factor in weight]
    narrow = F.cross_entropy(np.zeros((2, 2), "float32"), np.array([0, 1]), weight=listed, reduction="none")
    assert narrow.dtype == np.float32


@pytest.mark.parametrize("narrow", ["float16", "bfloat16"])
@pytest.mark.parametrize("wide", ["float32", "float64"])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_loss_is_as_wide_as_the_wider_of_what_it_is_of(narrow, wide, swapped):
    # 300² is beyond float16, 300² + 1 beyond bfloat16
    x, y = opsdk.to_tensor([300.0, 1.0], narrow), opsdk.to_tensor([0.0, 0.0], wide)
    for reduction, expected in (("sum", 90001.0), ("mean", 45000.5), ("none", [90000.0, 1.0])):
        loss = F.mse_loss(*((y, x) if swapped else (x, y)), reduction)
        assert (loss.dtype, loss.tolist()) == (np.dtype(wide), expected)


@pytest.mark.parametrize("wide", ["float32", "float64"])
def test_cross_entropy_is_as_wide_as_its_soft_labels_and_weights(wide):
    scores = opsdk.to_tensor(np.array([[60000.0, -60000.0]]), "float16")
    soft = F.cross_entropy(scores, opsdk.to_tensor(np.array([[0.0, 1.0]]), wide), soft_label=True)
    assert (soft.dtype, soft.item()) == (np.dtype(wide), 120_000.0)
    weight = opsdk.to_tensor(np.array([1.0, 2.0]), wide)
    weighted = F.cross_entropy(scores, opsdk.to_tensor([1]), weight=weight, reduction="sum")
    assert (weighted.dtype, weighted.item()) == (np.dtype(wide), 240_000.0)


def test_a_squared_error_of_integers_is_refused_before_it_wraps_around():
    with pytest.raises(DTypeError, match="mse_loss: expected floats, got uint8 and int64, whose squares wrap around"):
        F.mse_loss(np.array([200], "uint8"), [1])
    assert F.mse_loss(np.array([200], "uint8"), np.array([0.5], "float32")).item() == 199.5**2


# Scores of 4 rows and 3 classes, their labels and weights, and what torch 2.14.1 gives for target= with smoothing 0.1.
OF_FOUR = np.array([[1.0, 2.0, 0.5], [0.3, -1.0, 2.0], [0.1, 0.2, 0.3], [2.0, 0.0, -1.0]])
OF_ROWS, FACTORS = np.array([0, 2, 1, 1]), np.array([0.2, 0.0, 1.0])
PARTS = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8], [1.0, 0.0, 0.0], [0.25, 0.25, 0.5]])
IMAGES = np.sin(np.arange(24.0).reshape(2, 3, 2, 2)), np.array([[[0, 1], [2, 0]], [[1, 1], [0, 2]]])
SMOOTHED = [
    ({}, 1.2629612712763003, [-0.17552735892779608, 0.14879959646960728, 0.026727762458188788]),
    ({"ignore_index": 2}, 1.5620525506311582, [-0.23403647857039475, 0.1983994619594764, 0.035637016610918386]),
    ({"weight": FACTORS}, 0.5790379509173825, [-0.11316450765816159, 0.11523081518882314, -0.002066307530661553]),
    (
        {"weight": FACTORS, "ignore_index": 1},
        0.45553387754675373,
        [-0.11316450765816159, 0.11523081518882314, -0.002066307530661553],
    ),
    ({"reduction": "sum"}, 5.051845085105201, [-0.7021094357111843, 0.5951983858784291, 0.10691104983275515]),
]


@pytest.mark.parametrize(("options", "expected", "gradient"), SMOOTHED)
def test_a_smoothed_target_has_torchs_loss_and_gradient(options, expected, gradient):
    x = opsdk.to_tensor(OF_FOUR, stop_gradient=False)
    loss = F.cross_entropy(x, target=opsdk.to_tensor(OF_ROWS), label_smoothing=0.1, **options)
    loss.backward()
    assert loss.item() == pytest.approx(expected, rel=1e-12)
    assert x.grad[0].tolist() == pytest.approx(gradient, rel=1e-12)


def test_a_target_of_floats_is_probabilities_as_in_torch():
    assert F.cross_entropy(OF_FOUR, target=PARTS) == pytest.approx(1.3662946046096338, rel=1e-12)
    assert F.cross_entropy(OF_FOUR, target=PARTS, weight=FACTORS) == pytest.approx(0.7699900130967614, rel=1e-12)
    smoothed = F.cross_entropy(OF_FOUR, target=PARTS, weight=FACTORS, label_smoothing=0.1)
    assert smoothed == pytest.approx(0.753776129304804, rel=1e-12)


def test_classes_of_images_lie_at_the_second_axis_as_in_torch():
    x, y = IMAGES
    each = [[[1.4251958174228057, 2.3971218446144213], [1.8840654959498295, 1.0967951857355895]]]
    each += [[[1.6297841271579578, 2.399621635398446], [0.43393553802443496, 2.100929281530365]]]
    for options in ({"label": y}, {"target": y}, {"label": y, "axis": 1}):
        assert F.cross_entropy(x, **options) == pytest.approx(1.6709311157292313, rel=1e-12)
        assert F.cross_entropy(x, **options, reduction="none") == pytest.approx(np.array(each), rel=1e-12)
    smoothed = F.cross_entropy(x, target=y, label_smoothing=0.2, weight=FACTORS)
    assert smoothed == pytest.approx(1.7066600646431582, rel=1e-12)


def test_labels_that_fit_two_axes_are_taken_as_paddle_takes_them_with_a_warning():
    x, y = np.arange(8.0).reshape(2, 2, 2) ** 2, np.array([[0, 1], [1, 0]])
    text = r"labels \(2, 2\) fit scores \(2, 2, 2\) with the classes at the last axis"
    with pytest.warns(UserWarning, match=text) as told:
        found = F.cross_entropy(x, y)
    assert told[0].filename == __file__
    assert found == F.cross_entropy(x, y, axis=-1) != F.cross_entropy(x, y, axis=1)
    assert F.cross_entropy(x, target=y) == F.cross_entropy(x, y, axis=1)


def test_a_label_is_given_once_and_smoothed_by_a_part():
    with pytest.raises(AttributeValueError, match="cross_entropy: expected a label or a target, got both"):
        F.cross_entropy(OF_FOUR, OF_ROWS, target=OF_ROWS)
    for wrong in (-0.1, 1.5):
        with pytest.raises(AttributeValueError, match=r"label_smoothing expected a share in \[0, 1\], got"):
            F.cross_entropy(OF_FOUR, OF_ROWS, label_smoothing=wrong)


@pytest.mark.parametrize("weight", [None, [0.5, 2.0, 1.0]])
def test_smoothed_labels_are_shares_of_all_classes(weight):
    scores, label = np.array([[0.5, -1.0, 2.0], [0.25, 1.5, -0.75]]), np.array([2, 0])
    logarithm = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    each = np.ones(3) if weight is None else np.array(weight)
    rows = -0.7 * each[label] * logarithm[[0, 1], label] - 0.3 * (each * logarithm).mean(-1)  # as PyTorch has it
    made = opsdk.nn.functional.cross_entropy(
        opsdk.to_tensor(scores),
        opsdk.to_tensor(label),
        None if weight is None else opsdk.to_tensor(each),
        label_smoothing=0.3,
    )
    np.testing.assert_allclose(made.numpy(), rows.sum() / each[label].sum(), rtol=1e-12)
    soft = opsdk.nn.functional.cross_entropy(
        opsdk.to_tensor(scores), opsdk.to_tensor(np.eye(3)[label]), soft_label=True, label_smoothing=0.3
    )
    np.testing.assert_allclose(
        soft.numpy(), (-0.7 * logarithm[[0, 1], label] - 0.3 * logarithm.mean(-1)).mean(), rtol=1e-12
    )


def test_a_share_of_labels_is_one():
    scores, label = opsdk.to_tensor(np.zeros((1, 3))), opsdk.to_tensor([0])
    with pytest.raises(AttributeValueError, match=r"label_smoothing expected a share in \[0, 1\], got 1.5"):
        opsdk.nn.functional.cross_entropy(scores, label, label_smoothing=1.5)


def test_probabilities_as_labels_have_to_be_said_to_be_some():
    scores, shares = opsdk.zeros([2, 3]), opsdk.full([2, 3], 1 / 3)
    with pytest.raises(
        DTypeError, match="cross_entropy: label expected integers, got float32; probabilities take soft_"
    ):
        F.cross_entropy(scores, shares)
    assert F.cross_entropy(scores, shares, soft_label=True).item() == pytest.approx(np.log(3), rel=1e-6)
    with pytest.raises(DTypeError, match="cross_entropy: label expected integers, got float32; cast it to int64"):
        F.cross_entropy(scores, shares[:, 0])
