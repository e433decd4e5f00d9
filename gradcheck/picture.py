"""Pictures of a wrong gradient as plain numbers: a map of it, a map of the Jacobian's error, and a step curve.

They belong to a report, so they hold nothing but tuples: equal runs give equal pictures, and JSON can carry them. The
shape of a complex array has one axis more, at the end: its two parts, which are elements of their own.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GradientMap:
    """The gradient of one input for one cotangent, element by element.

    Args:
        shape: of the input as real numbers.
        in_parts: whether the input is complex; then the last axis is that of real and imaginary parts.
        cotangent: which cotangent it is for, in words.
        judged: number of elements that were judged; the map may hold only those around the worst one.
        elements: flat index of each element of the map, ascending.
        analytic: the subject's gradient there.
        numeric: the right value there.
        allowed: the distance between the two that is accepted.
        status: "right", "wrong", "unsure" or "skipped"; the judgement over all cotangents.
        worst: flat index of the worst element.
    """

    shape: tuple[int, ...]
    in_parts: bool
    cotangent: str
    judged: int
    elements: tuple[int, ...]
    analytic: tuple[float, ...]
    numeric: tuple[float, ...]
    allowed: tuple[float, ...]
    status: tuple[str, ...]
    worst: int


@dataclass(frozen=True)
class JacobianMap:
    """The error of a Jacobian: what vjp gives for single outputs minus the measured derivative.

    Entries where both are exactly zero are left out. Numbers are rounded to six digits, `error` after subtracting.

    Args:
        shape: of the input as real numbers.
        in_parts: whether the input is complex; then the last axis is that of real and imaginary parts.
        output_shapes: of the outputs with a gradient, likewise; they count as one flat vector.
        output_parts: whether each of them is complex.
        outputs: flat indices of the outputs shown, ascending; the rows.
        elements: flat indices of the input elements shown, ascending; the columns.
        row: position in `outputs` of each entry.
        column: position in `elements` of each entry.
        numeric: the right value of each entry.
        error: the subject's value minus the right one.
        allowed: the size of the error that is accepted.
        status: "right", "wrong", "unsure" or "skipped" for each entry.
    """

    shape: tuple[int, ...]
    in_parts: bool
    output_shapes: tuple[tuple[int, ...], ...]
    output_parts: tuple[bool, ...]
    outputs: tuple[int, ...]
    elements: tuple[int, ...]
    row: tuple[int, ...]
    column: tuple[int, ...]
    numeric: tuple[float, ...]
    error: tuple[float, ...]
    allowed: tuple[float, ...]
    status: tuple[str, ...]


@dataclass(frozen=True)
class StepCurve:
    """How difference quotients at the worst element approach the subject's value and the settled derivative.

    Args:
        kind: "central", or "one-sided" where the domain allows one side only.
        steps: distances from the element's value, largest first.
        to_analytic: distance of each quotient from the subject's value; it levels off where that value is wrong.
        to_numeric: distance from the settled derivative; it falls with the step until rounding takes over.
    """

    kind: str
    steps: tuple[float, ...]
    to_analytic: tuple[float, ...]
    to_numeric: tuple[float, ...]


@dataclass(frozen=True)
class Picture:
    """What a finding about values looks like.

    Args:
        gradient: the gradient beside the right one.
        jacobian: the Jacobian's error; None where vjp raises for single outputs.
        curve: the step curve; None where the worst element has no finite value, or nothing moved.
    """

    gradient: GradientMap
    jacobian: JacobianMap | None = None
    curve: StepCurve | None = None
