"""The Python text of Numba kernels, which raises where compiled code reads or writes beyond its arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from traceback import walk_tb
from typing import Any

import numpy as np

from opsdk.backends.call.buffers import allocate, infer_buffers, stand_ins
from opsdk.backends.call.lines import Spot, traced
from opsdk.backends.call.one_shape import one_shape
from opsdk.backends.call.sizes import sized_of
from opsdk.backends.numba.cpu import each_array, with_axis
from opsdk.core.lazy import slow
from opsdk.core.nested import each, flat
from opsdk.core.origin import PACKAGE_ROOT, shorten
from opsdk.define.identity.uncompiled import uncompiled
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.define.schema.scalars import SPEC

_MOST = 4096  # elements; Python is slow, and a loop that is wrong at its end is wrong at small sizes too


# Any, in this file: one entry per input or output, an array, a list of arrays or None; attribute values.
def run_text(
    opdef: OpDef,
    kernel: Kernel,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    fill: int,
    most: float = _MOST,
) -> list[Any] | None:
    """Runs the Python text into outputs that hold `fill`, and returns those; None of more than `most` elements.

    In it an index that is wrong raises, also in the compiled functions that it calls by name. What only the compiler
    understands of those runs compiled.
    """
    function = getattr(kernel.source, "py_func", kernel.source)
    if not callable(function) or sum(array.size for array in flat(inputs)) > most:
        return None
    known: dict[Any, Any] = {}
    text = uncompiled(function, known)
    if len(known) > 1:
        try:
            return filled(opdef, kernel, text, each(inputs, np.copy), attrs, fill)
        except IndexError:
            raise
        except Exception:
            slow("opsdk.backends.vmath.overloads").register()  # which compiled functions may use
    return filled(opdef, kernel, function, inputs, attrs, fill)


def filled(
    opdef: OpDef, kernel: Kernel, function: Any, inputs: Sequence[Any], attrs: Mapping[str, Any], fill: int
) -> list[Any]:
    """Runs a function that stands for a kernel into outputs that hold `fill`, and returns those."""
    schema = opdef.schema
    shaped = one_shape(opdef)
    inputs = inputs if shaped is None else list(shaped(inputs))
    buffers = tuple(i for i in schema.fresh_outputs if schema.outputs[i].name in kernel.parameters)
    sized = sized_of(opdef, kernel)
    room = None if sized is None else sized.room(inputs, attrs, infer_buffers(opdef, inputs, attrs))
    made = allocate(opdef, inputs, attrs, buffers) if room is None else room.buffers
    for buffer in flat(made):
        buffer[...] = fill
    specs = [decl.name for decl in schema.attrs if decl.type.scalar == SPEC]
    values = {**dict(zip(schema.input_names, inputs, strict=True)), **stand_ins(specs, attrs)}
    values.update({schema.outputs[i].name: buffer for i, buffer in zip(buffers, made, strict=True)})
    if kernel.options.get("parallel") and buffers:
        values = {name: each_array(value, with_axis) for name, value in values.items()}
    with np.errstate(all="ignore"):
        returned = function(*[values[name] for name in kernel.parameters])
    return made if room is None else room.results(returned)


def reached_lines(
    opdef: OpDef, kernel: Kernel, calls: Iterable[tuple[Sequence[Any], Mapping[str, Any]]]
) -> dict[Spot, bool] | None:
    """Returns by file and line of the code of a kernel, and of what it calls by name, whether a call reaches it."""

    def run(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> None:
        with suppress(Exception):  # what only the compiler understands
            run_text(opdef, kernel, inputs, attrs, 0)

    return traced(kernel.source, run, calls)


def place_of(error: BaseException) -> str:
    """Returns the innermost line of an author's that raised, as `file:line, function`; empty where there is none."""
    codes = [(frame.f_code, line) for frame, line in walk_tb(error.__traceback__)]
    own = [(code, line) for code, line in codes if not code.co_filename.startswith(PACKAGE_ROOT)]
    return f"{shorten(own[-1][0].co_filename)}:{own[-1][1]}, {own[-1][0].co_name}" if own else ""
