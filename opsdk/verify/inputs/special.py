"""Special calls: a few at which a gradient may be wrong though it is right all around, made of an op's own calls."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import Call, each, is_float
from opsdk.verify.inputs.domains import broken, held
from opsdk.verify.inputs.patterns import patterned
from opsdk.verify.inputs.sizes import bases, lengths_of, resized

_GAP = 2.0**-10  # between the two least eigenvalues, as a share of the distance of least and greatest


def special_calls(opdef: OpDef, calls: Sequence[Call], rng: np.random.Generator) -> Iterator[Call]:
    """Yields calls where eigenvalues are close, numbers great, axes of one element, or arrays square."""
    for base in bases(opdef, [call for call in calls if not call.extra])[:1]:
        lengths = lengths_of(opdef, base)
        made = [_with_close_eigenvalues(base)]
        if opdef.samples is not None and opdef.traits.accuracy is None:  # what approximates is declared near samples
            made += patterned(opdef, base, "great")
        made.append(resized(opdef, base, dict.fromkeys(lengths, 1), rng) if lengths else None)
        made.append(resized(opdef, base, dict.fromkeys(lengths, 3), rng) if len(lengths) > 1 else None)
        for call in made:
            if call is not None and not broken(opdef, inside := held(opdef, call)):
                yield inside


def _with_close_eigenvalues(call: Call) -> Call | None:
    """Returns a call whose symmetric matrices have two eigenvalues that are nearly the same."""
    changed: list[np.ndarray] = []

    def close(array: np.ndarray) -> np.ndarray:
        if not is_float(array) or array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] < 2:
            return array
        if not array.size or not np.array_equal(array, np.swapaxes(array, -1, -2)):
            return array
        values, vectors = np.linalg.eigh(array.astype(np.float64))
        values[..., 1] = values[..., 0] + _GAP * (values[..., -1] - values[..., 0])
        changed.append(array)
        return np.asarray((vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)).astype(array.dtype)

    made = replace(call, inputs=each(call.inputs, close), reason="close eigenvalues", declared=False, extra=True)
    return made if changed else None
