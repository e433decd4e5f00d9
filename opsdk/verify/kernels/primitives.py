"""Primitives of users that an op's expression is made of: compiled, they are as accurate as they promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.language import missing_packages
from opsdk.backends.vmath.table import numba_functions
from opsdk.core.lazy import slow
from opsdk.define.call import complete_attrs
from opsdk.expr.node import topological
from opsdk.expr.primitives.accuracy import drawn, errors, least_of
from opsdk.expr.primitives.entry import PRIMITIVES, Primitive
from opsdk.expr.scalar import scalar_of, static_of
from opsdk.verify.session import Session

_DTYPES = ("float32", "float64")
_TRIED = 20_000  # operands of each primitive and dtype


def check_primitives(session: Session) -> None:
    """Holds the compiled functions of a user's primitives to their promise, against what is right by definition."""
    scalar = scalar_of(session.opdef)
    rows = [kernel for kernel in session.opdef.kernels if kernel.source is scalar and kernel.key.place == "cpu"]
    row = next((kernel for kernel in rows if kernel.language == "numba" and session.wants(kernel)), None)
    if scalar is None or row is None or missing_packages(row):
        return
    found: dict[str, None] = {}
    for call in session.calls:
        wanted = scalar.expression(static_of(complete_attrs(session.opdef, call.attrs))).wanted
        found.update(dict.fromkeys(node.op for node in topological(wanted)))
    for primitive in [known for name in found if (known := PRIMITIVES.get(name)) is not None and known.public]:
        for place, dtype in enumerate(map(np.dtype, _DTYPES)):
            case = session.case(row, session.calls[0], dtype)
            case.did("accuracy")
            said = _worse(primitive, dtype, place)
            if said:
                case.find(
                    f"accuracy.{primitive.function}", f"{session.opdef.subject}: {said}", at=str(primitive.origin)
                )


def _worse(primitive: Primitive, dtype: np.dtype[Any], place: int) -> str:
    """Returns where a compiled function is further off than promised; empty where it is not."""
    assert primitive.ulp is not None
    operands = [a.astype(dtype) for a in drawn(primitive.operands, primitive.domain or {}, _TRIED)]
    wide = [a.astype(np.float64) for a in operands]
    with np.errstate(all="ignore"):
        right = np.broadcast_to(primitive.meaning(np, *wide), wide[0].shape).astype(np.float64)
        got = _compiled(primitive, dtype, operands)
        off = errors(got, right, dtype, least_of(primitive, wide))
    worst = int(np.argmax(off))
    if off[worst] <= primitive.ulp[place]:
        return ""
    at = ", ".join(f"{name}={float(a[worst])!r}" for name, a in zip(primitive.operands, operands, strict=True))
    return (
        f"primitive {primitive.function!r} expected within {primitive.ulp[place]:g} ulp of {dtype.name}, as promised, "
        f"got {off[worst]:.3g} at {at}: {float(got[worst])!r} for {float(right[worst])!r}; mend its body, or promise "
        "less"
    )


def _compiled(primitive: Primitive, dtype: np.dtype[Any], operands: Sequence[np.ndarray]) -> np.ndarray:
    """Returns what the function gives in a kernel."""
    function = numba_functions(dtype, [primitive.name])[primitive.name]
    compiled = slow("numba").vectorize(nopython=True)(
        {
            1: lambda a: function(a),
            2: lambda a, b: function(a, b),
            3: lambda a, b, c: function(a, b, c),
        }[primitive.arity]
    )
    return np.asarray(compiled(*operands))
