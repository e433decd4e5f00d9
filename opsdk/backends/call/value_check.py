"""The value check of an op in front of a launch: no row reads an array before it is known to stay inside."""

from __future__ import annotations

from typing import Any

from opsdk.backends.call.language import Launch
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef


def checked_first(opdef: OpDef, kernel: Kernel, launch: Launch) -> Launch:
    """Returns a launch that asks the op's value check before it runs; the launch itself where there is none.

    A row that says `checks=True` asks for itself.
    """
    check = opdef.check
    if check is None or kernel.options.get("checks"):
        return launch

    # Any: one entry per input, an array, a list of arrays or None; attribute values.
    def checked(*values: Any, **attrs: Any) -> Any:
        check(values, attrs)
        return launch(*values, **attrs)

    return checked
