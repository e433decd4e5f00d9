from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck.checks.layouts import LAYOUTS
from gradcheck.explain.wording import repro_call, tell_apart
from gradcheck.judge.outcome import Status
from gradcheck.judge.values import Limits, judge_input, sample_elements, take_gradients
from gradcheck.judge.variation import vary_inputs
from gradcheck.model.constraint import Domain
from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import fit_gradient, is_discrete, is_floating, resolution, same_bits, summed_axes
from gradcheck.model.evaluation import Point, VjpError
from gradcheck.model.perturb import draw_cotangents, perturb_cotangent
from gradcheck.model.protocol import build_subject, read_inputs
from gradcheck.numeric.columns import is_elementwise, owners
from gradcheck.numeric.hidden import hidden_eps
from gradcheck.numeric.tolerance import gradients_close

X = np.linspace(-2, 3, 12).reshape(3, 4)


def point(forward: Any, *inputs: Any, vjp: Any = lambda i, o, c: c) -> Point:
    values = read_inputs(inputs)
    return Point(build_subject(forward, vjp, None, values, None, None, (), ()), values, "here")


def test_dtypes_are_sorted_into_floating_and_discrete() -> None:
    assert is_floating(np.dtype(np.float16))
    assert not is_floating(np.dtype(np.complex128))
    assert is_discrete(np.dtype(np.bool_))
    assert resolution(np.dtype(np.float32)) == 2.0**-23
    assert resolution(np.dtype(np.longdouble)) == 2.0**-52


def test_equal_bits_tell_the_two_zeros_apart_and_nan_equal() -> None:
    assert not same_bits(np.array([0.0]), np.array([-0.0]))
    assert same_bits(np.array([np.nan]), np.array([np.nan]))


def test_cotangents_start_with_ones_and_skip_what_is_not_finite() -> None:
    drawn = draw_cotangents(np.array([1.0, np.nan, 2.0]), np.random.default_rng(0))
    assert drawn[0].tolist() == [1, 0, 1]
    assert (drawn[:, 1] == 0).all()
    assert (drawn[:-1] * 8 == np.round(drawn[:-1] * 8)).all()


def test_the_last_cotangent_takes_all_bits_unless_an_output_is_short() -> None:
    for is_short in (False, True):
        last = draw_cotangents(np.ones(20), np.random.default_rng(0), is_short=is_short)[-1]
        assert ((np.abs(last) >= 0.5) & (np.abs(last) <= 1.5)).all()
        assert (last.astype(np.float32) == last).all() == is_short


def test_a_wiggle_changes_the_last_bits_only() -> None:
    rows = perturb_cotangent(np.ones(50), 2.0**-52, np.random.default_rng(0))
    assert all(0 < np.abs(row - 1).max() <= 2.0**-46 for row in rows)


def test_samples_hold_both_ends_and_no_more_than_asked() -> None:
    chosen = sample_elements(1000, 64, np.random.default_rng(0))
    assert chosen.size == 64
    assert chosen[:8].tolist() == list(range(8))
    assert chosen[-8:].tolist() == list(range(992, 1000))
    assert sample_elements(5, 64, np.random.default_rng(0)).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("given", "wanted", "axes"),
    [
        ((4, 6), (6,), (0,)),
        ((4, 6), (4, 1), (1,)),
        ((2, 3, 4), (3, 1), (0, 2)),
        ((6,), (4, 6), None),
        ((5,), (4,), None),
    ],
)
def test_summed_axes_undo_a_broadcast(given: Any, wanted: Any, axes: Any) -> None:
    assert summed_axes(given, wanted) == axes


def test_a_gradient_is_fitted_by_summing_and_none_is_zero() -> None:
    assert fit_gradient(None, (2,)).tolist() == [0, 0]  # type: ignore[union-attr]
    assert fit_gradient(np.ones((3, 2)), (2,)).tolist() == [3, 3]  # type: ignore[union-attr]
    assert fit_gradient(np.ones(3), (2,)) is None


def test_elementwise_functions_are_told_from_others() -> None:
    def verdict(forward: Any) -> bool:
        here = point(forward, X)
        owner = owners(here, 0)
        return owner is not None and is_elementwise(here, 0, owner, measure_room(X, Domain()))

    assert verdict(np.sin)
    assert verdict(lambda x: x + np.zeros((2, 1, 1)))
    assert not verdict(lambda x: x - x.mean())
    assert not verdict(lambda x: x[:, ::-1] + 0)
    assert not verdict(lambda x: x.sum())


def test_float32_inside_a_float64_function_is_found() -> None:
    generator = np.random.default_rng(0)
    assert hidden_eps(point(np.sin, X), generator) == 2.0**-52
    assert hidden_eps(point(np.round, X), generator) == 2.0**-52
    assert hidden_eps(point(lambda x: np.sin(x.astype(np.float32)).astype(np.float64), X), generator) == 2.0**-23
    assert hidden_eps(point(lambda x: np.sin(x.astype(np.float16)).astype(np.float64), X), generator) == 2.0**-10


