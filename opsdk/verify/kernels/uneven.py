"""Infer rules where two lengths differ that are equal in every sample: axes that change places show nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.backends.call import normalise
from opsdk.backends.call.buffers import infer
from opsdk.core.errors import OpsdkError
from opsdk.define.call import complete_attrs
from opsdk.define.gradient import GradientInfer
from opsdk.verify.inputs.calls import Call, each, flat
from opsdk.verify.inputs.domains import broken
from opsdk.verify.kernels.launch import plan_of
from opsdk.verify.session import Session


def check_uneven(session: Session) -> None:
    """Holds the infer rule to a run of the reference with one axis of square samples cut.

    What the op, its rule or its domain refuses says nothing: it may be meant for square arrays.
    """
    opdef = session.opdef
    own = [call for call in session.calls if call.declared]
    if opdef.gradient_of is not None or isinstance(opdef.infer, GradientInfer) or not own or any(map(_is_uneven, own)):
        return
    for call in own[:1]:
        for cut in _cut(call):
            case, attrs = session.reference(cut), complete_attrs(opdef, cut.attrs)
            try:
                if broken(opdef, cut):
                    continue
                specs = infer(opdef, cut.inputs, attrs)
                plan = plan_of(opdef, case.kernel, cut.inputs, cut.attrs)
                made = plan.kernel_alone(*each(cut.inputs, np.array), **attrs)
                fresh = normalise.as_outputs(opdef, made)
            except Exception:
                continue
            try:
                normalise.check_specs(opdef, fresh, specs)
            except OpsdkError as error:
                case.find_raised("infer", str(error), error)
                return


def _is_uneven(call: Call) -> bool:
    """Whether a sample tells its axes apart."""
    shapes = [array.shape for array in flat(call.inputs)]
    return any(len(set(shape)) > 1 for shape in shapes) or not any(len(shape) > 1 for shape in shapes)


def _cut(call: Call) -> Iterator[Call]:
    """Yields a call with the last, and with the first, axis of every matrix one shorter."""
    for axis, what in ((-1, "last"), (0, "first")):

        def shorter(array: np.ndarray, axis: int = axis) -> Any:
            return np.delete(array, -1, axis) if array.ndim > 1 and array.shape[axis] > 1 else array

        yield replace(call, inputs=each(call.inputs, shorter), reason=f"{call.reason}, the {what} axis one shorter")
