"""Modulated deformable convolution: each tap of each output reads at a place of its own, with a weight of its own."""

import numpy as np

import opsdk
from opsdk import errors


@opsdk.op(
    "contrib::deform_conv2d(Tensor input, Tensor offset, Tensor mask, Tensor weight, Tensor? bias=None, *, "
    "int[2] >= 1 stride=1, int[2] >= 0 padding=0, int[2] >= 1 dilation=1) -> Tensor y"
)
def deform_conv2d(input, offset, mask, weight, bias, stride, padding, dilation):
    """y[o, p] = Σ_c Σ_k weight[o, c, k] · mask[k, p] · input[c, p + p_k + offset[k, p]] + bias[o].

    Deformable ConvNets v2 (Zhu, Hu, Lin and Dai 2019, eq. 1); p_k is where tap k reads in a convolution. Input between
    pixels is bilinear, and 0 outside of the image. Layouts are those of `torchvision.ops.deform_conv2d`.

    Args:
        input: images, float array (N, C, H, W).
        offset: (N, 2 · D · kh · kw, oh, ow), finite: for each of D groups of channels and each tap, how many pixels
            down and how many right; D divides C.
        mask: (N, D · kh · kw, oh, ow), factor of each tap; ones for the first version of the paper (Dai et al. 2017).
        weight: (O, C / groups, kh, kw); groups divides O and C.
        bias: (O,).
        stride: pixels from one output to the next, down and right.
        padding: pixels before and after the image, as zeros.
        dilation: pixels from one tap to the next.

    Returns y (N, O, oh, ow), with oh = (H + 2 · padding - dilation · (kh - 1) - 1) // stride + 1.

    Raises ValueError: shapes or dtypes that do not fit, an offset that is nan or inf.

    Gradient: with respect to all five, order 2. In the offset it is that of the bilinear pieces, the right one where a
    tap reads a pixel itself.
    """
    x, factors, weights, moved = by_groups(input, offset, mask, weight)
    places = moved + grid(weight, offset, stride, padding, dilation)
    read = sum(share * taken(x, index) for index, share, *_ in corners(places, input.shape, x.shape[-1] - 1))
    y = np.einsum("gock,ngckp->ngop", weights, columns(read * factors, weights))
    y = y.reshape(len(input), len(weight), *offset.shape[2:]).astype(input.dtype)
    return y if bias is None else y + bias[:, None, None]


@deform_conv2d.backward
def deform_conv2d_grad(input, offset, mask, weight, bias, dy, stride, padding, dilation):
    x, factors, weights, moved = by_groups(input, offset, mask, weight)
    places, arriving = moved + grid(weight, offset, stride, padding, dilation), by_outputs(dy, weights)
    at_taps = at_taps_of(weights, arriving, x)
    through = at_taps * factors
    read, down, right = np.zeros((3, *at_taps.shape))
    dx, at = np.zeros(x.shape), np.indices(at_taps.shape, sparse=True)[:3]
    for index, share, share_down, share_right, _ in corners(places, input.shape, x.shape[-1] - 1):
        values = taken(x, index)
        read += share * values
        down += share_down * values
        right += share_right * values
        np.add.at(dx, (*at, index), share * through)
    made = {
        "input": dx[..., :-1].reshape(input.shape),
        "offset": interleaved(through * down, through * right).reshape(offset.shape),
        "mask": (at_taps * read).sum(axis=2).reshape(mask.shape),
        "weight": np.einsum("ngop,ngckp->gock", arriving, columns(read * factors, weights)).reshape(weight.shape),
        "bias": None if bias is None else dy.sum(axis=(0, 2, 3)),
    }
    return {name: gradient if gradient is None else gradient.astype(input.dtype) for name, gradient in made.items()}


@deform_conv2d_grad.backward(disconnected=["bias"])
def deform_conv2d_grad_grad(
    input, offset, mask, weight, bias, dy, ddinput, ddoffset, ddmask, ddweight, ddbias, stride, padding, dilation
):
    x, factors, weights, moved = by_groups(input, offset, mask, weight)
    ddx, ddfactors, ddweights, (ddown, dright) = by_groups(ddinput, ddoffset, ddmask, ddweight)
    places, arriving = moved + grid(weight, offset, stride, padding, dilation), by_outputs(dy, weights)
    at_taps, turned = at_taps_of(weights, arriving, x), at_taps_of(ddweights, arriving, x)
    by_read, by_change = turned * factors + at_taps * ddfactors, at_taps * factors
    read, change, down, right = np.zeros((4, *at_taps.shape))  # what is read, and its change along the directions
    dx, at = np.zeros(x.shape), np.indices(at_taps.shape, sparse=True)[:3]
    for index, share, share_down, share_right, bend in corners(places, input.shape, x.shape[-1] - 1):
        values, ddvalues, turn = taken(x, index), taken(ddx, index), share_down * ddown + share_right * dright
        read += share * values
        change += share * ddvalues + turn * values
        down += by_read * share_down * values + by_change * (share_down * ddvalues + bend * dright * values)
        right += by_read * share_right * values + by_change * (share_right * ddvalues + bend * ddown * values)
        np.add.at(dx, (*at, index), by_read * share + by_change * turn)
    changed = columns(ddfactors * read + factors * change, weights)
    ddy = np.einsum("gock,ngckp->ngop", weights, changed)
    ddy += np.einsum("gock,ngckp->ngop", ddweights, columns(factors * read, weights))
    made = {
        "input": dx[..., :-1].reshape(input.shape),
        "offset": interleaved(down, right).reshape(offset.shape),
        "mask": (turned * read + at_taps * change).sum(axis=2).reshape(mask.shape),
        "weight": np.einsum("ngop,ngckp->gock", arriving, changed).reshape(weight.shape),
        "dy": ddy.reshape(dy.shape) + (0 if bias is None else ddbias[:, None, None]),
    }
    return {"bias": None, **{name: gradient.astype(input.dtype) for name, gradient in made.items()}}


