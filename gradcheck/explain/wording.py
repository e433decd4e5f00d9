"""Sentences and expressions for findings about values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gradcheck.judge.outcome import Comparison, Outcome
from gradcheck.model.dtypes import Array, as_float64, is_complex, name_number
from gradcheck.model.evaluation import GIVEN as GIVEN

# As many values as a line of a report holds; more are drawn again by the seed.
_REPRO_ELEMENTS = 12
# Six digits are read at a glance, seventeen tell any two numbers of float64 apart.
_DIGITS = range(6, 18)


def describe_values(outcome: Outcome) -> tuple[str, dict[str, object]]:
    """Puts a wrong comparison into words.

    Args:
        outcome: has at least one wrong element.

    Returns:
        One sentence, and the fields index, analytic, numeric and error_bar of the worst element.
    """
    comparison, name, value = outcome.comparison, outcome.name, outcome.given
    row, worst = find_worst(comparison)
    index, part = name_element(int(comparison.elements[worst]), value)
    analytic, numeric, low, high, bar = comparison.numbers(row, worst)
    yours, right = tell_apart(analytic, numeric)
    if high > low:
        right = f"in [{low:.6g}, {high:.6g}]"
    count = f"{int(comparison.wrong.sum())} of {comparison.elements.size} {count_noun(value.dtype)}"
    if not outcome.is_complete:
        count += f" tested, of {outcome.size}"
    given = "None" if outcome.missing else yours
    place = f"{name}{list(index)}" if index else name
    sentence = (
        f"gradient of {name!r}: wrong in {count}, worst {place} = {describe_number(value[index])}{part}: "
        f"yours {given}, derivative {right} ± {bar:.0e}"
    )
    if outcome.point.label != GIVEN:
        sentence += f", at {outcome.point.label}"
    where = outcome.point.subject.domain[outcome.k]
    if where.rules:
        sentence += f"; both as far as {name} stays {where.name}"
    sentence += describe_bound(outcome, analytic, numeric)
    return sentence, {"index": index, "analytic": analytic, "numeric": numeric, "error_bar": bar}


def describe_bound(outcome: Outcome, analytic: float, numeric: float) -> str:
    """Says how a wrong value stands to the declared accuracy; nothing where none was declared."""
    declared = outcome.tolerance.declared
    if not declared:
        return ""
    share = outcome.point.subject.also.accuracy
    return (
        f"; expected an error of at most {declared:.3g}, {share:g} of the gradient's largest element as declared, "
        f"got {abs(analytic - numeric):.3g}"
    )


def as_given(outcome: Outcome) -> Comparison:
    """Takes a comparison from the convention of the judge to that of the caller, in which messages speak."""
    comparison, point = outcome.comparison, outcome.probe.point
    value = point.given[outcome.k]
    assert isinstance(value, np.ndarray)
    if point.subject.also.convention == "conjugate" or not is_complex(value.dtype):
        return comparison
    imaginary = comparison.elements % 2 == 1
    return replace(
        comparison,
        analytic=np.where(imaginary, 0.0 - comparison.analytic, comparison.analytic),
        low=np.where(imaginary, 0.0 - comparison.high, comparison.low),
        high=np.where(imaginary, 0.0 - comparison.low, comparison.high),
    )


def name_element(flat: int, value: Array) -> tuple[tuple[int, ...], str]:
    """Gives the index of the element that is, or holds, number `flat` of `as_float64(value)`, and the part in words."""
    index = np.unravel_index(flat, as_float64(value).shape)
    return name_number(tuple(int(i) for i in index), value.dtype)


def count_noun(dtype: np.dtype[Any]) -> str:
    """Says what the numbers are that a gradient is judged by."""
    return "real and imaginary parts" if is_complex(dtype) else "elements"


def describe_number(value: Any) -> str:
    """Writes a NumPy number of any floating or complex dtype."""
    return f"{complex(value):.6g}" if is_complex(value.dtype) else f"{float(value):.6g}"


def find_worst(comparison: Comparison) -> tuple[int, int]:
    """Gives the first cotangent that shows a fault, and the position of the element that is worst under it.

    Args:
        comparison: has at least one wrong element.
    """
    wrong = np.flatnonzero(comparison.wrong)
    distance = np.abs(comparison.analytic - comparison.numeric)[:, wrong]
    beyond = ~(distance <= comparison.allowance[:, wrong])
    row = int(np.argmax(beyond.any(axis=1)))
    severity = np.where(beyond[row], np.nan_to_num(distance[row], nan=np.inf), -1.0)
    return row, int(wrong[int(np.argmax(severity))])


def tell_apart(first: float, second: float) -> tuple[str, str]:
    """Writes two numbers with as many digits as show that they differ, at least six."""
    for digits in _DIGITS:
        texts = f"{first:.{digits}g}", f"{second:.{digits}g}"
        if texts[0] != texts[1]:
            return texts
    return repr(first), repr(second)


def repro_call(inputs: Sequence[object], label: str, seed: int) -> str:
    """Gives an expression that shows a finding again.

    The given inputs are named; varied values are written out while they are few, else the seed draws them again.
    """
    if label == GIVEN:
        return f"gradcheck.check(forward, vjp, inputs, vary=False, seed={seed})"
    if sum(value.size for value in inputs if isinstance(value, np.ndarray)) > _REPRO_ELEMENTS:
        return f"gradcheck.check(forward, vjp, inputs, seed={seed})"
    parts = ", ".join(map(_literal, inputs)) + ("," if len(inputs) == 1 else "")
    return f"gradcheck.check(forward, vjp, ({parts}), vary=False, seed={seed})"


def _literal(value: object) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    if is_complex(value.dtype) and not np.isfinite(value).all():  # Python has no literal for such a part
        return f"{_literal(as_float64(value))}.view('complex128').reshape({value.shape}).astype({value.dtype.name!r})"
    listed = repr(value.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({listed}, dtype={value.dtype.name!r})"


# Checks that find one kind of fault only; the others look for its cause.
CAUSES = {
    "gradient count": "there is not one gradient for each input",
    "gradient shape": "the gradient was not brought back to the shape of its input",
    "gradient dtype": "the gradient is not cast to the dtype of its input",
    "mutation": "an argument is changed in place",
    "read-only": "an argument is written to",
    "sharing": "a result lies in memory that is somebody else's",
    "repeats": "chance, or state kept from one call to the next, is in the results",
    "layouts": "memory is read in another order than elements",
    "linear in the cotangent": "the cotangent is used in other ways than by factors and sums",
    "output shape": "the shape of an output depends on the values",
    "output dtype": "the dtype of an output depends on the values",
    "tied inputs": "a tie between two inputs is counted more than once, or not at all",
    "nondifferentiable": "an input that has no derivative gets a gradient, or one declared so has a derivative",
    "vjp raises": "vjp refuses arguments that forward accepts",
}
