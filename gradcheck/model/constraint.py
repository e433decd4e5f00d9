"""What an input may be: an interval for each number, and rules for all of them, such as that a matrix is symmetric.

A rule is a projection, which moves values onto a set and leaves those that lie there; its sampler and its tangent space
are given with it or follow from it. Whatever draws, varies, resizes or perturbs an input goes through `Domain.project`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from gradcheck.errors import UsageError
from gradcheck.model.dims import Dims
from gradcheck.model.dtypes import (
    Array,
    FloatArray,
    as_float64,
    from_float64,
    is_continuous,
    resolution,
    widened,
)
from gradcheck.model.interval import Interval

Shape: TypeAlias = tuple[int, ...]
# Any: functions of an author, of values and of whatever other inputs they name.
Project = Callable[..., Any]
Sample = Callable[..., Any]
Tangent = Callable[..., Any]

# An interval and rules take turns until both leave the values alone; two that agree nowhere are given up.
_TURNS = 8
_INCLUSIVE = {"both": (False, False), "left": (False, True), "right": (True, False), "neither": (True, True)}
# Values that were computed to lie in a set are off by some roundings of the largest.
_UNITS = 256.0


@dataclass(frozen=True)
class Rule:
    """A set of arrays, by what is known of it.

    Args:
        name: what its members are, in words that follow "expected".
        project: project(values, *others): a member near the values, themselves where they are one.
        of: the names of the inputs, or attributes, that `project` and the others take after the values.
        sample: sample(shape, generator, *others): a member; the projection of random numbers without it.
        tangent: tangent(values, direction, *others): the nearest direction in which members lie at a member; found from
            the projection without it.
        shape: shape(wanted, *others): the shape that a member has where another one was wanted.
        dtype: of the members, where nobody says.
    """

    name: str
    project: Project
    of: tuple[str, ...] = ()
    sample: Sample | None = None
    tangent: Tangent | None = None
    shape: Callable[..., Shape] | None = None
    dtype: str = "float64"


@dataclass(frozen=True)
class Domain(Interval):
    """What an input may be.

    Args:
        low: the least number, a part of a complex one by itself; -inf for none.
        high: the greatest; inf for none.
        is_open: whether the low and the high end are outside.
        rules: sets that the whole array lies in.
        dims: the lengths of its axes; None for any.
        make: what gives it with other options, for those that have any.
        held: values by name, of what rules name and no input is called.
    """

    rules: tuple[Rule, ...] = ()
    dims: Dims | None = None
    make: Callable[..., Domain] | None = field(default=None, repr=False, compare=False)
    held: Mapping[str, object] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, **options: Any) -> Domain:
        """Gives the domain with options.

        Raises:
            UsageError: it has no such options.
        """
        try:
            return (self.make or _takes_none)(**options)
        except TypeError as error:
            raise UsageError(f"domain {self.name}: expected options that it has, got {options}: {error}") from error

    def __and__(self, other: object) -> Domain:
        """Gives the domain of what lies in both; the other one may be (low, high)."""
        both = read_one(other, self.name)
        low, high = max(self.low, both.low), min(self.high, both.high)
        dims = self.dims or both.dims
        if low > high:
            raise UsageError(f"domain: expected intervals with a number in common, got {self.name} & {both.name}")
        if both.dims not in (None, dims):
            raise UsageError(f"domain: expected one shape of an input, got {dims} & {both.dims}; leave one out")
        is_open = tuple(
            any(part.is_open[side] for part in (self, both) if (part.low, part.high)[side] == end)
            for side, end in enumerate((low, high))
        )
        return Domain(low, high, is_open, self.rules + both.rules, dims, held={**self.held, **both.held})

    __rand__ = __and__

    @property
    def name(self) -> str:
        """What its members are, in words."""
        words = [rule.name for rule in self.rules]
        words += [] if self.dims is None else [f"of shape {self.dims}"]
        if self.is_bounded or not words:
            left, right = "(["[not self.is_open[0]], ")]"[not self.is_open[1]]
            words.append(f"in {left}{self.low:g}, {self.high:g}{right}")
        return " and ".join(words)

    @property
    def of(self) -> tuple[str, ...]:
        """The names of the inputs and attributes that its rules take."""
        return tuple(dict.fromkeys(name for rule in self.rules for name in rule.of))

    @property
    def dtype(self) -> str:
        """The dtype of its members, where nobody says."""
        return next((rule.dtype for rule in self.rules), "float64")

    def holding(self, values: Mapping[str, object]) -> Domain:
        """Gives the domain with what its rules name held at values, those of the same name before."""
        dims = None if self.dims is None else self.dims.holding(values)
        return replace(
            self, dims=dims, held={**self.held, **{name: values[name] for name in self.of if name in values}}
        )

    def project(self, array: Array, beside: Mapping[str, object] = {}) -> Array:
        """Moves values inside: those outside an interval to its other side, as in a mirror, then onto each set.

        Args:
            array: of any dtype.
            beside: the other inputs, by name.

        Returns:
            A new array of the same shape and dtype.

        Raises:
            Exception: whatever a rule's projection raises of values of such a shape.
        """
        if is_continuous(array.dtype):
            wide = widened(array)
            return from_float64(as_float64(self._onto(wide, beside)), array)
        made = self._onto(array if array.dtype.kind == "b" else array.astype(np.int64), beside)
        return np.array(made, dtype=array.dtype)

    def numbers(self, values: FloatArray, like: Array, beside: Mapping[str, object] = {}) -> FloatArray:
        """Moves the numbers of an array of `like`'s kind inside; in float64, as `as_float64` gives them."""
        if not self.rules:
            return self.fold(values)
        return as_float64(self.project(from_float64(values, widened(like)), beside))

    def _onto(self, array: Array, beside: Mapping[str, object]) -> Array:
        for _ in range(_TURNS if len(self.rules) + self.is_bounded > 1 else 1):
            before = array
            if self.is_bounded:
                array = self._folded(array)
            for rule in self.rules:
                array = np.asarray(rule.project(array, *self.others(rule, beside)))
                if array.shape != before.shape:
                    raise UsageError(
                        f"domain {rule.name}: expected a projection of the shape that it is given, {before.shape}, "
                        f"got {array.shape}; return an array like the values"
                    )
            if array.dtype == before.dtype and np.array_equal(array, before):
                break
        return array

    def _folded(self, array: Array) -> Array:
        if is_continuous(array.dtype):
            return from_float64(self.fold(as_float64(array)), array)
        whole = Domain(np.ceil(self.low), np.floor(self.high))  # both of which may be infinite
        return np.asarray(np.rint(whole.fold(array.astype(np.float64)))).astype(array.dtype)

    def others(self, rule: Rule, beside: Mapping[str, object]) -> list[object]:
        """Gives what a rule takes after the values."""
        return [beside[name] if name in beside else self.held[name] for name in rule.of]

    def draw(
        self, shape: Shape, dtype: np.dtype[Any], generator: np.random.Generator, beside: Mapping[str, object] = {}
    ) -> Array:
        """Gives random values inside, of a shape, or of the one that belongs in its place.

        Raises:
            Exception: whatever a rule raises of such a shape.
        """
        shape = self.fitted(shape, beside)
        for rule in self.rules[:1]:
            if rule.sample is not None:
                made = np.asarray(rule.sample(shape, generator, *self.others(rule, beside)))
                return self.project(_cast(made, dtype, generator), beside)
        return self.project(_random(shape, dtype, generator), beside)

    def fitted(self, shape: Shape, beside: Mapping[str, object] = {}) -> Shape:
        """Gives the shape that a member has where another one was wanted."""
        for rule in self.rules:
            if rule.shape is not None:
                shape = tuple(rule.shape(shape, *self.others(rule, beside)))
        return shape

    def broken(self, array: Array, beside: Mapping[str, object] = {}) -> tuple[tuple[int, ...], object] | None:
        """Gives the place, in numbers, that is furthest from where it would lie inside, and what would be there.

        Raises:
            Exception: whatever a rule raises of such values.
        """
        there = self.project(array, beside)
        if not is_continuous(array.dtype):
            wrong = np.asarray(there != array)
            distance = np.abs(there.astype(np.float64) - array.astype(np.float64))
            return None if not wrong.any() else _greatest(np.where(wrong, distance, -1.0), there)
        given, held = as_float64(array), as_float64(there)
        outside = (given < self.low) | (given > self.high)
        outside |= (given == self.low) & self.is_open[0] | (given == self.high) & self.is_open[1]
        if self.rules:
            finite = np.abs(given[np.isfinite(given)])
            allowed = _UNITS * resolution(array.dtype) * float(np.max(finite, initial=0.0))
            outside |= np.abs(given - held) > allowed  # False where one is nan
        return _greatest(np.where(outside, np.abs(given - held), -1.0), held) if outside.any() else None


