"""Every primitive by its name; what reads the table whole imports it here, where the families have filled it."""

from __future__ import annotations

from opsdk.expr.primitives import arithmetic, conditions, exponential, rounding, trigonometric  # noqa: F401 - fill it
from opsdk.expr.primitives.entry import PRIMITIVES as PRIMITIVES
