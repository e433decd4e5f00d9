"""Reach: where a reference gives nan or an infinity of finite inputs, and what a wider floating format gives there.

A formula that overflows on the way, such as exp(x) / (1 + exp(x)) at 800, agrees with nothing and contradicts nothing:
every comparison with nan is void. In NumPy's longdouble, whose exponent has four bits more than float64's where the
machine has such a format, many of them do not overflow, and say what would have been right.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opsdk.backends.call.language import compiled
from opsdk.backends.call.normalise import as_outputs
from opsdk.define.call import complete_attrs
from opsdk.define.kernel.kernel import REFERENCE
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs import calls
from opsdk.verify.inputs.calls import Call, each, flat, flat_names, is_float, is_inexact
from opsdk.verify.inputs.sampling import forward_of
from opsdk.verify.kernels.launch import results
from opsdk.verify.kernels.place import element, place
from opsdk.verify.session import Case, Session

_SHORT, _LONG, _WIDE = np.dtype("float32"), np.dtype("float64"), np.dtype(np.longdouble)
_SAME = 2.0**-17  # of a number in float32, where nothing but the last places of what enters was rounded
_SMALL = 1024.0  # up to which sums of sixteenths are exact in float32, of a thousand of them


class _Wide(np.ndarray):
    """An array whose numbers stay wide where a reference asks for float64, as many do for its precision."""

    # Any: what NumPy takes for these.
    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        return super().astype(_WIDE if np.dtype(dtype) == _LONG else dtype, *args, **kwargs)


def is_finite(call: Call) -> bool:
    """Whether all floating inputs of a call are finite."""
    return all(np.isfinite(array).all() for array in flat(call.inputs) if is_float(array))


def leaves(call: Call, made: Sequence[Any]) -> bool:
    """Whether a result of finite inputs is not finite."""
    return any(not np.isfinite(array).all() for array in flat(made) if is_float(array)) and is_finite(call)


def widened(opdef: OpDef, call: Call, made: Sequence[Any]) -> list[Any]:
    """Returns what the reference made, with numbers for what has none in float64 alone.

    Args:
        opdef: the op.
        call: in float64.
        made: what `results` gave of the call.

    Returns:
        The same results; one that has finite numbers of finite inputs in a wider format, which its dtype has room for,
        with these.
    """
    places = opdef.schema.fresh_outputs
    own = [made[i] for i in places]
    filled = dict(zip(places, calls.refill(own, _filled(opdef, call, flat(own))), strict=True))
    return [filled.get(i, value) for i, value in enumerate(made)]


def overflows(opdef: OpDef, call: Call) -> bool:
    """Whether the reference overflows on the way: nan that comes of it says nothing about the function."""
    try:
        with np.errstate(over="raise"):
            _run(opdef, call, calls.alike)
    except FloatingPointError:
        return True
    except Exception:
        return False
    return False


def without_overflow(case: Case, long: Call, name: str, got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """Returns what a kernel is held to where the reference overflows to nan: there the reference is what is wrong."""
    blind = np.isnan(want) & np.isfinite(got)
    if not blind.any() or not is_finite(long) or not overflows(case.opdef, long):
        return want
    opdef, index = case.opdef, tuple(int(i) for i in np.argwhere(blind)[0])
    where, count, number = place(opdef, case.call, name, want.shape, index), int(blind.sum()), float(got[index])
    case.session.reference(long).find(
        f"value.{name}",
        f"{opdef.subject}, {calls.called(opdef, name)}: expected numbers of finite inputs, got nan in {count} of "
        f"{want.size} elements, first {where}: the reference overflows where kernel {case.kernel} gives {number:.9g}",
        index=index,
        analytic=math.nan,
        numeric=number,
    )
    return np.where(blind, got, want)


def decided(opdef: OpDef, call: Call, k: int, want: np.ndarray) -> np.ndarray:
    """Returns of which elements of a result no rounding decides what they are, as on which side of a step a tie is.

    They are those of which the reference says the same in float32, in float64 and in a wider format, at inputs that are
    small multiples of a sixteenth; of a gradient op these are the inputs of its op.

    Args:
        opdef: the op.
        call: in float64.
        k: the number of the result.
        want: what the reference gives of it.
    """
    none = np.zeros(want.shape, bool)
    forward = forward_of(opdef)
    names = opdef.schema.input_names if forward is None else forward.schema.input_names
    read = [value for name, value in zip(opdef.schema.input_names, call.inputs, strict=True) if name in names]
    floats = [array for array in flat(read) if is_float(array)]
    if not floats or not all(map(_is_simple, floats)) or np.finfo(_WIDE).nmant == np.finfo(_LONG).nmant:
        return none
    try:
        short = flat(results(opdef, opdef.kernels.reference(), (there := call.cast(_SHORT)).inputs, there.attrs))[k]
        wide = _run(opdef, call, _wide)[k]
    except Exception:  # written for the dtypes that it knows
        return none
    if not (short.shape == wide.shape == want.shape) or wide.dtype != _WIDE:
        return none
    with np.errstate(all="ignore"):
        near = [np.abs(there - want) <= _SAME * np.maximum(np.abs(want), 1.0) for there in (short, wide)]
    return np.asarray(near[0] & near[1])


def _is_simple(array: np.ndarray) -> bool:
    return bool(np.all(np.abs(array) <= _SMALL) and np.all(array * 16 == np.rint(array * 16)))


def source(case: Case, long: Call, k: int, index: tuple[int, ...]) -> str:
    """Returns what gave the number that a result was compared with: a wider format, where float64 has none."""
    opdef = case.opdef
    reference = opdef.kernels.reference()
    own = results(opdef, reference, long.inputs, long.attrs)
    at, filled = (np.asarray(flat(values)[k][index]) for values in (own, widened(opdef, long, own)))
    is_wide = is_inexact(at) and bool(np.isfinite(filled) and not np.isfinite(at))
    if case.kernel is reference:
        return "longdouble" if is_wide else "float64"
    return "the reference in longdouble" if is_wide else "the reference"


def tell_nan(session: Session, call: Call, made: Sequence[Any]) -> None:
    """Says where an op gives nan of finite inputs, where no number is judged: once for all default samples.

    An author's sample whose reason speaks of nan is taken at its word.

    Args:
        session: of the op.
        call: one of its calls.
        made: what the code of the reference returned, one entry per output.
    """
    opdef = session.opdef
    names = flat_names(opdef.schema.input_names, call.inputs)
    arrays = dict(zip(names, flat(call.inputs), strict=True))
    floating = [name for name, array in arrays.items() if is_float(array)]
    is_told = session.gives_nan and not call.declared
    is_meant = call.declared and re.search(r"\bnan\b", call.reason, re.IGNORECASE)
    if is_told or is_meant or call.extra or opdef.gradient_of is not None:
        return
    if not floating or not is_finite(call) or not all(array.size for array in arrays.values()):
        return  # of nothing the mean, say, is nan
    is_plain = not opdef.schema.mutated_inputs and len(made) == len(opdef.schema.outputs)
    own = flat_names(opdef.schema.output_names, made) if is_plain else []
    for k, output in enumerate(map(np.asarray, _filled(opdef, call, flat(made)))):
        if not is_float(output) or not np.isnan(output).any():
            continue
        where = np.argwhere(np.isnan(output))
        given = element(opdef, call, own[k], output.shape, tuple(map(int, where[0]))) if own else ""
        first = f", first at {given}" if given else f", first at {where[0].tolist()}" if call.declared else ""
        remedy = f"declare domain={{{floating[0]!r}: (low, high)}}"
        if call.declared:
            remedy = "mend the reference, or say nan in the sample's reason where it is meant"
        session.gives_nan = session.gives_nan or not call.declared
        session.warn(
            f"{opdef.name}: gives nan in {len(where)} of {output.size} elements of sample {call}"
            f"{first}; nothing is judged there, {remedy}"
        )
        return


def _filled(opdef: OpDef, call: Call, own: Sequence[Any]) -> list[Any]:
    """Returns what the code of the reference returned, flat, with numbers where a wider format alone has them."""
    kernel = opdef.kernels.reference()
    is_numpy = kernel is not None and kernel.language == REFERENCE
    if not is_numpy or np.finfo(_WIDE).maxexp == np.finfo(_LONG).maxexp or not leaves(call, own):
        return list(own)
    try:
        wide = _run(opdef, call, _wide)
        return list(map(_within, own, wide)) if len(own) == len(wide) else list(own)
    except Exception:  # written for the dtypes that it knows
        return list(own)


def _within(own: Any, wide: Any) -> Any:
    """Returns a result with the numbers of a wider one where it has none, and has room for them."""
    wide = np.asarray(wide)
    if not is_float(own) or wide.dtype != _WIDE or wide.shape != own.shape:
        return own
    narrow = wide.astype(own.dtype)
    return np.where(np.isfinite(own) | ~np.isfinite(narrow), own, narrow)


# Any, in these: what gives an array in another way; what a kernel returned.
def _run(opdef: OpDef, call: Call, given: Callable[[np.ndarray], Any]) -> list[Any]:
    """Runs the code of the reference itself on the arrays of a call, given in another way; returns its results flat."""
    kernel = opdef.kernels.reference()
    assert kernel is not None, opdef.name
    made = compiled(opdef, kernel)(*each(call.inputs, given), **complete_attrs(opdef, call.attrs))
    return flat(as_outputs(opdef, made))


def _wide(array: np.ndarray) -> Any:
    return array.astype(_WIDE).view(_Wide) if is_float(array) else calls.alike(array)
