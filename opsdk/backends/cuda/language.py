"""Numba and expressions on CUDA: kernels of an author's, and those that opsdk writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opsdk.backends.call.language import Language, register_language
from opsdk.backends.call.lines import Spot, traced
from opsdk.backends.cuda.runtime import SIMULATOR, is_simulated
from opsdk.backends.native.language import Expressions
from opsdk.core.errors import DefinitionError, PlaceError
from opsdk.core.lazy import slow
from opsdk.core.suggest import alternatives
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.launch import DEVICE_OPTIONS, as_launch, as_scratch
from opsdk.define.kernel.sizes import SIZE_OPTIONS, as_sizes
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import OpSchema
from opsdk.expr.row.row_function import RowFunction
from opsdk.expr.scalar import ScalarFunction


# Any, in this file: what the caller of `kernel` wrote; arrays and attribute values of a call.
class NumbaCUDA(Language):
    """Compiles with `numba.cuda.jit`; parameters named after outputs are buffers that the kernel fills.

    Options of a kernel: `launch`, how many threads run it; `scratch`, arrays that it works in; `sizes` or `bound`, a
    function of inputs, attributes and scratch that decides the sizes that the infer rule leaves open.
    """

    name = "numba"
    places = ("cuda",)
    counts = True
    freezes = True
    stays_inside = False
    module = "opsdk.backends.cuda.author"

    def options(self, given: Mapping[str, Any], schema: OpSchema, subject: str) -> Mapping[str, Any]:
        """Returns the options with launch shape, scratch and what decides open sizes made ready.

        Raises:
            DefinitionError: one is none, or speaks of what the op does not have.
            BindingError: a function of one asks for something that the op does not have.
        """
        made = dict(given)
        known = (*DEVICE_OPTIONS, *SIZE_OPTIONS)
        for name in given:
            if name not in known:
                raise DefinitionError(
                    f"{subject}: expected an option of a CUDA kernel, got {name!r}; there are "
                    f"{alternatives(name, known)}"
                )
        if given.get("launch") is not None:
            tensors = (*schema.input_names, *schema.output_names)
            made["launch"] = as_launch(given["launch"], tensors, schema.attr_names, subject)
        if "scratch" in given:
            made["scratch"] = as_scratch(given["scratch"], schema, subject)
        return {**made, **as_sizes(given, schema, subject, beside=tuple(made.get("scratch", ())))}

    def trial(
        self, opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], fill: int
    ) -> list[Any] | None:
        """Runs the kernel in the simulator; elsewhere the Python text of one that asks for no thread of its own."""
        if is_simulated():
            made: list[Any] | None = slow("opsdk.backends.cuda.author").tried(opdef, kernel, inputs, attrs, fill)
        else:
            made = slow("opsdk.backends.numba.text").run_text(opdef, kernel, inputs, attrs, fill)
        return made

    def reached(
        self, opdef: OpDef, kernel: Kernel, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]
    ) -> dict[Spot, bool] | None:
        """Runs the kernel in the simulator, under a tracer of lines.

        Raises:
            PlaceError: there is a device instead.
        """
        if not is_simulated():
            raise PlaceError(
                f"{opdef.subject}, CUDA kernel: expected the simulator, which counts lines, got a device; set "
                f"{SIMULATOR}=1 before Numba is imported"
            )
        launch = self.compile(opdef, kernel)
        return traced(kernel.source, lambda inputs, attrs: launch(*inputs, **attrs), calls)


register_language(NumbaCUDA())
register_language(Expressions(ScalarFunction.kernel_form, "cuda", "opsdk.backends.cuda.elementwise"))
register_language(Expressions(RowFunction.kernel_form, "cuda", "opsdk.backends.cuda.rowwise"))
