"""Reference rows: NumPy callables, composites run over arrays, and expressions evaluated by NumPy."""

from __future__ import annotations

from typing import Any

from opsdk.backends.call.language import Language, Launch, register_language
from opsdk.define.frontend import over_arrays
from opsdk.define.kernel.kernel import COMPOSITE, REFERENCE, Kernel
from opsdk.define.opdef import OpDef
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.scalar import ScalarFunction


class PyFunc(Language):
    """A Python callable is its own launch.

    Args:
        name: of the language.
        form: of the sources; an expression is a callable too, and no code of an author's.
    """

    reads_python = True
    flags = ("parallel", "contiguous")
    manner = "the reference"

    def __init__(self, name: str, form: str = "") -> None:
        self.name, self.form = name, form
        self.is_derived = bool(form)
        self.changes_inputs = not form and name != COMPOSITE

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
for _expression in (ScalarFunction, RowFunction):
    register_language(PyFunc(REFERENCE, _expression.kernel_form))
