"""The checks that need no derivative: form, linearity, mutation, shared memory, hidden state and layouts.

The form of what vjp returns is judged here: count, shape and dtype of gradients, and None only where nothing depends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import TypeAlias

import numpy as np

from gradcheck.checks.layouts import check_layouts
from gradcheck.checks.linearity import check_linearity, check_nonfinite
from gradcheck.checks.memory import check_buffers, check_mutation, check_read_only, check_sharing
from gradcheck.checks.session import Session, copy_arrays
from gradcheck.checks.state import check_interleaving, check_pickling, check_repeats, check_thread
from gradcheck.checks.ties import check_same_array, check_together
from gradcheck.explain.wording import GIVEN, repro_call
from gradcheck.model.dtypes import Array, as_float64, is_complex, is_continuous, summed_axes
from gradcheck.model.evaluation import VjpError, call_forward, call_vjp
from gradcheck.model.protocol import Subject, copy_inputs
from gradcheck.report import Finding, Tally

# A check, and the findings beside which it is left out.
_Behaviour: TypeAlias = "tuple[Callable[[Session], list[Finding]], Set[str]]"


def check_behaviour(
    subject: Subject, inputs: Sequence[object], tally: Tally, seed: int, eps: float, form_only: bool = False
) -> list[Finding]:
    """Runs every check that needs no derivative, in the dtypes of the given inputs.

    When vjp raises, or returns the wrong number of gradients, that is the only finding: others would follow from it.

    Args:
        subject: what is judged.
        inputs: that it is called with.
        tally: of the report.
        seed: of everything random.
        eps: the relative error of forward.
        form_only: whether only the count, shapes and dtypes of gradients are looked at.
    """
    tally.checks += ["vjp raises", "gradient count"]
    try:
        return _check(subject, inputs, tally, seed, eps, {} if form_only else _CHECKS)
    except Exception as error:  # forward accepted these very inputs before
        return [_worn_out("repeats", error)]


def _check(
    subject: Subject, inputs: Sequence[object], tally: Tally, seed: int, eps: float, checks: Mapping[str, _Behaviour]
) -> list[Finding]:
    session = Session.start(subject, inputs, np.random.default_rng([seed, 0]), eps)
    try:
        gradients = call_vjp(subject, copy_inputs(inputs), call_forward(subject, inputs), session.cotangents(0))
    except VjpError as error:
        shapes = ", ".join(str(output.shape) for output in session.outputs)
        message = f"vjp: expected gradients, got {error}, with cotangents of shape {shapes}"
        cause = "vjp does not return a tuple of arrays" if "returned a mapping" in str(error) else None
        return [Finding("vjp raises", message, cause=cause, repro=repro_call(inputs, GIVEN, seed))]
    session.first.append(copy_arrays(gradients))
    findings = check_count(subject, gradients)
    if findings:
        return findings
    tally.checks += ["gradient shape", "gradient dtype", "nondifferentiable"]
    findings += check_shapes(subject, inputs, gradients)
    findings += _check_dtypes(subject, inputs, gradients)
    findings += _check_discrete(subject, inputs, gradients)
    for name, (run, spoiled_by) in checks.items():
        if spoiled_by & {finding.check for finding in findings}:
            continue
        tally.checks.append(name)
        try:
            findings += run(session)
        except VjpError as error:
            findings.append(Finding(name, f"vjp: expected gradients, got {error}, during the check {name!r}"))
        except Exception as error:  # forward accepted these very inputs before
            findings.append(_worn_out(name, error))
    for sentence in session.notes:
        tally.note(sentence)
    return findings


def _worn_out(check: str, error: Exception) -> Finding:
    reason = f"{type(error).__name__}: {error}"
    return Finding(check, f"forward: expected to accept the same inputs again, got {reason}; remove state")


_HIDDEN_STATE = frozenset({"mutation", "repeats", "interleaving"})
# By name, each check and the findings that would make it fail for the same reason: beside one of them it is left out.
_CHECKS: dict[str, _Behaviour] = {
    "mutation": (check_mutation, set()),
    "read-only": (check_read_only, {"mutation"}),
    "sharing": (check_sharing, set()),
    "repeats": (check_repeats, set()),
    "interleaving": (check_interleaving, {"repeats"}),
    "buffers": (check_buffers, _HIDDEN_STATE),
    "other thread": (check_thread, _HIDDEN_STATE),
    "pickling": (check_pickling, _HIDDEN_STATE),
    "same array": (check_same_array, _HIDDEN_STATE),
    "tied inputs": (check_together, _HIDDEN_STATE),
    "linear in the cotangent": (check_linearity, {"repeats"}),
    "nonfinite cotangent": (check_nonfinite, set()),
    "layouts": (check_layouts, {"mutation", "repeats"}),
}


def check_count(subject: Subject, gradients: Sequence[Array | None]) -> list[Finding]:
    """Finds a wrong number of gradients."""
    wanted = len(subject.names)
    if len(gradients) == wanted:
        return []
    names = ", ".join(subject.names)
    message = (
        f"vjp: expected {wanted} gradient{'s' * (wanted != 1)}, one per input ({names}), got {len(gradients)}; "
        "return None for an input without one"
    )
    return [Finding("gradient count", message)]


def check_shapes(subject: Subject, inputs: Sequence[object], gradients: Sequence[Array | None]) -> list[Finding]:
    """Finds gradients whose shape is not that of their input; a forgotten sum over broadcast axes is named."""
    findings = []
    for k in subject.differentiable:
        value, gradient = inputs[k], gradients[k]
        assert isinstance(value, np.ndarray)
        if gradient is None or gradient.shape == value.shape:
            continue
        name = subject.names[k]
        message = f"gradient of {name!r}: expected shape {value.shape} like {name}, got {gradient.shape}"
        axes = summed_axes(gradient.shape, value.shape)
        cause = None
        if axes:
            message += f"; sum it over {'axis' if len(axes) == 1 else 'axes'} {' and '.join(map(str, axes))}"
            cause = f"not summed over the axes {list(axes)} along which {name} was broadcast"
        findings.append(Finding("gradient shape", message, input=name, cause=cause))
    return findings


def _check_dtypes(subject: Subject, inputs: Sequence[object], gradients: Sequence[Array | None]) -> list[Finding]:
    """Finds gradients whose dtype is not that of their input."""
    findings = []
    for k in subject.differentiable:
        value, gradient = inputs[k], gradients[k]
        assert isinstance(value, np.ndarray)
        if gradient is None or gradient.dtype == value.dtype:
            continue
        name = subject.names[k]
        too_wide = is_complex(gradient.dtype) and not is_complex(value.dtype)
        remedy = "take its real part" if too_wide else f"cast it with .astype({name}.dtype)"
        message = f"gradient of {name!r}: expected dtype {value.dtype} like {name}, got {gradient.dtype}; {remedy}"
        findings.append(Finding("gradient dtype", message, input=name))
    return findings


def _check_discrete(subject: Subject, inputs: Sequence[object], gradients: Sequence[Array | None]) -> list[Finding]:
    """Finds a gradient for an input that cannot have one; None and an array of zeros are both accepted."""
    findings = []
    for k, (value, gradient) in enumerate(zip(inputs, gradients, strict=True)):
        continuous = isinstance(value, np.ndarray) and is_continuous(value.dtype)
        if continuous or gradient is None or not np.any(gradient):
            continue
        name, kind = subject.names[k], value.dtype if isinstance(value, np.ndarray) else type(value).__name__
        message = f"gradient of {name!r}: expected None, as {name} is {kind}, got {gradient.dtype} values; return None"
        findings.append(Finding("nondifferentiable", message, input=name))
    for k in subject.declared:
        gradient = gradients[k]
        if gradient is not None and np.any(gradient):
            name = subject.names[k]
            message = (
                f"gradient of {name!r}: expected None, as {name} is declared non-differentiable, "
                f"got values up to {np.max(np.abs(as_float64(gradient))):.6g}; return None or remove the declaration"
            )
            findings.append(Finding("nondifferentiable", message, input=name))
    return findings
