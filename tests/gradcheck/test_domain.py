"""What inputs may be, and gradients judged there: right in the tangent space passes, wrong in it fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck import domain
from gradcheck.model.tangents import tangents_of

FLOAT = np.dtype("float64")
CHECKS = {"vary": ("values",), "budget": 2000}


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def skew(matrix: Any) -> Any:
    return matrix - np.swapaxes(matrix, -1, -2)


# Per domain of floating numbers: the shape asked for, what a member satisfies, and a part of a gradient, from the
# input, that no direction inside the domain shows.
FLOATING: dict[str, tuple[Any, tuple[int, ...], Any, Any]] = {
    "symmetric": (
        domain.symmetric,
        (4, 4),
        lambda a: np.abs(a - a.T).max() == 0,
        lambda a: skew(np.arange(16.0).reshape(4, 4)),
    ),
    "positive definite": (
        domain.positive_definite,
        (3, 3),
        lambda a: np.abs(a - a.T).max() == 0 and np.linalg.eigvalsh(a).min() > 0,
        lambda a: np.triu(np.ones((3, 3)), 1) - np.tril(np.ones((3, 3)), -1),
    ),
    "orthogonal": (
        domain.orthogonal,
        (3, 3),
        lambda q: np.abs(q.T @ q - np.eye(3)).max() < 1e-14,
        lambda q: q @ np.array([[1.0, 2.0, 3.0], [2.0, 5.0, 4.0], [3.0, 4.0, 9.0]]),
    ),
    "orthonormal columns": (
        domain.orthogonal,
        (4, 2),
        lambda q: np.abs(q.T @ q - np.eye(2)).max() < 1e-14,
        lambda q: q @ np.array([[1.0, 2.0], [2.0, 5.0]]),
    ),
    "unit": (
        domain.unit,
        (2, 3),
        lambda u: np.abs(np.sum(u**2, axis=-1) - 1).max() < 1e-14,
        lambda u: 3.0 * u,
    ),
    "simplex": (
        domain.simplex,
        (2, 4),
        lambda p: np.abs(p.sum(axis=-1) - 1).max() < 1e-14 and p.min() > 0,
        lambda p: np.full((2, 4), 5.0),
    ),
    "a function": (lambda v: v - v.mean(), (4,), lambda v: abs(v.mean()) < 1e-15, lambda v: np.full(4, -2.0)),
}


def member(name: str) -> Any:
    declared, shape, _, _ = FLOATING[name]
    where = declared if isinstance(declared, domain.Domain) else domain.constraint(declared)
    return where.draw(shape, FLOAT, generator())


@pytest.mark.parametrize("name", FLOATING)
def test_a_member_is_drawn_and_stays_what_it_is(name: str) -> None:
    declared, _, holds, _ = FLOATING[name]
    at = member(name)
    assert holds(at)
    where = declared if isinstance(declared, domain.Domain) else domain.constraint(declared)
    np.testing.assert_allclose(where.project(at), at, rtol=0, atol=1e-15)
    assert holds(where.project(at + generator(1).normal(size=at.shape)))


@pytest.mark.parametrize("name", FLOATING)
@pytest.mark.parametrize("share", [0.0, 1e-3])
def test_only_what_a_gradient_says_inside_the_domain_is_judged(name: str, share: float) -> None:
    """exp, with a gradient that is off where no direction inside shows it; `share` is a fault that one does."""
    declared, _, _, unseen = FLOATING[name]
    weights = np.cos(np.arange(member(name).size)).reshape(member(name).shape)

    def forward(x: Any) -> Any:
        return np.sum(weights * np.exp(x))

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        x, dy = inputs[0], cotangents[0]
        return (dy * (weights * np.exp(x) * (1.0 + share * weights) + unseen(x)),)

    report = gradcheck.check(forward, vjp, (member(name),), names=["x"], domain={"x": declared}, **CHECKS)
    assert report.verdict == ("fail" if share else "pass")
    if not share:
        free = gradcheck.check(forward, vjp, (member(name),), names=["x"], vary=False, budget=1000)
        assert free.verdict == "fail"


def test_either_convention_of_a_triangle_is_right_of_a_symmetric_matrix() -> None:
    """A factor that LAPACK takes of the lower triangle alone: the gradient may name that triangle, or be symmetric."""

    def pulled(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        factor, inner = outputs[0], outputs[0].T @ cotangents[0]
        inverse = np.linalg.inv(factor)
        return inverse.T @ (np.tril(inner) - 0.5 * np.diag(np.diag(inner))) @ inverse

    def of_a_triangle(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        full = pulled(inputs, outputs, cotangents)
        return (np.tril(full + full.T) - np.diag(np.diag(full)),)

    def transposed(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        factor, inner = outputs[0], outputs[0].T @ cotangents[0]
        inverse = np.linalg.inv(factor)
        return (inverse @ (np.tril(inner) - 0.5 * np.diag(np.diag(inner))) @ inverse.T,)

    at = domain.positive_definite.draw((3, 3), FLOAT, generator())
    for vjp, verdict in ((lambda *given: (pulled(*given),), "pass"), (of_a_triangle, "pass"), (transposed, "fail")):
        report = gradcheck.check(np.linalg.cholesky, vjp, (at,), names=["a"], domain=domain.positive_definite, **CHECKS)
        assert report.verdict == verdict


def test_the_report_and_a_finding_say_along_what_the_gradient_was_judged() -> None:
    u = domain.unit.draw((3,), FLOAT, generator())
    report = gradcheck.check(
        np.exp, lambda i, o, c: (2 * c[0] * o[0],), (u,), names=["u"], domain=domain.unit, **CHECKS
    )
    assert "gradient of 'u': judged along directions in which u stays of length one" in report.coverage.notes
    assert "; both as far as u stays of length one" in report.findings[0].message


def test_values_outside_are_refused_with_the_element_and_what_would_be_right() -> None:
    matrix = np.array([[1.0, 2.0], [3.0, 1.0]])
    text = r"input 'a': expected values symmetric, got 2 at \[0, 1\], where 2.5 would be right; move it inside or widen"
    with pytest.raises(gradcheck.UsageError, match=text):
        gradcheck.check(np.exp, lambda i, o, c: c, (matrix,), names=["a"], domain=domain.symmetric)
    with pytest.raises(
        gradcheck.UsageError, match=r"input 'a': expected values symmetric, got expected matrices with as"
    ):
        gradcheck.check(np.exp, lambda i, o, c: c, (matrix[:1],), names=["a"], domain=domain.symmetric)
    with pytest.raises(
        gradcheck.UsageError, match=r"domain of 'i': expected names among x, i beside the values, got 'y'"
    ):
        gradcheck.check(
            np.take, lambda i, o, c: c, (matrix, np.arange(2)), names=["x", "i"], domain={"i": domain.positions(of="y")}
        )


def knots_vjp(fault: float) -> Any:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        part = 2.0 * np.diff(inputs[0]) * cotangents[0]
        gradient = np.zeros_like(inputs[0])
        gradient[1:] += part
        gradient[:-1] -= part * (1.0 + fault)
        return (gradient,)

    return vjp


def spacing(x: Any) -> Any:
    if (np.diff(x) <= 0).any():
        raise ValueError("knots ascend")
    return np.diff(x) ** 2


@pytest.mark.parametrize("fault", [0.0, 1e-3])
def test_sorted_numbers_stay_sorted_wherever_they_are_varied(fault: float) -> None:
    knots = np.array([0.1, 0.2, 0.5, 0.9])
    where = domain.sorted(strict=True) & domain.interval(0, 1, inclusive="neither")
    report = gradcheck.check(spacing, knots_vjp(fault), (knots,), names=["x"], domain=where, budget=2000)
    assert report.verdict == ("fail" if fault else "pass")
    assert not any("skipped" in note for note in report.coverage.notes)


def test_equal_values_are_set_apart_where_they_must_differ() -> None:
    strict = domain.sorted(strict=True)
    made = strict.project(np.array([2.0, 1.0, 2.0, 1.0]))
    assert (np.diff(made) > 0).all()
    assert strict.project(np.array([3, 1, 1])).tolist() == [1, 2, 5]
    given = np.array([0.0, 1e-9, 1.0])
    assert strict.project(given).tolist() == given.tolist()
    assert domain.sorted(axis=0).project(np.array([[2.0, 0.0], [1.0, 1.0]])).tolist() == [[1.0, 0.0], [2.0, 1.0]]


def test_probabilities_of_zero_stay_zero() -> None:
    p = np.array([0.5, 0.0, 0.5])
    assert domain.simplex.project(p).tolist() == [0.5, 0.0, 0.5]
    tangents = tangents_of(domain.simplex, p, p)
    assert tangents is not None
    assert tangents.project(np.array([1.0, 1.0, 0.0])).tolist() == [0.5, 0.0, -0.5]


def test_a_matrix_that_is_singular_but_for_rounding_is_made_definite() -> None:
    assert np.linalg.eigvalsh(domain.positive_definite.project(np.full((5, 5), 1.96))).min() > 1e-3
    ill = np.diag([1.0, 1e-9])
    assert domain.positive_definite.project(ill).tolist() == ill.tolist()
    with pytest.raises(ValueError, match=r"expected matrices, got shape \(3,\)"):
        domain.orthogonal.project(np.zeros(3))


def test_complex_matrices_are_hermitian_and_unitary() -> None:
    hermitian = domain.symmetric.draw((3, 3), np.dtype("complex128"), generator())
    np.testing.assert_array_equal(hermitian, np.conj(hermitian.T))
    unitary = domain.orthogonal.draw((3, 3), np.dtype("complex128"), generator())
    np.testing.assert_allclose(np.conj(unitary.T) @ unitary, np.eye(3), rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="expected real numbers, as complex ones are never sorted"):
        domain.sorted.project(np.array([1j, 2.0]))


def take_vjp(adds: bool) -> Any:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        x, index = inputs
        gradient = np.zeros_like(x)
        if adds:
            np.add.at(gradient, index, cotangents[0])
        else:
            gradient[index] += cotangents[0]
        return gradient, None

    return vjp


def take(x: Any, index: Any) -> Any:
    if (index < 0).any() or (index >= len(x)).any():
        raise IndexError("a position outside")
    return x[index]


def test_positions_are_drawn_anew_below_the_length_that_they_have_at_other_sizes() -> None:
    """Given positions all differ, so that a gradient which does not add is right there, and at no others."""
    given = np.arange(15.0).reshape(5, 3), np.array([4, 0, 2, 1])
    where = {"index": domain.positions(of="x")}
    right = gradcheck.check(take, take_vjp(True), given, domain=where)
    assert right.verdict == "pass"
    assert len(right.coverage.points) > 8  # other sizes too
    assert gradcheck.check(take, take_vjp(False), given).verdict == "pass"
    assert gradcheck.check(take, take_vjp(False), given, domain=where).verdict == "fail"


@pytest.mark.parametrize(
    "given", [{"inclusive": "low"}, {"low": 2, "high": 1}, {"low": 1, "high": 1, "inclusive": "left"}]
)
def test_what_is_no_interval_is_refused(given: Any) -> None:
    text = "interval: expected numbers between its ends, got none between|interval, inclusive: expected 'both', 'left'"
    with pytest.raises(gradcheck.UsageError, match=text):
        domain.interval(**given)


def test_values_that_were_outside_lie_inside_and_not_on_the_end() -> None:
    """Flipped signs of positive numbers were all 0 once, where a logarithm says nothing."""
    seen: list[Any] = []

    def logarithm(x: Any) -> Any:
        seen.append(np.array(x))
        return np.log(x)

    report = gradcheck.check(
        logarithm,
        lambda i, o, c: (c[0] / i[0],),
        (np.array([0.5, 2.0, 3.0]),),
        domain=domain.interval(0, inclusive="neither"),
    )
    assert report.verdict == "pass"
    assert all((x > 0).all() for x in seen)
    assert {"signs flipped", "small magnitudes and zeros"} <= set(report.coverage.points)
    assert report.coverage.skipped_count == 0


def test_a_matrix_that_must_be_square_gets_no_other_shape() -> None:
    """Of other lengths axes change together; a shape that is not square is never tried."""
    shapes: set[tuple[int, ...]] = set()

    def trace(a: Any) -> Any:
        shapes.add(a.shape)
        return np.trace(a)

    a = domain.symmetric.draw((4, 4), FLOAT, generator())
    report = gradcheck.check(
        trace, lambda i, o, c: (c[0] * np.eye(len(i[0])),), (a,), names=["a"], domain=domain.symmetric
    )
    assert report.verdict == "pass"
    assert len(shapes) > 2
    assert all(rows == columns for rows, columns in shapes)


def test_lengths_that_a_domain_fixes_are_not_varied_and_those_it_names_vary_together() -> None:
    seen = []

    def forward(points: Any, weights: Any) -> Any:
        seen.append((points.shape, weights.shape))
        return points.sum(axis=1)[: len(weights)] * weights[: len(points)]

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (points, weights), (dy,) = inputs, cotangents
        return (np.repeat((dy * weights)[:, None], points.shape[1], axis=1), dy * points.sum(axis=1))

    where = {"points": domain.shape("N", 3), "weights": domain.shape("N")}
    inputs = [np.random.default_rng(0).random(shape) for shape in ((3, 3), (3,))]
    report = gradcheck.check(forward, vjp, inputs, names=["points", "weights"], domain=where)
    assert report.verdict == "pass"
    assert {points[1:] for points, _ in seen} == {(3,)}
    assert {points[0] - weights[0] for points, weights in seen} == {0}
    assert len({weights for _, weights in seen}) > 3


def test_a_domain_has_one_shape() -> None:
    both = domain.shape("N", 2) & (0, None)
    assert both.name == "of shape (N, 2) and in [0, inf]"
    assert (both & both).dims == both.dims
    with pytest.raises(gradcheck.UsageError, match=r"expected one shape of an input, got \(N, 2\) & \(2,\); leave"):
        both & domain.shape(2)


def conics(values: Any) -> Any:
    """Gives the nearest (a, b, c) of which [[a, b], [b, c]] has no eigenvalue below 0.001."""
    sizes, vectors = np.linalg.eigh(values[..., [[0, 1], [1, 2]]])
    moved = (vectors * np.maximum(sizes, 1e-3)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.where((sizes >= 1e-3).all(-1, keepdims=True), values, moved[..., [0, 0, 1], [0, 1, 1]])


@pytest.mark.parametrize(("share", "verdict"), [(1.0, "pass"), (0.9, "fail")])
def test_at_the_end_of_a_set_a_right_gradient_is_right_and_values_that_were_outside_lie_inside(
    share: float, verdict: str
) -> None:
    def forward(x: Any) -> Any:
        return 2 * x[:, 0] + 3 * x[:, 1] + x[:, 2] ** 2

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (x,), (dy,) = inputs, cotangents
        return (dy[:, None] * np.stack([0 * x[:, 0] + 2, 0 * x[:, 0] + 3 * share, 2 * x[:, 2]], axis=1),)

    given = np.array([[0.7, 0.1, 0.5], [1.2, -0.4, 0.3], [0.4, 0.3, 1.1]])
    report = gradcheck.check(forward, vjp, [given], domain=[domain.constraint(conics)])
    assert report.verdict == verdict
    assert not report.coverage.kinks
