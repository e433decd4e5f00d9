"""Constants: arrays, scalars and nested lists that stand beside a runtime's values, as arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opsdk.backends.memory.device import HOST, Memory, is_device_array
from opsdk.core.dtype import (
    DEFAULT,
    KINDS,
    as_dtype,
    as_native,
    complex64,
    computed_in,
    is_differentiable,
    promote_types,
    word_of,
)
from opsdk.core.errors import DTypeError, InPlaceError, MixedRuntimeError
from opsdk.core.fit import as_numbers, check_unmasked, fitted, misfit, shown
from opsdk.core.nested import flat
from opsdk.core.spec import OpenSize
from opsdk.define.call import check_inputs
from opsdk.define.frontend import owner_of
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import InputDecl

_INT64 = np.iinfo(np.int64)
_MOST = 2**1000  # an int up to which float64 surely holds it
_PLAIN = 256  # whole numbers up to here are numbers of every floating dtype
ARRAYS = "arrays"
_REMEDY = "choose another dtype, cast what stands beside it, or write an infinity"


# Any: a user may pass anything; what is not a constant is refused.
def as_constant(
    value: Any,
    beside: np.dtype[np.generic] | None,
    subject: str,
    runtime: str = ARRAYS,
    *,
    compared: bool = False,
) -> np.ndarray:
    """Returns a constant as an array.

    Args:
        value: an array, a NumPy scalar, a Python number or nested lists of numbers.
        beside: dtype of the tensor that it stands beside. Python numbers with a fraction, alone or in lists, have no
            dtype of their own and take this one, unless they would lose the fraction: then they are float32.
            NumPy's scalars and arrays in a list keep theirs.
        subject: who asks, for the message.
        runtime: whose values the call is of, likewise.
        compared: whether the op compares, so that a number need not fit into `beside`.

    Raises:
        DTypeError: the value is no array and cannot be made one, has a mask, or is a number beyond the range of
            `beside`, or a whole one that it would round; beside floats of 16 bits, that float32 would.
        MixedRuntimeError: the value belongs to another runtime.
        ProgramError: it is a size that is known only when a Program runs.
    """
    if isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic):
        dtype = number_dtype(value, beside)
        if isinstance(value, int) and (dtype.kind in "iu" or abs(value) > _MOST):
            if compared and dtype.kind in "iu" and _INT64.min <= value <= _INT64.max:
                return np.asarray(value, np.int64)
            remedy = "cast the tensor beside it" if beside is not None else "choose another dtype"
            return fitted(np.asarray(value), dtype, subject, remedy=remedy)
        if beside is not None and value.__class__ is int:
            wide = computed_in(dtype)  # what is stored in 16 bits rounds all that it meets to three digits or four
            if not _is_held(value, wide):
                raise DTypeError(
                    f"{subject}: expected a whole number that {wide} holds, got {shown(value)}; write it as a float "
                    "where it may be rounded, or cast the tensor beside it"
                )
            value, dtype = float(value), wide if compared else dtype
        if value.__class__ is not complex and (1e-7 < abs(value) < 60000 or not value):
            return np.asarray(value, dtype)  # which every dtype of numbers with a fraction holds, and not as 0
        number = np.asarray(value)
        if compared and (misfit(number, dtype, truncates=False) is not None or not number.astype(dtype)):
            return number  # nothing has to hold it: every number of the dtype is less than it, or greater
        return _held(number, dtype, beside, subject)
    numbers = numbers_in(value, subject, runtime)
    if isinstance(value, (np.ndarray, np.generic)):
        return numbers
    if numbers.dtype == object:
        return fitted(numbers, number_dtype(0, beside), subject)
    decided = 0.0 if numbers.dtype == np.float64 else 0j if numbers.dtype == np.complex128 else None
    if decided is not None and any(hasattr(item, "dtype") and item.dtype == numbers.dtype for item in flat(value)):
        return numbers  # NumPy's own have a dtype in a list as well
    return numbers if decided is None else _held(numbers, number_dtype(decided, beside), beside, subject)


def _is_held(value: int, dtype: np.dtype[Any]) -> bool:
    """Whether a floating dtype has a whole number, which float64 may round."""
    if -_PLAIN <= value <= _PLAIN:
        return True
    with np.errstate(all="ignore"):
        made = complex(np.asarray(float(value)).astype(dtype).item()).real
    return made == value


def _held(numbers: np.ndarray, dtype: np.dtype[Any], beside: np.dtype[np.generic] | None, subject: str) -> np.ndarray:
    """Returns floats in another floating dtype that reaches them; beside a tensor none may round to 0 either.

    Raises:
        DTypeError: one lies beyond the dtype, or nearer to 0 than all of its numbers.
    """
    made = fitted(numbers, dtype, subject, remedy=_REMEDY)
    if beside is not None and made.dtype.kind not in "biu" and ((made == 0) & (numbers != 0)).any():
        lost = numbers[(made == 0) & (numbers != 0)].flat[0].item()
        raise DTypeError(
            f"{subject}: expected numbers that {dtype} holds, got {lost!r}, which it rounds to 0; choose another "
            "dtype, or cast what stands beside it"
        )
    return made


# Any: as for `as_constant`.
def numbers_in(value: Any, subject: str, runtime: str = ARRAYS) -> np.ndarray:
    """Returns a constant as an array that has each number as it was given, whatever dtype it will take.

    Args:
        value: as for `as_constant`.
        subject: who asks, for the message.
        runtime: whose values are wanted.

    Raises:
        DTypeError, MixedRuntimeError, ProgramError: as for `as_constant`.
    """
    if isinstance(value, np.ndarray):
        as_dtype(value.dtype, subject)
        if value.__class__ is not np.ndarray:
            check_unmasked(value, subject)
            value = value.view(np.ndarray)  # over the same memory; subclasses give operators other meanings
        return as_native(value)
    if isinstance(value, np.generic):
        as_dtype(value.dtype, subject)
        return np.asarray(value)
    if isinstance(value, (bool, int, float, complex)):
        return np.asarray(value)
    if isinstance(value, OpenSize):
        raise value.unknown(f"a number for {subject}")
    owner = owner_of(value)
    if owner is not None:
        raise MixedRuntimeError(
            f"{subject}: expected {runtime} or constants, got one of the {owner}; build with one runtime: a tensor "
            "becomes a constant with .numpy(), a Program variable an array with exe.run"
        )
    if isinstance(value, (list, tuple)):
        for item in flat(value):  # as numbers they would lose their place in its graph
            if (owner := owner_of(item)) is not None:
                raise MixedRuntimeError(
                    f"{subject}: expected numbers in a list, got {type(item).__name__}, one of the {owner}, which a "
                    "list takes out of its graph; make one value of them with opsdk.stack"
                )
        return as_numbers(value, subject)
    kind = type(value)
    is_foreign = kind.__name__ in ("Tensor", "Array")
    remedy = "; pass a NumPy array of it, np.asarray(x), where its gradient ends" if is_foreign else ""
    raise DTypeError(
        f"{subject}: expected a tensor, array or number, got {kind.__module__}.{kind.__qualname__}{remedy}",
        details={"got": kind},
    )


# Any: values of a runtime or constants, lists of them, None; what is made of them.
def lifted(
    opdef: OpDef,
    inputs: Sequence[Any],
    own: type[Any],
    runtime: str,
    made: Callable[[Any, Any], Any],
    memory: Memory = HOST,
) -> list[Any]:
    """Returns the inputs of a call with every constant beside a runtime's values as one of these.

    Args:
        opdef: the op.
        inputs: one entry per tensor input.
        own: the class of the runtime's values.
        runtime: whose values they are, for messages.
        made: makes a value of a constant and its array.
        memory: where the values lie; a bare array that is there stays as it is.

    Raises:
        InPlaceError: the op would change a constant in place, of which its runtime changes a copy; or as `as_constant`.
    """
    check_inputs(opdef, inputs)
    beside = dtype_beside(value.dtype for value in flat(inputs) if isinstance(value, own))
    compared = is_comparison(opdef)

    def one(value: Any, decl: InputDecl) -> Any:
        if value is None or isinstance(value, own):
            return value
        subject, array = f"{opdef.subject}, input {decl.name!r}", value
        if memory is HOST or not is_device_array(value):
            array = as_constant(value, dtype_for(decl, beside), subject, runtime, compared=compared)
        if decl.mutated:
            raise InPlaceError(
                f"{subject}: expected one of the {runtime}, since the op changes it in place, got "
                f"{type(value).__name__}, of which a copy would be changed; make it a tensor or Program variable first"
            )
        return made(value, array)

    return [
        [one(item, decl) for item in value] if decl.kind == "list" else one(value, decl)
        for decl, value in zip(opdef.schema.inputs, inputs, strict=True)
    ]


def dtype_beside(dtypes: Iterable[np.dtype[np.generic]]) -> np.dtype[np.generic] | None:
    """Returns the dtype that a number takes among several: the common one of the highest kind, not that of a mask."""
    found = list(dict.fromkeys(dtypes))
    if len(found) < 2:
        return found[0] if found else None
    heights = [(is_differentiable(dtype), dtype.kind != "b") for dtype in found]
    found = [dtype for dtype, height in zip(found, heights, strict=True) if height == max(heights)]
    return promote_types(*found)


def dtype_for(decl: InputDecl, beside: np.dtype[np.generic] | None) -> np.dtype[np.generic] | None:
    """Returns the dtype that a number takes at an input: that beside it, unless the input is declared otherwise."""
    if not decl.elements or (beside is not None and word_of(beside) in decl.elements):
        return beside
    return KINDS[decl.elements[0]][1]


def is_comparison(opdef: OpDef) -> bool:
    """Whether an op compares: its results are bool, whatever the dtypes of its inputs."""
    return getattr(opdef.infer, "dtype", None) == "bool"


def number_dtype(value: bool | int | float | complex, beside: np.dtype[np.generic] | None) -> np.dtype[Any]:
    """Returns the dtype that a Python number takes beside a tensor of dtype `beside`."""
    if isinstance(value, bool):
        return np.dtype("bool") if beside is None else beside
    if isinstance(value, int):
        return np.dtype("int64") if beside is None or beside.kind == "b" else beside
    if isinstance(value, complex):
        return promote_types(beside or complex64, complex64)
    return DEFAULT if beside is None or beside.kind in "biu" else beside
