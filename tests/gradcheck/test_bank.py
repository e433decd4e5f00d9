from __future__ import annotations

from typing import Any

import pytest

import gradcheck
from tests.gradcheck.right_bank import RIGHT
from tests.gradcheck.wrong_bank import WRONG


@pytest.mark.parametrize(("forward", "vjp", "inputs"), [pytest.param(*case[1:], id=case[0]) for case in WRONG])
def test_a_wrong_backward_fails(forward: Any, vjp: Any, inputs: Any) -> None:
    report = gradcheck.check(forward, vjp, inputs)
    assert report.verdict == "fail"
    assert report.findings


@pytest.mark.parametrize(
    ("forward", "vjp", "inputs", "options"), [pytest.param(*case[1:], id=case[0]) for case in RIGHT]
)
def test_a_right_but_hard_backward_passes(forward: Any, vjp: Any, inputs: Any, options: dict[str, Any]) -> None:
    report = gradcheck.check(forward, vjp, inputs, **options)
    assert report.verdict == "pass", gradcheck.render_text(report)
