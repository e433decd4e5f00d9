from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import UsageError, check, shrink

# Any, in this file: subjects are plain NumPy functions of every signature.
X = np.random.default_rng(8).normal(size=(4, 6))


def matmul_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    a, b = inputs
    return cotangents[0] @ b.T, 2 * a.T @ cotangents[0]


def leaky(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.where(inputs[0] > 0, 1.0, 0.25) * cotangents[0],)


def in_blocks_of_four(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    whole = inputs[0].size // 4 * 4
    gradient[:whole] = (cotangents[0] * np.cos(inputs[0]))[:whole]
    return (gradient,)


def raises_for_nothing(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    if not inputs[0].size:
        raise IndexError("nothing here")
    return (cotangents[0] * np.cos(inputs[0]),)


def wrong_above_three(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (np.where(inputs[0] > 3, 2.0, 1.0) * 2 * inputs[0] * cotangents[0],)


def test_shapes_and_values_become_minimal() -> None:
    a, b = shrink(np.matmul, matmul_vjp, (X, X.T.copy()), names=["a", "b"])
    assert (a.shape, b.shape) == ((1, 1), (1, 1))
    assert a.tolist() == [[1.0]]
    assert b.tolist() == [[0.0]]


def test_the_sign_that_the_fault_needs_stays() -> None:
    (x,) = shrink(lambda x: np.maximum(x, 0), leaky, (X,))
    assert x.tolist() == [[-1.0]]


def test_the_magnitude_that_the_fault_needs_stays() -> None:
    (x,) = shrink(np.square, wrong_above_three, (np.array([1.3, 0.2, 4.2337, -5.8]),))
    assert x.tolist() == [4.0]


def test_a_fault_of_other_sizes_is_sought_there() -> None:
    (x,) = shrink(np.sin, in_blocks_of_four, (np.linspace(0.1, 0.9, 8),))
    assert x.tolist() == [0.0]


def test_a_fault_of_empty_inputs_stays_one() -> None:
    (x,) = shrink(np.sin, raises_for_nothing, (np.zeros((0, 3)),))
    assert x.size == 0


def test_a_fault_of_other_values_is_sought_there() -> None:
    (x,) = shrink(np.square, lambda i, o, c: (2 * np.abs(i[0]) * c[0],), (np.abs(X),))
    assert x.tolist() == [[-1.0]]


def test_lengths_that_forward_fixes_stay() -> None:
    weight = X.T.copy()
    (x,) = shrink(lambda x: x @ weight, lambda i, o, c: (2 * c[0] @ weight.T,), (X,))
    assert x.tolist() == [[0.0] * 6]


def test_the_result_has_the_finding_and_the_dtypes() -> None:
    def forward(x: Any, n: Any, s: Any) -> Any:
        return s * x[n]

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        x, n, s = inputs
        gradient = np.zeros_like(x)
        gradient[n] = s * cotangents[0]  # loses what is gathered twice
        return gradient, None, None

    given = (X[:, 0].astype(np.float32), np.array([3, 0, 3, 1, 2]), 2)
    small = shrink(forward, vjp, given)
    assert [getattr(value, "dtype", None) for value in small] == [np.dtype("float32"), np.dtype("int64"), None]
    assert small[1].tolist() == [0, 0]
    assert check(forward, vjp, small, vary=False).findings[0].input == "x"


def test_the_domain_is_kept() -> None:
    options: dict[str, Any] = {"domain": (0.3, np.inf), "names": ["x"]}
    (x,) = shrink(np.log, lambda i, o, c: (2 * c[0] / i[0],), (np.array([0.7, 0.31]),), **options)
    assert x.tolist() == [1.0]


def test_the_chosen_finding_stays() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        a, b = inputs
        return 2 * cotangents[0] * b, np.where(b < 0, 2.0, 1.0) * cotangents[0] * a

    inputs = (np.array([0.4, 0.6]), np.array([0.3, -0.7]))
    second = check(np.multiply, vjp, inputs, names=["a", "b"]).findings[1]
    a, b = shrink(np.multiply, vjp, inputs, names=["a", "b"], finding=second)
    assert (a.tolist(), b.tolist()) == ([1.0], [-1.0])


def test_shrinking_is_repeatable_and_bounded() -> None:
    calls = []

    def forward(a: Any, b: Any) -> Any:
        calls.append(1)
        return a @ b

    first = shrink(forward, matmul_vjp, (X, X.T.copy()), checks=1)
    few = len(calls)
    second = shrink(forward, matmul_vjp, (X, X.T.copy()), checks=1)
    assert all(np.array_equal(one, other) for one, other in zip(first, second, strict=True))
    assert len(calls) == 2 * few


@pytest.mark.parametrize("checks", [0, -1, 1.5, True])
def test_a_number_of_checks_below_one_is_refused(checks: Any) -> None:
    with pytest.raises(UsageError, match=r"checks: expected an integer >= 1, got .*; leave it out"):
        shrink(np.matmul, matmul_vjp, (X, X.T.copy()), checks=checks)


def test_what_is_no_finding_is_refused() -> None:
    text = r"finding: expected one of a report's findings, got str; pass report.findings\[0\]"
    with pytest.raises(UsageError, match=text):
        shrink(np.matmul, matmul_vjp, (X, X.T.copy()), finding="x")  # type: ignore[arg-type]


def test_inputs_without_a_finding_are_refused() -> None:
    with pytest.raises(UsageError, match="inputs: expected a finding at these values, got none; pass inputs at which"):
        shrink(np.sin, lambda i, o, c: (c[0] * np.cos(i[0]),), (X,))
