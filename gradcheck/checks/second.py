"""Checks of second derivatives that a caller wrote: the vjp of the vjp, and its tangents.

The gradients are a function of inputs and cotangents. So vjp2 and jvp2 are judged as the vjp and the jvp of that
function, by everything that judges those of forward; and vjp2 by its symmetry, without any step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gradcheck.checks.agreement import largest_given
from gradcheck.checks.behaviour import check_behaviour
from gradcheck.checks.points import PointCheck
from gradcheck.checks.transpose import check_jvp
from gradcheck.explain.wording import GIVEN
from gradcheck.model.budget import Budget
from gradcheck.model.domain import measure_room, named
from gradcheck.model.dtypes import Array, FloatArray, as_float64, is_continuous, is_floating
from gradcheck.model.evaluation import Point, VjpError, call_forward, call_vjp, carries, no_cotangent
from gradcheck.model.perturb import draw_cotangents, perturb_inputs
from gradcheck.model.protocol import Also, Subject, build_subject, copy_inputs
from gradcheck.numeric.hidden import hidden_eps
from gradcheck.numeric.tolerance import ROUNDINGS
from gradcheck.report import Finding, Tally

# Forward calls; fewer than for the first derivative, since each is a forward and a vjp.
_BUDGET = 10_000
_REPEATS = 3
_UNITS = 32
_REACTIONS = 16.0
# Rounding units of numbers near one, or of the size of an input or output, that every element may have lost on the way.
_HIDDEN = 64.0
# How many such losses a difference quotient may show, whose step is a share of its input.
_STAIRS = 16.0
# Checks that compare results without, or with too little, regard to how their terms cancel.
_SUMS = ("transpose", "jvp value", "linear in the cotangent")


@dataclass(frozen=True)
class Second:
    """The gradients of a subject as a function of what moves: its differentiable inputs, then its cotangents.

    Args:
        subject: whose gradients they are.
        inputs: all inputs; those that are not differentiated stay.
        cotangents: one per output; that of an output which carries no gradient stays.
        entering: positions of the cotangents that move.
        wanted: positions of the inputs with a gradient; vjp gave None for the others.
    """

    subject: Subject
    inputs: tuple[object, ...]
    cotangents: tuple[Array, ...]
    entering: tuple[int, ...]
    wanted: tuple[int, ...]

    @classmethod
    def at(cls, point: Point, generator: np.random.Generator) -> Second | None:
        """Gives the gradients near a point, at random cotangents; None where no gradient is of its input's form.

        Raises:
            VjpError: the vjp raised.
        """
        subject = point.subject
        outputs = call_forward(subject, point.given)
        cotangents = point.split(draw_cotangents(point.center, generator, is_short=True)[1], outputs)
        gradients = call_vjp(subject, copy_inputs(point.given), outputs, [np.array(c) for c in cotangents])
        entering = tuple(j for j, moves in enumerate(carries(subject, outputs)) if moves)
        given = {k: gradients[k] for k in subject.differentiable}
        wanted = tuple(k for k, gradient in given.items() if gradient is not None)
        fits = all(_alike(gradients[k], point.given[k]) for k in wanted)
        return cls(subject, point.given, cotangents, entering, wanted) if wanted and fits else None

    def arrays(self) -> tuple[object, ...]:
        """Gives the values of what moves."""
        return (*(self.inputs[k] for k in self.subject.differentiable), *(self.cotangents[j] for j in self.entering))

    def split(self, arrays: Sequence[object]) -> tuple[tuple[object, ...], tuple[Any, ...]]:
        """Gives all inputs and all cotangents, with `arrays` where something moves; the rest are copies."""
        count = len(self.subject.differentiable)
        inputs, cotangents = list(copy_inputs(self.inputs)), list(copy_inputs(self.cotangents))
        for k, value in zip(self.subject.differentiable, arrays[:count], strict=True):
            inputs[k] = value
        for j, value in zip(self.entering, arrays[count:], strict=True):
            cotangents[j] = value
        return tuple(inputs), tuple(cotangents)

    def forward(self, *arrays: object) -> tuple[Array, ...]:
        """Gives the gradients, copied, so that what they share with their arguments is told once, of vjp."""
        inputs, cotangents = self.split(arrays)
        gradients = call_vjp(self.subject, inputs, call_forward(self.subject, inputs), cotangents)
        found = [gradients[k] for k in self.wanted]
        if any(gradient is None for gradient in found):
            raise ValueError("vjp gives None for what it gave a gradient of before")
        return tuple(np.array(gradient) for gradient in found)

    def vjp(self, arrays: Sequence[object], made: Sequence[Array], weights: Sequence[Array]) -> tuple[Any, ...]:
        """Calls vjp2; gives one gradient per moving array."""
        inputs, cotangents = self.split(arrays)
        assert self.subject.also.vjp2 is not None
        result = self.subject.also.vjp2(inputs, cotangents, self._placed(made), self._placed(weights))
        by_input, by_cotangent = read_pair(result, len(inputs), len(cotangents))
        return (*(by_input[k] for k in self.subject.differentiable), *(by_cotangent[j] for j in self.entering))

    def jvp(self, arrays: Sequence[object], tangents: Sequence[object]) -> tuple[Any, ...]:
        """Calls jvp2; gives one tangent per gradient, zeros for None."""
        inputs, cotangents = self.split(arrays)
        count = len(self.subject.differentiable)
        input_tangents = [_rest(value) for value in inputs]
        cotangent_tangents: list[object] = [no_cotangent(c) for c in cotangents]
        for k, tangent in zip(self.subject.differentiable, tangents[:count], strict=True):
            input_tangents[k] = tangent
        for j, tangent in zip(self.entering, tangents[count:], strict=True):
            cotangent_tangents[j] = tangent
        assert self.subject.also.jvp2 is not None
        result = _listed(self.subject.also.jvp2(inputs, cotangents, tuple(input_tangents), tuple(cotangent_tangents)))
        if len(result) != len(inputs):
            raise ValueError(f"jvp2 returned {len(result)} tangents for {len(inputs)} gradients, one per input")
        return tuple(_rest(inputs[k]) if result[k] is None else result[k] for k in self.wanted)

    def _placed(self, arrays: Sequence[Array]) -> tuple[Array | None, ...]:
        placed: list[Array | None] = [None] * len(self.inputs)
        for k, array in zip(self.wanted, arrays, strict=True):
            placed[k] = array
        return tuple(placed)

    def as_subject(self) -> Subject:
        """Gives the function of the gradients with vjp2 and jvp2 as its vjp and jvp."""
        first = self.subject
        # Of an array that moves the name is the input's, and `dy`, or `dy0` and so on, for a cotangent.
        made = ["dy" if len(self.cotangents) == 1 else f"dy{j}" for j in self.entering]
        made = [f"cotangent {j}" if d in first.names else d for j, d in zip(self.entering, made, strict=True)]
        names = (*(first.names[k] for k in first.differentiable), *made)
        beside = named(first.names, self.inputs)
        where = [first.domain[k].holding(beside) for k in first.differentiable]
        domain = (*where, *(None for _ in self.entering))
        also = Also(convention=first.also.convention, accuracy=first.also.accuracy)
        return build_subject(self.forward, self.vjp, self.jvp, self.arrays(), names, domain, (), first.alias_ok, also)


def check_vjp2(point: Point, tally: Tally, generator: np.random.Generator) -> list[Finding]:
    """Finds a vjp2 that is not the vjp of vjp: it is judged as a subject of its own, and must be symmetric."""
    started = _start(point, tally, "vjp2", generator)
    if started is None:
        return []
    second, near = started
    seed, nested = int(generator.integers(2**31)), Tally()
    findings = check_behaviour(near.subject, second.arrays(), nested, seed, near.forward_eps)
    if not any(finding.check in ("vjp raises", "gradient count") for finding in findings):
        values = PointCheck(near.subject, nested, seed, Budget(_BUDGET))
        findings += values.judge(near)
        if not findings and not values.is_conclusive():
            nested.note("not every gradient could be judged sharply")
        findings += _check_symmetry(second, point, nested, generator)
    _merge(tally, nested, "vjp")
    findings = [finding for finding in findings if not _is_rounding(finding, near)]
    # What is said of "forward" and its outputs is said of vjp, which was judged before.
    return [_restated(f, "vjp") for f in findings if not f.message.startswith(("forward:", "output "))]


def check_jvp2(point: Point, tally: Tally, generator: np.random.Generator) -> list[Finding]:
    """Finds a jvp2 that contradicts numeric derivatives of the gradients, or vjp2, as `check_jvp` does for a jvp."""
    started = _start(point, tally, "jvp2", generator)
    if started is None:
        return []
    nested = Tally()
    findings = check_jvp(started[1], nested, generator, beside_vjp=point.subject.also.vjp2 is not None)
    _merge(tally, nested, "jvp")
    findings = [finding for finding in findings if not _is_rounding(finding, started[1])]
    return [_restated(finding, "vjp" if finding.check.startswith("vjp") else "jvp") for finding in findings]


def read_pair(result: object, inputs: int, cotangents: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Reads what vjp2 returned: a pair of tuples, or all gradients in one tuple.

    Raises:
        ValueError: another number of gradients than inputs and cotangents, or nothing at all.
    """
    if result is None:
        raise ValueError("vjp2 returned None; return a pair of tuples: one gradient per input, and one per cotangent")
    listed = _listed(result)
    if len(listed) == 2 and any(isinstance(part, (tuple, list)) for part in listed):
        pair = _listed(listed[0]), _listed(listed[1])
    else:
        pair = listed[:inputs], listed[inputs:]
    if (len(pair[0]), len(pair[1])) != (inputs, cotangents):
        raise ValueError(
            f"vjp2 returned {len(pair[0])} gradients of inputs and {len(pair[1])} of cotangents for {inputs} and "
            f"{cotangents}; return None where there is none"
        )
    return pair


