"""Tests of opsdk.nn.windows."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, ProgramError
from opsdk.nn.windows import is_last, pads_of, sizes_of

X = np.zeros((1, 1, 7, 6))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (1, [1, 1, 1, 1]),
        ([1, 2], [1, 1, 2, 2]),
        ((1, 2, 3, 4), [1, 2, 3, 4]),
        ([[0, 0], [0, 0], [1, 2], [3, 4]], [1, 2, 3, 4]),
        ([(1, 2), (3, 4)], [1, 2, 3, 4]),
        ("valid", [0, 0, 0, 0]),
        ("SAME", [1, 1, 0, 1]),  # of 7 by strides of 2 four outputs, of 6 three
    ],
)
def test_padding_in_all_of_paddles_forms(given, expected):
    assert pads_of(given, X, (3, 3), (2, 2), (1, 1), False, "conv2d") == expected


def test_padding_pairs_follow_the_layout():
    pairs = [[0, 0], [1, 2], [3, 4], [0, 0]]
    assert pads_of(pairs, X, (3, 3), (1, 1), (1, 1), True, "conv2d") == [1, 2, 3, 4]


def test_same_takes_the_dilation_into_account():
    assert pads_of("SAME", X, (3, 2), (1, 1), (2, 3), False, "conv2d") == [2, 2, 1, 2]


@pytest.mark.parametrize("given", [[1, 2, 3], -1, 1.5, True, [[1, 1], [0, 0], [0, 0], [0, 0]], [[1], [2]], None])
def test_other_padding_is_refused(given):
    with pytest.raises(
        AttributeValueError, match=r"conv2d: padding expected a number ≥ 0, 2 or 4 of them, a pair for each"
    ):
        pads_of(given, X, (3, 3), (1, 1), (1, 1), False, "conv2d")


def test_other_words_numbers_and_layouts_are_refused():
    with pytest.raises(AttributeValueError, match="padding expected numbers, 'SAME' or 'VALID', got 'full'"):
        pads_of("full", X, (3, 3), (1, 1), (1, 1), False, "conv2d")
    with pytest.raises(AttributeValueError, match=r"stride expected a whole number ≥ 1, or 2 of them, got \[1, 0\]"):
        sizes_of([1, 0], 2, "conv2d: stride")
    with pytest.raises(AttributeValueError, match="data_format expected NCHW or NHWC, got 'NCL'"):
        is_last("NCL", 2, "conv2d")


def test_same_with_a_stride_wants_a_size():
    with opsdk.static.program_guard(opsdk.static.Program(), opsdk.static.Program()):
        x = opsdk.static.data("x", [2, 1, None, 6], "float32")
        assert pads_of("SAME", x, (3, 3), (1, 1), (1, 1), False, "conv2d") == [1, 1, 1, 1]
        with pytest.raises(ProgramError, match="a number for padding='SAME' with a stride"):
            pads_of("SAME", x, (3, 3), (2, 2), (1, 1), False, "conv2d")
