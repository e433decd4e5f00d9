"""The runtimes against bare arrays: the same kernels must give the same bits."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.autograd import trial as _dynamic  # noqa: F401 - registers itself
from opsdk.core.errors import KernelNotFoundError
from opsdk.define.frontend import BACKWARD, OUTPUTS, TRIALS, Attempt, Trial, Tried
from opsdk.define.op import Op
from opsdk.define.opdef import OpDef
from opsdk.static.run import trial as _static  # noqa: F401 - registers itself
from opsdk.verify.inputs.calls import Call, Values, copies, flat, flat_names, is_float, outputs_of, refill
from opsdk.verify.kernels.agreement import same_bits
from opsdk.verify.kernels.launch import launch
from opsdk.verify.runtimes.attribution import Attribution, forward_attribution, gradient_attribution
from opsdk.verify.runtimes.rule import carriers, draw_cotangents, gradients_by_leaf
from opsdk.verify.session import Session
from opsdk.verify.subject import through_tape

# Through the parts of a composite, contributions to one gradient are added in another order by either runtime.
CLOSE = 1e-5

_SHORT = np.dtype("float32")


def check_runtimes(session: Session) -> None:
    """Compares every runtime that is registered with arrays."""
    for trial in TRIALS:
        check_runtime(session, trial)


def check_runtime(session: Session, trial: Trial) -> None:
    """Runs every call, and its gradients, in a runtime, and compares both with arrays bit for bit."""
    if not trial.takes(session.opdef):
        return
    for call in [*session.calls, *(_in_float32(session) if trial.has_float32 else ())]:
        for attempt in trial.attempts(flat(call.inputs)):
            if _counts(session, trial, attempt, call):
                break


def _counts(session: Session, trial: Trial, attempt: Attempt, call: Call) -> bool:
    """Compares one attempt; returns whether it was the one that counts, so that no other is needed."""
    opdef = session.opdef
    attribution = forward_attribution(session, call)
    try:
        _compare(session, trial, attempt, attribution, call)
    except attempt.permitted as error:
        if isinstance(error, attempt.noted):
            session.notes[f"{opdef.name}: {trial.where} it {attempt.need}: {error}"] = None
        return False
    except KernelNotFoundError as error:
        session.skipped[f"{trial.where}: {error}"] = None
    except Exception as error:
        message = f"{opdef.subject}, {trial.where}: sample {call} expected to run as on arrays, "
        message += f"raised {type(error).__name__}: {error}"
        session.find_raised(attribution.row, trial.check, message, error, call, at=attribution.at)
    else:
        if attempt.is_extra:
            return False
        session.did(attribution.row, trial.check)
    return True


def _in_float32(session: Session) -> list[Call]:
    """Returns a call as networks make them, where the op takes it: a gradient has the dtype of its input."""
    for call in session.calls:
        short = call.cast(_SHORT)
        if any(map(is_float, flat(call.inputs))) and not call.extra:
            try:
                launch(session.opdef, None, short.inputs, short.attrs)
            except Exception:  # told where rows are judged
                continue
            return [short]
    return []


def _compare(session: Session, trial: Trial, attempt: Attempt, attribution: Attribution, call: Call) -> None:
    """Compares what an attempt gives; `attribution` becomes that of the backward where that begins."""
    opdef = session.opdef
    wanted = launch(opdef, None, call.inputs, call.attrs)
    cotangents = draw_cotangents(opdef, wanted, np.random.default_rng([session.seed, 9]))
    arrays = flat(copies(call.inputs))
    asked = [is_float(array) and trial.differentiates(opdef) for array in arrays]
    is_partial = any(value is None for value in wanted)

    # Any: values of the runtime.
    def apply(values: Sequence[Any]) -> list[Any]:
        return _flat_values(outputs_of(opdef, Op(opdef)(*refill(call.inputs, values), **call.attrs)))

    forward = replace(attribution)
    expected: list[Any] | None = None
    with closing(attempt.run(Tried(opdef, arrays, asked, flat(cotangents), is_partial, apply))) as stages:
        for stage, values in stages:
            if stage == BACKWARD:
                behind = gradient_attribution(session, call, wanted, cotangents)
                attribution.row, attribution.at = behind.row, behind.at
            elif stage != OUTPUTS:
                expected = _expected(opdef, call, wanted, cotangents) if expected is None else expected
                _compare_gradients(session, trial, stage, attribution, call, expected, values)
            elif not opdef.traits.deterministic:
                return
            else:
                names = flat_names(opdef.schema.output_names, wanted)
                for name, want, got in zip(names, flat(wanted), values, strict=True):
                    _same(session, trial, f"{trial.check}.{name}", forward, call, f"output {name!r}", want, got)


def _flat_values(values: Sequence[Any]) -> list[Any]:
    present = [value for value in values if value is not None]
    return [item for value in present for item in (value if isinstance(value, (list, tuple)) else [value])]


def _expected(opdef: OpDef, call: Call, outputs: Values, cotangents: Values) -> list[Any]:
    """Returns the gradient of every floating input: by hand or, of a composite, as the tape gives it."""
    if opdef.grad is not None:
        return gradients_by_leaf(opdef, call, outputs, cotangents)
    tape = through_tape(opdef, call, [array for i in carriers(opdef) for array in flat([cotangents[i]])])
    return [gradient for array, gradient in zip(flat(call.inputs), tape, strict=True) if is_float(array)]


def _compare_gradients(
    session: Session,
    trial: Trial,
    stage: str,
    attribution: Attribution,
    call: Call,
    expected: list[Any],
    found: Sequence[Any],
) -> None:
    opdef = session.opdef
    every = zip(flat_names(opdef.schema.input_names, call.inputs), flat(call.inputs), strict=True)
    names = [name for name, array in every if is_float(array)]
    for name, want, got in zip(names, expected, found, strict=True):
        what = f"gradient of {name!r}"
        if want is None and got is None:
            continue
        if opdef.grad is not None and want is not None and got is not None:
            _same(session, trial, f"{stage}.d{name}", attribution, call, what, want, got)
        elif opdef.grad is not None:
            message = f"{opdef.subject}, {what} {trial.where}: expected {want} as on arrays, got {got}"
            session.find(attribution.row, f"{stage}.d{name}", message, call, input=name, at=attribution.at)
        elif want is None or got is None or not np.allclose(got, want, rtol=CLOSE, atol=CLOSE, equal_nan=True):
            message = f"{opdef.subject}, {what} {trial.where}: expected what the tape gives, got another"
            session.find(attribution.row, f"{stage}.d{name}", message, call, input=name, at=attribution.at)


def _same(
    session: Session,
    trial: Trial,
    check: str,
    attribution: Attribution,
    call: Call,
    what: str,
    want: np.ndarray,
    got: np.ndarray,
) -> None:
    if same_bits(want, got):
        return
    message = (
        f"{session.opdef.subject}, {what} {trial.where}: expected the bits that arrays give, got others"
        if want.shape == got.shape and want.dtype == got.dtype
        else f"{session.opdef.subject}, {what} {trial.where}: expected {want.dtype}{want.shape} as on arrays, "
        f"got {got.dtype}{got.shape}"
    )
    session.find(attribution.row, check, message, call, at=attribution.at)
