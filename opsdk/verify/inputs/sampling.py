"""Where the calls come from: an op's own samples, those of the op it is the gradient of, or defaults by its schema.

Samples as their author gave them are made calls, each; what is no sample is named as such.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opsdk.backends.call.arrays import as_arrays
from opsdk.core.errors import AttributeValueError, DefinitionError, UnknownOpError
from opsdk.core.origin import origin_of
from opsdk.define.call import bind
from opsdk.define.infer import broadcast
from opsdk.define.op import find_op
from opsdk.define.opdef import OpDef
from opsdk.define.sample import Sample
from opsdk.define.schema.schema import InputDecl
from opsdk.expr.row.row import COLUMN, ROW
from opsdk.expr.row.row_infer import RowInfer
from opsdk.verify.gradients import carried, draw_cotangents, gradient_call
from opsdk.verify.inputs.attributes import draws, needed, others
from opsdk.verify.inputs.calls import Call, each, flat, is_inexact, refill
from opsdk.verify.kernels.launch import launch

SAMPLES = "samples"  # the check that finds an op's own to be unusable; it is of the op, not of a kernel
SHAPES: tuple[tuple[tuple[int, ...], str], ...] = (
    ((3, 5), "matrix, with an exact 0"),
    ((7,), "vector"),
    ((), "0-d"),
    ((0, 4), "empty"),
)
# Beyond what a kernel may treat in one block, or in a buffer that somebody thought large enough.
LARGER: tuple[tuple[tuple[int, ...], str], ...] = (((7, 13), "91 elements"), ((67,), "67 elements"))
# exp of the first stays below 1/eps; that of the second leaves float32, of the third float64.
GREAT = "large magnitudes"
MAGNITUDES = (30.0, -30.0, 100.0, -100.0, 800.0, -800.0)
PAIRS: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((3, 1), (3, 5)),
    ((1,), (3, 5)),
    ((), (3, 5)),
    ((4, 1), (1, 5)),
)


class UnusableSamplesError(DefinitionError):
    """What an op has under `@op.samples` raises, or yields something else than samples of the op."""


# Any: what the caller gave, of whatever type.
def samples_given(samples: Any) -> list[Sample]:
    """Returns the `samples=` of verify as a list.

    Raises:
        AttributeValueError: they are not some Samples.
    """
    if isinstance(samples, (Sample, str)) or not isinstance(samples, Iterable):
        raise AttributeValueError(
            f"verify: samples expected a list of opsdk.Sample, got {_kind(samples)}; write samples=[opsdk.Sample(...)]"
        )
    listed = list(samples)
    for position, sample in enumerate(listed):
        if not isinstance(sample, Sample):
            raise AttributeValueError(
                f"verify: samples[{position}] expected an opsdk.Sample, got {_kind(sample)}; "
                "write samples=[opsdk.Sample(...)]"
            )
    return listed


# Any: an author's function of any signature.
def calls_of_samples(opdef: OpDef, function: Callable[..., Any], rng: np.random.Generator) -> list[Call]:
    """Returns the calls of an op's own samples.

    Raises:
        UnusableSamplesError: there are none to be had; the message says what came instead.
    """
    at = str(origin_of(function))
    subject = f"{opdef.subject}, samples: expected opsdk.Samples"
    remedy = "yield opsdk.Sample(...)"
    calls: list[Call] = []
    try:
        made = function(*(rng,) * min(len(inspect.signature(function).parameters), 1))
        found = list(made) if isinstance(made, Iterable) and not isinstance(made, Sample) else None
    except Exception as error:
        raised = f"{type(error).__name__}: {error}"
        raise UnusableSamplesError(f"{subject}, raised {raised}; {remedy}", at=at) from error
    if found is None:
        raise UnusableSamplesError(f"{subject}, got {_kind(made)}; {remedy}", at=at)
    for position, sample in enumerate(found):
        if not isinstance(sample, Sample):
            raise UnusableSamplesError(f"{subject}, got {_kind(sample)} at position {position}; {remedy}", at=at)
        try:
            calls.append(from_sample(opdef, sample))
        except Exception as error:
            raise UnusableSamplesError(
                f"{subject} that fit {opdef.schema}, got {sample!r} at position {position}, "
                f"which raised {type(error).__name__}: {error}; {remedy}",
                at=at,
            ) from error
    return calls


def from_sample(opdef: OpDef, sample: Sample) -> Call:
    """Returns the call that a sample is.

    Raises:
        OpsdkError: it does not fit the op's signature.
    """
    inputs, attrs = bind(opdef, sample.inputs, sample.attrs)
    return Call(as_arrays(opdef, inputs), {**attrs, **draws(opdef, attrs)}, sample.reason)


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def calls_of(opdef: OpDef, samples: Iterable[Sample] | None, seed: int) -> list[Call]:
    """Returns the calls to try an op on.

    Args:
        opdef: the op.
        samples: used instead of the op's own, where given.
        seed: of the random values; every source gets a generator of its own.

    Raises:
        UnusableSamplesError: the op's own samples cannot be had, or are none.
    """
    rng = np.random.default_rng([seed, 5])
    if samples is not None:
        return [from_sample(opdef, sample) for sample in samples]
    if opdef.samples is not None:
        return calls_of_samples(opdef, opdef.samples, rng)
    forward = forward_of(opdef)
    if forward is not None:
        return list(_derived(forward, seed))
    given = needed(opdef)
    return [replace(call, attrs={**given, **call.attrs}) if given else call for call in _defaults(opdef, rng)]


def forward_of(opdef: OpDef) -> OpDef | None:
    """Returns the op that this one is the gradient of, if it still is."""
    if opdef.gradient_of is None:
        return None
    try:
        forward = find_op(opdef.gradient_of).opdef
    except UnknownOpError:
        return None
    return forward if forward.grad is not None and forward.grad.op.opdef.kernels is opdef.kernels else None


def _derived(forward: OpDef, seed: int) -> Iterator[Call]:
    """Yields calls of a gradient op: the forward runs, and random cotangents enter."""
    assert forward.grad is not None
    rng = np.random.default_rng([seed, 7])
    try:
        calls = calls_of(forward, None, seed)
    except UnusableSamplesError:  # the forward's own report says so
        return
    for call in calls:
        wanted = flat([call.inputs[i] for i in forward.differentiable_inputs()])
        if any(array.dtype.kind == "c" for array in flat(call.inputs)) and forward.for_complex.grad is not forward.grad:
            continue  # complex gradients are refused, or are another op's
        if not any(map(is_inexact, wanted)):
            continue
        try:
            outputs = launch(forward, forward.kernels.reference(), call.inputs, call.attrs)
        except Exception:  # the forward's own report says so
            continue
        if any(map(is_inexact, carried(forward, outputs))):
            yield gradient_call(forward, call, outputs, draw_cotangents(forward, outputs, rng))


def _defaults(opdef: OpDef, rng: np.random.Generator) -> Iterator[Call]:
    inputs = opdef.schema.inputs
    if not inputs:
        yield Call([], {}, "no inputs", declared=False)
        return
    for shape, reason in SHAPES:
        if shape or not isinstance(opdef.infer, RowInfer):  # 0-d has no rows
            yield Call(numbers_of_shape(opdef, shape, rng), {}, reason, False)
    if any(decl.kind == "optional" for decl in inputs):
        given = [None if decl.kind == "optional" else _value(opdef, i, [(3, 5)], rng) for i, decl in enumerate(inputs)]
        yield Call(given, {}, "without the optional inputs", False)
    if any("int" in decl.elements for decl in inputs):
        given = numbers_of_shape(opdef, (3, 5), rng)
        narrow = each(given, lambda a: a.astype(np.int32) if a.dtype == np.int64 else a)
        yield Call(narrow, {}, "int32", False, extra=True)
    for shape, reason in LARGER:
        yield Call(numbers_of_shape(opdef, shape, rng), {}, reason, False, extra=True)
    yield from _great(opdef, rng)
    for name, value, invented in others(opdef):
        given = numbers_of_shape(opdef, (3, 5), rng)
        is_extra = invented is not None
        yield Call(given, {name: value}, f"another {name}", False, extra=is_extra, invented=invented)
    is_list = any(decl.kind == "list" for decl in inputs)
    if isinstance(opdef.infer, type(broadcast)) and (is_list or len(inputs) > 1):
        yield Call(_beside(opdef, [(3, 5), (5,), (3, 1), ()], rng), {}, "broadcast", False)
        mixed = numbers_of_shape(opdef, (2, 3), rng)
        first, *rest = flat(mixed)
        (short,) = Call([first], {}).cast(np.dtype("float32")).inputs
        yield Call(refill(mixed, [short, *rest]), {}, "float32 beside float64", False)
        for pair in PAIRS:
            yield Call(_beside(opdef, pair, rng), {}, "broadcast", False, extra=True)


def _beside(opdef: OpDef, shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> list[Any]:
    """Returns inputs of shapes that broadcast, one after the other; two of them in a list."""
    every = [shapes[i % len(shapes)] for i in range(len(opdef.schema.inputs) + 1)]
    lists = [decl.kind == "list" for decl in opdef.schema.inputs]
    return [_value(opdef, i, every[i : i + 2] if many else [every[i]], rng) for i, many in enumerate(lists)]


def _great(opdef: OpDef, rng: np.random.Generator) -> Iterator[Call]:
    """Yields a call with elements of great magnitude; an index, say, is 0 there, since such a one makes no sense."""
    inside = [_inside(opdef, decl) for decl in opdef.schema.inputs]
    size = min(map(len, inside))
    if not size:
        return
    great: list[Any] = []
    for i, decl in enumerate(opdef.schema.inputs):
        values = np.roll(inside[i][:size], i)
        arrays = [values, values[::-1].copy()] if decl.kind == "list" else [values]
        if isinstance(opdef.infer, RowInfer) and opdef.infer.roles[i] == ROW:
            arrays = [values[:1]]
        if _is_other(decl):
            arrays = [_elements(opdef, decl, array.shape, rng, (1,)) for array in arrays]
        great.append(arrays if decl.kind == "list" else arrays[0])
    yield Call(great, {}, GREAT, False, extra=True)


def _is_other(decl: InputDecl) -> bool:
    """Whether an input is declared to be of no real numbers with a fraction."""
    return bool(decl.elements) and "float" not in decl.elements


def _inside(opdef: OpDef, decl: InputDecl) -> np.ndarray:
    """Returns the great magnitudes that lie in the domain of an input; all where it is not of real numbers."""
    low, high = (None, None) if _is_other(decl) else opdef.traits.domain.get(decl.name, (None, None))
    return np.array([m for m in MAGNITUDES if (low is None or m >= low) and (high is None or m <= high)])


# Any: an array, or a list of two for a variadic input.
def numbers_of_shape(opdef: OpDef, shape: tuple[int, ...], rng: np.random.Generator) -> list[Any]:
    """Returns an input each of a shape, or of what belongs beside it in a row op, inside the op's domain."""
    return [_value(opdef, i, [shape], rng) for i in range(len(opdef.schema.inputs))]


