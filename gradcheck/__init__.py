"""A judge of hand-written derivatives, for NumPy functions.

The package needs NumPy only and knows nothing of what calls it.
"""

from gradcheck.check import check
from gradcheck.coverage import Coverage
from gradcheck.door import gradcheck
from gradcheck.errors import GradcheckError, UsageError
from gradcheck.render import render_text, to_json
from gradcheck.report import Finding, Report

__all__ = [
    "Coverage",
    "Finding",
    "GradcheckError",
    "Report",
    "UsageError",
    "check",
    "gradcheck",
    "render_text",
    "to_json",
]
