"""Draws of an op: the generators that its code reaches, set back for each run, and means over repeats."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from inspect import getclosurevars
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import as_float64, resolution, same_bits
from gradcheck.numeric.tolerance import gradients_close
from opsdk.core.random import stream
from opsdk.define.identity.referents import reads_of, stock_name
from opsdk.define.opdef import OpDef
from opsdk.verify.inputs.calls import is_float, is_inexact
from opsdk.verify.subjects import Subject

# Objects that are looked at for generators: those of an op and its helpers, not of all that a program holds.
_MOST_OBJECTS = 2000
# The least error bar of a mean, as a share of it.
_ROUNDED = 1e-5
# Steps, in units of each element's scale, whose slopes give one of a higher order; shorter ones have larger error bars.
_STEPS = (0.5, 0.25)
# Four deviations of a mean of some dozen draws are left to chance.
_DEVIATIONS = 4.0
# What is left of the error of a slope that was extrapolated, beside what that changed.
_LEFT = 0.25
# A derivative that is known less well than this share of it could have any of several common faults.
_SHARP = 0.25


# Any, in this file: objects of an author's module, and states of generators.
def generators_of(opdef: OpDef) -> list[Any]:
    """Returns the generators of random numbers that the code of an op can reach: its own, and those of the process."""
    found: dict[int, Any] = {id(each): each for each in _of_the_process()}
    pending: list[Any] = [opdef.function, *(kernel.source for kernel in opdef.kernels)]
    seen: set[int] = set()
    while pending and len(seen) < _MOST_OBJECTS:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, (np.random.Generator, np.random.RandomState, random.Random)):
            found[id(value)] = value
        else:
            pending += _parts(value)
    return list(found.values())


def _of_the_process() -> Iterator[Any]:
    yield stream()
    yield random._inst  # that of the functions of the module
    yield np.random.mtrand._rand


def _parts(value: Any) -> Iterator[Any]:
    """Yields what an object of an author leads to; nothing for what a library has under its name."""
    if isinstance(value, FunctionType):
        if not stock_name(value):
            _, names, _ = reads_of(value.__code__)
            yield from (value.__globals__[name] for name in names if name in value.__globals__)
            with suppress(ValueError):  # a variable of an enclosing function may have no value yet
                yield from getclosurevars(value).nonlocals.values()
            yield from (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif type(value).__module__ not in sys.stdlib_module_names and not isinstance(value, (np.ndarray, type)):
        yield from getattr(value, "__dict__", {}).values()


@dataclass(frozen=True)
class Draws:
    """States of generators, to which they can be set again."""

    states: tuple[tuple[Any, Any], ...]

    @classmethod
    def of(cls, opdef: OpDef) -> Draws:
        """Returns the states that the generators of an op have now."""
        return cls(tuple((each, _state(each)) for each in generators_of(opdef)))

    def fixed(self, subject: Subject) -> Subject:
        """Returns a pair of functions before each of which all generators are set back, so that forwards draw alike.

        A backward that draws for itself gets what comes after, which is something else.
        """

        def again(function: Callable[..., Any]) -> Callable[..., Any]:
            def run(*arguments: Any) -> Any:
                for generator, state in self.states:
                    _restore(generator, state)
                return function(*arguments)

            return run

        surrogate = None if subject.surrogate is None else again(subject.surrogate)
        return replace(subject, forward=again(subject.forward), vjp=again(subject.vjp), surrogate=surrogate)


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.getstate() if isinstance(generator, random.Random) else generator.get_state()


def _restore(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)


def repeats(subject: Subject) -> bool:
    """Whether two forwards give the same, but for the order in which they add."""
    first, second = ([np.array(output) for output in subject.forward(*_copies(subject))] for _ in range(2))
    return all(
        gradients_close(as_float64(a), as_float64(b), resolution(a.dtype)) if is_inexact(a) else same_bits(a, b)
        for a, b in zip(first, second, strict=True)
    )


def _copies(subject: Subject) -> list[np.ndarray]:
    return [array.copy() for array in subject.inputs]


@dataclass(frozen=True)
class Mean:
    """A mean gradient beside the slope of the mean, along a direction of one input.

    Args:
        name: of the input.
        yours: the mean of the gradient along the direction.
        slope: that of the mean of the outputs, weighed with the cotangents.
        bar: how far the two may be apart by chance, and by the length of the steps.
    """

    name: str
    yours: float
    slope: float
    bar: float

    @property
    def share(self) -> float:
        """The error bar beside what it is of."""
        size = max(abs(self.yours), abs(self.slope))
        return self.bar / size if size else 0.0 if not self.bar else np.inf

    @property
    def is_wrong(self) -> bool:
        """Whether chance does not explain the difference."""
        return not abs(self.yours - self.slope) <= self.bar

    @property
    def is_sharp(self) -> bool:
        """Whether a fault of the usual size would have shown."""
        return self.share <= _SHARP


def means(subject: Subject, count: int, rng: np.random.Generator) -> Iterator[Mean]:
    """Yields, for each floating input, the mean gradient beside the slope of the mean, along the signs of the first.

    Along these nothing cancels, so that chance is as small beside the slope as it can be.

    Args:
        subject: whose forward and vjp draw anew at every call.
        count: how many draws each mean is of, ≥ 2.
        rng: of directions and cotangents.
    """
    outputs = subject.forward(*_copies(subject))
    cotangents = [
        (rng.choice([-1.0, 1.0], o.shape) * rng.uniform(0.5, 1.5, o.shape)).astype(o.dtype) if is_float(o) else o * 0
        for o in map(np.asarray, outputs)
    ]

    def weighed(inputs: Sequence[np.ndarray]) -> float:
        made = subject.forward(*(array.copy() for array in inputs))
        terms = [as_float64(o) * as_float64(c) for o, c in zip(made, cotangents, strict=True) if is_float(o)]
        return float(sum(term.sum() for term in terms))

    def pulled(k: int) -> np.ndarray:
        inputs = _copies(subject)
        made = subject.vjp(inputs, subject.forward(*inputs), [c.copy() for c in cotangents])[k]
        return np.zeros(inputs[k].shape) if made is None else as_float64(made)

    for k, (name, value) in enumerate(zip(subject.names, subject.inputs, strict=True)):
        if not is_float(value) or not value.size or name in subject.nondifferentiable:
            continue
        room = measure_room(as_float64(value), subject.domain[k])
        pilot = sum(pulled(k) for _ in range(max(2, count // 4)))  # other draws, so that they choose no outlier
        direction = np.where(pilot < 0, -1.0, 1.0) * room.scale * room.up * room.down
        yours = _mean([float((pulled(k) * direction).sum()) for _ in range(count)])
        (coarse, coarse_bar), (fine, fine_bar) = (
            _slope(weighed, subject, k, step * direction, step, count) for step in _STEPS
        )
        slope = (4.0 * fine - coarse) / 3.0
        chance = np.sqrt(yours[1] ** 2 + (16.0 * fine_bar**2 + coarse_bar**2) / 9.0)
        bar = _DEVIATIONS * chance + _LEFT * abs(slope - fine) + _ROUNDED * max(abs(slope), abs(yours[0]))
        yield Mean(name, yours[0], slope, float(bar))


def _slope(
    weighed: Callable[[Sequence[np.ndarray]], float],
    subject: Subject,
    k: int,
    move: np.ndarray,
    step: float,
    count: int,
) -> tuple[float, float]:
    """Returns the mean slope over a step to both sides, and its standard error."""

    def beside(sign: float) -> list[np.ndarray]:
        inputs = _copies(subject)
        inputs[k] = (as_float64(inputs[k]) + sign * move).astype(inputs[k].dtype)
        return inputs

    return _mean([(weighed(beside(1.0)) - weighed(beside(-1.0))) / (2.0 * step) for _ in range(count)])


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Returns the mean of draws and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))
