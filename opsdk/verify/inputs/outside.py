"""Values outside of a domain that nobody declared: a reference that gives nan where its inputs are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.verify.inputs.calls import Call, element, flat, flat_names, is_float
from opsdk.verify.session import Session


# Any: an array, or a sequence of what a kernel made.
def tell_nan(session: Session, call: Call, made: Any) -> None:
    """Says once that a default sample lies where the op gives nan: there is no derivative to judge there."""
    opdef = session.opdef
    if session.gives_nan or call.declared or call.extra or opdef.gradient_of is not None:
        return
    names = flat_names(opdef.schema.input_names, call.inputs)
    floating = {name: array for name, array in zip(names, flat(call.inputs), strict=True) if is_float(array)}
    if not floating or not all(np.isfinite(array).all() for array in floating.values()):
        return
    first = next(iter(floating))
    for output in map(np.asarray, flat(made if isinstance(made, (list, tuple)) else [made])):
        if not is_float(output) or not np.isnan(output).any():
            continue
        where = np.argwhere(np.isnan(output))
        index = tuple(int(i) for i in where[0])
        place = element(opdef.schema.input_names, call.inputs, output.shape, index)
        place = f", first at {place}" if place else ""
        session.gives_nan = True
        session.warn(
            f"{opdef.name}: gives nan in {len(where)} of {output.size} elements of sample {call}"
            f"{place}; nothing is judged there, declare domain={{{first!r}: (low, high)}}"
        )
        return
