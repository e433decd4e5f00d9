"""Bounds: a compiled loop that leaves its arrays corrupts memory, so its Python text is run first, where it raises."""

from __future__ import annotations

import numpy as np

from opsdk.backends.buffers import allocate
from opsdk.define.call import complete_attrs
from opsdk.define.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.calls import Call, copies, flat

_MOST = 4096  # elements; Python is slow, and a loop that is wrong at its end is wrong at small sizes too


def out_of_bounds(opdef: OpDef, kernel: Kernel, call: Call) -> str | None:
    """Returns what an IndexError says that the Python text of a compiled row raises on a call, or None.

    Other exceptions tell nothing: a kernel may use what only its compiler understands.
    """
    function = getattr(kernel.source, "py_func", kernel.source)
    if kernel.language != "numba" or not callable(function) or sum(a.size for a in flat(call.inputs)) > _MOST:
        return None
    schema = opdef.schema
    attrs = complete_attrs(opdef, call.attrs)
    inputs = copies(call.inputs)
    buffers = tuple(i for i in schema.fresh_outputs if schema.outputs[i].name in kernel.parameters)
    try:
        made = allocate(opdef, inputs, attrs, buffers)
        values = {**dict(zip(schema.input_names, inputs, strict=True)), **attrs}
        values.update({schema.outputs[i].name: buffer for i, buffer in zip(buffers, made, strict=True)})
        with np.errstate(all="ignore"):
            function(*[values[name] for name in kernel.parameters])
    except IndexError as error:
        return str(error)
    except Exception:
        return None
    return None
