"""Conceded: what a gradient kernel of a short dtype may be off by, as the reference is when it runs in that dtype.

Such a kernel is given inputs and outputs of its dtype, and its gradient is held to the derivative of the forward in
float64. Where terms cancel, as in a saturated softmax, most of that distance is the rounding of the outputs that were
saved, which no accumulator of more digits brings back, and the rest that of a sum. How much it is at each element, the
reference tells: what it loses in the short dtype, forward and gradient, and what it does where the forward alone is so
short; a sum in few digits may by chance take back what the outputs lost.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

import gradcheck
from gradcheck.model.dtypes import resolution
from opsdk.define.opdef import OpDef
from opsdk.verify.gradients import Arrays, by_array, by_rule, judged, launch_reference, placed, rule_of
from opsdk.verify.inputs.calls import Call, each, flat, is_float, refill
from opsdk.verify.inputs.domains import held
from opsdk.verify.kernels.agreement import where_beyond
from opsdk.verify.kernels.launch import Outputs
from opsdk.verify.kernels.rounding import Rounding
from opsdk.verify.subjects import Subject

_LONG = np.dtype("float64")
# Of what a few runs of the reference lost: a kernel sums in another order, and each run shows a random part.
_SPREADS = 4.0


def within_rounding(opdef: OpDef, call: Call, subject: Subject, dtype: np.dtype[Any], seed: int) -> Subject:
    """Returns a subject whose vjp gives the reference's number where a kernel's is off by rounding alone.

    Args:
        opdef: the op, which has a rule.
        call: in the short dtype.
        subject: its gradient on a kernel of that dtype.
        dtype: the short one.
        seed: of the neighbours at which the reference runs.
    """

    def vjp(inputs: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        made = subject.vjp(inputs, outputs, cotangents)
        long = replace(call, inputs=refill(call.inputs, inputs), remade=None).cast(_LONG)
        whole, saved = (partial(_reference, opdef, cotangents=cotangents, is_widened=flag) for flag in (False, True))
        try:
            truth = whole(long)
        except Exception:  # written for one dtype only
            return made
        steady, holding = opdef.constant_inputs(), partial(held, opdef)
        lost = [np.zeros(array.shape) for array in truth]
        for run in (whole, saved):
            losses = Rounding(run, long, resolution(dtype), seed, steady, truth, holding).lost
            lost = [
                np.maximum(one, loss)
                for one, loss in zip(lost, losses, strict=False)
                if loss is not None and loss.shape == one.shape
            ]
        if len(lost) != len(truth):
            return made  # the reference does not run in that dtype, or has other shapes beside these values
        known = iter(zip(truth, lost, strict=True))
        pairs = zip(flat(long.inputs), made, strict=True)
        return tuple(_put_right(got, *next(known)) if is_float(array) else got for array, got in pairs)

    return replace(subject, vjp=vjp)


def beyond_rounding(
    findings: tuple[gradcheck.Finding, ...], subject: Subject, seed: int, budget: int
) -> tuple[gradcheck.Finding, ...]:
    """Returns those findings that are more than rounding, with the numbers of what is left of them.

    Args:
        findings: of a kernel of a short dtype.
        subject: of `within_rounding`.
        seed: that of the findings.
        budget: likewise.
    """
    if all(finding.check != "vjp value" for finding in findings):
        return findings
    again = gradcheck.check(**vars(subject), seed=seed, budget=budget, vary=False, behaviour=False)
    left = {finding.input: finding for finding in again.findings if finding.check == "vjp value"}
    found = [left.get(f.input) if f.check == "vjp value" else f for f in findings]
    return tuple(finding for finding in found if finding is not None)


def _reference(opdef: OpDef, call: Call, cotangents: Arrays, *, is_widened: bool) -> list[Any]:
    """Returns the gradients of the floating inputs as the reference gives them in the dtype of a call, flat.

    Where `is_widened` is true it gives them in float64, of what the forward gave in that dtype.
    """
    made = launch_reference(opdef, call)
    if is_widened:
        kept = made.residuals
        call, made = call.cast(_LONG), Outputs(call.cast_values(made, _LONG))
        made.residuals = call.cast_values(kept, _LONG)
    entering = placed(each(made, np.zeros_like), judged(opdef), cotangents)
    assert call.float_dtype is not None
    kernel = rule_of(opdef).op.opdef.kernels.reference()
    routed = by_rule(opdef, kernel, call, made, call.cast_values(entering, call.float_dtype))
    pairs = by_array(call.inputs, routed)
    return [np.zeros_like(array) if gradient is None else gradient for array, gradient in pairs if is_float(array)]


# Any: a gradient as a kernel gave it, whatever that is.
def _put_right(gradient: Any, truth: np.ndarray, lost: np.ndarray) -> Any:
    fits = is_float(gradient) and gradient.shape == truth.shape
    return where_beyond(gradient, truth, _SPREADS * lost) if fits else gradient
