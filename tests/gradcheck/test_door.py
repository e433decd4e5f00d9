from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gradcheck import GradcheckError, UsageError, gradcheck

X = np.array([0.3, -1.2, 2.0])


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def twice(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (2 * cotangents[0] * np.cos(inputs[0]),)


def test_a_pair_and_an_object_are_accepted() -> None:
    assert gradcheck((np.sin, cosine), (X,))
    assert gradcheck(SimpleNamespace(forward=np.sin, vjp=cosine), X, eps=1e-6, atol=1e-4, rtol=1e-3)


def test_a_wrong_gradient_raises_or_gives_false() -> None:
    with pytest.raises(GradcheckError, match="wrong in 3 of 3 elements"):
        gradcheck((np.sin, twice), (X,))
    assert gradcheck((np.sin, twice), (X,), raise_exception=False) is False


def test_inconclusive_raises_too() -> None:
    with pytest.raises(GradcheckError, match="expected a judgement, got inconclusive: no output is finite"):
        gradcheck((np.log, lambda i, o, c: (c[0] / i[0],)), (np.zeros(2) * np.nan,))


def test_another_form_of_function_is_refused() -> None:
    with pytest.raises(UsageError, match=r"fn: expected an object with forward and vjp, or a \(forward, vjp\) pair"):
        gradcheck(np.sin, (X,))


def test_a_negative_tolerance_is_refused() -> None:
    with pytest.raises(UsageError, match="atol: expected a number >= 0, got -1"):
        gradcheck((np.sin, cosine), (X,), atol=-1)


def test_usage_errors_are_raised_whatever_raise_exception_says() -> None:
    with pytest.raises(UsageError, match="expected a floating or complex input"):
        gradcheck((np.sin, cosine), (3,), raise_exception=False)
