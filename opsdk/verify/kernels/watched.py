"""Watched kernels: each compiled once more, so that it watches itself, and run on every call; for `thorough`.

C runs under AddressSanitizer and UndefinedBehaviorSanitizer, with threads under ThreadSanitizer; Numba with its indices
checked, and its parallel loops looked at for what two of their steps write. What cannot be watched counts as skipped.
"""

from __future__ import annotations

from opsdk.backends.call.language import NotWatchedError, language_of
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel, KernelId
from opsdk.verify.inputs.calls import copies
from opsdk.verify.kernels.rows import case_of, variants
from opsdk.verify.session import Session

_EXPECTED = {
    "bounds": "expected it to stay inside its memory",
    "undefined": "expected nothing that C leaves undefined",
    "race": "expected no two threads at one element, of which one writes,",
}


def check_watched(session: Session) -> None:
    """Runs every kernel that can be watched on every call of its dtypes."""
    if not session.thorough or session.has("runs", "bounds"):
        return
    for kernel in session.opdef.kernels:
        language = language_of(kernel)
        if language.watches(kernel) and session.wants(kernel) and kernel.key.place == "cpu":
            _check(session, session.opdef.kernels.loaded(kernel))


def _check(session: Session, kernel: Kernel) -> None:
    opdef, language = session.opdef, language_of(kernel)
    kinds = language.watches(kernel)
    found = [case_of(session, kernel, each) for call in session.calls for each in variants(opdef, kernel, call)]
    cases = [case for case in found if case.row in session.lines and "runs" in case.line.checks]
    given = [(copies(case.call.inputs), complete_attrs(opdef, case.call.attrs)) for case in cases]
    try:
        for fault in language.watched(opdef, kernel, given):
            case = cases[fault.call]
            message = f"{_EXPECTED[fault.kind]} at sample {case.call}, {fault.message}"
            case.find(fault.kind, f"{opdef.subject}, kernel {kernel}: {message}", at=fault.at or case.at)
    except NotWatchedError as error:
        row = KernelId.of(kernel, kernel.key.dtype)
        session.skipped[f"{opdef.name}[{row}]: {', '.join(kinds)} not looked at by a watched run, {error}"] = None
        return
    for case in cases:
        case.did(*kinds)
