"""What is no report of gradcheck is refused by every rendering, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

import gradcheck


@dataclass
class VerifyReport:
    """Stands for a report of another package."""

    verdict: str = "pass"


@pytest.mark.parametrize(
    "render",
    [
        gradcheck.render_text,
        gradcheck.render_html,
        gradcheck.to_json,
        lambda report: gradcheck.render_junit({"subject": report}),
    ],
    ids=["text", "html", "json", "junit"],
)
@pytest.mark.parametrize(("report", "kind"), [(VerifyReport(), "VerifyReport"), (None, "NoneType")])
def test_a_foreign_report_is_refused(render: Any, report: object, kind: str) -> None:
    with pytest.raises(gradcheck.UsageError) as caught:
        render(report)
    assert str(caught.value) == (
        f"report: expected a gradcheck.Report, got {kind}; pass what gradcheck.check returned, "
        "and write another package's report with that package"
    )
