"""Other sizes: lengths that forward lets change are changed, and what vjp gives there is judged.

Equal lengths change together, an axis of length 1 by itself. A length counts as variable only where forward accepts a
smaller and a larger one, or two that are longer than 1, and its output shapes follow; so a weight of fixed shape inside
forward fixes its lengths, and nothing is said of them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from gradcheck.checks.agreement import identical
from gradcheck.checks.behaviour import check_count, check_shapes
from gradcheck.checks.lengths import (
    Group,
    Laws,
    axes_of,
    changed,
    declared,
    follow,
    groups_of,
    length_of,
    partners,
    single_axes,
)
from gradcheck.checks.points import PointCheck
from gradcheck.checks.session import copy_arrays
from gradcheck.checks.state import mixed
from gradcheck.explain.wording import repro_call
from gradcheck.judge.variation import Shape, gather, resize_inputs
from gradcheck.model.domain import measure_room
from gradcheck.model.dtypes import Array, is_continuous
from gradcheck.model.evaluation import Point, VjpError, call_forward, call_vjp
from gradcheck.model.protocol import Subject, copy_inputs
from gradcheck.numeric.columns import is_elementwise, owners
from gradcheck.report import Finding

_ODD = (7, 5, 11, 3, 13)  # no two have a common factor, and vectors of 2, 4 or 8 leave a rest
_SMALL = (4, 2, 6, 3)
_LONG = 74  # even, beyond a vector of 64, with a rest for any of 3 to 64 elements but 37
# Primes beyond the blocks of kernels, which leave a rest in each: of a row or a column, of a sum, and of a launch.
_BEYOND, _FAR_BEYOND = 263, 1031
_GROWN = (3, 2, 5)  # of an axis of length 1
_EQUAL = 5
_VARIABLE_LIMIT = 4
_ELEMENT_LIMIT = 20_000
_SQUARE = (5, 3)
# Elements measured singly at further sizes, and at those that only ask whether a fault shows: there all together move
# along three directions, of which one that fails leads to an element.
_SOME, _GLANCE = 6, 3


@dataclass(frozen=True)
class _Attempt:
    """Inputs of other shapes that forward accepted, and what it made of them."""

    inputs: tuple[object, ...]
    outputs: tuple[Array, ...]
    label: str
    is_finite: bool


def check_sizes(
    subject: Subject, inputs: tuple[object, ...], values: PointCheck, seed: int, forward_eps: float
) -> list[Finding]:
    """Judges vjp at other sizes; one that was written for the given sizes alone gets a note instead."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a mean over nothing warns of what is skipped anyway
        return _Sizes(subject, inputs, values, seed, forward_eps).judge()


