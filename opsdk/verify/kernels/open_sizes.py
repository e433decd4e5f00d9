"""Open sizes: which of them an infer rule does not carry through, and what its author can do about that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opsdk.core.spec import TensorSpec
from opsdk.define.infer import OPEN_SIZES
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, each, flat, flat_names

_COMPARED = "a size that is not known yet is None; ask of it only what it can tell, and pass it on"


def remedy(error: Exception) -> str:
    """Returns what to do about what an infer rule raised at sizes of None.

    What a rule refuses on purpose has words of its own; None in NumPy, or in arithmetic, has not.
    """
    return OPEN_SIZES if "NoneType" in str(error) else _COMPARED


# Any: values of attributes.
def refused(opdef: OpDef, call: Call, attrs: Mapping[str, Any]) -> str:
    """Returns at which sizes of a call, with all others known, the infer rule refuses None; empty at none of them."""
    alone = " or ".join(_refused(opdef, call, attrs))
    return f"it refuses None as {alone}" if alone else ""


def _refused(opdef: OpDef, call: Call, attrs: Mapping[str, Any]) -> Iterator[str]:
    names = flat_names(opdef.schema.input_names, call.inputs)
    for position, (name, array) in enumerate(zip(names, flat(call.inputs), strict=True)):
        for axis in range(array.ndim):
            places = iter(range(len(names)))

            def opened(value: Any, position: int = position, axis: int = axis, places: Any = places) -> TensorSpec:
                is_it = next(places) == position
                shape = [None if is_it and k == axis else size for k, size in enumerate(value.shape)]
                return TensorSpec(shape, value.dtype)

            try:
                opdef.infer(opdef.schema, each(call.inputs, opened), attrs)
            except Exception:
                yield f"{name}.shape[{axis}]"