def read_one(item: object, name: str) -> Domain:
    """Reads what may be declared of one input: None, (low, high), a domain, or a function that is its projection.

    Raises:
        UsageError: it is none of these.
    """
    if item is None:
        return Domain()
    if isinstance(item, Domain):
        return item
    if isinstance(item, Sequence) and not isinstance(item, str) and len(item) == 2:
        low = -math.inf if item[0] is None else float(item[0])
        high = math.inf if item[1] is None else float(item[1])
        if low <= high:
            return Domain(low, high)
        raise UsageError(
            f"domain of {name!r}: expected (low, high) with low <= high, got {item!r}; swap or correct them"
        )
    if all(hasattr(item, part) for part in ("low", "high", "inclusive")):  # such as opsdk.Range
        return read_interval(item.low, item.high, item.inclusive)  # type: ignore[attr-defined]
    if callable(item):
        return constraint(item)
    raise UsageError(
        f"domain of {name!r}: expected (low, high), one of gradcheck.domain, or a function that gives the nearest "
        f"values inside, got {item!r}; None stands for no bound"
    )


def read_interval(low: float | None, high: float | None, inclusive: str) -> Domain:
    """Gives the domain of the numbers from low to high, with the ends that are named.

    Raises:
        UsageError: nothing lies between the ends, or `inclusive` is something else.
    """
    if inclusive not in _INCLUSIVE:
        known = ", ".join(map(repr, _INCLUSIVE))
        raise UsageError(f"interval, inclusive: expected {known}, got {inclusive!r}; choose one")
    ends = -math.inf if low is None else float(low), math.inf if high is None else float(high)
    is_open = tuple(is_out and math.isfinite(end) for is_out, end in zip(_INCLUSIVE[inclusive], ends, strict=True))
    if not (ends[0] < ends[1] or (ends[0] == ends[1] and not any(is_open))):
        raise UsageError(f"interval: expected numbers between its ends, got none between {low} and {high}; swap them")
    return Domain(*ends, is_open)


