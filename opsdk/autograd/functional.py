"""Transforms of functions: derivatives of functions of tensors, and functions of one example over a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.autograd.creation import to_tensor
from opsdk.autograd.derivatives import apart, grad
from opsdk.autograd.tensor import Tensor
from opsdk.autograd.transform.batching import vmap
from opsdk.autograd.transform.forward_mode import Dual, ForwardMode
from opsdk.autograd.transform.leveled import Leveled
from opsdk.core.errors import ArityError, AttributeValueError, DTypeError, GraphError, MixedRuntimeError, ShapeError
from opsdk.core.modes import GradMode, is_grad_enabled
from opsdk.core.origin import trimming
from opsdk.define.frontend import owner_of
from opsdk.define.vjp import vjp
from opsdk.ops.creation import fill_any_like
from opsdk.ops.functions import reshape, stack

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp", "vmap"]


# Any, in this file: tensors, arrays and numbers that they can be made of, alone or in lists and tuples.
def _values(inputs: Any, subject: str) -> tuple[list[Tensor], bool]:
    """Returns inputs as tensors, and whether there is one alone.

    Raises:
        MixedRuntimeError: one is of a Program.
    """
    is_one = not isinstance(inputs, (list, tuple))
    values = []
    for value in [inputs] if is_one else inputs:
        owner = None if isinstance(value, Tensor) else owner_of(value)
        if owner not in (None, "CUDA arrays"):
            raise MixedRuntimeError(f"{subject}: expected tensors or arrays, got one of the {owner}")
        values.append(value if isinstance(value, Tensor) else to_tensor(value))
    return values, is_one


def _check(func: Any, subject: str) -> None:
    if not callable(func):
        raise AttributeValueError(f"{subject}: func expected a callable, got {type(func).__name__}")


def _directions(v: Any, values: Sequence[Tensor], subject: str) -> list[Tensor]:
    """Returns a tangent for each input, ones unless given.

    Raises:
        ArityError: not one for each.
        ShapeError, DTypeError: one is not of its input's shape or dtype.
    """
    if v is None:
        return [fill_any_like(value, value=1.0) for value in values]
    given, _ = _values(v, subject)
    if len(given) != len(values):
        raise ArityError(f"{subject}: expected a v for each of the {len(values)} inputs, got {len(given)}")
    for i, (value, one) in enumerate(zip(values, given, strict=True)):
        if tuple(one.shape) != tuple(value.shape):
            raise ShapeError(f"{subject}: v of input {i} expected shape {tuple(value.shape)}, got {tuple(one.shape)}")
        if one.dtype != value.dtype:
            raise DTypeError(f"{subject}: v of input {i} expected {value.dtype}, got {one.dtype}")
    return given


@trimming
def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool | None = None, strict: bool = False
) -> tuple[Any, Any]:
    """Returns what a function gives, and its derivative along a direction, in forward mode: both in one run.

    Nothing is kept for a backward. Expressions and composites have a tangent by their own derivatives, linear ops by
    themselves, others by their gradients, so that an op whose backward is NumPy code, and not linear, is refused by
    name. Differentiable, to any order, and it nests: `jvp` of `vjp` is a product with a Hessian.

    Args:
        func: a function of ops, of as many values as there are inputs, that returns one value, or a list or tuple.
        inputs: a tensor or array, or a list or tuple of them.
        v: the direction, one for each input, of its shape and dtype; ones unless given.
        create_graph: whether the results are recorded; unless given they are as calls are.
        strict: whether an output that does not depend on the inputs is an error instead of zeros.

    Returns:
        The outputs and their tangents, as tensors; zeros for one that does not move.

    Raises:
        AttributeValueError: `func` is not callable.
        ArityError, ShapeError, DTypeError: `v` does not fit the inputs.
        MixedRuntimeError: a value is of a Program.
        GraphError: an output is no tensor; or does not depend on the inputs, with `strict`.
        GradientMissingError, DerivativeOrderError: an op has no derivative, or one that nobody can look into.

    Example:
        >>> y, dy = jvp(lambda x: x * x, np.array([1.0, 2.0]), np.array([1.0, 10.0]))
        >>> dy.numpy()
        array([ 2., 40.])
    """
    _check(func, "jvp")
    values, _ = _values(inputs, "jvp")
    directions = _directions(v, values, "jvp")
    run = ForwardMode()
    with run, GradMode(is_grad_enabled() if create_graph is None else create_graph):
        made = func(*[Dual(run, value, tangent) for value, tangent in zip(values, directions, strict=True)])

    def tangent(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)([tangent(item) for item in value])
        _expect_tensor(value, "jvp")
        if strict and not run.owns(value):
            raise GraphError(
                "jvp: expected an output that depends on the inputs, with strict=True, got a constant"
            )
        return value._tangent if run.owns(value) else fill_any_like(value)

    def primal(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return type(value)([primal(item) for item in value])
        return run.beneath(value)

    tangents = tangent(made)
    return primal(made), tangents


def _expect_tensor(value: Any, subject: str) -> None:
    if not isinstance(value, Tensor):
        raise GraphError(f"{subject}: expected the function to return tensors, got {type(value).__name__}")


@trimming
def jacobian(
    func: Any, inputs: Any, create_graph: bool = False, strict: bool = False, batch_axis: int | None = None
) -> Any:
    """Returns the derivative of each element of a function's outputs with respect to each element of its inputs.

    PyTorch's form takes a function, Paddle's tensors that were computed: `jacobian(ys, xs, batch_axis=0)` of rows of a
    batch, each of which depends on its own row alone, gives one Jacobian a row.

    Args:
        func: a function of ops, of as many values as there are inputs; or the tensors `ys`.
        inputs: a tensor or array, or a list or tuple of them; or the tensors `xs` that `ys` were computed from.
        create_graph: whether the result is recorded.
        strict: whether an output that does not depend on an input is an error instead of zeros.
        batch_axis: 0 or None, of tensors alone.

    Returns:
        Of shape output + input; for several outputs or inputs tuples, by output and then by input.

    Raises:
        GraphError: an output does not depend on an input, with `strict`; an output is no tensor.
        AttributeValueError: `batch_axis` is something else.

    Example:
        >>> jacobian(lambda x: x * x, np.array([1.0, 2.0])).numpy()
        array([[2., 0.],
               [0., 4.]])
    """
    if not callable(func) or isinstance(func, Tensor):
        return _of_tensors(func, inputs, create_graph, batch_axis)
    if batch_axis is not None:
        raise AttributeValueError("jacobian: batch_axis expected of tensors that were computed; of a function use vmap")
    values, is_one = _values(inputs, "jacobian")
    with GradMode(True):
        taken = [apart(value, create_graph) for value in values]
        made = func(*taken)
        is_alone = not isinstance(made, (list, tuple))
        outputs = [made] if is_alone else list(made)
        rows = [_rows(output, taken, create_graph, strict) for output in outputs]
    shaped = [row[0] if is_one else tuple(row) for row in rows]
    return shaped[0] if is_alone else tuple(shaped)


def _rows(output: Any, taken: Sequence[Tensor], create_graph: bool, strict: bool) -> list[Tensor]:
    """Returns the Jacobian of one output with respect to each of some leaves."""
    _expect_tensor(output, "jacobian")
    sizes = tuple(output.shape)
    count = int(np.prod(sizes))
    columns: list[list[Any]] = [[] for _ in taken]
    targets = [leaf for leaf in taken if not leaf.stop_gradient]
    for i in range(count):
        found: Any = [None] * len(targets)
        if not output.stop_gradient and targets:
            one = np.zeros(count, output.dtype)
            one[i] = 1
            seed = to_tensor(one.reshape(sizes), place=output.place)
            found = grad(output, targets, seed, retain_graph=True, create_graph=create_graph, allow_unused=True)
        given = iter(found)
        for at, leaf in enumerate(taken):
            value = None if leaf.stop_gradient else next(given)
            if value is None and strict:
                raise GraphError(f"jacobian: expected an output that depends on input {at}, with strict=True, got none")
            columns[at].append(fill_any_like(leaf) if value is None else value)
    if not count:
        return [to_tensor(np.zeros((*sizes, *leaf.shape), leaf.dtype), place=leaf.place) for leaf in taken]
    return [reshape(stack(column), [*sizes, *leaf.shape]) for column, leaf in zip(columns, taken, strict=True)]


def _of_tensors(ys: Any, xs: Any, create_graph: bool, batch_axis: int | None) -> Any:
    """Returns Jacobians of tensors that were computed, in Paddle's form."""
    if batch_axis not in (None, 0):
        raise AttributeValueError(f"jacobian: batch_axis expected None or 0, got {batch_axis!r}")
    outputs, is_alone = _values(ys, "jacobian")
    targets, is_one = _values(xs, "jacobian")
    made = []
    for output in outputs:
        if batch_axis is None:
            row = _rows(output, targets, create_graph, False)
        else:
            row = _row_by_row(output, targets, create_graph)
        made.append(row[0] if is_one else tuple(row))
    return made[0] if is_alone else tuple(made)