def _start(point: Point, tally: Tally, role: str, generator: np.random.Generator) -> tuple[Second, Point] | None:
    """Evaluates the gradients as a function; None, with a note, where vjp gives nothing to differentiate."""
    try:
        second = Second.at(point, generator)
    except VjpError:
        second = None
    if second is None:
        tally.note(f"{role}: not judged, as vjp gives no gradient of its input's shape")
        return None
    near = Point(second.as_subject(), second.arrays(), GIVEN)
    near.forward_eps = max(near.forward_eps, point.forward_eps)
    near.forward_eps = hidden_eps(near, generator)
    return second, near


def _is_rounding(finding: Finding, near: Point) -> bool:
    """Says whether a result is off by no more than what numbers near one lose where they cancel.

    Gradients do cancel so: p * (dy - sum(p * dy)) of a softmax that is nearly one-hot is a staircase, between whose
    steps no derivative is seen. The finding is about the element that is furthest off, so it stands for all.
    """
    if finding.check not in _SUMS or finding.analytic is None or finding.numeric is None:
        return False
    hidden = _hidden_rounding([*near.vjp_inputs, *near.outputs], near)
    return abs(finding.analytic - finding.numeric) <= _STAIRS * hidden * near.size


def _listed(result: object) -> tuple[Any, ...]:
    if isinstance(result, Mapping):
        raise TypeError("a mapping was returned; expected a tuple")
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _alike(gradient: Array | None, value: object) -> bool:
    shape = getattr(value, "shape", None)
    return gradient is not None and gradient.shape == shape and is_continuous(gradient.dtype)


