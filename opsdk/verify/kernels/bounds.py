"""Bounds: a compiled loop that leaves its arrays corrupts memory, or leaves elements out; it is tried where that shows.

How is up to its language: the Python text of a Numba row raises, a C row is run into memory with a margin around it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.backends.call.buffers import unneeded
from opsdk.backends.call.language import language_of
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, copies, flat, flat_names

_REMEDY = "compiled it reads or overwrites what lies there: end its loops at the sizes of its arrays"


def out_of_bounds(opdef: OpDef, kernel: Kernel, call: Call) -> str | None:
    """Returns what an IndexError says that the trial of a compiled row raises on a call; empty where none is.

    None says that it could not be tried.

    Other exceptions tell nothing: a kernel may use what only its compiler understands.
    """
    try:
        made = run_text(opdef, kernel, call, 0)
    except IndexError as error:
        return f"{error}; {_REMEDY}"
    except Exception:
        return None
    return None if made is None else ""


# Any: one entry per output that the kernel makes.
def run_text(opdef: OpDef, kernel: Kernel, call: Call, fill: int) -> list[Any] | None:
    """Tries a compiled row on memory that holds `fill`; None where that is not possible, or slow."""
    return language_of(kernel).trial(opdef, kernel, copies(call.inputs), complete_attrs(opdef, call.attrs), fill)


def unwritten(opdef: OpDef, kernel: Kernel, call: Call) -> tuple[str, np.ndarray] | None:
    """Returns the first output of which elements depend on what its memory held before, and which they are."""
    schema = opdef.schema
    if any(schema.outputs[i].name not in kernel.parameters for i in schema.fresh_outputs):
        return None
    texts: list[list[Any]] = []
    for fill in (0, 1):
        try:
            made = run_text(opdef, kernel, call, fill)
        except Exception:  # what only the compiler understands tells nothing
            return None
        if made is None:
            return None
        texts.append(made)
    left = {schema.output_names[i] for i in unneeded(opdef, call.inputs, call.attrs)}
    names = flat_names([schema.output_names[i] for i in schema.fresh_outputs], texts[0])
    for name, low, high in zip(names, flat(texts[0]), flat(texts[1]), strict=True):
        differs = np.asarray((low != high) & ~((low != low) & (high != high)))
        if name not in left and differs.any():
            return name, differs
    return None