# Any: an array, or a list of two for a variadic input.
def _value(opdef: OpDef, position: int, shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Any:
    decl = opdef.schema.inputs[position]
    rule = opdef.infer
    if isinstance(rule, RowInfer):
        role, full = rule.roles[position], shapes[0]
        shape = full[-1:] if role == COLUMN else (*full[:-1], 1) if role == ROW and full else full
        return _elements(opdef, decl, shape, rng, full[-1:])
    if decl.kind == "list":
        return [_elements(opdef, decl, shape, rng, shape) for shape in (*shapes, *shapes)[:2]]
    return _elements(opdef, decl, shapes[0], rng, shapes[0])


def _elements(
    opdef: OpDef, decl: InputDecl, shape: tuple[int, ...], rng: np.random.Generator, sizes: tuple[int, ...]
) -> np.ndarray:
    """Returns values of the kind that an input is declared to have; integers are positions along any axis of `sizes`.

    They lie inside the domain, where one is declared; a complex number has a part of each kind.
    """
    if not _is_other(decl):
        return _numbers(opdef, decl.name, shape, rng)
    if "int" in decl.elements:
        low, high = opdef.traits.domain.get(decl.name, (None, None))
        least = 0 if low is None or low == -math.inf else math.ceil(low)
        most = least + max(min(sizes, default=1), 1) - 1 if high is None or high == math.inf else math.floor(high)
        return np.asarray(rng.integers(min(least, most), most, shape, endpoint=True))
    if "bool" in decl.elements:
        return np.asarray(rng.integers(0, 1, shape, endpoint=True) == 1)
    return np.asarray(_numbers(opdef, decl.name, shape, rng) + 1j * rng.standard_normal(shape))


def _numbers(opdef: OpDef, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Returns signed random numbers inside the domain; one is exactly 0 where 0 lies inside."""
    low, high = opdef.traits.domain.get(name, (None, None))
    if low is not None and high is not None:
        values = rng.uniform(low, high, shape)
    elif low is not None or high is not None:
        away = np.abs(rng.standard_normal(shape)) + 0.1
        values = low + away if low is not None else high - away  # type: ignore[operator]
    else:
        values = rng.standard_normal(shape)
    values = np.asarray(values)
    if values.size > 1 and (low is None or low < 0) and (high is None or high > 0):
        values.flat[1] = 0.0
    return values