def _rest(value: object) -> object:
    """Gives the tangent of an input that does not move."""
    return no_cotangent(value) if isinstance(value, np.ndarray) else 0.0


def _merge(tally: Tally, nested: Tally, role: str) -> None:
    tally.checks += [_renamed(check, role) for check in nested.checks]
    for note in nested.notes:
        tally.note(f"{role}2{note.removeprefix(role)}" if note.startswith(f"{role} of") else f"{role}2: {note}")


def _renamed(check: str, role: str) -> str:
    return f"{role}2 {check.removeprefix(role).lstrip()}"


def _restated(finding: Finding, role: str) -> Finding:
    message = finding.message
    message = f"{role}2{message.removeprefix(role)}" if message.startswith(role) else f"{role}2, {message}"
    return replace(finding, check=_renamed(finding.check, role), message=message, repro="")


def _check_symmetry(second: Second, point: Point, tally: Tally, generator: np.random.Generator) -> list[Finding]:
    """Finds a vjp2 with <v, H u> other than <u, H v>, where H is the derivative of the gradients by the inputs.

    A gradient is that of a number, <cotangent, forward>, so H is symmetric. That is not so at a kink, where each part
    may follow a convention of its own; nor is the gradient of a surrogate that of any one function. So nothing is
    compared for a surrogate, and the inputs are moved a little, off any kink.
    """
    are_real = all(isinstance(value, np.ndarray) and is_floating(value.dtype) for value in second.arrays())
    if point.subject.also.surrogate is not None or not are_real:
        return []
    subject = second.as_subject()
    eps = max(point.vjp_eps, point.forward_eps)
    units = eps * np.arange(-_UNITS, _UNITS + 1)
    try:
        arrays = _moved(second, point, generator)
        near = Point(subject, arrays, GIVEN)
        drawn = [[_drawn(second, near, k, generator) for k in second.wanted] for _ in range(2)]
        terms = _products(second, arrays, *drawn)
        others = [_products(second, perturb_inputs(arrays, units, generator, subject), *drawn) for _ in range(_REPEATS)]
        sizes = [*arrays, *call_forward(second.subject, second.split(arrays)[0])]
    except Exception:  # away from the given inputs the subject may refuse; what it does there is not judged here
        tally.note("symmetry: not judged, as forward, vjp or vjp2 raised beside the given inputs")
        return []
    tally.checks.append("symmetry")
    hidden = _hidden_rounding(sizes, point)
    for pair, (first, other) in terms.items():
        values = float(first.sum()), float(other.sum())
        spread = max(abs(float(moved[pair][side].sum()) - values[side]) for moved in others for side in (0, 1))
        share = max(ROUNDINGS * eps, point.subject.also.accuracy)
        allowance = share * float(np.abs(first).sum() + np.abs(other).sum())
        allowance += _REACTIONS * spread + hidden * (first.size + other.size)
        if abs(values[0] - values[1]) > allowance:  # False where one is not finite
            return [_asymmetric(second, pair, values, allowance)]
    return []