def test_a_point_raises_short_dtypes_to_float64_unless_forward_refuses() -> None:
    def only_float32(x: Any) -> Any:
        if x.dtype != np.float32:
            raise TypeError("float32 only")
        return np.sin(x)

    assert point(np.sin, X.astype(np.float32)).forward_eps == 2.0**-52
    assert point(only_float32, X.astype(np.float32)).forward_eps == 2.0**-23


def test_a_point_gives_nan_where_forward_raises() -> None:
    def positive(x: Any) -> Any:
        if (x < 0).any():
            raise ValueError("negative")
        return x + 0

    here = point(positive, np.ones(2))
    assert np.isnan(here.forward_at(0, -np.ones(2))).all()


def test_a_vjp_that_raises_or_returns_a_mapping_is_a_vjp_error() -> None:
    with pytest.raises(VjpError, match="TypeError: vjp returned a mapping"):
        point(np.sin, X, vjp=lambda i, o, c: {"x": c[0]}).gradients(np.ones(12))

    calls = []

    def once(x: Any) -> Any:
        calls.append(1)
        if len(calls) > 1:
            raise RuntimeError("second call")
        return x + 0

    with pytest.raises(VjpError, match="forward raised on inputs it accepted before: RuntimeError: second call"):
        point(once, X).gradients(np.ones(12))


def test_one_wrong_element_among_many_is_found_by_projection() -> None:
    x = np.random.default_rng(0).normal(size=400)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        gradient = np.cumsum(cotangents[0][::-1])[::-1].copy()
        gradient[123] *= 1 + 1e-4
        return (gradient,)

    here = point(np.cumsum, x, vjp=vjp)
    generator = np.random.default_rng(1)
    outcome = judge_input(here, 0, take_gradients(here, generator), Limits(20, 20), generator)
    assert outcome.comparison.elements[outcome.comparison.status == Status.WRONG].tolist() == [123]


@pytest.mark.parametrize("name", sorted(LAYOUTS))
@pytest.mark.parametrize(
    "array", [X, np.array(2.0), np.zeros((0, 3)), np.arange(4)], ids=["2-d", "0-d", "empty", "int"]
)
def test_every_layout_keeps_the_values(name: str, array: Any) -> None:
    changed = LAYOUTS[name](array)
    assert np.array_equal(changed, array)
    assert changed.dtype == array.dtype
    assert not np.shares_memory(changed, array)


def test_layouts_differ_in_memory() -> None:
    assert LAYOUTS["Fortran order"](X).flags.f_contiguous
    assert all(stride < 0 for stride in LAYOUTS["negative strides"](X).strides)
    assert not LAYOUTS["a strided slice"](X).flags.c_contiguous
    assert not LAYOUTS["an unaligned address"](X).flags.aligned


def test_varied_inputs_keep_shape_dtype_domain_and_integers() -> None:
    inputs = read_inputs((X.astype(np.float32), np.array([1, 2])))
    subject = build_subject(np.multiply, np.add, None, inputs, ["x", "n"], {"x": (-3, 3)}, (), ())
    varied = list(vary_inputs(subject, inputs, np.random.default_rng(0)))
    assert [label for label, _ in varied][:2] == ["signs flipped", "random values"]
    for _, (x, n) in varied:
        assert isinstance(x, np.ndarray)
        assert (x.shape, x.dtype) == ((3, 4), np.float32)
        assert np.abs(x).max() <= 3
        assert n is inputs[1]


def test_gradients_are_close_up_to_rounding_only() -> None:
    one = np.array([1.0, 1e-20, np.inf])
    assert gradients_close(one, one + np.array([1e-14, 0, 0]))
    assert not gradients_close(one, one + np.array([1e-11, 0, 0]))
    assert not gradients_close(one, np.array([1.0, 0, np.nan]))
    assert not gradients_close(one, one[:2])


def test_two_numbers_are_written_until_they_differ() -> None:
    assert tell_apart(1.0, 2.0) == ("1", "2")
    assert tell_apart(1.0, 1.00000001) == ("1", "1.00000001")


def test_a_rerun_names_the_inputs_or_writes_them_out() -> None:
    assert repro_call((X,), "the given inputs", 3) == "gradcheck.check(forward, vjp, inputs, vary=False, seed=3)"
    assert repro_call((np.ones(2), 4), "signs flipped", 0) == (
        "gradcheck.check(forward, vjp, (np.array([1.0, 1.0], dtype='float64'), 4), vary=False, seed=0)"
    )
    assert repro_call((np.ones(99),), "signs flipped", 5) == "gradcheck.check(forward, vjp, inputs, seed=5)"
