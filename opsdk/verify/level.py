"""Levels of a proof: how much of what can be judged is, and what the quickest leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from opsdk.core.errors import AttributeValueError
from opsdk.verify.inputs.calls import Call, flat

# In the order of what each costs: about a second for an op, a few, and what compiles every kernel anew.
Level = Literal["quick", "default", "thorough"]

# Forward calls for the derivative at one sample. By default enough for six variations of a small array, a few
# hundredths of a second; gradcheck's own default serves the one function that somebody looks at, this one a package.
BUDGETS: dict[Level, int] = {"quick": 400, "default": 1500, "thorough": 1500}

# What a quick check does not look at, beside most of the samples.
LEFT_OUT = "sizes and values that no sample has; races; compiled kernels in a second dtype; gradients of gradients"


def level_of(value: object) -> Level:
    """Returns a level by its name.

    Raises:
        AttributeValueError: there is none of that name.
    """
    known = next((level for level in get_args(Level) if level == value), None)
    if known is None:
        names = ", ".join(map(repr, get_args(Level)))
        raise AttributeValueError(f"verify: level expected one of {names}, got {value!r}; leave it out for 'default'")
    level: Level = known
    return level


def in_every_dtype(calls: Sequence[Call], level: Level) -> list[Call]:
    """Returns the calls on which a kernel that is compiled for each dtype is tried in all of them, the longest part.

    A default check takes the first and that of the most numbers: its code is the same for every dtype. Those of other
    numbers of axes are compiled anew, once each.
    """
    if level == "default":
        return few(calls, least=False)
    return list(calls) if level == "thorough" else []


def few(calls: Sequence[Call], *, least: bool = True) -> list[Call]:
    """Returns the calls of a quick check: the first, and those of the fewest and the most numbers, in their order.

    An empty one is none of them, unless all are, and neither is one at a value of an attribute that nobody named.

    Args:
        calls: those to choose from.
        least: whether that of the fewest numbers is taken.
    """
    named = [call for call in calls if call.invented is None]
    sizes = {id(call): sum(array.size for array in flat(call.inputs)) for call in named}
    full = [call for call in named if sizes[id(call)]] or named
    if not full:
        return list(calls[:1])
    taken = [full[0], *(choose(full, key=lambda call: sizes[id(call)]) for choose in ((min, max) if least else (max,)))]
    return [call for call in full if call in taken]
