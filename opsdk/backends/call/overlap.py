"""Memory that a call changes in place: each element has its own place, and what else the call reads lies apart.

What overlaps with a changed input is handed to the kernel as a copy of what it was before the call, so that kernels of
all languages, which read and write in orders of their own, give one result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opsdk.backends.call.normalise import shares
from opsdk.core.errors import InPlaceError
from opsdk.core.fast import FAST
from opsdk.core.nested import named, refill
from opsdk.core.steps import may_share
from opsdk.define.opdef import OpDef


# Any, in this file: an array of NumPy's or CuPy's, which has no read-only ones; a list of them or None.
def check_changeable(array: Any, subject: str) -> None:
    """Checks that an array can be changed in place: each element is its own, and may be written to.

    Raises:
        InPlaceError: it is read-only, or elements share memory, as those of `np.broadcast_to` and of sliding windows.
    """
    got, flags = "", array.flags
    if not (flags.c_contiguous or flags.f_contiguous) and may_share(array.shape, array.strides, array.itemsize):
        got = f"one whose elements share memory, going by its strides {tuple(array.strides)}"
    elif not getattr(flags, "writeable", True):
        got = "a read-only one"
    if got:
        raise InPlaceError(
            f"{subject}: expected an array that can be changed in place, got {got}; change a copy: x.copy(), x.clone()"
        )


def apart(opdef: OpDef, inputs: Sequence[Any]) -> Sequence[Any]:
    """Returns the inputs of a call with a copy of each that shares memory with one that the op changes in place.

    Args:
        opdef: the op.
        inputs: one entry per tensor input.

    Raises:
        InPlaceError: two inputs that the op changes share memory, or one does of which an output may be a view.
    """
    positions = opdef.schema.mutated_inputs
    if not positions or (FAST is not None and not FAST.may_overlap(inputs, positions)):
        return inputs
    entries = [named(name, value) for name, value in zip(opdef.schema.input_names, inputs, strict=True)]
    changed = [pair for position in positions for pair in entries[position]]
    for i, (name, array) in enumerate(changed):
        for other, before in changed[:i]:
            if array.size and shares(array, before):
                raise InPlaceError(
                    f"{opdef.subject}: inputs {other!r} and {name!r} expected memory of their own, since the op "
                    "changes both in place, got arrays that overlap; give a copy of one: x.copy(), x.clone()"
                )
    schema = opdef.schema

    def own(position: int, name: str, array: Any) -> Any:
        source = next((source for source, other in changed if array.size and shares(array, other)), None)
        viewed = [schema.output_names[i] for i in schema.fresh_outputs if position in schema.aliased_sources(i)]
        if source is not None and viewed:
            raise InPlaceError(
                f"{opdef.subject}, input {name!r}: expected memory apart from that of {source!r}, which the op changes "
                f"in place, since output {viewed[0]!r} may be a view of it, got an array that overlaps; give a copy of "
                "one"
            )
        return array if source is None else array.copy(order="K")

    return [
        value if i in positions else refill(value, (own(i, *pair) for pair in entries[i]))
        for i, value in enumerate(inputs)
    ]
