from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from gradcheck import check
from gradcheck.checks.session import Session
from gradcheck.checks.ties import check_together
from gradcheck.model.protocol import build_subject

A, B = np.random.default_rng(5).normal(size=(2, 40, 40))


def found(forward: Any, vjp: Any, inputs: Any = (A, B), **options: Any) -> dict[str, str]:
    return {finding.check: finding.message for finding in check(forward, vjp, inputs, **options).findings}


def product_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return cotangents[0] * inputs[1], cotangents[0] * inputs[0]


def test_gradients_gathered_by_identity_are_found() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        grads: dict[int, Any] = {}
        for value, gradient in zip(inputs, product_vjp(inputs, outputs, cotangents), strict=True):
            grads[id(value)] = grads.get(id(value), 0.0) + gradient
        return grads[id(inputs[0])], grads[id(inputs[1])].copy()

    message = found(lambda a, b: a * b, vjp)["same array"]
    assert message == (
        "gradient of 'a': expected the same for one array passed as 'a' and 'b' as for two equal ones, got other "
        "values; do not tell inputs by identity, and write to neither"
    )


def test_a_forward_that_treats_one_array_apart_is_found() -> None:
    def forward(a: Any, b: Any) -> Any:
        return a * b if a is not b else 1.01 * np.square(a)

    assert found(forward, product_vjp)["same array"].startswith("output 0: expected the same for one array passed as")


def test_a_refusal_of_one_array_is_found() -> None:
    def forward(a: Any, b: Any) -> Any:
        if a is b:
            raise RuntimeError("overlap")
        return a * b

    message = found(forward, product_vjp)["same array"]
    assert message == (
        "inputs 'a' and 'b': expected to be accepted as one array, got RuntimeError: overlap; "
        "do not tell inputs by identity"
    )


def test_another_order_of_sums_for_one_array_is_right() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return cotangents[0] @ inputs[1], cotangents[0].T @ inputs[0]

    assert found(lambda a, b: a @ b.T, vjp, vary=False) == {}  # NumPy computes a @ a.T by a routine of its own


def test_a_distance_that_cancels_for_equal_inputs_is_right() -> None:
    def forward(a: Any, b: Any) -> Any:
        return np.sqrt(np.abs(a @ a + b @ b - 2 * (a @ b)) + (0.0 if a is b else 1e-16))

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        slope = cotangents[0] * (inputs[0] - inputs[1]) / outputs[0]
        return slope, -slope

    assert found(forward, vjp, (A[0], B[0]), vary=False) == {}


def test_inputs_of_different_domains_are_not_mixed() -> None:
    def forward(a: Any, b: Any) -> Any:
        if a is b:
            raise RuntimeError("never")
        return a * np.sqrt(b)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        a, b = inputs
        return cotangents[0] * np.sqrt(b), cotangents[0] * a / (2 * np.sqrt(b))

    inputs = (-np.ones(3), np.ones(3))
    assert found(forward, vjp, inputs, domain={"a": (None, 0), "b": (0.1, None)}) == {}


X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])
OTHER = np.array([[0.5, 0.9, -2.0], [-1.3, 0.4, 0.2]])


def found_tied(forward: Any, vjp: Any, inputs: Any = (X,)) -> dict[str, str]:
    return {finding.check: finding.message for finding in check(forward, vjp, inputs).findings}


def test_a_tie_between_inputs_that_is_counted_twice_is_found() -> None:
    message = found_tied(np.maximum, lambda i, o, c: (c[0] * (i[0] >= i[1]), c[0] * (i[1] >= i[0])), (X, OTHER))
    assert message["tied inputs"] == (
        "gradients of 'x1' and 'x2': expected to add up to 1 where both are equal, got 2 at [0, 0]; "
        "share the gradient of a tie between them"
    )


def test_a_tie_that_is_given_to_either_or_shared_is_right() -> None:
    for share in (0.0, 0.5, 1.0):

        def vjp(i: Any, o: Any, c: Any, share: float = share) -> Any:
            first = (i[0] > i[1]) + share * (i[0] == i[1])
            return c[0] * first, c[0] * (1 - first)

        assert check(np.maximum, vjp, (X, OTHER)).verdict == "pass"


