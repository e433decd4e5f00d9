"""The form of a backward, which gradcheck does not know of: its arrays, Nones, masks, cotangents that nobody sent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from gradcheck.model.dtypes import resolution
from opsdk.backends.call.application import none_given
from opsdk.backends.call.language import language_of
from opsdk.core import errors
from opsdk.core.errors import KernelNotFoundError
from opsdk.verify import gradients
from opsdk.verify.gradients import carriers, rule_of
from opsdk.verify.inputs.calls import Call, each, flat, other, reordered
from opsdk.verify.inputs.domains import held, ruled
from opsdk.verify.kernels.agreement import Rounding, measure, same_bits
from opsdk.verify.kernels.launch import launch
from opsdk.verify.kernels.memory import tell_outside, tried
from opsdk.verify.session import Case, said

_LONG = np.dtype("float64")
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
    _check_mask(case, outputs, cotangents, given)
    if not rule_of(opdef).materialize:
        _check_undefined(case, outputs, cotangents)
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
    for i in rule_of(opdef).wrt:
        if not all(map(same_bits, flat([runs[0][i]]), flat([runs[1][i]]))):
            name = opdef.schema.input_names[i]
            message = (
                f"{opdef.subject}, gradient of {name!r}: expected the same after another call of the op, got another; "
                "name in the backward what it reads, and keep nothing between calls"
            )
            case.find(f"repeats.d{name}", message, input=name)
            return False
    return True


def _check_mask(case: Case, outputs: Any, cotangents: Any, given: list[Any]) -> None:
    """Asks for one gradient at a time: it must be the one that is given when all are asked for.

    Bit by bit from Python. A compiler sees two functions, joins other products with sums, and orders a row's sum
    otherwise: from compiled kernels the gradient may differ as far as rounding takes it.
    """
    opdef = case.opdef
    rule = rule_of(opdef)
    if rule.mask is None or len(rule.wrt) < 2:
        return
    case.did("mask")
    for position in rule.wrt:
        mask = [i == position for i in range(len(opdef.schema.inputs))]
        together = flat([given[position]])
        alone = flat([gradients.by_rule(opdef, case.kernel, case.call, outputs, cotangents, mask)[position]])
        pairs = list(zip(together, alone, strict=False))
        agree = len(alone) == len(together) and all(same_bits(a, b) for a, b in pairs)
        if not agree and opdef.traits.accuracy is not None:  # an adaptive step depends on all that is integrated
            agree = len(alone) == len(together) and all(_is_as_accurate(opdef.traits.accuracy, *pair) for pair in pairs)
        if not agree and case.kernel is not rule.op.opdef.kernels.reference():
            agree = _rounds_alike(case, cotangents, mask, position, pairs)
        if not agree:
            name = opdef.schema.input_names[position]
            message = (
                f"{opdef.subject}, gradient of {name!r}: expected the same when needs_input_grad asks for it alone, "
                "got another; look at what is left out for the other inputs"
            )
            case.find(f"mask.{name}", message, input=name)


def _is_as_accurate(accuracy: float, first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two gradients may both be within the declared accuracy of the right one."""
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        return False
    return bool(np.all(np.abs(first - second) <= 2.0 * accuracy * np.max(np.abs(first), initial=0.0)))


def _rounds_alike(
    case: Case, cotangents: Any, mask: list[bool], position: int, pairs: list[tuple[np.ndarray, np.ndarray]]
) -> bool:
    """Whether two computations of one gradient differ by no more than rounding, judged by how its inputs move it."""
    opdef = case.opdef

    def run(there: Call) -> list[Any]:
        outputs = launch(opdef, opdef.kernels.reference(), there.inputs, there.attrs)
        return [gradients.by_rule(opdef, case.kernel, there, outputs, cotangents, mask)[position]]

    eps = max(resolution(array.dtype) for pair in pairs for array in pair)
    holding = partial(held, opdef)
    moved = Rounding(run, case.call, eps, case.session.seed, opdef.constant_inputs(), holding=holding).apart
    return all(
        a.shape == b.shape and a.dtype == b.dtype and not measure(b, a.astype(_LONG), change, eps).count
        for (a, b), change in zip(pairs, moved, strict=True)
    )


def _check_undefined(case: Case, outputs: Any, cotangents: Any) -> None:
    """Sends None for one cotangent at a time: it must count as zeros."""
    opdef = case.opdef
    for position in carriers(opdef):
        if len(carriers(opdef)) < 2 or isinstance(cotangents[position], list):
            continue
        case.did("materialize")
        zeros = [np.zeros_like(c) if i == position else c for i, c in enumerate(cotangents)]
        nones = [None if i == position else c for i, c in enumerate(cotangents)]
        name = f"d{opdef.schema.output_names[position]}"
        try:
            want = gradients.by_rule(opdef, case.kernel, case.call, outputs, zeros)
            got = gradients.by_rule(opdef, case.kernel, case.call, outputs, nones)
            close = all(np.allclose(a, b, equal_nan=True) for a, b in zip(flat(want), flat(got), strict=True))
            problem = "" if close else "got other gradients"
        except Exception as error:
            problem = f"raised {said(error)}"
        if problem:
            message = f"{opdef.subject}, backward: expected {name}=None to count as zeros, {problem}"
            case.find(f"materialize.{name}", message)
