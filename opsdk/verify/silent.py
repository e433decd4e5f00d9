"""Outputs declared nondifferentiable: whether their values say otherwise, as those of a staircase do not."""

from __future__ import annotations

import gradcheck
from opsdk.define.opdef import OpDef
from opsdk.verify import subjects
from opsdk.verify.inputs.calls import Call, flat, is_float
from opsdk.verify.kernels.launch import launch
from opsdk.verify.session import Session

CHECK = "nondifferentiable"


def check_silent(session: Session) -> None:
    """Holds every floating output that was declared nondifferentiable, and has no reason, to a derivative of zero.

    A gradient that nobody returns is missed without an error, by whoever differentiates through the output.
    """
    opdef, traits = session.opdef, session.opdef.traits
    silent = [i for i, d in enumerate(opdef.schema.outputs) if d.name in traits.nondifferentiable and not d.mutated]
    if opdef.gradient_of is not None:
        return
    for position in silent:
        name = opdef.schema.output_names[position]
        if name in traits.reasons:
            reason = traits.reasons[name]
            session.notes[f"{opdef.name}: {name} carries no gradient, whatever its derivative: {reason}"] = None
        else:
            _judge(session, position)


def _judge(session: Session, position: int) -> None:
    """Judges an output at the calls of the op, up to one that shows a derivative."""
    opdef, name = session.opdef, session.opdef.schema.output_names[position]
    for call in session.calls:
        if call.extra or any(array.dtype.kind == "c" for array in flat(call.inputs)):
            continue
        made = flat([launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)[position]])
        if not any(map(is_float, made)) or not any(map(is_float, flat(call.inputs))):
            continue
        if not opdef.traits.deterministic:
            told = f"whether {name}, declared nondifferentiable, has a derivative is not judged: not deterministic"
            session.skipped[f"{opdef.name}: {told}"] = None
            return
        found = _slope(session, call, position)
        if found is not None:
            case = session.reference(call)
            case.find(f"{CHECK}.{name}", _message(opdef, name, found), index=found.index, numeric=found.numeric)
            return


def _slope(session: Session, call: Call, position: int) -> gradcheck.Finding | None:
    """Returns what gradcheck says of the derivative of an output that should have none; None where that is right."""
    subject = subjects.without_constants(session.opdef, subjects.flat_in(session.opdef, call, position))
    case = session.reference(call)
    with case.timed(CHECK):
        case.did(CHECK)
        report = gradcheck.check(**vars(subject), seed=session.seed, budget=session.budget, vary=False)
    session.tested += report.coverage.tested
    return next((finding for finding in report.findings if finding.check == CHECK), None)


def _message(opdef: OpDef, name: str, found: gradcheck.Finding) -> str:
    place = f"{found.input}{list(found.index or ())}"
    return (
        f"{opdef.subject}, output {name!r}: expected derivative 0, as it is declared nondifferentiable, got "
        f"{found.numeric:.6g} ± {found.error_bar:.0e} at {place}; return its gradient, or say why there is none, as in "
        f"nondifferentiable={{{name!r}: 'saved for the backward'}}"
    )
