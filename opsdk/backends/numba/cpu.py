"""Numba kernels on the CPU: a user's loop, compiled on first launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

import numpy as np

from opsdk.backends.call.buffers import allocate, infer_buffers, stand_ins
from opsdk.backends.call.language import Launch
from opsdk.backends.call.one_shape import Given, one_shape
from opsdk.backends.call.sizes import sized_of
from opsdk.backends.memory import arena
from opsdk.backends.memory.layout import is_plain, plain
from opsdk.backends.numba.failure import failure, is_compile_failure
from opsdk.backends.numba.lists import Lists
from opsdk.core.errors import BindingError, DefinitionError, ReturnError
from opsdk.core.flags import FLAGS
from opsdk.core.lazy import slow
from opsdk.core.nested import flat
from opsdk.define.identity.sameness import changed
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.sizes import size_function
from opsdk.define.opdef import GradRule, OpDef
from opsdk.define.schema.scalars import SPEC


def launch_of(
    opdef: OpDef, kernel: Kernel, empty: Callable[..., np.ndarray] = arena.empty, *, is_checked: bool | None = None
) -> Launch:
    """Returns a launch that gives the kernel its arguments in its own order, and the outputs that it fills.

    In debug mode an index that is beyond an array raises an IndexError.

    Args:
        opdef: the op.
        kernel: one of its kernels.
        empty: makes the outputs that it fills.
        is_checked: whether indices are checked; as the flag `debug` says, unless given.

    Raises:
        BindingError: the kernel takes some of the outputs as buffers, but not all.
        DefinitionError: what it reads from outside was changed since it was registered.
    """
    buffers = buffers_of(opdef, kernel)
    check_unchanged(opdef, kernel)
    is_checked = FLAGS.debug if is_checked is None else is_checked
    function = _taking_nothing(opdef, kernel, _compiled(opdef, kernel, is_checked=is_checked))
    schema = opdef.schema
    inputs = schema.input_names
    names = kernel.parameters
    given = _given(opdef, kernel)
    shaped = with_axis if kernel.options.get("parallel") else None
    has_lists = any(decl.kind == "list" for decl in schema.inputs)
    lists = Lists(opdef, kernel.origin) if has_lists else None
    sized = sized_of(opdef, kernel, is_exact=empty is not arena.empty)
    specs = [decl.name for decl in schema.attrs if decl.type.scalar == SPEC]

    def launch(*values: Any, **attrs: Any) -> Any:
        values = values if given is None else tuple(given(values))
        taken = values if lists is None else lists.taken(values)
        told = stand_ins(specs, attrs) if specs else attrs
        arguments = {**dict(zip(inputs, taken, strict=True)), **told}
        room = None if sized is None else sized.room(values, attrs, infer_buffers(opdef, values, attrs), empty=empty)
        made = allocate(opdef, values, attrs, buffers, empty) if room is None else room.buffers
        for position, buffer in zip(buffers, made, strict=True):
            arguments[schema.outputs[position].name] = buffer
        if shaped is not None and buffers:
            arguments = {name: each_array(value, shaped) for name, value in arguments.items()}
        try:
            returned = function(*[arguments[name] for name in names])
        except Exception as error:
            if is_compile_failure(error):
                raise failure(opdef, kernel.origin, error, arguments) from error
            raise
        if room is not None:
            made, returned = room.results(returned), None
        if lists is not None:
            lists.give_back(values, taken)
        if not buffers:
            return _own(returned, values)
        if returned is not None:
            _check_returned(opdef, kernel, [arguments[schema.outputs[i].name] for i in buffers], returned)
        return made[0] if len(made) == 1 else tuple(made)

    # The usual kernel takes all inputs and returns its output: nothing to reorder, nothing to allocate.
    is_usual = names == (*inputs, *schema.attr_names)[: len(names)] and len(names) >= len(inputs)
    if not buffers and is_usual and lists is None and not specs:
        launch = _direct(opdef, kernel, function, names[len(inputs) :], given)
    return launch


def check_unchanged(opdef: OpDef, kernel: Kernel) -> None:
    """Checks that a kernel is compiled with what it read when it was registered: Numba freezes what it finds.

    Raises:
        DefinitionError: something is another value by now.
    """
    reads_as_registered(opdef, kernel)()
    _note_reads(opdef)


_NOTED: WeakSet[Kernel] = WeakSet()


def _note_reads(opdef: OpDef | None) -> None:
    """Enters what the kernels of an op and of its gradients read into what they have to find there whenever compiled.

    One may read a global that is assigned below it: with the first compilation the op is what it is.
    """
    while opdef is not None:
        for row in opdef.kernels:
            if callable(row.source) and row.language == "numba" and row not in _NOTED:
                changed(row.source, row.reads)
                _NOTED.add(row)
        rule = opdef.rule
        opdef = rule.op.opdef if isinstance(rule, GradRule) else None


def reads_as_registered(opdef: OpDef, kernel: Kernel) -> Callable[..., None]:
    """Returns that check for what compiles a kernel later; it does not keep the op or the kernel alive.

    It may be told what Numba was taught of the functions that the kernel calls, which has to stay what it was first.
    """
    source, reads, subject, at = kernel.source, kernel.reads, opdef.subject, str(kernel.origin)
    first: list[str] = []

    def check(taught: str | None = None) -> None:
        others = changed(source, reads) if callable(source) else []
        if taught is not None and not others:
            first.append(taught)
            others = [] if taught == first[0] else ["an overload of what it calls"]
        if others:
            raise DefinitionError(
                f"{subject}, numba kernel: expected {others[0]!r} to be what it was when the kernel was registered, "
                "it was changed since; register the kernel again",
                at=at,
            )

    return check


# A kernel has one dispatcher, however many kinds of calls there are: to make one reads all that the kernel refers to.
# And another that checks indices, where that is asked for.
_DISPATCHERS: WeakKeyDictionary[Kernel, Any] = WeakKeyDictionary()
_CHECKED: WeakKeyDictionary[Kernel, Any] = WeakKeyDictionary()


# Any: a Numba dispatcher, which has no type of its own; with NUMBA_DISABLE_JIT the function itself.
def _compiled(opdef: OpDef, kernel: Kernel, *, is_checked: bool) -> Any:
    made = _CHECKED if is_checked else _DISPATCHERS
    if kernel not in made:
        function = dispatcher_of(opdef, kernel)
        if is_checked:
            function = slow("opsdk.backends.numba.store").checking(function)
        made[kernel] = slow("opsdk.backends.numba.parallel").guarded(function, f"{opdef.subject}, numba kernel")
    return made[kernel]


_NUMBERS = {"int[]": np.int64, "float[]": np.float64, "bool[]": np.bool_, "complex[]": np.complex128}


# Any: a Numba dispatcher, its arguments and what the kernel returns.
def _taking_nothing(opdef: OpDef, kernel: Kernel, function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a compiled kernel that takes empty lists of numbers too.

    Lists come as tuples, and an empty one has no type of element: Numba can measure it, not loop over it. A kernel
    that does not compile for one gets an empty array.
    """
    kinds = {decl.name: _NUMBERS.get(decl.type.base.removesuffix("?")) for decl in opdef.schema.attrs}
    empty = {i: np.empty(0, kinds[name]) for i, name in enumerate(kernel.parameters) if kinds.get(name)}
    if not empty:
        return function
    takes_arrays = False

    def called(*arguments: Any) -> Any:
        nonlocal takes_arrays
        if not any(value.__class__ is tuple and not value for value in arguments):
            return function(*arguments)
        if not takes_arrays:
            try:
                return function(*arguments)
            except Exception as error:
                if not is_compile_failure(error):
                    raise
        nothing = [value.__class__ is tuple and not value for value in arguments]
        given = [empty.get(i, value) if nothing[i] else value for i, value in enumerate(arguments)]
        made = function(*given)
        takes_arrays = True  # Numba forgets what does not compile, and would try again
        return made

    return called


