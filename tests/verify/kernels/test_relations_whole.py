"""Verify compares an op of one expression with its function, run by NumPy on whole numbers."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.expr.scalar import ScalarFunction


def twice(x, a):
    return vmath.where(x > 2, 2.0 * x, a)


def defined(name):
    return opsdk.elementwise(f"test_verify_whole::{name}(Tensor x, *, float a=2.0) -> Tensor y")(twice)


@pytest.mark.parametrize("wrong", [np.float16, np.uint8])
def test_another_value_or_dtype_than_numpy_gives_is_a_finding(wrong, monkeypatch):
    def planted(self, written, arrays, attrs):
        return np.where(arrays[0] > 2, 2 * arrays[0], 2).astype(wrong)

    monkeypatch.setattr(ScalarFunction, "_of_whole", planted)
    monkeypatch.setattr(ScalarFunction, "whole_dtypes", lambda self, dtypes, attrs: [np.dtype(wrong)])
    report = opsdk.verify(defined(f"twice_{wrong.__name__}"), rows="cpu")
    assert [finding.check for finding in report.findings] == ["value.y"]
    assert "which NumPy gives for the function that was written" in report.findings[0].message


def test_what_numpy_gives_passes():
    assert opsdk.verify(defined("twice"), rows="cpu").verdict == "pass"
