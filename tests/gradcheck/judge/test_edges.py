from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gradcheck

EDGE = np.array([0.0, 0.25, 1.0])


def clip_squared(p: Any) -> Any:
    return np.clip(p, 0.0, 1.0) ** 2


@pytest.mark.parametrize("at_the_edge", [0.0, 1.0, 2.0])
def test_any_convention_at_a_bound_of_the_domain_is_right(at_the_edge: float) -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        (p,) = i
        return (c[0] * np.where(p < 1.0, 2.0 * p, at_the_edge),)

    report = gradcheck.check(clip_squared, vjp, (EDGE,), domain=(0, 1))
    assert report.verdict == "pass", gradcheck.render_text(report)


@pytest.mark.parametrize("factor", [2.0, 1.0 + 1e-6])
def test_a_gradient_that_is_wrong_beside_the_edge_too_is_found_there(factor: float) -> None:
    report = gradcheck.check(
        clip_squared, lambda i, o, c: (factor * c[0] * 2.0 * i[0],), (np.array([1.0]),), domain=(0, 1), vary=False
    )
    assert report.verdict == "fail"


def test_a_gradient_that_is_not_finite_at_the_edge_is_found() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        return (c[0] * 2.0 * i[0] ** 3 / i[0] ** 2,)

    report = gradcheck.check(lambda x: x * x, vjp, (np.array([0.0, 1.0]),), domain=(0, None), vary=False)
    assert report.findings[0].cause == "yours is not finite there"
