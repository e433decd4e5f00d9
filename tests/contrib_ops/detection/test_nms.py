"""nms: beside a quadratic loop in plain Python, and by hand."""

import numpy as np
import pytest

import opsdk
from contrib_ops import nms
from opsdk import static
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

ROWS = [kernel for kernel in nms.opdef.kernels if "32" not in str(kernel.key)]


def overlap(a, b):
    width = max(min(a[2], b[2]) - max(a[0], b[0]), 0.0)
    height = max(min(a[3], b[3]) - max(a[1], b[1]), 0.0)
    both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
    return width * height / both if both else 0.0


def by_loops(boxes, scores, threshold):
    kept = []
    for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i)):
        if all(overlap(boxes[i], boxes[k]) <= threshold for k in kept):
            kept.append(i)
    return kept


def drawn(rng, count):
    start = rng.uniform(0, 10, (count, 2))
    return np.hstack([start, start + rng.uniform(1, 6, (count, 2))])


@pytest.mark.parametrize("kernel", list(nms.opdef.kernels), ids=str)
@pytest.mark.parametrize("threshold", [0.0, 0.3, 0.5, 1.0])
def test_every_row_keeps_what_plain_loops_keep(kernel, threshold, rng):
    dtype = kernel.key.dtype or "float64"
    boxes, scores = drawn(rng, 60).astype(dtype), rng.integers(0, 20, 60).astype(dtype)
    (made,) = launch(nms.opdef, kernel, [boxes, scores], {"iou_threshold": threshold})
    assert made.dtype == np.int64
    assert made.tolist() == by_loops(boxes.astype(float).tolist(), scores.tolist(), threshold)


@pytest.mark.parametrize("kernel", ROWS, ids=str)
def test_of_equal_scores_the_first_box_comes_first(kernel):
    boxes = np.array([[0, 0, 2, 2], [5, 5, 7, 7], [0, 0, 2, 2.0]])
    (made,) = launch(nms.opdef, kernel, [boxes, np.full(3, 0.5)], {"iou_threshold": 0.5})
    assert made.tolist() == [0, 1]


def test_an_overlap_of_exactly_the_threshold_stays():
    boxes = np.array([[0, 0, 2, 1], [1, 0, 3, 1.0]])  # 1 in common of 3
    assert nms(boxes, np.array([1.0, 2.0]), 1 / 3).tolist() == [1, 0]
    assert nms(boxes, np.array([1.0, 2.0]), np.nextafter(1 / 3, 0)).tolist() == [1]


def test_empty_boxes_suppress_nothing_and_infinite_scores_have_their_order():
    boxes = np.ones((3, 4))
    assert nms(boxes, np.array([-np.inf, np.inf, 0.0]), 0.0).tolist() == [1, 2, 0]


def test_without_boxes_nothing_is_kept():
    assert nms(np.zeros((0, 4)), np.zeros(0), 0.5).tolist() == []


def test_tensors_get_positions_without_a_gradient(rng):
    boxes = opsdk.to_tensor(drawn(rng, 5), stop_gradient=False)
    assert nms(boxes, rng.normal(size=5), 0.5).stop_gradient


def test_the_length_is_open_in_a_program(rng):
    boxes, scores = drawn(rng, 30), rng.normal(size=30)
    main = static.Program()
    with static.program_guard(main):
        keep = nms(static.data("boxes", [None, 4], "float64"), static.data("scores", [None], "float64"), 0.3)
    assert keep.shape == (-1,)
    (made,) = static.Executor().run(main, feed={"boxes": boxes, "scores": scores}, fetch_list=[keep])
    assert made.tolist() == by_loops(boxes.tolist(), scores.tolist(), 0.3)


BOX = [0.0, 0.0, 1.0, 1.0]


@pytest.mark.parametrize("kernel", ROWS, ids=str)
@pytest.mark.parametrize(
    ("box", "score", "text"),
    [
        (BOX, np.nan, "op 'contrib::nms': scores expected numbers that can be ordered, got nan; drop those boxes"),
        ([0, 0, np.inf, 1], 1.0, "op 'contrib::nms': boxes expected finite numbers, got nan or inf"),
        ([2.0, 0, 1, 1], 1.0, "op 'contrib::nms': boxes expected x1 ≤ x2 and y1 ≤ y2, got [2.0, 0.0, 1.0, 1.0]"),
    ],
)
def test_no_kernel_runs_on_values_that_make_no_sense(kernel, box, score, text):
    with pytest.raises(InputValueError) as caught:
        launch(nms.opdef, kernel, [np.array([BOX, box]), np.array([0.5, score])], {"iou_threshold": 0.5})
    assert str(caught.value).startswith(text)


@pytest.mark.parametrize("threshold", [1.5, np.nan])
def test_a_threshold_outside_of_its_range_is_refused(threshold):
    with pytest.raises(AttributeValueError, match="attribute 'iou_threshold' expected 0 <= float <= 1, got"):
        nms(np.array([BOX]), np.ones(1), threshold)


@pytest.mark.parametrize(
    ("boxes", "scores", "error", "text"),
    [
        (
            np.ones((2, 5)),
            np.ones(2),
            ShapeError,
            r"expected boxes of shape \(N, 4\) and scores of shape \(N,\), got \(2, 5\)",
        ),
        (
            np.ones((2, 4)),
            np.ones(3),
            ShapeError,
            r"expected boxes of shape \(N, 4\) and scores of shape \(N,\), got \(2, 4\)",
        ),
        (np.ones(4), np.ones(1), ShapeError, r"expected boxes of shape \(N, 4\) and scores"),
        (np.ones((2, 4), int), np.ones(2), DTypeError, "boxes and scores expected floats, got int64 and float64; cast"),
    ],
)
def test_shapes_and_dtypes_that_do_not_fit_are_refused(boxes, scores, error, text):
    with pytest.raises(error, match=text):
        nms(boxes, scores, 0.5)
    nms(np.ones((2, 4)), np.ones(2), 0.5)
    with pytest.raises(error, match=text):
        nms(boxes, scores, 0.5)


def test_boxes_of_float16_are_compared_in_float64():
    boxes = np.array([[0, 0, 300, 300], [0, 0, 300, 290], [400, 0, 600, 600]], np.float16)  # areas above 65,504
    assert nms(boxes, np.array([0.5, 0.75, 0.25], np.float16), 0.9).tolist() == [1, 2]
