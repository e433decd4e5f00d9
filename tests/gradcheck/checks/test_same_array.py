from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck import check

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
