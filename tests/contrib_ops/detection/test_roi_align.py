"""roi_align: beside plain loops over samples, and beside PyTorch's grid_sample where the two coincide."""

import math

import numpy as np
import pytest

import opsdk
from contrib_ops import roi_align
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

IMAGES = (2, 3, 7, 9)
BOXES = np.array(
    [
        [0, 0.3, 0.7, 6.1, 5.2],
        [1, 1.5, 2.25, 3.4, 2.9],
        [1, -4.2, -3.1, 2.3, 1.4],
        [0, 5.1, 4.2, 14.3, 11.9],
        [1, 2, 2, 2, 2],
    ]
)
SETTINGS = [
    {"output_size": [2, 3]},
    {"output_size": [3, 2], "aligned": True},
    {"output_size": 2, "sampling_ratio": 2},
    {"output_size": [2, 2], "sampling_ratio": 3, "aligned": True, "spatial_scale": 0.6},
    {"output_size": [4, 5], "spatial_scale": 1.7},
]


def sampled(plane, y, x):
    """One bilinear sample and the four (row, column, weight) that it is made of, by Mask R-CNN's own code."""
    height, width = plane.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0, []
    y, x = max(y, 0.0), max(x, 0.0)
    top, left = int(y), int(x)
    if top >= height - 1:
        top = bottom = height - 1
        y = float(top)
    else:
        bottom = top + 1
    if left >= width - 1:
        left = right = width - 1
        x = float(left)
    else:
        right = left + 1
    v, u = y - top, x - left
    read = [
        (top, left, (1 - v) * (1 - u)),
        (top, right, (1 - v) * u),
        (bottom, left, v * (1 - u)),
        (bottom, right, v * u),
    ]
    return sum(weight * plane[i, j] for i, j, weight in read), read