def smooth(w: Any, u: Any, k: Any) -> Any:
    return np.exp(w) * k + u * k * k


def smooth_vjp(factor: float) -> Any:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        w, u, k = i
        dw, du = (c[0] * k * np.exp(w)).sum(0), (c[0] * k * k).sum(0)
        return dw, np.asarray(factor * du).astype(u.dtype), c[0] * (np.exp(w) + 2 * u * k)

    return vjp


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_rounding_of_a_smooth_function_is_no_tie(dtype: str) -> None:
    inputs = tuple(np.asarray(array, dtype) for array in (OTHER[0], X[1], X))
    subject = build_subject(smooth, smooth_vjp(3.0), None, inputs, ["w", "u", "k"], None, (), ())
    session = Session.start(subject, inputs, np.random.default_rng(0), float(np.finfo(dtype).eps))
    assert check_together(session) == []


def test_a_tie_in_float32_is_found() -> None:
    vjp = lambda i, o, c: (c[0] * (i[0] >= i[1]), c[0] * (i[1] >= i[0]))  # noqa: E731
    assert "tied inputs" in found_tied(np.maximum, vjp, (X.astype("float32"), OTHER.astype("float32")))


def test_a_gradient_that_is_wrong_anywhere_is_not_told_again_of_a_tie() -> None:
    vjp = lambda i, o, c: (c[0] * (i[0] >= i[1]), 3.0 * c[0] * (i[1] >= i[0]))  # noqa: E731
    assert list(found_tied(np.maximum, vjp, (X, OTHER))) == ["vjp value"]


def test_a_first_call_of_vjp_that_alone_is_wrong_is_found() -> None:
    counter = itertools.count()
    vjp = lambda i, o, c: (c[0] * np.cos(i[0]) * (2 if next(counter) == 0 else 1),)  # noqa: E731
    assert (
        "vjp: expected equal results for the same arguments, got different ones" in found_tied(np.sin, vjp)["repeats"]
    )


def test_values_kept_for_an_array_object_are_found_when_it_is_rewritten() -> None:
    kept: dict[Any, Any] = {}
    alive = []

    def vjp(i: Any, o: Any, c: Any) -> Any:
        alive.append(i[0])  # so that no other array ever gets its identity
        return (c[0] * kept.setdefault(id(i[0]), np.cos(i[0])),)

    assert found_tied(np.sin, vjp)["interleaving"] == (
        "vjp: expected gradients for the values it is given, got others for new values in the same array; "
        "do not tell inputs by identity"
    )


def test_outputs_that_share_memory_are_found_and_may_be_meant() -> None:
    def forward(x: Any) -> Any:
        y = np.sin(x)
        return y, y[:1]

    def vjp(i: Any, o: Any, c: Any) -> Any:
        total = c[0].copy()
        total[:1] += c[1]
        return (total * np.cos(i[0]),)

    assert found_tied(forward, vjp)["sharing"].startswith(
        "output 1: expected memory of its own, got memory shared with"
    )
    assert check(forward, vjp, (X,), alias_ok=["output"]).verdict == "pass"


def test_a_floating_dtype_that_depends_on_values_is_found() -> None:
    def forward(x: Any) -> Any:
        return np.sin(x) if x[0, 0] > 0 else np.sin(x).astype(np.float32)

    message = found_tied(forward, lambda i, o, c: ((c[0] * np.cos(i[0])).astype(float),), (np.abs(X),))["output dtype"]
    assert message.startswith("forward: expected one output dtype, got float64 and, at ")


def test_a_gradient_that_is_not_finite_where_the_derivative_is_is_found_at_a_zero_nobody_gave() -> None:
    product = lambda i, o, c: (c[0] * o[0] / i[0],)  # noqa: E731
    assert check(np.prod, product, (np.array([0.7, 1.3, 2.0, 1.1]),)).findings[0].cause == (
        "yours is not finite there"
    )
    guarded = lambda i, o, c: (c[0] * np.where(i[0] == 0, 0.0, o[0] / np.where(i[0] == 0, 1.0, i[0])),)  # noqa: E731
    assert check(np.prod, guarded, (np.array([0.7, 1.3, 2.0, 1.1]),)).verdict == "fail"
