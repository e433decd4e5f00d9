"""ScalarFunction: what an elementwise op computes on one element, as an expression for each kind of call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.core.bounded import Bounded
from opsdk.core.dtype import computed_in
from opsdk.define.infer import InferRule
from opsdk.define.opdef import Source
from opsdk.expr.derivative import reverse
from opsdk.expr.evaluate import evaluate
from opsdk.expr.node import Node
from opsdk.expr.row import FULL
from opsdk.expr.trace import Expression

# What decides which expression a call has: attributes that are no numbers, by name (Any: their values).
Static = tuple[tuple[str, Any], ...]

MOST_COMBINATIONS = 256  # of such values whose expression, or whose code, one op keeps


class ScalarFunction:
    """A scalar function of inputs and attributes, read as an expression when a kind of call is first met.

    Float and int attributes are symbols. Attributes of other types, None included, are plain values while the
    expression is read, so that a function may test them with `if`; each such combination has its own expression.

    Args:
        name: the op's name, for generated code.
        inputs: names of the inputs, in order.
        attrs: names of the attributes.
        make: returns the expression for the values of the static attributes.
        keeps_integers: tells whether whole numbers give whole numbers; else they are computed with as float64.
    """

    broadcasts = True  # inputs of different shapes are broadcast

    hands_on = True  # whether a gradient that is the cotangent is of its shape, so that the cotangent itself will do

    def __init__(
        self,
        name: str,
        inputs: Sequence[str],
        attrs: Sequence[str],
        make: Callable[[Static], Expression],
        keeps_integers: Callable[[], bool] = lambda: False,
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.attrs = tuple(attrs)
        self.keeps_integers = keeps_integers
        self._make = make
        self._known: Bounded[Static, Expression] = Bounded(MOST_COMBINATIONS)

    def expression(self, static: Static) -> Expression:
        """Returns the expression for a combination of static attributes."""
        found = self._known.get(static)
        if found is None:
            found = self._known[static] = self._make(static)
        return found

    def reverse(
        self, outputs: Sequence[Node], cotangents: Sequence[Node], wrt: Sequence[Node], positions: Sequence[int]
    ) -> list[Node]:
        """Returns the gradient expressions of Σ output · cotangent with respect to inputs.

        Args:
            outputs: results of the function.
            cotangents: what enters each.
            wrt: the inputs.
            positions: of the outputs among all results.
        """
        return reverse(outputs, cotangents, wrt)

    def gradient(
        self,
        name: str,
        inputs: Sequence[str],
        attrs: Sequence[str],
        make: Callable[[Static], Expression],
        sources: Sequence[Source],
        wrt: Sequence[int],
    ) -> ScalarFunction:
        """Returns the function of the gradient op: what it reads is given by `sources`, what it gives by `wrt`."""
        return ScalarFunction(name, inputs, attrs, make)

    def infer_rule(self) -> InferRule | None:
        """Returns the rule of a gradient op that this is the function of; None leaves it to the runtimes."""
        return None

    def anchored(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """Returns what a gradient op reads, with what it needs besides to know the shape of its results."""
        return tuple(sources)

    def role(self, source: Source) -> str:
        """Returns what an input, output or cotangent is beside the row that it belongs to; here there is no row."""
        return FULL

    # Any: arrays and attribute values.
    def __call__(self, *arrays: Any, **attrs: Any) -> Any:
        """Evaluates with NumPy, step by step in the dtype of the arrays: the reference of an elementwise op.

        float16 and bfloat16 are how numbers are stored; they are computed with in float32.
        """
        expression = self.expression(static_of(attrs))
        dtype = np.result_type(*[array.dtype for array in arrays])
        if dtype.kind in "biu" and not self.keeps_integers():
            dtype = np.dtype("float64")
        wide = computed_in(dtype)
        given = [array.astype(wide, copy=False) for array in arrays]
        values = {**dict(zip(self.inputs, given, strict=True)), **attrs}
        shape = arrays[0].shape
        if any(array.shape != shape for array in arrays):
            shape = np.broadcast_shapes(*[array.shape for array in arrays])
        made: list[Any] = []
        with np.errstate(all="ignore"):  # inf and nan are values of the function, not accidents
            results = iter(evaluate(expression.wanted, values, np, wide))
            for node in expression.outputs:
                made.append(None if node is None else _whole(next(results), shape, dtype, [*arrays, *made]))
        return made[0] if len(made) == 1 else tuple(made)


def static_of(attrs: Mapping[str, Any]) -> Static:
    """Returns what of the attributes decides the expression."""
    return tuple([(name, value) for name, value in attrs.items() if not _is_number(value)])


def _is_number(value: Any) -> bool:
    return value.__class__ is float or value.__class__ is int


def _whole(result: Any, shape: tuple[int, ...], dtype: np.dtype[Any], arrays: Sequence[Any]) -> np.ndarray:
    """Returns a result as a new array of the full shape; a constant, or what ignores an input, has a smaller one."""
    array = np.asarray(result, dtype, like=arrays[0])
    if array.shape != shape or any(array is given for given in arrays):
        return np.broadcast_to(array, shape).copy()
    return array
