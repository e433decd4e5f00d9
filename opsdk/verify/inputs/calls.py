"""Calls: concrete inputs and attributes on which an op is tried, and the ways to copy, cast and flatten them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opsdk.core import nested
from opsdk.core.spec import TensorSpec
from opsdk.define.identity.callables import callable_text
from opsdk.define.opdef import OpDef

# One entry per tensor input or output: an array, a list of arrays for a variadic one, None for an absent one.
Values = Sequence[Any]
# The complex dtype of the precision of another.
_COMPLEX = {
    name: np.dtype(of)
    for of, names in {"complex64": ("float16", "bfloat16", "float32"), "complex128": ("float64",)}.items()
    for name in (of, *names)
}


# Any: a value of one of the numeric types of the schema language, or a bool.
@dataclass(frozen=True)
class Invented:
    """An attribute value that verify tries although nobody named it, beside the default that somebody did."""

    name: str
    value: Any
    default: Any

    @property
    def is_far(self) -> bool:
        """Whether its sign is another than the default's: many an op has no meaning there."""
        if isinstance(self.default, bool):
            return False
        return bool(np.sign(self.value) * np.sign(self.default) <= 0 and self.default)

    @property
    def remedies(self) -> str:
        """The ways to have it no longer tried."""
        if isinstance(self.default, bool):
            return "refuse such values in the op, or give samples"
        bounds = "(least, greatest)"
        if self.is_far:
            nearest = int(np.sign(self.default)) if isinstance(self.value, int) else 0  # of whole numbers 0 is far too
            bounds = f"({nearest}, None)" if self.default > 0 else f"(None, {nearest})"
        return f'refuse such values in the op, bound them by domain={{"{self.name}": {bounds}}}, or give samples'

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}"


@dataclass(frozen=True, eq=False)
class Call:
    """One call of an op on arrays.

    Args:
        inputs: one entry per tensor input.
        attrs: the attributes given (any: values of the types of the schema language).
        reason: why it is tried.
        declared: whether the op's author gave it.
        extra: whether it only adds to the other calls, so that an op may refuse it.
        invented: the attribute value that nobody named, where there is one.
        remade: gives the call in another dtype, where its inputs are of another call, as residuals are.
    """

    inputs: Values
    attrs: Mapping[str, Any]
    reason: str = ""
    declared: bool = True
    extra: bool = False
    invented: Invented | None = None
    remade: Callable[[np.dtype[Any]], Call] | None = None

    def __str__(self) -> str:
        shapes = ", ".join(_spec(value) for value in self.inputs)
        attrs = "".join(f", {name}={_shown(value)}" for name, value in self.attrs.items())
        return f"({shapes}{attrs})" + (f" {self.reason}" if self.reason else "")

    @property
    def is_far(self) -> bool:
        """Whether nobody may have meant it: an attribute has a value of another sign than its default."""
        return self.invented is not None and self.invented.is_far

    def cast(self, dtype: np.dtype[Any]) -> Call:
        """Returns the call with every floating input in another dtype, and complex ones in the same precision.

        Real numbers that become complex get imaginary parts, and those that become whole numbers small ones beside 0:
        what is wrong in either is to show.
        """
        if self.remade is not None:
            return self.remade(dtype)
        attrs = {name: _cast_spec(value, dtype) for name, value in self.attrs.items()}
        return replace(self, inputs=self.cast_values(self.inputs, dtype), attrs=attrs)

    def cast_values(self, values: Values, dtype: np.dtype[Any]) -> list[Any]:
        """Returns values of the call, such as its cotangents, in the dtype that `cast` gives it."""
        rng = np.random.default_rng(23)
        return each(values, lambda array: _cast(array, dtype, rng))

    @property
    def kind(self) -> tuple[object, ...]:
        """What calls of one kind agree in: which inputs are there and are alike, lengths 0 and 1, what is chosen."""
        arrays = flat(self.inputs)
        alike = [next(i for i, other in enumerate(arrays) if other.shape == array.shape) for array in arrays]
        shapes = each(self.inputs, lambda array: (array.dtype.kind, *(min(length, 2) for length in array.shape)))
        chosen = [(n, v if isinstance(v, (bool, str)) else type(v)) for n, v in self.attrs.items()]
        return repr(shapes), *alike, *chosen

    @property
    def float_dtype(self) -> np.dtype[Any] | None:
        """The dtype of the first floating input; None where there is none."""
        return next((array.dtype for array in flat(self.inputs) if is_float(array)), None)


def _cast(array: np.ndarray, dtype: np.dtype[Any], rng: np.random.Generator) -> np.ndarray:
    made: np.ndarray = array.copy()
    if array.dtype.kind == "c":
        made = array.astype(_COMPLEX.get(dtype.name, array.dtype))
    elif is_float(array) and dtype.kind == "c":
        made = with_imaginary(array, rng).astype(dtype)
    elif is_float(array) and dtype.kind in "iu":
        signs = 1 if dtype.kind == "u" else np.where(np.signbit(array), -1, 1)
        made = np.asarray(signs * (1 + rng.integers(0, 4, array.shape))).astype(dtype)
    elif is_float(array):
        made = np.asarray(array > 0) if dtype.kind == "b" else array.astype(dtype)
    return made


