"""The whole check of one subject: form, behaviour, and values at the given and at varied inputs."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from gradcheck.behaviour import check_behaviour
from gradcheck.budget import Budget
from gradcheck.coverage import Tally
from gradcheck.errors import UsageError, attach_note
from gradcheck.evaluation import Point
from gradcheck.hidden import hidden_eps
from gradcheck.points import PointCheck
from gradcheck.precision import check_precision
from gradcheck.protocol import Forward, Jvp, Subject, Vjp, build_subject, copy_inputs, read_inputs
from gradcheck.report import Finding, Report, Verdict
from gradcheck.transpose import check_jvp
from gradcheck.variation import vary_inputs
from gradcheck.wording import GIVEN

# The order of findings: a fault before those that may follow from it.
_GRAVITY = {
    check: rank
    for rank, check in enumerate(
        (
            "vjp raises",
            "gradient count",
            "gradient shape",
            "mutation",
            "repeats",
            "interleaving",
            "gradient dtype",
            "gradient missing",
            "vjp value",
            "nondifferentiable",
        )
    )
}


def check(
    forward: Forward,
    vjp: Vjp,
    inputs: Sequence[object],
    *,
    jvp: Jvp | None = None,
    domain: object = None,
    nondifferentiable: Iterable[str | int] = (),
    vary: bool = True,
    seed: int = 0,
    budget: int | None = None,
    names: Sequence[str] | None = None,
    alias_ok: Iterable[str] = (),
) -> Report:
    """Judges a vector-Jacobian product against the function it belongs to.

    Args:
        forward: forward(*inputs) -> array or tuple of arrays; a pure function.
        vjp: vjp(inputs, outputs, cotangents) -> tuple with one gradient, or None, per input. All three arguments are
            tuples; a cotangent has its output's shape and dtype.
        inputs: arrays of any shape and real dtype, and Python scalars. Floating ones are differentiated, in float64
            where forward accepts it; a float scalar counts as a 0-d float64 array.
        jvp: jvp(inputs, tangents) -> one tangent per output; a tangent has its input's shape and dtype.
        domain: (low, high) for all inputs, or one (low, high) or None per input, or a mapping from names; inclusive.
        nondifferentiable: names or positions of floating inputs whose derivative is declared to be zero.
        vary: whether to judge at other values of the same shapes too.
        seed: any integer >= 0; equal seeds give equal reports.
        budget: about how many forward calls may be made, at least 200; None means 30000.
        names: one name per input, for messages; by default the parameter names of forward.
        alias_ok: kinds of shared memory that are meant: "output" (with an input), "cotangent" (of a gradient),
            "gradients" (of two gradients, or of a gradient and an input or output).

    Returns:
        A report; its verdict is "inconclusive" when nothing is wrong but too little could be judged.

    Raises:
        UsageError: an argument is of the wrong form, no input is differentiable, an input is outside its domain, or
            forward raises at the given inputs; its exception is the cause.
    """
    values = read_inputs(inputs)
    subject = build_subject(forward, vjp, jvp, values, names, domain, nondifferentiable, alias_ok)
    allowance = Budget.read(budget)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise UsageError(f"seed: expected an integer >= 0, got {seed!r}; pass any such number")
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return _run(subject, values, vary, int(seed), allowance)


def _run(subject: Subject, inputs: tuple[object, ...], vary: bool, seed: int, budget: Budget) -> Report:
    point = _start(subject, inputs)
    tally = Tally()
    point.forward_eps = hidden_eps(point, np.random.default_rng([seed, 3]))
    findings = check_behaviour(subject, inputs, tally, seed, point.forward_eps)
    values = PointCheck(subject, tally, seed, budget)
    if not _is_hopeless(findings):
        findings += values.judge(point)
    if not _is_hopeless(findings):
        tally.checks.append("short dtype")
        findings += check_precision(point, np.random.default_rng([seed, 4]))
        if subject.jvp is not None:
            findings += check_jvp(point, tally, np.random.default_rng([seed, 1]))
        if vary:
            findings += _vary(subject, inputs, values, seed, point.forward_eps)
    findings = sorted(_without_repeats(findings), key=lambda finding: _GRAVITY.get(finding.check, len(_GRAVITY)))
    return Report(_verdict(findings, values), tuple(findings), tally.freeze(budget.used), seed)


def _is_hopeless(findings: list[Finding]) -> bool:
    """Says whether vjp gives nothing that could be compared."""
    return any(finding.check in ("vjp raises", "gradient count") for finding in findings)


def _start(subject: Subject, inputs: tuple[object, ...]) -> Point:
    """Evaluates forward, so that its own exception reaches the caller before anything is judged."""
    try:
        point = Point(subject, inputs, GIVEN)
    except Exception as error:
        attach_note(error, "gradcheck.check: forward raised at the given inputs, so nothing was judged")
        raise UsageError(
            f"forward: expected it to accept the given inputs, got {type(error).__name__}: {error}; "
            "call forward(*inputs) to see it alone"
        ) from error
    for position, output in enumerate(point.outputs):
        if output.dtype.kind == "c":
            raise UsageError(
                f"output {position}: expected a real dtype, got {output.dtype}; derivatives are judged for real "
                "outputs only: return the real and the imaginary part as two outputs"
            )
    return point


def _vary(
    subject: Subject, inputs: tuple[object, ...], values: PointCheck, seed: int, forward_eps: float
) -> list[Finding]:
    findings: list[Finding] = []
    for label, changed in vary_inputs(subject, inputs, np.random.default_rng([seed, 2])):
        if values.budget.is_spent:
            values.tally.note("the budget ended before all variations were judged")
            break
        try:
            point = Point(subject, copy_inputs(changed), label)
            point.forward_eps = max(point.forward_eps, forward_eps)
        except Exception as error:
            values.tally.note(f"{label}: skipped, forward raised {type(error).__name__}")
            continue
        findings += values.judge(point)
    return findings


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    """Keeps the first finding of each check and input; later points show the same fault again."""
    kept: dict[tuple[str, str | None], Finding] = {}
    for finding in findings:
        kept.setdefault((finding.check, finding.input), finding)
    return list(kept.values())


def _verdict(findings: list[Finding], values: PointCheck) -> Verdict:
    if findings:
        return "fail"
    return "pass" if values.is_conclusive() else "inconclusive"
