"""The dtype of an op whose infer rule is none or a stock one: the reference knows it, compiled rows are held to it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opsdk.backends import settle
from opsdk.backends.language import language_of
from opsdk.define.infer import STOCK
from opsdk.define.kernel import Kernel
from opsdk.define.opdef import OpDef

Dtype = np.dtype[Any]


# Any: one entry per input, an array, a list of arrays or None; attribute values.
def check_assumed(
    opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], dtypes: Sequence[Dtype | None]
) -> None:
    """Holds the dtypes that a stock infer rule gives, or a missing one, to those of the reference, on empty arrays.

    A row that fills buffers rounds to their dtype what the reference would return in another, and be refused for.
    Inputs of one floating dtype are taken to give that dtype.

    Args:
        opdef: the op.
        kernel: the row that is to run.
        inputs: those of the call.
        attrs: all attributes.
        dtypes: of the outputs that the row makes, as they are assumed; None for those of a list.

    Raises:
        DTypeError: the reference returns another dtype.
    """
    reference = opdef.kernels.reference()
    if not isinstance(opdef.infer, STOCK) or reference is None or kernel is reference:
        return
    arrays = [item for value in inputs for item in (value if isinstance(value, list) else [value]) if item is not None]
    if len({array.dtype for array in arrays}) == 1 and arrays[0].dtype.kind not in "biu":
        return
    bare = [[_bare(item) for item in value] if isinstance(value, list) else _bare(value) for value in inputs]
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            raw = language_of(opdef, reference).compile(opdef, reference)(*bare, **attrs)
            outputs = settle.as_outputs(opdef, raw)
    except Exception:  # it needs elements, as a maximum does
        return
    names = [opdef.schema.output_names[i] for i in opdef.schema.fresh_outputs]
    for name, output, dtype in zip(names, outputs, dtypes, strict=True):
        if isinstance(output, (np.ndarray, np.generic)):
            settle.check_dtype(opdef, name, output, dtype)


def _bare(array: Any) -> Any:
    """Returns an array of the same dtype and number of dimensions with no elements, or with one where it has none."""
    return None if array is None else np.ones((0,) * array.ndim, array.dtype)
