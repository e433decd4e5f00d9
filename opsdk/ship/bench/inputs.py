"""Large inputs: a call of about n elements, as the op's author declares it, or one of its samples enlarged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from gradcheck.model.dims import Length, least_lengths
from opsdk.backends.call.buffers import infer
from opsdk.backends.memory.arena import empty
from opsdk.core.errors import ShapeError, TargetError
from opsdk.core.origin import origin_of
from opsdk.core.spec import TensorSpec
from opsdk.define.call import complete_attrs
from opsdk.define.infer import broadcast
from opsdk.define.opdef import OpDef
from opsdk.define.sample import Sample
from opsdk.expr.row.row_infer import RowInfer
from opsdk.expr.scalar import ScalarFunction
from opsdk.verify.inputs.calls import Call, each, flat, is_float
from opsdk.verify.inputs.domains import held
from opsdk.verify.inputs.sampling import UnusableSamplesError, calls_of, from_sample
from opsdk.verify.inputs.sizes import Key, Label, key_of, labels_of, length_at
from opsdk.verify.inputs.stock import NoValuesError, numbers_of_shape

T = TypeVar("T")
ROW = 1024  # elements along the last axis, which is what a row op works on
_ORDINARY = 100.0  # samples with greater numbers try overflow; they are no everyday input
_GROWTH = 64  # outputs larger than n by more than this come from axes that should not have grown together


def sizes_of(text: str) -> tuple[int, ...]:
    """Returns the sizes that `--n` names: `1M`, `4K,64K,1M`, `1000`; K, M and G are powers of 1024.

    Raises:
        TargetError: it names none.
    """
    sizes = []
    for part in text.split(","):
        plain = part.strip().replace("_", "").upper()
        power = "KMG".find(plain[-1:]) + 1 if plain[-1:] else 0
        digits = plain[:-1] if power else plain
        if not digits.isdecimal() or int(digits) < 1:
            raise TargetError(f"--n: expected a number of elements such as 1000, 64K or 1M, got {part!r}; K is 1024")
        sizes.append(int(digits) * 1024**power)
    return tuple(sizes)


def large_call(opdef: OpDef, n: int, dtype: np.dtype[Any], accepts: Callable[[Call], T]) -> T:
    """Finds a call of an op with about n elements in its largest input, and returns what is made of it.

    Args:
        opdef: a forward op.
        n: elements, ≥ 1.
        dtype: of its floating inputs.
        accepts: runs a call, makes something of it, and raises where the op does not take it.

    Raises:
        TargetError: no such call can be made without the op's author.
        UnusableSamplesError: what the author declared is no call of the op.
    """
    rng = np.random.default_rng([0, 13])
    if opdef.bench is not None:
        return _declared(opdef, n, dtype, rng, accepts)
    refused = "there are none to enlarge"
    for call in _candidates(opdef, n, rng):
        there = call.cast(dtype)
        try:
            _check_proportions(opdef, there, n)
            return accepts(there)
        except Exception as error:  # a guess that was wrong
            refused = f"{there} raised {type(error).__name__}: {error}"
    name = opdef.schema.name
    raise TargetError(
        f"{opdef.subject}: expected inputs that can be enlarged to {n} elements, {refused}; say how with "
        f"@{name}.bench: def {name}_bench(rng, n): return opsdk.Sample(...)"
    )


def _declared(opdef: OpDef, n: int, dtype: np.dtype[Any], rng: np.random.Generator, accepts: Callable[[Call], T]) -> T:
    assert opdef.bench is not None
    subject = f"{opdef.subject}, bench: expected an opsdk.Sample"
    try:
        made = opdef.bench(rng, n)
        if isinstance(made, Sample):
            return accepts(from_sample(opdef, made).cast(dtype))
    except Exception as error:
        raise UnusableSamplesError(
            f"{subject} that the op takes, raised {type(error).__name__}: {error}", at=str(origin_of(opdef.bench))
        ) from error
    raise UnusableSamplesError(f"{subject}, got {type(made).__name__}; return opsdk.Sample(...)")


def _candidates(opdef: OpDef, n: int, rng: np.random.Generator) -> Iterator[Call]:
    """Yields calls, the likeliest to be one of the op first; whether it takes them is another question."""
    is_sampled = opdef.samples is not None or bool(opdef.shapes)
    if (not is_sampled or _takes_any_shape(opdef)) and opdef.schema.inputs:
        shape = (n // ROW, ROW) if n >= ROW else (n,)
        with suppress(NoValuesError):
            yield Call(numbers_of_shape(opdef, shape, rng), {}, f"{n} elements", declared=False)
    for call in sorted(calls_of(opdef, None, 0), key=_suitability) if is_sampled else ():
        arrays = flat(call.inputs)
        if any(array.size for array in arrays):
            labels = labels_of(opdef, call)
            biggest = max(range(len(arrays)), key=lambda k: arrays[k].size)
            for lengths in _growths(labels[biggest], arrays[biggest].shape, n):
                left = iter(labels)
                with suppress(Exception):  # a rule refuses such a shape: another call may have values inside
                    inputs = each(call.inputs, lambda array: grown(array, next(left), lengths, rng))  # noqa: B023
                    yield held(opdef, replace(call, inputs=inputs))


def _takes_any_shape(opdef: OpDef) -> bool:
    """Whether inputs of one shape are right whatever the samples are: numbers, element by element."""
    inputs = opdef.schema.inputs
    is_expression = any(row.form == ScalarFunction.kernel_form for row in opdef.kernels)
    by_element = is_expression or isinstance(opdef.infer, (type(broadcast), RowInfer))
    needs = any(decl.is_required for decl in opdef.schema.attrs)
    return by_element and not needs and all(decl.kind == "tensor" for decl in inputs)


def _suitability(call: Call) -> tuple[bool, bool, bool, int]:
    """Sorts samples: attributes at their defaults, ordinary numbers and several axes first, then the larger ones."""
    arrays = flat(call.inputs)
    numbers = [array for array in arrays if is_float(array) and array.size]
    ordinary = all(bool((np.abs(array) <= _ORDINARY).all()) for array in numbers)  # nan is not either
    return bool(call.attrs), not ordinary, max((a.ndim for a in arrays), default=0) < 2, -sum(a.size for a in arrays)


def _growths(labels: Sequence[Label], shape: tuple[int, ...], n: int) -> Iterator[dict[Key, int]]:
    """Yields new lengths by what axes go by. Those of length 1 are broadcast, and stay, as do lengths that are fixed.

    First rows of a usual length and as many as it takes, then each length alone, from the first axis on.
    """
    pairs = list(zip(labels, shape, strict=True))
    free = list(dict.fromkeys(key_of(label) for label, length in pairs if label is not None and length > 1))
    last = None if not labels or labels[-1] is None else key_of(labels[-1])
    if len(free) > 1 and last in free and n >= ROW:
        leading = next(key for key in free if key != last)
        yield {last: ROW, leading: _solved(pairs, leading, {last: ROW}, n)}
    for key in free:
        yield {key: _solved(pairs, key, {}, n)}


def _solved(pairs: Sequence[tuple[Label, int]], which: Key, others: Mapping[Key, int], n: int) -> int:
    """Returns what a length has to become for a shape to have about n elements, when others become what they do."""
    own = [label for label, _ in pairs if label is not None and key_of(label) == which]
    rest = math.prod(length_at(label, length, others) for label, length in pairs if label not in own)
    factors = math.prod(label.factor for label in own if isinstance(label, Length))
    return max(1, *least_lengths(own).values(), round((n / (rest * factors)) ** (1 / len(own))))


def grown(
    array: np.ndarray, labels: Sequence[Label], lengths: Mapping[Key, int], rng: np.random.Generator
) -> np.ndarray:
    """Returns an array with axes of other lengths; its slices are those of the original, in random order.

    Args:
        array: the original.
        labels: what its axes go by.
        lengths: the new lengths, by that.
        rng: chooses the slices.
    """
    for axis, label in enumerate(labels):
        new = length_at(label, array.shape[axis], lengths)
        if new != array.shape[axis]:
            array = np.take(array, rng.integers(0, array.shape[axis], new), axis=axis)
    return array


def _check_proportions(opdef: OpDef, call: Call, n: int) -> None:
    """Refuses a call before it runs whose outputs, as far as the infer rule knows them, would be out of proportion.

    Raises:
        ShapeError: an output would have far more elements than the inputs.
    """
    for spec in infer(opdef, call.inputs, complete_attrs(opdef, call.attrs)):
        size = math.prod(dim or 1 for dim in spec.shape) if isinstance(spec, TensorSpec) else 0
        if size > _GROWTH * n:
            raise ShapeError(f"{opdef.subject}: expected outputs of at most {_GROWTH * n} elements, got {spec}")


def placed(array: np.ndarray) -> np.ndarray:
    """Returns a copy that lies as a tensor does, aligned: a kernel and a peer that lie otherwise compare by luck."""
    copy = empty(array.shape, array.dtype)
    copy[...] = array
    return copy
