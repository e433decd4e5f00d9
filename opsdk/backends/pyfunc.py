"""Reference rows: NumPy callables, and composites run over arrays."""

from __future__ import annotations

from opsdk.backends.language import Launch, register_language
from opsdk.define.kernel import REFERENCE, Kernel
from opsdk.define.opdef import OpDef


class PyFunc:
    """A Python callable is its own launch."""

    reads_python = True
    fills = False

    def __init__(self, name: str) -> None:
        self.name = name

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns the author's function itself."""
        assert callable(kernel.source), kernel
        return kernel.source


register_language(PyFunc(REFERENCE))
register_language(PyFunc("composite"))
