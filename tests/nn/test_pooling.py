"""Tests of opsdk.nn.pooling."""

import numpy as np
import pytest

import opsdk
import opsdk.nn.functional as F
from opsdk.core.errors import AttributeValueError, ProgramError, ShapeError

X = np.arange(16.0, dtype=np.float32).reshape(1, 1, 4, 4)


def test_a_mask_is_the_place_of_each_element():
    out, mask = F.max_pool2d(X, 3, 2, padding="SAME", return_mask=True)  # Paddle pads only without the mask
    assert out.tolist() == [[[[10, 11], [14, 15]]]]
    assert (mask.tolist(), mask.dtype) == ([[[[10, 11], [14, 15]]]], np.int32)
    out, mask = F.adaptive_max_pool2d(X, 2, return_mask=True)
    assert mask.tolist() == out.tolist() == [[[[5, 7], [13, 15]]]]


def test_a_stride_is_the_kernel_unless_given():
    assert F.max_pool1d(X[0], 2).tolist() == [[[1, 3], [5, 7], [9, 11], [13, 15]]]
    assert F.avg_pool3d(X[None], [1, 2, 4]).tolist() == [[[[[3.5], [11.5]]]]]


def test_means_are_of_elements_unless_padding_counts():
    np.testing.assert_allclose(F.avg_pool2d(X, 3, 2, 1)[0, 0], [[2.5, 4], [8.5, 10]])
    np.testing.assert_allclose(F.avg_pool2d(X, 2, divisor_override=3)[0, 0], [[10 / 3, 6], [14, 50 / 3]])
    lines = F.avg_pool1d(X[0, :, :1], 2, 1, 1, False)  # in Paddle `exclusive` comes before `ceil_mode` here
    np.testing.assert_allclose(lines, [[[0, 0.5, 1.5, 2.5, 1.5]]])


def test_windows_share_axes_out_in_both_layouts():
    assert F.adaptive_avg_pool2d(X, [None, 2]).tolist() == [[[[4 * i + 0.5, 4 * i + 2.5] for i in range(4)]]]
    last = F.adaptive_avg_pool2d(np.moveaxis(X, 1, -1), 1, data_format="NHWC")
    assert last.tolist() == [[[[7.5]]]]
    assert F.adaptive_avg_pool1d(X[0], 4).tolist() == X[0].tolist()


def test_a_gradient_goes_to_the_greatest_elements():
    x = opsdk.to_tensor(X, stop_gradient=False)
    F.max_pool2d(x, 3, 1).sum().backward()
    assert x.grad[0, 0].tolist() == [[0] * 4, [0] * 4, [0, 0, 1, 1], [0, 0, 1, 1]]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: F.max_pool2d(X[0], 2), ShapeError, r"max_pool2d: x expected shape \(N, C, H, W\), got \(1, 4, 4\)"),
        (
            lambda: F.max_pool2d(X, [2, 2, 2]),
            AttributeValueError,
            "kernel_size expected a whole number ≥ 1, or 2 of them",
        ),
        (lambda: F.max_pool2d(X, 2, padding=2), ShapeError, "kernel expected an element of x in every window"),
        (
            lambda: F.avg_pool2d(X, 2, divisor_override=0),
            AttributeValueError,
            "divisor_override expected a number other than 0",
        ),
        (lambda: F.adaptive_avg_pool2d(X, 0), AttributeValueError, "output_size expected a whole number ≥ 1"),
        (lambda: F.avg_pool2d(X, 2, data_format="NCW"), AttributeValueError, "data_format expected NCHW or NHWC"),
    ],
)
def test_misuse_is_refused_by_name(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_an_open_size_has_no_number_of_windows():
    with opsdk.static.program_guard(opsdk.static.Program(), opsdk.static.Program()):
        x = opsdk.static.data("x", [None, 1, None, 4], "float32")
        assert list(F.adaptive_avg_pool2d(x, 1).shape)[1:] == [1, 1, 1]
        with pytest.raises(ProgramError, match="a number for adaptive_avg_pool2d"):
            F.adaptive_avg_pool2d(x, (None, 1))
