"""Calls in the dtypes that a kernel declares of inputs beside the first, as mixed precision has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from opsdk.core.dtype import as_dtype
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, each, flat, is_float
from opsdk.verify.inputs.domains import broken, held


def declared(opdef: OpDef, kernel: Kernel, call: Call) -> Iterator[Call]:
    """Yields a call in every combination of the dtypes that `dtypes=` says of its floating inputs, inside its domain.

    The call itself is the first, or the only one where nothing is said. Of a call that only adds to others one
    combination is enough.
    """
    names, told = opdef.schema.input_names, dict(kernel.options.get("dtypes", ()))
    own = {name: a.dtype for name, value in zip(names, call.inputs, strict=True) for a in flat([value]) if is_float(a)}
    several = {name: dtypes for name, dtypes in told.items() if name in own and isinstance(dtypes, tuple)}
    likes = {name: other for name, other in told.items() if name in own and other in own}
    given = tuple(own[name].name for name in several)
    for chosen in sorted(product(*several.values()), key=lambda chosen: chosen != given):
        wanted = {**own, **{name: as_dtype(dtype) for name, dtype in zip(several, chosen, strict=True)}}
        wanted |= {name: wanted[other] for name, other in likes.items()}
        variant = call if wanted == own else _in(opdef, call, wanted)
        if variant is not None:
            yield variant
        if call.extra:
            return


def _in(opdef: OpDef, call: Call, wanted: Mapping[str, np.dtype[Any]]) -> Call | None:
    """Returns a call with floating inputs of some dtypes, by name; None where its domain has no such values."""
    pairs = zip(opdef.schema.input_names, call.inputs, strict=True)
    inputs = [each([value], partial(_cast, dtype=wanted.get(name)))[0] for name, value in pairs]
    try:
        variant = held(opdef, replace(call, inputs=inputs))
        return None if broken(opdef, variant) else variant
    except Exception:  # whatever a rule raises of them
        return None


def _cast(array: np.ndarray, dtype: np.dtype[Any] | None) -> np.ndarray:
    return array.astype(dtype) if is_float(array) else array
