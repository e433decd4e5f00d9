from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck import check

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])
BUFFER = np.empty(X.shape)


def found(forward: Any, vjp: Any, inputs: Any = (X,), **options: Any) -> dict[str, str]:
    return {finding.check: finding.message for finding in check(forward, vjp, inputs, **options).findings}


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def test_a_forward_that_returns_one_buffer_again_and_again_is_found() -> None:
    message = found(lambda x: np.sin(x, out=BUFFER), cosine)["buffers"]
    assert message == (
        "output 0: expected to stay as it was, got other values once forward ran again; "
        "return a new array from every call"
    )


def test_a_vjp_that_returns_one_buffer_again_and_again_is_found() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (np.multiply(cotangents[0], np.cos(inputs[0]), out=BUFFER),)

    message = found(np.sin, vjp, names=["x"])["buffers"]
    assert message.startswith("gradient of 'x': expected to stay as it was, got other values once vjp ran again")


def test_an_output_that_is_written_to_when_fed_back_is_found() -> None:
    made: list[Any] = []

    def forward(x: Any) -> Any:
        if made and x is made[-1]:
            x *= 2.0
        made.append(np.sin(x))
        return made[-1]

    message = found(forward, cosine)["buffers"]
    assert message.startswith("output 0: expected to stay as it was, got other values once it was passed as 'x'")


def test_a_workspace_that_is_not_returned_and_a_shared_constant_are_right() -> None:
    constant = np.arange(3.0)

    def forward(x: Any) -> Any:
        return np.sin(x, out=BUFFER) + 0.0, constant

    assert found(forward, cosine) == {}


def test_an_identity_that_is_declared_to_share_memory_is_right() -> None:
    assert found(lambda x: x, lambda i, o, c: (c[0],), alias_ok=("output", "cotangent")) == {}
