"""deform_conv2d: beside plain loops over the formula, and differences of what these give."""

import numpy as np
import pytest

import opsdk
from contrib_ops import deform_conv2d
from opsdk.core.errors import AttributeValueError, InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

# Compiles ten kernels; test_soft_splat and test_fft_conv stand for the family in make test.
pytestmark = pytest.mark.slow

# shapes of images and weights, groups of offsets, attributes
CASES = {
    "plain": ((2, 2, 4, 5), (3, 2, 2, 3), 1, {}),
    "strided": ((1, 2, 5, 6), (2, 2, 3, 2), 2, {"stride": [2, 1], "padding": [1, 2], "dilation": [1, 2]}),
    "grouped": ((2, 4, 3, 3), (4, 2, 2, 2), 4, {"padding": [0, 1]}),
}


def inputs_of(case, rng, by=1.5):
    images, weights, groups, more = CASES[case]
    attrs = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1], **more}
    size = [
        (images[2 + a] + 2 * attrs["padding"][a] - attrs["dilation"][a] * (weights[2 + a] - 1) - 1)
        // attrs["stride"][a]
        + 1
        for a in (0, 1)
    ]
    channels = groups * weights[2] * weights[3]
    offset = rng.uniform(-by, by, (images[0], 2 * channels, *size))
    mask = rng.uniform(0.1, 1, (images[0], channels, *size))
    return [rng.normal(size=images), offset, mask, rng.normal(size=weights), rng.normal(size=weights[0])], attrs


def pixel(image, i, j):
    return image[i, j] if 0 <= i < image.shape[0] and 0 <= j < image.shape[1] else 0.0


def by_loops(input, offset, mask, weight, bias, stride, padding, dilation):
    """Returns y by one sum for each output; between pixels as `torchvision.ops.deform_conv2d` documents it."""
    (outputs, each, kh, kw), taps = weight.shape, weight.shape[2] * weight.shape[3]
    groups, of_offsets = input.shape[1] // each, offset.shape[1] // (2 * taps)
    y = np.zeros((len(input), outputs, *offset.shape[2:]))
    for n, o, p, q in np.ndindex(*y.shape):
        y[n, o, p, q] = bias[o]
        for m, a, b in np.ndindex(each, kh, kw):
            c = o // (outputs // groups) * each + m
            k = c // (input.shape[1] // of_offsets) * taps + a * kw + b
            i = p * stride[0] - padding[0] + a * dilation[0] + offset[n, 2 * k, p, q]
            j = q * stride[1] - padding[1] + b * dilation[1] + offset[n, 2 * k + 1, p, q]
            top, left = int(np.floor(i)), int(np.floor(j))
            low, right = i - top, j - left
            value = (1 - low) * (1 - right) * pixel(input[n, c], top, left)
            value += (1 - low) * right * pixel(input[n, c], top, left + 1)
            value += low * (1 - right) * pixel(input[n, c], top + 1, left)
            value += low * right * pixel(input[n, c], top + 1, left + 1)
            y[n, o, p, q] += weight[o, m, a, b] * mask[n, k, p, q] * value
    return y


DTYPES = ["float64", pytest.param("float32", marks=pytest.mark.slow)]  # a compilation each


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_kernel_gives_what_the_loops_do(case, dtype, rng):
    inputs, attrs = inputs_of(case, rng)
    given = [array.astype(dtype) for array in inputs]
    wanted = by_loops(*[array.astype(float) for array in given], **attrs)
    kernels = [k for k in deform_conv2d.opdef.kernels if k.key.serves("cpu", np.dtype(dtype), (np.dtype(dtype),))]
    assert len(kernels) == 2
    for kernel in kernels:
        (y,) = launch(deform_conv2d.opdef, kernel, given, attrs)
        np.testing.assert_allclose(y, wanted, rtol=0, atol=1e-12 if dtype == "float64" else 1e-5)


# Two backwards of the loops for each of some elements of every input; the proof of the op stands for it.
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_gradients_are_differences_of_the_loops(case, rng):
    inputs, attrs = inputs_of(case, rng)
    tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in inputs]
    y = deform_conv2d(*tensors, **attrs)
    dy = rng.normal(size=y.shape)
    y.backward(opsdk.to_tensor(dy))
    for k, tensor in enumerate(tensors):
        for _ in range(3):
            at, ends = tuple(rng.integers(0, n) for n in inputs[k].shape), []
            for step in (1e-6, -1e-6):
                moved = [array.copy() for array in inputs]
                moved[k][at] += step
                ends.append((by_loops(*moved, **attrs) * dy).sum())
            np.testing.assert_allclose(tensor.grad.numpy()[at], (ends[0] - ends[1]) / 2e-6, rtol=1e-6, atol=1e-7)


