"""The whole check of one subject: form, behaviour, and values at the given and at varied inputs."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from gradcheck.checks.batched import check_batched, check_batched_vjp
from gradcheck.checks.behaviour import check_behaviour
from gradcheck.checks.points import PointCheck
from gradcheck.checks.precision import check_precision
from gradcheck.checks.second import check_jvp2, check_vjp2
from gradcheck.checks.sizes import check_sizes
from gradcheck.checks.transpose import check_jvp
from gradcheck.checks.undefined import check_declared_outputs, check_none_cotangents
from gradcheck.errors import UsageError
from gradcheck.explain.tracing import Tracer, read_trace
from gradcheck.explain.wording import CAUSES, GIVEN, repro_call
from gradcheck.judge.variation import GROUPS, gather, vary_inputs
from gradcheck.model.budget import Budget
from gradcheck.model.evaluation import Point, start_point
from gradcheck.model.protocol import (
    Also,
    Forward,
    Jvp,
    Subject,
    Vjp,
    build_subject,
    read_accuracy,
    read_inputs,
    read_positions,
    read_reasons,
)
from gradcheck.model.recall import one_judgement
from gradcheck.numeric.hidden import hidden_eps
from gradcheck.report import Finding, Report, Tally, Verdict

# Text, because naming np.random at import time loads it.
_Check: TypeAlias = "Callable[[Point, Tally, np.random.Generator], list[Finding]]"
# The checks of what a caller may give beside forward and vjp: each is asked for, or does not run.
_ASKED_FOR: tuple[tuple[Callable[[Subject], bool], _Check], ...] = (
    (lambda subject: subject.jvp is not None, check_jvp),
    (lambda subject: bool(subject.also.nondifferentiable_outputs), check_declared_outputs),
    (lambda subject: subject.also.none_cotangents, check_none_cotangents),
    (lambda subject: subject.also.vjp2 is not None, check_vjp2),
    (lambda subject: subject.also.jvp2 is not None, check_jvp2),
    (lambda subject: subject.also.batched is not None, check_batched),
    (lambda subject: subject.also.batched_vjp is not None, check_batched_vjp),
)
_VARIATIONS = ("values", "zeros", "sizes")
# What is wrong at the given sizes is wrong at others, and says no more there.
_VALUE_CHECKS = ("vjp value", "gradient missing", "gradient shape")
# The order of findings: a fault before those that may follow from it.
_GRAVITY = (
    "vjp raises",
    "gradient count",
    "gradient shape",
    "mutation",
    "repeats",
    "interleaving",
    "buffers",
    "other thread",
    "pickling",
    "same array",
    "gradient dtype",
    "output dtype",
    "gradient missing",
    "vjp value",
    "nondifferentiable",
)


def check(
    forward: Forward,
    vjp: Vjp,
    inputs: Sequence[object],
    *,
    jvp: Jvp | None = None,
    vjp2: Vjp | None = None,
    jvp2: Jvp | None = None,
    batched: Forward | None = None,
    batched_vjp: Vjp | None = None,
    surrogate: Forward | None = None,
    domain: object = None,
    nondifferentiable: Iterable[str | int] = (),
    nondifferentiable_outputs: Iterable[int] | Mapping[int, str] = (),
    none_cotangents: bool = False,
    convention: str = "conjugate",
    accuracy: float | None = None,
    vary: bool | Iterable[str] = True,
    seed: int = 0,
    budget: float | None = None,
    names: Sequence[str] | None = None,
    alias_ok: Iterable[str] = (),
    behaviour: bool = True,
    trace: bool | Mapping[str, Iterable[int | tuple[int, ...]]] = False,
) -> Report:
    """Judges a vector-Jacobian product against the function it belongs to.

    Args:
        forward: forward(*inputs) -> array or tuple of arrays; a pure function.
        vjp: vjp(inputs, outputs, cotangents) -> tuple with one gradient, or None, per input. All three arguments are
            tuples; a cotangent has its output's shape and dtype.
        inputs: arrays of any shape and dtype of numbers, and Python scalars. Floating and complex ones are
            differentiated, in float64 or complex128 where forward accepts it; a float scalar counts as a 0-d float64
            array, a complex one likewise.
        jvp: jvp(inputs, tangents) -> one tangent per output; a tangent has its input's shape and dtype.
        vjp2: vjp2(inputs, cotangents, gradients, weights) -> (one gradient or None per input, one per cotangent): the
            vjp of (inputs, cotangents) -> gradients; weights are its cotangents, one per gradient.
        jvp2: jvp2(inputs, cotangents, input_tangents, cotangent_tangents) -> one tangent per gradient: the derivative
            of the gradients along a direction. Forward over reverse.
        batched: batched(*stacked) -> stacked outputs: forward where every array has one leading axis more; judged
            against a loop over it.
        batched_vjp: batched_vjp(inputs, outputs, stacked cotangents) -> stacked gradients, likewise.
        surrogate: surrogate(*inputs) -> outputs of forward's shapes: the function whose derivative vjp is on purpose,
            such as the identity for a straight-through estimator; what it wraps in `gradcheck.stop_gradient` counts
            as constant. Its derivative is also what jvp is held to; everything else is judged of forward.
        domain: (low, high) for all inputs, or one (low, high) or None per input, or a mapping from names; inclusive.
            Of a complex input they bound the real and the imaginary part, each by itself. In place of a pair also what
            is in `gradcheck.domain`, such as `gradcheck.domain.symmetric`, or a function that gives the nearest values
            inside: the gradient is then judged along directions in which the input stays so.
        nondifferentiable: names or positions of floating inputs whose derivative is declared to be zero.
        nondifferentiable_outputs: positions of floating outputs through which no gradient is meant to flow; vjp gets
            zeros for them. One that moves with the inputs has a derivative: then a mapping from the position to the
            reason, such as {1: "saved for the backward"}.
        none_cotangents: whether vjp takes None for the cotangent of an unused output; then None must count as zeros.
        convention: of complex gradients and cotangents of a real loss L, "conjugate" (dL/dx + i dL/dy, as PyTorch and
            Paddle) or "plain" (its conjugate, as JAX). The gradient of a real input is real in both.
        accuracy: declares that gradients approximate: each element of an input's gradient may be off by this share, at
            most 0.1, of the largest element of that gradient, under any cotangent; those of vjp2, and tangents, too.
            Outputs of forward are compared as ever.
        vary: whether to judge at other values of the same shapes, exact zeros among them, and at other sizes too; or
            some of "values", "zeros" (beside "values") and "sizes".
        seed: any integer >= 0; equal seeds give equal reports.
        budget: an integer >= 200 is about how many forward calls may be made, a float is seconds; None means 30000
            calls. Seconds make the report depend on the machine.
        names: one name per input, for messages; by default the parameter names of forward.
        alias_ok: kinds of shared memory that are meant: "output" (with an input or another output), "cotangent" (of a
            gradient), "gradients" (of two gradients, or of a gradient and an input or output).
        behaviour: whether to look also at what needs no derivative: mutation, shared memory, hidden state, layouts.
            Who asks of many inputs of one kind may have it once. The form of gradients is always judged.
        trace: whether the report tells, for the worst element of each input, what each step of the judgement saw and
            said; or a mapping from names of inputs to indices of elements of which it tells too, at every point.

    Returns:
        A report; its verdict is "inconclusive" when nothing is wrong but too little could be judged.

    Raises:
        UsageError: an argument is of the wrong form, no input is differentiable, an input is outside its domain, or
            forward, or surrogate, raises at the given inputs or the two differ in shape; the exception is the cause.
            Also where forward returns what is no number, such as None, or where one of the functions ends the process.
    """
    given = {name: value for name, value in locals().items() if name in _OPTIONS and value is not _OPTIONS[name]}
    values = read_inputs(inputs)
    silent, reasons = read_positions(nondifferentiable_outputs), read_reasons(nondifferentiable_outputs)
    bound = read_accuracy(accuracy)
    also = Also(vjp2, jvp2, batched, batched_vjp, surrogate, silent, reasons, none_cotangents, convention, bound)
    subject = build_subject(forward, vjp, jvp, values, names, domain, nondifferentiable, alias_ok, also)
    kinds = _read_vary(vary)
    tracer = read_trace(trace, subject, values)
    allowance = Budget.read(budget)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise UsageError(f"seed: expected an integer >= 0, got {seed!r}; pass any such number")
    with np.errstate(all="ignore"), warnings.catch_warnings(), one_judgement():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            report = _run(subject, values, kinds, int(seed), allowance, tracer, behaviour)
        except SystemExit as error:  # raised on, it would end the caller too, with a status that says all is well
            raise UsageError(
                f"forward and vjp: expected each to return or to raise an error, got {error!r}; nothing was "
                "judged, take out what ends the process"
            ) from error
    return _complete(report, values, given)


# Where a finding is shown again these are in its rerun already, as that needs them.
_OPTIONS = {
    p.name: p.default
    for p in inspect.signature(check).parameters.values()
    if p.kind is p.KEYWORD_ONLY and p.name not in ("vary", "seed", "trace")
}


def _read_vary(vary: bool | Iterable[str]) -> frozenset[str]:
    if isinstance(vary, (bool, np.bool_)):
        return frozenset(_VARIATIONS if vary else ())
    kinds = [vary] if isinstance(vary, str) else list(vary) if isinstance(vary, Iterable) else [vary]
    if any(kind not in _VARIATIONS for kind in kinds):
        raise UsageError(f"vary: expected True, False or some of {', '.join(_VARIATIONS)}, got {vary!r}; name those")
    return frozenset(kinds)


def _run(
    subject: Subject,
    inputs: tuple[object, ...],
    vary: frozenset[str],
    seed: int,
    budget: Budget,
    tracer: Tracer | None,
    behaviour: bool,
) -> Report:
    started = time.perf_counter()
    point = start_point(replace(subject, also=replace(subject.also, surrogate=None)), inputs, "gradcheck.check")
    numbers = sum(value.size for value in (*point.inputs, *point.outputs) if isinstance(value, np.ndarray))
    budget.pace(time.perf_counter() - started, numbers)
    tally = Tally(accuracy=subject.also.accuracy)
    point.forward_eps = hidden_eps(point, np.random.default_rng([seed, 3]))
    findings = check_behaviour(subject, inputs, tally, seed, point.forward_eps, form_only=not behaviour)
    if subject.also.surrogate is not None:
        tally.note("vjp: judged as the gradient of the declared surrogate, not of forward")
        least_eps = point.forward_eps
        point = start_point(subject, inputs, "gradcheck.check", "surrogate")
        point.forward_eps = max(point.forward_eps, least_eps)  # vjp gets forward's outputs, and is no finer than those
        point.forward_eps = hidden_eps(point, np.random.default_rng([seed, 3]))
    for k in subject.ruled:
        if k in subject.differentiable:
            name, where = subject.names[k], subject.domain[k]
            tally.note(f"gradient of {name!r}: judged along directions in which {name} stays {where.name}")
    values = PointCheck(subject, tally, seed, budget, tracer)
    judged = gather(point, np.random.default_rng([seed, 7]))
    if judged is not point:
        tally.note(f"{point.size} output elements were judged in {GROUPS} sums of some each")
    if not _is_hopeless(findings):
        findings += values.judge(judged)
    if not _is_hopeless(findings):
        tally.checks.append("short dtype")
        findings += check_precision(point, np.random.default_rng([seed, 4]))
        for place, (wants, run) in enumerate(_ASKED_FOR):
            if wants(point.subject):
                findings += run(point, tally, np.random.default_rng([seed, 1, place]))
        if "values" in vary:
            known = {finding.input for finding in findings if finding.check == "vjp value"}
            others = _vary(judged, inputs, values, seed, known, zeros="zeros" in vary)
            findings += [f if f.cause or f.input in known else _only(f, "given values", "others") for f in others]
        if "sizes" in vary and not any(finding.check in _VALUE_CHECKS for finding in findings):
            others = check_sizes(subject, inputs, values, seed, point.forward_eps)
            findings += [_only(f, "given sizes", "these") for f in others]
    kept: dict[tuple[str, str | None], Finding] = {}
    for found in findings:  # the first of each check and input; later points show the same fault again
        kept.setdefault((found.check, found.input), replace(found, cause=found.cause or CAUSES.get(found.check)))
    kept = {key: found for key, found in kept.items() if not _is_known(found, findings)}
    findings = sorted(kept.values(), key=lambda f: _GRAVITY.index(f.check) if f.check in _GRAVITY else len(_GRAVITY))
    verdict: Verdict = "fail" if findings else "pass" if values.is_conclusive() else "inconclusive"
    if verdict == "pass" and not tally.tested:
        tally.note(f"nothing was judged: {_why_nothing(point)}")
    traces = () if tracer is None else tracer.traces()
    return Report(verdict, tuple(findings), tally.freeze(budget.used), seed, traces)


def _why_nothing(point: Point) -> str:
    if not point.outputs:
        return "forward gives no output"
    if not any(point.floating):
        return "no output of forward can have a derivative"
    if not point.size:
        return "every output is empty"
    return "every input that could be differentiated is empty"


def _only(finding: Finding, right: str, wrong: str) -> Finding:
    """Says of a wrong value where it is right and where it is wrong, before its cause."""
    if finding.check != "vjp value":
        return finding
    rest = f": {finding.cause}" if finding.cause else ""
    return replace(finding, cause=f"right at the {right}, wrong at {wrong}{rest}")


def _is_known(tied: Finding, findings: list[Finding]) -> bool:
    """Says whether what is found of two inputs together is what is wrong of one of them alone."""
    of = tied.message.partition(":")[0]  # it names both
    return tied.check == "tied inputs" and any(f.check == "vjp value" and repr(f.input) in of for f in findings)


def _is_hopeless(findings: list[Finding]) -> bool:
    """Says whether vjp gives nothing that could be compared."""
    return any(finding.check in ("vjp raises", "gradient count") for finding in findings)


def _vary(
    given: Point, inputs: tuple[object, ...], values: PointCheck, seed: int, known: set[str | None], *, zeros: bool
) -> list[Finding]:
    findings: list[Finding] = []
    subject = given.subject
    for label, changed in vary_inputs(subject, inputs, np.random.default_rng([seed, 2]), zeros=zeros):
        if values.budget.is_spent:
            values.tally.note("the budget ended before all variations were judged")
            break
        try:
            point = Point(subject, changed, label)
            point.forward_eps = max(point.forward_eps, given.forward_eps)
        except Exception as error:
            values.tally.note(f"{label}: skipped, forward raised {type(error).__name__}")
            continue
        findings += values.judge(point, known=known)
        for was, now in zip(given.dtypes, point.dtypes, strict=False):
            if was != now and was.kind == now.kind == "f":  # a real one may become complex, as roots do
                message = f"forward: expected one output dtype, got {was} and, at {label}, {now}; cast to one"
                findings.append(Finding("output dtype", message))
                break
    rerun = f"gradcheck.check(forward, vjp, inputs, seed={seed})"
    return [found if found.repro else replace(found, repro=rerun) for found in findings]


def _complete(report: Report, inputs: tuple[object, ...], given: Mapping[str, object]) -> Report:
    """Gives every finding an expression that shows it again, with the options that the caller gave."""
    # Words and numbers are written as they are, anything else by its name.
    written = {name: repr(v) if isinstance(v, (str, bool, int, float)) else name for name, v in given.items()}
    options = "".join(f", {name}={value}" for name, value in written.items())
    findings = []
    for found in report.findings:
        repro = found.repro or repro_call(inputs, GIVEN, report.seed)
        findings.append(replace(found, repro=f"{repro.removesuffix(')')}{options})"))
    return replace(report, findings=tuple(findings))
