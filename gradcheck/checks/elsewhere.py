"""The same functions in another thread, and after pickling: results must not depend on where they run."""

from __future__ import annotations

import contextvars
import pickle
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.checks.agreement import identical
from gradcheck.checks.relation import describe_error
from gradcheck.checks.session import Session
from gradcheck.model.dtypes import Array
from gradcheck.model.evaluation import VjpError
from gradcheck.report import Finding

_Gradients = tuple[Array | None, ...]


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
