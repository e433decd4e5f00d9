"""Joined: several inputs of a subject as one, so that what the derivative of each would take is taken once.

However few elements are measured one by one, gradcheck calls a function some 250 times for each input, most of them
along directions in which all of its elements move. Joined, the elements of all inputs do. Where an error in one input
would be lost beside the gradient of another, inputs stay apart; and where anything is found, or cannot be decided, each
input is to be judged by itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gradcheck
from gradcheck.model.constraint import Domain
from opsdk.verify.gradients import Arrays, Forward
from opsdk.verify.inputs.calls import is_float
from opsdk.verify.subjects import Subject

_DTYPES = ("float32", "float64")
_FACTOR = 2.0**10  # between the largest gradients of inputs that are joined, each in units of its input
_SHARP = 0.05  # of a gradient: what gradcheck itself has to see of an input to judge it


@dataclass(frozen=True)
class _Part:
    """An input that is joined to others: a multiple of a piece of the one that stands for all.

    Args:
        position: among the inputs of the subject.
        shape: of the input.
        unit: a power of two, near its typical element: what numbers of the piece are multiplied by.
        size: of its gradient, in that unit.
    """

    position: int
    shape: tuple[int, ...]
    unit: float
    size: float


def error_seen(subject: Subject, seed: int, budget: int) -> tuple[float, int] | None:
    """Judges a subject with inputs joined: the least error it would see of each, and how many elements it measured.

    None where nothing can be joined, or each input has to be judged by itself.
    """
    try:
        groups = _groups(subject, seed)
        if len(groups) == len(subject.inputs):
            return None
        report = gradcheck.check(
            **vars(_joined(subject, groups)), seed=seed, budget=budget, vary=False, behaviour=False
        )
    except Exception:  # told where the inputs are judged one by one
        return None
    coverage = report.coverage
    sizes = [[part.size for part in group] for group in groups if len(group) > 1]
    spread = max(max(of) / min(of) for of in sizes)
    seen = coverage.smallest_error_seen * spread
    is_clear = report.verdict == "pass" and not coverage.inconclusive and not coverage.skipped and seen <= _SHARP
    return (seen, coverage.tested) if is_clear else None


def _groups(subject: Subject, seed: int) -> list[list[_Part]]:
    """Returns the inputs in groups that may move as one: of one dtype and domain, with gradients of like size."""
    rng = np.random.default_rng([seed, 41])
    made = subject.forward(*(array.copy() for array in subject.inputs))
    cotangents = tuple(np.asarray(rng.standard_normal(output.shape)).astype(output.dtype) for output in made)
    gradients = subject.vjp(tuple(array.copy() for array in subject.inputs), made, cotangents)
    found: list[tuple[object, list[_Part]]] = []
    entries = zip(subject.inputs, subject.names, subject.domain, gradients, strict=True)
    for k, (array, name, where, gradient) in enumerate(entries):
        part = _Part(k, array.shape, _unit(array), _size(array, gradient))
        # Bounds count on the scale that inputs are joined on; a declared error is a share of the gradient of each.
        kind = array.dtype.name, where.low / part.unit, where.high / part.unit, where.is_open
        is_held = bool(where.rules or subject.accuracy or name in subject.nondifferentiable)
        may_join = array.dtype.name in _DTYPES and not is_held
        like = (group for other, group in found if may_join and other == kind and _is_like(group, part))
        if (group := next(like, None)) is None:
            found.append((kind if may_join else None, [part]))
        else:
            group.append(part)
    return [group for _, group in found]


def _unit(array: np.ndarray) -> float:
    numbers = np.abs(array[np.isfinite(array) & (array != 0)]) if is_float(array) else np.ones(0)
    return float(2.0 ** np.round(np.log2(np.median(numbers.astype(np.float64))))) if numbers.size else 1.0


def _size(array: np.ndarray, gradient: Any) -> float:  # Any: an array, or None
    if gradient is None or not is_float(array):
        return 0.0
    return float(np.max(np.abs(np.asarray(gradient, np.float64)), initial=0.0)) * _unit(array)


def _is_like(group: Sequence[_Part], part: _Part) -> bool:
    sizes = [part.size, *(other.size for other in group)]
    return min(sizes) > 0 and max(sizes) <= _FACTOR * min(sizes)


def _joined(subject: Subject, groups: Sequence[Sequence[_Part]]) -> Subject:
    """Returns a subject as a function of one input for each group."""

    def gathered(group: Sequence[_Part], arrays: Sequence[Any], power: float) -> Any:
        if len(group) == 1:
            return arrays[group[0].position]
        return np.concatenate([np.ravel(arrays[part.position]) * part.unit**power for part in group])

    def apart(arrays: Arrays) -> list[Any]:
        given = dict(pair for group, array in zip(groups, arrays, strict=True) for pair in _pieces(group, array))
        return [given[k] for k in range(len(given))]

    def vjp(arrays: Arrays, outputs: Arrays, cotangents: Arrays) -> tuple[Any, ...]:
        inputs = apart(arrays)
        gradients = list(subject.vjp(tuple(inputs), outputs, cotangents))
        for k in (part.position for group in groups if len(group) > 1 for part in group):
            gradients[k] = np.zeros_like(inputs[k]) if gradients[k] is None else gradients[k]
            if (gradients[k].shape, gradients[k].dtype) != (inputs[k].shape, inputs[k].dtype):
                raise ValueError("a gradient is not of the form of its input")
        return tuple(gathered(group, gradients, 1.0) for group in groups)

    def on_pieces(function: Forward) -> Forward:
        return lambda *arrays: function(*apart(arrays))

    return Subject(
        on_pieces(subject.forward),
        vjp,
        tuple(gathered(group, subject.inputs, -1.0) for group in groups),
        tuple(" and ".join(subject.names[part.position] for part in group) for group in groups),
        tuple(_scaled(subject.domain[group[0].position], group) for group in groups),
        subject.nondifferentiable,
        None if subject.surrogate is None else on_pieces(subject.surrogate),
        subject.accuracy,
    )


def _pieces(group: Sequence[_Part], array: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    if len(group) == 1:
        yield group[0].position, array
        return
    start = 0
    for part in group:
        stop = start + math.prod(part.shape)
        yield part.position, (array[start:stop] * array.dtype.type(part.unit)).reshape(part.shape)
        start = stop


def _scaled(where: Domain, group: Sequence[_Part]) -> Domain:
    """Returns the interval of a group on its own scale, of any shape; of an input alone its domain."""
    unit = group[0].unit
    return where if len(group) == 1 else Domain(where.low / unit, where.high / unit, where.is_open)
