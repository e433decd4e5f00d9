"""Primitives of users: compiled, they are as accurate as they promise, everywhere in their domain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.backends.c.emit import c_source
from opsdk.backends.cuda.runtime import can_run
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel, KernelId
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.expr.node import topological
from opsdk.expr.primitives.accuracy import errors, everywhere, least_of
from opsdk.expr.primitives.entry import PRIMITIVES, Primitive
from opsdk.expr.primitives.own import op_of
from opsdk.expr.scalar import scalar_of, static_of
from opsdk.verify.kernels.exact import exact_values
from opsdk.verify.kernels.launch import launch
from opsdk.verify.session import Case, Session

_DTYPES = ("float32", "float64")
_TRIED = 20_000  # operands of each kernel and dtype, beside the special ones
_EXACT = 120  # of the worst, and as many of all: those that are computed to many digits


def op_of_primitive(primitive: Primitive) -> Op:
    """Returns the op that a primitive is alone, with a kernel in C, where it has to be as accurate too."""
    op = op_of(primitive)
    kernels = op.opdef.kernels
    if not any(kernel.language == "c" for kernel in kernels):
        if primitive.is_foreign:  # CUDA has none of it
            kernels.restore([kernel for kernel in kernels if kernel.key.place == "cpu"])
        op.kernel("cpu", language="c", source=c_source(op))
        (made,) = (kernel for kernel in kernels if kernel.language == "c")
        kernels.add(replace(made, origin=op.opdef.origin))
    return op


def check_primitives(session: Session) -> None:
    """Holds what an op's kernels make of users' primitives to what these promise, against what is right."""
    scalar = scalar_of(session.opdef)
    if scalar is None:
        return
    found: dict[str, None] = {}
    for call in session.calls:
        wanted = scalar.expression(static_of(complete_attrs(session.opdef, call.attrs))).wanted
        found.update(dict.fromkeys(node.op for node in topological(wanted)))
    for primitive in [known for name in found if (known := PRIMITIVES.get(name)) is not None and known.public]:
        alone = op_of_primitive(primitive).opdef
        told = [
            said
            for kernel in session.opdef.kernels
            if session.wants(kernel) and (kernel.key.place == "cpu" or can_run())
            if (own := _same_kind(session.opdef, kernel, alone)) is not None
            for place, name in enumerate(_DTYPES)
            if (said := _judged(session, kernel, primitive, (alone, own), place, np.dtype(name)))
        ]
        if told:
            session.notes[f"{session.opdef.name}, {primitive.function}: {', '.join(told)}"] = None


def _same_kind(opdef: OpDef, kernel: Kernel, alone: OpDef) -> Kernel | None:
    """Returns the kernel of a primitive alone that is made as one of an op is; None for what is made by others."""
    if alone is opdef:
        return None if kernel.is_reference else kernel
    if kernel.is_reference or kernel.source is not scalar_of(opdef):
        return None
    kind = kernel.key.place, kernel.language
    return next((each for each in alone.kernels if (each.key.place, each.language) == kind), None)


def _judged(
    session: Session, kernel: Kernel, primitive: Primitive, alone: tuple[OpDef, Kernel], at: int, dtype: np.dtype[Any]
) -> str:
    """Records what is wrong with a kernel; returns how accurate it is, empty where it cannot run here."""
    assert primitive.ulp is not None
    promised = primitive.ulp[at]
    case = Case(session, str(KernelId.of(kernel, dtype)), None, str(primitive.origin), kernel)
    operands = everywhere(primitive.operands, primitive.domain or {}, dtype, _TRIED)
    try:
        (got,) = launch(*alone, operands, {})
    except Exception:  # told where all kernels are run
        return ""
    case.did("accuracy")
    off, right, is_exact = _errors(primitive, operands, got, dtype)
    worst = int(np.argmax(off))
    if off[worst] > promised:
        where = ", ".join(f"{n}={float(a[worst])!r}" for n, a in zip(primitive.operands, operands, strict=True))
        case.find(
            f"accuracy.{primitive.function}",
            f"{session.opdef.subject}: primitive {primitive.function!r} expected within {promised:g} ulp of "
            f"{dtype.name}, as promised, got {off[worst]:.3g} at {where}: {float(got[worst])!r} for "
            f"{float(right[worst])!r}; mend its body, promise less with ulp=, or name its domain=",
        )
    against = "" if is_exact else ", against float64 itself"
    return f"{kernel.language} {off[worst]:.2g} of {promised:g} ulp of {dtype.name} promised{against}"


def _errors(
    primitive: Primitive, operands: Sequence[np.ndarray], got: np.ndarray, dtype: np.dtype[Any]
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Returns the errors in units in the last place, what is right, and whether that is known to many digits.

    What is right in float64 says where to look: there, and at as many other operands, it is computed to many digits.
    """
    wide = [each.astype(np.float64) for each in operands]
    with np.errstate(all="ignore"):
        right = np.broadcast_to(primitive.meaning(np, *wide), wide[0].shape).astype(np.float64)
        least = least_of(primitive, wide)
        off = errors(got, right, dtype, least)
        off[_turned(operands, got, right, least)] = np.inf
        ordinary = np.flatnonzero(np.all([np.isfinite(each) & (each != 0) for each in wide], axis=0))
        if not ordinary.size:
            return off, right, False
        worst = ordinary[np.argsort(off[ordinary], kind="stable")[-_EXACT:]]
        places = np.union1d(worst, ordinary[np.linspace(0, ordinary.size - 1, _EXACT).astype(int)])
        exact, rest, known = exact_values(primitive, [each[places] for each in wide])
        if not known.any():
            return off, right, False
        judged = places[known]
        right[judged] = exact[known]
        finer = errors(got[judged], right[judged], dtype, least[judged], rest[known])
        off[np.setdiff1d(ordinary, places)] = 0.0  # these are nearer to float64 than the worst
        off[judged] = finer
    return off, right, True


def _turned(operands: Sequence[np.ndarray], got: np.ndarray, right: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Returns where the zero of operands that are zeros or infinite has the wrong sign."""
    special = np.all([(each == 0) | np.isinf(each) for each in operands], axis=0)
    return np.asarray(special & (got == 0) & (right == 0) & (least == 0) & (np.signbit(got) != np.signbit(right)))
