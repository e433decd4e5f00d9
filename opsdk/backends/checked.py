"""The checked launch: the same call, watched for changes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
from numpy import ndarray

from opsdk.backends.language import Launch
from opsdk.core.errors import MutationError
from opsdk.define.opdef import OpDef


# Any: one entry per input, an array, a list of arrays or None; what a kernel returned.
def run_checked(
    opdef: OpDef, launch: Launch, inputs: Sequence[Any], attrs: Mapping[str, Any], *, guards: bool
) -> Any:
    """Launches a kernel; an input that it changes without having declared so is put back as it was.

    Args:
        opdef: the op.
        launch: its kernel.
        inputs: one entry per tensor input.
        attrs: all attributes.
        guards: whether read-only views can stand in for the inputs. Compiled rows get the arrays themselves, since
            a read-only array is another type to a compiler; their inputs are compared with copies instead.

    Raises:
        MutationError: an undeclared change; it names the input.
    """
    mutated = set(opdef.schema.mutated_inputs)
    if not guards:
        before = [_copies(value) for value in inputs]
        result = launch(*inputs, **attrs)
        compare(opdef, inputs, before, mutated)
        return result
    views = [value if i in mutated else _each(value, _read_only) for i, value in enumerate(inputs)]
    try:
        return _writable_again(launch(*views, **attrs), views, inputs)
    except ValueError as error:
        if not is_refused_write(error):
            raise
        # Something wrote, or wanted a writable buffer without writing. Copies tell which, and which input.
        trial = [value if i in mutated else _copies(value) for i, value in enumerate(inputs)]
        result = launch(*trial, **attrs)
        try:
            compare(opdef, trial, inputs, mutated, restore=False)
        except MutationError as finding:
            raise finding from error
        return _writable_again(result, trial, inputs)


def is_refused_write(error: Exception) -> bool:
    """Whether an exception is NumPy's, of code that wanted to write to a read-only array."""
    return isinstance(error, ValueError) and "read-only" in str(error)


def guarded(opdef: OpDef, launch: Launch) -> Launch:
    """Returns the launch of a Python kernel on read-only views, in every call; a change may hang on the values.

    One that writes all the same is launched once more on copies, which tell what it changes, or that it only wanted a
    writable buffer.
    """
    mutated = frozenset(opdef.schema.mutated_inputs)

    # Any: as for `run_checked`.
    def refused(error: ValueError, values: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
        if not is_refused_write(error):
            raise error
        return run_checked(opdef, launch, values, attrs, guards=True)

    def unary(value: Any, **attrs: Any) -> Any:  # most calls, without what several inputs take
        view = value.view()
        view.setflags(write=False)
        try:
            made = launch(view, **attrs)
        except ValueError as error:
            return refused(error, (value,), attrs)
        if made.__class__ is ndarray and made.base is None:
            return made
        return _writable_again(made, (view,), (value,))

    def binary(left: Any, right: Any, **attrs: Any) -> Any:
        first, second = left.view(), right.view()
        first.setflags(write=False)
        second.setflags(write=False)
        try:
            made = launch(first, second, **attrs)
        except ValueError as error:
            return refused(error, (left, right), attrs)
        if made.__class__ is ndarray and made.base is None:
            return made
        return _writable_again(made, (first, second), (left, right))

    def general(*values: Any, **attrs: Any) -> Any:
        views = []
        for i, value in enumerate(values):
            if value.__class__ is ndarray and i not in mutated:
                value = value.view()
                value.setflags(write=False)
            elif value.__class__ is list and i not in mutated:
                value = [_read_only(item) for item in value]
            views.append(value)
        try:
            made = launch(*views, **attrs)
        except ValueError as error:
            return refused(error, values, attrs)
        if made.__class__ is ndarray and made.base is None:
            return made
        return _writable_again(made, views, values)

    inputs = opdef.schema.inputs
    plain = not mutated and all(decl.kind == "tensor" for decl in inputs)
    by_count: dict[int, Launch] = {1: unary, 2: binary} if plain else {}
    return by_count.get(len(inputs), general)


class Sampling:
    """Tells which calls of a compiled kernel are compared with copies: numbers 2, 4, 8 and so on of its plan.

    A fast path takes numbers too; it sends the calls that are due the way that compares.

    Attributes:
        numbers: those of the calls to come.
        is_due: whether a fast path sent the next call.
    """

    __slots__ = ("is_due", "numbers")

    def __init__(self) -> None:
        self.numbers = count(2)
        self.is_due = False


def sampled(opdef: OpDef, launch: Launch, sampling: Sampling) -> Launch:
    """Returns the launch of a compiled kernel whose inputs are compared with copies in some calls."""
    numbers = sampling.numbers

    # Any: as for `run_checked`.
    def run(*values: Any, **attrs: Any) -> Any:
        if not sampling.is_due:
            number = next(numbers)
            if number & (number - 1):
                return launch(*values, **attrs)
        sampling.is_due = False
        return run_checked(opdef, launch, values, attrs, guards=False)

    return run


def _each(value: Any, function: Any) -> Any:
    if value is None:
        return None
    return [function(item) for item in value] if isinstance(value, list) else function(value)


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _writable_again(result: Any, views: Sequence[Any], inputs: Sequence[Any]) -> Any:
    """Puts the inputs themselves where a kernel handed back what stood for them, and frees views of that."""
    pairs = [
        (view, value)
        for seen, given in zip(views, inputs, strict=True)
        for view, value in zip(*(v if isinstance(v, list) else [v] for v in (seen, given)), strict=True)
    ]

    def original(item: Any) -> Any:
        for view, value in pairs:
            if item is view and item is not None:
                return value
            if isinstance(item, np.ndarray) and not item.flags.writeable and _is_view_of(item, value):
                item.flags.writeable = value.flags.writeable
        return item

    if isinstance(result, tuple):
        return tuple(original(item) for item in result)
    return [original(item) for item in result] if isinstance(result, list) else original(result)


def _is_view_of(item: np.ndarray, value: Any) -> bool:
    return item.base is not None and (item.base is value or item.base is value.base) if value is not None else False


def _copies(value: Any) -> Any:
    return _each(value, lambda array: array.copy(order="K"))


def compare(
    opdef: OpDef, after: Sequence[Any], before: Sequence[Any], mutated: set[int], *, restore: bool = True
) -> None:
    """Holds inputs to what they were before a launch; those that changed are put back.

    Args:
        opdef: the op.
        after: one entry per input.
        before: copies of them from before the launch.
        mutated: positions of the inputs that may change.
        restore: whether to put back what changed.

    Raises:
        MutationError: an undeclared change; it names the input.
    """
    changed = []
    for i, (now, then) in enumerate(zip(after, before, strict=True)):
        pairs = zip(now, then, strict=True) if isinstance(now, list) else [(now, then)]
        for array, copy in pairs:
            if array is None or i in mutated or array.tobytes() == copy.tobytes():
                continue
            changed.append(opdef.schema.inputs[i].name)
            if restore and getattr(array.flags, "writeable", True):  # CuPy has no read-only arrays
                array[...] = copy
    if changed:
        names = ", ".join(repr(name) for name in changed)
        first = changed[0]
        raise MutationError(
            f"{opdef.subject}: input {names} was changed in place, expected it untouched; work on a copy, "
            f"or declare it: Tensor(a!) {first}",
            at=str(opdef.origin),
            details={"inputs": tuple(changed)},
        )