def by_loops(images, boxes, dy=None, *, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    h, w = np.broadcast_to(output_size, 2)
    y, dimages = np.zeros((len(boxes), images.shape[1], h, w)), np.zeros_like(images)
    for k, (n, x1, y1, x2, y2) in enumerate(boxes):
        shift = 0.5 if aligned else 0.0
        left, top = x1 * spatial_scale - shift, y1 * spatial_scale - shift
        width, height = (x2 - x1) * spatial_scale, (y2 - y1) * spatial_scale
        if not aligned:
            width, height = max(width, 1.0), max(height, 1.0)
        rows = sampling_ratio if sampling_ratio > 0 else math.ceil(height / h)
        columns = sampling_ratio if sampling_ratio > 0 else math.ceil(width / w)
        for c, p, q in np.ndindex(y.shape[1:]):
            for i, j in np.ndindex(rows, columns):
                place = top + (p + (i + 0.5) / rows) * height / h, left + (q + (j + 0.5) / columns) * width / w
                value, read = sampled(images[int(n), c], *place)
                y[k, c, p, q] += value / (rows * columns)
                for a, b, weight in read if dy is not None else ():
                    dimages[int(n), c, a, b] += weight * dy[k, c, p, q] / (rows * columns)
    return y if dy is None else (y, dimages)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_and_gradients_are_those_of_plain_loops(settings, dtype, rng):
    images = rng.normal(size=IMAGES)
    x = opsdk.to_tensor(images.astype(dtype), stop_gradient=False)
    y = roi_align(x, BOXES.astype(dtype), **settings)
    dy = rng.normal(size=y.shape)
    y.backward(opsdk.to_tensor(dy.astype(dtype)))
    boxes = BOXES.astype(dtype).astype(float)
    wanted, dwanted = by_loops(images, boxes, dy, **settings)
    close = {"rtol": 1e-11, "atol": 1e-13} if dtype == "float64" else {"rtol": 1e-4, "atol": 2e-5}
    np.testing.assert_allclose(y.numpy(), wanted, **close)
    np.testing.assert_allclose(x.grad.numpy(), dwanted, **close)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_reference_says_the_same_as_the_loops(settings, rng):
    images = rng.normal(size=IMAGES)
    (y,) = launch(roi_align.opdef, roi_align.opdef.kernels.reference(), [images, BOXES], settings)
    np.testing.assert_allclose(y, by_loops(images, BOXES, **settings), rtol=1e-11, atol=1e-13)


def test_one_sample_per_bin_inside_of_the_image_is_what_grid_sample_reads(rng):
    torch = pytest.importorskip("torch")
    images, box = rng.normal(size=(1, 3, 8, 10)), np.array([[0.0, 2.3, 1.7, 7.9, 6.4]])
    _, x1, y1, x2, y2 = box[0]
    x = x1 + (np.arange(5) + 0.5) * (x2 - x1) / 5
    y = y1 + (np.arange(4) + 0.5) * (y2 - y1) / 4
    grid = np.stack(np.meshgrid(2 * x / 10 - 1, 2 * y / 8 - 1), axis=-1)[None]  # edges of the image at -1 and 1
    wanted = torch.nn.functional.grid_sample(torch.tensor(images), torch.tensor(grid), align_corners=False)
    made = roi_align(images, box, [4, 5], sampling_ratio=1, aligned=True)
    np.testing.assert_allclose(made, wanted.numpy(), rtol=1e-12, atol=1e-14)


def test_a_gradient_of_the_gradient_is_the_pooling_itself(rng):
    x = opsdk.to_tensor(rng.normal(size=IMAGES), stop_gradient=False)
    y = roi_align(x, BOXES, [2, 3])
    dy = opsdk.to_tensor(rng.normal(size=y.shape), stop_gradient=False)
    (dx,) = opsdk.grad(y, x, dy, create_graph=True)
    ddx = rng.normal(size=IMAGES)
    (ddy,) = opsdk.grad(dx, dy, opsdk.to_tensor(ddx))
    np.testing.assert_allclose(ddy.numpy(), by_loops(ddx, BOXES, output_size=[2, 3]), rtol=1e-11, atol=1e-13)


def test_boxes_get_no_gradient(rng):
    x, boxes = (opsdk.to_tensor(a, stop_gradient=False) for a in (rng.normal(size=IMAGES), BOXES))
    roi_align(x, boxes, 2).sum().backward()
    assert boxes.grad is None


def test_arguments_are_taken_by_position_and_one_size_stands_for_both(rng):
    images = rng.normal(size=IMAGES)
    made = roi_align(images, BOXES, 2, 0.5, 2, True)
    wanted = by_loops(images, BOXES, output_size=[2, 2], spatial_scale=0.5, sampling_ratio=2, aligned=True)
    np.testing.assert_allclose(made, wanted, rtol=1e-11, atol=1e-13)


def test_without_boxes_or_channels_there_is_nothing_and_no_gradient(rng):
    x = opsdk.to_tensor(rng.normal(size=IMAGES), stop_gradient=False)
    y = roi_align(x, BOXES[:0], [2, 3])
    assert y.numpy().shape == (0, 3, 2, 3)
    y.sum().backward()
    assert not x.grad.numpy().any()
    assert roi_align(np.zeros((2, 0, 4, 4)), BOXES, 2).shape == (5, 0, 2, 2)


def test_images_that_are_not_contiguous_are_pooled_alike(rng):
    images = rng.normal(size=(9, 7, 3, 2)).T
    np.testing.assert_array_equal(roi_align(images, BOXES, 3), roi_align(images.copy(), BOXES, 3))


def test_many_planes_on_several_threads_give_the_same_bits_every_time(rng):
    images, boxes = rng.normal(size=(2, 40, 20, 20)), np.repeat(BOXES, 10, axis=0)
    y = roi_align(images, boxes, 7)
    settings = {"output_size": 7, "input_spec": opsdk.TensorSpec(images.shape, "float64")}
    dx = roi_align.grad(boxes, y, **settings)
    np.testing.assert_allclose(y, np.repeat(by_loops(images, BOXES, output_size=7), 10, axis=0), rtol=1e-10, atol=1e-12)
    assert roi_align.grad(boxes, y, **settings).tobytes() == dx.tobytes()


def row(kernel, images, boxes, settings):
    return launch(roi_align.opdef, kernel, [images, boxes], settings)


CPU_ROWS = [kernel for kernel in roi_align.opdef.kernels if kernel.key.place == "cpu" and "32" not in str(kernel.key)]


@pytest.mark.parametrize("kernel", CPU_ROWS, ids=str)
@pytest.mark.parametrize(
    ("box", "text"),
    [
        ([2, 0, 0, 1, 1], "boxes expected images among 0 to 1 in column 0, got 2.0 in box 1"),
        ([-1, 0, 0, 1, 1], "boxes expected images among 0 to 1 in column 0, got -1.0 in box 1"),
        ([0.5, 0, 0, 1, 1], "boxes expected images among 0 to 1 in column 0, got 0.5 in box 1"),
        ([0, 0, 2, 1, 1], "boxes expected x1 ≤ x2 and y1 ≤ y2, got box 1 that ends before it starts"),
        ([0, 0, np.nan, 1, 1], "boxes expected finite numbers, got nan or inf; drop those boxes"),
        ([0, 0, 0, np.inf, 1], "boxes expected finite numbers, got nan or inf; drop those boxes"),
    ],
)
def test_no_kernel_runs_on_boxes_that_are_none(kernel, box, text):
    images, good = np.zeros(IMAGES), np.array([[0, 0, 0, 1, 1.0]])
    row(kernel, images, good, {"output_size": 2})  # the kind of call is known
    with pytest.raises(InputValueError) as caught:
        row(kernel, images, np.vstack([good, box]), {"output_size": 2})
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"output_size": [0, 2]}, r"'output_size' expected int\[2\] >= 1, got 0 at position 0"),
        ({"output_size": [1, 2, 3]}, r"'output_size' expected int\[2\] >= 1, got \[1, 2, 3\]"),
        ({"output_size": 2, "spatial_scale": 0.0}, "'spatial_scale' expected 0 < float < inf, got 0.0"),
        ({"output_size": 2, "spatial_scale": np.inf}, "'spatial_scale' expected 0 < float < inf, got inf"),
    ],
)
def test_attributes_outside_of_their_range_are_refused(settings, text):
    with pytest.raises(AttributeValueError, match=text):
        roi_align(np.zeros(IMAGES), BOXES, **settings)


