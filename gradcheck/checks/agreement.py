"""Whether two runs gave the same arrays: to the bit, or as far as rounding takes two orders of one computation.

`judge` makes findings of what a change of the arguments has to leave of the results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gradcheck.checks.session import Results, Session, copy_arrays
from gradcheck.model.dtypes import Array, BoolArray, FloatArray, as_float64, same_bits
from gradcheck.model.evaluation import VjpError, floating_arrays
from gradcheck.model.perturb import SIGNS, perturb_inputs
from gradcheck.numeric.tolerance import ROUNDINGS
from gradcheck.report import Finding

REPEATS = 2
_REACTIONS = 16.0


def identical(first: Sequence[Array | None], second: Sequence[Array | None]) -> bool:
    """Says whether two results have the same arrays, bit by bit, and None at the same places."""
    if len(first) != len(second):
        return False
    for one, two in zip(first, second, strict=True):
        if one is None or two is None:
            if one is not two:
                return False
        elif not same_bits(one, two):
            return False
    return True


def close(first: Array | None, second: Array | None, eps: float, reactions: Sequence[Array | None] = ()) -> bool:
    """Says whether two results agree up to rounding; None counts as zeros.

    Args:
        first: one result.
        second: the other.
        eps: resolution of the arithmetic.
        reactions: `second` once more, from arguments changed by a rounding; how far it moved is conceded, and elements
            that are not finite in any of the results are not compared.
    """
    shape = next((as_float64(array).shape for array in (first, second) if array is not None), ())
    one, two, *moved = (np.zeros(shape) if a is None else as_float64(a) for a in (first, second, *reactions))
    if one.shape != two.shape or any(other.shape != two.shape for other in moved):
        return False
    finite = np.isfinite(one) & np.isfinite(two)
    if not moved and not np.array_equal(one[~finite], two[~finite], equal_nan=True):
        return False
    return not (beyond(one, two, eps, moved) & finite).any()


def beyond(
    first: FloatArray, second: FloatArray, eps: float, reactions: Sequence[FloatArray], roundings: float = ROUNDINGS
) -> BoolArray:
    """Says which elements are further apart than `roundings` of the largest of `second`, and `reactions`, explain."""
    reaction = np.max([np.abs(other - second) for other in reactions], axis=0, initial=0.0)
    allowance = roundings * eps * largest(second) + _REACTIONS * reaction
    return np.asarray(np.abs(first - second) > allowance)  # False where one of them is nan


def largest(array: Array) -> float:
    """Gives the largest finite magnitude, of a complex array that of a part."""
    values = as_float64(array)
    return float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))


def largest_given(values: Sequence[object]) -> float:
    """Gives the largest finite magnitude among floating arrays, 1 at least, beside which roundings are counted."""
    return max([1.0, *map(largest, floating_arrays(values))])


def judge(
    names: Sequence[str],
    check: str,
    variant: Callable[[], Iterable[Sequence[Array | None]]],
    expected: Results,
    agrees: Callable[[int, Array | None, Array | None], bool],
    sentence: str,
    refusal: Callable[[str, str], str | None],
    *,
    input: str | None = None,
    is_told_once: bool = False,
) -> list[Finding]:
    """Judges the claim that results under a change agree with others.

    Args:
        names: of the inputs.
        check: the name of the check.
        variant: runs under the change; gives the outputs, then the gradients.
        expected: what they should be.
        agrees: whether an array, by its place among outputs and gradients, is what it should be, within the allowance.
        sentence: what is said of an array that is not, after its name.
        refusal: what is said of a function that raises, from its name and the reason; None where it may.
        input: the name of the input that is blamed, where it is not that of the gradient.
        is_told_once: whether one array that differs says as much as all.

    Returns:
        A finding for each array that differs, or for the first, and one for a function that raises.
    """
    findings: list[Finding] = []
    stages: list[tuple[Array | None, ...]] = []
    raised: Exception | None = None
    try:
        stages.extend(copy_arrays(stage) for stage in variant())  # outputs stay where the gradients raise
    except Exception as error:
        raised = error
    parts = expected.outputs, expected.gradients
    for are_gradients, wanted, found in zip((False, True), parts, stages, strict=False):
        for k, (got, want) in enumerate(zip(found, wanted, strict=are_gradients)):
            if not agrees(k + are_gradients * len(parts[0]), got, want):
                what, name = (f"gradient of {names[k]!r}", names[k]) if are_gradients else (f"output {k}", None)
                findings.append(Finding(check, f"{what}: {sentence}", input=input or name))
    if raised is not None:
        message = refusal(*describe_error(raised))
        findings += [] if message is None else [Finding(check, message, input=input)]
    return findings[:1] if is_told_once else findings


def describe_error(error: Exception) -> tuple[str, str]:
    """Gives the function that raised and the reason, in words."""
    return ("vjp", str(error)) if isinstance(error, VjpError) else ("forward", f"{type(error).__name__}: {error}")


@dataclass(frozen=True)
class Reactions:
    """Results of inputs that were moved by a rounding, computed where a difference asks for them.

    Where terms cancel, as for parallel vectors in a distance of angles, nothing but rounding is left of a result, and
    the way in which it is computed decides which.

    Args:
        session: whose functions run.
        inputs: where.
        cotangents: for vjp; the usual ones unless given.
        places: of the inputs that move; all unless given.
    """

    session: Session
    inputs: Sequence[object]
    cotangents: Sequence[Array] | None = None
    places: Sequence[int] | None = None

    def explain(self, place: int, got: Array | None, expected: Array | None) -> bool:
        """Says whether an output or gradient differs as far as rounding of the inputs takes it."""
        return close(got, expected, self.session.eps, [run.arrays[place] for run in self.runs])

    @cached_property
    def runs(self) -> list[Results]:
        """The results; fewer than asked for at the edge of what the functions accept."""
        session, runs = self.session, []
        for seed in range(REPEATS):
            generator = np.random.default_rng([session.seed, seed])
            moved = perturb_inputs(self.inputs, session.eps * SIGNS, generator, session.subject, self.places)
            try:
                runs.append(session.run(moved, self.cotangents))
            except Exception:  # there is no rounding to measure
                continue
        return runs
