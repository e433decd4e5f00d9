"""The checked launch: the same call, its values asked for before it, its inputs watched for changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np
from numpy import ndarray

from opsdk.backends.call.language import Launch
from opsdk.backends.call.normalise import shares
from opsdk.backends.memory.arena import Lease
from opsdk.core.dtype import computed_in
from opsdk.core.errors import MutationError
from opsdk.core.fast import FAST
from opsdk.core.nested import each, flat
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef


# Any: one entry per input, an array, a list of arrays or None; what a kernel returned.
def compared(opdef: OpDef, launch: Launch, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Launches a compiled kernel; an input that it changes without having declared so is put back as it was.

    It gets the arrays themselves, which are compared with copies: a read-only array is another type to a compiler.

    Raises:
        MutationError: an undeclared change; it names the input.
    """
    before = _copies(inputs)
    result = launch(*inputs, **attrs)
    compare(opdef, inputs, before)
    return result


# Any: as for `compared`.
def run_on_copies(
    opdef: OpDef, launch: Launch, inputs: Sequence[Any], attrs: Mapping[str, Any], error: Exception
) -> Any:
    """Launches a kernel that was refused a write on copies, which tell what it changes, or that it only wanted to.

    Raises:
        MutationError: an undeclared change; it names the input, and comes from the refusal. An op that changes other
            inputs in place may have changed them already, and is not launched again.
    """
    mutated, names = opdef.schema.mutated_inputs, opdef.schema.input_names
    if len(mutated) == len(names):
        raise error  # of an array of its own
    if mutated:
        others = ", ".join(repr(name) for i, name in enumerate(names) if i not in mutated)
        changed = ", ".join(repr(names[i]) for i in mutated)
        raise MutationError(
            f"{opdef.subject}: expected {others} to stay untouched, got a write that NumPy refused ({error}); work on "
            f"a copy, or declare it: Tensor(b!). What the kernel did to {changed} before stays, but for a first call, "
            "which is taken back",
            at=str(opdef.origin),
        ) from error
    views = _copies(inputs)
    held = [launch(*views, **attrs)]
    try:
        compare(opdef, views, inputs, restore=False)
    except MutationError as finding:
        raise finding from error
    made = handed_over(held, views, inputs)
    if any(map(opdef.schema.aliased_sources, opdef.schema.fresh_outputs)) and not any(made is v for v in inputs):
        raise error  # what was to be a view of an input may be one of its copy
    return made


def is_refused_write(error: Exception) -> bool:
    """Whether an exception is NumPy's, of code that wanted to write to a read-only array."""
    # NumPy raises a bare ValueError: its words are all that tells this one from those of the kernel's own.
    return isinstance(error, ValueError) and ("read-only" in str(error) or "WRITEABLE" in str(error))


def checked_first(opdef: OpDef, kernel: Kernel, launch: Launch) -> Launch:
    """Returns a launch that asks the op's value check before it runs; the launch itself where there is none.

    No kernel reads an array before it is known to stay inside; one that says `checks=True` asks for itself.
    """
    check = opdef.check
    if check is None or kernel.options.get("checks"):
        return launch

    # Any: one entry per input, an array, a list of arrays or None; attribute values.
    def checked(*values: Any, **attrs: Any) -> Any:
        check(values, attrs)
        return launch(*values, **attrs)

    return checked


def guarded(opdef: OpDef, launch: Launch) -> Launch:
    """Returns the launch of a Python kernel on read-only views, in every call; a change may hang on the values.

    One that writes all the same is launched once more on copies, which tell what it changes, or that it only wanted a
    writable buffer.
    """
    mutated = frozenset(opdef.schema.mutated_inputs)

    is_plain = not mutated and all(decl.kind == "tensor" for decl in opdef.schema.inputs)

    # Any: as for `compared`.
    def run(*values: Any, **attrs: Any) -> Any:
        if is_plain:
            views = list(map(read_only, values))
        else:
            views = [value if i in mutated else each(value, read_only) for i, value in enumerate(values)]
        try:
            held = [launch(*views, **attrs)]
        except ValueError as error:
            if not is_refused_write(error):
                raise
            return run_on_copies(opdef, launch, values, attrs, error)
        return handed_over(held, views, values)

    return run


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


# Any: entries of a call; what a launch gets and returns.
def widened(opdef: OpDef, launch: Launch, inputs: Sequence[Any]) -> Launch:
    """Returns the launch of a Python kernel of values that are promoted, on dtypes that NumPy computes with together.

    It has no common dtype of float16 and bfloat16, nor of bfloat16 and most integers: there these are float32.
    """
    if opdef.schema.mutated_inputs or not getattr(opdef.infer, "promotes", False):
        return launch
    with suppress(TypeError):
        np.result_type(np.bool_, *[item.dtype for item in flat(inputs)])
        return launch

    def wide(item: Any) -> Any:
        return item.astype(computed_in(item.dtype), copy=False)

    return lambda *values, **attrs: launch(*[each(value, wide) for value in values], **attrs)