def test_of_the_images_the_gradient_keeps_the_shape_alone(rng):
    x = opsdk.to_tensor(rng.normal(size=IMAGES), stop_gradient=False)
    y = roi_align(x, BOXES, 2)
    assert [array.shape for array in y._edge[0].saved[::3] if array is not None] == [BOXES.shape]


@pytest.mark.parametrize(
    ("images", "boxes", "error", "text"),
    [
        (np.zeros((3, 4, 4)), BOXES, ShapeError, r"input expected shape \(N, C, H, W\) with H and W from 1, got"),
        (np.zeros((1, 3, 0, 4)), BOXES, ShapeError, r"input expected shape \(N, C, H, W\) with H and W from 1, got"),
        (
            np.zeros(IMAGES),
            BOXES[:, 1:],
            ShapeError,
            r"boxes expected shape \(K, 5\), image, x1, y1, x2, y2, got \(5, 4\)",
        ),
        (
            np.zeros(IMAGES),
            BOXES.astype("float32"),
            DTypeError,
            "input and boxes of one dtype, float16, float32 or float64, got float64 and",
        ),
        (np.zeros(IMAGES, int), BOXES.astype(int), DTypeError, "input and boxes of one dtype, .*, got int64 and"),
    ],
)
def test_shapes_and_dtypes_that_do_not_fit_are_refused(images, boxes, error, text):
    with pytest.raises(error, match=text):
        roi_align(images, boxes, [2, 2])


def test_a_cotangent_of_another_shape_is_refused():
    with pytest.raises(
        InputValueError, match=r"dy expected the shape of the result, \(5, 3, 2, 2\), got \(5, 3, 2, 1\)"
    ):
        roi_align.grad(BOXES, np.zeros((5, 3, 2, 1)), output_size=2, input_spec=opsdk.TensorSpec(IMAGES, "float64"))
