"""Results that depend on anything but the arguments.

Those are randomness, counters, values kept from another call or for one thread, and state that pickling loses.
"""

from __future__ import annotations

import contextvars
import pickle
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from gradcheck.checks.agreement import describe_error, identical
from gradcheck.checks.session import Results, Session, copy_arrays
from gradcheck.judge.variation import FLIPPED, vary_inputs
from gradcheck.model.dtypes import Array, is_discrete
from gradcheck.model.evaluation import VjpError, call_forward, call_vjp
from gradcheck.model.protocol import copy_inputs, normalise_outputs
from gradcheck.report import Finding

# What fails every eighth call shows; on many elements a call is dear.
_REPEATS, _FEW_REPEATS = 8, 3
_MANY_ELEMENTS = 20_000
# Arrays that live at once, so that not all can have the identity of one that is gone, with what was kept for it.
_ALIVE = 12
_Run: TypeAlias = tuple[Sequence[object], Results]
_Gradients: TypeAlias = tuple[Array | None, ...]


def check_repeats(session: Session) -> list[Finding]:
    """Finds a forward or vjp whose results differ, by as little as a bit, between equal calls."""
    arrays = [value for value in (*session.inputs, *session.outputs) if isinstance(value, np.ndarray)]
    count = _REPEATS if sum(array.size for array in arrays) <= _MANY_ELEMENTS else _FEW_REPEATS
    findings = []
    once = session.isolated(session.inputs)
    if not all(identical(once.outputs, session.forward(session.inputs)) for _ in range(count - 1)):
        findings.append(_impure("forward", "the same inputs"))
    steady = all(identical(once.gradients, session.pull(session.inputs, once.outputs)) for _ in range(count - 1))
    if not steady or not all(
        identical(first, session.pull(session.inputs, once.outputs, 0)) for first in session.first
    ):
        findings.append(_impure("vjp", "the same arguments"))
    return findings


def check_interleaving(session: Session) -> list[Finding]:
    """Finds results that depend on which calls ran before: two forwards, then their vjps in either order.

    A vjp also runs again after that of the other call. What counts is that each result equals, bit by bit, the one
    got with nothing in between.
    """
    other = other_inputs(session)
    if other is None:
        return []
    given = session.isolated(session.inputs)
    beside = _judge_beside(session, given)
    try:
        varied = session.isolated(other)
    except Exception:  # the varied values are outside what forward or vjp accepts
        return _judge_given(session, given, other) or beside
    runs = [(session.inputs, given), (other, varied)]
    found = _judge(session, runs, (0, 1, 0)) or _judge(session, runs, (1, 0)) or _judge_rewritten(session, runs)
    return found or beside


def _judge_beside(session: Session, given: Results) -> list[Finding]:
    """Runs forward in between at flipped signs, other integers and other masks, where random floats do not lead."""
    for label, inputs in vary_inputs(session.subject, session.inputs, np.random.default_rng(session.seed)):
        if label == FLIPPED and (found := _judge_given(session, given, inputs)):
            return found
    for k, value in enumerate(session.inputs):
        if not isinstance(value, np.ndarray) or not is_discrete(value.dtype) or not value.size:
            continue
        # Numbers in order may be offsets, which a loop would follow beyond an array in any other order.
        if k in session.subject.ruled or (value.dtype.kind != "b" and (np.diff(value.ravel()) >= 0).all()):
            continue
        for made in (np.roll(value, 1), ~value if value.dtype.kind == "b" else np.full_like(value, value.flat[0])):
            inputs = (*session.inputs[:k], np.array(made).reshape(value.shape), *session.inputs[k + 1 :])
            if found := _judge_given(session, given, inputs):
                return found
    return []


def _judge_rewritten(session: Session, runs: Sequence[_Run]) -> list[Finding]:
    """Passes the same array objects with other values in them, as an optimiser does that updates in place."""
    alive = [copy_inputs(session.inputs) for _ in range(_ALIVE)]
    for given in alive:
        for inputs, results in runs:
            _write(given, inputs)
            if not identical(results.outputs, copy_arrays(normalise_outputs(session.subject.forward(*given)))):
                return [_rewritten("forward", "outputs")]
            _write(given, inputs)  # forward may have moved them, which is a finding of its own
            found = call_vjp(session.subject, given, copy_arrays(results.outputs), session.cotangents(1))
            if not identical(results.gradients, found):
                return [_rewritten("vjp", "gradients")]
    others = [copy_inputs(runs[-1][0]) for _ in range(_ALIVE)]
    outputs = runs[-1][1].outputs
    rows = [call_vjp(session.subject, o, copy_arrays(outputs), session.cotangents(1)) for o in others]
    return [] if all(identical(rows[0], row) for row in rows) else [_rewritten("vjp", "gradients")]


def _write(arrays: Sequence[object], values: Sequence[object]) -> None:
    for target, value in zip(arrays, values, strict=True):
        if isinstance(target, np.ndarray):
            target[...] = value


