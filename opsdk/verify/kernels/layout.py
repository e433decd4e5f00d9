"""Memory layouts: a row must not care how its inputs lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from gradcheck.checks.layouts import fortran_copy, reversed_copy, strided_copy
from gradcheck.model.dtypes import as_float64, resolution
from gradcheck.numeric.tolerance import gradients_close
from opsdk.define.kernel.kernel import Kernel
from opsdk.verify.inputs.calls import Call, Values, each, flat, is_float, paired, refill
from opsdk.verify.kernels.launch import label, launch
from opsdk.verify.kernels.rows import serves
from opsdk.verify.session import Session

_CALLS = 2  # with the most dimensions first; a layout that is misread is misread at any size


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "transposed": fortran_copy,
    "strided": strided_copy,
    "reversed": reversed_copy,
}


def check_layouts(session: Session) -> None:
    """Runs every row on inputs that are no contiguous arrays, and compares with contiguous ones of the same values."""
    opdef = session.opdef
    if opdef.schema.mutated_inputs or not opdef.traits.deterministic:
        return
    ranked = sorted(session.calls, key=lambda call: -max((a.ndim for a in flat(call.inputs) if a.size > 1), default=0))
    calls = [call for call in ranked[:_CALLS] if any(a.size > 1 and a.ndim for a in flat(call.inputs))]
    for kernel in opdef.kernels:
        if kernel.key.place == "cpu" and session.wants(kernel):
            kernel = opdef.kernels.loaded(kernel)
            for call in calls:
                there = call if kernel.key.dtype is None else call.cast(kernel.key.dtype)
                if serves(opdef, kernel, there):
                    _check_row(session, kernel, there)


def _check_row(session: Session, kernel: Kernel, call: Call) -> None:
    opdef = session.opdef
    row = label(kernel, call.float_dtype)
    try:
        expected = launch(opdef, kernel, call.inputs, call.attrs)
    except Exception:  # said where the rows are run
        return
    session.did(row, "layout")
    for what, inputs in _laid_out(call):
        there = replace(call, inputs=inputs)
        try:
            made = launch(opdef, kernel, there.inputs, there.attrs)
        except Exception as error:
            message = f"{opdef.subject}, row {kernel}: expected to accept {what}, "
            message += f"raised {type(error).__name__}: {error}"
            session.find(row, "layout", message, call, at=str(kernel.origin))
            return
        for name, want, got in paired(opdef.schema.output_names, expected, made):
            if not _agree(want, got):
                message = (
                    f"{opdef.subject}, output {name!r}: expected what contiguous inputs give, got other values for "
                    f"{what}; index by element, not by memory"
                )
                session.find(row, f"layout.{name}", message, call, at=str(kernel.origin))


def _laid_out(call: Call) -> Iterator[tuple[str, Values]]:
    """Yields inputs of a call in other layouts, with words for them: all alike, and every other one."""
    for word, change in LAYOUTS.items():
        yield f"{word} inputs in memory", each(call.inputs, change)
    arrays = flat(call.inputs)
    if len(arrays) > 1:
        mixed = [fortran_copy(array) if i % 2 else array for i, array in enumerate(arrays)]
        yield "transposed inputs beside contiguous ones", refill(call.inputs, mixed)


def _agree(want: np.ndarray, got: np.ndarray) -> bool:
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    if not is_float(want) or not want.size:
        return bool(np.array_equal(want, got))
    return gradients_close(as_float64(got), as_float64(want), resolution(want.dtype), 1.0)
