"""Pace: how far a default check judges the derivatives of an op, by what one call of it takes.

That is counted in calls of functions, Python's and those of C, which unlike seconds are the same on every machine. The
first call, and few others with which all that calls choose is chosen, are judged as far as there is work for them, the
others at their own values. Where one call takes much, gradients of gradients are judged at fewer calls; the report
says at which not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from opsdk.verify.inputs.calls import Call, flat, is_float
from opsdk.verify.inputs.sizes import covering
from opsdk.verify.level import BUDGETS
from opsdk.verify.session import Session
from opsdk.verify.subjects import Subject

_WORK = 3_000_000  # calls of functions for one check of all samples: a second or two
_BESIDE = 60  # of gradcheck itself, at each forward call
LEAST = 200  # forward calls, gradcheck's least budget: for the values of a gradient, at the values of a call
_EACH = 250  # forward calls for the gradient of one input, at the least


class Pace:
    """What derivatives at the calls of a session may take.

    Args:
        session: of the op, with its calls.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._is_whole = session.level != "default" or session.budget != BUDGETS["default"]
        full = [call for call in session.calls if all(array.size for array in flat(call.inputs))]
        self._first = {*map(id, covering(session.opdef, full[:1], full))}
        self._rest = max(len(full) - len(self._first), 1)
        self._left = float(_WORK)

    def is_first(self, call: Call) -> bool:
        """Whether a call is one of those that are judged as far as there is work for them."""
        return self._is_whole or id(call) in self._first

    def budget(self, call: Call, subject: Subject) -> int:
        """Returns about how many forward calls a derivative at a call may take."""
        most = self._session.budget
        if self._is_whole:
            return most
        peers = len(self._first) if self.is_first(call) else self._rest
        share = int(_WORK / 2 / peers / self._each(subject))
        return max(min(most, share), LEAST + self.is_first(call))

    def has_room(self, call: Call, subject: Subject) -> bool:
        """Whether there is work left for the gradient of a gradient at a call, which is counted as done if so."""
        if self._is_whole:
            return True
        count = sum(map(is_float, subject.inputs))
        takes = self._each(subject) * min(_EACH * count, self._session.budget)
        self._left -= takes
        return self.is_first(call) or self._left >= 0

    def _each(self, subject: Subject) -> int:
        return _BESIDE + work_of(subject.forward, subject.inputs)


# Any: what a function takes and gives.
def work_of(function: Any, inputs: Sequence[Any]) -> int:
    """Returns how many functions a call of a function calls; 0 where something else counts them, as a profiler does."""
    if sys.getprofile() is not None:
        return 0
    count = 0

    def met(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    given = [array.copy() if hasattr(array, "copy") else array for array in inputs]
    function(*given)  # plans are made at the first call
    sys.setprofile(met)
    try:
        function(*given)
    finally:
        sys.setprofile(None)
    return count
