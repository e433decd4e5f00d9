"""C rows on the CPU: functions of a C source, compiled on first launch or ahead of time, called through cffi."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from opsdk.backends.c.options import c_options
from opsdk.backends.call.language import Launch, register_language
from opsdk.core.errors import DefinitionError
from opsdk.core.lazy import slow
from opsdk.core.origin import Origin
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.kernel.text_row import READERS
from opsdk.define.opdef import OpDef


class CffiC:
    """Calls `<op>_<dtype>` of a C source, with DLTensors; the outputs are buffers that it fills."""

    name = "c"
    reads_python = False
    fills = True

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns a launch of the compiled functions."""
        launch: Launch = slow("opsdk.backends.c.row").launch_of(opdef, kernel)
        return launch


# Any: what the caller of `kernel` wrote.
def read_row(opdef: OpDef, source: str, options: Mapping[str, Any], origin: Origin) -> tuple[str, Mapping[str, Any]]:
    """Returns source and options of a new row: paths made absolute, relative ones from the registering file on.

    Nothing is read or compiled yet.

    Raises:
        DefinitionError: an option is none, or the file does not exist.
    """
    subject = f"{opdef.subject}, c row"
    folder = os.path.dirname(origin.file) if os.path.isfile(origin.file) else os.getcwd()  # noqa: PTH109, PTH113, PTH120
    read = c_options(subject, options, folder, opdef.schema.input_names)
    if not any(mark in source for mark in "\n{;"):  # the name of a file; C itself has one of these
        source = os.path.normpath(os.path.join(folder, source))  # noqa: PTH118
        if not os.path.isfile(source):  # noqa: PTH113
            raise DefinitionError(
                f"{subject}: source expected a C text or an existing file, got {source!r}, which does not exist"
            )
    return source, asdict(read)


register_language(CffiC())
READERS[CffiC.name] = read_row