def _hidden_rounding(values: Sequence[object], point: Point) -> float:
    """Gives what an element may have lost where numbers of the size of `values`, or of one, cancel on the way."""
    return _HIDDEN * max(point.vjp_eps, point.forward_eps) * largest_given(values)


def _products(
    second: Second, arrays: Sequence[Any], u: Sequence[Array], v: Sequence[Array]
) -> dict[tuple[int, int], tuple[FloatArray, FloatArray]]:
    """Gives, for each two inputs, the terms of <v, H u> and of <u, H v>: u moves the first, v the second."""
    made = second.forward(*arrays)

    def pull(place: int, weight: Array) -> dict[int, FloatArray]:
        weights = [weight.astype(g.dtype) if i == place else np.zeros_like(g) for i, g in enumerate(made)]
        found = second.vjp([np.array(a) for a in arrays], [np.array(g) for g in made], weights)
        by_input = dict(zip(second.subject.differentiable, found, strict=False))
        return {k: _zeros(second.inputs[k]) if by_input[k] is None else by_input[k] for k in second.wanted}

    by_u, by_v = ([pull(i, weight) for i, weight in enumerate(side)] for side in (u, v))
    return {
        (i, j): (
            (as_float64(np.asarray(by_u[i][second.wanted[j]])) * v[j]).ravel(),
            (as_float64(np.asarray(by_v[j][second.wanted[i]])) * u[i]).ravel(),
        )
        for i in range(len(made))
        for j in range(len(made))
        if i <= j
    }


def _moved(second: Second, point: Point, generator: np.random.Generator) -> list[Array]:
    """Gives the moving arrays in the dtype that vjp is judged in, the inputs moved by a share of their size."""
    moved: list[Array] = []
    for k in second.subject.differentiable:
        values = point.values(k)
        room = measure_room(values, second.subject.domain[k])
        up = np.where(room.up * room.down > 0, generator.choice([-1.0, 1.0], values.shape), room.up - room.down)
        shifted = values + up * room.scale * generator.uniform(0.02, 0.1, values.shape)
        moved.append(second.subject.inside(k, shifted, point.vjp_inputs))
    inputs = list(point.vjp_inputs)
    for k, value in zip(second.subject.differentiable, moved, strict=True):
        inputs[k] = value
    outputs = call_forward(second.subject, inputs)
    return [*moved, *(np.array(second.cotangents[j], dtype=outputs[j].dtype) for j in second.entering)]


def _drawn(second: Second, near: Point, k: int, generator: np.random.Generator) -> Array:
    """Gives a direction in which input `k` may move there."""
    place = second.subject.differentiable.index(k)
    shape = near.values(place).shape
    drawn = generator.choice([-1.0, 1.0], shape) * generator.integers(4, 13, shape) / 8.0
    return np.asarray(near.tangent(place, drawn))


def _zeros(value: Any) -> Array:  # Any: an array, known to be one since it has a gradient
    return np.zeros(value.shape)


def _asymmetric(second: Second, pair: tuple[int, int], values: tuple[float, float], allowance: float) -> Finding:
    first, other = (second.subject.names[second.wanted[place]] for place in pair)
    what = repr(first) if first == other else f"{first!r} and {other!r}"
    message = (
        f"vjp of {what}: expected a symmetric second derivative, <v, H u> = <u, H v>, got {values[0]:.12g} and "
        f"{values[1]:.12g}; vjp or vjp2 is wrong"
    )
    return Finding("symmetry", message, first, None, values[0], values[1], allowance)
