from __future__ import annotations

import functools
from typing import Any

import numpy as np

from gradcheck import check

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])


def found(forward: Any, vjp: Any, inputs: Any = (X,), **options: Any) -> dict[str, str]:
    return {finding.check: finding.message for finding in check(forward, vjp, inputs, **options).findings}


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def test_a_vjp_that_is_off_once_in_eight_calls_is_found() -> None:
    calls = []

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        calls.append(1)
        return (cotangents[0] * np.cos(inputs[0]) * (1.0 + 1e-13 * (len(calls) % 8 == 2)),)

    assert "vjp: expected equal results for the same arguments, got different ones" in found(np.sin, vjp)["repeats"]


def test_a_stack_of_kept_values_is_found_by_the_order_of_vjps() -> None:
    kept: list[Any] = []

    def forward(x: Any) -> Any:
        del kept[2:]
        kept.insert(0, x.copy())
        return np.sin(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        same = [x for x in kept if np.array_equal(np.sin(x), outputs[0])]
        return (cotangents[0] * np.cos(same[0] if same and same[0] is kept[0] else inputs[0] * (1 + 1e-12)),)

    message = found(forward, vjp)["interleaving"]
    assert message == (
        "vjp: expected gradients for its own arguments, got others once forward ran elsewhere in between; "
        "compute from inputs and outputs, not from what forward kept"
    )


def test_a_forward_that_follows_the_previous_inputs_is_found() -> None:
    last: list[Any] = [X]

    def forward(x: Any) -> Any:
        shift = 0.0 if np.array_equal(last[0], x) else 1e-13
        last[0] = x.copy()
        return np.sin(x) + shift

    forward(X)
    message = found(forward, cosine)["interleaving"]
    assert message == (
        "forward: expected outputs for its own inputs, got others once it ran elsewhere in between; "
        "compute from the inputs, not from what it kept"
    )


def test_a_second_vjp_after_another_is_found_when_the_first_used_up_what_was_kept() -> None:
    kept: dict[bytes, Any] = {}

    def forward(x: Any) -> Any:
        kept[x.tobytes()] = np.cos(x)
        return np.sin(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        slope = kept.get(inputs[0].tobytes())
        if slope is None:
            slope = np.zeros_like(inputs[0])
        for key in [key for key in kept if key != inputs[0].tobytes()]:
            del kept[key]
        return (cotangents[0] * slope,)

    assert "vjp: expected gradients for its own arguments" in found(forward, vjp)["interleaving"]


def test_values_that_the_varied_inputs_do_not_allow_leave_the_given_ones_judged() -> None:
    kept: dict[str, Any] = {}

    def forward(x: Any) -> Any:
        kept["x"] = x.copy()
        return np.sqrt(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        if (inputs[0] < 0).any():
            raise ValueError("negative")
        return (cotangents[0] / (2 * np.sqrt(np.abs(kept["x"]))),)

    assert "interleaving" in found(forward, vjp, (np.abs(X),), vary=False)


def test_caches_workspaces_and_fixed_seeds_are_no_state() -> None:
    memo: dict[bytes, Any] = {}
    by_identity: dict[int, Any] = {}
    workspace = np.empty(X.shape)

    @functools.lru_cache
    def weights(shape: tuple[int, ...]) -> Any:
        return np.linspace(1.0, 2.0, int(np.prod(shape))).reshape(shape)

    def forward(x: Any) -> Any:
        if x.tobytes() not in memo:
            np.multiply(x, weights(x.shape), out=workspace)
            memo[x.tobytes()] = np.sin(workspace) * np.random.default_rng(3).random()
        by_identity[id(x)] = x
        return memo[x.tobytes()]

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (x,) = inputs
        np.multiply(x, weights(x.shape), out=workspace)
        return (cotangents[0] * np.cos(workspace) * weights(x.shape) * np.random.default_rng(3).random(),)

    assert found(forward, vjp) == {}