def sampled(opdef: OpDef, launch: Launch, sampling: Sampling) -> Launch:
    """Returns the launch of a compiled kernel whose inputs are compared with copies in some calls."""
    numbers = sampling.numbers

    # Any: as for `compared`.
    def run(*values: Any, **attrs: Any) -> Any:
        if not sampling.is_due:
            number = next(numbers)
            if number & (number - 1):
                return launch(*values, **attrs)
        sampling.is_due = False
        return compared(opdef, launch, values, attrs)

    return run


def _view(array: Any) -> Any:
    """Returns a read-only view, through whose `base` an array can still be changed."""
    view = array.view()
    view.setflags(write=False)
    return view


read_only: Callable[[Any], Any] = _view if FAST is None else FAST.read_only  # its base shows the array to nobody


def _alone() -> tuple[int, int]:
    """Returns how many references are seen to an item of a list, and to an array's base, that nobody else holds."""
    items = [np.zeros((1, 1)).T]
    return getrefcount(items[0]), getrefcount(items[0].base)


_ITEM, _BASE = _alone()


def _has_own_memory(array: ndarray) -> bool:
    """Whether memory is NumPy's or the arena's, and only this array, or views of it that nobody else holds, lead there.

    Of any other (a buffer of ctypes, a bytearray, shared memory, what came by DLPack) nobody can tell who holds it.
    """
    while array.base is not None:
        if getrefcount(array.base) > _BASE or array.base.__class__ not in (ndarray, Lease):
            return False
        if array.base.__class__ is ndarray and getweakrefcount(array.base):
            return False
        if array.base.__class__ is Lease:
            return True
        array = array.base
    return array.flags.owndata


def handed_over(held: list[Any], views: Sequence[Any], inputs: Sequence[Any]) -> Any:
    """Returns what a kernel returned, so that it belongs to the caller.

    Of an array whose memory somebody else holds, or may hold, it is a copy: a function that keeps what it returned, and
    fills it anew in its next call, would change results that were given before. Where what stood for an input is handed
    back, it is the input itself.

    Args:
        held: what the kernel returned, alone in a list, since the number of references tells who else holds it.
        views: what stood for the inputs; read-only unless the input may change.
        inputs: one entry per input.
    """
    made = held[0]
    is_alone = getrefcount(made) <= _ITEM + 1 and not getweakrefcount(made)
    if is_alone and made.__class__ is ndarray and made.base is None and made.flags.owndata:
        return made
    del made  # whose references are counted
    return _own(held, 0, list(zip(flat(views), flat(inputs), strict=True)), False)


def _own(items: Any, key: Any, pairs: Sequence[tuple[Any, Any]], is_shared: bool) -> Any:
    """Returns one of several values, or all within it, as `handed_over` does."""
    is_shared = is_shared or getrefcount(items[key]) > _ITEM
    item = items[key]
    if isinstance(item, (tuple, list)):
        parts = [_own(item, i, pairs, is_shared) for i in range(len(item))]
        return tuple(parts) if isinstance(item, tuple) else parts
    if isinstance(item, Mapping):
        return {name: _own(item, name, pairs, is_shared) for name in item}
    if not isinstance(item, ndarray):
        return item
    for view, value in pairs:
        if item is view:
            return value
    is_shared = is_shared or getweakrefcount(item) > 0
    if not is_shared and _has_own_memory(item):
        return item
    for view, value in pairs:
        if item.base is not None and (item.base is view or shares(item, value)):
            return _of_input(item, view, value)
    return item.copy(order="K")


def _of_input(item: ndarray, view: Any, value: Any) -> ndarray:
    """Returns a view of what stood for an input as one of the input, as writable as that is."""
    if view is not value and not np.may_share_memory(view, value):
        return item.copy(order="K")  # a copy stood for it
    if FAST is not None and view is not value:
        return FAST.rebased(item, value)
    if not item.flags.writeable and value.flags.writeable:
        with suppress(ValueError):  # of a buffer that was made of a read-only view
            item.flags.writeable = True
    return item


def _copies(inputs: Sequence[Any]) -> Any:
    return each(inputs, lambda array: array.copy(order="K"))


def compare(opdef: OpDef, after: Sequence[Any], before: Sequence[Any], *, restore: bool = True) -> None:
    """Holds inputs to what they were before a launch; those that changed are put back.

    Args:
        opdef: the op.
        after: one entry per input.
        before: copies of them from before the launch.
        restore: whether to put back what changed.

    Raises:
        MutationError: an undeclared change; it names the input.
    """
    changed = []
    for i, (now, then) in enumerate(zip(after, before, strict=True)):
        for array, copy in zip(flat(now), flat(then), strict=True):
            if i in opdef.schema.mutated_inputs or array.tobytes() == copy.tobytes():
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
