"""Numba on the CPU: an author's loop, compiled by `numba.njit` on first launch."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.language import Fault, Language, Launch, NativeEntry, register_language
from opsdk.backends.call.lines import Spot
from opsdk.core.lazy import slow
from opsdk.core.spec import TensorSpec
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.sizes import SIZE_OPTIONS, as_sizes
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import OpSchema


# Any, in this file: arrays and attribute values of a call.
class NumbaCPU(Language):
    """Compiles with `numba.njit`; parameters named after outputs are buffers that the kernel fills.

    Options of a kernel: `parallel=True`, its `numba.prange` loops are shared by threads; `contiguous=True`, inputs that
    are not C-contiguous are copied first, so that the kernel is compiled once for each dtype; `sizes=` or `bound=`, a
    function that decides the sizes that the infer rule leaves open.
    """

    name = "numba"
    flags = ("parallel", "contiguous")
    freezes = True
    takes_callables = True
    stays_inside = False
    has_entry = True
    module = "opsdk.backends.numba.cpu"
    packages = ("numba",)
    extra = "numba"

    def can_call(self, functions: Sequence[Callable[..., Any]]) -> bool:
        """Whether Numba compiled all of them; where it is switched off it calls any."""
        numba = sys.modules.get("numba")
        return all(hasattr(function, "py_func") for function in functions) or bool(numba and numba.config.DISABLE_JIT)

    def options(self, given: Mapping[str, Any], schema: OpSchema, subject: str) -> Mapping[str, Any]:
        """Returns the options, with what decides open sizes made ready.

        Raises:
            DefinitionError: one is none.
            BindingError: what decides sizes asks for something that the op does not have.
        """
        flags = {name: value for name, value in given.items() if name not in SIZE_OPTIONS}
        return {**super().options(flags, schema, subject), **as_sizes(given, schema, subject)}

    def launch_into(self, opdef: OpDef, kernel: Kernel, empty: Callable[..., np.ndarray]) -> Launch:
        """Returns a launch that fills arrays made by `empty(shape, dtype)`, where the kernel takes its outputs."""
        return slow("opsdk.backends.numba.cpu").launch_of(opdef, kernel, empty)

    def watches(self, kernel: Kernel, *, compiles: bool = True) -> tuple[str, ...]:
        """Returns what its watched run looks for; races by its Python text alone."""
        races = ("race",) if slow("opsdk.backends.numba.watched").is_parallel(kernel) else ()
        return ("bounds", *races) if compiles else races

    def watched(
        self,
        opdef: OpDef,
        kernel: Kernel,
        calls: Sequence[tuple[Sequence[Any], dict[str, Any]]],
        *,
        compiles: bool = True,
    ) -> Iterator[Fault]:
        """Yields an index that is beyond an array, or two steps of a parallel loop at one element."""
        yield from slow("opsdk.backends.numba.watched").watched(opdef, kernel, calls, compiles=compiles)

    def watched_most(self, kernel: Kernel) -> float:
        """Returns how many elements a call may have whose parallel loops are looked at."""
        return slow("opsdk.backends.numba.races").MOST if "race" in self.watches(kernel) else math.inf

    def trial(
        self, opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], fill: int
    ) -> list[Any] | None:
        """Runs the Python text of the kernel, which raises where compiled code goes on."""
        return slow("opsdk.backends.numba.text").run_text(opdef, kernel, inputs, attrs, fill)

    def reached(
        self, opdef: OpDef, kernel: Kernel, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]
    ) -> dict[Spot, bool] | None:
        """Runs the Python text of the kernel, and of what it calls, under a tracer of lines."""
        return slow("opsdk.backends.numba.text").reached_lines(opdef, kernel, calls)

    def entry(
        self, opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]
    ) -> NativeEntry:
        """Returns a function that runs the kernel from its first element to its last."""
        return slow("opsdk.backends.numba.entry").entry_of(opdef, kernel, specs, attrs)


register_language(NumbaCPU())
