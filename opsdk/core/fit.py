"""Numbers and truth values that a user gives, in the dtypes that they go to: what lies beyond one is refused.

A floating dtype rounds to the nearest number that it has; an integer dtype that was asked for by name drops
fractions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.core.dtype import NATIVE, as_dtype, as_native, computed_in, word_of
from opsdk.core.errors import AttributeValueError, DTypeError, OpsdkError, ShapeError
from opsdk.core.nested import flat

_NATIVE = frozenset(NATIVE)
_NONE = np.zeros(1, bool)  # no number of any


# Any, in this file: whatever a user passes.
def check_unmasked(value: Any, subject: str, error: type[OpsdkError] = DTypeError) -> None:
    """Checks that a value, or nested lists of them, has no masked array in it.

    Raises:
        DTypeError: it has; or the error that is asked for.
    """
    for item in flat(value):
        if isinstance(item, np.ndarray) and item.__class__ is not np.ndarray and hasattr(type(item), "mask"):
            raise error(
                f"{subject}: expected an array without a mask, got numpy.ma.{type(item).__name__} of shape "
                f"{item.shape}; pass x.filled(value), or mask and data as two inputs"
            )


def as_numbers(value: Any, subject: str) -> np.ndarray:
    """Returns numbers as an array that has each as it was given, whole ones beyond 64 bits as Python objects.

    Args:
        value: an array, a number, nested lists of numbers, or anything else that NumPy makes an array of.
        subject: who asks, for the message.

    Raises:
        DTypeError: it is something else, has a mask, or lists have unequal lengths.
    """
    if value.__class__ is float or value.__class__ is bool:
        return np.asarray(value)
    check_unmasked(value, subject)
    try:
        array = np.asarray(value)
    except ValueError as error:
        if isinstance(error, OpsdkError):
            raise
        raise DTypeError(f"{subject}: expected nested lists of equal lengths, got {value!r}") from error
    is_listed = isinstance(value, (list, tuple)) and array.dtype == np.float64 and array.size
    if is_listed and all(_is_whole(item) for item in flat(value)):  # some beyond int64 and some below 0
        numbers = np.array(value, object)  # NumPy takes floats then
        array = np.array([int(number) for number in numbers.flat], object).reshape(numbers.shape)
    if array.dtype in _NATIVE:
        return array
    if array.dtype == object:
        kinds = {type(item) for item in array.flat}
        if kinds <= {int, bool}:
            return array
        if kinds <= {int, bool, float, complex} and kinds:
            try:
                return array.astype(complex if complex in kinds else float)
            except OverflowError as error:
                raise DTypeError(f"{subject}: expected numbers that float64 holds, got {value!r}") from error
    if value is None or (isinstance(value, (list, tuple)) and array.dtype.kind in "OUS"):
        raise DTypeError(f"{subject}: expected a tensor, array or number, got builtins.{type(value).__name__}")
    as_dtype(array.dtype, subject)
    return as_native(array)


def one_number(value: Any, subject: str) -> np.ndarray:
    """Returns a number, or what holds a single one, as an array without dimensions.

    Raises:
        DTypeError: it is something else.
        ShapeError: it is several.
    """
    numbers = as_numbers(value, subject)
    if numbers.ndim:
        raise ShapeError(f"{subject}: expected one number, got shape {numbers.shape}")
    return numbers


def fitted(
    numbers: np.ndarray,
    dtype: np.dtype[Any],
    subject: str,
    *,
    truncates: bool = False,
    into: np.ndarray | None = None,
    remedy: str = "choose another dtype",
) -> np.ndarray:
    """Returns an array in a dtype that its numbers lie within; a floating one rounds them, whole numbers too.

    Args:
        numbers: an array, as `as_numbers` gives it.
        dtype: the dtype to convert to.
        subject: who asks, for the message.
        truncates: whether the dtype was asked for by name: then integers drop fractions, and all but 0 is True.
        into: where to put the result, of that dtype; new memory unless given.
        remedy: what else to write.

    Raises:
        DTypeError: a number is beyond the range of the dtype, nan or infinite for an integer, complex for a real one,
            or would lose its fraction.
    """
    made: np.ndarray | None = None
    if numbers.dtype.kind == dtype.kind == "f" and numbers.dtype != dtype:  # most of all there is
        made = _converted(numbers, dtype)
        made = None if np.isinf(made).any() else made
    if made is None:
        wrong = None if numbers.dtype == dtype else misfit(numbers, dtype, truncates=truncates, remedy=remedy)
        if wrong is not None:
            raise DTypeError(f"{subject}: {wrong}")
        made = numbers if into is not None and numbers.dtype != object else _converted(numbers, dtype)
    if into is None:
        return made
    with np.errstate(all="ignore"):
        into[...] = made
    return into


def misfit(
    numbers: np.ndarray, dtype: np.dtype[Any], *, truncates: bool, remedy: str = "choose another dtype"
) -> str | None:
    """Returns what is wrong with numbers that a dtype does not hold, as `fitted` takes them; None where it does."""
    kind, source = word_of(dtype), word_of(numbers.dtype) or "int"
    one, s = ("a ", "") if numbers.ndim == 0 else ("", "s")
    if not numbers.size or source == "bool":
        return None
    if source == "complex" and kind != "complex":
        return _said(f"{one}real number{s} for {dtype}", numbers.flat[0], "take the real part")
    if kind == "int":
        lost = _beyond(numbers, dtype, source, truncates)
        info = np.iinfo(dtype)
        expected = f"{one}whole number{s} that {dtype} holds, from {info.min} to {info.max}"
    elif kind == "bool":
        lost = _NONE if truncates else (numbers != 0) & (numbers != 1)
        expected = "0, 1, False or True for bool"
    else:
        lost = _infinite(numbers, dtype)
        expected = f"{one}number{s} that {dtype} holds" + (f", up to {_greatest(dtype):.6g}" if kind == "float" else "")
    if not lost.any():
        return None
    return _said(expected, numbers[lost].tolist()[0] if numbers.ndim else numbers[()], remedy)


def _beyond(numbers: np.ndarray, dtype: np.dtype[Any], source: str, truncates: bool) -> np.ndarray:
    """Returns which numbers an integer dtype does not hold."""
    info = np.iinfo(dtype)
    if source == "int":
        if info.min <= int(numbers.min()) and int(numbers.max()) <= info.max:
            return _NONE
        return np.asarray((numbers < info.min) | (numbers > info.max), bool, like=numbers)
    wide = numbers.astype(computed_in(numbers.dtype))  # both bounds are powers of two there, the upper one excluded
    whole = np.trunc(wide)
    held = (whole >= float(info.min)) & (whole < float(info.max + 1))
    lost: np.ndarray = ~(held if truncates else held & (whole == wide))
    return lost


def _infinite(numbers: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Returns which finite numbers are infinite in a floating or complex dtype."""
    if dtype.kind == numbers.dtype.kind and dtype.itemsize >= numbers.dtype.itemsize:
        return _NONE
    held = np.isinf(_converted(numbers, dtype))
    if not held.any():
        return _NONE
    return np.asarray(held if numbers.dtype == object else held & ~np.isinf(numbers), like=numbers)


