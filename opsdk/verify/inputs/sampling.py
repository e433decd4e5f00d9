"""Where the calls come from: an op's own samples, those of the op it is the gradient of, or defaults by its schema.

Samples as their author gave them are made calls, each; what is no sample is named as such.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain
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
from opsdk.verify.inputs.domains import beside, broken, domain_of, ruled
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


class NoValuesError(ValueError):
    """A domain has no values of a shape, as no symmetric matrix is a vector."""


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
        UnusableSamplesError: the op's own samples cannot be had, or are none, or a sample lies outside the domain.
    """
    rng = np.random.default_rng([seed, 5])
    if samples is not None:
        return _inside_domain(opdef, [from_sample(opdef, sample) for sample in samples])
    if opdef.samples is not None:
        return _with_a_hole(opdef, _inside_domain(opdef, calls_of_samples(opdef, opdef.samples, rng)))
    forward = forward_of(opdef)
    if forward is not None:
        return list(_derived(forward, seed))
    given = needed(opdef)
    return [replace(call, attrs={**given, **call.attrs}) if given else call for call in _defaults(opdef, rng)]


def _inside_domain(opdef: OpDef, calls: list[Call]) -> list[Call]:
    """Returns calls that lie inside the op's domain, all.

    Raises:
        UnusableSamplesError: one does not; the message has the sample, the input, what was declared and the element.
    """
    for call in calls:
        problem = broken(opdef, call)
        if problem:
            at = str(opdef.origin if opdef.samples is None else origin_of(opdef.samples))
            raise UnusableSamplesError(
                f"{opdef.subject}, samples: expected {problem}, in sample {call}; correct the sample or the domain",
                at=at,
            )
    return calls


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
            with suppress(NoValuesError):
                yield Call(numbers_of_shape(opdef, shape, rng), {}, reason, False)
    with suppress(NoValuesError):
        yield from _further(opdef, rng)


def _further(opdef: OpDef, rng: np.random.Generator) -> Iterator[Call]:
    """Yields calls beside those of every shape: of other inputs, dtypes, sizes, attributes and broadcasts."""
    inputs = opdef.schema.inputs
    if any(decl.kind == "optional" for decl in inputs):
        given = numbers_of_shape(opdef, (3, 5), rng)
        given = [None if decl.kind == "optional" else value for decl, value in zip(inputs, given, strict=True)]
        yield Call(given, {}, "without the optional inputs", False)
    for hole in range(2) if any(decl.holes for decl in inputs) else ():
        given = numbers_of_shape(opdef, (3, 5), rng)
        yield Call(_pierced(opdef, given, hole), {}, f"a hole at {hole}", False)
    if any("int" in decl.elements for decl in inputs):
        given = numbers_of_shape(opdef, (3, 5), rng)
        narrow = each(given, lambda a: a.astype(np.int32) if a.dtype == np.int64 else a)
        yield Call(narrow, {}, "int32", False, extra=True)
    for shape, reason in LARGER:
        yield Call(numbers_of_shape(opdef, shape, rng), {}, reason, False, extra=True)
    if not ruled(opdef):
        yield from _great(opdef, rng)
    for name, value, invented in others(opdef):
        given = numbers_of_shape(opdef, (3, 5), rng, {name: value})
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


def _with_a_hole(opdef: OpDef, calls: list[Call]) -> list[Call]:
    """Returns samples, and where none of them has a hole that its list may have one more, which the op may refuse."""
    positions = [i for i, decl in enumerate(opdef.schema.inputs) if decl.holes]
    lists = [(call, call.inputs[i]) for call in calls for i in positions if call.inputs[i]]
    if not lists or any(item is None for _, value in lists for item in value):
        return calls
    first = lists[0][0]
    pierced = _pierced(opdef, first.inputs, 0)
    return [*calls, replace(first, inputs=pierced, reason="a hole at 0", declared=False, extra=True)]


# Any: one entry per input.
def _pierced(opdef: OpDef, inputs: Sequence[Any], hole: int) -> list[Any]:
    """Returns inputs with None at a place of the lists that may have holes."""
    return [
        [None if i == hole else item for i, item in enumerate(value)] if decl.holes else value
        for decl, value in zip(opdef.schema.inputs, inputs, strict=True)
    ]


