"""Evaluation of a subject at one point, as functions of flat float64 vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from gradcheck.errors import UsageError, attach_note
from gradcheck.model import dtypes
from gradcheck.model.domain import named
from gradcheck.model.dtypes import FLOAT64_EPS, Array, FloatArray, as_float64, from_float64, is_continuous
from gradcheck.model.protocol import Subject, copy_input, copy_inputs, normalise_gradients, normalise_outputs
from gradcheck.model.recall import Recall, recalled
from gradcheck.model.surrogate import judged_function
from gradcheck.model.tangents import Tangents, tangents_of

_NO_NUMBERS = "OUSMm"  # kinds of dtype: objects, text, bytes, times
# The label of the point that the caller gave; every other one was made from it.
GIVEN = "the given inputs"


class VjpError(Exception):
    """The subject's vjp raised, or returned something that cannot be read; the reason is the cause."""


def carries(subject: Subject, outputs: Sequence[Array]) -> tuple[bool, ...]:
    """Says for each output whether it has a cotangent of its own; the others get `no_cotangent`."""
    declared = subject.also.nondifferentiable_outputs
    return tuple(is_continuous(output.dtype) and k not in declared for k, output in enumerate(outputs))


def no_cotangent(output: Array) -> Array:
    """Gives zeros in the shape of an output that carries no gradient: of its dtype if it could, else float64."""
    return np.zeros(output.shape, dtype=output.dtype if is_continuous(output.dtype) else np.float64)


def to_conjugate(gradient: Array, convention: str) -> Array:
    """Takes a gradient or cotangent from `convention` to "conjugate", or back."""
    if convention == "conjugate" or not dtypes.is_complex(gradient.dtype):
        return gradient
    return np.asarray(np.conj(gradient))


def call_forward(subject: Subject, inputs: Sequence[object]) -> tuple[Array, ...]:
    """Calls forward on copies of `inputs`."""
    return normalise_outputs(subject.forward(*copy_inputs(inputs)))


def call_vjp(
    subject: Subject, inputs: Sequence[object], outputs: Sequence[Array], cotangents: Sequence[Array | None]
) -> tuple[Array | None, ...]:
    """Calls vjp on exactly the arrays given.

    Raises:
        VjpError: the vjp raised or returned a mapping; chained.
    """
    try:
        return normalise_gradients(subject.vjp(tuple(inputs), tuple(outputs), tuple(cotangents)))
    except Exception as error:
        raise VjpError(f"{type(error).__name__}: {error}") from error


