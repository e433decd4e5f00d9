"""What windows over images are told, in Paddle's many forms, as numbers for each axis: sizes, padding, layout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError
from opsdk.core.spec import OpenSize

# By number of axes: channels first, channels last.
FORMATS = {1: ("NCL", "NLC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}

# Any, in this file: tensors, variables or arrays, and the same out; numbers, in every form that Paddle takes them.
Numbers = Sequence[int]


def sizes_of(given: Any, axes: int, subject: str, least: int = 1) -> list[int]:
    """Returns one number for each axis, of one for all or of as many.

    Raises:
        AttributeValueError: these are no whole numbers, too few, too many or too small.
    """
    listed = list(given) if isinstance(given, (list, tuple, np.ndarray)) else [given]
    listed = listed * axes if len(listed) == 1 else listed
    if len(listed) != axes or not all(_is_whole(each) and each >= least for each in listed):
        raise AttributeValueError(f"{subject} expected a whole number ≥ {least}, or {axes} of them, got {given!r}")
    return [int(each) for each in listed]


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def is_last(data_format: Any, axes: int, subject: str) -> bool:
    """Whether a layout has the channels last.

    Raises:
        AttributeValueError: it is none of so many axes.
    """
    if data_format not in FORMATS[axes]:
        wanted = " or ".join(FORMATS[axes])
        raise AttributeValueError(f"{subject}: data_format expected {wanted}, got {data_format!r}")
    return bool(data_format == FORMATS[axes][1])


def pads_of(
    padding: Any, x: Any, kernel: Numbers, stride: Numbers, dilation: Numbers, last: bool, who: str
) -> list[int]:
    """Returns two numbers for each axis, zeros before and after, of every form that Paddle takes.

    Args:
        padding: a number; one for each axis, or two; a pair for each axis, or for each of x, with batch and channels;
            "VALID" for none, "SAME" for so many that there is an output for each stride.
        x: what is padded.
        kernel: for each axis.
        stride: likewise.
        dilation: likewise.
        last: whether the channels of x lie last.
        who: whose padding it is, for messages.

    Raises:
        AttributeValueError: it is none of these, or below 0.
        ProgramError: "SAME", with a stride, of a size that only a run can tell.
    """
    axes = len(kernel)
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise AttributeValueError(f"{who}: padding expected numbers, 'SAME' or 'VALID', got {padding!r}")
        sizes = x.shape[1 : 1 + axes] if last else x.shape[2 : 2 + axes]
        each = zip(sizes, kernel, stride, dilation, strict=True)
        return [part for one in each for part in _same(*one)] if padding.upper() == "SAME" else [0] * 2 * axes
    listed = list(padding) if isinstance(padding, (list, tuple, np.ndarray)) else [padding] * axes
    if listed and all(isinstance(each, (list, tuple)) and len(each) == 2 for each in listed):
        around = listed[:1] + (listed[-1:] if last else listed[1:2]) if len(listed) == axes + 2 else []
        inner = listed[1:-1] if last else listed[2:]
        pairs = listed if len(listed) == axes else inner if len(listed) == axes + 2 else []
        flat = [] if any(map(any, around)) else [part for pair in pairs for part in pair]
    else:
        flat = [part for part in listed for _ in range(2)] if len(listed) == axes else listed
    if len(flat) != 2 * axes or not all(_is_whole(part) and part >= 0 for part in flat):
        raise AttributeValueError(
            f"{who}: padding expected a number ≥ 0, {axes} or {2 * axes} of them, a pair for each axis with (0, 0) for "
            f"batch and channels, 'SAME' or 'VALID', got {padding!r}"
        )
    return [int(part) for part in flat]


def _same(size: Any, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    reach = dilation * (kernel - 1) + 1
    if stride > 1 and isinstance(size, OpenSize):
        raise size.unknown("a number for padding='SAME' with a stride")
    missing = reach - 1 if stride == 1 else max((-(-size // stride) - 1) * stride + reach - size, 0)
    return missing // 2, missing - missing // 2
