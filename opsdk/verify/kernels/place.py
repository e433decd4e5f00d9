"""Places: the element of an input that an element of an output is named by, as one that it depends on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, flat, flat_names, is_inexact, only_changed, refill, result_names
from opsdk.verify.kernels.launch import results

Index = tuple[int, ...]


def place(opdef: OpDef, call: Call, output: str, shape: Index, index: Index) -> str:
    """Returns an element of an output with what `element` tells of it, as `y[2] at x[2] = 800`."""
    given = element(opdef, call, output, shape, index)
    return f"{output}{list(index) if index else ''}{given and f' at {given}'}"


def element(opdef: OpDef, call: Call, output: str, shape: Index, index: Index) -> str:
    """Returns what an input holds where an output of its shape is looked at, as `x[2] = 800`, or nothing.

    Of an input that happens to have the shape the output depends on other elements, or on none: it is not named. A
    gradient is shown at its own input, and at none that another gradient is of; what is changed in place at what it
    was.
    """
    arrays = dict(zip(flat_names(opdef.schema.input_names, call.inputs), flat(call.inputs), strict=True))
    is_gradient = opdef.gradient_of is not None
    own = output.removeprefix("d") if is_gradient else _changed(opdef, output)
    names = {name.removeprefix("d") for name in opdef.schema.output_names} if is_gradient else set()
    others = names - {own.partition("[")[0]}
    alike = [
        name
        for name, array in arrays.items()
        if array.shape == shape and is_inexact(array) and name.partition("[")[0] not in others
    ]
    for name in sorted(alike, key=lambda name: name != own):
        if name == own or _depends(opdef, call, output, name, index):
            before = " before the call" if name == own and not is_gradient else ""
            return f"{name}{list(index) if index else ''} = {arrays[name][index]:.9g}{before}"
    return ""


def _changed(opdef: OpDef, output: str) -> str:
    """Returns the name of the array that a result is, changed in place; empty of a new one."""
    schema = opdef.schema
    handed_on = {
        schema.output_names[i]: schema.input_names[schema.mutated_source(i)]
        for i, decl in enumerate(schema.outputs)
        if decl.mutated
    }
    changed = handed_on | {name: name for i in only_changed(opdef) for name in [schema.input_names[i]]}
    name, bracket, number = output.partition("[")
    return f"{changed[name]}{bracket}{number}" if name in changed else ""


def _depends(opdef: OpDef, call: Call, output: str, name: str, index: Index) -> bool:
    """Whether other numbers at a place of an input make another number at the same place of an output."""
    seen = {_number(opdef, call, output, index)}
    for inputs in _otherwise(opdef, call, name, index):
        try:
            seen.add(_number(opdef, Call(inputs, call.attrs), output, index))
        except Exception:  # no number for the op
            continue
    return len(seen) > 1


def _number(opdef: OpDef, call: Call, output: str, index: Index) -> bytes:
    made = results(opdef, opdef.kernels.reference(), call.inputs, call.attrs)
    number = dict(zip(flat_names(result_names(opdef), made), flat(made), strict=True))[output][index]
    return b"nan" if number != number else np.asarray(number).tobytes()


def _otherwise(opdef: OpDef, call: Call, name: str, index: Index) -> Iterator[list[np.ndarray]]:
    """Yields the inputs of a call with other numbers at one place of one of them."""
    arrays = flat(call.inputs)
    which = flat_names(opdef.schema.input_names, call.inputs).index(name)
    own = arrays[which]
    for number in (own.flat[own.size // 2], own.flat[0], own[index] * 1.25, own[index] * 0.5 + 0.25, -own[index]):
        changed = own.copy()
        changed[index] = number
        yield refill(call.inputs, [*arrays[:which], changed, *arrays[which + 1 :]])
