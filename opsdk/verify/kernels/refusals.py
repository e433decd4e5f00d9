"""Refusals: kernels held to refusing what their op refuses, where nothing else does before they run.

That is what the op's check refuses, of a kernel that says `checks=True`, and numbers that the reference refuses by an
error of opsdk's, such as a matrix without a factor, of every kernel.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

from opsdk.backends.call.buffers import infer
from opsdk.backends.call.language import compiled, language_of
from opsdk.core.errors import KernelNotFoundError, OpsdkError
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, copies, flat
from opsdk.verify.inputs.refusable import refusable_calls, with_other_numbers
from opsdk.verify.inputs.sizes import bases
from opsdk.verify.kernels.memory import leaving, run_guarded, tell_outside
from opsdk.verify.kernels.rows import variants
from opsdk.verify.session import Case, Session, said

_ELEMENT = r"\w+\[[\d, ]+\]"  # in a message
_MOST = 4096  # elements of a call


def check_refusals(session: Session) -> None:
    """Runs kernels of an author's on calls near the op's own that it refuses; what they take is a finding."""
    opdef = session.opdef
    kernels = [kernel for kernel in opdef.kernels if session.wants(kernel) and kernel.key.place == "cpu"]
    reference = opdef.kernels.reference()
    others = [opdef.kernels.loaded(k) for k in kernels if k is not reference and language_of(k).changes_inputs]
    if opdef.schema.namespace == "opsdk" or reference is None or not others:
        return
    told: set[Kernel] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what NumPy says of such calls is not asked
        for call in _calls(session, others):
            for kernel in others:
                variant = next(variants(opdef, kernel, call), None) if kernel not in told else None
                by = "" if variant is None else refused_by(opdef, reference, kernel, variant)
                if variant is not None and by and not _is_refused(session.case(kernel, variant), by):
                    told.add(kernel)


def _calls(session: Session, kernels: list[Kernel]) -> Iterator[Call]:
    """Yields calls of which some may be refused, of the right shapes where no kernel asks for itself."""
    small = [call for call in session.calls if sum(array.size for array in flat(call.inputs)) <= _MOST]
    if any(kernel.options.get("checks") for kernel in kernels):
        yield from refusable_calls(session.opdef, small)
    elif not session.opdef.gradient_of:
        for call in bases(session.opdef, small):
            yield from with_other_numbers(session.opdef, call)


def refused_by(opdef: OpDef, reference: Kernel, kernel: Kernel, call: Call) -> str:
    """Returns what refuses a call and how, where the kernel has to do it too; nothing where something else does."""
    attrs = complete_attrs(opdef, call.attrs)
    try:
        infer(opdef, call.inputs, attrs)
    except Exception:  # refused before any kernel runs
        return ""
    try:
        if opdef.check is not None:
            opdef.check(call.inputs, attrs)
    except Exception as error:
        return f"@{opdef.schema.name}.check refuses it, {said(error)}" if kernel.options.get("checks") else ""
    try:
        compiled(opdef, reference)(*copies(call.inputs), **attrs)
    except OpsdkError as error:
        return f"the reference refuses it, {said(error)}"
    except Exception:  # which may be by accident
        return ""
    return ""


def _is_refused(case: Case, by: str) -> bool:
    """Whether a kernel refuses a call, and names the element that the reference names; if not, that is a finding."""
    opdef, call, kernel = case.opdef, case.call, case.kernel
    ran = run_guarded(opdef, kernel, call)
    if isinstance(ran.raised, KernelNotFoundError):  # of a dtype that the kernel is not for
        return True
    case.did("refuses")
    expected = f"{opdef.subject}, kernel {kernel}: sample {call} expected to be refused, as {by}"
    for touch in ran.touches:
        tell_outside(case, opdef, call, leaving(opdef, kernel, call, touch))
        return False
    if ran.raised is None:
        case.find("refuses", f"{expected}; it gives numbers: ask for that in the kernel too")
        return False
    named, wanted = re.findall(_ELEMENT, str(ran.raised)), re.findall(_ELEMENT, by)
    if named and wanted and named[0].partition("[")[0] == wanted[0].partition("[")[0] and named[0] != wanted[0]:
        case.find("refuses", f"{expected}; it names {named[0]}: count from 0")
        return False
    return True
