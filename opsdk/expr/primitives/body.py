"""Body: what a primitive is as an expression of other primitives.

It stays one operation in the expressions that use it, with a derivative and an accuracy of its own. Its value on the
arrays of any module, its code in every language, and a second opinion about its derivative are made of the body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from opsdk.expr.evaluate import evaluate
from opsdk.expr.node import Node
from opsdk.expr.primitives.halves import rounded_once
from opsdk.expr.trace import Expression, trace


class Body:
    """An expression, read from a function of symbols when it is first needed.

    Args:
        function: gives the function, which takes one scalar per operand.
        operands: their names.
        subject: the primitive, for messages.
    """

    def __init__(self, function: Callable[[], Callable[..., Any]], operands: Sequence[str], subject: str) -> None:
        self._function = function
        self._operands = tuple(operands)
        self._subject = subject

    @cached_property
    def expression(self) -> Expression:
        """What is computed.

        Raises:
            TraceError: the function tests, converts or indexes a symbol, or returns no expression.
        """
        return trace(self._function(), self._operands, (), self._subject)

    @property
    def root(self) -> Node:
        """The node of the value."""
        return self.expression.wanted[0]

    # Any, in both: an array module and its arrays, or numbers.
    def __call__(self, xp: Any, *values: Any) -> Any:
        """Returns the value on arrays of any module, computed in their dtype; of 16 bits in float32, rounded once."""
        return rounded_once(self._value, xp, *values)

    def _value(self, xp: Any, *values: Any) -> Any:
        dtypes = [value.dtype for value in values if hasattr(value, "dtype")]
        dtype = np.result_type(*dtypes) if dtypes and xp is np else dtypes[0] if dtypes else None
        return evaluate([self.root], dict(zip(self._operands, values, strict=True)), xp, dtype)[0]
