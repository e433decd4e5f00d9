"""soft_splat: beside plain loops over the formula, and differences of what these give."""

import numpy as np
import pytest

import opsdk
from contrib_ops import soft_splat
from opsdk.core.errors import InputValueError, ShapeError
from opsdk.verify.kernels.launch import launch

MODES = ("summation", "average", "linear", "softmax")


def by_loops(input, flow, metric, mode):
    gains = {"linear": metric, "softmax": None if metric is None else np.exp(metric)}.get(mode)
    y, (height, width) = np.zeros_like(input), input.shape[2:]
    for n, i, j in np.ndindex(len(input), height, width):
        total = np.zeros(1)
        for a, b in np.ndindex(height, width):
            kernel = max(0, 1 - abs(i - a - flow[n, 1, a, b])) * max(0, 1 - abs(j - b - flow[n, 0, a, b]))
            weight = kernel * (1 if gains is None else gains[n, 0, a, b])
            y[n, :, i, j] += weight * input[n, :, a, b]
            total += weight
        if mode != "summation" and total > 0:
            y[n, :, i, j] /= total
    return y


def inputs_of(mode, rng, by=1.5):
    input, flow = rng.normal(size=(2, 3, 4, 5)), rng.uniform(-by, by, (2, 2, 4, 5))
    metric = rng.uniform(0.2, 2, (2, 1, 4, 5)) if mode in ("linear", "softmax") else None
    return [input, flow, metric]


QUICK = {("softmax", "float64")}


CASES = [
    # A compilation for each dtype, and for what has a metric and what has none; the quick ones are of one.
    pytest.param(mode, dtype, marks=() if (mode, dtype) in QUICK else pytest.mark.slow)
    for mode in MODES
    for dtype in ("float32", "float64")
]


@pytest.mark.parametrize(("mode", "dtype"), CASES)
def test_every_kernel_gives_what_the_loops_do(mode, dtype, rng):
    given = [None if array is None else array.astype(dtype) for array in inputs_of(mode, rng)]
    wanted = by_loops(*[None if array is None else array.astype(float) for array in given], mode)
    kernels = [k for k in soft_splat.opdef.kernels if k.key.serves("cpu", np.dtype(dtype), (np.dtype(dtype),))]
    assert len(kernels) == 2
    for kernel in kernels:
        (y,) = launch(soft_splat.opdef, kernel, given, {"mode": mode})
        np.testing.assert_allclose(y, wanted, rtol=0, atol=1e-12 if dtype == "float64" else 1e-4)


# Without a metric is a compilation of its own; that of the softmax and of the linear mode stands for it.
@pytest.mark.parametrize("mode", ["softmax", "linear", *(pytest.param(m, marks=pytest.mark.slow) for m in MODES[:2])])
def test_gradients_are_differences_of_the_loops(mode, rng):
    inputs = inputs_of(mode, rng, by=0.8)
    tensors = [None if array is None else opsdk.to_tensor(array, stop_gradient=False) for array in inputs]
    y = soft_splat(*tensors, mode=mode)
    dy = rng.normal(size=y.shape)
    y.backward(opsdk.to_tensor(dy))
    for k, tensor in enumerate(tensors):
        for _ in range(5 if tensor is not None else 0):
            at, ends = tuple(rng.integers(0, n) for n in inputs[k].shape), []
            for step in (1e-6, -1e-6):
                moved = [None if array is None else array.copy() for array in inputs]
                moved[k][at] += step
                ends.append((by_loops(*moved, mode) * dy).sum())
            np.testing.assert_allclose(tensor.grad.numpy()[at], (ends[0] - ends[1]) / 2e-6, rtol=1e-5, atol=1e-7)


