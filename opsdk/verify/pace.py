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
from dataclasses import dataclass, replace
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
LEAST = 200  # forward calls, gradcheck's least budget
_EACH = 250  # forward calls for the gradient of one input, whatever the budget
_BEHAVES = 250  # forward calls, and as many of the vjp as half of them, that say how a vjp behaves
_VARIED = "for the time that it takes; --thorough varies them"
_BEHAVIOUR = "for the time that it takes; --thorough looks at how it behaves"


@dataclass(frozen=True)
class Share:
    """How far one derivative is judged.

    Args:
        budget: about how many forward calls it may take.
        varies: whether it is judged at other values too.
        joins: whether its inputs are moved as one, where that decides.
        behaves: whether it is looked at how its backward behaves: whether it keeps state, or writes to its inputs.
        leads: whether every dtype is judged so; if not, of float32 as little as can be is.
    """

    budget: int
    varies: bool = True
    joins: bool = False
    behaves: bool = True
    leads: bool = True

    @property
    def least(self) -> Share:
        """The least that a derivative can be judged, where its backward is looked at as far as it is here."""
        return replace(self, budget=LEAST, varies=False, joins=True)


class Pace:
    """What derivatives at the calls of a session may take.

    Args:
        session: of the op, with its calls.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._work = _WORK[session.level] if session.budget == BUDGETS[session.level] else math.inf
        self._is_default = session.level == "default" and self._work < math.inf
        full = [call for call in session.calls if all(array.size for array in flat(call.inputs))]
        self._first = covering(session.opdef, full[:1], full)
        self._rest = max(len(full) - len(self._first), 1)
        self._left = self._work
        self._counted: dict[tuple[Call, int], int] = {}

    def share(self, call: Call, subject: Subject) -> Share:
        """Returns how far the gradient at a call is judged, and says what that leaves out."""
        is_first = not self._is_default or call in self._first
        calls, needs = self._calls(call, subject, 1), _needs(subject)
        has_room = calls >= needs + _BEHAVES
        budget = int(max(min(self._session.budget, calls), LEAST))
        if not (is_first or has_room):
            self._tell(call, f"at {{}}: judged at its own values alone{_of_several(subject)}, {_VARIED}")
            return Share(LEAST, varies=False, joins=True, behaves=False, leads=False)
        varies = is_first or calls >= 2 * needs + _BEHAVES
        if not (varies or call.extra):
            self._tell(call, f"at {{}}: judged at its own values alone, {_VARIED}")
        return Share(budget, varies, leads=not self._is_default or calls >= 2 * (needs + _BEHAVES))

    def second(self, call: Call, subject: Subject) -> Share | None:
        """Returns how far the gradient of a gradient at a call is judged, and says what that leaves out; None, not."""
        calls, needs = self._calls(call, subject, 2), _needs(subject)
        is_whole = not self._is_default or calls >= needs
        self._left -= (min(needs, self._session.budget) if is_whole else _EACH) * self._each(call, subject, 2)
        if self._is_default and call not in self._first and self._left < 0:
            self._tell(call, "of its gradient at {}: not judged for the time that it takes; --thorough does")
            return None
        if is_whole:
            return Share(int(max(min(self._session.budget, calls), LEAST)))
        self._tell(call, f"of its gradient at {{}}: judged by its values alone{_of_several(subject)}, {_BEHAVIOUR}")
        return Share(LEAST, joins=True, behaves=False)

    def _calls(self, call: Call, subject: Subject, order: int) -> float:
        """Returns how many forward calls there is work for, for one derivative at a call."""
        peers = len(self._first) if call in self._first else self._rest
        peers = 1 if order == 2 and self._first[:1] == [call] else peers  # where what follows is looked at, if anywhere
        return self._work / 2 / max(peers, 1) / self._each(call, subject, order)

    def _each(self, call: Call, subject: Subject, order: int) -> int:
        """Returns the work of one forward call, which is counted once for all that is asked at a call."""
        key = call, order
        if key not in self._counted:
            self._counted[key] = _BESIDE + work_of(subject.forward, subject.inputs)
        return self._counted[key]

    def _tell(self, call: Call, told: str) -> None:
        self._session.skipped[f"{self._session.opdef.name}, gradient {told.format(call)}"] = None


def _needs(subject: Subject) -> int:
    return _EACH * sum(map(is_float, subject.inputs))


def _of_several(subject: Subject) -> str:
    return ", its inputs moved as one" if sum(map(is_float, subject.inputs)) > 1 else ""


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
