"""Tests of opsdk.ops.nets.conv_transpose; gradients and runtimes are swept in tests/parity."""

import numpy as np
import pytest

from opsdk.core.errors import ShapeError
from opsdk.ops.nets.conv_transpose import conv_transpose


def test_each_element_is_added_times_the_weight(rng):
    x, weight = rng.normal(size=(1, 4, 2, 3)), rng.normal(size=(4, 3, 2, 2))
    expected = np.zeros((1, 6, 7, 9))  # before anything is cut off
    for c, i, j, o, k, m in np.ndindex(4, 2, 3, 3, 2, 2):
        expected[0, c // 2 * 3 + o, 2 * i + k, 3 * j + 2 * m] += x[0, c, i, j] * weight[c, o, k, m]
    made = conv_transpose(x, weight, stride=[2, 3], padding=[1, -3, 0, 0], dilation=[1, 2], groups=2)
    np.testing.assert_allclose(made, expected[:, :, 1:], atol=1e-12)  # rows 4 to 6 are zeros that were put there


@pytest.mark.parametrize(
    ("weight", "attrs", "text"),
    [
        ((3, 1, 2, 2), {}, r"weight expected shape \(2, O / groups, \*kernel\), where groups=1 divides C, got"),
        ((2, 1, 2, 2), {"groups": 4}, "where groups=4 divides C, got"),
        (
            (2, 1, 2, 2),
            {"padding": [2, 2, 0, 0]},
            r"padding expected to leave something, got \[2, 2, 0, 0\], which leaves",
        ),
    ],
)
def test_what_does_not_fit_is_refused_by_name(weight, attrs, text):
    plain = {"stride": [1, 1], "padding": [0] * 4, "dilation": [1, 1]}
    with pytest.raises(ShapeError, match=text):
        conv_transpose(np.zeros((1, 2, 2, 2)), np.zeros(weight), **{**plain, **attrs})