def _rewritten(function: str, results: str) -> Finding:
    message = (
        f"{function}: expected {results} for the values it is given, got others for new values in the same array; "
        "do not tell inputs by identity"
    )
    return Finding("interleaving", message, cause="values kept for the same array object are used")


def _judge_given(session: Session, given: Results, other: Sequence[object]) -> list[Finding]:
    """Judges the given inputs alone, with a forward elsewhere in between where that works at all."""
    try:
        call_forward(session.subject, other)
    except Exception:
        return []
    again = session.pull(session.inputs, given.outputs)
    return [] if identical(given.gradients, again) else [mixed()]


def _judge(session: Session, runs: Sequence[_Run], order: Sequence[int]) -> list[Finding]:
    made = [session.forward(inputs) for inputs, _ in runs]
    if not all(identical(results.outputs, outputs) for (_, results), outputs in zip(runs, made, strict=True)):
        ran = "it ran elsewhere in between"
        return [_mixed("forward", "outputs for its own inputs", ran, "the inputs, not from what it kept")]
    for inputs, results in (runs[k] for k in order):
        if not identical(results.gradients, session.pull(inputs, results.outputs)):
            return [mixed()]
    return []


def mixed(ran: str = "forward ran elsewhere in between") -> Finding:
    """Says that vjp uses what another call of forward left."""
    return _mixed("vjp", "gradients for its own arguments", ran, "inputs and outputs, not from what forward kept")


def _mixed(function: str, wanted: str, ran: str, remedy: str) -> Finding:
    message = f"{function}: expected {wanted}, got others once {ran}; compute from {remedy}"
    return Finding("interleaving", message, cause="values kept from the last forward are used")


def other_inputs(session: Session) -> tuple[object, ...] | None:
    """Gives inputs of the same shapes with random values, inside the domain."""
    generator = np.random.default_rng(session.seed)
    for label, inputs in vary_inputs(session.subject, session.inputs, generator):
        if label == "random values":
            return inputs
    return None


def _impure(function: str, given: str) -> Finding:
    problem = f"expected equal results for {given}, got different ones"
    return Finding("repeats", f"{function}: {problem}; remove randomness and state")


def check_thread(session: Session) -> list[Finding]:
    """Finds a vjp that gives something else in another thread than the one where forward ran.

    A setting of the caller's thread that both functions need is no fault of theirs: when forward and vjp do not give
    the same in one other thread either, that is noted, and nothing is said.
    """
    context, apart = contextvars.copy_context(), contextvars.copy_context()  # before forward, which may set something
    once = session.isolated(session.inputs)
    try:
        got: _Gradients | None = _elsewhere(lambda: context.run(session.pull, session.inputs, once.outputs))
        problem = "others"
    except VjpError as error:
        got, problem = None, str(error)
    if got is not None and identical(once.gradients, got):
        return []
    try:
        whole = _elsewhere(lambda: apart.run(session.gradients, session.cotangents(1)))
    except Exception:
        whole = None
    if whole is None or not identical(once.gradients, whole):
        session.notes.append("not judged across threads: forward and vjp do not work alike in another thread")
        return []
    message = (
        "vjp: expected in another thread the gradients that it gives in the one where forward ran, "
        f"got {problem}; compute from inputs and outputs, not from what forward kept for its thread"
    )
    return [Finding("other thread", message, cause="values kept for one thread are used")]


def _elsewhere(call: Callable[[], _Gradients]) -> _Gradients:
    """Calls in a new thread; an exception there is raised here."""
    made: Future[_Gradients] = Future()

    def run() -> None:
        try:
            with np.errstate(all="ignore"):
                made.set_result(call())
        except BaseException as error:
            made.set_exception(error)

    # Nobody waits for it once the call is interrupted.
    threading.Thread(target=run, name="gradcheck", daemon=True).start()
    return made.result()


def check_pickling(session: Session) -> list[Finding]:
    """Finds a pair that can be pickled, but is not the same afterwards; a pair that cannot be is left alone."""
    subject = session.subject
    # Any: functions of every signature, as the subject's own
    pair: Any
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = pickle.dumps((subject.forward, subject.vjp))
        except Exception:
            return []
        try:
            pair = pickle.loads(data)
        except Exception as error:
            return [_spoiled("forward and vjp", f"{type(error).__name__}: {error}")]
    if pair[0] is subject.forward and pair[1] is subject.vjp:  # pickled by name: the very same functions
        return []
    again = replace(session, subject=replace(subject, forward=pair[0], vjp=pair[1]))
    once = session.isolated(session.inputs)
    try:
        if not identical(once.outputs, again.forward(session.inputs)):
            return [_spoiled("forward", "other outputs")]
        gradients = again.pull(session.inputs, once.outputs)
    except Exception as error:
        return [_spoiled(*describe_error(error))]
    return [] if identical(once.gradients, gradients) else [_spoiled("vjp", "other gradients")]


def _spoiled(function: str, got: str) -> Finding:
    message = f"{function}: expected to work as before after pickling, got {got}; keep all state that it needs, or none"
    return Finding("pickling", message, cause="state is lost in pickling")
