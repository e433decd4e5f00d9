"""Whole numbers: an op of one expression beside the function that it was read from, run by NumPy on their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.define.call import complete_attrs
from opsdk.define.schema.binding import reorder
from opsdk.expr.scalar import ScalarFunction
from opsdk.verify.inputs.calls import Call
from opsdk.verify.kernels.launch import launch
from opsdk.verify.session import Session

# Small numbers and the ends of each dtype, where a value that is wrapped, or a dtype that is too narrow, shows.
_NUMBERS = (
    np.array([True, False, True]),
    np.array([0, 1, 3, 200, 255], np.uint8),
    np.array([-(2**31), -3, 2, 2**31 - 1], np.int32),
)
_ROUNDED = 1e-12  # of a value: one ufunc may round unlike another


def check_whole_numbers(session: Session) -> None:
    """Compares values and dtypes for arrays of bools and integers; what either side refuses is not compared."""
    opdef = session.opdef
    reference = opdef.kernels.reference()
    if reference is None or reference.form != ScalarFunction.kernel_form:
        return
    if opdef.function is None or opdef.gradient_of is not None or not session.calls:
        return
    written = reorder(opdef.function, opdef.schema.input_names)
    attrs = session.calls[0].attrs
    for numbers in _NUMBERS:
        arrays = [np.roll(numbers, i) for i in range(len(opdef.schema.inputs))]
        call = Call(arrays, attrs, f"whole numbers of {numbers.dtype}", False)
        try:
            expected = written(*[array.copy() for array in arrays], **complete_attrs(opdef, attrs))
            got = launch(opdef, reference, arrays, attrs)
        except Exception:  # what is refused gives no number
            continue
        wanted = list(expected) if isinstance(expected, tuple) else [expected]
        if len(wanted) == len(got):
            _compare(session, call, got, wanted)


def _compare(session: Session, call: Call, made: list[Any], wanted: list[Any]) -> None:  # Any: arrays and numbers
    opdef = session.opdef
    row = session.reference_row(call.float_dtype)
    session.did(row, "value")
    for name, got, want in zip(opdef.schema.output_names, made, wanted, strict=True):
        if not isinstance(want, (np.ndarray, np.generic)):
            continue  # a number of Python, which takes the dtype of what is beside it
        if got.dtype == want.dtype and np.allclose(got, want, rtol=_ROUNDED, atol=0.0, equal_nan=True):
            continue
        session.find(
            row,
            f"value.{name}",
            f"{opdef.subject}, output {name!r}: for {call.reason} expected {want.tolist()} of {want.dtype}, which"
            f" NumPy gives for the function that was written, got {got.tolist()} of {got.dtype}",
            call,
        )