class Point:
    """A subject at one set of input values, seen through float64: an element of a complex array is two numbers of it.

    Floating inputs are raised to float64 where forward accepts that, so that the mathematics is judged rather than the
    rounding of a short dtype. `forward_eps` and `vjp_eps` say how fine each function can be at best.

    Args:
        subject: what is judged.
        inputs: input values; arrays of any dtype.
        label: what these values are, in words.
        is_single: whether a length was made 1, which it was not as given.

    Raises:
        Exception: whatever forward raises on `inputs` in their own dtypes.
    """

    def __init__(self, subject: Subject, inputs: Sequence[object], label: str, *, is_single: bool = False) -> None:
        self.subject = subject
        self.label = label
        self.is_single = is_single
        self.given = subject.held_inside(inputs)
        self._tangents: dict[int, Tangents | None] = {}
        self._recall: Recall | None = recalled() if subject.also.surrogate is None else None
        self._place: tuple[object, ...] | None = None
        self.evaluations = 0
        self.shape_change: str | None = None
        self.dtype_change: str | None = None
        native_eps = _coarsest(self.given)
        self.is_short = native_eps > FLOAT64_EPS
        self.function = judged_function(subject)
        self.inputs, self.outputs = self._start()
        native = self.inputs is self.given
        self.native_eps, self.raises_to_float64 = native_eps, not native
        output_eps = _coarsest(self.outputs)
        self.forward_eps = max(native_eps if native else FLOAT64_EPS, output_eps)
        self.vjp_inputs, self.vjp_eps = self.inputs, native_eps if native else FLOAT64_EPS
        if self.is_short and not native and not self._vjp_accepts_float64():
            self.vjp_inputs, self.vjp_eps = self.given, native_eps
        self.floating = carries(subject, self.outputs)
        self.shapes = tuple(output.shape for output in self.outputs)
        self.dtypes = tuple(output.dtype for output in self.outputs)
        self.center = self.flatten(self.outputs)

    @property
    def size(self) -> int:
        """The number of floating output elements; a complex one counts as two."""
        return self.center.size

    def values(self, k: int) -> FloatArray:
        """Gives input `k` as float64, in its shape; the last axis is that of the two parts where it is complex."""
        value = self.inputs[k]
        assert isinstance(value, np.ndarray)
        return as_float64(value)

    def tangent(self, k: int, direction: FloatArray) -> FloatArray:
        """Gives the part of a direction in which input `k` may move: all of it, where no rule says otherwise."""
        where = self.subject.domain[k]
        if not where.rules or direction.shape != self.values(k).shape:
            return direction
        if k not in self._tangents:
            value = self.inputs[k]
            assert isinstance(value, np.ndarray)
            beside = named(self.subject.names, self.inputs)
            self._tangents[k] = tangents_of(where, self.values(k), value, beside)
        tangents = self._tangents[k]
        return direction if tangents is None else tangents.project(direction)

    def moved(self, k: int, values: FloatArray) -> Array:
        """Gives input `k` at other values; where a rule holds it, as far as these lie along its tangent space."""
        value = self.inputs[k]
        assert isinstance(value, np.ndarray)
        if not self.subject.domain[k].rules:
            return from_float64(values, value)
        start = self.values(k)
        return self.subject.inside(k, start + self.tangent(k, values - start), self.inputs)

    def given_to_vjp(self, k: int, values: FloatArray) -> Array:
        """Gives input `k` at other values, as far as the dtype that vjp takes holds them."""
        moved, like = self.moved(k, values), self.vjp_inputs[k]
        return moved.astype(like.dtype) if isinstance(like, np.ndarray) else moved

    def forward_at(self, k: int, values: FloatArray) -> FloatArray:
        """Gives all floating outputs, flat, with input `k` replaced; NaN where forward raises or changes shape."""
        return self.outputs_at({k: values})

    def outputs_at(self, moved: Mapping[int, FloatArray]) -> FloatArray:
        """Gives the same with several inputs replaced."""
        self.evaluations += 1
        inputs = [self.moved(k, moved[k]) if k in moved else copy_input(value) for k, value in enumerate(self.inputs)]
        if self._recall is None:
            return self._computed(inputs)
        key = (*self._own_place(), *(part for k in moved for part in (k, *_identity(inputs[k]))))
        found = self._recall.find(key)
        if found is None:
            found = self._computed(inputs)
            if self.shape_change is None and self.dtype_change is None:  # else a judgement has to see the change
                self._recall.keep(key, found)
        return found

    def _own_place(self) -> tuple[object, ...]:
        """Gives what tells this point from others: the bytes of its inputs, and the form of its outputs."""
        if self._place is None:
            inputs = (part for value in self.inputs for part in _identity(value))
            self._place = (*inputs, self.shapes, self.dtypes)
        return self._place

    def _computed(self, inputs: Sequence[object]) -> FloatArray:
        """Runs forward on inputs that nobody else holds."""
        try:
            outputs = normalise_outputs(self.function(*inputs))
        except Exception:  # a step may leave the domain nobody declared; the ladder treats NaN as "no value here"
            return np.full(self.size, np.nan)
        if tuple([output.shape for output in outputs]) != self.shapes:
            self.shape_change = f"{[o.shape for o in outputs]} after a small step, {list(self.shapes)} before"
            return np.full(self.size, np.nan)
        found = tuple([output.dtype for output in outputs])
        if found != self.dtypes:
            if not any(dtype.kind == "c" for dtype in (*found, *self.dtypes)):  # a step out of a real function's domain
                names = ", ".join(map(str, found)), ", ".join(map(str, self.dtypes))
                self.dtype_change = f"({names[0]}) after a small step, ({names[1]}) before"
            return np.full(self.size, np.nan)
        return _flat([output for output, wanted in zip(outputs, self.floating, strict=True) if wanted])

    def gradients(self, cotangent: FloatArray) -> tuple[Array | None, ...]:
        """Gives what vjp returns for a flat cotangent, after a fresh forward at this point.

        A complex gradient comes in the convention "conjugate", whose parts are the derivatives along both parts.

        Raises:
            VjpError: the vjp raised.
        """
        self.evaluations += 1
        inputs = copy_inputs(self.vjp_inputs)
        try:
            outputs = normalise_outputs(self.subject.forward(*inputs))
        except Exception as error:
            raise VjpError(f"forward raised on inputs it accepted before: {type(error).__name__}: {error}") from error
        if not all(_is_unmoved(one, other) for one, other in zip(inputs, self.vjp_inputs, strict=True)):
            inputs = copy_inputs(self.vjp_inputs)  # that forward moves its input is no fault of vjp
        made = call_vjp(self.subject, inputs, outputs, self.split(cotangent, outputs))
        matched = (dtypes.match_kind(g, v) for g, v in zip(made, inputs, strict=False))
        found = (None if g is None else to_conjugate(g, self.subject.also.convention) for g in matched)
        return tuple(self._along(k, gradient) for k, gradient in enumerate(found))

    def _along(self, k: int, gradient: Array | None) -> Array | None:
        """Gives the part of a gradient that says something, of the directions in which the input can move."""
        if gradient is None or k >= len(self.inputs) or not self.subject.domain[k].rules:
            return gradient
        value = self.inputs[k]
        fits = isinstance(value, np.ndarray) and gradient.shape == value.shape
        if not fits or not is_continuous(gradient.dtype):
            return gradient  # of another form than its input: a finding already
        numbers = as_float64(gradient)
        if not np.isfinite(numbers).all():
            return gradient
        return from_float64(self.tangent(k, numbers), gradient)

    def split(self, cotangent: FloatArray, outputs: Sequence[Array]) -> tuple[Array, ...]:
        """Cuts a flat cotangent into one array per output, in the convention; zeros for one without a gradient."""
        parts: list[Array] = []
        start = 0
        for output, wanted in zip(outputs, carries(self.subject, outputs), strict=True):
            if wanted:
                stop = start + dtypes.number_count(output)
                parts.append(to_conjugate(from_float64(cotangent[start:stop], output), self.subject.also.convention))
                start = stop
            else:
                parts.append(no_cotangent(output))
        return tuple(parts)

    def flatten(self, outputs: Sequence[Array]) -> FloatArray:
        """Gives all outputs with a gradient, flat."""
        carried = carries(self.subject, outputs)
        return _flat([output for output, wanted in zip(outputs, carried, strict=True) if wanted])

    def _start(self) -> tuple[tuple[object, ...], tuple[Array, ...]]:
        self.evaluations += 1
        if not self.is_short:
            return self.given, self._judged(self.given)
        raised = self.subject.held_inside(
            [
                dtypes.widened(value) if isinstance(value, np.ndarray) and is_continuous(value.dtype) else value
                for value in self.given
            ]
        )
        try:
            return raised, self._judged(raised)
        except Exception:  # a kernel written for one dtype: judge it in that dtype
            return self.given, self._judged(self.given)

    def _judged(self, inputs: Sequence[object]) -> tuple[Array, ...]:
        return normalise_outputs(self.function(*copy_inputs(inputs)))

    def _vjp_accepts_float64(self) -> bool:
        try:
            outputs = call_forward(self.subject, self.inputs)
            zeros = [dtypes.widened(np.zeros_like(output)) for output in outputs]
            call_vjp(self.subject, copy_inputs(self.inputs), outputs, zeros)
        except Exception:
            return False
        return True


