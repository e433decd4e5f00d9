"""The whole bank: every pair by kind, with the verdict that it has to get at every seed."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import gradcheck
from tests.gradcheck.families import LAST_FORWARD, MOVED_INPUTS, SAME_ARRAY, Pair
from tests.gradcheck.families_sizes import EQUAL_LENGTHS, GROWING, LONG, ROUNDED
from tests.gradcheck.families_values import COARSE, DECLARED, FAR_BELOW, NOT_FINITE, TIES
from tests.gradcheck.right_bank import RIGHT
from tests.gradcheck.right_hard import HARD
from tests.gradcheck.right_more import PRACTICE
from tests.gradcheck.right_ops import OPS
from tests.gradcheck.wrong_bank import WRONG
from tests.gradcheck.wrong_hard import SUBTLE
from tests.gradcheck.wrong_more import MET_IN_PRACTICE
from tests.gradcheck.wrong_ops import ARITHMETIC, BEHAVIOUR, SIZES

# Each case is (name, forward, vjp, inputs), a right one also the options that say what it means.
WRONG_ONES: dict[str, list[tuple[Any, ...]]] = {
    "elementary": list(WRONG),
    "subtle": list(SUBTLE),
    "networks and numerics": list(ARITHMETIC),
    "state, memory, cotangents": list(BEHAVIOUR),
    "other sizes": list(SIZES),
    "met in practice": list(MET_IN_PRACTICE),
}
RIGHT_ONES: dict[str, list[tuple[Any, ...]]] = {
    "kinks, ties, edges, precision": list(RIGHT),
    "not finite, far out, tiny, huge": list(HARD),
    "networks and numerics": list(OPS),
    "met in practice": list(PRACTICE),
}
# Pairs that differ in one thing.
FAMILIES: dict[str, list[Pair]] = {
    "one array passed twice": SAME_ARRAY,
    "what the last forward left": LAST_FORWARD,
    "forwards that move their inputs": MOVED_INPUTS,
    "lengths beyond the given ones": LONG,
    "axes of length 1 that grow": GROWING,
    "lengths that happen to be equal": EQUAL_LENGTHS,
    "rounded output lengths": ROUNDED,
    "gradients that are not finite": NOT_FINITE,
    "ties without a derivative": TIES,
    "elements far below the largest": FAR_BELOW,
    "computed in float16": COARSE,
    "declared surrogates and domains": DECLARED,
}


@dataclass(frozen=True)
class Entry:
    """One vjp beside its forward, and the verdict that is right; Any: plain NumPy functions of every signature."""

    kind: str
    name: str
    forward: Any
    vjp: Any
    inputs: tuple[Any, ...]
    options: dict[str, Any]
    verdict: str
    apart: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return f"{self.kind}: {self.name} ({self.verdict})"

    def judged(self, report: gradcheck.Report) -> str:
        """Gives what a report says of the vjp: its verdict, unless all findings are of the forward."""
        found = {finding.check for finding in report.findings}
        return "pass" if found and found <= set(self.apart) and report.coverage.tested else report.verdict

    def fresh(self) -> tuple[Any, Any, tuple[Any, ...], dict[str, Any]]:
        """Gives forward, vjp, inputs and options as never called before: some are wrong in their first call alone."""
        made: tuple[Any, Any, tuple[Any, ...], dict[str, Any]] = copy.deepcopy(
            (self.forward, self.vjp, self.inputs, self.options)
        )
        return made


def entries() -> list[Entry]:
    """Gives all of them, families last."""
    return [*_listed(WRONG_ONES, "fail"), *_listed(RIGHT_ONES, "pass"), *_of_families()]


def _listed(kinds: dict[str, list[tuple[Any, ...]]], verdict: str) -> Iterator[Entry]:
    for kind, cases in kinds.items():
        for name, forward, vjp, inputs, *options in cases:
            yield Entry(kind, name, forward, vjp, inputs, *(options or [{}]), verdict)


def _of_families() -> Iterable[Entry]:
    for kind, pairs in FAMILIES.items():
        for pair in pairs:
            for vjp, verdict in ((pair.right, "pass"), (pair.wrong, "fail")):
                if vjp is not None:
                    yield Entry(kind, pair.name, pair.forward, vjp, pair.inputs, pair.options, verdict, pair.apart)
