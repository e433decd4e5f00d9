"""Ops that tell true from false: what a number is, what several numbers are to each other, and any and all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from opsdk.core.spec import TensorSpec
from opsdk.core.written import entry, written
from opsdk.define.decorators import op
from opsdk.define.infer import broadcast, normalize_axes
from opsdk.define.op import Op
from opsdk.define.sample import Sample
from opsdk.expr.exact import check_inputs

_BOOL = broadcast.with_dtype("bool")


# Any: a function of NumPy's.
def _test(name: str, tested: Any, doc: str, *, inputs: str = "xy", compares: bool = False) -> Op:
    """Returns the op of a test of one input or two, whose result carries no gradient.

    Args:
        name: of the op.
        tested: NumPy's function.
        doc: what it tells.
        inputs: their names.
        compares: whether whole numbers stand for themselves beside floats, not for the nearest float.
    """

    def of_one(x: np.ndarray) -> Any:
        return tested(x)

    def of_two(x: np.ndarray, y: np.ndarray) -> Any:
        dtype = np.result_type(x.dtype, y.dtype)  # in which NumPy compares: float64 for int64 beside float32
        if compares and (x.dtype.kind in "fc" or y.dtype.kind in "fc"):
            check_inputs("xy", (x, y), dtype, f"op 'opsdk::{name}'")
        return tested(x, y)

    types = {**dict.fromkeys(inputs, "np.ndarray"), "return": "np.ndarray"}
    function = of_one if len(inputs) == 1 else of_two
    made = written(function, name, types, module=__name__, doc=doc, origin=entry())
    schema = f"opsdk::{name}({', '.join(f'Tensor {each}' for each in inputs)}) -> Tensor out"
    return op(schema, infer=_BOOL, nondifferentiable=(*inputs, "out"))(made)


equal = _test("equal", np.equal, "x == y.", compares=True)
not_equal = _test("not_equal", np.not_equal, "x != y.", compares=True)
less_than = _test("less_than", np.less, "x < y.", compares=True)
less_equal = _test("less_equal", np.less_equal, "x <= y.", compares=True)
greater_than = _test("greater_than", np.greater, "x > y.", compares=True)
greater_equal = _test("greater_equal", np.greater_equal, "x >= y.", compares=True)
logical_and = _test("logical_and", np.logical_and, "True where x and y are; numbers other than 0 are.")
logical_or = _test("logical_or", np.logical_or, "True where x or y is; numbers other than 0 are.")
logical_xor = _test("logical_xor", np.logical_xor, "True where one of x and y is, and not both.")
logical_not = _test("logical_not", np.logical_not, "True where x is zero or False.", inputs="x")
isnan = _test("isnan", np.isnan, "True where x is nan.", inputs="x")
isinf = _test("isinf", np.isinf, "True where x is infinite, of either sign.", inputs="x")
isfinite = _test("isfinite", np.isfinite, "True where x is neither infinite nor nan.", inputs="x")
signbit = _test("signbit", np.signbit, "True where the sign of x is set, of -0.0 too.", inputs="x")


def _over_axes(x: TensorSpec, axis: Any, keepdim: bool) -> TensorSpec:
    axes = normalize_axes(axis, x.ndim, "opsdk: all, any")
    return TensorSpec([1 if i in axes else n for i, n in enumerate(x.shape) if keepdim or i not in axes], "bool")


# Any: a function of NumPy's.
def _quantifier(name: str, function: Any, doc: str) -> Op:
    """Returns the op that joins the elements over axes to one truth."""

    def joined(x: np.ndarray, *, axis: tuple[int, ...] | None = None, keepdim: bool = False) -> Any:
        return np.asarray(function(x, axis=tuple(axis) if axis else None, keepdims=keepdim), like=x)

    types = {"x": "np.ndarray", "axis": "tuple[int, ...] | None", "keepdim": "bool", "return": "np.ndarray"}
    made = written(joined, name, types, module=__name__, doc=doc, origin=entry())
    schema = f"opsdk::{name}(Tensor x, *, int[]? axis=None, bool keepdim=False) -> Tensor out"
    return op(schema, infer=_over_axes, nondifferentiable=("x", "out"))(made)


reduce_all = _quantifier("reduce_all", np.all, "True where all elements over axes are, over all axes unless given.")
reduce_any = _quantifier("reduce_any", np.any, "True where any element over axes is, over all axes unless given.")


def _sampled(*ops: Op) -> Callable[[Any], Any]:
    """Returns a decorator that gives several ops one set of samples."""

    def decorate(samples: Any) -> Any:
        for each in ops:
            each.samples(samples)
        return samples

    return decorate


@_sampled(isnan, isinf, isfinite, signbit)
def _special(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(np.array([[0.0, np.nan, np.inf], [-np.inf, 1.0, -0.0]]), reason="of each kind")
    yield Sample(np.array([1, 0, -3]), reason="integers")
    yield Sample(np.zeros((0, 2)), reason="empty")


@_sampled(reduce_all, reduce_any)
def _truths(rng: np.random.Generator) -> Iterator[Sample]:
    x = np.array([[[True, False], [True, True], [True, True]], [[False, False], [False, True], [True, True]]])
    yield Sample(x, reason="all axes")
    yield Sample(x, axis=[1], reason="one axis")
    yield Sample(x, axis=[0, -1], keepdim=True, reason="two axes, kept")
    yield Sample(rng.integers(-1, 2, (3, 4)), axis=[1], reason="integers")
    yield Sample(np.zeros((0, 4), bool), axis=[0], reason="of nothing")


__all__ = [name for name, value in vars().items() if isinstance(value, Op) and not name.startswith("reduce_")]
