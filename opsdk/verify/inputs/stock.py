"""Stock: the calls that an op is tried on where its author gives none, by its schema, its infer rule and its domain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain
from opsdk.define.infer import broadcast
from opsdk.define.opdef import OpDef
from opsdk.define.schema.schema import InputDecl
from opsdk.expr.row.row import COLUMN, ROW
from opsdk.expr.row.row_infer import RowInfer
from opsdk.verify.inputs.attributes import others
from opsdk.verify.inputs.calls import Call, each, flat, refill
from opsdk.verify.inputs.domains import beside, domain_of, lengths_named, names_of, ruled, several_of

SHAPES: tuple[tuple[tuple[int, ...], str], ...] = (
    ((3, 5), "matrix, with an exact 0"),
    ((7,), "vector"),
    ((), "0-d"),
    ((0, 4), "empty"),
)
# The lengths that a domain names, in turn; further names have lengths of their own.
_SIZES: tuple[tuple[tuple[int, ...], str], ...] = (
    ((3, 5), "lengths 3 and 5, with an exact 0"),
    ((7, 4), "lengths 7 and 4"),
    ((1, 1), "lengths 1"),
    ((0, 4), "empty"),
)
# Beyond what a kernel may treat in one block, or in a buffer that somebody thought large enough.
LARGER: tuple[tuple[tuple[int, ...], str], ...] = (((7, 13), "91 elements"), ((67,), "67 elements"))
# For an op that refuses all of the former: lengths that can be halved twice, square matrices, images.
OTHERS: tuple[tuple[tuple[int, ...], str], ...] = (
    ((4, 4), "lengths 4"),
    ((8,), "8 elements"),
    ((2, 4, 4), "three axes"),
    ((2, 4, 8, 8), "four axes"),
)
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


def default_calls(opdef: OpDef, rng: np.random.Generator) -> Iterator[Call]:
    """Yields the calls for an op whose author gave none."""
    inputs = opdef.schema.inputs
    if not inputs:
        yield Call([], {}, "no inputs", declared=False)
        return
    for shape, reason in (*_SIZES, *_ranks(opdef)) if opdef.shapes else SHAPES:
        if shape or not isinstance(opdef.infer, RowInfer):  # 0-d has no rows
            with suppress(NoValuesError):
                yield Call(numbers_of_shape(opdef, shape, rng), {}, reason, False)
    with suppress(NoValuesError):
        yield from _further(opdef, rng)


def other_calls(opdef: OpDef, rng: np.random.Generator) -> Iterator[Call]:
    """Yields calls for an op that refuses the ordinary ones: of other lengths, and of more axes."""
    for shape, reason in OTHERS:
        with suppress(NoValuesError):
            yield Call(numbers_of_shape(opdef, shape, rng), {}, reason, False, extra=True)


def is_ordinary(call: Call) -> bool:
    """Whether a call is of elements, and of such as programs have."""
    arrays = flat(call.inputs)
    return call.reason != GREAT and bool(arrays) and all(array.size for array in arrays)


def _ranks(opdef: OpDef) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yields lengths with which what stands for several axes does so for none, and for two."""
    names, rests = names_of(opdef, {})
    several = several_of(opdef)
    if several:
        yield (), f"no axes for {', '.join(several)}"
        yield tuple(range(2, 2 + len(names) - len(rests) + 2 * len(several))), f"two axes for {', '.join(several)}"


def _further(opdef: OpDef, rng: np.random.Generator) -> Iterator[Call]:
    """Yields calls beside those of every shape: of other inputs, dtypes, sizes, attributes and broadcasts."""
    inputs = opdef.schema.inputs
    if any(decl.kind == "optional" for decl in inputs):
        _, given = _with_and_without(opdef, numbers_of_shape(opdef, (3, 5), rng))
        yield Call(given, {}, "without the optional inputs", False)
    for hole in range(2) if any(decl.holes for decl in inputs) else ():
        given = numbers_of_shape(opdef, (3, 5), rng)
        yield Call(pierced(opdef, given, hole), {}, f"a hole at {hole}", False)
    if any("int" in decl.elements for decl in inputs):
        given = numbers_of_shape(opdef, (3, 5), rng)
        narrow = each(given, lambda a: a.astype(np.int32) if a.dtype == np.int64 else a)
        yield Call(narrow, {}, "int32", False, extra=True)
    for shape, reason in LARGER:
        reason = f"lengths {shape}" if opdef.shapes else reason
        yield Call(numbers_of_shape(opdef, shape, rng), {}, reason, False, extra=True)
    if not ruled(opdef):
        yield from _great(opdef, rng)
    for name, value, invented in others(opdef):
        with suppress(NoValuesError):  # a length may be of that attribute
            given = numbers_of_shape(opdef, (3, 5), rng, {name: value})
            is_extra = invented is not None
            for values in _with_and_without(opdef, given):
                yield Call(values, {name: value}, f"another {name}", False, extra=is_extra, invented=invented)
    is_list = any(decl.kind == "list" for decl in inputs)
    if isinstance(opdef.infer, type(broadcast)) and (is_list or len(inputs) > 1):
        yield Call(_beside(opdef, [(3, 5), (5,), (3, 1), ()], rng), {}, "broadcast", False)
        mixed = numbers_of_shape(opdef, (2, 3), rng)
        first, *rest = flat(mixed)
        (short,) = Call([first], {}).cast(np.dtype("float32")).inputs
        yield Call(refill(mixed, [short, *rest]), {}, "float32 beside float64", False)
        for pair in PAIRS:
            yield Call(_beside(opdef, pair, rng), {}, "broadcast", False, extra=True)


# Any: one entry per input.
def _with_and_without(opdef: OpDef, given: list[Any]) -> list[list[Any]]:
    """Returns inputs, and where some are optional also those without: the op may refuse what was put there."""
    optional = [decl.kind == "optional" for decl in opdef.schema.inputs]
    without = [None if leave else value for leave, value in zip(optional, given, strict=True)]
    return [given, without] if any(optional) else [given]


# Any: one entry per input.
def pierced(opdef: OpDef, inputs: Sequence[Any], hole: int) -> list[Any]:
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
        if decl.name in opdef.shapes:
            (shape,) = _declared(opdef, i, [[(size,)]] * len(inside), {})
            arrays = [np.resize(array, shape) for array in arrays]
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
    shapes = [_declared(opdef, i, shapes, attrs) for i in range(len(shapes))]
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


def _declared(
    opdef: OpDef, position: int, shapes: Sequence[Sequence[tuple[int, ...]]], attrs: Mapping[str, Any]
) -> Sequence[tuple[int, ...]]:
    """Returns the shapes of an input, or what its domain says in their place.

    Raises:
        NoValuesError: with these attributes there is none.
    """
    dims = opdef.shapes.get(opdef.schema.input_names[position])
    if dims is None:
        return shapes[position]
    shape = dims.shape(lengths_named(opdef, shapes[0][0], attrs))
    if shape is None:
        raise NoValuesError(f"{opdef.subject}: no values of shape {dims} with the attributes {attrs or 'as they are'}")
    return [shape]


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
