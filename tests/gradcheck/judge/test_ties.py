from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck import check


def sort_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    gradient = np.zeros_like(inputs[0])
    gradient[np.argsort(inputs[0], kind="stable")] = cotangents[0]
    return (gradient,)


def test_a_stable_sort_of_three_equal_values_is_right() -> None:
    for seed in range(5):
        report = check(np.sort, sort_vjp, (np.array([1.0, 1.0, 1.0, 3.0]),), seed=seed)
        assert report.verdict == "pass"


def test_a_sort_that_doubles_the_middle_one_is_wrong() -> None:
    def doubled(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (gradient,) = sort_vjp(inputs, outputs, cotangents)
        gradient[1] *= 2
        return (gradient,)

    assert check(np.sort, doubled, (np.array([1.0, 1.0, 1.0, 3.0]),)).verdict == "fail"