# Without a metric is a compilation of its own; those with one stand for it.
@pytest.mark.parametrize("mode", ["softmax", "linear", *(pytest.param(m, marks=pytest.mark.slow) for m in MODES[:2])])
def test_second_derivatives_are_mixed_differences_of_the_loops(mode, rng):
    inputs = [array for array in inputs_of(mode, rng, by=0.8) if array is not None]
    first, second = ([rng.normal(size=array.shape) for array in inputs] for _ in range(2))
    tensors = [opsdk.to_tensor(array, stop_gradient=False) for array in inputs]
    y = soft_splat(*tensors, mode=mode)
    dy = opsdk.to_tensor(rng.normal(size=y.shape), stop_gradient=False)
    gradients = opsdk.grad(y, tensors, dy, create_graph=True)
    inner = sum((g * d).sum() for g, d in zip(gradients, first, strict=True))
    *found, ddy = opsdk.grad(inner, [*tensors, dy])
    got = sum((g.numpy() * d).sum() for g, d in zip(found, second, strict=True))

    def at(along, across):
        moved = [x + 1e-4 * (along * a + across * b) for x, a, b in zip(inputs, first, second, strict=True)]
        return by_loops(*moved, *[None] * (3 - len(moved)), mode)

    mixed = (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1)) / 4e-8
    np.testing.assert_allclose(got, (mixed * dy.numpy()).sum(), rtol=1e-5)
    np.testing.assert_allclose(ddy.numpy(), (at(1, 0) - at(-1, 0)) / 2e-4, atol=1e-5)


def test_gradients_are_those_of_torch(rng):
    torch = pytest.importorskip("torch")
    inputs = inputs_of("softmax", rng)
    input, flow, metric = tensors = [torch.tensor(array, requires_grad=True) for array in inputs]
    (count, channels, height, width), pixels = input.shape, input.shape[2] * input.shape[3]
    rows = (flow[:, 1] + torch.arange(height)[:, None]).reshape(count, pixels)
    columns = (flow[:, 0] + torch.arange(width)).reshape(count, pixels)
    lines = torch.cat([input * metric.exp(), metric.exp()], dim=1).reshape(count, channels + 1, pixels)
    sums = torch.zeros_like(lines)
    for below in (0, 1):
        for beside in (0, 1):
            i, j = rows.detach().floor() + below, columns.detach().floor() + beside
            inside = (i >= 0) & (i < height) & (j >= 0) & (j < width)
            share = (1 - (rows - i).abs()) * (1 - (columns - j).abs()) * inside
            index = torch.where(inside, i * width + j, torch.zeros_like(i)).long()
            sums = sums.scatter_add(2, index[:, None].expand_as(lines), lines * share[:, None])
    total = sums[:, -1:]
    y = torch.where(
        total > 0, sums[:, :-1] / torch.where(total > 0, total, torch.ones_like(total)), torch.zeros_like(total)
    )
    dy = rng.normal(size=input.shape)
    y.backward(torch.tensor(dy).reshape(y.shape))
    made = [opsdk.to_tensor(array, stop_gradient=False) for array in inputs]
    mine = soft_splat(*made)
    mine.backward(opsdk.to_tensor(dy))
    np.testing.assert_allclose(mine.numpy().reshape(y.shape), y.detach().numpy(), atol=1e-12)
    for got, want in zip(made, tensors, strict=True):
        np.testing.assert_allclose(got.grad.numpy(), want.grad.numpy(), rtol=1e-9, atol=1e-10)


@pytest.mark.slow  # kernels of both dtypes, with a metric and without
@pytest.mark.parametrize("kernel", list(soft_splat.opdef.kernels), ids=str)
def test_two_pixels_that_meet_are_weighted_and_what_they_leave_is_zero(kernel):
    dtype = "float32" if "float32" in str(kernel.key) else "float64"
    image, flow = np.array([[[[3.0, 7.0]]]], dtype), np.array([[[[1.0, 0.0]], [[0.0, 0.0]]]], dtype)
    metric = np.array([[[[np.log(3), 0.0]]]], dtype)

    def splat(metric, mode):
        return launch(soft_splat.opdef, kernel, [image, flow, metric], {"mode": mode})[0].ravel()

    np.testing.assert_allclose(splat(metric, "softmax"), [0, 4], rtol=1e-6)
    np.testing.assert_allclose(splat(1000 + metric, "softmax"), [0, 4], rtol=1e-3)
    np.testing.assert_allclose(splat(np.exp(metric), "linear"), [0, 4], rtol=1e-6)
    assert splat(None, "average").tolist() == [0, 5]
    assert splat(None, "summation").tolist() == [0, 10]