def _converted(numbers: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    if numbers.dtype == object and word_of(dtype) in ("float", "complex"):
        numbers = np.array([_as_float(number) for number in numbers.flat]).reshape(numbers.shape)
    if numbers.dtype == dtype:
        return numbers
    with np.errstate(all="ignore"):
        return numbers.astype(dtype)


def _as_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def _greatest(dtype: np.dtype[Any]) -> float:
    if dtype.kind == "f":
        return float(np.finfo(dtype).max)
    return float(np.array(0x7F7F, np.uint16).view(dtype))  # bfloat16, of which NumPy knows no more than the size


def _said(expected: str, got: Any, remedy: str) -> str:
    return f"expected {expected}, got {shown(got)}; {remedy}"


def shown(number: Any) -> str:
    """Returns a number for a message, cut where it has very many digits."""
    plain = number.item() if isinstance(number, np.generic) else number
    text = hex(plain) if isinstance(plain, int) and abs(plain) >= 2**4096 else str(plain)
    return text if len(text) < 50 else text[:20] + "…"


def _is_whole(item: Any) -> bool:
    return item.__class__ is int or item.__class__ is bool or getattr(item, "dtype", np.dtype(float)).kind in "biu"


def as_bool(value: object, subject: str) -> bool:
    """Returns a truth value; what merely counts as one, such as a text, is refused.

    Args:
        value: a bool, Python's or NumPy's.
        subject: what it is given for, for the message.

    Raises:
        AttributeValueError: it is neither.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise AttributeValueError(f"{subject} expected True or False, got {value!r}")
    return bool(value)