# Any: functions of an author.
def constraint(
    project: Callable[..., Any],
    *,
    name: str | None = None,
    sample: Callable[..., Any] | None = None,
    tangent: Callable[..., Any] | None = None,
    shape: Callable[..., Shape] | None = None,
) -> Domain:
    """Makes a domain of a function that gives the nearest values inside; where other inputs decide, it names them.

    Args:
        project: project(values, *others) -> an array like the values, float64 or complex128, int64 or bool: themselves
            where they lie inside. Parameters after the first are names of other inputs, or of attributes of an op.
        name: what such values are, in words that follow "expected"; by default the function's name.
        sample: sample(shape, generator, *others) -> values inside; the projection of random numbers unless given.
        tangent: tangent(values, direction, *others) -> the part of a direction, of the values' shape, that stays inside
            at values inside. By default it is found by differentiating the projection.
        shape: shape(wanted, *others) -> the shape that such values have, where it is not any.

    Returns:
        A value of `domain=`, here and in `opsdk.op`; `&` gives what lies in two.

    Raises:
        UsageError: a function takes other parameters.

    Example:
        >>> import numpy as np
        >>> centred = constraint(lambda values: values - values.mean(), name="of mean zero")
        >>> centred.project(np.array([1.0, 3.0]))
        array([-1.,  1.])
    """
    given = {"project": project, "sample": sample, "tangent": tangent, "shape": shape}
    for role, function in given.items():
        if function is not None and not callable(function):
            raise UsageError(f"constraint, {role}: expected a function, got {function!r}; pass the function itself")
    called = name or getattr(project, "__name__", "").strip("<>_").replace("_", " ") or "as declared"
    rule = Rule(called, project, _names_after_first(project), sample, tangent, shape)
    return Domain(rules=(rule,))


def _takes_none() -> Domain:
    """Stands for what makes a domain that has no options."""
    return Domain()


def _names_after_first(project: Callable[..., Any]) -> tuple[str, ...]:
    try:
        parameters = list(inspect.signature(project).parameters.values())
    except (TypeError, ValueError):  # of a function in C nothing is known
        return ()
    if not parameters:
        raise UsageError("constraint, project: expected a parameter for the values, got a function of none; write one")
    return tuple(p.name for p in parameters[1:] if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD)


def _cast(made: Array, dtype: np.dtype[Any], generator: np.random.Generator) -> Array:
    if dtype.kind == "c" and made.dtype.kind != "c" and made.size:
        made = made + 1j * generator.standard_normal(made.shape)
    return np.array(made, dtype=dtype)


def _random(shape: Shape, dtype: np.dtype[Any], generator: np.random.Generator) -> Array:
    if is_continuous(dtype):
        return _cast(generator.standard_normal(shape), dtype, generator)
    most = 1 if dtype.kind == "b" else max(max(shape, default=1), 7)
    return np.asarray(generator.integers(0, most, shape, endpoint=True)).astype(dtype)


def _greatest(distance: FloatArray, there: Array) -> tuple[tuple[int, ...], object]:
    place = tuple(int(i) for i in np.unravel_index(int(np.argmax(np.nan_to_num(distance, nan=np.inf))), distance.shape))
    return place, there[place].item()


def with_options(make: Callable[..., Rule]) -> Domain:
    """Gives the domain of a rule with options, at their defaults; calling it gives it with others."""

    def domain(**options: Any) -> Domain:  # Any: each rule's own
        return Domain(rules=(make(**options),), make=domain)

    return domain()
