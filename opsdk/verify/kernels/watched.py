"""Watched kernels: parallel loops of Numba looked at for what two steps write; for `thorough` all compiled anew.

Then C runs under AddressSanitizer and UndefinedBehaviorSanitizer, with threads under ThreadSanitizer, and Numba with
its indices checked. What cannot be watched counts as skipped. A kernel with a race is judged no further: what its
numbers are depends on when its threads meet.
"""

from __future__ import annotations

from collections.abc import Sequence

from opsdk.backends.call.language import NotWatchedError, language_of
from opsdk.core.errors import OpsdkError
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel, KernelId
from opsdk.verify.inputs.calls import copies, flat
from opsdk.verify.session import Case, Session

_EXPECTED = {
    "bounds": "expected it to stay inside its memory",
    "undefined": "expected nothing that C leaves undefined",
    "race": "expected no two threads at one element, of which one writes,",
}


def too_large(cases: Sequence[Case]) -> list[Case]:
    """Returns the calls of a kernel that have more elements than a watched run looks at."""
    most = language_of(cases[0].kernel).watched_most(cases[0].kernel)
    return [case for case in cases if sum(array.size for array in flat(case.call.inputs)) > most]


def watch(cases: Sequence[Case], smaller: Sequence[Case] = (), *, compiles: bool) -> tuple[str, ...] | None:
    """Runs a kernel that can be watched on calls, which are its cases.

    Args:
        cases: the calls.
        smaller: further ones, in the place of what is too large.
        compiles: whether it is compiled anew, which takes seconds.

    Returns:
        What was looked at; None where the kernel leaves its memory, or two of its threads meet.
    """
    session, kernel = cases[0].session, cases[0].kernel
    opdef, language = session.opdef, language_of(kernel)
    kinds = language.watches(kernel, compiles=compiles) if kernel.key.place == "cpu" else ()
    if not kinds:
        return ()
    smaller = [case for case in smaller if not _is_refused(case)]
    asked = [*[case for case in cases if not _is_refused(case)], *smaller]
    given = [(copies(case.call.inputs), complete_attrs(opdef, case.call.attrs)) for case in asked]
    is_inside = True
    try:
        for fault in language.watched(opdef, kernel, given, compiles=compiles):
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
    left = 0 if smaller else len(too_large(cases))
    if left:
        row, most = KernelId.of(kernel, kernel.key.dtype), int(language.watched_most(kernel))
        what = f"{left} of {len(cases)} calls, of more than {most} elements, which no smaller ones stand for"
        session.skipped[f"{opdef.name}[{row}]: race not looked at by a watched run of {what}; give a sample"] = None
    if left == len(cases):
        kinds = tuple(kind for kind in kinds if kind != "race")
    return kinds if is_inside and not session.races(kernel) else None


def racing(session: Session) -> list[Kernel]:
    """Returns the kernels of an op whose threads meet, which are judged no further."""
    kernels = [kernel for kernel in session.opdef.kernels if session.races(kernel)]
    for kernel in kernels:
        session.skipped[f"{session.opdef.name}: kernel {kernel} not judged further, as its threads meet"] = None
    return kernels


def _is_refused(case: Case) -> bool:
    """Whether the op's own check refuses a call, before which no kernel runs."""
    try:
        if case.opdef.check is not None:
            case.opdef.check(case.call.inputs, complete_attrs(case.opdef, case.call.attrs))
    except Exception:
        return True
    return False