def _row_by_row(output: Tensor, targets: Sequence[Tensor], create_graph: bool) -> list[Tensor]:
    """Returns the Jacobian of each row of a batch: the rows of others have no part in it."""
    size, *sizes = output.shape
    count = int(np.prod(sizes))
    columns: list[list[Any]] = [[] for _ in targets]
    for i in range(count):
        one = np.zeros((size, count), output.dtype)
        one[:, i] = 1
        seed = to_tensor(one.reshape(tuple(output.shape)), place=output.place)
        found = grad(output, targets, seed, retain_graph=True, create_graph=create_graph, allow_unused=True)
        for column, target, value in zip(columns, targets, found, strict=True):
            column.append(fill_any_like(target) if value is None else value)
    return [
        reshape(stack(column, axis=1), [size, *sizes, *target.shape[1:]])
        for column, target in zip(columns, targets, strict=True)
    ]


@trimming
def hessian(func: Any, inputs: Any, create_graph: bool = False) -> Any:
    """Returns the second derivatives of a function that gives one number.

    Args:
        func: a function of ops that returns a tensor of one element; or that tensor, computed from `inputs`.
        inputs: a tensor or array, or a list or tuple of them.
        create_graph: whether the result is recorded.

    Returns:
        Of shape input + input; for several inputs a tuple of tuples.

    Raises:
        GraphError: the function gives something else than one element.
        DerivativeOrderError: the backward of an op is NumPy code that nobody can differentiate.

    Example:
        >>> hessian(lambda x: (x * x * x).sum(), np.array([1.0, 2.0])).numpy()
        array([[ 6.,  0.],
               [ 0., 12.]])
    """
    values, is_one = _values(inputs, "hessian")
    with GradMode(True):
        is_function = callable(func) and not isinstance(func, Tensor)
        taken = [apart(value, create_graph) for value in values] if is_function else values
        output = func(*taken) if is_function else func
        _expect_tensor(output, "hessian")
        if output.size != 1:
            raise GraphError(f"hessian: expected a function that gives one element, got shape {tuple(output.shape)}")
        first: list[Any] = [None] * len(taken)
        if not output.stop_gradient:
            first = grad(output, taken, create_graph=True, allow_unused=True)
        zeros = [fill_any_like(leaf) if g is None else g for g, leaf in zip(first, taken, strict=True)]
        rows = [tuple(_rows(g, taken, create_graph, False)) for g in zeros]
    return rows[0][0] if is_one else tuple(rows)


@trimming
def hvp(func: Callable[..., Any], inputs: Any, v: Any = None) -> tuple[Any, Any]:
    """Returns what a function gives, one number, and the product of its Hessian with a vector: `jvp` of its gradient.

    Args:
        func: a function of ops that returns a tensor of one element.
        inputs: a tensor or array, or a list or tuple of them.
        v: the vector, one for each input, of its shape and dtype; ones unless given.
    """
    _check(func, "hvp")
    values, is_one = _values(inputs, "hvp")
    outputs: list[Any] = []

    def gradient(*taken: Any) -> Any:
        made, found = vjp(func, list(taken))
        outputs[:] = [made]
        return found

    _, products = jvp(gradient, values, v)
    output = outputs[0]
    while isinstance(output, Leveled):
        output = output._value
    return output, products[0] if is_one else tuple(products)


vhp = hvp  # a Hessian is symmetric
