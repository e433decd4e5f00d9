"""Numba rows on the CPU: a user's loop, compiled on first launch."""

from __future__ import annotations

import re
from typing import Any

from opsdk.backends.buffers import allocate
from opsdk.backends.language import Launch, register_language
from opsdk.core.errors import CompileError
from opsdk.core.lazy import optional
from opsdk.core.origin import Origin, shorten
from opsdk.define.kernel import Kernel
from opsdk.define.opdef import OpDef

_CALL = re.compile(r"No implementation of function .* found for signature:\s*>>> (.+)")


class NumbaCPU:
    """Compiles with `numba.njit`; parameters named after outputs are buffers that the kernel fills."""

    name = "numba"
    reads_python = False

    def compile(self, opdef: OpDef, kernel: Kernel) -> Launch:
        """Returns a launch that gives the kernel its arguments in its own order."""
        numba = optional("numba", extra="numba", subject=f"{opdef.subject}, numba row")
        function: Any = kernel.source  # Any: a Python function or a Numba dispatcher, which shares no class with it
        if not hasattr(function, "py_func"):
            function = numba.njit(error_model="numpy", nogil=True)(function)
        errors = numba.core.errors
        failures = (errors.NumbaError, errors.UnsupportedBytecodeError)  # only the compiler raises these
        schema = opdef.schema
        inputs = schema.input_names
        buffers = tuple(i for i in schema.fresh_outputs if schema.outputs[i].name in kernel.parameters)
        names = kernel.parameters

        def launch(*values: Any, **attrs: Any) -> Any:
            arguments = {**dict(zip(inputs, values, strict=True)), **attrs}
            made = allocate(opdef, values, attrs, buffers)
            for position, buffer in zip(buffers, made, strict=True):
                arguments[schema.outputs[position].name] = buffer
            try:
                returned = function(*[arguments[name] for name in names])
            except failures as error:
                raise _typing_failure(opdef, kernel.origin, error) from error
            if not buffers:
                return returned
            return made[0] if len(made) == 1 else tuple(made)

        # The usual kernel takes all inputs and returns its output: nothing to reorder, nothing to allocate.
        if not buffers and names == (*inputs, *schema.attr_names)[: len(names)] and len(names) >= len(inputs):
            return _direct(opdef, kernel, function, failures, names[len(inputs) :])
        return launch


def _direct(
    opdef: OpDef, kernel: Kernel, function: Any, failures: tuple[type[BaseException], ...], attrs: tuple[str, ...]
) -> Launch:
    def launch(*values: Any, **given: Any) -> Any:
        try:
            return function(*values, *[given[name] for name in attrs])
        except failures as error:
            raise _typing_failure(opdef, kernel.origin, error) from error

    return launch


def _typing_failure(opdef: OpDef, origin: Origin, error: BaseException) -> CompileError:
    """Returns the error of a kernel that Numba cannot compile: what it could not do, the whole text as the cause."""
    text = str(error)
    line = getattr(getattr(error, "loc", None), "line", None)
    return CompileError(
        f"{opdef.subject}, numba row: does not compile, {_reason(text)}",
        at=str(origin) if line is None else f"{shorten(origin.file)}:{line}",
        help="numba's whole text is the cause of this error (err.__cause__)",
        code="OP411",
    )


def _reason(text: str) -> str:
    """Returns what Numba says first that is no heading; for a call that it cannot type, the call with its types."""
    call = _CALL.search(text)
    if call is not None:
        return f"numba has no {call[1]}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    shown = [line for line in lines if not line.startswith(("During:", "[", "Failed in", ">>>"))]
    return (shown or lines or ["no reason given"])[0]


register_language(NumbaCPU(), places=("cpu", "cuda"))  # a CUDA row is kept, and skipped without a device
