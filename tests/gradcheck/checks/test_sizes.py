from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import check, domain, render_text
from gradcheck.judge.variation import resize_inputs
from gradcheck.model.protocol import Also, build_subject

# Any, in this file: subjects are plain NumPy functions of every signature.
_DRAW = np.random.default_rng(5)
X = _DRAW.normal(size=(4, 6))
EIGHT = _DRAW.normal(size=8)
SQUARE = _DRAW.normal(size=(4, 4))
WEIGHT = _DRAW.normal(size=(6, 3))
ROW = _DRAW.normal(size=6)
FIVE = _DRAW.normal(size=5)
LABELS = np.array([1, 0, 1, 3])
IDS = np.array([2, 0, 2, 1, 1, 0])
OFFSETS = np.array([0, 2, 5])


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def spread(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.broadcast_to(cotangents[0], inputs[0].shape).copy(),)


def in_blocks_of_four(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    whole = inputs[0].size // 4 * 4
    gradient[:whole] = (cotangents[0] * np.cos(inputs[0]))[:whole]
    return (gradient,)


def by_six(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.repeat(cotangents[0][:, None], inputs[0].shape[1], 1) / 6,)


def sums_axes_of_one(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = cotangents[0] * np.cos(inputs[0])
    return (gradient * (2.0 if inputs[0].shape[-1] == 1 else 1.0),)


def squeezes(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.squeeze(cotangents[0] * np.cos(inputs[0])),)


def starts_with_the_first(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = cotangents[0] * np.cos(inputs[0])
    gradient[0] = cotangents[0][0] * np.cos(inputs[0][0])
    return (gradient,)


def by_rows(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.repeat(cotangents[0][:, None], inputs[0].shape[1], 1) / inputs[0].shape[0],)


def beyond_a_vector(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = cotangents[0] * np.cos(inputs[0])
    gradient[..., 32:] = 0
    return (gradient,)


def odd_only(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0].reshape(2, -1).reshape(-1) * np.cos(inputs[0]),)


def mean_rows(x: Any) -> Any:
    return x.mean(1)


WRONG: list[tuple[str, Any, Any, tuple[Any, ...], str, str]] = [
    ("drops the last n % 4", np.sin, in_blocks_of_four, (EIGHT,), "vjp value", "at shapes x (7,)"),
    ("divides by the length it was written for", mean_rows, by_six, (X,), "vjp value", "at shapes x (7, 5)"),
    ("doubles on an axis of 1", np.sin, sums_axes_of_one, (X,), "vjp value", "at shapes x (7, 1)"),
    ("squeezes an axis of 1", np.sin, squeezes, (X,), "gradient shape", "at shapes x (7, 1)"),
    ("raises for an odd length", np.sin, odd_only, (EIGHT,), "vjp raises", "at shapes x (7,)"),
    ("swaps the axes of a square", mean_rows, by_rows, (SQUARE,), "vjp value", "at shapes x (5, 3)"),
    ("drops what is beyond 32", np.sin, beyond_a_vector, (X,), "vjp value", "at shapes x (4, 74)"),
]


@pytest.mark.parametrize(
    ("forward", "vjp", "inputs", "name", "place"), [pytest.param(*case[1:], id=case[0]) for case in WRONG]
)
def test_a_fault_of_other_sizes_is_found_there(forward: Any, vjp: Any, inputs: Any, name: str, place: str) -> None:
    assert check(forward, vjp, inputs, names=["x"], vary=("values",)).verdict == "pass"
    report = check(forward, vjp, inputs, names=["x"])
    assert report.findings[0].check == name, render_text(report)
    assert report.findings[0].message.endswith(place)


def test_a_vjp_that_raises_for_nothing_is_noted_and_not_blamed() -> None:
    report = check(np.sin, starts_with_the_first, (X,), names=["x"])
    assert report.verdict == "pass"
    (note,) = report.coverage.notes
    assert note.startswith("vjp: expected gradients, got IndexError")
    assert note.endswith("at shapes x (0, 5)")


def scatter(inputs: Any, place: Any, cotangent: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    np.add.at(gradient, place, cotangent)
    return gradient


def softmax(x: Any, axis: int) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def softmax_vjp(axis: int) -> Any:
    return lambda i, o, c: (o[0] * (c[0] - (c[0] * o[0]).sum(axis, keepdims=True)),)


def sort_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    np.put_along_axis(gradient, np.argsort(inputs[0], -1, kind="stable"), cotangents[0], -1)
    return (gradient,)


def loss(x: Any) -> Any:
    return -np.log(softmax(x, 1)[np.arange(4), LABELS])


def loss_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    (x,) = inputs
    return ((softmax(x, 1) - np.eye(6)[LABELS]) * cotangents[0][:, None],)


def along(x: Any, order: Any) -> Any:
    return np.take_along_axis(x, order, 1)


def along_by_assignment(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    np.put_along_axis(gradient, inputs[1], cotangents[0], 1)  # right as each row of the order is a permutation
    return gradient, None


def segments_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    x, offsets = inputs
    return np.repeat(cotangents[0], np.diff([*offsets, len(x)])), None


def diagonal_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    np.fill_diagonal(gradient, cotangents[0])
    return (gradient,)


def prefix_sums(x: Any, lengths: Any) -> Any:
    return np.array([row[:length].sum() for row, length in zip(x, lengths, strict=True)])


def prefix_sums_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    x, lengths = inputs
    return (np.arange(x.shape[1]) < lengths[:, None]) * cotangents[0][:, None], None


def wrap_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = cotangents[0][:6].copy()
    gradient[:2] += cotangents[0][6:]
    return (gradient,)


ORDER = np.array([[2, 0, 1, 3, 5, 4], [0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0], [1, 0, 3, 2, 5, 4]])
BROADCAST = np.random.default_rng(6).normal(size=(4, 1))

RIGHT: list[tuple[str, Any, Any, tuple[Any, ...]]] = [
    ("closure weight", lambda x: x @ WEIGHT, lambda i, o, c: (c[0] @ WEIGHT.T,), (X,)),
    ("closure row", lambda x: x * ROW, lambda i, o, c: (c[0] * ROW,), (X,)),
    ("closure of one row", lambda x: x * ROW[:1], lambda i, o, c: (c[0] * ROW[:1],), (X,)),
    ("closure labels", loss, loss_vjp, (X,)),
    ("fixed reshape", lambda x: x.reshape(2, 12) * 1, lambda i, o, c: (c[0].reshape(4, 6).copy(),), (X,)),
    ("open reshape", lambda x: np.sin(x).reshape(-1), lambda i, o, c: (c[0].reshape(i[0].shape) * np.cos(i[0]),), (X,)),
    ("slice, fixed gradient", lambda x: x[:3] * 1, lambda i, o, c: (np.concatenate([c[0], np.zeros(2)]),), (FIVE,)),
    ("slice", lambda x: x[:3] * 1, lambda i, o, c: (scatter(i, np.s_[:3], c[0]),), (FIVE,)),
    ("fixed wrap", lambda x: np.resize(x, 8), wrap_vjp, (ROW,)),
    ("full", lambda x: x.sum(), lambda i, o, c: (np.full((4, 6), c[0]),), (X,)),
    ("tile", lambda x: x.mean(0), lambda i, o, c: (np.tile(c[0] / 4, (4, 1)),), (X,)),
    (
        "bincount",
        lambda x: np.bincount(IDS, weights=x, minlength=4),
        lambda i, o, c: (c[0][IDS],),
        (ROW,),
    ),
    (
        "bincount of an input",
        lambda x, n: np.bincount(n, weights=x, minlength=4),
        lambda i, o, c: (c[0][i[1]], None),
        (ROW, IDS),
    ),
    ("joined with a fixed array", lambda x: np.concatenate([x, FIVE]), lambda i, o, c: (c[0][:6].copy(),), (ROW,)),
    ("stacked", lambda x: np.concatenate([x, x]), lambda i, o, c: (c[0][:6] + c[0][6:],), (ROW,)),
    (
        "convolution",
        lambda x: np.convolve(x, FIVE[:3], "valid"),
        lambda i, o, c: (np.convolve(c[0], FIVE[2::-1], "full"),),
        (EIGHT,),
    ),
    (
        "convolution, same",
        lambda x: np.convolve(x, FIVE[:3], "same"),
        lambda i, o, c: (np.convolve(c[0], FIVE[2::-1], "same"),),
        (EIGHT,),
    ),
    ("cumsum", np.cumsum, lambda i, o, c: (np.cumsum(c[0][::-1])[::-1].copy(),), (EIGHT,)),
    ("sort", np.sort, sort_vjp, (X,)),
    ("softmax of rows", lambda x: softmax(x, 1), softmax_vjp(1), (X,)),
    ("softmax of columns", lambda x: softmax(x, 0), softmax_vjp(0), (X,)),
    ("rows of a permutation", along, along_by_assignment, (X, ORDER)),
    ("gather by assignment", lambda x, n: x[n], lambda i, o, c: (np.eye(8)[i[1]].T @ c[0], None), (EIGHT, IDS)),
    ("segments", lambda x, n: np.add.reduceat(x, n), segments_vjp, (EIGHT, OFFSETS)),
    ("lengths", prefix_sums, prefix_sums_vjp, (X, np.array([3, 1, 6, 2]))),
    (
        "variance",
        lambda x: x.var(1),
        lambda i, o, c: (c[0][:, None] * 2 * (i[0] - i[0].mean(1)[:, None]) / i[0].shape[1],),
        (X,),
    ),
    (
        "broadcast",
        lambda x, b: x * b,
        lambda i, o, c: (c[0] * i[1], (c[0] * i[0]).sum(1, keepdims=True)),
        (X, BROADCAST),
    ),
    ("matmul of squares", np.matmul, lambda i, o, c: (c[0] @ i[1].T, i[0].T @ c[0]), (SQUARE, SQUARE[::-1] * 1)),
    ("inverse", np.linalg.inv, lambda i, o, c: (-o[0].T @ c[0] @ o[0].T,), (SQUARE,)),
    ("diagonal of a square", lambda x: np.diagonal(x).copy(), lambda i, o, c: (np.diag(c[0]),), (SQUARE,)),
    ("trace of a square", np.trace, lambda i, o, c: (c[0] * np.eye(len(i[0])),), (SQUARE,)),
    ("diagonal", lambda x: np.diagonal(x).copy(), diagonal_vjp, (SQUARE,)),
    ("squeeze", lambda x: np.sin(x).squeeze(), lambda i, o, c: (c[0].reshape(i[0].shape) * np.cos(i[0]),), (X,)),
    ("a length as a number", lambda x, n: x.sum() / n, lambda i, o, c: (np.full(i[0].shape, c[0] / 6), None), (ROW, 6)),
    ("maximum", lambda x: x.max(), lambda i, o, c: (c[0] * (i[0] == o[0]),), (EIGHT,)),
]


@pytest.mark.parametrize(
    ("forward", "vjp", "inputs", "seed"),
    [pytest.param(*case[1:], place % 3, id=case[0]) for place, case in enumerate(RIGHT)],
)
def test_a_right_backward_is_not_blamed_for_other_sizes(forward: Any, vjp: Any, inputs: Any, seed: int) -> None:
    report = check(forward, vjp, inputs, seed=seed, vary=("sizes",), alias_ok=("output", "cotangent"))
    assert report.verdict == "pass", render_text(report)


def points(forward: Any, vjp: Any, inputs: Any, **options: Any) -> tuple[str, ...]:
    return check(forward, vjp, inputs, vary=("sizes",), **options).coverage.points[1:]


def test_equal_lengths_change_together_and_fixed_ones_stay() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        dz = cotangents[0] @ WEIGHT.T
        return dz * inputs[1][:, None], (dz * inputs[0]).sum(1)

    assert points(lambda x, s: (x * s[:, None]) @ WEIGHT, vjp, (X, X[:, 0].copy())) == (
        "shapes x (7, 6), s (7,)",
        "shapes x (74, 6), s (74,)",
        "shapes x (1, 6), s (1,)",
        "shapes x (0, 6), s (0,)",
        "shapes x (263, 6), s (263,)",
    )


def test_every_length_that_forward_lets_change_is_changed() -> None:
    assert points(np.sin, cosine, (X,), names=["x"]) == (
        "shapes x (7, 5)",
        "shapes x (4, 74)",
        "shapes x (7, 1)",
        "shapes x (1, 5)",
        "shapes x (7, 0)",
        "shapes x (0, 5)",
        "shapes x (263, 2)",
        "shapes x (4, 1031)",
        "shapes x (5, 5)",
    )


def test_a_square_is_judged_as_a_rectangle_too() -> None:
    assert points(np.sin, cosine, (SQUARE,), names=["x"])[-1] == "shapes x (5, 3)"


def test_a_length_that_only_vjp_fixes_is_noted() -> None:
    report = check(lambda x: x.sum(), lambda i, o, c: (np.full((4, 6), c[0]),), (X,))
    assert report.coverage.points == ("the given inputs", *report.coverage.points[1:6])
    assert report.coverage.notes == (
        "other sizes: vjp takes no length but 4; gradient of 'x': expected shape (3, 6) like x, got (4, 6), "
        "at shapes x (3, 6)",
        "other sizes: vjp takes no length but 6; gradient of 'x': expected shape (4, 5) like x, got (4, 6), "
        "at shapes x (4, 5)",
    )


def test_a_backward_for_squares_is_noted() -> None:
    report = check(np.trace, lambda i, o, c: (c[0] * np.eye(len(i[0])),), (SQUARE,))
    assert report.coverage.notes == ("other sizes: vjp takes axes of length 4 only where they are equal",)


def test_sizes_are_left_alone_without_vary() -> None:
    assert check(np.sin, cosine, (X,), vary=False).coverage.points == ("the given inputs",)


def resized(value: Any, shape: Any, **options: Any) -> Any:
    inputs = (np.ones(3), value)
    subject = build_subject(np.add, cosine, None, inputs, ["x", "n"], None, options.get("declared", ()), (), Also())
    made = resize_inputs(subject, inputs, (None, shape), np.random.default_rng(0))
    return made[1] if made else None


def test_integers_keep_their_order_and_their_values() -> None:
    assert resized(np.array([0, 0, 1, 4]), (8,)).tolist() == [0, 0, 0, 0, 1, 1, 4, 4]
    assert resized(np.array([0, 0, 1, 4]), (2,)).tolist() == [0, 4]


def test_a_mask_of_a_prefix_stays_one() -> None:
    assert resized(np.array([True, True, False]), (6,)).tolist() == [True] * 4 + [False] * 2


def test_a_permutation_becomes_a_longer_permutation() -> None:
    assert sorted(resized(np.array([2, 0, 1]), (7,)).tolist()) == list(range(7))
    assert resized(np.arange(3), (5,)).tolist() == [0, 1, 2, 3, 4]


def test_distinct_labels_stay_distinct_or_there_are_none() -> None:
    assert len(set(resized(np.array([3, 0, 5]), (6,)).tolist())) == 6
    assert resized(np.array([3, 0, 5]), (7,)) is None


def test_offsets_are_not_resized() -> None:
    assert resized(np.array([0, 2, 5]), (4,)) is None


def test_declared_knots_stay_sorted_and_distinct() -> None:
    assert resized(np.array([0.0, 1.0, 4.0]), (5,), declared=("n",)).tolist() == [0.0, 0.5, 1.0, 2.5, 4.0]


def test_floats_stay_near_the_given_ones() -> None:
    made = resized(np.array([1.0, 0.0, -1e9]), (6,))
    assert made[[2, 3]].tolist() == [0.0, 0.0]
    assert np.allclose(made[[0, 1, 4, 5]], [1, 1, -1e9, -1e9], rtol=0.1, atol=0)
    assert len(set(made.tolist())) == 5


def test_other_sizes_stay_in_the_domain() -> None:
    seen = []

    def forward(x: Any) -> Any:
        seen.append(x)
        return np.log(x)

    check(forward, lambda i, o, c: (c[0] / i[0],), (np.array([2.0, 0.5, 3.0]),), domain=(0.5, 3.0), vary=("sizes",))
    assert {x.size for x in seen} >= {0, 1, 2, 3, 4, 6, 7, 74}
    assert all(((x >= 0.5) & (x <= 3.0)).all() for x in seen)


@pytest.mark.parametrize("less", [1, 3])
def test_a_gradient_for_one_length_alone_is_found_where_another_input_has_one_less(less: int) -> None:
    form = domain.shape("K"), domain.shape(f"K-{less}")

    def apart(w: Any, d: Any) -> Any:
        return np.sin(w[less:]) * d

    def pulled(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (w, d), (dy,) = inputs, cotangents
        dw = np.concatenate([np.zeros(less), np.cos(w[less:]) * d * dy])
        return dw * (4 / len(w) if wrong else 1), np.sin(w[less:]) * dy

    for wrong in (False, True):
        report = check(apart, pulled, inputs=[X[:, 0], X[less:, 1]], domain=form)
        assert report.verdict == ("fail" if wrong else "pass"), render_text(report)
