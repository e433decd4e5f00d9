"""Expressions on the CPU: loops that opsdk writes, compiled once for all runs. Whoever asks is told `numba`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opsdk.backends.call.language import Language, Launch, NativeEntry, register_language
from opsdk.core.lazy import slow
from opsdk.core.spec import TensorSpec
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.scalar import ScalarFunction


class Derived(Language):
    """What every language of expressions is: opsdk writes the code, in which no index is wrong."""

    name = "numba"
    is_derived = True
    changes_inputs = False
    manner = "compiled from the expression"
    packages = ("numba", "llvmlite", "cffi")  # what compiles and calls the code


# Any, in this file: attribute values.
class Elements(Derived):
    """Loops over the elements of tensors of one shape."""

    form = ScalarFunction.kernel_form
    has_entry = True

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns a launch that compiles for the dtypes that it meets."""
        launch: Launch = slow("opsdk.backends.native.elementwise").launch_of(opdef, kernel.source)
        return launch

    def entry(
        self, opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]
    ) -> NativeEntry:
        """Returns the function over the elements."""
        made: NativeEntry = slow("opsdk.backends.native.entry").elements_entry(opdef, kernel, specs, attrs)
        return made


class Rows(Elements):
    """Loops over the rows of tensors, with reductions."""

    form = RowFunction.kernel_form

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns a launch that compiles for the dtypes that it meets."""
        launch: Launch = slow("opsdk.backends.native.rowwise").launch_of(opdef, kernel.source)
        return launch

    def check_entry(self, opdef: OpDef, specs: Sequence[TensorSpec | None], attrs: Mapping[str, Any]) -> None:
        """Checks that there are rows, along the last axis: one behind the other in memory."""
        slow("opsdk.backends.native.entry").check_rows(opdef, specs, attrs)

    def entry(
        self, opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]
    ) -> NativeEntry:
        """Returns the function over the rows."""
        made: NativeEntry = slow("opsdk.backends.native.entry").rows_entry(opdef, kernel, specs, attrs)
        return made


register_language(Elements())
register_language(Rows())
