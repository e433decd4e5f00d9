"""Values that gradcheck chooses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.judge.variation import _repeat, vary_inputs
from gradcheck.model.protocol import build_subject, read_inputs
from tests.gradcheck.points import X
from tests.gradcheck.wrong_more import VALUES


def ties(array, axis, extreme):
    """Says whether some line along an axis has its greatest, or least, value more than once."""
    return (np.asarray(array == extreme(array, axis=axis, keepdims=True)).sum(axis=axis) > 1).any()


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 4), (4,), (5,), (2, 3), (3, 3, 3)])
def test_repeated_values_tie_the_greatest_and_the_least_along_every_axis(shape):
    for seed in range(300):
        values = np.random.default_rng([seed, 1]).normal(size=shape)
        drawn = _repeat(values, np.random.default_rng(seed), 0)
        assert set(drawn.ravel()) <= set(values.ravel()[:2])
        assert drawn.flat[0] == values.flat[0]
        for axis, length in enumerate(shape):
            for extreme in (np.max, np.min) if length > 2 else ():
                assert ties(drawn, axis, extreme), (seed, axis, extreme, drawn)


def test_values_without_a_number_or_an_element_are_left_as_they_are():
    generator = np.random.default_rng(0)
    assert _repeat(np.zeros((0, 4)), generator, 0).shape == (0, 4)
    assert np.isnan(_repeat(np.full((3, 4), np.nan), generator, 0)).all()
    assert _repeat(np.full((3, 4), 2.0), generator, 0).tolist() == [[2.0] * 4] * 3


def test_a_maximum_whose_gradient_goes_to_all_ties_is_found_where_chance_draws_none():
    name, forward, vjp, inputs = next(case for case in VALUES if case[0] == "all ties of a maximum")
    assert gradcheck.check(forward, vjp, inputs, seed=24).verdict == "fail", name


RNG = np.random.default_rng(5)
A, B = RNG.normal(size=(64, 20)), RNG.normal(size=(20, 48))


def matmul_vjp(i: Any, o: Any, c: Any) -> Any:
    return c[0] @ i[1].T, i[0].T @ c[0]


def one_output_forgotten(i: Any, o: Any, c: Any) -> Any:
    cotangent = c[0].copy()
    cotangent[37, 11] = 0
    return matmul_vjp(i, o, (cotangent,))


def test_many_outputs_are_judged_in_sums_and_that_is_said() -> None:
    report = gradcheck.check(np.matmul, matmul_vjp, (A, B), names=["a", "b"])
    assert report.verdict == "pass"
    assert "3072 output elements were judged in 256 sums of some each" in report.coverage.notes
    assert "gradient of 'a': 64 of 1280 elements judged, the others all together" in report.coverage.notes


@pytest.mark.parametrize("seed", [0, 4])
def test_one_output_of_three_thousand_that_contributes_nothing_is_found(seed: int) -> None:
    assert gradcheck.check(np.matmul, one_output_forgotten, (A, B), seed=seed).verdict == "fail"


def test_a_relative_error_of_1e_8_is_found_in_the_sums() -> None:
    def enlarged(i: Any, o: Any, c: Any) -> Any:
        return tuple(g * (1 + 1e-8) for g in matmul_vjp(i, o, c))

    assert gradcheck.check(np.matmul, enlarged, (A, B)).verdict == "fail"


def test_beside_an_output_that_is_not_finite_nothing_is_gathered() -> None:
    a = A.copy()
    a[3] = np.nan
    report = gradcheck.check(np.matmul, matmul_vjp, (a, B), vary=False)
    assert report.verdict == "inconclusive"  # every element of one gradient is nan
    assert not any("sums" in note for note in report.coverage.notes)


def test_where_each_element_moves_one_output_nothing_is_gathered() -> None:
    x = RNG.normal(size=(64, 48))
    report = gradcheck.check(np.sin, lambda i, o, c: (c[0] * np.cos(i[0]),), (x,), vary=False)
    assert report.coverage.notes == ()
    assert report.coverage.tested == x.size


def test_outputs_without_a_gradient_stay_out_of_the_sums() -> None:
    def forward(a: Any, b: Any) -> Any:
        y = a @ b
        return y, np.argsort(y, axis=1)

    def vjp(i: Any, o: Any, c: Any) -> Any:
        assert o[1].dtype.kind == "i" and c[1].shape == o[1].shape
        return matmul_vjp(i, o, c)

    assert gradcheck.check(forward, vjp, (A, B), vary=False).verdict == "pass"


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
