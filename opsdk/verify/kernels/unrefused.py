"""Positions that the reference refuses and a compiled kernel takes: it would read memory that is not its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from opsdk.backends.call.language import language_of
from opsdk.define.call import complete_attrs
from opsdk.verify.inputs.calls import Call
from opsdk.verify.inputs.domains import domain_of, ruled
from opsdk.verify.kernels.launch import results
from opsdk.verify.session import Session


def tell_unrefused(session: Session) -> None:
    """Warns of an input that holds positions of another, as `domain=` says, which no check holds a call to.

    That is tried: with a position outside, the reference raises, and the op's check, which alone is asked before a
    compiled kernel runs, says nothing.
    """
    opdef = session.opdef
    languages = dict.fromkeys(
        kernel.language
        for kernel in opdef.kernels
        if not (language_of(kernel).reads_python or language_of(kernel).is_derived or kernel.options.get("checks"))
    )
    if not languages or opdef.gradient_of is not None:
        return
    for name, other, call in _outside(session):
        attrs = complete_attrs(opdef, call.attrs)
        try:
            if opdef.check is not None:
                opdef.check(call.inputs, attrs)
        except Exception:  # refused, in whatever words
            continue
        try:
            results(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
        except Exception:
            session.warn(
                f"{opdef.name}: a position in {name!r} outside of {other!r} is refused by the reference, and by "
                f"nothing before its {' or '.join(languages)} kernel runs, which may read beyond its arrays; refuse it "
                f"in @{opdef.schema.name}.check"
            )


def _outside(session: Session) -> Iterator[tuple[str, str, Call]]:
    """Yields for each input that holds positions a call with positions outside, and of which input they are."""
    opdef, names = session.opdef, session.opdef.schema.input_names
    for i in ruled(opdef):
        others = [other for other in domain_of(opdef, names[i]).of if other in names]
        for call in session.calls if others else ():
            value, other = call.inputs[i], call.inputs[names.index(others[0])]
            if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and value.size and hasattr(other, "shape"):
                beyond = np.full_like(value, min(other.size + 1, np.iinfo(value.dtype).max))
                yield names[i], others[0], replace(call, inputs=[*call.inputs[:i], beyond, *call.inputs[i + 1 :]])
                break
