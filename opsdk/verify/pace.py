"""Pace: how far a check judges the derivatives of an op, by what one call of it takes.

That is counted in calls of functions, Python's and those of C, which unlike seconds are the same on every machine. The
first call, and few others with which all that calls choose is chosen, get half of the work. Where it is not enough for
all, a default check judges the others at their own values, and gradients of gradients at fewer calls; the report says
at which not. A thorough one leaves nothing out.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from opsdk.verify.inputs.calls import Call, flat, is_float
from opsdk.verify.inputs.sizes import covering
from opsdk.verify.level import BUDGETS, Level
from opsdk.verify.session import Session
from opsdk.verify.subjects import Subject

# Calls of functions for one check of all samples: a second or two. Quick checks have few samples and little budget.
_WORK: dict[Level, float] = {"quick": math.inf, "default": 3e6, "thorough": 6e6}
_BESIDE = 60  # of gradcheck itself, at each forward call
LEAST = 200  # forward calls, gradcheck's least budget: it buys values alone, and no look at how a vjp behaves
_EACH = 250  # forward calls for the gradient of one input, at the least


class Pace:
    """What derivatives at the calls of a session may take.

    Args:
        session: of the op, with its calls.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._work = _WORK[session.level] if session.budget == BUDGETS[session.level] else math.inf
        self._is_default = session.level == "default"
        full = [call for call in session.calls if all(array.size for array in flat(call.inputs))]
        self._first = {*map(id, covering(session.opdef, full[:1], full))}
        self._rest = max(len(full) - len(self._first), 1)
        self._left = self._work

    def is_varied(self, call: Call, budget: int) -> bool:
        """Whether a derivative that got a budget at a call is judged at other values too."""
        return self._is_first(call) or budget == self._session.budget

    def budget(self, call: Call, subject: Subject) -> int:
        """Returns about how many forward calls a derivative at a call may take."""
        is_first = self._is_first(call)
        peers = max(len(self._first), 1) if id(call) in self._first else self._rest
        share = self._work / 2 / peers / self._each(subject)
        if share < LEAST and not is_first:
            return LEAST
        return int(max(min(self._session.budget, share), LEAST + 1))

    def has_room(self, call: Call, subject: Subject) -> bool:
        """Whether there is work left for the gradient of a gradient at a call, which is counted as done if so."""
        count = sum(map(is_float, subject.inputs))
        takes = self._each(subject) * min(_EACH * count, self._session.budget)
        self._left -= takes
        return self._is_first(call) or self._left >= 0

    def _is_first(self, call: Call) -> bool:
        return not self._is_default or id(call) in self._first

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