def with_imaginary(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Returns real numbers beside imaginary parts of either sign, none of which is 0."""
    parts = rng.choice((-1.0, 1.0), array.shape) * rng.uniform(0.3, 0.9, array.shape)
    return np.asarray(array + 1j * parts)


# Any: an attribute's value; those of gradient ops may be specs of the forward's inputs.
def _cast_spec(value: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(value, list):
        return [_cast_spec(item, dtype) for item in value]
    if not isinstance(value, TensorSpec):
        return value
    is_floating = value.dtype.kind == "f" or value.dtype.name == "bfloat16"
    held = _COMPLEX.get(dtype.name, value.dtype) if value.dtype.kind == "c" else value.dtype
    return TensorSpec(value.shape, dtype if is_floating else held)


def _shown(value: Any) -> str:
    """Returns an attribute's value as text; a callable by its name, a residual, which may be anything, by its type."""
    if callable(value):
        return callable_text(value)
    plain = (bool, int, float, complex, str, np.dtype, TensorSpec, type(None))
    items = value if isinstance(value, (tuple, list)) else [value]
    return repr(value) if all(isinstance(item, plain) for item in items) else f"<{type(value).__name__}>"


def _spec(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, list):
        return "[" + ", ".join(_spec(item) for item in value) + "]"
    return f"{value.dtype}{value.shape}"


def is_float(array: Any) -> bool:
    """Whether a value is an array of a real floating dtype, which is what gradients are judged in."""
    return isinstance(array, np.ndarray) and (array.dtype.kind == "f" or array.dtype.name == "bfloat16")


def is_inexact(array: Any) -> bool:
    """Whether a value is an array of real or complex floating numbers, which kernels may round otherwise."""
    return is_float(array) or (isinstance(array, np.ndarray) and array.dtype.kind == "c")


def each(values: Values, function: Callable[[np.ndarray], Any]) -> list[Any]:
    """Returns the values with a function applied to every array."""
    return list(nested.each(values, function))


def other(array: np.ndarray) -> np.ndarray:
    """Returns other values of the same kind: those of an index, say, have to stay what they are."""
    return np.asarray(array * 1.25).astype(array.dtype) if is_inexact(array) else array


def reordered(array: np.ndarray) -> np.ndarray:
    """Returns the same numbers in another order, a single one a little larger; what may be positions as it is."""
    is_list = is_float(array) and array.size > 1
    return np.ascontiguousarray(array.ravel()[::-1].reshape(array.shape)) if is_list else other(array)


def copies(values: Values) -> list[Any]:
    """Returns copies of all arrays, each of which lies in memory as its original does."""
    return each(values, alike)


def alike(array: np.ndarray) -> np.ndarray:
    """Returns a copy with the strides and the alignment of its original, which `copy` would put in order."""
    flags = array.flags
    if (flags.c_contiguous and flags.aligned) or not array.size or array.dtype.hasobject:
        return np.array(array, order="C")
    spans = [stride * (length - 1) for stride, length in zip(array.strides, array.shape, strict=True)]
    before, after = -sum(s for s in spans if s < 0), sum(s for s in spans if s > 0)
    shift = before + (0 if flags.aligned else 1)
    raw = np.zeros(shift + after + array.itemsize, np.uint8)
    copy: np.ndarray = np.ndarray(array.shape, array.dtype, raw, shift, array.strides)
    copy[...] = array
    return copy


def flat(values: Values) -> list[np.ndarray]:
    """Returns all arrays in order; absent inputs are left out."""
    return list(nested.flat(values))


def refill(values: Values, arrays: Sequence[Any]) -> list[Any]:
    """Returns `arrays`, flat, in the structure of `values`; NumPy scalars come back as 0-d arrays."""
    source = (np.asarray(array) if isinstance(array, np.generic) else array for array in arrays)
    return list(nested.refill(values, source))


def flat_names(names: Sequence[str], values: Values) -> list[str]:
    """Returns one name per array of `flat(values)`; the tensors of a variadic input are numbered."""
    entries = zip(names, values, strict=True)
    return [called for name, value in entries for called, _ in nested.named(name, value)]


def outputs_of(opdef: OpDef, made: Any) -> list[Any]:
    """Returns what a call gave as one entry per output."""
    return [made] if len(opdef.schema.outputs) == 1 else list(made)


def result_names(opdef: OpDef) -> list[str]:
    """Returns the names of all that a call gives: its outputs, then the changed inputs that no output hands on."""
    return [*opdef.schema.output_names, *[opdef.schema.input_names[i] for i in only_changed(opdef)]]


def only_changed(opdef: OpDef) -> list[int]:
    """Returns the positions of the inputs that are changed in place and that no output hands on."""
    schema = opdef.schema
    handed_on = [schema.mutated_source(i) for i, decl in enumerate(schema.outputs) if decl.mutated]
    return [i for i in schema.mutated_inputs if i not in handed_on]


def called(opdef: OpDef, name: str) -> str:
    """Returns what a result is called in a message: an output, or an input that is changed."""
    roles = {decl.name: decl.role for decl in opdef.schema.outputs}
    return f"{roles.get(name.partition('[')[0], 'changed input')} {name!r}"


def paired(names: Sequence[str], left: Values, right: Values) -> Iterator[tuple[str, Any, Any]]:
    """Yields name and both arrays of two equally structured lists of values."""
    yield from zip(flat_names(names, left), flat(left), flat(right), strict=True)
