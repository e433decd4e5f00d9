"""Reference rows: NumPy callables, and composites run over arrays."""

from __future__ import annotations

from typing import Any

from opsdk.backends.call.language import Launch, register_language
from opsdk.define.frontend import over_arrays
from opsdk.define.kernel.kernel import REFERENCE, Kernel
from opsdk.define.opdef import OpDef

COMPOSITE = "composite"


class PyFunc:
    """A Python callable is its own launch."""

    reads_python = True
    fills = False

    def __init__(self, name: str) -> None:
        self.name = name

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns the author's function, itself wherever nothing but what it takes is given."""
        source = kernel.source
        assert callable(source), kernel
        if self.name == COMPOSITE and not opdef.is_builtin:  # built-in ones call nothing but ops
            source = over_arrays(source)
        asks = [name for name, _ in getattr(opdef.infer, "asks", ())]
        if not asks:
            return source

        # Any: as for every launch. Python makes its own arrays: what a compiled row's buffers are like is not for it.
        def launch(*values: Any, **attrs: Any) -> Any:
            return source(*values, **{name: value for name, value in attrs.items() if name not in asks})

        return launch


register_language(PyFunc(REFERENCE))
register_language(PyFunc(COMPOSITE))
