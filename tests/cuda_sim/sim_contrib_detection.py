"""The CUDA kernels of contrib_ops/detection on the simulated device."""

import numpy as np
import pytest

import opsdk
from contrib_ops import roi_align
from opsdk.core.errors import InputValueError
from opsdk.verify.kernels.launch import launch

BOXES = np.array([[0, 0.3, 0.7, 3.1, 2.2], [1, 1.5, 2.25, 3.4, 2.9], [1, -3.2, -2.1, 2.3, 1.4], [0, 2, 2, 2, 2]])


@pytest.mark.parametrize(
    "settings",
    [
        {"output_size": [2, 3]},
        {"output_size": 2, "aligned": True},
        {"output_size": [2, 1], "sampling_ratio": 2, "spatial_scale": 0.7},
    ],
    ids=str,
)
def test_roi_align_gives_what_the_reference_gives_both_ways(settings, on_device, rng):
    images = rng.normal(size=(2, 2, 4, 5))
    (wanted,) = launch(roi_align.opdef, roi_align.opdef.kernels.reference(), [images, BOXES], settings)
    x = on_device(images, stop_gradient=False)
    y = roi_align(x, on_device(BOXES), **settings)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-12, atol=1e-14)
    dy = rng.normal(size=wanted.shape)
    y.backward(on_device(dy))
    gradient = roi_align.grad.opdef
    settings = {**settings, "input_spec": opsdk.TensorSpec(images.shape, images.dtype)}
    (dwanted,) = launch(gradient, gradient.kernels.reference(), [BOXES, dy], settings)
    np.testing.assert_allclose(x.grad.numpy(), dwanted, rtol=1e-12, atol=1e-14)


def test_boxes_of_no_image_are_refused_before_the_kernel_runs(on_device):
    with pytest.raises(InputValueError, match=r"boxes expected images among 0 to 0 in column 0, got 1\.0 in box 1"):
        roi_align(on_device(np.ones((1, 1, 4, 5))), on_device(BOXES[:2]), 2)
