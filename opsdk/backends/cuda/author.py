"""The launch of a user's CUDA kernel, compiled by Numba on first launch, on CuPy's current stream.

The kernel gets arrays of the device without a copy, through `__cuda_array_interface__`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from opsdk.backends.call.buffers import allocate
from opsdk.backends.call.language import Launch
from opsdk.backends.call.one_shape import one_shape
from opsdk.backends.cuda.launch import BoundKernel, at_one_place, failures
from opsdk.backends.numba.cpu import check_unchanged, reads_as_registered
from opsdk.core.errors import LaunchError
from opsdk.core.nested import each, flat
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.launch import Geometry, LaunchShape
from opsdk.define.opdef import OpDef


# Any, in this file: arrays of NumPy or CuPy, attribute values.
def launch_of(opdef: OpDef, kernel: Kernel) -> Launch:
    """Returns a launch that gives the kernel its arguments in its own order.

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
    scratch = kernel.options.get("scratch", {})
    shaped = one_shape(opdef)

    def launch(*values: Any, **attrs: Any) -> Any:
        values = values if shaped is None else tuple(shaped(values))
        memory, given = at_one_place(values, subject)
        made = allocate(opdef, given, attrs, fresh, memory.empty)
        tensors = dict(zip(inputs, given, strict=True))
        tensors.update((schema.output_names[i], buffer) for i, buffer in zip(fresh, made, strict=True))
        geometry = shape.geometry({**tensors, **attrs})
        if is_needed(geometry, [*made, *flat([tensors[name] for name in mutated])], subject):
            seen = {name: each(value, partial(_seen, shape, name)) for name, value in tensors.items() if name in names}
            room = {name: memory.empty(*one.spec({**tensors, **attrs})) for name, one in scratch.items()}
            with failures(opdef, kernel.origin, subject), memory.active():
                run(geometry, [{**attrs, **room, **seen}[name] for name in names])
            for name in mutated:
                if name in seen:
                    for array, changed in zip(flat(tensors[name]), flat(seen[name]), strict=True):
                        _write_back(array, changed)
        if given is not values:
            for i in schema.mutated_inputs:  # back to where the caller has them
                for array, changed in zip(flat(values[i]), flat(given[i]), strict=True):
                    array[...] = memory.to_host(changed)
            made = [memory.to_host(array) for array in made]
        return made[0] if len(made) == 1 else tuple(made) if made else None

    return launch


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
