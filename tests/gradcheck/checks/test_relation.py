from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gradcheck.checks.relation import Part, Reactions, Relation, gradient_parts, judge, output_parts
from gradcheck.checks.session import Results, Session
from gradcheck.model.evaluation import VjpError
from gradcheck.model.protocol import build_subject

EXPECTED = Results((np.zeros(2),), (np.ones(2), None))
NAMES = ("x", "y")


def relation(variant: Any, **options: Any) -> Relation:
    refusal = options.pop("refusal", lambda function, reason: f"{function} raised {reason}")
    return Relation(
        "some check", variant, lambda part: part.got is part.expected or _equal(part), "differs", refusal, **options
    )


def _equal(part: Part) -> bool:
    return part.got is not None and part.expected is not None and np.array_equal(part.got, part.expected)


def all_parts() -> Iterator[Part]:
    yield from output_parts(EXPECTED, [np.ones(2)])
    yield from gradient_parts(NAMES, EXPECTED, (np.ones(2), np.ones(2)))


def test_each_part_that_differs_is_a_finding_of_its_input() -> None:
    findings = judge(relation(all_parts))
    assert [(f.check, f.message, f.input) for f in findings] == [
        ("some check", "output 0: differs", None),
        ("some check", "gradient of 'y': differs", "y"),
    ]


def test_one_part_stands_for_all_where_it_says_as_much() -> None:
    (finding,) = judge(relation(all_parts, is_told_once=True, input="z"))
    assert (finding.message, finding.input) == ("output 0: differs", "z")


def test_what_came_before_an_exception_is_judged_too() -> None:
    def variant() -> Iterator[Part]:
        yield from output_parts(EXPECTED, [np.ones(2)])
        raise VjpError("no gradient")

    assert [f.message for f in judge(relation(variant))] == ["output 0: differs", "vjp raised no gradient"]


def test_an_exception_of_forward_is_told_with_its_class() -> None:
    def variant() -> Iterator[Part]:
        raise KeyError("x")

    assert [f.message for f in judge(relation(variant))] == ["forward raised KeyError: 'x'"]
    assert judge(relation(variant, refusal=lambda function, reason: None)) == []


def test_another_number_of_gradients_than_inputs_is_refused() -> None:
    with pytest.raises(VjpError, match="1 gradients for 2 inputs"):
        list(gradient_parts(NAMES, EXPECTED, (np.ones(2),)))


def test_places_count_outputs_before_gradients() -> None:
    assert [part.place for part in all_parts()] == [0, 1, 2]
    assert [part.expected is EXPECTED.arrays[part.place] for part in all_parts()] == [True] * 3


def _session(forward: Any, x: Any) -> Session:
    subject = build_subject(forward, lambda i, o, c: (c[0],), None, (x,), None, None, (), ())
    return Session.start(subject, (x,), np.random.default_rng(0), 0.0)


def test_a_reaction_explains_what_cancels_and_nothing_else() -> None:
    x = np.array([1.0, 1.0])
    session = _session(lambda x: (x - 1.0) * 2.0**40, x)
    reactions = Reactions(session, (x,))
    for got, is_explained in ((2.0**-10, True), (1.0, False)):
        (part,) = output_parts(Results((np.zeros(2),), ()), [np.array([0.0, got])])
        assert reactions.explain(part) is is_explained


def test_where_moved_inputs_are_refused_there_are_no_reactions() -> None:
    x = np.ones(2)

    def forward(x: Any) -> Any:
        if (x != 1.0).any():
            raise ValueError("ones only")
        return x + 0

    assert Reactions(_session(forward, x), (x,)).runs == []
