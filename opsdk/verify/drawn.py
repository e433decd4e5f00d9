"""The gradient of an op that is not deterministic: judged with its draws fixed, as a mean, or said not to be judged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opsdk.define.determinism import Repeats
from opsdk.verify import gradients, subjects
from opsdk.verify.derivative import cases_of, gradient_case, judge_case, judge_second
from opsdk.verify.draws import Draws, means, repeats
from opsdk.verify.gradients import carriers, wanted
from opsdk.verify.inputs.calls import Call, flat
from opsdk.verify.kernels.launch import launch
from opsdk.verify.session import Case, Session
from opsdk.verify.subjects import Subject

_UNFIXED = (
    "its draws come from no generator that can be set back; draw from a np.random.Generator that its code reaches, or "
    "from an attribute rng: opsdk.Generator, or declare deterministic=opsdk.Repeats(64)"
)


def check_drawn(session: Session) -> None:
    """Judges the gradient of an op that draws, on every call, or says why it cannot be."""
    opdef, traits = session.opdef, session.opdef.traits
    by_body = opdef.is_composite and opdef.gradient_of is None
    if traits.deterministic or not carriers(opdef) or not (opdef.grad is not None or by_body):
        return
    if traits.surrogate is True:
        session.notes[f"{opdef.name}: declared surrogate, its gradient is not compared"] = None
        return
    for call in session.calls:
        is_complex = any(array.dtype.kind == "c" for array in flat(call.inputs))
        if wanted(opdef, call) and not is_complex and not _judge(session, call):
            return


def _judge(session: Session, call: Call) -> bool:
    """Judges every kernel of the gradient on a call; False where no call can be judged."""
    opdef, traits = session.opdef, session.opdef.traits
    held, is_fixed = Draws.of(opdef), False
    for case in _cases(session, call):
        drawn = subjects.first_order(opdef, case.call, None if opdef.grad is None else case.kernel)
        fixed = held.fixed(drawn)
        is_fixed = repeats(fixed)
        if is_fixed:
            session.notes[f"{opdef.name}: its gradient is judged with its draws fixed"] = None
            judge_case(case, "vjp", fixed)
        elif isinstance(traits.deterministic, Repeats):
            _judge_means(case, drawn, traits.deterministic.count)
        else:
            session.inconclusive[f"{opdef.name}, vjp: {_UNFIXED}"] = None
            return False
    if is_fixed and not traits.surrogate and not call.extra and not session.has("vjp"):
        _judge_second(session, call, held)
    return True


def _cases(session: Session, call: Call) -> Iterator[Case]:
    if session.opdef.grad is not None:
        yield from cases_of(session, call)
    else:
        yield session.reference(call)


def _judge_second(session: Session, call: Call, held: Draws) -> None:
    opdef = session.opdef
    gradient = None if opdef.grad is None else opdef.grad.op.opdef
    if gradient is not None and (
        opdef.gradient_of is not None or (gradient.grad is None and not gradient.is_composite)
    ):
        return
    outputs = launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
    cotangents = gradients.draw_cotangents(opdef, outputs, np.random.default_rng([session.seed, 9]))
    case = session.reference(call) if gradient is None else gradient_case(session, None, call)
    judge_second(case, held.fixed(subjects.second_order(opdef, call, cotangents)))


def _judge_means(case: Case, subject: Subject, count: int) -> None:
    """Compares the mean of the gradient over repeats with the slope of the mean, as far as chance tells them apart."""
    session, opdef = case.session, case.opdef
    if case.call.extra:
        return  # a mean takes five times as many calls as it is of
    with case.timed("vjp"):
        case.did("vjp")
        for mean in means(subject, count, np.random.default_rng([session.seed, 31])):
            said = (
                f"along the gradient's signs the mean over {count} draws is {mean.yours:.6g}, the slope of the mean "
                f"{mean.slope:.6g} ± {mean.bar:.0e}"
            )
            if mean.is_wrong:
                case.find(
                    f"vjp.{mean.name}",
                    f"{opdef.subject}, gradient of {mean.name!r}: wrong, {said}",
                    input=mean.name,
                    analytic=mean.yours,
                    numeric=mean.slope,
                    error_bar=mean.bar,
                )
            elif not mean.is_sharp:
                unsure = f"{opdef.name}, vjp.{mean.name} at {case.call}: {said}; declare more repeats"
                session.inconclusive[unsure] = None
            else:
                session.tested += 1
                case.line.sees = max(case.line.sees or 0.0, mean.share)
                session.notes[
                    f"{opdef.name}: its gradient is judged by means over {count} draws, along its signs; smaller "
                    "errors than it sees down to are left to chance"
                ] = None
