"""Coverage: the lines of kernels that no call of a check reached, where their languages can tell.

Whatever is wrong on such a line was not seen. A comment `unreached: reason` on the first of several, or above it, says
why that is well.
"""

from __future__ import annotations

import linecache
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opsdk.backends.call.language import language_of
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

Line = tuple[str, int]


def check_coverage(session: Session) -> None:
    """Counts which lines of an author's kernels calls reach; nothing unless the check is thorough."""
    opdef = session.opdef
    reference = opdef.kernels.reference()
    if not session.thorough or opdef.schema.namespace == "opsdk" or reference is None:
        return
    kernels = [k for k in opdef.kernels if k.key.place == "cpu" and session.wants(k) and k is not reference]
    others = [opdef.kernels.loaded(k) for k in kernels if language_of(k).changes_inputs]
    if not others:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as that of a mean of nothing
        calls = list(_taken(session, others))
        for kernel in others:
            _count(session, kernel, calls)


def _taken(session: Session, kernels: Sequence[Kernel]) -> Iterator[Call]:
    """Yields the calls that a check makes, as far as the reference takes them."""
    opdef = session.opdef
    yield from session.calls
    count = len(opdef.schema.inputs)
    chosen = [list(range(count)), *([i] for i in range(count))]
    varied = [
        made
        for call in bases(session.calls)
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
    name = f"{opdef.name}, {kernel.language} kernel"
    because = f"nothing here counts those of {kernel.language}"
    try:
        counted = language_of(kernel).reached(opdef, kernel, _given(session, kernel, calls))
    except OpsdkError as error:
        counted, because = None, str(error)
    except Exception as error:
        counted, because = None, said(error)
    if counted is None:
        session.skipped[f"{name}: lines not counted, {because}"] = None
    else:
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


def _tell(session: Session, name: str, left: Sequence[Line]) -> None:
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
        session.notes[f"{name}: every line was reached"] = None


# Any: values of a call.
def _given(session: Session, kernel: Kernel, calls: Sequence[Call]) -> Iterator[tuple[list[Any], Mapping[str, Any]]]:
    opdef = session.opdef
    for call in calls:
        for variant in variants(opdef, kernel, call):
            yield copies(variant.inputs), complete_attrs(opdef, variant.attrs)


def _runs(lines: Iterable[Line]) -> list[list[Line]]:
    """Returns lines that follow each other, with nothing but blank lines, comments and brackets between, together."""
    runs: list[list[Line]] = []
    for file, line in lines:
        last = runs[-1][-1] if runs else ("", 0)
        between = range(last[1] + 1, line) if last[0] == file else ()
        follows = last[0] == file and all(not re.search(r"\w", _code(file, number)) for number in between)
        if follows:
            runs[-1].append((file, line))
        else:
            runs.append([(file, line)])
    return runs


def _code(file: str, number: int) -> str:
    return re.sub(r"#.*|//.*|/\*.*?\*/|\belse\b", "", linecache.getline(file, number))


def _reason(line: Line) -> str:
    """Returns what a comment on a line, or alone on the one above, says about why nothing reaches it."""
    file, number = line
    above = linecache.getline(file, number - 1)
    for text in (linecache.getline(file, number), above if not re.search(r"\w", _code(file, number - 1)) else ""):
        found = re.search(_REASON, text.rstrip("\n"))
        if found and found[1]:
            return found[1]
    return ""


def _named(run: Sequence[Line]) -> str:
    (file, first), (_, last) = run[0], run[-1]
    place = f"{shorten(file) if Path(file).is_file() else file}:{first}"
    return f"{place}-{last}" if last > first else place
