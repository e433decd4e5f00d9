"""RoIAlign: boxes of images, pooled to one size by averages of bilinear samples."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op(
    "contrib::roi_align(Tensor input, Tensor boxes, int[2] >= 1 output_size, 0 < float < inf spatial_scale=1.0, "
    "int sampling_ratio=-1, bool aligned=False) -> Tensor y",
    constant=("boxes",),
)
def roi_align(input, boxes, output_size, spatial_scale, sampling_ratio, aligned):
    """Averages of bilinear samples in each bin of each box (He et al. 2017, Mask R-CNN, sec. 3).

    A box is cut into output_size bins, a bin into a grid of cells, and the middle of each cell is a sample: on the
    vertical axis, sample j of all lies at start + (j + ½) · height / (bins · samples per bin). Samples up to 1 pixel
    outside of the image read its border, those further out 0. Arguments and results are those of
    `torchvision.ops.roi_align`.

    Args:
        input: images, float array of shape (N, C, H, W), H and W from 1.
        boxes: of shape (K, 5) and the dtype of input: image, x1, y1, x2, y2, with x1 ≤ x2 and y1 ≤ y2.
        output_size: bins, as (height, width) or one number for both.
        spatial_scale: pixels of input per unit of the boxes' coordinates; at a stride of 16 it is 1/16.
        sampling_ratio: samples per bin and axis; 0 or less takes ⌈size of the box / bins⌉ of them.
        aligned: pixel i covers [i - ½, i + ½] of the scaled boxes, which is exact; False is the older convention, half
            a pixel off, in which no box is smaller than one pixel.

    Returns y of shape (K, C, height, width). With aligned, a box of size 0 gives 0 where sampling_ratio does not say
    how many samples it has. A nan or inf of input reaches the bins whose samples it is near.

    Raises ValueError: shapes do not fit, a box is not finite, ends before it starts or names no image.

    Gradient: with respect to input, to any order; y is linear in it. Boxes carry none.
    """
    y = np.empty((len(boxes), input.shape[1], *output_size), input.dtype)
    for pooled, box in zip(y, boxes, strict=True):
        rows, columns = pooling(box, output_size, input, spatial_scale, sampling_ratio, aligned)
        pooled[...] = rows @ input[int(box[0])] @ columns.T
    return y


@roi_align.backward
def roi_align_grad(input_spec, boxes, dy, output_size, spatial_scale, sampling_ratio, aligned):
    dinput = np.zeros(input_spec.shape, np.result_type(input_spec.dtype, np.float32))  # float16 would stop at 2048
    for arriving, box in zip(dy, boxes, strict=True):
        rows, columns = pooling(box, output_size, input_spec, spatial_scale, sampling_ratio, aligned)
        dinput[int(box[0])] += rows.T @ arriving @ columns
    return dinput.astype(input_spec.dtype, copy=False)


@roi_align_grad.backward(composite=True)
def roi_align_grad_grad(boxes, ddinput, output_size, spatial_scale, sampling_ratio, aligned):
    return roi_align(ddinput, boxes, output_size, spatial_scale, sampling_ratio, aligned)


def pooling(box, size, image, scale, ratio, aligned):
    """Returns the matrices that pool the rows and the columns of an image over a box."""
    _, left, top, right, bottom = (float(number) for number in box)
    axes = ((top, bottom, size[0], image.shape[2]), (left, right, size[1], image.shape[3]))
    return [pooling_of_axis(*axis, scale, ratio, aligned).astype(image.dtype) for axis in axes]


def pooling_of_axis(low, high, bins, extent, scale, ratio, aligned):
    start = low * scale - (0.5 if aligned else 0.0)
    length = high * scale - low * scale
    length = length if aligned else max(length, 1.0)
    samples = ratio if ratio > 0 else int(np.ceil(length / bins))
    places = start + (np.arange(bins * samples) + 0.5) * (length / max(bins * samples, 1))
    held = np.clip(places, 0, extent - 1)
    weights = np.maximum(0.0, 1.0 - np.abs(held[:, None] - np.arange(extent)))
    weights[(places < -1) | (places > extent)] = 0
    return weights.reshape(bins, samples, extent).sum(axis=1) / max(samples, 1)


@roi_align.infer
def roi_align_infer(input, boxes, output_size):
    if len(input.shape) != 4 or 0 in input.shape[2:]:
        raise errors.ShapeError(
            f"op 'contrib::roi_align': input expected shape (N, C, H, W) with H and W from 1, got {input.shape}; "
            "one image is input[None]"
        )
    if len(boxes.shape) != 2 or boxes.shape[1] not in (5, None):
        raise errors.ShapeError(
            f"op 'contrib::roi_align': boxes expected shape (K, 5), image, x1, y1, x2, y2, got {boxes.shape}; "
            "put the number of its image in front of each box"
        )
    if input.dtype.kind != "f" or boxes.dtype != input.dtype:
        raise errors.DTypeError(
            f"op 'contrib::roi_align': expected input and boxes of one dtype, float16, float32 or float64, got "
            f"{input.dtype} and {boxes.dtype}; cast them"
        )
    return opsdk.TensorSpec((boxes.shape[0], input.shape[1], *output_size), input.dtype)


@roi_align.check
def roi_align_check(input, boxes, output_size):
    roi_align_infer(input, boxes, output_size)  # first: what follows reads columns
    if not np.isfinite(boxes).all():
        return "boxes expected finite numbers, got nan or inf; drop those boxes"
    if (boxes[:, 3:] < boxes[:, 1:3]).any():
        worst = int((boxes[:, 3:] < boxes[:, 1:3]).any(axis=1).argmax())
        return f"boxes expected x1 ≤ x2 and y1 ≤ y2, got box {worst} that ends before it starts; order its corners"
    image, count = boxes[:, 0], input.shape[0]
    outside = (image < 0) | (image >= count) | (image != np.floor(image))
    if outside.any():
        worst = int(outside.argmax())
        return f"boxes expected images among 0 to {count - 1} in column 0, got {float(image[worst])} in box {worst}"
    return None


@roi_align_grad.check
def roi_align_grad_check(input_spec, boxes, dy, output_size):
    wanted = roi_align_infer(input_spec, boxes, output_size)
    if dy.shape != wanted.shape:
        return f"dy expected the shape of the result, {wanted.shape}, got {dy.shape}"
    return roi_align_check(input_spec, boxes, output_size)


@roi_align.samples
def roi_align_samples(rng):
    def boxes(count, images, height, width):
        start = rng.uniform(-1.5, 0.6, (count, 2)) * (width, height)
        return np.hstack(
            [rng.integers(0, images, (count, 1)), start, start + rng.uniform(0.1, 1.2, (count, 2)) * (width, height)]
        )

    inside = np.array([[1, 0.7, 1.1, 4.3, 3.9], [0, 2.2, 0.4, 5.1, 2.8], [1, 0.1, 2.3, 2.4, 4.7]])
    images = rng.normal(size=(2, 3, 5, 6))
    yield opsdk.Sample(images, inside, output_size=[2, 3], reason="three boxes of two images, adaptive sampling")
    yield opsdk.Sample(images, inside, output_size=3, sampling_ratio=2, aligned=True, reason="a square, 2 samples")
    yield opsdk.Sample(
        images, inside * (1, 2, 2, 2, 2), output_size=[2, 2], spatial_scale=0.45, reason="boxes of a larger image"
    )
    yield opsdk.Sample(images, boxes(4, 2, 5, 6), output_size=[3, 2], aligned=True, reason="partly outside")
    yield opsdk.Sample(images, boxes(4, 2, 40, 60), output_size=[2, 2], sampling_ratio=3, reason="sparse samples")
    yield opsdk.Sample(images[:, :, :1, :1], boxes(2, 2, 1, 1), output_size=[2, 2], reason="images of one pixel")
    edges = np.array([[0.0, -2, 4, 0, 6], [1, 5, -2, 7, 0]])  # whose middles are at -1 and 5, and at 6 and -1
    yield opsdk.Sample(images, edges, output_size=1, sampling_ratio=1, reason="one sample, at the far edges of pixels")
    yield opsdk.Sample(images, inside[:0], output_size=[2, 2], reason="no boxes")
    yield opsdk.Sample(images[:0], inside[:0], output_size=[2, 2], reason="no images")


@roi_align.bench
def roi_align_bench(rng, n):
    """Maps of 64 channels, 50 × 50, and 64 boxes on each."""
    images = max(1, n // (64 * 50 * 50))
    start = rng.uniform(2, 24, (64 * images, 2))
    boxes = np.hstack([np.repeat(np.arange(images), 64)[:, None], start, start + rng.uniform(4, 22, start.shape)])
    maps = rng.normal(size=(images, 64, 50, 50))
    return opsdk.Sample(maps, boxes, output_size=[7, 7], sampling_ratio=2, aligned=True)


FLOATS = ("float32", "float64")
roi_align.kernel("cpu", language="c", dtype=FLOATS, source="roi_align.c", openmp=True, contiguous=True)
roi_align_grad.kernel("cpu", language="c", dtype=FLOATS, source="roi_align.c", openmp=True, contiguous=True)


def thread_per_result(y):
    return -(-y.size // 128), 128


def thread_per_plane(dinput):
    return -(-dinput.shape[0] * dinput.shape[1] // 64), 64


roi_align.kernel("cuda", language="numba", source=".roi_align_cuda:forward", launch=thread_per_result)
roi_align_grad.kernel(
    "cuda",
    language="numba",
    source=".roi_align_cuda:backward",
    launch=thread_per_plane,
    scratch={"sums": lambda input_spec: opsdk.TensorSpec(input_spec.shape, "float64")},
)
