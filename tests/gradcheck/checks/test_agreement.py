from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.agreement import Reactions, judge
from gradcheck.checks.session import Results, Session
from gradcheck.model.evaluation import VjpError
from gradcheck.model.protocol import build_subject

EXPECTED = Results((np.zeros(2),), (np.ones(2), None))
NAMES = ("x", "y")


def _equal(place: int, got: Any, expected: Any) -> bool:
    assert expected is EXPECTED.arrays[place]
    return got is expected or (expected is not None and np.array_equal(got, expected))


def found(variant: Any, **options: Any) -> list[tuple[str, str | None]]:
    refusal = options.pop("refusal", lambda function, reason: f"{function} raised {reason}")
    findings = judge(NAMES, "some check", variant, EXPECTED, _equal, "differs", refusal, **options)
    assert {finding.check for finding in findings} <= {"some check"}
    return [(finding.message, finding.input) for finding in findings]


def both_differ() -> Any:
    return [np.ones(2)], [np.ones(2), np.ones(2)]


def test_each_array_that_differs_is_a_finding_of_its_input() -> None:
    assert found(both_differ) == [("output 0: differs", None), ("gradient of 'y': differs", "y")]
    assert found(lambda: (EXPECTED.outputs, EXPECTED.gradients)) == []


def test_one_array_stands_for_all_where_it_says_as_much() -> None:
    assert found(both_differ, is_told_once=True, input="z") == [("output 0: differs", "z")]


def test_outputs_from_before_an_exception_are_judged_too() -> None:
    def variant() -> Iterator[Any]:
        yield [np.ones(2)]
        raise VjpError("no gradient")

    assert found(variant) == [("output 0: differs", None), ("vjp raised no gradient", None)]


def test_an_exception_of_forward_is_told_with_its_class() -> None:
    def variant() -> Any:
        raise KeyError("x")

    assert found(variant) == [("forward raised KeyError: 'x'", None)]
    assert found(variant, refusal=lambda function, reason: None) == []


def test_another_number_of_gradients_is_never_left_unjudged() -> None:
    with pytest.raises(ValueError, match="longer than argument 1"):
        found(lambda: (EXPECTED.outputs, EXPECTED.gradients[:1]))


def test_gradients_are_judged_as_they_were_when_they_came() -> None:
    buffer = np.zeros(2)

    def variant() -> Iterator[Any]:
        yield [buffer]
        buffer[:] = 5.0
        yield EXPECTED.gradients

    assert found(variant) == []


def _session(forward: Any, x: Any) -> Session:
    subject = build_subject(forward, lambda i, o, c: (c[0],), None, (x,), None, None, (), ())
    return Session.start(subject, (x,), np.random.default_rng(0), 0.0)


def test_a_reaction_explains_what_cancels_and_nothing_else() -> None:
    x = np.array([1.0, 1.0])
    session = _session(lambda x: (x - 1.0) * 2.0**40, x)
    reactions = Reactions(session, (x,))
    for got, is_explained in ((2.0**-10, True), (1.0, False)):
        assert reactions.explain(0, np.array([0.0, got]), np.zeros(2)) is is_explained


def test_where_moved_inputs_are_refused_there_are_no_reactions() -> None:
    x = np.ones(2)

    def forward(x: Any) -> Any:
        if (x != 1.0).any():
            raise ValueError("ones only")
        return x + 0

    assert Reactions(_session(forward, x), (x,)).runs == []
