"""C: functions of a C source, compiled on first launch or ahead of time, called through cffi."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends.c.options import COptions, c_options
from opsdk.backends.call.language import Fault, Language, Launch, NativeEntry, is_installed, register_language
from opsdk.backends.call.lines import Spot
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import DefinitionError
from opsdk.core.lazy import slow
from opsdk.core.origin import Origin
from opsdk.core.spec import TensorSpec
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.sizes import as_sizes
from opsdk.define.opdef import OpDef


# Any, in this file: what the caller of `kernel` wrote; arrays and attribute values of a call.
class CffiC(Language):
    """Calls `<op>_<dtype>` of a C source, with DLTensors; the outputs are buffers that it fills."""

    name = "c"
    takes_text = True
    fills = True
    takes_holes = True
    stays_inside = False
    may_crash = True
    is_by_dtype = True
    has_entry = True
    module = "opsdk.backends.c.row"

    def text(
        self, source: str, given: Mapping[str, Any], opdef: OpDef, origin: Origin
    ) -> tuple[str, Mapping[str, Any]]:
        """Returns source and options of a new kernel: paths made absolute, relative ones from the registering file on.

        Nothing is read or compiled yet.

        Raises:
            DefinitionError: an option is none, or the file does not exist.
            BindingError: what decides sizes asks for something that the op does not have.
        """
        subject = f"{opdef.subject}, c kernel"
        folder = os.path.dirname(origin.file) if os.path.isfile(origin.file) else os.getcwd()  # noqa: PTH109, PTH113, PTH120
        given = {**given, **as_sizes(given, opdef.schema, subject, in_source=True)}
        read = c_options(subject, given, folder, opdef.schema.input_names)
        if not any(mark in source for mark in "\n{;"):  # the name of a file; C itself has one of these
            source = os.path.normpath(os.path.join(folder, source))  # noqa: PTH118
            if not os.path.isfile(source):  # noqa: PTH113
                raise DefinitionError(
                    f"{subject}: source expected a C text or an existing file, got {source!r}, which does not exist"
                )
        return source, dict(vars(read))

    def can_build(self, kernel: Kernel) -> bool:
        """Whether there is cffi and a compiler, or libraries that were built ahead, for one that is `optional`."""
        return not kernel.options.get("optional") or (
            is_installed("cffi") and slow("opsdk.backends.c.prebuilt").can_be_had(kernel.origin)
        )

    def lacking(self, opdef: OpDef, kernel: Kernel, dtypes: Sequence[np.dtype[Any]]) -> str:
        """Returns that the source has no function for the first dtype, where it can be told."""
        if not dtypes:
            return ""
        return slow("opsdk.backends.c.source").missing_function(opdef, kernel, dtypes[0])

    def dtypes(self, opdef: OpDef, kernel: Kernel) -> tuple[np.dtype[Any], ...]:
        """Returns the dtypes that the compiled source has functions for."""
        return tuple(map(as_dtype, slow("opsdk.backends.c.library").library_of(opdef, kernel).functions))

    def launch_into(self, opdef: OpDef, kernel: Kernel, empty: Callable[..., np.ndarray]) -> Launch:
        """Returns a launch that fills arrays made by `empty(shape, dtype)`."""
        return slow("opsdk.backends.c.row").launch_into(opdef, kernel, empty)

    def watches(self, kernel: Kernel, *, compiles: bool = True) -> tuple[str, ...]:
        """Returns what sanitizers look for."""
        if not compiles:
            return ()
        has_threads = COptions(**kernel.options).uses_openmp
        return ("bounds", "undefined", "race") if has_threads else ("bounds", "undefined")

    def watched(
        self,
        opdef: OpDef,
        kernel: Kernel,
        calls: Sequence[tuple[Sequence[Any], dict[str, Any]]],
        *,
        compiles: bool = True,
    ) -> Iterator[Fault]:
        """Yields what sanitizers find."""
        yield from slow("opsdk.backends.c.sanitized").sanitized(opdef, kernel, calls)

    def traced(self, kernel: Kernel) -> Kernel:
        """Returns the kernel as it is compiled line by line."""
        made: Kernel = slow("opsdk.backends.c.lines").traced(kernel)
        return made

    def line_at(self, opdef: OpDef, kernel: Kernel, stack: Sequence[int]) -> str:
        """Returns the line of the source."""
        return slow("opsdk.backends.c.lines").line_at(opdef, kernel, stack)

    def reached(
        self, opdef: OpDef, kernel: Kernel, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]
    ) -> dict[Spot, bool]:
        """Runs a build of the source that counts lines, by gcov."""
        return slow("opsdk.backends.c.coverage").reached_lines(opdef, kernel, calls)

    def entry(
        self, opdef: OpDef, kernel: Kernel, specs: Sequence[TensorSpec | None], attrs: dict[str, Any]
    ) -> NativeEntry:
        """Returns the function for the dtype of the input that decides, which takes DLTensors."""
        first = opdef.schema.deciding(specs)
        assert first is not None  # an op without inputs has no such entry
        function = slow("opsdk.backends.c.row").native_entry(opdef, first.dtype)
        return NativeEntry(function.address, function.prototype, "dltensors", str(kernel), (), (), function)


register_language(CffiC())