# A compilation for those without groups; the proof of the op tries them as well.
@pytest.mark.parametrize("case", ["grouped", *(pytest.param(c, marks=pytest.mark.slow) for c in ("plain", "strided"))])
def test_second_derivatives_are_mixed_differences_of_the_loops(case, rng):
    inputs, attrs = inputs_of(case, rng)
    first, second = ([rng.normal(size=array.shape) for array in inputs] for _ in range(2))
    tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in inputs]
    y = deform_conv2d(*tensors, **attrs)
    dy = opsdk.to_tensor(rng.normal(size=y.shape), stop_gradient=False)
    gradients = opsdk.grad(y, tensors, dy, create_graph=True)
    inner = sum((g * d).sum() for g, d in zip(gradients, first, strict=True))
    *found, of_bias, ddy = opsdk.grad(inner, [*tensors, dy], allow_unused=True)
    assert of_bias is None
    got = sum((g.numpy() * d).sum() for g, d in zip(found, second[:4], strict=True))

    def at(along, across):
        moved = [x + 1e-4 * (along * a + across * b) for x, a, b in zip(inputs, first, second, strict=True)]
        return by_loops(*moved, **attrs)

    mixed = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / 4e-8
    np.testing.assert_allclose(got, (mixed * dy.numpy()).sum(), rtol=1e-5)
    np.testing.assert_allclose(ddy.numpy(), (at(1, 0) - at(-1, 0)) / 2e-4, atol=1e-5)


def test_gradients_are_those_of_torch(rng):
    torch = pytest.importorskip("torch")
    inputs, attrs = inputs_of("plain", rng)
    tensors = [torch.tensor(array, requires_grad=True) for array in inputs]
    input, offset, mask, weight, bias = tensors
    (_, _, high, wide), (_, _, kh, kw) = input.shape, weight.shape
    y = bias[None, :, None, None]
    for k in range(kh * kw):  # a tap of all outputs is one grid_sample
        rows = torch.arange(offset.shape[2])[:, None] + k // kw + offset[:, 2 * k]
        columns = torch.arange(offset.shape[3]) + k % kw + offset[:, 2 * k + 1]
        grid = torch.stack([2 * columns / (wide - 1) - 1, 2 * rows / (high - 1) - 1], dim=-1)
        read = torch.nn.functional.grid_sample(input, grid, align_corners=True) * mask[:, k, None]
        y = y + torch.einsum("oc,ncpq->nopq", weight[:, :, k // kw, k % kw], read)
    dy = rng.normal(size=y.shape)
    y.backward(torch.tensor(dy))
    made = [opsdk.to_tensor(array, stop_gradient=False) for array in inputs]
    mine = deform_conv2d(*made, **attrs)
    mine.backward(opsdk.to_tensor(dy))
    np.testing.assert_allclose(mine.numpy(), y.detach().numpy(), atol=1e-12)
    for got, want in zip(made, tensors, strict=True):
        np.testing.assert_allclose(got.grad.numpy(), want.grad.numpy(), atol=1e-10)


# Another compilation, without a bias; so is the next.
@pytest.mark.slow
def test_without_offsets_and_with_ones_it_is_a_convolution():
    image = np.arange(9.0).reshape(1, 1, 3, 3)
    y = deform_conv2d(image, np.zeros((1, 8, 2, 2)), np.ones((1, 4, 2, 2)), np.array([[[[1.0, 2], [3, 4]]]]))
    assert y.tolist() == [[[[0 + 2 + 9 + 16, 1 + 4 + 12 + 20], [3 + 8 + 18 + 28, 4 + 10 + 21 + 32]]]]


@pytest.mark.slow  # a compilation without a bias
def test_a_bias_that_is_left_out_has_no_gradient(rng):
    inputs, attrs = inputs_of("plain", rng)
    tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in inputs[:4]]
    y = deform_conv2d(*tensors, **attrs)
    np.testing.assert_allclose(y.numpy(), by_loops(*inputs[:4], np.zeros(3), **attrs), atol=1e-12)
    y.sum().backward()
    assert all(tensor.grad is not None for tensor in tensors)


GOOD = [np.zeros((1, 2, 3, 3)), np.zeros((1, 8, 2, 2)), np.ones((1, 4, 2, 2)), np.zeros((2, 2, 2, 2)), np.zeros(2)]


@pytest.mark.parametrize(
    ("at", "value", "text"),
    [
        (1, np.full((1, 8, 2, 2), np.nan), "offset expected finite numbers, got nan or inf"),
        (
            1,
            np.zeros((1, 8, 2, 1)),
            "offset expected float64(1, 8, 2, 2) beside input (1, 2, 3, 3), got float64(1, 8, 2, 1)",
        ),
        (2, np.zeros((1, 12, 2, 2)), "mask expected D · 4 channels, where D divides the 2 of input, got (1, 12, 2, 2)"),
        (2, np.zeros((1, 4, 2, 2), "f4"), "mask expected float64(1, 4, 2, 2) beside input (1, 2, 3, 3), got float32"),
        (3, np.zeros((2, 3, 2, 2)), "weight expected shape (O, 2 / groups, kh, kw), where groups divides O, got"),
        (3, np.zeros((3, 1, 2, 2)), "weight expected shape (O, 2 / groups, kh, kw), where groups divides O, got"),
        (3, np.zeros((2, 2, 5, 2)), "weight expected taps that fit the padded image (3, 3), got (2, 2, 5, 2)"),
        (4, np.zeros(3), "bias expected float64(2,) beside input (1, 2, 3, 3), got float64(3,)"),
        (0, np.zeros((1, 2, 3, 3), int), "input expected floats, got int64; cast it"),
    ],
)
def test_values_that_do_not_fit_are_refused(at, value, text):
    with pytest.raises(InputValueError) as caught:
        deform_conv2d(*GOOD[:at], value, *GOOD[at + 1 :])
    assert text in str(caught.value)


def test_axes_and_cotangents_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match="input, offset, mask and weight expected 4 axes each, got shapes"):
        deform_conv2d(np.zeros((2, 3, 3)), *GOOD[1:])
    with pytest.raises(
        InputValueError, match=r"dy expected the shape of the result, \(1, 2, 2, 2\), got \(1, 2, 2, 1\)"
    ):
        deform_conv2d.grad(*GOOD, np.zeros((1, 2, 2, 1)))


