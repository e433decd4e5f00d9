"""Loops that opsdk writes for expressions run between guarded pages too, in every check."""

import numpy as np
import pytest

import opsdk
from opsdk.backends.native import elementwise, rowwise

pytest.importorskip("cffi")
pytest.importorskip("numba")


@pytest.fixture
def miswritten(monkeypatch):
    """Has the generator write another text."""

    def change(module, name, old, new):
        write = getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: write(*given).replace(old, new))

    return change


def found(op):
    report = opsdk.verify(op, samples=[opsdk.Sample(np.ones((3, 5)))], level="quick")
    (kernel,) = {finding.row for finding in report.findings}
    assert kernel == "cpu,float64,numba"
    return report.findings[0]


def test_a_loop_over_elements_that_ends_one_late_is_found(miswritten):
    miswritten(elementwise, "kernel_source", "range(start, stop)", "range(start, stop + 1)")
    finding = found(opsdk.elementwise("planted::f(Tensor x) -> Tensor y")(lambda x: x + 0.71))
    assert finding.check == "bounds"
    assert "it read index 15 of input 'x', which has 15 elements" in finding.message


def test_an_element_of_a_row_that_is_never_written_is_found(miswritten):
    miswritten(rowwise._Writer, "text", "range(n)", "range(n - 1)")
    finding = found(opsdk.rowwise("planted::g(Tensor x) -> Tensor y")(lambda x: x + opsdk.vmath.row_max(x)))
    assert finding.check == "value.y"
    assert "this kernel leaves it as the memory was, expected a value" in finding.message