class _Sizes:
    def __init__(
        self, subject: Subject, inputs: tuple[object, ...], values: PointCheck, seed: int, forward_eps: float
    ) -> None:
        self.subject = subject
        self.inputs = inputs
        self.values = values
        self.seed = seed
        self.forward_eps = forward_eps
        self.generator = np.random.default_rng([seed, 7])
        self.old = tuple(output.shape for output in call_forward(subject, inputs))
        self.shapes = tuple(value.shape if isinstance(value, np.ndarray) else None for value in inputs)
        self.laws = Laws(self.old)

    def judge(self) -> list[Finding]:
        findings: list[Finding] = []
        live: list[Group] = []
        for group in groups_of(self.subject, self.inputs, self.shapes, _VARIABLE_LIMIT):
            found = self._probe(group)
            if found is not None:
                live.append(group)
                findings += found
        grown: list[Group] = []
        for group in single_axes(self.shapes, _VARIABLE_LIMIT, declared(self.subject, self.shapes)):
            if len(group.axes) > 1 and grown:  # what grows by itself needs no company
                continue
            found = self._grow(group)
            if found is not None:
                grown.append(group)
                findings += found
        if findings:
            return findings
        return self._judge_points(live, grown)

    def _probe(self, group: Group) -> list[Finding] | None:
        """Says what vjp does at neighbouring lengths; None when the length is fixed, in forward or in vjp."""
        length = group.length
        # Twice the length is taken by a vjp that needs a multiple of something, as forward does not.
        further = (next(n for n in _ODD if abs(n - length) > 1), 2 * length)
        less = length - 1 if length > group.least else length + 2
        attempts = self._explained(group, (less, length + 1), further)
        return None if attempts is None else self._faults(attempts[length <= 2 :], f"no length but {length}")

    def _grow(self, group: Group) -> list[Finding] | None:
        """Says the same of an axis of length 1 that grows; None too where it only grows to what it is broadcast to."""
        attempts = self._explained(group, _GROWN[:2], _GROWN[2:])
        if attempts is not None:
            return self._faults(attempts, f"axes of length 1 ({_place(group, self.subject.names)}) only so")
        for length in partners(group, self.shapes):
            attempt = self.attempt({group: length})
            if attempt and attempt.is_finite and not self.fault(attempt):
                return self._judge(attempt) or None
        return None

    def _explained(self, group: Group, wanted: Sequence[int], further: Sequence[int]) -> list[_Attempt] | None:
        """Gives the attempts at some lengths; None unless forward takes all that are wanted, and its outputs follow."""
        made = {new: self._run({group: new}) for new in (*wanted, *further)}
        if self.values.budget.is_spent or not all(made[new] for new in wanted):
            return None
        accepted = {new: attempt for new, attempt in made.items() if attempt}
        plain = {new: attempt for new, attempt in accepted.items() if self._follows({group: new}, attempt)}
        if all(new in plain for new in wanted):
            return list(plain.values())
        learned = self.laws.learn(group, {new: attempt.outputs for new, attempt in accepted.items()})
        return list(accepted.values()) if learned else None

    def _faults(self, attempts: Sequence[_Attempt], taken: str) -> list[Finding] | None:
        faults = [self.fault(attempt) for attempt in attempts]
        if all(faults):
            self.values.tally.note(f"other sizes: vjp takes {taken}; {faults[0][0].message}")
            return None
        sound = next(attempt for fault, attempt in zip(faults, attempts, strict=True) if not fault)
        found = [finding for fault, at in zip(faults, attempts, strict=True) if at.is_finite for finding in fault]
        return found or self._kept(sound)

    def _kept(self, attempt: _Attempt) -> list[Finding]:
        """Finds a vjp that gives something else once forward ran at another size, whose lengths it then takes."""
        outputs = call_forward(self.subject, self.inputs)
        cotangents = [np.ones(out.shape, out.dtype if is_continuous(out.dtype) else float) for out in outputs]

        def pull() -> tuple[Array | None, ...]:
            copies = copy_inputs(self.inputs), copy_arrays(outputs), copy_arrays(cotangents)
            return copy_arrays(call_vjp(self.subject, *copies))

        try:
            before, again = pull(), pull()
            call_forward(self.subject, attempt.inputs)
            after = pull()
        except Exception:  # a finding of every other check
            return []
        self.values.budget.used += 4
        is_kept = identical(before, again) and not identical(again, after)
        return [mixed(f"forward ran at {attempt.label}")] if is_kept else []

    def _judge_points(self, live: list[Group], grown: list[Group]) -> list[Finding]:
        findings: list[Finding] = []
        for lengths, singly in self._points(live, grown):
            attempt = self.attempt(lengths)
            if attempt:
                is_single = any(1 in group.at(new).values() for group, new in lengths.items())
                findings += self._judge(attempt, singly, is_single=is_single)
            if findings:  # further sizes show the same fault again
                break
        return findings or self._judge_squares(live)

    def _points(self, live: list[Group], grown: list[Group]) -> Iterator[tuple[dict[Group, int], int | None]]:
        """Yields lengths to judge at, and how many elements singly, where not as many as at other values."""
        every = [*live, *grown]
        if not every:
            return
        fixed = {n for shape in self.shapes for n in shape or ()}
        odd = self._sized(every, [*(n for n in _ODD if n not in fixed), *_ODD, *_ODD])
        small = self._sized(every, (*_SMALL, *_SMALL))
        yield odd, None
        last = every[-1]
        if live:
            k, shape = next((k, s) for k, s in enumerate(self.shapes) if k in self.subject.differentiable and s)
            last = next((group for group in live if (k, len(shape) - 1) in group.axes), live[-1])
            yield small | {last: _LONG}, _SOME
            for few, groups in ((1, (last, *live)), (0, (last, live[0]))):
                for group in dict.fromkeys(groups):
                    if not self.laws.rule(group):  # what is less than a window, or a padding, is padded otherwise
                        yield odd | {group: few}, _SOME
        far = _FAR_BEYOND if self._is_elementwise() else _BEYOND
        for group in () if self.subject.ruled else every:  # a tangent space of hundreds is measured too coarsely
            yield small | {group: far if group is last else _BEYOND}, _GLANCE
        equal = max(_EQUAL, *(self._least(group) for group in every))
        if len(every) > 1:
            yield dict.fromkeys(every, equal), _GLANCE
        if len(every) > 2:
            others = {group: n if n != equal else n + 1 for group, n in odd.items()}
            for pair in combinations(every, 2):
                yield others | dict.fromkeys(pair, equal), _GLANCE

    def _sized(self, groups: Sequence[Group], lengths: Sequence[int]) -> dict[Group, int]:
        """Gives each group a length; a longer one where laws hold, which may only do so from the given one on."""
        return {g: n if n >= self._least(g) else n + g.length for g, n in zip(groups, lengths, strict=False)}

    def _least(self, group: Group) -> int:
        return max(group.least, group.length - 1 if self.laws.rule(group) else 0)

    def _is_elementwise(self) -> bool:
        point = Point(self.subject, copy_inputs(self.inputs), "")
        for k in self.subject.differentiable:
            owner = owners(point, k)
            room = measure_room(point.values(k), self.subject.domain[k])
            if owner is None or not is_elementwise(point, k, owner, room):
                return False
        return True

    def _judge_squares(self, live: list[Group]) -> list[Finding]:
        """Judges at unequal lengths where one array has a length twice; only values, as vjp may be for squares."""
        told = declared(self.subject, self.shapes)
        for group in live:
            length = group.length
            if any(told.get(axis) is not None for axis in group.axes):  # they are equal, or not, as was declared
                continue
            if not any(shape and shape.count(length) > 1 for shape in self.shapes):
                continue
            for swap in (False, True):
                sides = [self._untied(length, pair, swap) for pair in (_SQUARE, _SQUARE[::-1])]
                if None in sides:
                    continue
                if any(self.fault(side) for side in sides if side):
                    self.values.tally.note(f"other sizes: vjp takes axes of length {length} only where they are equal")
                    break
                return [finding for side in sides[:1] if side for finding in self._judge(side)]
        return []

    def _untied(self, length: int, pair: tuple[int, int], swap: bool) -> _Attempt | None:
        shapes: list[Shape | None] = []
        for k, shape in enumerate(self.shapes):
            start = k % 2 if swap else 0
            turns = iter(pair[(start + turn) % 2] for turn in range(len(shape or ())))
            shapes.append(None if shape is None else tuple(next(turns) if n == length else n for n in shape))
        attempt = self._run_at(shapes)
        return (
            attempt
            if attempt and follow(self.old, attempt.outputs, self.shapes, shapes, {length: pair}) == []
            else None
        )

    def attempt(self, lengths: Mapping[Group, int]) -> _Attempt | None:
        """Runs forward at the lengths; None where it refuses them or its output shapes do not follow."""
        attempt = self._run(lengths)
        return attempt if attempt and self._follows(lengths, attempt) else None

    def _run(self, lengths: Mapping[Group, int]) -> _Attempt | None:
        return self._run_at(changed(self.shapes, lengths))

    def _run_at(self, shapes: Sequence[Shape | None]) -> _Attempt | None:
        if sum(math.prod(shape) for shape in shapes if shape is not None) > _ELEMENT_LIMIT:
            return None
        pairs = [zip(now or (), was or (), strict=True) for now, was in zip(shapes, self.shapes, strict=True)]
        if any(n < 0 or n > 0 == old for axes in pairs for n, old in axes):  # of nothing there is nothing to repeat
            return None
        inputs = resize_inputs(self.subject, self.inputs, shapes, self.generator)
        if inputs is None:
            return None
        self.values.budget.used += 1
        try:
            outputs = call_forward(self.subject, inputs)
        except Exception:  # what forward refuses is no fault
            return None
        finite = all(bool(np.isfinite(out).all()) for out in outputs if is_continuous(out.dtype))
        names = (f"{name} {shape}" for name, shape in zip(self.subject.names, shapes, strict=True) if shape is not None)
        return _Attempt(inputs, outputs, f"shapes {', '.join(names)}", finite)

    def _follows(self, lengths: Mapping[Group, int], attempt: _Attempt) -> bool:
        allowed: dict[int, tuple[int, ...]] = {1: (1,)}
        for group, new in lengths.items():
            moves = dict.fromkeys((length_of(self.shapes, axis), n) for axis, n in group.at(new).items())
            for length, n in moves:
                is_left = any(axis not in group.axes for axis in axes_of(self.shapes, length))
                is_met = len({other for was, other in moves if was == length}) > 1
                kept = allowed.get(length, (length,)) if is_left or is_met or length == 1 else ()
                allowed[length] = (*kept, n)
        after = changed(self.shapes, lengths)
        left = follow(self.old, attempt.outputs, self.shapes, after, allowed)
        if left is None:
            return False
        return all(self.laws.allow((k, axis), attempt.outputs[k].shape[axis], lengths) for k, axis in left)

    def fault(self, attempt: _Attempt) -> list[Finding]:
        """Finds that vjp raises, or gives the wrong number or shapes of gradients."""
        self.values.budget.used += 1
        repro = repro_call(attempt.inputs, attempt.label, self.seed)
        inputs = copy_inputs(attempt.inputs)
        cotangents = [np.zeros(out.shape, out.dtype if is_continuous(out.dtype) else float) for out in attempt.outputs]
        try:
            gradients = call_vjp(self.subject, inputs, call_forward(self.subject, inputs), cotangents)
        except VjpError as error:
            return [Finding("vjp raises", f"vjp: expected gradients, got {error}, at {attempt.label}", repro=repro)]
        found = check_count(self.subject, gradients) or check_shapes(self.subject, attempt.inputs, gradients)
        return [replace(f, message=f"{f.message}, at {attempt.label}", repro=repro) for f in found]

    def _judge(self, attempt: _Attempt, singly: int | None = None, *, is_single: bool = False) -> list[Finding]:
        if self.values.budget.is_spent:
            self.values.tally.note("the budget ended before all sizes were judged")
            return []
        fault = self.fault(attempt)
        if fault and any(isinstance(value, np.ndarray) and not value.size for value in attempt.inputs):
            self.values.tally.note(fault[0].message)  # reshape(-1, n) alone refuses n = 0: no fault of a derivative
            return []
        if fault:
            return fault if attempt.is_finite else []
        try:
            point = Point(self.subject, copy_inputs(attempt.inputs), attempt.label, is_single=is_single)
        except Exception:  # float64 inputs, or a surrogate, may be refused where the inputs themselves were not
            return []
        point.forward_eps = max(point.forward_eps, self.forward_eps)
        return self.values.judge(gather(point, np.random.default_rng([self.seed, 7])), singly)


def _place(group: Group, names: Sequence[str]) -> str:
    return ", ".join(f"axis {axis} of {names[k]}" for k, axis in sorted(group.axes))