@pytest.mark.parametrize("attrs", [{"stride": [0, 1]}, {"padding": [1, -1]}, {"dilation": [1, 1, 1]}], ids=str)
def test_attributes_that_do_not_fit_are_refused(attrs):
    with pytest.raises(AttributeValueError, match=rf"attribute '{next(iter(attrs))}' expected int\[2\] >= "):
        deform_conv2d(*GOOD, **attrs)


@pytest.mark.slow  # a compilation without a bias
def test_one_number_stands_for_both_axes():
    ones = np.ones((1, 1, 3, 3))
    y = deform_conv2d(ones, np.zeros((1, 2, 2, 2)), np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1)), stride=2)
    assert y.tolist() == [[[[1, 1], [1, 1]]]]


@pytest.mark.parametrize("kernel", [k for k in deform_conv2d.opdef.kernels if "32" not in str(k.key)], ids=str)
def test_taps_outside_of_the_image_read_0_whatever_it_holds(kernel):
    input = np.full((1, 1, 2, 2), np.nan)
    offset, bias = np.full((1, 2, 2, 2), 5.0), np.array([3.0])
    offset[0, :, 0, 0] = 0
    attrs = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1]}
    inputs = [input, offset, np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1)), bias]
    (y,) = launch(deform_conv2d.opdef, kernel, inputs, attrs)
    np.testing.assert_array_equal(y, [[[[np.nan, 3], [3, 3]]]])


def test_cotangents_of_taps_outside_of_the_image_reach_no_pixel():
    grad, dy = deform_conv2d.grad.opdef, np.array([[[[1.0, np.nan], [np.inf, 2]]]])
    offset = np.full((1, 2, 2, 2), 5.0)
    offset[0, :, 0, 0] = 0
    inputs = [np.ones((1, 1, 2, 2)), offset, np.ones((1, 1, 2, 2)), np.ones((1, 1, 1, 1)), None, dy]
    attrs = {"stride": [1, 1], "padding": [0, 0], "dilation": [1, 1]}
    with np.errstate(invalid="ignore"):
        made = launch(grad, grad.kernels.reference(), inputs, attrs)
    assert made[0].tolist() == [[[[1, 0], [0, 0]]]]
