"""All elements of an input moved together, which finds faults that single elements do not show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gradcheck.judge.compare import Comparison
from gradcheck.judge.edges import accept_edges
from gradcheck.judge.measure import measure
from gradcheck.judge.outcome import Outcome
from gradcheck.judge.ties import accept_ties
from gradcheck.model.dtypes import IntArray
from gradcheck.numeric.projection import Directional, Projector, locate

# Two, since along one a fault of several elements may cancel by chance.
_DIRECTIONS = 2
# What is asked of an element that only a direction led to.
_SINGLY = {"measure": measure, "edges": accept_edges, "ties": accept_ties}


def judge_together(outcome: Outcome) -> Outcome:
    """Checks all elements together, and measures singly those that a failing direction leads to.

    Along ones, and along random signs when not every element was measured. An elementwise function needs none of it:
    each of its elements moves outputs of its own.
    """
    outcome = replace(outcome, sensitivity=outcome.comparison.smallest_error_seen())
    if outcome.owner is not None:
        return outcome
    outcome, found = _project(outcome)
    if not found.size:
        return outcome
    single = replace(outcome, elements=found, facts=()).after(_SINGLY)
    return replace(single, comparison=_joined(outcome.comparison, single.comparison), facts=outcome.facts)


def _joined(first: Comparison, second: Comparison) -> Comparison:
    """Puts two comparisons together, in order of the elements; the second wins where both have one."""
    old = ~np.isin(first.elements, second.elements)
    both = Comparison.concat([first[old], second])
    return both[np.argsort(both.elements)]


def _project(outcome: Outcome) -> tuple[Outcome, IntArray]:
    """Gives the outcome along the directions, and elements that are to be measured singly."""
    none = np.zeros(0, dtype=np.int64)
    directions = [np.ones(outcome.size)]
    if outcome.elements.size < outcome.size:
        directions += [outcome.generator.choice([-1.0, 1.0], outcome.size) for _ in range(_DIRECTIONS)]
    if outcome.comparison.wrong.any() or outcome.size == 1:
        return outcome, none
    projector = Projector(outcome.probe, outcome.analytic, outcome.tolerance)
    usable = projector.usable()
    for number, signs in enumerate(directions):
        signs = signs * usable
        judged = projector.along(signs)
        outcome = _saw(outcome, judged, "ones" if number == 0 else "random signs")
        if judged.sharp:
            outcome = replace(outcome, sensitivity=min(outcome.sensitivity, judged.sensitivity))
        if judged.wrong:
            fresh = np.setdiff1d(locate(projector, signs), outcome.elements)
            if fresh.size:
                return outcome, fresh
            is_fault = number == 0 and projector.persists(signs, judged, outcome.generator)
            return replace(outcome, shift=judged if is_fault else None), none
    return outcome, none


def _saw(outcome: Outcome, judged: Directional, direction: str) -> Outcome:
    numbers = [np.full(outcome.size, number) for number in (judged.analytic, judged.numeric, judged.bar)]
    said = "wrong" if judged.wrong else "right" if judged.sharp else "no verdict"
    text = f"all elements along {direction}, yours {{:.6g}}, derivative {{:.6g}} ± {{:.0e}}: {said}"
    return outcome.saw(text, np.arange(outcome.size), *numbers)
