"""Values of a row against those of the reference in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gradcheck.model.dtypes import resolution
from opsdk.core.errors import ShapeError
from opsdk.verify.inputs.calls import Call, called, element, flat, is_float, is_inexact, paired, result_names
from opsdk.verify.inputs.sampling import GREAT
from opsdk.verify.kernels.agreement import LAST, Difference, measure
from opsdk.verify.kernels.launch import results
from opsdk.verify.kernels.rounding import Rounding
from opsdk.verify.session import Case

_SHORT, _LONG = (np.dtype("float32"), np.dtype("complex64")), np.dtype("float64")


def check_values(case: Case, made: list[Any], units: float) -> None:
    """Compares what a kernel made with the reference on the same values in float64."""
    opdef, call = case.opdef, case.call
    reference = opdef.kernels.reference()
    is_reference = case.kernel is reference
    long = call.cast(_LONG)
    if is_reference and all(array.dtype not in _SHORT for array in flat(call.inputs)):
        return  # the reference in float64 is the truth

    def run(there: Call) -> list[Any]:
        return results(opdef, reference, there.inputs, there.attrs)

    try:
        truth = run(long)
    except Exception:  # written for one dtype only
        long, truth = call, run(call)
    if not opdef.traits.deterministic:
        return
    floats = [array.dtype for array in (*flat(call.inputs), *flat(made)) if is_inexact(array)]
    eps = max([resolution(dtype) for dtype in floats], default=resolution(_LONG))
    rounding = Rounding(run, long, eps, case.session.seed, opdef.constant_inputs(), truth)
    moved = rounding.together
    names = result_names(opdef)
    made = [None if want is None else got for got, want in zip(made, truth, strict=True)]  # of what nobody wants
    for k, (name, got, want) in enumerate(paired(names, made, truth)):
        if got.shape != want.shape:
            case.did("value")
            what = f"{opdef.subject}, {called(opdef, name)}"
            message = f"{what}: expected shape {want.shape} like the reference, got {got.shape}"
            case.find(f"value.{name}", message, code=ShapeError.default_code)
        elif is_inexact(want) or not is_reference:
            # Far out, what is lost beside 1 is no fault: what is meant to show there is an overflow.
            floor = 1.0 if call.reason == GREAT else 0.0
            found = measure(got, want, moved[k], eps, units, floor)
            if found.count and moved[k] is not None:  # inputs that moved together may have changed nothing by chance
                found = measure(got, want, rounding.apart[k], eps, units, floor)
            if found.count and moved[k] is not None:  # a computation whose terms cancel loses digits by itself
                more = rounding.lost[k] if k < len(rounding.lost) else None
                if is_reference and more is not None:  # it is to lose no more than its inputs have digits
                    more = np.minimum(more, eps * _largest(long, want.shape))
                found = measure(got, want, _greater(rounding.apart[k], more), eps, units, floor)
            _record(case, name, found, got.shape)


def _largest(call: Call, shape: tuple[int, ...]) -> Any:  # Any: an array, or 0.0 where no input has the shape
    """Returns for each element of an output how great the inputs are there."""
    sizes = [np.abs(array) for array in flat(call.inputs) if is_float(array) and array.shape == shape]
    return np.max(sizes, axis=0) if sizes else 0.0


def _greater(moved: np.ndarray | None, more: np.ndarray | None) -> np.ndarray | None:
    return moved if moved is None or more is None or more.shape != moved.shape else np.maximum(moved, more)


def _record(case: Case, name: str, found: Difference, shape: Any) -> None:
    opdef, call, line = case.opdef, case.call, case.line
    case.did("value")
    if not (found.count and call.is_far):
        line.worst = max(line.worst or 0.0, found.error)
    if not found.count:
        return
    place = f"{name}{list(found.index)}" if found.index else name
    given = element(opdef.schema.input_names, call.inputs, shape, found.index)
    place += f" at {given}" if given else ""
    against = "float64 gives" if case.kernel is opdef.kernels.reference() else "the reference gives"
    case.find(
        f"value.{name}",
        f"{opdef.subject}, {called(opdef, name)}: wrong in {found.count} of {math.prod(shape)} "
        f"elements, worst {place}: this row gives {found.got:.9g}, {against} {found.expected:.9g}",
        index=found.index,
        analytic=None if isinstance(found.got, complex) else found.got,
        numeric=None if isinstance(found.expected, complex) else found.expected,
        cause=LAST if found.is_last else None,
    )
