"""Domains of whole numbers and bools: positions, lengths, segments, masks; they are drawn, varied and resized."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gradcheck.model.constraint import Domain, Rule, Shape, with_options
from gradcheck.model.dtypes import Array

_MISSING = 0.2  # the share of positions that are drawn as missing


def _ranks(values: Array) -> Array:
    return np.argsort(np.argsort(values, axis=-1, kind="stable"), axis=-1, kind="stable")


permutation = Domain(
    rules=(
        Rule(
            "a permutation of 0, 1, 2 and so on",
            _ranks,
            sample=lambda shape, generator: generator.permuted(
                np.broadcast_to(np.arange(shape[-1] if shape else 1), shape), axis=-1
            ),
            dtype="int64",
        ),
    ),
)


def positions(*, of: str, axis: int | str = 0, missing: int | None = None) -> Domain:
    """Gives the positions along an axis of another input: integers ≥ 0 and below its length there.

    Args:
        of: the name of that input.
        axis: of it; or the name of an attribute, or an input, that says which.
        missing: the number that stands for nowhere, such as -1, where there is one.

    Example:
        >>> import numpy as np
        >>> positions(of="x").project(np.array([0, 7]), {"x": np.zeros((5, 2))})
        array([0, 2])
    """

    def project(values: Array, length: int) -> Array:
        if missing is not None:
            placed = values % max(length, 1)
            return np.where((values == missing) | (length == 0), np.asarray(missing, values.dtype), placed)
        if values.size and not length:
            raise ValueError(f"expected positions along an axis of {of!r}, got one of length 0")
        return values % max(length, 1)

    def sample(shape: Shape, generator: np.random.Generator, length: int) -> Array:
        drawn = generator.integers(0, max(length, 1), shape)
        if missing is None:
            return np.asarray(drawn)
        return np.where((generator.random(shape) < _MISSING) | (length == 0), missing, drawn)

    what = "positions" if missing is None else f"positions, or {missing},"
    return _along_axis(what, of, axis, project, sample)


def lengths(*, of: str, axis: int | str = 0, least: int = 1) -> Domain:
    """Gives how many of the first elements along an axis of another input count: integers, the axis's length at most.

    Args:
        of: the name of that input.
        axis: of it; or the name of an attribute, or an input, that says which.
        least: the smallest one.

    Example:
        >>> import numpy as np
        >>> lengths(of="x", axis=1).project(np.array([0, 2, 7]), {"x": np.zeros((3, 5))})
        array([5, 2, 2])
    """

    def count_of(length: int) -> int:
        if length < least:
            raise ValueError(f"expected an axis of {of!r} of length {least} or more, got one of length {length}")
        return length - least + 1

    def project(values: Array, length: int) -> Array:
        return (values - least) % count_of(length) + least if values.size else values

    def sample(shape: Shape, generator: np.random.Generator, length: int) -> Array:
        return np.asarray(generator.integers(least, least + count_of(length), shape))

    return _along_axis(f"lengths from {least}", of, axis, project, sample)


def _along_axis(
    what: str,
    of: str,
    axis: int | str,
    project: Callable[[Array, int], Array],
    sample: Callable[[Shape, np.random.Generator, int], Array],
) -> Domain:
    """Gives a domain of integers that the length of an axis of another input decides."""

    def length(other: Any, named: Any = None) -> int:
        return int(np.shape(other)[int(named) if isinstance(axis, str) else axis])

    named = (of, axis) if isinstance(axis, str) else (of,)
    where = f"axis {axis}" if not isinstance(axis, str) else f"the axis {axis!r}"
    rule = Rule(
        f"{what} along {where} of {of!r}",
        lambda values, *others: project(values, length(*others)),
        named,
        lambda shape, generator, *others: sample(shape, generator, length(*others)),
        dtype="int64",
    )
    return Domain(rules=(rule,))


def segment_ids(*, of: str | None = None, axis: int = 0, below: str | int | None = None) -> Domain:
    """Gives the ids of segments in order: integers ≥ 0 that never fall along the last axis.

    Args:
        of: the name of the input whose parts they number, one id for each.
        axis: of it.
        below: how many segments there are; or the name of an attribute, or an input, that says so.
    """
    named = tuple(name for name in (of, below) if isinstance(name, str))

    def limit(others: tuple[Any, ...]) -> int | None:
        return int(others[-1]) if isinstance(below, str) else below

    def project(values: Array, *others: Any) -> Array:
        count = limit(others)
        made = np.abs(values)
        return np.sort(made if count is None else made % max(count, 1), axis=-1)

    def sample(shape: Shape, generator: np.random.Generator, *others: Any) -> Array:
        count = limit(others)
        most = max(1, (max(shape, default=1) + 1) // 2 if count is None else count)
        return np.sort(generator.integers(0, most, shape), axis=-1)

    def shape(wanted: Shape, *others: Any) -> Shape:
        return (np.shape(others[0])[axis],)

    lengths = None if of is None else shape
    return Domain(rules=(Rule("segment ids in order", project, named, sample, shape=lengths, dtype="int64"),))


@with_options
def mask(axis: int = -1, least: int = 0) -> Rule:
    """Bools, or numbers 0 and 1, of which `least` at least are true along an axis."""

    def project(values: Array) -> Array:
        made = values != 0
        line = np.moveaxis(made, axis, -1)
        if least and made.size:
            lacks = line.sum(axis=-1) < least
            line[lacks, :least] = True
        return np.array(made, dtype=values.dtype)

    return Rule("a mask", project, tangent=lambda values, direction: np.zeros_like(direction), dtype="bool")


@with_options
def prefix_mask(axis: int = -1, least: int = 0) -> Rule:
    """Bools, or numbers 0 and 1, of which the first ones along an axis are true, `least` at least."""

    def of_counts(counts: Array, values: Array) -> Array:
        places = np.moveaxis(np.arange(values.shape[axis]).reshape(-1, *[1] * (values.ndim - 1)), 0, axis)
        return np.asarray(places < np.maximum(counts, least)).astype(values.dtype)

    def project(values: Array) -> Array:
        return of_counts(np.sum(values != 0, axis=axis, keepdims=True), values)

    def sample(shape: Shape, generator: np.random.Generator) -> Array:
        line = np.zeros(shape, dtype=np.bool_)
        counts = np.sum(line, axis=axis, keepdims=True)
        return of_counts(generator.integers(0, shape[axis], counts.shape, endpoint=True), line)

    return Rule(
        "a mask of the first ones",
        project,
        sample=sample,
        tangent=lambda values, direction: np.zeros_like(direction),
        dtype="bool",
    )
