"""The checks that need no derivative: form, linearity, mutation, shared memory, hidden state and layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set

import numpy as np

from gradcheck.checks.layouts import check_layouts
from gradcheck.checks.linearity import check_linearity
from gradcheck.checks.memory import check_buffers, check_mutation, check_read_only, check_sharing
from gradcheck.checks.nonfinite import check_nonfinite
from gradcheck.checks.session import Session, copy_arrays
from gradcheck.checks.state import check_interleaving, check_pickling, check_repeats, check_thread
from gradcheck.checks.structure import check_count, check_discrete, check_dtypes, check_shapes
from gradcheck.checks.ties import check_same_array, check_together
from gradcheck.explain.wording import GIVEN, repro_call
from gradcheck.model.evaluation import VjpError, call_forward, call_vjp
from gradcheck.model.protocol import Subject, copy_inputs
from gradcheck.report import Finding, Tally


def check_behaviour(subject: Subject, inputs: Sequence[object], tally: Tally, seed: int, eps: float) -> list[Finding]:
    """Runs every check that needs no derivative, in the dtypes of the given inputs.

    When vjp raises, or returns the wrong number of gradients, that is the only finding: others would follow from it.
    """
    tally.checks += ["vjp raises", "gradient count"]
    try:
        return _check(subject, inputs, tally, seed, eps)
    except Exception as error:  # forward accepted these very inputs before
        return [_worn_out("repeats", error)]


def _check(subject: Subject, inputs: Sequence[object], tally: Tally, seed: int, eps: float) -> list[Finding]:
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
    findings += check_dtypes(subject, inputs, gradients)
    findings += check_discrete(subject, inputs, gradients)
    for name, (run, spoiled_by) in _CHECKS.items():
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
_CHECKS: dict[str, tuple[Callable[[Session], list[Finding]], Set[str]]] = {
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
