"""Random numbers of `opsdk.vmath`: a function of a key and a counter, of arrays, numbers and inside Numba kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.errors import DefinitionError, MixedRuntimeError
from opsdk.core.philox import drawn
from opsdk.define.frontend import owner_of
from opsdk.expr.node import Node
from opsdk.expr.symbol import Symbol


# Any, in this file: whole numbers and arrays of them, what NumPy takes for a dtype, and what is drawn.
def random_bits(key: Any, i: Any) -> Any:
    """Returns 64 random bits as uint64: the first two words of Philox4x32-10 of a key and counter i.

    Also a key for numbers of another kind: `random_bits(key, number)`, where the key serves nothing else.
    """
    _check("random_bits", key, i)
    return drawn("random_bits", key, i, np.float64, "vmath.random_bits")


def uniform(key: Any, i: Any, dtype: Any = np.float64) -> Any:
    """Returns number i of a key, uniform in [0, 1): the same bits in NumPy, Numba, CUDA and C.

    Keys and counters are whole numbers, which broadcast. Of float32 it is that of float64, rounded down to 24 bits.
    """
    _check("uniform", key, i)
    return drawn("uniform", key, i, dtype, "vmath.uniform")


def normal(key: Any, i: Any, dtype: Any = np.float64) -> Any:
    """Returns number i of a key, normal of mean 0 and variance 1, independent of what is uniform.

    By Box and Muller, with the logarithm and cosine of each language, so that the last bits differ between them.
    """
    _check("normal", key, i)
    return drawn("normal", key, i, dtype, "vmath.normal")


FUNCTIONS = (random_bits, uniform, normal)


def _check(name: str, *operands: Any) -> None:
    """Refuses what has no place of an element, or would be cut off from its gradient and its runtime.

    Raises:
        DefinitionError: an expression asks.
        MixedRuntimeError: an operand is a tensor or a Variable.
    """
    for operand in operands:
        if isinstance(operand, (Symbol, Node)):
            raise DefinitionError(
                f"vmath.{name}: expected a key and a counter that are whole numbers, got a symbol: an expression knows "
                "no place of its element; draw in an op with kernels in Python, Numba or C"
            )
        if owner_of(operand) is not None:
            raise MixedRuntimeError(
                f"vmath.{name}: expected whole numbers or arrays of them, got a {type(operand).__name__}; draw in "
                "an op that takes it, opsdk.op"
            )
