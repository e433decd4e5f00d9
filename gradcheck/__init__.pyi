"""A judge of hand-written derivatives, for NumPy functions.

Written by `python -m tests.contracts.stubs`.
"""

from gradcheck import domain as domain
from gradcheck.case import Case as Case
from gradcheck.checking import check as check
from gradcheck.door import gradcheck as gradcheck
from gradcheck.errors import GradcheckError as GradcheckError
from gradcheck.errors import UsageError as UsageError
from gradcheck.model.surrogate import stop_gradient as stop_gradient
from gradcheck.report import Coverage as Coverage
from gradcheck.report import Finding as Finding
from gradcheck.report import Report as Report
from gradcheck.show.html import render_html as render_html
from gradcheck.show.junit import render_junit as render_junit
from gradcheck.show.render import render_text as render_text
from gradcheck.show.render import to_json as to_json
from gradcheck.shrinking import shrink as shrink
from gradcheck.taylor import TaylorReport as TaylorReport
from gradcheck.taylor import taylor_test as taylor_test
