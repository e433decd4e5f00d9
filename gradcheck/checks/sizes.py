"""Other sizes: lengths that forward lets change are changed, and what vjp gives there is judged.

Equal lengths change together. A length counts as variable only where forward accepts a smaller and a larger one and its
output shapes follow; so a weight of fixed shape inside forward fixes its lengths, and nothing is said of them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from gradcheck.checks.behaviour import check_count, check_shapes
from gradcheck.checks.points import PointCheck
from gradcheck.explain.wording import repro_call
from gradcheck.judge.variation import Shape, resize_inputs
from gradcheck.model.dtypes import Array, is_continuous
from gradcheck.model.evaluation import Point, VjpError, call_forward, call_vjp
from gradcheck.model.protocol import Subject, copy_inputs
from gradcheck.report import Finding

_ODD = (7, 5, 11, 3, 13)  # no two have a common factor, and vectors of 2, 4 or 8 leave a rest
_SMALL = (4, 2, 6, 3)
_LONG = 74  # even, beyond a vector of 64, with a rest for any of 3 to 64 elements but 37
_VARIABLE_LIMIT = 4
_ELEMENT_LIMIT = 20_000
_SQUARE = (5, 3)


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

    def judge(self) -> list[Finding]:
        findings: list[Finding] = []
        live: list[int] = []
        for length in self._candidates()[:_VARIABLE_LIMIT]:
            if self.values.budget.is_spent:
                break
            found = self._probe(length)
            if found is not None:
                live.append(length)
                findings += found
        if findings or not live:
            return findings
        for shapes, allowed in self._tied_points(live):
            attempt = self.attempt(shapes, allowed)
            findings += self._judge(attempt) if attempt else []
        return findings + self._judge_squares(live)

    def _candidates(self) -> list[int]:
        """Gives the lengths that may vary: 2 or more, and not also a value that an integer input holds."""
        lengths = dict.fromkeys(length for shape in self.shapes for length in shape or ())
        held = {int(value) for value in self.inputs if isinstance(value, int) and not isinstance(value, bool)}
        for k, value in enumerate(self.inputs):
            if isinstance(value, np.ndarray) and value.dtype.kind in "iu" and k not in self.subject.ruled:
                held |= {length for length in lengths if (value == length).any()}
        return [length for length in lengths if length >= 2 and length not in held]

    def _probe(self, length: int) -> list[Finding] | None:
        """Says what vjp does at neighbouring lengths; None when the length is fixed, in forward or in vjp."""
        smaller, larger = (self._alone(length, length + step) for step in (-1, 1))
        if smaller is None or larger is None:
            return None
        # Twice the length is taken by a vjp that needs a multiple of something, as forward does not.
        further = [self._alone(length, new) for new in (next(n for n in _ODD if abs(n - length) > 1), 2 * length)]
        attempts = [attempt for attempt in (smaller if length > 2 else None, larger, *further) if attempt]
        faults = [self.fault(attempt) for attempt in attempts]
        if all(faults):
            self.values.tally.note(f"other sizes: vjp takes no length but {length}; {faults[0][0].message}")
            return None
        return [finding for fault, at in zip(faults, attempts, strict=True) if at.is_finite for finding in fault]

    def _alone(self, old: int, new: int) -> _Attempt | None:
        return self.attempt(*self._tied({old: new}))

    def _tied(self, lengths: Mapping[int, int]) -> tuple[list[Shape | None], dict[int, tuple[int, ...]]]:
        shapes = [None if shape is None else tuple(lengths.get(n, n) for n in shape) for shape in self.shapes]
        return shapes, {old: (new,) for old, new in lengths.items()}

    def _tied_points(self, live: list[int]) -> Iterator[tuple[list[Shape | None], dict[int, tuple[int, ...]]]]:
        first = next(shape for k, shape in enumerate(self.shapes) if k in self.subject.differentiable and shape)
        last = first[-1] if first[-1] in live else live[-1]
        fixed = {n for shape in self.shapes for n in shape or ()}
        odd = dict(zip(live, [*(n for n in _ODD if n not in fixed), *_ODD], strict=False))
        yield self._tied(odd)
        yield self._tied(dict(zip(live, _SMALL, strict=False)) | {last: _LONG})
        for few, lengths in ((1, (last, *live)), (0, (last, live[0]))):
            for length in dict.fromkeys(lengths):
                yield self._tied(odd | {length: few})

    def _judge_squares(self, live: list[int]) -> list[Finding]:
        """Judges at unequal lengths where one array has a length twice; only values, as vjp may be for squares."""
        for length in live:
            if not any(shape and shape.count(length) > 1 for shape in self.shapes):
                continue
            for swap in (False, True):
                sides = [self.attempt(*self._untied(length, pair, swap)) for pair in (_SQUARE, _SQUARE[::-1])]
                if None in sides:
                    continue
                if any(self.fault(side) for side in sides if side):
                    self.values.tally.note(f"other sizes: vjp takes axes of length {length} only where they are equal")
                    break
                return [finding for side in sides[:1] if side for finding in self._judge(side)]
        return []

    def _untied(
        self, length: int, pair: tuple[int, int], swap: bool
    ) -> tuple[list[Shape | None], dict[int, tuple[int, ...]]]:
        shapes: list[Shape | None] = []
        for k, shape in enumerate(self.shapes):
            start = k % 2 if swap else 0
            turns = iter(pair[(start + turn) % 2] for turn in range(len(shape or ())))
            shapes.append(None if shape is None else tuple(next(turns) if n == length else n for n in shape))
        return shapes, {length: pair}

    def attempt(self, shapes: Sequence[Shape | None], allowed: Mapping[int, tuple[int, ...]]) -> _Attempt | None:
        """Runs forward at the shapes; None where it refuses them or its output shapes do not follow."""
        if sum(math.prod(shape) for shape in shapes if shape is not None) > _ELEMENT_LIMIT:
            return None
        inputs = resize_inputs(self.subject, self.inputs, shapes, self.generator)
        if inputs is None:
            return None
        self.values.budget.used += 1
        try:
            outputs = call_forward(self.subject, inputs)
        except Exception:  # what forward refuses is no fault
            return None
        if not _explained(self.old, outputs, self.shapes, shapes, allowed):
            return None
        finite = all(bool(np.isfinite(out).all()) for out in outputs if is_continuous(out.dtype))
        names = (f"{name} {shape}" for name, shape in zip(self.subject.names, shapes, strict=True) if shape is not None)
        return _Attempt(inputs, outputs, f"shapes {', '.join(names)}", finite)

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

    def _judge(self, attempt: _Attempt) -> list[Finding]:
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
            point = Point(self.subject, copy_inputs(attempt.inputs), attempt.label, is_resized=True)
        except Exception:  # float64 inputs, or a surrogate, may be refused where the inputs themselves were not
            return []
        point.forward_eps = max(point.forward_eps, self.forward_eps)
        return self.values.judge(point)


def _explained(
    old: Sequence[Shape],
    outputs: Sequence[Array],
    before: Sequence[Shape | None],
    after: Sequence[Shape | None],
    allowed: Mapping[int, tuple[int, ...]],
) -> bool:
    """Says whether every output length followed: an input's with it, a product with its factors; others stayed."""
    lengths = {length for shape in before for length in shape or ()}
    products: dict[int, set[int]] = {}
    for given, made in zip(before, after, strict=True):
        for start, end in combinations(range(len(given or ()) + 1), 2):
            if end - start > 1:
                products.setdefault(math.prod((given or ())[start:end]), set()).add(math.prod((made or ())[start:end]))

    def follows(was: int, now: int) -> bool:
        if was in lengths:
            return now in allowed.get(was, (was,))
        return now == was or now in products.get(was, ())

    return len(old) == len(outputs) and all(
        len(was) == out.ndim and all(map(follows, was, out.shape)) for was, out in zip(old, outputs, strict=True)
    )
