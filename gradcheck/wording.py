"""Sentences and expressions for findings about values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradcheck.dtypes import FloatArray
from gradcheck.values import Outcome

GIVEN = "the given inputs"
_REPRO_ELEMENTS = 12


def describe_values(outcome: Outcome, name: str, values: FloatArray, label: str) -> tuple[str, dict[str, object]]:
    """Puts a wrong comparison into words.

    Args:
        outcome: has at least one wrong element.
        name: the input's name.
        values: the input, in its shape.
        label: what the values are.

    Returns:
        One sentence, and the fields index, analytic, numeric and error_bar of the worst element.
    """
    comparison = outcome.comparison
    wrong = np.flatnonzero(comparison.wrong)
    distance = np.abs(comparison.analytic - comparison.numeric)[:, wrong]
    beyond = ~(distance <= comparison.allowance[:, wrong])
    row = int(np.argmax(beyond.any(axis=1)))
    severity = np.where(beyond[row], np.nan_to_num(distance[row], nan=np.inf), -1.0)
    worst = int(wrong[int(np.argmax(severity))])
    element = int(comparison.elements[worst])
    index = tuple(int(i) for i in np.unravel_index(element, values.shape))
    analytic, bar = float(comparison.analytic[row, worst]), float(comparison.bar[row, worst])
    low, high = float(comparison.low[row, worst]), float(comparison.high[row, worst])
    numeric = float(comparison.numeric[row, worst])
    yours, right = tell_apart(analytic, numeric)
    if high > low:
        right = f"in [{low:.6g}, {high:.6g}]"
    count = f"{wrong.size} of {comparison.elements.size} elements"
    if comparison.elements.size < outcome.size:
        count += f" tested, of {outcome.size}"
    given = "None" if outcome.missing else yours
    place = f"{name}{list(index)}" if index else name
    sentence = (
        f"gradient of {name!r}: wrong in {count}, worst {place} = {float(values[index]):.6g}: "
        f"yours {given}, derivative {right} ± {bar:.0e}"
    )
    if label != GIVEN:
        sentence += f", at {label}"
    return sentence, {"index": index, "analytic": analytic, "numeric": numeric, "error_bar": bar}


def tell_apart(first: float, second: float) -> tuple[str, str]:
    """Writes two numbers with as many digits as show that they differ, at least six."""
    for digits in range(6, 18):
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
    listed = repr(value.tolist()).replace("nan", "np.nan").replace("inf", "np.inf")
    return f"np.array({listed}, dtype={value.dtype.name!r})"
