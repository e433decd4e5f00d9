"""What the first call of a kind is held to beyond later ones: a call that fails changes nothing, buffers are filled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from opsdk.backends.call.buffers import unneeded
from opsdk.backends.call.language import language_of
from opsdk.core.errors import ReturnError
from opsdk.core.nested import each, flat, named
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import ResidualDecl

_MOST = 1024  # elements of the inputs; a kernel that forgets a buffer does so at any size


# Any, in this file: one entry per input, an array, a list of arrays or None; attribute values.
@contextmanager
def undone(opdef: OpDef, inputs: Sequence[Any]) -> Iterator[None]:
    """Puts the inputs that an op changes back as they were where the call raises."""
    changed = [array for i in opdef.schema.mutated_inputs for array in flat(inputs[i])]
    before = [array.copy() for array in changed]
    try:
        yield
    except BaseException:
        for array, copy in zip(changed, before, strict=True):
            array[...] = copy
        raise


def fillable(opdef: OpDef, kernel: Kernel, inputs: Sequence[Any]) -> list[Any] | None:
    """Returns copies of the inputs for `check_filled`; None where a kernel takes no residual, or more than is tried."""
    if _residuals(opdef).isdisjoint(kernel.parameters) or sum(array.size for array in flat(inputs)) > _MOST:
        return None
    return [each(value, np.copy) for value in inputs]


def _residuals(opdef: OpDef) -> set[str]:
    return {decl.name for decl in opdef.schema.outputs if isinstance(decl, ResidualDecl)}


def check_filled(opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> None:
    """Holds a compiled kernel to filling the residuals that it takes as buffers: no caller would see what is in them.

    Args:
        opdef: the op.
        kernel: the kernel, which has run on such inputs: no value check refuses them.
        inputs: what `fillable` gave.
        attrs: all attributes.

    Raises:
        ReturnError: elements of one are left as the memory was.
    """
    residuals, language = _residuals(opdef), language_of(kernel)

    def trial(fill: int) -> list[Any]:
        launch = language.launch_into(opdef, kernel, lambda shape, dtype: np.full(shape, fill, dtype))
        made = launch(*each(inputs, np.copy), **attrs)
        return list(made) if isinstance(made, tuple) else [made]

    left = unwritten(opdef, kernel, inputs, attrs, trial)
    for name, where in left:
        if name.partition("[")[0] not in residuals:
            continue
        raise ReturnError(
            f"{opdef.subject}, {kernel.language} kernel: residual {name!r} expected to be filled by the kernel that "
            f"takes it, got {int(where.sum())} of {where.size} elements left as the memory was; write them all",
            at=str(kernel.origin),
        )


def unwritten(
    opdef: OpDef,
    kernel: Kernel,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any],
    trial: Callable[[int], list[Any] | None],
) -> Iterator[tuple[str, np.ndarray]]:
    """Yields the outputs of which elements depend on what their memory held before, and which these are.

    Args:
        opdef: the op.
        kernel: the kernel; one that returns its outputs leaves none.
        inputs: of the call.
        attrs: all attributes.
        trial: runs the kernel into outputs that hold a number, and returns them; None where it can't.
    """
    schema = opdef.schema
    if any(schema.outputs[i].name not in kernel.parameters for i in schema.fresh_outputs):
        return
    try:
        zeros, ones = trial(0), trial(1)
    except Exception:  # what only the compiler understands tells nothing
        return
    if zeros is None or ones is None:
        return
    left = unneeded(opdef, inputs, attrs)
    for i, low, high in zip(schema.fresh_outputs, zeros, ones, strict=True):
        pairs = zip(named(schema.output_names[i], low), flat(high), strict=True)
        for (name, zero), one in pairs if i not in left else ():
            differs = np.asarray((zero != one) & ~((zero != zero) & (one != one)))
            if differs.any():
                yield name, differs
