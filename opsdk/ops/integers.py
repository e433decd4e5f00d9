"""Ops on the bits of whole numbers and bools, and on their divisors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.errors import InputValueError
from opsdk.core.written import entry, written
from opsdk.define.decorators import op
from opsdk.define.infer import broadcast
from opsdk.define.op import Op
from opsdk.define.sample import Sample


# Any: a function of NumPy's.
def _whole(function: Any, doc: str, name: str = "", inputs: str = "xy", bools: bool = True) -> Op:
    """Returns the op of a function of NumPy's, which it is called after unless a name is given."""
    name = name or function.__name__
    shifts = name.endswith("_shift")

    def of_one(x: np.ndarray) -> Any:
        return function(x)

    def of_two(x: np.ndarray, y: np.ndarray) -> Any:
        if shifts and y.size and y.min() < 0:
            raise InputValueError(f"op 'opsdk::{name}': y expected numbers of bits ≥ 0, got {y.min()}")
        return function(x, y)

    types = {**dict.fromkeys(inputs, "np.ndarray"), "return": "np.ndarray"}
    function_of = of_one if len(inputs) == 1 else of_two
    made = written(function_of, name, types, module=__name__, doc=doc, origin=entry())
    kind = "Tensor<int|bool>" if bools else "Tensor<int>"
    schema = f"opsdk::{name}({', '.join(f'{kind} {each}' for each in inputs)}) -> {kind} out"
    return op(schema, infer=broadcast)(made)


bitwise_and = _whole(np.bitwise_and, "The bits that x and y both have.")
bitwise_or = _whole(np.bitwise_or, "The bits that x or y has.")
bitwise_xor = _whole(np.bitwise_xor, "The bits that one of x and y has, and not both.")
bitwise_not = _whole(np.bitwise_not, "The bits that x has not; of bools the opposite.", "bitwise_not", "x")
bitwise_left_shift = _whole(
    np.left_shift, "x with its bits moved up by y; those that leave are lost.", "bitwise_left_shift", bools=False
)
bitwise_right_shift = _whole(
    np.right_shift, "x with its bits moved down by y; the sign stays.", "bitwise_right_shift", bools=False
)
gcd = _whole(np.gcd, "The greatest common divisor of |x| and |y|.", bools=False)
lcm = _whole(np.lcm, "The least common multiple of |x| and |y|.", bools=False)


def _samples(rng: np.random.Generator) -> Iterator[Sample]:
    x = rng.integers(0, 100, (3, 4))
    yield Sample(x, rng.integers(0, 7, (3, 4)), reason="matrices")
    yield Sample(x.astype(np.int8), np.array([0, 1, 2, 3], np.int8), reason="broadcast, int8")
    yield Sample(-x, np.array(2), reason="negative numbers")
    yield Sample(np.zeros((0, 4), np.int64), np.ones(4, np.int64), reason="empty")


for _each in (bitwise_and, bitwise_or, bitwise_xor, bitwise_left_shift, bitwise_right_shift, gcd, lcm):
    _each.samples(_samples)


@bitwise_not.samples
def _of_one(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.integers(-100, 100, (3, 4)), reason="whole numbers")
    yield Sample(np.array([True, False]), reason="bools")
    yield Sample(np.zeros((0, 4), np.int64), reason="empty")


__all__ = [name for name, value in vars().items() if isinstance(value, Op) and name[0] != "_"]
