"""Watched kernels: each compiled once more, so that it watches itself, and run on every call; for `thorough`.

C runs under AddressSanitizer and UndefinedBehaviorSanitizer, with threads under ThreadSanitizer; Numba with its indices
checked, and its parallel loops looked at for what two of their steps write. What cannot be watched counts as skipped.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdk.backends.call.language import NotWatchedError, language_of
from opsdk.core.errors import OpsdkError
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import KernelId
from opsdk.verify.inputs.calls import copies
from opsdk.verify.session import Case

_EXPECTED = {
    "bounds": "expected it to stay inside its memory",
    "undefined": "expected nothing that C leaves undefined",
    "race": "expected no two threads at one element, of which one writes,",
}


def watch(cases: Sequence[Case]) -> tuple[str, ...] | None:
    """Runs a kernel that can be watched on calls, which are its cases.

    Returns:
        What was looked at; None where the kernel leaves its memory.
    """
    session, kernel = cases[0].session, cases[0].kernel
    opdef, language = session.opdef, language_of(kernel)
    kinds = language.watches(kernel) if kernel.key.place == "cpu" else ()
    if not kinds:
        return ()
    asked = [case for case in cases if not _is_refused(case)]
    given = [(copies(case.call.inputs), complete_attrs(opdef, case.call.attrs)) for case in asked]
    is_inside = True
    try:
        for fault in language.watched(opdef, kernel, given):
            case = asked[fault.call]
            message = f"{_EXPECTED[fault.kind]} at sample {case.call}, {fault.message}"
            case.find(fault.kind, f"{opdef.subject}, kernel {kernel}: {message}", at=fault.at or case.at)
            is_inside = is_inside and fault.kind != "bounds"
    except NotWatchedError as error:
        row = KernelId.of(kernel, kernel.key.dtype)
        session.skipped[f"{opdef.name}[{row}]: {', '.join(kinds)} not looked at by a watched run, {error}"] = None
        return ()
    except OpsdkError:  # it does not compile, or cannot here: told where it runs
        return ()
    return kinds if is_inside else None


def _is_refused(case: Case) -> bool:
    """Whether the op's own check refuses a call, before which no kernel runs."""
    try:
        if case.opdef.check is not None:
            case.opdef.check(case.call.inputs, complete_attrs(case.opdef, case.call.attrs))
    except Exception:
        return True
    return False
