"""The dtypes of what an op gives: the reference knows them, and each infer rule holds compiled kernels to it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from opsdk.backends.call import normalise
from opsdk.backends.call.buffers import in_authors_words
from opsdk.backends.call.language import compiled, language_of
from opsdk.core.errors import DTypeError, OpsdkError
from opsdk.core.nested import each, flat
from opsdk.define.kernel.kernel import Kernel
from opsdk.define.opdef import OpDef

Dtype = np.dtype[Any]

_SMALL = 4096  # elements; a reference may be a loop in Python


# Any: one entry per input, an array, a list of arrays or None; attribute values.
def check_assumed(
    opdef: OpDef, kernel: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any], dtypes: Sequence[Dtype | None]
) -> None:
    """Holds the dtypes that an infer rule gives to those of the reference, on as few elements as it takes.

    A kernel that fills buffers rounds to their dtype what the reference would return in another, and be refused for. So
    does one that changes an input in place, where the reference's `+=` raises a TypeError. Expressions compute in one
    dtype in every kernel. A reference that raises anything else on all trials tells nothing.

    Args:
        opdef: the op.
        kernel: the kernel that is to run.
        inputs: those of the call.
        attrs: all attributes.
        dtypes: of the outputs that the kernel makes, as they are assumed; None for those of a list.

    Raises:
        DTypeError: the reference returns another dtype, or does not take these to change an input.
        InputValueError: so it does, and the op's value check says what is wrong with the call.
    """
    reference = opdef.kernels.reference()
    if reference is None or kernel is reference or opdef.gradient_of is not None or language_of(kernel).is_derived:
        return
    names = [opdef.schema.output_names[i] for i in opdef.schema.fresh_outputs]
    try:
        outputs = _outputs(opdef, reference, inputs, attrs)
        for name, output, dtype in zip(names, outputs or names, dtypes, strict=True):
            if isinstance(output, (np.ndarray, np.generic)):
                normalise.check_dtype(opdef, name, output, dtype)
    except DTypeError as error:
        raise in_authors_words(opdef, inputs, attrs) or error  # noqa: B904 - the same refusal, in better words


def _outputs(
    opdef: OpDef, reference: Kernel, inputs: Sequence[Any], attrs: Mapping[str, Any]
) -> list[Any] | None:
    """Returns what the reference makes of the fewest elements that it takes; None where it takes no trial.

    A maximum needs one, a difference two; what needs whole arrays gets copies of them while these are small.

    Raises:
        DTypeError: it takes none, and says TypeError of a change in place.
    """
    launch = compiled(opdef, reference)
    whole = sum(array.size for array in flat(inputs)) <= _SMALL
    refused: TypeError | None = None
    for most in (0, 1, 3, *((None,) if whole else ())):
        trial = each(inputs, partial(_piece, most=most))
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return normalise.as_outputs(opdef, launch(*trial, **attrs))
        except OpsdkError:
            continue
        except TypeError as error:
            refused = error
        except Exception:  # too few elements, or shapes that do not belong together
            continue
    if refused is not None and opdef.schema.mutated_inputs:
        # A compiled kernel would take the call, and round.
        named = zip(opdef.schema.input_names, inputs, strict=True)
        got = ", ".join(dict.fromkeys(f"{name} {item.dtype}" for name, value in named for item in flat(value)))
        raise DTypeError(
            f"{opdef.subject}: expected dtypes that its reference changes in place, got {got}: {refused}; cast an "
            "input",
            at=str(opdef.origin),
        ) from refused
    return None


def _piece(array: Any, most: int | None) -> Any:
    """Returns a copy of the first elements along each axis; of an array of a device zeros of their dtype."""
    if isinstance(array, np.ndarray):
        return np.array(array[(slice(most),) * array.ndim])  # of one without axes an array too
    return np.zeros([size if most is None else min(size, most) for size in array.shape], array.dtype)
