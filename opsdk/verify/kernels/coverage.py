"""Coverage: the lines of kernels that no call of a check reached, where their languages can tell.

Whatever is wrong on such a line was not seen. A comment `unreached: reason` on the first of several, or above it, says
why that is well.
"""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from opsdk.backends.call.language import language_of
from opsdk.backends.call.lines import Spot
from opsdk.backends.cuda.runtime import can_run
from opsdk.core.errors import OpsdkError
from opsdk.core.origin import shorten
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import Kernel
from opsdk.verify.inputs.calls import Call, copies
from opsdk.verify.inputs.further import further_calls
from opsdk.verify.inputs.patterns import PATTERNS, patterned
from opsdk.verify.inputs.sizes import bases
from opsdk.verify.kernels.launch import launch
from opsdk.verify.kernels.rows import variants
from opsdk.verify.session import Session, said

_REASON = r"(?:#|//|/\*).*?\bunreached:\s*(.*?)\s*(?:\*/.*)?\\?\s*$"


def check_coverage(session: Session) -> None:
    """Counts which lines of an author's kernels calls reach; nothing unless the check is thorough."""
    opdef = session.opdef
    reference = opdef.kernels.reference()
    if not session.thorough or opdef.schema.namespace == "opsdk" or reference is None:
        return
    others = session.others()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that of a mean of nothing
        calls = list(_taken(session, others)) if others else []
        for kernel in others:
            _count(session, kernel, calls)
        for kernel in session.others("cuda") if can_run() else ():  # slow in the simulator, so on samples alone
            _count(session, kernel, session.calls)


def _taken(session: Session, kernels: Sequence[Kernel]) -> Iterator[Call]:
    """Yields the calls that a check makes, as far as the reference takes them."""
    opdef = session.opdef
    yield from session.calls
    count = len(opdef.schema.inputs)
    chosen = [list(range(count)), *([i] for i in range(count))]
    varied = [
        made
        for call in bases(opdef, session.calls)
        for reason in PATTERNS
        for positions in chosen
        for made in patterned(opdef, call, reason, positions)
    ]
    for call in [*further_calls(opdef, session.calls, session.seed, kernels), *(() if opdef.gradient_of else varied)]:
        try:
            launch(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
            yield call
        except Exception:  # what the reference refuses, no kernel has to take
            continue


def _count(session: Session, kernel: Kernel, calls: Sequence[Call]) -> None:
    opdef = session.opdef
    language = kernel.language if kernel.key.place == "cpu" else f"{kernel.language} {kernel.key.place}"
    name = f"{opdef.name}, {language} kernel"
    because = f"nothing here counts those of {kernel.language}"
    try:
        counted = language_of(kernel).reached(opdef, kernel, _given(session, kernel, calls))
    except OpsdkError as error:
        counted, because = None, str(error)
    except Exception as error:
        counted, because = None, said(error)
    if counted is None:
        session.skipped[f"{name}: lines not counted, {because}"] = None
    elif counted:
        session.counted[name] = counted


def tell_coverage(sessions: Sequence[Session]) -> None:
    """Says which lines no call of an op, or of its gradient ops, reached: what several share needs one of them."""
    reached = {
        line
        for session in sessions
        for counted in session.counted.values()
        for line, is_met in counted.items()
        if is_met
    }
    for session in sessions:
        for name, counted in session.counted.items():
            _tell(session, name, [line for line in counted if line not in reached])


def _tell(session: Session, name: str, left: Sequence[Spot]) -> None:
    unsaid: list[str] = []
    for run in _runs(left):
        reason = _reason(run[0])
        if reason:
            session.notes[f"{name}: no call reached {_named(run)}, {reason}"] = None
        else:
            unsaid.append(_named(run))
    if unsaid:
        session.warn(
            f"{name}: no call reached {', '.join(unsaid)}; give a sample that does, or say why it is well in a "
            "comment there, unreached: reason"
        )
    elif not left:
        session.notes[f"{name}: every {_kind(session.counted[name])} was reached"] = None


def _kind(spots: Iterable[Spot]) -> str:
    return "choice" if all(spot.side for spot in spots) else "line"


# Any: values of a call.
def _given(session: Session, kernel: Kernel, calls: Sequence[Call]) -> Iterator[tuple[list[Any], Mapping[str, Any]]]:
    opdef = session.opdef
    for call in calls:
        served = variants(opdef, kernel, call)
        for variant in served if kernel.key.place == "cpu" else islice(served, 1):
            yield copies(variant.inputs), complete_attrs(opdef, variant.attrs)


def _runs(spots: Iterable[Spot]) -> list[list[Spot]]:
    """Returns lines that follow each other, with nothing but blank lines, comments and brackets between, together."""
    runs: list[list[Spot]] = []
    for spot in spots:
        last = runs[-1][-1] if runs else Spot("", 0)
        between = range(last.line + 1, spot.line)
        is_near = last.file == spot.file and not (last.side or spot.side)
        if is_near and all(not re.search(r"\w", _code(spot.file, number)) for number in between):
            runs[-1].append(spot)
        else:
            runs.append([spot])
    return runs


def _code(file: str, number: int) -> str:
    return re.sub(r"#.*|//.*|/\*.*?\*/|\belse\b", "", linecache.getline(file, number))


def _reason(spot: Spot) -> str:
    """Returns what a comment on a line, or alone on the one above, says about why nothing reaches it."""
    file, number, _ = spot
    above = linecache.getline(file, number - 1)
    for text in (linecache.getline(file, number), above if not re.search(r"\w", _code(file, number - 1)) else ""):
        found = re.search(_REASON, text.rstrip("\n"))
        if found and found[1]:
            return found[1]
    return ""


def _named(run: Sequence[Spot]) -> str:
    (file, first, side), (_, last, _) = run[0], run[-1]
    place = f"{shorten(file) if Path(file).is_file() else file}:{first}"
    return f"{place} {side}" if side else f"{place}-{last}" if last > first else place