def by_groups(input, offset, mask, weight):
    """Returns all four by groups, the offset down and right.

    Shapes: (N, D, C / D, pixels and a 0 for what lies outside), (N, D, 1, taps, outputs),
    (groups, O / groups, C / groups, taps) and (2, N, D, 1, taps, outputs).
    """
    (n, channels, height, width), (kernel, size) = input.shape, (weight.shape[2:], offset.shape[2:])
    taps, outputs, groups = kernel[0] * kernel[1], size[0] * size[1], channels // weight.shape[1]
    of_offsets = offset.shape[1] // (2 * taps)
    return (
        np.pad(input.reshape(n, of_offsets, channels // of_offsets, height * width), [(0, 0)] * 3 + [(0, 1)]),
        mask.reshape(n, of_offsets, 1, taps, outputs),
        weight.reshape(groups, len(weight) // groups, weight.shape[1], taps),
        np.moveaxis(offset.reshape(n, of_offsets, 1, taps, 2, outputs), 4, 0),
    )


def grid(weight, offset, stride, padding, dilation):
    """Returns the row and column where each tap of each output reads in a convolution, (2, 1, 1, 1, taps, outputs)."""
    tap, output = (np.indices(shape).reshape(2, 1, 1, 1, -1) for shape in (weight.shape[2:], offset.shape[2:]))
    step, start, apart = (np.reshape(pair, (2, 1, 1, 1, 1, 1)) for pair in (stride, padding, dilation))
    return tap[..., None] * apart + output[..., None, :] * step - start


def by_outputs(dy, weights):
    return dy.reshape(len(dy), *weights.shape[:2], dy.shape[2] * dy.shape[3])


def at_taps_of(weights, arriving, x):
    """Returns what arrives at each tap, (N, D, C / D, taps, outputs)."""
    made = np.einsum("gock,ngop->ngckp", weights, arriving)
    return made.reshape(*x.shape[:3], *made.shape[3:])


def columns(taps, weights):
    """Returns what each tap gives by groups, (N, groups, C / groups, taps, outputs)."""
    return taps.reshape(len(taps), len(weights), *weights.shape[2:], taps.shape[-1])


def interleaved(down, right):
    """Returns the gradient of an offset, summed over the channels that share it."""
    return np.stack([down.sum(axis=2), right.sum(axis=2)], axis=3)


def corners(places, shape, outside=0):
    """Yields for each of the four pixels around places its index and its share, how that grows down, right and both.

    What lies outside of the image has a share of 0, and the index that is given for it.
    """
    (rows, columns), (height, width) = places, shape[2:]
    top, left = np.floor(places)
    for below, beside in np.ndindex(2, 2):
        row, column = top + below, left + beside
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        high, wide = 1 - np.abs(rows - row), 1 - np.abs(columns - column)
        down, right = 2 * below - 1, 2 * beside - 1
        shares = high * wide, down * wide, right * high, down * right
        index = np.where(inside, row * width + column, outside).astype(np.int64)
        yield index, *(np.where(inside, share, 0) for share in shares)


def taken(x, index):
    """Returns pixels of every channel, (N, D, C / D, taps, outputs)."""
    flat = np.take_along_axis(x, index.reshape(*index.shape[:3], index.shape[3] * index.shape[4]), axis=-1)
    return flat.reshape(*x.shape[:3], *index.shape[3:])


@deform_conv2d.infer
def deform_conv2d_infer(input, offset, mask, weight, bias, stride, padding, dilation):
    if any(len(array.shape) != 4 for array in (input, offset, mask, weight)):
        raise errors.ShapeError(
            "deform_conv2d: input, offset, mask and weight expected 4 axes each, got shapes "
            f"{input.shape}, {offset.shape}, {mask.shape} and {weight.shape}"
        )
    size = outputs_of(input.shape[2:], weight.shape[2:], stride, padding, dilation)
    return opsdk.TensorSpec((input.shape[0], weight.shape[0], *size), input.dtype)


def outputs_of(size, kernel, stride, padding, dilation):
    """Returns how many outputs there are, down and right; below 0 where the taps do not fit the image."""
    return [
        None if size[a] is None else (size[a] + 2 * padding[a] - dilation[a] * (kernel[a] - 1) - 1) // stride[a] + 1
        for a in (0, 1)
    ]


@deform_conv2d.check
def deform_conv2d_check(input, offset, mask, weight, bias, stride, padding, dilation):
    if input.dtype.kind != "f":
        return f"input expected floats, got {input.dtype}; cast it"
    deform_conv2d_infer(input, offset, mask, weight, bias, stride, padding, dilation)  # first: what follows reads axes
    size = outputs_of(input.shape[2:], weight.shape[2:], stride, padding, dilation)
    (n, channels), (count, each, *kernel) = input.shape[:2], weight.shape
    if not each or channels % each or not channels or count % (channels // each):
        return f"weight expected shape (O, {channels} / groups, kh, kw), where groups divides O, got {weight.shape}"
    if min(kernel) < 1 or min(size) < 0:
        return f"weight expected taps that fit the padded image {input.shape[2:]}, got {weight.shape}"
    taps = kernel[0] * kernel[1]
    groups = max(mask.shape[1] // taps, 1)
    if channels % groups:
        return f"mask expected D · {taps} channels, where D divides the {channels} of input, got {mask.shape}"
    wanted = {
        "mask": (mask, (n, groups * taps, *size)),
        "offset": (offset, (n, 2 * groups * taps, *size)),
        "bias": (bias, (count,)),
        "weight": (weight, weight.shape),
    }
    for name, (array, shape) in wanted.items():
        if array is not None and (array.shape != shape or array.dtype != input.dtype):
            return f"{name} expected {input.dtype}{shape} beside input {input.shape}, got {array.dtype}{array.shape}"
    return None if np.isfinite(offset).all() else "offset expected finite numbers, got nan or inf"


@deform_conv2d_grad.check
def deform_conv2d_grad_check(input, offset, mask, weight, bias, dy, stride, padding, dilation):
    wrong = deform_conv2d_check(input, offset, mask, weight, bias, stride, padding, dilation)
    shape = (len(input), len(weight), *offset.shape[2:])
    return wrong or (None if dy.shape == shape else f"dy expected the shape of the result, {shape}, got {dy.shape}")


def drawn(rng, images, weights, groups=1, by=0.6, bias=True, **attrs):
    """Returns inputs of a call, with offsets of up to `by` pixels."""
    input, weight = rng.normal(size=images), rng.normal(size=weights)
    attrs = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], **attrs}
    reach = [attrs["dilation"][a] * (weights[2 + a] - 1) + 1 for a in (0, 1)]
    size = [(images[2 + a] + 2 * attrs["padding"][a] - reach[a]) // attrs["stride"][a] + 1 for a in (0, 1)]
    channels = groups * weights[2] * weights[3]
    offset = rng.uniform(-by, by, (images[0], 2 * channels, *size))
    mask = rng.uniform(0.2, 1, (images[0], channels, *size))
    return opsdk.Sample(input, offset, mask, weight, rng.normal(size=weights[0]) if bias else None, **attrs)


@deform_conv2d.samples
def deform_conv2d_samples(rng):
    def sample(reason, *args, **more):
        sample = drawn(rng, *args, **more)
        return opsdk.Sample(*sample.inputs, **sample.attrs, reason=reason)

    yield sample("2 × 2 taps", (1, 2, 3, 3), (2, 2, 2, 2))
    yield sample(
        "padding, stride and dilation, without bias",
        (1, 1, 4, 3),
        (1, 1, 2, 2),
        bias=False,
        padding=[1, 0],
        stride=[2, 1],
        dilation=[2, 1],
    )
    yield sample("two groups of channels, and four of offsets", (2, 4, 1, 2), (2, 2, 1, 1), groups=4)
    yield sample("taps far outside", (1, 1, 2, 2), (1, 1, 1, 2), by=5.0, padding=[1, 1])
    yield sample("no images", (0, 1, 2, 2), (1, 1, 1, 1))
    yield sample("no outputs", (1, 1, 1, 2), (1, 1, 2, 2))


@deform_conv2d.bench
def deform_conv2d_bench(rng, n):
    """32 channels, 3 × 3 taps, images of 32 × 32."""
    return drawn(rng, (max(1, n // 32**3), 32, 32, 32), (32, 32, 3, 3), padding=[1, 1])


for op, name in ((deform_conv2d, "forward"), (deform_conv2d_grad, "backward")):
    source = f".deform_conv2d_numba:{name}"
    op.kernel("cpu", language="numba", source=source, dtype=("float32", "float64"), parallel=True, contiguous=True)