def _beside(opdef: OpDef, shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> list[Any]:
    """Returns inputs of shapes that broadcast, one after the other; two of them in a list."""
    every = [shapes[i % len(shapes)] for i in range(len(opdef.schema.inputs) + 1)]
    lists = [decl.kind == "list" for decl in opdef.schema.inputs]
    return _values(opdef, [every[i : i + 2] if many else [every[i]] for i, many in enumerate(lists)], rng, {})


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
    where = Domain() if _is_other(decl) else domain_of(opdef, decl.name)
    great = np.array(MAGNITUDES)
    return np.asarray(great[where.fold(great) == great])


# Any: an array, or a list of two for a variadic input; and values of attributes.
def numbers_of_shape(
    opdef: OpDef, shape: tuple[int, ...], rng: np.random.Generator, attrs: Mapping[str, Any] = {}
) -> list[Any]:
    """Returns an input each of a shape, or of what belongs beside it in a row op, inside the op's domain.

    Raises:
        NoValuesError: the domain has none of such a shape.
    """
    return _values(opdef, [[shape]] * len(opdef.schema.inputs), rng, attrs)


def _values(
    opdef: OpDef, shapes: Sequence[Sequence[tuple[int, ...]]], rng: np.random.Generator, attrs: Mapping[str, Any]
) -> list[Any]:
    """Returns inputs of shapes; what rules of the domain hold is drawn after what they may name."""
    held = ruled(opdef)
    made = [None if i in held else _value(opdef, i, shapes[i], rng) for i in range(len(shapes))]
    for i in held:
        decl, where = opdef.schema.inputs[i], domain_of(opdef, opdef.schema.input_names[i])
        around = beside(opdef, made, attrs)
        try:
            drawn = [where.draw(shape, _dtype(decl, where), rng, around) for shape in _shapes(opdef, i, shapes[i])]
        except Exception as error:
            raise NoValuesError(f"{opdef.subject}: no values {where.name} of shape {shapes[i][0]}: {error}") from error
        made[i] = drawn if decl.kind == "list" else drawn[0]
    return made


def _dtype(decl: InputDecl, where: Domain) -> np.dtype[Any]:
    """Returns the dtype that values of an input are drawn in."""
    if not _is_other(decl):
        return np.dtype(where.dtype if not decl.elements else "float64")
    return np.dtype("int64" if "int" in decl.elements else "bool" if "bool" in decl.elements else "complex128")


# Any: an array, or a list of two for a variadic input.
def _value(opdef: OpDef, position: int, shapes: Sequence[tuple[int, ...]], rng: np.random.Generator) -> Any:
    decl = opdef.schema.inputs[position]
    sizes = shapes[0][-1:] if isinstance(opdef.infer, RowInfer) else None
    made = [_elements(opdef, decl, shape, rng, sizes or shape) for shape in _shapes(opdef, position, shapes)]
    return made if decl.kind == "list" else made[0]


def _shapes(opdef: OpDef, position: int, shapes: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
    """Returns the shapes of an input's arrays: two for a variadic one, and what belongs in its place in a row op."""
    rule, full = opdef.infer, shapes[0]
    if isinstance(rule, RowInfer):
        role = rule.roles[position]
        return [full[-1:] if role == COLUMN else (*full[:-1], 1) if role == ROW and full else full]
    return (*shapes, *shapes)[:2] if opdef.schema.inputs[position].kind == "list" else shapes[:1]


def _elements(
    opdef: OpDef, decl: InputDecl, shape: tuple[int, ...], rng: np.random.Generator, sizes: tuple[int, ...]
) -> np.ndarray:
    """Returns values of the kind that an input is declared to have; integers are positions along any axis of `sizes`.

    They lie inside the domain, where one is declared; a complex number has a part of each kind.
    """
    if not _is_other(decl):
        return _numbers(opdef, decl.name, shape, rng)
    if "int" in decl.elements:
        where = domain_of(opdef, decl.name)
        low, high = where.low, where.high
        least = 0 if low == -math.inf else math.ceil(low)
        most = least + max(min(sizes, default=1), 1) - 1 if high == math.inf else math.floor(high)
        return np.asarray(rng.integers(min(least, most), most, shape, endpoint=True))
    if "bool" in decl.elements:
        return np.asarray(rng.integers(0, 1, shape, endpoint=True) == 1)
    return np.asarray(_numbers(opdef, decl.name, shape, rng) + 1j * rng.standard_normal(shape))


def _numbers(opdef: OpDef, name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Returns signed random numbers inside the domain; one is exactly 0 where 0 lies inside."""
    where = domain_of(opdef, name)
    low, high = where.low, where.high
    if math.isfinite(low) and math.isfinite(high):
        values = rng.uniform(low, high, shape)
    elif where.is_bounded:
        away = np.abs(rng.standard_normal(shape)) + 0.1
        values = low + away if math.isfinite(low) else high - away
    else:
        values = rng.standard_normal(shape)
    values = where.fold(np.asarray(values))
    if values.size > 1 and low < 0 < high:
        values.flat[1] = 0.0
    return values