def dispatcher_of(opdef: OpDef, kernel: Kernel) -> Any:
    """Returns the dispatcher of a user's kernel; one that the user made is taken as it is."""
    slow("opsdk.backends.vmath.overloads").register()
    function: Any = kernel.source
    if hasattr(function, "py_func"):
        return function
    parallel, check = kernel.options.get("parallel", False), reads_as_registered(opdef, kernel)
    return slow("opsdk.backends.numba.store").compiled(function, parallel=parallel, check=check)


def buffers_of(opdef: OpDef, kernel: Kernel) -> tuple[int, ...]:
    """Returns the positions of the outputs that a kernel fills: all that it has to make, or none.

    Raises:
        BindingError: one is a list of open sizes.
    """
    schema = opdef.schema
    buffers = tuple(i for i in schema.fresh_outputs if schema.outputs[i].name in kernel.parameters)
    if size_function(kernel) is not None and any(schema.outputs[i].kind == "list" for i in buffers):
        raise BindingError(
            f"{opdef.subject}, numba kernel: {size_function(kernel)} expected outputs that are single tensors, got a "
            "list, which a kernel in Numba returns and cannot fill; return the arrays, or write the kernel in C",
            at=str(kernel.origin),
        )
    return buffers


def _check_returned(opdef: OpDef, kernel: Kernel, made: list[Any], returned: Any) -> None:
    """Checks that what a kernel returned, though it had buffers to fill, is these buffers.

    Raises:
        ReturnError: it is something else, so that the buffers were likely not filled.
    """
    values = returned if isinstance(returned, tuple) else (returned,)
    is_made = [
        value is buffer
        or (isinstance(value, np.ndarray) and value.ctypes.data == buffer.ctypes.data and value.shape == buffer.shape)
        for value, buffer in zip(values, made)  # noqa: B905 - lengths are compared below
    ]
    if len(values) != len(made) or not all(is_made):
        names = ", ".join(name for name in opdef.schema.output_names if name in kernel.parameters)
        raise ReturnError(
            f"{opdef.subject}, numba kernel: expected nothing to be returned, since the kernel takes {names} to fill, "
            f"got {', '.join(type(value).__name__ for value in values)}; "
            f"fill {names}, or take it out of the parameters",
            at=str(kernel.origin),
        )