def start_point(subject: Subject, inputs: Sequence[object], caller: str, role: str = "forward") -> Point:
    """Evaluates forward, or the declared surrogate, so that its own exception reaches the caller before all judging.

    Args:
        subject: what is judged.
        inputs: as given.
        caller: the function that was called, for the note on forward's exception.
        role: what the subject's function is.

    Raises:
        UsageError: it raises, an output is None, text or another object, or there is none at a declared position.
    """
    try:
        point = Point(subject, inputs, GIVEN)
    except Exception as error:
        if role == "forward":
            attach_note(error, f"{caller}: forward raised at the given inputs, so nothing was judged")
        elif isinstance(error, UsageError):
            raise
        raise UsageError(
            f"{role}: expected it to accept the given inputs, got {type(error).__name__}: {error}; "
            f"call {role}(*inputs) to see it alone"
        ) from error
    for position, output in enumerate(point.outputs):
        if output.dtype.kind in _NO_NUMBERS:
            kind = f"dtype {output.dtype}" if output.ndim else type(output.item()).__name__
            raise UsageError(
                f"forward: expected arrays of numbers, got {kind} for output {position}; return what it computes"
            )
    count = len(point.outputs)
    for position in subject.also.nondifferentiable_outputs:
        if not 0 <= position < count:
            raise UsageError(
                f"nondifferentiable_outputs: expected positions from 0 to {count - 1}, as forward returns {count}, "
                f"got {position}; remove it"
            )
    return point


def _flat(outputs: Sequence[Array]) -> FloatArray:
    """Gives all numbers of some outputs, in memory of their own."""
    if len(outputs) == 1:
        return as_float64(outputs[0]).ravel()
    return np.concatenate([as_float64(output).ravel() for output in outputs]) if outputs else np.zeros(0)


def _identity(value: object) -> tuple[object, ...]:
    """Gives what tells an input from others."""
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else (repr(value),)


def _is_unmoved(value: object, given: object) -> bool:
    """Says whether an argument is, bit by bit, what it was; one that is no array cannot change."""
    if not isinstance(value, np.ndarray) or not isinstance(given, np.ndarray):
        return True
    return dtypes.same_bits(value, given)


def _coarsest(values: Sequence[object]) -> float:
    return max([dtypes.resolution(value.dtype) for value in floating_arrays(values)], default=FLOAT64_EPS)


def floating_arrays(values: Sequence[object]) -> list[Array]:
    """Gives those of `values` that are arrays of a floating or complex dtype."""
    return [value for value in values if isinstance(value, np.ndarray) and is_continuous(value.dtype)]
