"""The launch of a user's CUDA kernel, compiled by Numba on first launch, on CuPy's current stream.

The kernel gets arrays of the device without a copy, through `__cuda_array_interface__`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from opsdk.backends.call.buffers import allocate, infer_buffers
from opsdk.backends.call.language import Launch
from opsdk.backends.call.one_shape import one_shape
from opsdk.backends.call.sizes import Room, Sized, sized_of
from opsdk.backends.cuda.launch import BoundKernel, at_one_place, failures
from opsdk.backends.memory.device import HOST, Memory
from opsdk.backends.numba.cpu import check_unchanged, reads_as_registered
from opsdk.core.errors import LaunchError
from opsdk.core.nested import each, flat
from opsdk.core.spec import TensorSpec
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.launch import Geometry, LaunchShape, Scratch
from opsdk.define.kernel.sizes import SIZE_OPTIONS, size_parameter
from opsdk.define.opdef import OpDef


# Any, in this file: arrays of NumPy or CuPy, attribute values.
def launch_of(opdef: OpDef, kernel: Kernel, lender: Memory | None = None) -> Launch:
    """Returns a launch that gives the kernel its arguments in its own order.

    Args:
        opdef: the op.
        kernel: one of its kernels.
        lender: what makes the arrays that the kernel fills; the memory of the inputs unless given.

    Raises:
        LaunchError: the kernel has no launch shape, or does not take every output.
        DefinitionError: what it reads from outside was changed since it was registered.
    """
    check_row(opdef, kernel)
    check_unchanged(opdef, kernel)
    shape: LaunchShape = kernel.options["launch"]
    subject = f"{opdef.subject}, CUDA kernel"
    schema = opdef.schema
    inputs, fresh, names = schema.input_names, schema.fresh_outputs, kernel.parameters
    mutated = [schema.input_names[i] for i in schema.mutated_inputs]
    run = BoundKernel(kernel.source, reads_as_registered(opdef, kernel))
    lends = Lends(opdef, kernel) if kernel.options.keys() & {"scratch", *SIZE_OPTIONS} else None
    shaped = one_shape(opdef)

    def launch(*values: Any, **attrs: Any) -> Any:
        values = values if shaped is None else tuple(shaped(values))
        memory, given = at_one_place(values, subject)
        memory = memory if lender is None else lender
        tensors = dict(zip(inputs, given, strict=True))
        lent, counted = ({}, None) if lends is None else lends(memory, tensors, attrs)
        made = allocate(opdef, given, attrs, fresh, memory.empty) if counted is None else counted.buffers
        tensors.update((schema.output_names[i], buffer) for i, buffer in zip(fresh, made, strict=True))
        geometry = shape.geometry({**tensors, **attrs})
        filled = made if counted is None else counted.wanted(geometry)
        if is_needed(geometry, [*filled, *flat([tensors[name] for name in mutated])], subject):
            seen = {name: each(value, partial(_seen, shape, name)) for name, value in tensors.items() if name in names}
            with failures(opdef, kernel.origin, subject), memory.active():
                run(geometry, [{**attrs, **lent, **seen}[name] for name in names])
            for name in mutated:
                if name in seen:
                    for array, changed in zip(flat(tensors[name]), flat(seen[name]), strict=True):
                        _write_back(array, changed)
        made = made if counted is None else counted.results()
        if given is not values:
            for i in schema.mutated_inputs:  # back to where the caller has them
                for array, changed in zip(flat(values[i]), flat(given[i]), strict=True):
                    array[...] = memory.to_host(changed)
            made = [memory.to_host(array) for array in made]
        return made[0] if len(made) == 1 else tuple(made) if made else None

    return launch


_MOST = 256  # elements, of which the simulator runs each in a thread of Python


def tried(opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], fill: int) -> list[Any] | None:
    """Runs a kernel in the simulator, in memory that holds `fill`; returns its outputs, None of too many elements.

    An index that is wrong raises there.
    """
    if sum(array.size for array in flat(inputs)) > _MOST:
        return None
    made = launch_of(opdef, kernel, Holding(fill))(*inputs, **attrs)
    return list(made) if isinstance(made, tuple) else [] if made is None else [made]


class Holding(Memory):
    """Host memory of which what is lent holds a number."""

    def __init__(self, fill: int) -> None:
        self._fill = fill

    def empty(self, shape: Sequence[int], dtype: np.dtype[Any]) -> Any:
        """Returns an array of that number."""
        return np.full(shape, self._fill, dtype)

    def holds(self, value: Any) -> bool:
        """Whether a value is an array of the host."""
        return HOST.holds(value)


class Lends:
    """What makes the arrays that a kernel gets beside inputs and outputs of known sizes: scratch, room, a count.

    Args:
        opdef: the op.
        kernel: one that has `scratch=`, `sizes=` or `bound=`.
    """

    def __init__(self, opdef: OpDef, kernel: Kernel) -> None:
        schema = opdef.schema
        self._opdef = opdef
        self._scratch: dict[str, Scratch] = kernel.options.get("scratch", {})
        self._sized = sized_of(opdef, kernel)
        self._counts = size_parameter((*schema.input_names, *schema.output_names, *schema.attr_names, *self._scratch))

    def __call__(
        self, memory: Memory, tensors: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> tuple[dict[str, Any], Counted | None]:
        """Returns arrays by the names of parameters, and the room of outputs whose sizes data decide, if any has some.

        Raises:
            LaunchError: a function of scratch gave no array and no spec.
            ShapeError, SizeError: as of `Sized.room`.
        """
        lent: dict[str, Any] = {}
        with memory.active():
            for name, one in self._scratch.items():
                made = one.made({**tensors, **attrs}, memory.holds)
                is_spec = isinstance(made, TensorSpec)
                lent[name] = memory.empty([size or 0 for size in made.shape], made.dtype) if is_spec else made
            if self._sized is None:
                return lent, None
            given = list(tensors.values())
            inferred = infer_buffers(self._opdef, given, attrs)
            room = self._sized.room(given, {**attrs, **lent}, inferred, empty=memory.empty)
            counts = lent[self._counts] = memory.zeros((room.count,), np.dtype("int64"))
        return lent, Counted(self._sized, room, counts, memory)


@dataclass(frozen=True)
class Counted:
    """The room of one call, and the array to which its kernel writes how many it filled."""

    sized: Sized
    room: Room
    counts: Any
    memory: Memory

    @property
    def buffers(self) -> list[Any]:
        """What the kernel fills, one entry per output that it makes."""
        return self.room.buffers

    def wanted(self, geometry: Geometry) -> list[Any]:
        """Returns the buffers that a launch has to fill: below a bound it need not fill any.

        Raises:
            LaunchError: it names a stream, after which nobody waits before reading what was filled.
        """
        if geometry.stream is not None:
            raise LaunchError(
                f"{self.sized.subject}, launch: expected no stream beside {self.sized.decides}, since what the kernel "
                f"filled is read on the current one, got {geometry.stream!r}; call the op inside of `with stream:`"
            )
        return self.buffers if self.sized.decides.option == "sizes" else []

    def results(self) -> list[Any]:
        """Returns what the kernel filled; waits for it.

        Raises:
            SizeError: as of `Room.results`.
        """
        with self.memory.active():
            return self.room.results(self.memory.to_host(self.counts).tolist())


def check_row(opdef: OpDef, kernel: Kernel) -> None:
    """Checks that a user's kernel says how it is launched and fills what it has to.

    Raises:
        LaunchError: it does not.
    """
    where = f"{opdef.subject}, CUDA kernel at {kernel.origin}"
    outputs = [opdef.schema.output_names[i] for i in opdef.schema.fresh_outputs]
    unfilled = [name for name in outputs if name not in kernel.parameters]
    if unfilled:
        raise LaunchError(
            f"{where}: expected a parameter for every output, got none for {', '.join(map(repr, unfilled))}; "
            "a CUDA kernel returns nothing, it fills what it is given"
        )
    if kernel.options.get("launch") is None:
        named = (outputs or list(opdef.schema.output_names))[0]
        raise LaunchError(
            f"{where}: expected a launch shape, got none; pass launch=opsdk.launch.elementwise({named!r}), or another "
            "of opsdk.launch"
        )


def is_needed(geometry: Geometry, written: Sequence[Any], subject: str) -> bool:
    """Whether there is anything to launch: a grid of no block is right where nothing has to be written.

    Raises:
        LaunchError: no block would run, and something has to be written.
    """
    if all(geometry.grid):
        return True
    if any(item.size for item in written):
        raise LaunchError(
            f"{subject}, launch: grid expected sizes from 1, got {geometry.grid} with elements to write; "
            "round up: -(-size // threads)"
        )
    return False


def _seen(shape: LaunchShape, name: str, array: Any) -> Any:
    """Returns an array as the kernel sees it; a new shape of what is not contiguous is a copy."""
    wanted = shape.view_shape(name, array.shape)
    return array if wanted == array.shape else array.reshape(wanted)


def _write_back(array: Any, seen: Any) -> None:
    """Copies what a kernel wrote into a copy of an input to the input itself."""
    if seen is not array and not np.may_share_memory(array, seen):
        array[...] = seen.reshape(array.shape)
