"""Expressions: loops that opsdk writes, in which no index is wrong. Whoever asks what they are in is told `numba`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.language import Language, Launch, NativeEntry, register_language
from opsdk.backends.call.lines import Spot
from opsdk.core.lazy import slow
from opsdk.core.spec import TensorSpec
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.expr.choices import Choices
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

    def launch_into(self, opdef: OpDef, kernel: Kernel, empty: Callable[..., np.ndarray]) -> Launch:
        """Returns a launch that fills arrays made by `empty(shape, dtype)`."""
        launch: Launch = slow(self._module).KERNELS(opdef, kernel.source, empty).launch
        return launch

    def sizes(self, opdef: OpDef, kernel: Kernel) -> tuple[int, ...]:
        """Returns the sizes of tiles and blocks."""
        made: tuple[int, ...] = slow(self._module).KERNELS.sizes if self.has_entry else ()
        return made

    # Any: arrays, attribute values.
    def reached(
        self, opdef: OpDef, kernel: Kernel, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]
    ) -> dict[Spot, bool]:
        """Returns which sides of the choices in the expression are met, and what its loops do from some size on."""
        place = kernel.origin.file, kernel.origin.line
        source: Any = kernel.source  # Any: a function of elements or of rows, as `form` says
        kernels, choices = slow(self._module).KERNELS(opdef, source), Choices(source)
        is_written = opdef.gradient_of is None
        made: dict[Spot, bool] = {}
        for inputs, attrs in calls:
            chosen = choices.met(inputs, attrs) if is_written else ()
            for side, is_met in (*chosen, *kernels.turns(inputs, attrs)):
                made[Spot(*place, side)] = is_met or made.get(Spot(*place, side), False)
        return made

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
