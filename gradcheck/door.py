"""A thin door with the signature of torch's gradcheck, for tests that migrate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gradcheck.checking import check
from gradcheck.errors import GradcheckError, UsageError


def gradcheck(
    fn: object,
    inputs: object,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
) -> bool:
    """Checks a function's derivative and says yes, or raises.

    Args:
        fn: an object with `forward` and `vjp` attributes, or a (forward, vjp) pair; see `gradcheck.check`.
        inputs: a tuple of arrays, or one array.
        eps: accepted so that calls keep working; steps are chosen by measurement.
        atol: accepted so that calls keep working; tolerances follow from error bars and are stricter.
        rtol: see atol.
        raise_exception: False gives False instead of raising.

    Returns:
        True when the verdict is "pass".

    Raises:
        GradcheckError: the verdict is "fail" or "inconclusive", and `raise_exception` is true.
        UsageError: `fn` is of another form, a tolerance or step is not positive, or `gradcheck.check` cannot work with
            the inputs; always raised.
    """
    for name, value in (("eps", eps), ("atol", atol), ("rtol", rtol)):
        if not value >= 0:
            raise UsageError(f"{name}: expected a number >= 0, got {value!r}; leave it out")
    forward: Any  # check judges whether they are callable
    vjp: Any
    if isinstance(fn, (tuple, list)) and len(fn) == 2:
        forward, vjp = fn
    elif hasattr(fn, "forward") and hasattr(fn, "vjp"):
        forward, vjp = fn.forward, fn.vjp
    else:
        raise UsageError(
            f"fn: expected an object with forward and vjp, or a (forward, vjp) pair, got {type(fn).__name__}; "
            "write gradcheck((forward, vjp), inputs)"
        )
    values = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    report = check(forward, vjp, values)
    if report.verdict == "pass" or not raise_exception:
        return report.verdict == "pass"
    subject = getattr(fn, "__name__", type(fn).__name__ if not isinstance(fn, Sequence) else "subject")
    report.raise_if_failed(str(subject))
    reasons = "; ".join(report.coverage.notes) or "too few elements could be judged"
    raise GradcheckError(f"{subject}: expected a judgement, got inconclusive: {reasons}; check at other values")
