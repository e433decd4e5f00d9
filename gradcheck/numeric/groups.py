"""Elements that can be moved at once because no output depends on two of them."""

from __future__ import annotations

import numpy as np

from gradcheck.model.domain import Room
from gradcheck.model.dtypes import IntArray, is_complex
from gradcheck.model.evaluation import Point
from gradcheck.numeric.ladder import FIRST_EXPONENT


def owners(point: Point, k: int) -> IntArray | None:
    """Gives, for each output element, the element of input `k` at the same place after broadcasting.

    Returns:
        Flat indices of shape (outputs,), or None when the input does not broadcast to every floating output.
    """
    target = point.inputs[k]
    assert isinstance(target, np.ndarray)
    shape = point.values(k).shape
    numbers = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    parts = []
    for output, floating in zip(point.outputs, point.floating, strict=True):
        if not floating:
            continue
        pairs = is_complex(output.dtype)
        if is_complex(target.dtype) and not pairs:
            return None
        own = numbers[..., None] if pairs and not is_complex(target.dtype) else numbers
        try:
            parts.append(np.broadcast_to(own, (*output.shape, 2) if pairs else output.shape).ravel())
        except ValueError:
            return None
    return np.concatenate(parts) if parts else None


def is_elementwise(point: Point, k: int, owner: IntArray, room: Room) -> bool:
    """Says whether every output depends on its owner only, near this point.

    For each binary digit of the element numbers, the elements with that digit 0 move, then those with digit 1; no
    output owned by an element at rest may change by a single bit. Any two elements differ in some digit, so a
    dependence on a wrong element shows in one of the 2 log2(n) calls.
    """
    values = point.values(k)
    if values.size < 2:
        return True
    numbers = np.arange(values.size, dtype=np.int64).reshape(values.shape)
    step = 2.0**FIRST_EXPONENT * room.scale * np.where(room.up > 0, 1.0, -1.0) * np.where(room.up + room.down > 0, 1, 0)
    moved = values + step
    lost = np.isnan(point.center)
    for digit in range(int(values.size - 1).bit_length()):
        has_digit, owner_has = (numbers >> digit) & 1 == 1, (owner >> digit) & 1 == 1
        for moves, may_change in ((~has_digit, ~owner_has), (has_digit, owner_has)):
            outputs = point.forward_at(k, np.where(moves, moved, values))
            same = (outputs == point.center) | (np.isnan(outputs) & lost)
            if not (same | may_change).all():
                return False
    return True
