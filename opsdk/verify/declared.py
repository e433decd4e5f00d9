"""Declared traits that need no derivative: linearity."""

from __future__ import annotations

import numpy as np

from gradcheck.model.dtypes import resolution
from opsdk.verify.inputs.calls import Call, flat, is_float, paired, refill
from opsdk.verify.kernels.launch import launch
from opsdk.verify.session import Session

_UNITS = 1024.0  # rounding units: sums of products in another order


def check_linear(session: Session) -> None:
    """Holds an op that was declared linear to f(2x - 3z) = 2 f(x) - 3 f(z), in all floating inputs together."""
    opdef = session.opdef
    if not opdef.traits.linear:
        return
    rng = np.random.default_rng([session.seed, 13])
    for call in session.calls:
        arrays = flat(call.inputs)
        others = [np.asarray(rng.standard_normal(a.shape)).astype(a.dtype) if is_float(a) else a for a in arrays]
        mixed = [np.asarray(2 * a - 3 * b) if is_float(a) else a for a, b in zip(arrays, others, strict=True)]
        at_x, at_z, at_both = (_run(session, call, point) for point in (arrays, others, mixed))
        row = session.reference_row(call.float_dtype)
        session.did(row, "linear")
        for (name, x, z), both in zip(paired(opdef.schema.output_names, at_x, at_z), flat(at_both), strict=True):
            if not is_float(x) or not both.size:
                continue
            expected = 2 * x - 3 * z
            peak = np.max(np.abs(2 * x) + np.abs(3 * z), initial=1.0)
            if not np.all(np.abs(both - expected) <= _UNITS * resolution(both.dtype) * peak):
                worst = np.unravel_index(int(np.argmax(np.abs(both - expected))), both.shape)
                message = (
                    f"{opdef.subject}, output {name!r}: declared linear, expected f(2x - 3z) = 2 f(x) - 3 f(z), "
                    f"got {both[worst]:.6g} for {expected[worst]:.6g}; remove linear=True"
                )
                session.find(row, f"linear.{name}", message, call, index=tuple(int(i) for i in worst))


def _run(session: Session, call: Call, arrays: list[np.ndarray]) -> list[object]:
    opdef = session.opdef
    return launch(opdef, opdef.kernels.reference(), refill(call.inputs, arrays), call.attrs)
