"""ScalarFunction: what an elementwise op computes on one element, as an expression for each kind of call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from opsdk.core.as_written import as_key, of_key
from opsdk.core.bounded import Bounded
from opsdk.core.dtype import as_floating, as_native, computed_in, promote_types
from opsdk.core.errors import DTypeError, GradientMissingError
from opsdk.define.infer import InferRule
from opsdk.define.opdef import OpDef, Source
from opsdk.define.schema.schema import OpSchema
from opsdk.expr.evaluate import evaluate, evaluate_whole, is_number
from opsdk.expr.exact import check_constants, check_inputs, check_whole
from opsdk.expr.gradient.derivative import reverse
from opsdk.expr.node import Node, topological
from opsdk.expr.primitives.entry import REAL_ONLY, VALUED
from opsdk.expr.row.row import FULL, ROW_PRIMITIVES
from opsdk.expr.trace import Expression

# What decides which expression a call has: attributes that are no numbers, by name (Any: their values).
Static = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Conjugation:
    """Which complex numbers a gradient conjugates on their way into its expression, and out of it.

    A gradient is computed by the formula for real numbers, c ↦ c · f′, which of complex ones is the conjugate of the
    gradient for the conjugate of the cotangent. That holds at every order: who reads what was conjugated undoes it.

    Args:
        forward: the function that this is a gradient of, of any order; None for a function of its own.
        inputs: positions of the inputs that are conjugated.
        outputs: those of the outputs.
    """

    forward: ScalarFunction | None = None
    inputs: frozenset[int] = frozenset()
    outputs: frozenset[int] = frozenset()

    def of_gradient(self, forward: ScalarFunction, sources: Sequence[Source], wrt: Sequence[int]) -> Conjugation:
        """Returns what the gradient conjugates of a function that conjugates this."""
        flipped = set()
        for i, source in enumerate(sources):
            is_flipped = source.position in (self.inputs if source.kind == "input" else self.outputs)
            if is_flipped is not (source.kind == "cotangent"):
                flipped.add(i)
        outputs = frozenset(i for i, position in enumerate(wrt) if position not in self.inputs)
        return Conjugation(self.forward or forward, frozenset(flipped), outputs)

    # Any: arrays, and None for an output that nobody wants.
    def of_inputs(self, arrays: Sequence[Any]) -> list[Any]:
        """Returns the inputs of the expression."""
        return [array.conj() if i in self.inputs else array for i, array in enumerate(arrays)]

    def of_outputs(self, made: Sequence[Any]) -> list[Any]:
        """Returns the results of the function."""
        return [a.conj() if i in self.outputs and a is not None else a for i, a in enumerate(made)]


MOST_COMBINATIONS = 256  # of such values whose expression, or whose code, one op keeps
_SWEEPS = 4  # that one op keeps: of all of its cotangents, of those that have arrived, of a call without some results


class ScalarFunction:
    """A scalar function of inputs and attributes, read as an expression when a kind of call is first met.

    Float and int attributes are symbols. Attributes of other types, None included, are plain values while the
    expression is read, so that a function may test them with `if`; each such combination has its own expression.

    Args:
        name: the op's name, for generated code.
        inputs: names of the inputs, in order.
        attrs: names of the attributes.
        make: returns the expression for the values of the static attributes.
    """

    kernel_form = "elements"  # what kernels of it are made from, by which their language is found

    hands_on = True  # whether a gradient that is the cotangent is of its shape, so that the cotangent itself will do

    def __init__(
        self,
        name: str,
        inputs: Sequence[str],
        attrs: Sequence[str],
        make: Callable[[Static], Expression],
    ) -> None:
        self.name = name
        self.inputs = tuple(inputs)
        self.attrs = tuple(attrs)
        self.conjugation = Conjugation()
        self._make = make
        self._known: Bounded[Static, Expression] = Bounded(MOST_COMBINATIONS)
        self._reversed: Bounded[tuple[Node, ...], dict[str, Node]] = Bounded(_SWEEPS)

    def expression(self, static: Static) -> Expression:
        """Returns the expression for a combination of static attributes."""
        found = self._known.get(static)
        if found is None:
            found = self._known[static] = self._make(static)
        return found

    def reverse(self, outputs: Sequence[Node], cotangents: Sequence[Node], positions: Sequence[int]) -> dict[str, Node]:
        """Returns the gradient expressions of Σ output · cotangent with respect to every input, by its name.

        The next order asks for what this one has asked for, so the last ones are kept.

        Args:
            outputs: results of the function.
            cotangents: what enters each.
            positions: of the outputs among all results.
        """
        key = (*outputs, *cotangents)
        found = self._reversed.get(key)
        if found is None:
            inputs = [Node("input", (), name) for name in self.inputs]
            made = reverse(outputs, cotangents, inputs, self._roles_beside(cotangents, positions))
            found = self._reversed[key] = dict(zip(self.inputs, made, strict=True))
        return found

    def _roles_beside(self, cotangents: Sequence[Node], positions: Sequence[int]) -> dict[str, str] | None:
        """Returns the roles of inputs and cotangents, by name; here there are none."""
        return None

    def gradient(
        self, schema: OpSchema, make: Callable[[Static], Expression], sources: Sequence[Source], wrt: Sequence[int]
    ) -> ScalarFunction:
        """Returns the function of the gradient op: what it reads is given by `sources`, what it gives by `wrt`."""
        made = ScalarFunction(schema.name, schema.input_names, schema.attr_names, make)
        made.conjugation = self.conjugation.of_gradient(self, sources, wrt)
        return made

    def giving(self, nodes: Sequence[Node], static: Static) -> ScalarFunction:
        """Returns the function of the values of some nodes of an expression, each of the full shape."""
        made = replace(self.expression(static), outputs=tuple(nodes), written=())
        return ScalarFunction(self.name, self.inputs, self.attrs, lambda _: made)

    def no_complex_derivative(self, static: Static) -> str | None:
        """Returns the operation that has no complex derivative; None where the derived gradient serves complex numbers.

        What was derived of a holomorphic function is one, though it may choose where that does not.
        """
        first = self.conjugation.forward
        if first is None:
            return without_derivative(self.expression(static).wanted)
        own = tuple((name, value) for name, value in static if name in first.attrs)
        return first.no_complex_derivative(own)

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
    def conjugated(self, arrays: Sequence[Any], attrs: Mapping[str, Any]) -> list[Any]:
        """Returns complex inputs as the expression takes them, which is that of real numbers.

        Raises:
            DTypeError: the expression has no value there.
            GradientMissingError: the function that this is a gradient of has no derivative there.
        """
        static = static_of(attrs)
        missing = without_meaning(self.expression(static).wanted)
        if missing is not None:
            raise DTypeError(
                f"op {self.name!r}: expected real numbers, since there is no {missing} of complex ones, "
                f"got {promote_types(*[array.dtype for array in arrays])}; take the real part or the absolute value"
            )
        missing = None if self.conjugation.forward is None else self.no_complex_derivative(static)
        if missing is not None:
            raise GradientMissingError(
                f"op {self.name!r}: expected real numbers, since {missing} has no complex derivative, "
                f"got {promote_types(*[array.dtype for array in arrays])}; give the op a complex_backward"
            )
        return self.conjugation.of_inputs(arrays)

    # Any: arrays and attribute values.
    def __call__(self, /, *arrays: Any, **attrs: Any) -> Any:
        """Evaluates with NumPy, step by step in the dtype of the arrays: the reference of an elementwise op.

        float16 and bfloat16 are how numbers are stored; they are computed with in float32.
        """
        expression = self.expression(static_of(attrs))
        dtype = promote_types(*[array.dtype for array in arrays])
        if expression.written and all(array.dtype.kind in "biu" for array in arrays):
            return self._of_whole(expression.written, arrays, attrs)
        dtype = as_floating(dtype)
        wide = computed_in(dtype)
        check_whole(expression.attrs, [attrs[name] for name in expression.attrs], wide)
        check_constants(expression.wanted, wide, f"op {self.name!r}")
        check_inputs(self.inputs, arrays, wide, f"op {self.name!r}")
        given = [array.astype(wide, copy=False) for array in arrays]
        if dtype.kind == "c":
            given = self.conjugated(given, attrs)
        values = {**dict(zip(self.inputs, given, strict=True)), **attrs}
        shape = _shape_of(arrays)
        made: list[Any] = []
        with np.errstate(all="ignore"):  # inf and nan are values of the function, not accidents
            results = iter(evaluate(expression.wanted, values, np, wide))
            for node in expression.outputs:
                made.append(None if node is None else _whole(next(results), shape, dtype, [*arrays, *made]))
        if dtype.kind == "c":
            made = self.conjugation.of_outputs(made)
        return made[0] if len(made) == 1 else tuple(made)

    # Any: arrays and attribute values.
    def _of_whole(self, written: Sequence[Node], arrays: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        """Evaluates for integers and bools, as NumPy runs the function that was written."""
        given = [as_native(array) for array in arrays]
        shape = _shape_of(arrays)
        made: list[Any] = []
        for result in evaluate_whole(written, dict(zip(self.inputs, given, strict=True)), attrs, f"op {self.name!r}"):
            made.append(_whole(result, shape, result.dtype, [*arrays, *made]))
        return made[0] if len(made) == 1 else tuple(made)

    # Any: attribute values.
    def whole_dtypes(self, dtypes: Sequence[np.dtype[Any]], attrs: Mapping[str, Any]) -> Sequence[np.dtype[Any]]:
        """Returns the dtypes of the results where all inputs are integers or bools."""
        written = self.expression(static_of(attrs)).written
        empty = {n: np.empty(0, dtype.newbyteorder("=")) for n, dtype in zip(self.inputs, dtypes, strict=True)}
        return [made.dtype for made in evaluate_whole(written, empty, attrs, f"op {self.name!r}")]


def _shape_of(arrays: Sequence[Any]) -> tuple[int, ...]:
    shape: tuple[int, ...] = arrays[0].shape
    if any(array.shape != shape for array in arrays):
        return np.broadcast_shapes(*[array.shape for array in arrays])
    return shape


def static_of(attrs: Mapping[str, Any]) -> Static:
    """Returns what of the attributes decides the expression."""
    return tuple([(name, as_key(value)) for name, value in attrs.items() if not is_number(value)])


# Any: attribute values.
def values_of(static: Static) -> dict[str, Any]:
    """Returns the values of static attributes, by name, as the function of an op is given them."""
    return {name: of_key(value) for name, value in static}


def _whole(result: Any, shape: tuple[int, ...], dtype: np.dtype[Any], arrays: Sequence[Any]) -> np.ndarray:
    """Returns a result as a new array of the full shape; a constant, or what ignores an input, has a smaller one."""
    array = np.asarray(result, dtype, like=arrays[0])
    if array.shape != shape or any(array is given for given in arrays):
        return np.broadcast_to(array, shape).copy()
    return array


def scalar_of(opdef: OpDef) -> ScalarFunction | None:
    """Returns what an op computes as an expression; None for an op of other code."""
    return next((row.source for row in opdef.kernels if isinstance(row.source, ScalarFunction)), None)


# A gradient that was derived for real numbers serves complex ones where the expression is holomorphic. For a real loss
# L and z = a + ib it is ∂L/∂a + i ∂L/∂b, so that of f is dy · conj(f′(z)), which `Conjugation` makes of the real one.


def without_derivative(outputs: Sequence[Node]) -> str | None:
    """Returns the first operation that is not holomorphic in the inputs below it; None where the expressions are."""
    return _first(tuple(outputs), (VALUED, REAL_ONLY))


def without_meaning(outputs: Sequence[Node]) -> str | None:
    """Returns the first operation that complex numbers do not have; None where the expressions have a value."""
    return _first(tuple(outputs), (REAL_ONLY,))


@lru_cache(maxsize=1024)
def _first(outputs: tuple[Node, ...], kinds: tuple[str, ...]) -> str | None:
    depends: set[Node] = set()  # what is computed of attributes and constants alone is real
    for node in topological(outputs):
        if node.op == "input" or any(arg in depends for arg in node.args):
            depends.add(node)
            if node.op != "input" and ROW_PRIMITIVES[node.op].complex in kinds:
                return node.op
    return None
