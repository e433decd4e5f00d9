"""A judge of hand-written derivatives, for NumPy functions.

The package needs NumPy only and knows nothing of what calls it. A name is loaded when it is first asked for: who only
declares what inputs may be, with `gradcheck.domain`, does not wait for the judge.
"""

from __future__ import annotations

import importlib
from typing import Any

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
__all__ = [*_HOMES]


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
