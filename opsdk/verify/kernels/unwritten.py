"""Elements that a loop leaves as they were: a trial of a compiled row in two different memories."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.backends.call.unwanted import unwanted
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, flat, flat_names
from opsdk.verify.kernels.bounds import run_text


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
    left = {schema.output_names[i] for i in unwanted(opdef, call.inputs, call.attrs)}
    names = flat_names([schema.output_names[i] for i in schema.fresh_outputs], texts[0])
    for name, low, high in zip(names, flat(texts[0]), flat(texts[1]), strict=True):
        differs = np.asarray((low != high) & ~((low != low) & (high != high)))
        if name not in left and differs.any():
            return name, differs
    return None
