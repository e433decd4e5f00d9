"""The Python text of a Numba row, run by Python, where an index that is wrong raises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.buffers import allocate
from opsdk.backends.call.one_shape import one_shape
from opsdk.backends.vmath import overloads
from opsdk.core.nested import flat
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

_MOST = 4096  # elements; Python is slow, and a loop that is wrong at its end is wrong at small sizes too


# Any: one entry per input or output, an array, a list of arrays or None; attribute values.
def run_text(
    opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], fill: int
) -> list[Any] | None:
    """Runs the text into outputs that hold `fill`, and returns those; None where there are too many elements."""
    function: Any = getattr(kernel.source, "py_func", kernel.source)
    if not callable(function) or sum(array.size for array in flat(inputs)) > _MOST:
        return None
    overloads.register()  # compiled functions that the text calls may use opsdk.vmath
    schema = opdef.schema
    shaped = one_shape(opdef)
    inputs = inputs if shaped is None else list(shaped(inputs))
    buffers = tuple(i for i in schema.fresh_outputs if schema.outputs[i].name in kernel.parameters)
    made = allocate(opdef, inputs, attrs, buffers)
    for buffer in flat(made):
        buffer[...] = fill
    values = {**dict(zip(schema.input_names, inputs, strict=True)), **attrs}
    values.update({schema.outputs[i].name: buffer for i, buffer in zip(buffers, made, strict=True)})
    with np.errstate(all="ignore"):
        function(*[values[name] for name in kernel.parameters])
    return made
