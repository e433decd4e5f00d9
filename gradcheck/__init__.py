"""A judge of hand-written derivatives, for NumPy functions.

The package needs NumPy only and knows nothing of what calls it.
"""

from gradcheck import domain
from gradcheck.case import Case
from gradcheck.check import check
from gradcheck.door import gradcheck
from gradcheck.errors import GradcheckError, UsageError
from gradcheck.model.surrogate import stop_gradient
from gradcheck.report import Coverage, Finding, Report
from gradcheck.show.html import render_html
from gradcheck.show.junit import render_junit
from gradcheck.show.render import render_text, to_json
from gradcheck.shrink import shrink
from gradcheck.taylor import TaylorReport, taylor_test

__all__ = [
    "Case",
    "Coverage",
    "Finding",
    "GradcheckError",
    "Report",
    "TaylorReport",
    "UsageError",
    "check",
    "domain",
    "gradcheck",
    "render_html",
    "render_junit",
    "render_text",
    "shrink",
    "stop_gradient",
    "taylor_test",
    "to_json",
]
