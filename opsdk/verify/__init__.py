"""Leaf: verify, which proves a registered op with gradcheck and with runs of its kernels."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from opsdk.verify.report import Coverage, Finding, Row, VerifyReport, render_text, to_dict
from opsdk.verify.run import verify

__all__ = ["Coverage", "Finding", "Row", "VerifyReport", "render_text", "to_dict", "verify"]


class _Callable(ModuleType):
    """This module, callable: `opsdk.verify` is the function's name, and whoever imports the module first takes it."""

    # Any: the arguments are those of `verify`.
    def __call__(self, *args: Any, **kwargs: Any) -> VerifyReport:
        return verify(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
