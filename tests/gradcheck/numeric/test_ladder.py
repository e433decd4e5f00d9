from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain
from gradcheck.model.domain import measure_room
from gradcheck.model.evaluation import GIVEN, Point
from gradcheck.model.protocol import build_subject
from gradcheck.numeric.ladder import Probe, ladder_steps

X = np.array([1.0, 2.0, 4.0])


def probe(forward: Any = np.square, vjp: Any = lambda i, o, c: (2 * c[0] * i[0],)) -> Probe:
    point = Point(build_subject(forward, vjp, None, (X,), ["x"], None, (), ()), (X,), GIVEN)
    room = measure_room(X, Domain(high=4.0))
    return Probe(
        point, 0, room, np.full(3, 1e-9), ladder_steps(2.0**-52), np.array([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0]])
    )


def test_along_one_element_moves_it_by_its_scale_and_leaves_the_others() -> None:
    here = probe()
    ladder = here.along(here.only(1), np.array([1, 0]))
    assert ladder.plus[:, 0].tolist() == [(2.0 + 2.0 * step) ** 2 for step in here.steps]
    assert (ladder.plus[:, 1] == 1.0).all()
    assert ladder.center.tolist() == [4.0, 1.0]


def test_an_element_at_its_bound_is_not_free() -> None:
    assert probe().free().tolist() == [True, True, False]


def test_a_neighbour_has_outputs_and_one_gradient_for_each_cotangent() -> None:
    here = probe()
    near = here.neighbour(np.array([0.5, 0.0, 0.0]))
    assert near is not None
    assert near.center.tolist() == [2.25, 4.0, 16.0]
    assert [gradient.tolist() for gradient in near.gradients if gradient is not None] == [[3, 4, 8], [3, 0, -8]]
    assert here.point.inputs[0] is X


def test_calls_for_a_neighbour_are_counted_at_the_point() -> None:
    here = probe()
    before = here.point.evaluations
    here.neighbour(np.zeros(3))
    assert here.point.evaluations - before == 4  # the place, its own forward, and one with each vjp


def test_a_neighbour_that_forward_refuses_is_none() -> None:
    def forward(x: Any) -> Any:
        if x[0] > 1:
            raise ValueError("outside")
        return np.square(x)

    assert probe(forward).neighbour(np.array([0.5, 0.0, 0.0])) is None
    assert probe(forward).neighbour(np.array([-0.5, 0.0, 0.0])) is not None


def test_a_gradient_of_another_shape_is_none_for_its_cotangent() -> None:
    near = probe(vjp=lambda i, o, c: (np.zeros(2) if c[0][1] == 0 else c[0],)).neighbour(np.zeros(3))
    assert near is not None
    assert near.gradients[1] is None


def test_a_ladder_of_one_element_is_climbed_once() -> None:
    here = probe()
    ladder = here.singly(2)
    calls = here.point.evaluations
    assert here.singly(2) is ladder
    assert here.point.evaluations == calls
    assert (ladder.has_plus.any(), ladder.has_minus.all()) == (False, True)
    assert ladder.minus[:, 2].tolist() == [(4.0 - 4.0 * step) ** 2 for step in here.steps]
    assert (ladder.plus == ladder.center).all()


def test_ladders_of_many_outputs_are_not_kept() -> None:
    def wide(x: Any) -> Any:
        return np.repeat(x, 2500)

    here = probe(wide)
    here = replace(here, noise=np.zeros(here.point.size))
    first, second, third = (here.singly(element) for element in range(3))
    assert here.singly(0) is first
    assert here.singly(1) is not second
    assert here.singly(2) is not third
