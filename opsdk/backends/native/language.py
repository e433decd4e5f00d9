"""Expressions: loops that opsdk writes, in which no index is wrong. Whoever asks what they are in is told `numba`."""

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


class Expressions(Language):
    """Loops over elements, or over rows with reductions, compiled for the dtypes that they meet.

    Args:
        form: of the sources.
        place: the kind of place.
        module: where `launch_of` is.
    """

    name = "numba"
    is_derived = True
    changes_inputs = False
    manner = "compiled from the expression"
    packages = ("numba", "llvmlite", "cffi")  # what compiles and calls the code

    def __init__(self, form: str, place: str, module: str) -> None:
        self.form, self.places, self._module = form, (place,), module
        self.has_entry = place == "cpu"

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns a launch that compiles for the dtypes that it meets."""
        return slow(self._module).launch_of(opdef, kernel)

    # Any: attribute values.
    def check_entry(self, opdef: OpDef, specs: Sequence[TensorSpec | None], attrs: Mapping[str, Any]) -> None:
        """Checks that there are rows for a loop over rows, along the last axis: one behind the other in memory."""
        if self.form == RowFunction.kernel_form:
            slow(self._module).check_rows(opdef, specs, attrs)

    # Any: attribute values.
    def entry(
        self, opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]
    ) -> NativeEntry:
        """Returns the function over the elements, or over the rows."""
        return slow(self._module).KERNELS(opdef, kernel.source).entry(kernel, specs, attrs)


register_language(Expressions(ScalarFunction.kernel_form, "cpu", "opsdk.backends.native.elementwise"))
register_language(Expressions(RowFunction.kernel_form, "cpu", "opsdk.backends.native.rowwise"))