def test_a_faint_pixel_alone_is_not_lost_beside_a_bright_one_elsewhere():
    y = soft_splat(np.array([[[[3.0, 7.0]]]]), np.zeros((1, 2, 1, 2)), np.array([[[[5000.0, -5000.0]]]]))
    assert y.ravel().tolist() == [3, 7]


GOOD = [np.zeros((1, 2, 3, 3)), np.zeros((1, 2, 3, 3)), np.ones((1, 1, 3, 3))]


@pytest.mark.parametrize(
    ("at", "value", "mode", "text"),
    [
        (1, np.full((1, 2, 3, 3), np.inf), "softmax", "flow expected finite numbers, got nan or inf"),
        (2, np.ones((1, 1, 3, 3), "f4"), "softmax", "metric expected float64 like input, got float32; cast it"),
        (
            2,
            -np.ones((1, 1, 3, 3)),
            "linear",
            "metric expected from 0 with mode 'linear', got -1.0; take mode 'softmax'",
        ),
        (
            2,
            None,
            "softmax",
            "metric expected with modes 'linear' and 'softmax', and with them only, got mode 'softmax'",
        ),
        (
            2,
            GOOD[2],
            "average",
            "metric expected with modes 'linear' and 'softmax', and with them only, got mode 'average'",
        ),
        (0, np.zeros((1, 2, 3, 3), int), "softmax", "input expected floats, got int64; cast it"),
    ],
)
def test_values_that_do_not_fit_are_refused(at, value, mode, text):
    with pytest.raises(InputValueError) as caught:
        soft_splat(*GOOD[:at], value, *GOOD[at + 1 :], mode=mode)
    assert text in str(caught.value)


def test_axes_modes_and_cotangents_that_do_not_fit_are_refused():
    with pytest.raises(ShapeError, match=r"input 'input' expected shape \(N, C, H, W\), got \(2, 3, 3\); pass one of"):
        soft_splat(np.zeros((2, 3, 3)), *GOOD[1:])
    with pytest.raises(ShapeError, match=r"input 'flow' expected shape \(N, 2, H, W\), got \(1, 1, 3, 3\)"):
        soft_splat(GOOD[0], GOOD[2], GOOD[2])
    with pytest.raises(ShapeError, match=r"'flow' expected shape \(N, 2, H, W\) with N = 2 as of 'input', got \(1, 2"):
        soft_splat(np.zeros((2, 2, 3, 3)), *GOOD[1:])
    with pytest.raises(
        ValueError, match=r"attribute 'mode' expected 'summation' \| 'average' \| 'linear' \| 'softmax', got"
    ):
        soft_splat(*GOOD, mode="mean")
    with pytest.raises(InputValueError, match=r"dy expected shape \(1, 2, 3, 3\) like input, got \(1, 2, 3, 1\)"):
        soft_splat.grad(*GOOD, GOOD[0], GOOD[2], GOOD[2], np.zeros((1, 2, 3, 1)))
    with pytest.raises(ShapeError, match=r"input 'total' expected shape \(N, 1, H, W\), got \(1, 3, 3\)"):
        soft_splat.grad(*GOOD, GOOD[0], GOOD[2], GOOD[2][0], GOOD[0])


def test_the_reference_loses_what_lands_outside_whatever_it_holds():
    input, flow = np.ones((1, 1, 2, 2)), np.zeros((1, 2, 2, 2))
    input[0, 0, 1, 1], flow[0, :, 1, 1] = np.nan, 9
    kernel = soft_splat.opdef.kernels.reference()
    for mode in ("summation", "average"):
        y = launch(soft_splat.opdef, kernel, [input, flow, None], {"mode": mode})[0]
        assert y.tolist() == [[[[1, 1], [1, 0]]]]
