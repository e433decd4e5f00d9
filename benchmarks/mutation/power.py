"""How small an error each checker sees, and what our first lines say."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import gradcheck
from benchmarks.mutation.judges import Judge
from tests.gradcheck.bank import WRONG_ONES
from tests.gradcheck.right_ops import PAIRS

# Smooth, well-conditioned ops: what is not seen on these is not seen.
SMOOTH = ("convolution", "layer norm with a scale", "attention", "cosine similarity", "linear solve", "logsumexp")
EXPONENTS = range(1, 13)
ELEMENTS = 3000


def smallest_errors(judges: dict[str, Judge]) -> dict[str, float]:
    """Returns for each checker the least relative error, the same for all elements, that it finds in every smooth op.

    A checker that blames the right gradient of one of them sees nothing: NaN.
    """
    found = {}
    with np.errstate(all="ignore"):
        for name, judge in judges.items():
            if any(judge(*PAIRS[op], {}) for op in SMOOTH):
                found[name] = np.nan
                continue
            seen = np.inf
            for exponent in EXPONENTS:
                if not all(judge(*_enlarged(op, 10.0**-exponent), {}) for op in SMOOTH):
                    break
                seen = 10.0**-exponent
            found[name] = seen
    return found


def _enlarged(op: str, error: float) -> tuple[Any, Any, tuple[Any, ...]]:
    forward, vjp, inputs = PAIRS[op]
    return forward, lambda i, o, c: tuple(g * (1 + error) for g in vjp(i, o, c)), inputs


def first_lines() -> list[tuple[str, gradcheck.Finding]]:
    """Returns the gravest finding of every wrong pair."""
    reports = [(case[0], gradcheck.check(*case[1:4])) for cases in WRONG_ONES.values() for case in cases]
    return [(name, report.findings[0]) for name, report in reports if report.findings]


def elementwise_seconds() -> float:
    """Returns the time of checking sin on 3000 elements; the least of five."""
    x = np.random.default_rng(0).normal(size=ELEMENTS)
    times = []
    for _ in range(5):
        started = time.perf_counter()
        report = gradcheck.check(np.sin, lambda i, o, c: (c[0] * np.cos(i[0]),), (x,))
        times.append(time.perf_counter() - started)
        assert report.verdict == "pass"
    return min(times)


def lines(errors: dict[str, float]) -> list[str]:
    """Returns the sections in Markdown."""
    shown = first_lines()
    values = [f for _, f in shown if f.check in ("vjp value", "gradient missing")]
    full = [f for f in values if f.input and f.index is not None and f.cause]
    share = 100 * len(full) / max(1, len(values))
    text = [
        "## The smallest error",
        "",
        f"The least relative error, the same for all elements of a gradient, found in each of {len(SMOOTH)} smooth ops "
        "(convolution, layer norm, attention, cosine similarity, linear solve, logsumexp), by powers of ten.",
        "",
        "| checker | smallest error |",
        "|---|---:|",
    ]
    for name, error in errors.items():
        said = "blames a right one" if np.isnan(error) else f"{error:.0e}" if np.isfinite(error) else "none of 1e-01"
        text.append(f"| {name} | {said} |")
    text += [
        "",
        "## Words",
        "",
        f"- {len(shown)} wrong pairs found: {sum(bool(f.cause) for _, f in shown)} with a cause. Of {len(values)} "
        f"whose values are wrong, {len(full)} ({share:.0f} %) name input, index and cause.",
        f"- gradcheck.check on sin of {ELEMENTS} elements: {1e3 * elementwise_seconds():.0f} ms.",
        "",
    ]
    return text
