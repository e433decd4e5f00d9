"""A judge of hand-written derivatives, for NumPy functions.

The package needs NumPy only and knows nothing of what calls it. A name is loaded when it is first asked for: who only
declares what inputs may be, with `gradcheck.domain`, does not wait for the judge.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradcheck import domain
    from gradcheck.case import Case
    from gradcheck.checking import check
    from gradcheck.door import gradcheck
    from gradcheck.errors import GradcheckError, UsageError
    from gradcheck.model.surrogate import stop_gradient
    from gradcheck.report import Coverage, Finding, Report
    from gradcheck.show.html import render_html
    from gradcheck.show.junit import render_junit
    from gradcheck.show.render import render_text, to_json
    from gradcheck.shrinking import shrink
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
# No module has the name of a function that it gives, which would be the module for whoever has loaded that before.
_HOMES = {
    "Case": "case",
    "Coverage": "report",
    "Finding": "report",
    "GradcheckError": "errors",
    "Report": "report",
    "TaylorReport": "taylor",
    "UsageError": "errors",
    "check": "checking",
    "domain": "domain",
    "gradcheck": "door",
    "render_html": "show.html",
    "render_junit": "show.junit",
    "render_text": "show.render",
    "shrink": "shrinking",
    "stop_gradient": "model.surrogate",
    "taylor_test": "taylor",
    "to_json": "show.render",
}


# Any: a function, a class or a module, loaded when it is first asked for.
def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'gradcheck' has no attribute {name!r}")
    module = importlib.import_module(f"gradcheck.{home}")
    value = globals()[name] = module if home == name else getattr(module, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
