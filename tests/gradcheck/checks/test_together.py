from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from gradcheck import check

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])
OTHER = np.array([[0.5, 0.9, -2.0], [-1.3, 0.4, 0.2]])


def found(forward: Any, vjp: Any, inputs: Any = (X,)) -> dict[str, str]:
    return {finding.check: finding.message for finding in check(forward, vjp, inputs).findings}


def test_a_tie_between_inputs_that_is_counted_twice_is_found() -> None:
    message = found(np.maximum, lambda i, o, c: (c[0] * (i[0] >= i[1]), c[0] * (i[1] >= i[0])), (X, OTHER))
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


def test_a_first_call_of_vjp_that_alone_is_wrong_is_found() -> None:
    counter = itertools.count()
    vjp = lambda i, o, c: (c[0] * np.cos(i[0]) * (2 if next(counter) == 0 else 1),)  # noqa: E731
    assert "vjp: expected equal results for the same arguments, got different ones" in found(np.sin, vjp)["repeats"]


def test_values_kept_for_an_array_object_are_found_when_it_is_rewritten() -> None:
    kept: dict[Any, Any] = {}
    alive = []

    def vjp(i: Any, o: Any, c: Any) -> Any:
        alive.append(i[0])  # so that no other array ever gets its identity
        return (c[0] * kept.setdefault(id(i[0]), np.cos(i[0])),)

    assert found(np.sin, vjp)["interleaving"] == (
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

    assert found(forward, vjp)["sharing"].startswith("output 1: expected memory of its own, got memory shared with")
    assert check(forward, vjp, (X,), alias_ok=["output"]).verdict == "pass"


def test_a_floating_dtype_that_depends_on_values_is_found() -> None:
    def forward(x: Any) -> Any:
        return np.sin(x) if x[0, 0] > 0 else np.sin(x).astype(np.float32)

    message = found(forward, lambda i, o, c: ((c[0] * np.cos(i[0])).astype(float),), (np.abs(X),))["output dtype"]
    assert message.startswith("forward: expected one output dtype, got float64 and, at ")


def test_a_gradient_that_is_not_finite_at_a_zero_nobody_gave_is_let_be() -> None:
    product = lambda i, o, c: (c[0] * o[0] / i[0],)  # noqa: E731
    assert check(np.prod, product, (np.array([0.7, 1.3, 2.0, 1.1]),)).verdict == "pass"
    guarded = lambda i, o, c: (c[0] * np.where(i[0] == 0, 0.0, o[0] / np.where(i[0] == 0, 1.0, i[0])),)  # noqa: E731
    assert check(np.prod, guarded, (np.array([0.7, 1.3, 2.0, 1.1]),)).verdict == "fail"
