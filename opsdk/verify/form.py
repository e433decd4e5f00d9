"""The form of a backward, which gradcheck does not know of: its arrays, Nones, masks, cotangents that nobody sent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.backends.call.application import none_given
from opsdk.backends.call.language import language_of
from opsdk.core import errors
from opsdk.core.errors import KernelNotFoundError
from opsdk.verify import gradients
from opsdk.verify.asked import check_mask, check_undefined
from opsdk.verify.gradients import rule_of
from opsdk.verify.inputs.calls import each, flat, other, reordered
from opsdk.verify.inputs.domains import held, ruled
from opsdk.verify.kernels.agreement import same_bits
from opsdk.verify.kernels.launch import launch
from opsdk.verify.kernels.memory import tell_outside, tried
from opsdk.verify.session import Case, said

_NONE = errors.ReturnError.default_code
_UNDECLARED = "None that was not declared"


def leaves_its_arrays(case: Case) -> bool:
    """Whether a kernel of the gradient op that may end the process writes where it must not; it is run no more then."""
    opdef, gradient = case.opdef, rule_of(case.opdef).op.opdef
    if not language_of(case.kernel).may_crash:
        return False
    with suppress(Exception):  # told where the kernel is run
        outputs = gradients.launch_reference(opdef, case.call)
        cotangents = gradients.draw_cotangents(opdef, outputs, np.random.default_rng([case.session.seed, 9]))
        call = gradients.gradient_call(opdef, case.call, outputs, cotangents)
        outside = tried(gradient, case.kernel, call).outside
        if outside is not None:
            tell_outside(case, gradient, call, outside)
            return True
    return False


def is_well_formed(case: Case, outputs: Any, cotangents: Any) -> bool:
    """Runs the rule once and checks what gradcheck does not know of: Nones, masks, cotangents that nobody sent."""
    opdef, call = case.opdef, case.call
    if case.kernel.key.dtype is not None:
        return True  # gradcheck casts for such a kernel; the form is that of the other kernels
    try:
        given = gradients.by_rule(opdef, case.kernel, call, outputs, cotangents)
    except KernelNotFoundError as error:
        case.session.skipped[f"{opdef.name}[{case.row}], gradient: {error}"] = None
        return False
    except Exception as error:
        unlike = f"{opdef.subject}, backward: sample {call} expected gradients, raised {said(error)}"
        case.find_raised("vjp", str(error) if isinstance(error, errors.OpsdkError) else unlike, error)
        return False
    for missing in gradients.undeclared_none(opdef, call, given):
        message = none_given(opdef, rule_of(opdef), missing)
        case.find(f"vjp.{missing}", message, input=missing, code=_NONE, cause=_UNDECLARED)
        return False
    if not _keeps_nothing(case, outputs, cotangents):
        return False
    check_mask(case, outputs, cotangents, given)
    check_undefined(case, outputs, cotangents)
    return True


def _keeps_nothing(case: Case, outputs: Any, cotangents: Any) -> bool:
    """Whether a gradient is the same after another call of the op: what is kept between calls is of the last one.

    Of residuals, which belong to a call, `check_residuals` asks the same.
    """
    opdef, call = case.opdef, case.call
    if rule_of(opdef).saves("residual") or opdef.schema.mutated_inputs or not opdef.traits.deterministic:
        return True
    runs = []
    beside = replace(call, inputs=each(call.inputs, other if ruled(opdef) else reordered))
    for holding in (lambda: call, lambda: held(opdef, beside)):
        for kernel in (opdef.kernels.reference(), None):  # and what a runtime would take
            with suppress(Exception):  # other values may be no call of the op
                launch(opdef, kernel, holding().inputs, call.attrs)
        runs.append(gradients.by_rule(opdef, case.kernel, call, outputs, cotangents))
    for i in gradients.wrt_of(opdef):
        if not all(map(same_bits, flat([runs[0][i]]), flat([runs[1][i]]))):
            name = opdef.schema.input_names[i]
            message = (
                f"{opdef.subject}, gradient of {name!r}: expected the same after another call of the op, got another; "
                "name in the backward what it reads, and keep nothing between calls"
            )
            case.find(f"repeats.d{name}", message, input=name)
            return False
    return True
