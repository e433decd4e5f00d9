"""RowFunction: what a row op computes on one row, as an expression for each kind of call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.core.bounded import Bounded
from opsdk.core.dtype import as_floating, computed_in, promote_types
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.core.sums import total
from opsdk.define.opdef import Source
from opsdk.define.schema.schema import OpSchema
from opsdk.expr.evaluate import evaluate
from opsdk.expr.exact import (
    check_constants,
    check_inputs,
    check_whole,
    may_round,
    most_exact,
    numbers_of,
    rounds_positions,
)
from opsdk.expr.node import Node
from opsdk.expr.row.row import COLUMN, FLAT, FULL, ROW, ROW_PRIMITIVES, elements
from opsdk.expr.row.row_infer import AXIS, RowInfer
from opsdk.expr.row.row_plan import lowered
from opsdk.expr.scalar import MOST_COMBINATIONS, ScalarFunction, Static, static_of
from opsdk.expr.trace import Expression


class RowFunction(ScalarFunction):
    """A function of rows: arrays of one shape, numbers per position, and numbers per row.

    Args:
        name, inputs, attrs, make: as of `ScalarFunction`; `axis` is not among the attributes that the expression sees.
        roles: of the inputs: `full`, of shape (…, n); `column`, (n,); `row`, (…, 1); `flat`, (…).
        results: of the outputs, likewise; a `column` result is summed over all rows.
        subject: the op, as messages name it.
        flat: inputs of one number per row that may come without the row's axis, (…) instead of (…, 1).
    """

    kernel_form = "rows"

    hands_on = False  # what enters a row may be shorter than what leaves it

    def __init__(
        self,
        name: str,
        inputs: Sequence[str],
        attrs: Sequence[str],
        make: Callable[[Static], Expression],
        roles: Sequence[str],
        results: Sequence[str],
        subject: str,
        flat: Sequence[str] = (),
    ) -> None:
        super().__init__(name, inputs, attrs, make)
        self.subject = subject
        self._roots: dict[tuple[Node, ...], tuple[Node, ...]] = {}  # as they are evaluated
        self._numbers: Bounded[tuple[Static, frozenset[str]], frozenset[str]] = Bounded(MOST_COMBINATIONS)
        self._held: Bounded[tuple[Any, ...], bool] = Bounded(MOST_COMBINATIONS)  # kinds whose constants are
        self.roles = tuple(roles)
        self.results = tuple(results)
        self._may_be_flat = tuple(name in flat for name in self.inputs)

    def _roles_beside(self, cotangents: Sequence[Node], positions: Sequence[int]) -> dict[str, str]:
        entering = {node.payload: self.results[at] for node, at in zip(cotangents, positions, strict=True)}
        return {**dict(zip(self.inputs, self.roles, strict=True)), **entering}

    def gradient(
        self, schema: OpSchema, make: Callable[[Static], Expression], sources: Sequence[Source], wrt: Sequence[int]
    ) -> RowFunction:
        """Returns the function of the gradient op."""
        inputs, roles, results = schema.input_names, list(map(self.role, sources)), [self.roles[i] for i in wrt]
        made = RowFunction(schema.name, inputs, schema.attr_names, make, roles, results, self.subject, inputs)
        made.conjugation = self.conjugation.of_gradient(self, sources, wrt)
        return made

    def giving(self, nodes: Sequence[Node], static: Static) -> RowFunction:
        """Returns the function of the values of some nodes of an expression, each of the full shape."""
        made = replace(self.expression(static), outputs=tuple(nodes), written=())
        flat = [name for name, may_be in zip(self.inputs, self._may_be_flat, strict=True) if may_be]
        roles = [FULL] * len(nodes)
        return RowFunction(self.name, self.inputs, self.attrs, lambda _: made, self.roles, roles, self.subject, flat)

    def anchored(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        """Returns what a gradient op reads: always something of the full shape, which tells how long a row is."""
        if FULL in map(self.role, sources):
            return tuple(sources)
        return (Source("input", self.roles.index(FULL)), *sources)

    def role(self, source: Source) -> str:
        """Returns whether an input or output is of the full shape or has one number per position or per row."""
        return (self.roles if source.kind == "input" else self.results)[source.position]

    def infer_rule(self) -> RowInfer:
        """Returns the rule of a gradient op: numbers per row may come in either shape."""
        return RowInfer(self.roles, self.results, self.inputs)

    def dtype(self, dtypes: Sequence[np.dtype[Any]]) -> np.dtype[Any]:
        """Returns the dtype of the results, which numbers per row have no part in."""
        floating = [d for d, role in zip(dtypes, self.roles, strict=True) if role in (FULL, COLUMN)]
        return as_floating(promote_types(*floating))

    def most_positions(self, static: Static, dtypes: Sequence[np.dtype[Any]]) -> int | None:
        """Returns the length up to which rows keep their positions what they are; None where no length rounds them."""
        expression = self.expression(static)
        named = dict(zip(self.inputs, dtypes, strict=True))
        integers = {name for name, dtype in named.items() if dtype.kind in "iu"}
        per_element = elements(expression.wanted, dict(zip(self.inputs, self.roles, strict=True)))
        rounds = rounds_positions(expression.wanted, integers, per_element)
        return most_exact(computed_in(self.dtype(dtypes))) if rounds else None

    def check_numbers(self, arrays: Sequence[Any], static: Static) -> None:
        """Checks that inputs that are whole numbers are held by the dtype that is computed in.

        Those of a row that are only compared with positions, or are ones, stay whole numbers.

        Args:
            arrays: the inputs, of any array module.
            static: what decides the expression.

        Raises:
            InputValueError: one would be rounded.
        """
        dtypes = [array.dtype for array in arrays]
        wide = computed_in(self.dtype(dtypes))
        if any(may_round(dtype, wide) for dtype in dtypes):
            read = self.numbers(static, dtypes)
            at = [i for i, name in enumerate(self.inputs) if name in read]
            check_inputs([self.inputs[i] for i in at], [arrays[i] for i in at], wide, self.subject)

    def check_constants(self, static: Static, dtypes: Sequence[np.dtype[Any]]) -> None:
        """Checks that whole numbers that are written in the expression are held by the dtype that is computed in.

        Raises:
            AttributeValueError: one would be rounded.
        """
        key = (static, *dtypes)
        if key in self._held:
            return
        roots = self.expression(static).wanted
        integers = {name for name, dtype in zip(self.inputs, dtypes, strict=True) if dtype.kind in "iu"}
        per_element = elements(roots, dict(zip(self.inputs, self.roles, strict=True)))
        check_constants(roots, computed_in(self.dtype(dtypes)), self.subject, integers, per_element)
        self._held[key] = True

    def numbers(self, static: Static, dtypes: Sequence[np.dtype[Any]]) -> frozenset[str]:
        """Returns the inputs that are computed with as numbers of the computation."""
        integers = frozenset(n for n, dtype in zip(self.inputs, dtypes, strict=True) if dtype.kind in "iu")
        key = (static, integers)
        found = self._numbers.get(key)
        if found is None:
            roots = self.expression(static).wanted
            per_element = elements(roots, dict(zip(self.inputs, self.roles, strict=True)))
            leaves = numbers_of(roots, integers, per_element)
            found = self._numbers[key] = frozenset(leaf.payload for leaf in leaves if leaf.op == "input")
        return found

    def check_length(self, length: int, static: Static, dtypes: Sequence[np.dtype[Any]]) -> None:
        """Checks that positions in rows of a length are held by the dtype that is computed in.

        Raises:
            ShapeError: they would be rounded.
        """
        if length <= 2**24:  # what every dtype holds that is computed in
            return
        most = self.most_positions(static, dtypes)
        if most is not None and length > most:
            wide = computed_in(self.dtype(dtypes))
            raise ShapeError(
                f"{self.subject}: rows expected at most {most} elements, whose positions {wide.name} holds, got "
                f"{length}; cast the inputs to float64, or compare row_index() with an integer per_row input"
            )

    # Any: arrays and attribute values.
    def __call__(self, /, *arrays: Any, **attrs: Any) -> Any:
        """Evaluates with NumPy, step by step in the dtype of the arrays: the reference of a row op.

        float16 and bfloat16 are how numbers are stored; they are computed with in float32.
        """
        axis = attrs.pop(AXIS, -1)
        static = static_of(attrs)
        expression = self.expression(static)
        full = arrays[self.roles.index(FULL)]
        if not full.ndim:
            name = self.inputs[self.roles.index(FULL)]
            raise ShapeError(f"{self.subject}: input {name!r} expected at least one axis, got shape ()")
        along, shape = self.rows_last(arrays, full.ndim, axis % max(full.ndim, 1), self.subject)
        dtypes = [array.dtype for array in arrays]
        dtype = self.dtype(dtypes)
        wide = computed_in(dtype)
        self.check_length(shape[-1], static, dtypes)
        check_whole(expression.attrs, [attrs[name] for name in expression.attrs], wide)
        self.check_constants(static, dtypes)
        self.check_numbers(arrays, static)
        read = self.numbers(static, dtypes)
        along = [
            _positions(array) if array.dtype.kind in "iu" and role == ROW and name not in read else array.astype(wide)
            for name, array, role in zip(self.inputs, along, self.roles, strict=True)
        ]
        if dtype.kind == "c":
            along = self.conjugated(along, attrs)
        values: dict[str, Any] = {**dict(zip(self.inputs, along, strict=True)), **attrs}
        values |= {"row_index()": np.arange(shape[-1], like=arrays[0]), "row_size()": float(shape[-1])}
        with np.errstate(all="ignore"):  # inf and nan are values of the function, not accidents
            computed = iter(self._evaluated(expression, values, wide))
        made: Sequence[Any] = tuple(
            None if node is None else _shaped(np.asarray(next(computed), like=arrays[0]), role, shape, dtype, axis)
            for node, role in zip(expression.outputs, self.results, strict=True)
        )
        if dtype.kind == "c":
            made = self.conjugation.of_outputs(made)
        return made[0] if len(made) == 1 else tuple(made)

    def rows_last(self, arrays: Sequence[Any], ndim: int, axis: int, subject: str) -> tuple[list[Any], tuple[int, ...]]:
        """Returns arrays with their rows along the last axis, and the full shape.

        Raises:
            ShapeError: a shape is not that of the input's role. It is always checked, since kernels count on it.
        """
        along = []
        for array, role, may_be_flat in zip(arrays, self.roles, self._may_be_flat, strict=True):
            turned = array
            if array.ndim == ndim - 1 and (role == FLAT or (role == ROW and may_be_flat)):
                turned = array[..., np.newaxis]
            elif array.ndim == ndim and role != COLUMN and axis != ndim - 1:
                turned = np.moveaxis(array, axis, -1)  # which takes longer than all the rest
            along.append(turned)
        shape = along[self.roles.index(FULL)].shape
        for name, role, turned, array in zip(self.inputs, self.roles, along, arrays, strict=True):
            want = shape if role == FULL else shape[-1:] if role == COLUMN else (*shape[:-1], 1)
            if turned.shape != want:
                raise ShapeError(f"{subject}: input {name!r} expected shape {want}, got {array.shape}")
        return along, shape

    def _evaluated(self, expression: Expression, values: dict[str, Any], dtype: np.dtype[Any]) -> list[Any]:
        roots = self._roots.get(expression.wanted)
        if roots is None:
            roots = self._roots[expression.wanted] = tuple(lowered(expression.wanted))
        try:
            return evaluate(roots, values, np, dtype, ROW_PRIMITIVES)
        except AttributeValueError as error:
            raise AttributeValueError(f"{self.subject}, {error}") from None


def _positions(array: Any) -> Any:
    """Returns whole numbers as int64, of which the greatest is beyond every row, as what is greater is."""
    if array.dtype == np.uint64:
        array = array.clip(max=np.uint64(2**63 - 1))
    return array.astype(np.int64)


def _shaped(value: np.ndarray, role: str, shape: tuple[int, ...], dtype: np.dtype[Any], axis: int) -> np.ndarray:
    if role == COLUMN:
        whole = np.broadcast_to(value, shape)
        return total(whole, range(len(shape) - 1), dtype=dtype)
    array = value.astype(dtype, copy=False)
    if role == FULL:
        return np.moveaxis(np.broadcast_to(array, shape), -1, axis).copy()
    row = np.broadcast_to(array, (*shape[:-1], 1)).copy()
    return np.moveaxis(row, -1, axis) if role == ROW else row[..., 0].copy()