def _given(opdef: OpDef, kernel: Kernel) -> Given | None:
    """Returns what makes the inputs of a call those of the kernel; None where they are that already."""
    shaped = one_shape(opdef)
    if not kernel.options.get("contiguous"):
        return shaped
    schema = opdef.schema
    viewed = {i for position in schema.fresh_outputs for i in schema.aliased_sources(position)}
    themselves = viewed.union(schema.mutated_inputs)  # what a copy stood for would stay as it is

    def given(values: Sequence[Any]) -> Sequence[Any]:
        values = values if shaped is None else shaped(values)
        return [value if i in themselves else each_array(value, _contiguous) for i, value in enumerate(values)]

    return given


# Any: an array, a list of arrays, an attribute's value, or None.
def each_array(value: Any, function: Callable[[Any], Any]) -> Any:
    """Returns an array as a function of arrays makes it, or those of a list; any other value as it is."""
    if value.__class__ is list:
        return [each_array(item, function) for item in value]
    return function(value) if isinstance(value, np.ndarray) else value


def with_axis(array: np.ndarray) -> np.ndarray:
    """Returns an array without axes as one with an axis of 1: Numba's parallel loops see the former as a number."""
    return array if array.ndim else array.reshape(1)


def _contiguous(array: np.ndarray) -> np.ndarray:
    return array if is_plain(array, contiguous=True) else plain(array)


def _direct(opdef: OpDef, kernel: Kernel, function: Any, attrs: tuple[str, ...], given: Given | None) -> Launch:
    def launch(*values: Any, **chosen: Any) -> Any:
        values = values if given is None else tuple(given(values))
        try:
            return _own(function(*values, *[chosen[name] for name in attrs]), values)
        except Exception as error:
            if is_compile_failure(error):
                arguments = dict(zip(opdef.schema.input_names, values, strict=True))
                raise failure(opdef, kernel.origin, error, arguments) from error
            raise

    return launch


# Any: what a kernel returned; arrays, lists of arrays, None.
def _own(returned: Any, inputs: Sequence[Any]) -> Any:
    """Returns what a kernel returned, with copies of arrays that it did not make: of its module, or of objmode.

    What it made has a base, Numba's own, and no parent; a view of what came from Python has that for a parent.
    """
    if returned.__class__ is np.ndarray:
        base = returned.base
        origin = returned if base is None else getattr(base, "parent", None)
        if origin is None or any(origin is item for item in flat(inputs)):
            return returned  # whether it may be a view of an input, the plan says
        return returned.copy(order="K")
    if isinstance(returned, (tuple, list)):
        items = [_own(item, inputs) for item in returned]
        return items if isinstance(returned, list) else tuple(items)
    return returned
