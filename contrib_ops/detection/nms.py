"""Non-maximum suppression: of boxes that overlap, the one with the highest score."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op(
    "contrib::nms(Tensor boxes, Tensor scores, 0 <= float <= 1 iou_threshold) -> Tensor<int> keep",
    nondifferentiable=("boxes", "scores"),
)
def nms(boxes, scores, iou_threshold):
    """Goes through the boxes by score and keeps each whose overlap with all kept before is at most iou_threshold.

    The overlap is |A ∩ B| / |A ∪ B|, computed in float64; of two empty boxes it is nan and suppresses nothing. That is
    the greedy suppression of Girshick, Donahue, Darrell and Malik 2014, Rich feature hierarchies, sec. 2.2. Arguments
    and results are those of `torchvision.ops.nms`.

    Args:
        boxes: float array of shape (N, 4): x1, y1, x2, y2, with x1 ≤ x2 and y1 ≤ y2.
        scores: float array of shape (N,), no nan. Of equal scores, the box that stands first comes first.
        iou_threshold: area of the overlap by that of the union.

    Returns keep: the positions of what is kept, int64, by falling score. Its length is known only after the call; in a
    Program it is open. The op has no CUDA kernel, since one fills a result of a known size.

    Raises ValueError: shapes do not fit, a box is not finite or ends before it starts, a score is nan, or the threshold
    lies outside.

    Gradient: none; positions have no derivative.
    """
    order = np.argsort(-scores, kind="stable")
    left, top, right, bottom = boxes[order].astype(np.float64).T
    area = (right - left) * (bottom - top)
    is_kept = np.ones(len(order), bool)
    for i in range(len(order)):
        if is_kept[i]:
            width = np.minimum(right[i], right[i + 1 :]) - np.maximum(left[i], left[i + 1 :])
            height = np.minimum(bottom[i], bottom[i + 1 :]) - np.maximum(top[i], top[i + 1 :])
            common = np.maximum(width, 0) * np.maximum(height, 0)
            with np.errstate(invalid="ignore"):
                overlap = common / (area[i] + area[i + 1 :] - common)
            is_kept[i + 1 :] &= ~(overlap > iou_threshold)
    return order[is_kept]


@nms.infer
def nms_infer(boxes, scores):
    check_shapes(boxes, scores)
    return opsdk.TensorSpec((None,), "int64")


def check_shapes(boxes, scores):
    if boxes.dtype.kind != "f" or scores.dtype.kind != "f":
        raise errors.DTypeError(
            f"op 'contrib::nms': boxes and scores expected floats, got {boxes.dtype} and {scores.dtype}; cast them"
        )
    count = {boxes.shape[0], *scores.shape} - {None} if len(boxes.shape) == 2 else ()
    if len(boxes.shape) != 2 or boxes.shape[1] not in (4, None) or len(scores.shape) != 1 or len(count) > 1:
        raise errors.ShapeError(
            f"op 'contrib::nms': expected boxes of shape (N, 4) and scores of shape (N,), got {boxes.shape} and "
            f"{scores.shape}"
        )


@nms.check
def nms_check(boxes, scores):
    check_shapes(boxes, scores)
    if np.isnan(scores).any():
        return "scores expected numbers that can be ordered, got nan; drop those boxes"
    if not np.isfinite(boxes).all():
        return "boxes expected finite numbers, got nan or inf; drop those boxes"
    wrong = (boxes[:, 2:] < boxes[:, :2]).any(axis=1)
    if wrong.any():
        return f"boxes expected x1 ≤ x2 and y1 ≤ y2, got {boxes[wrong][0].tolist()}; order its corners"
    return None


@nms.samples
def nms_samples(rng):
    def boxes(count):
        start = rng.uniform(0, 8, (count, 2))
        return np.hstack([start, start + rng.uniform(1, 5, (count, 2))])

    yield opsdk.Sample(boxes(20), rng.uniform(size=20), iou_threshold=0.3, reason="many overlaps")
    yield opsdk.Sample(boxes(67), rng.normal(size=67), iou_threshold=0.5, reason="more than a block")
    yield opsdk.Sample(boxes(9), np.repeat([0.5, 0.9, 0.1], 3), iou_threshold=0.2, reason="equal scores")
    same = np.array([[0.0, 0, 2, 2], [0, 0, 2, 2], [1, 1, 1, 1], [1, 1, 1, 1]])
    yield opsdk.Sample(same, np.array([0.5, 0.5, 0.4, 0.3]), iou_threshold=0.5, reason="equal boxes, and empty ones")
    third = np.array([[0.0, 0, 1, 1], [0, 0, 1 / 3, 1], [0, 0, 1, 1 / 3]])
    for beside in (-1e-12, 1e-12):
        yield opsdk.Sample(third, np.array([3.0, 2, 1]), iou_threshold=1 / 3 + beside, reason="beside the threshold")
    yield opsdk.Sample(boxes(5), rng.uniform(size=5), iou_threshold=1.0, reason="nothing is suppressed")
    yield opsdk.Sample(np.zeros((0, 4)), np.zeros(0), iou_threshold=0.5, reason="no boxes")


@nms.bench
def nms_bench(rng, n):
    """Up to 4000 boxes: what it takes grows with their square."""
    start = rng.uniform(0, 400, (min(max(1, n // 4), 4000), 2))
    boxes = np.hstack([start, start + rng.uniform(20, 80, start.shape)])
    return opsdk.Sample(boxes, rng.uniform(size=len(boxes)), iou_threshold=0.5)


FLOATS = ("float32", "float64")
nms.kernel("cpu", language="c", dtype=FLOATS, source="nms.c", bound="nms_most", contiguous=True)


# After C: it takes boxes and scores of two dtypes.
@nms.kernel("cpu", language="numba", dtype=FLOATS, bound=lambda scores: scores.size)
def nms_numba(boxes, scores, iou_threshold, keep):
    order = np.argsort(-scores, kind="mergesort")
    count = order.size
    # What is left after each kept box moves together, so that the loop over it stays short and without a branch.
    left, top, right, bottom, area = np.empty((5, count))
    for i in range(count):
        left[i], top[i], right[i], bottom[i] = boxes[order[i]]
        area[i] = (right[i] - left[i]) * (bottom[i] - top[i])
    kept = 0
    while count:
        keep[kept] = order[0]
        kept += 1
        x1, y1, x2, y2, size = left[0], top[0], right[0], bottom[0], area[0]
        stays = 0
        for j in range(1, count):
            width, height = min(x2, right[j]) - max(x1, left[j]), min(y2, bottom[j]) - max(y1, top[j])
            common = max(width, 0.0) * max(height, 0.0)
            left[stays], top[stays], right[stays], bottom[stays] = left[j], top[j], right[j], bottom[j]
            area[stays], order[stays] = area[j], order[j]
            stays += not common / (size + area[j] - common) > iou_threshold
        count = stays
    return kept
