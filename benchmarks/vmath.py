"""`python -m benchmarks.vmath`: the accuracy and the speed of the mathematical functions, as a page of Markdown."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import vmath_accuracy, vmath_speed
from benchmarks.report import machine
from benchmarks.vmath_accuracy import NAMES, UNARY, Worst
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.ship.machine.environment import version_of

INTRODUCTION = """# Mathematical functions in kernels

`opsdk.vmath` has one name per function for symbols, arrays and Numba kernels. In a kernel a function is a
polynomial that is inlined, calls no library, and that LLVM vectorises with the loop around it; it can be compiled
ahead of time into a library without undefined symbols.

{machine}
Measured with {versions}.

## What the figures are

Errors are in units in the last place of the right result; 0.5 is the error of the nearest float. {exhaustive}
For float64, {double} operands of each function (fewer for `erf`, `erfc` and special functions) were drawn from all
exponents and compared with 80-bit arithmetic, some thousands of them with mpmath. *Promised* is what the tests hold the
function to; `fmod` and whatever is not listed is exact.

Where terms cancel, the unit is that of something larger than the result: of 1 for `logaddexp`, `j0` and `j1`, which
oscillate about 0; of the larger of 1 and what is reflected for `lgamma` and `digamma` left of 0, which have a zero next
to each pole. Right of 0, also near their zeros, these two are as accurate relative to themselves.

Subnormal operands and results are right, exponentials vanish gradually, and infinities, NaN, and zeros of either sign
give what NumPy gives, and SciPy for special functions; but `erfinv` and `i1e` keep the sign of a zero, `lgamma` of a
subnormal number is finite, and `sinc` of a number beyond 10³⁰⁷ is 0. `sin`, `cos` and `tan` are as accurate at 10³⁰ as
at 1: the product with 2/π is taken in integers, for every operand alike, which is why they take longer.

Times are nanoseconds per element for {size} elements in cache, one thread, the least of {rounds} rounds in which the
subjects took turns. *Numba math* is Numba's own `math.exp` and so on in the same loop, which calls the system's
library. A dash: there is no such function. `fmod` of float64 is the one function that is a loop; its time grows with
the quotient.

The page is written by `python -m benchmarks.vmath --out docs/vmath.md`.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measures what is asked for and writes the page."""
    options = parser().parse_args(arguments)
    rows: dict[str, dict[str, Any]] = {}  # Any: what JSON holds
    if options.measured is not None and options.measured.exists():
        rows = json.loads(options.measured.read_text(encoding="utf-8"))
    for name in options.names or NAMES:
        row = rows.setdefault(name, {})
        if "accuracy" in options.what:
            row["float32"] = asdict(vmath_accuracy.worst_of_float32(name, options.stride))
            row["float64"] = asdict(vmath_accuracy.worst_of_float64(name))
        if "speed" in options.what:
            for dtype in (np.float32, np.float64):
                row[f"times_{dtype.__name__}"] = vmath_speed.times(name, dtype, options.rounds)
        print(name, json.dumps(row), file=sys.stderr, flush=True)
        if options.measured is not None:
            options.measured.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    text = page(rows, options.rounds)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
    return 0


def parser() -> argparse.ArgumentParser:
    """Returns the options of the command."""
    made = argparse.ArgumentParser(prog="python -m benchmarks.vmath", description=__doc__)
    made.add_argument("names", nargs="*", choices=[[], *NAMES], metavar="NAME", help="functions; all")
    made.add_argument("--what", nargs="+", choices=("accuracy", "speed"), default=("accuracy", "speed"))
    made.add_argument("--stride", type=int, default=1, help="every n-th float32, n odd; 1 is all")
    made.add_argument("--rounds", type=int, default=25, help="samples of each time")
    made.add_argument("--measured", type=Path, help="file that keeps what was measured, to add to it later")
    made.add_argument("--out", type=Path, help="file for the page, docs/vmath.md")
    return made


def page(rows: dict[str, dict[str, Any]], rounds: int) -> str:
    """Returns the page from what was measured, by name of a function."""
    tried = min(
        (row["float32"]["tried"] for name, row in rows.items() if name in UNARY and "float32" in row), default=0
    )
    double = max((row["float64"]["tried"] for row in rows.values() if "float64" in row), default=0)
    packages = ("numpy", "numba", "llvmlite", "torch", "mpmath")
    introduction = INTRODUCTION.format(
        machine=machine(),
        versions=", ".join(f"{package} {version_of(package)}" for package in packages),
        exhaustive=_exhaustive(tried),
        double=f"{double / 1e6:.1f} million",
        size=vmath_speed.SIZE,
        rounds=rounds,
    )
    lines = [introduction, *_accuracy(rows), ""]
    for dtype in ("float32", "float64"):
        lines += [*_times(rows, dtype), ""]
    return "\n".join(lines)


def _exhaustive(tried: int) -> str:
    if tried == 1 << 32:
        return "For float32 all\n2³² operands of a function of one operand were tried."
    share = round((1 << 32) / max(tried, 1))
    return f"For float32 at\nleast one in {share} of all 2³² operands of a function of one operand was tried."


def _accuracy(rows: dict[str, dict[str, Any]]) -> list[str]:
    lines = ["## Errors", "", "| function | float32 | promised | worst at | float64 | promised | worst at |"]
    lines.append("|---|---:|---:|---|---:|---:|---|")
    for name, row in rows.items():
        if "float32" not in row:
            continue
        cells = [f"`{name}`"]
        for dtype, promised in zip(("float32", "float64"), PRIMITIVES[name].ulp or (0.0, 0.0), strict=True):
            worst = Worst(**row[dtype])
            at = ", ".join(f"{operand:.8g}" for operand in worst.at)
            cells += [f"{worst.ulp:.3f}", f"{promised:g}", at]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _times(rows: dict[str, dict[str, Any]], dtype: str) -> list[str]:
    lines = [f"## Times, {dtype}", "", f"| function | {' | '.join(vmath_speed.SUBJECTS)} |"]
    lines.append(f"|---|{'---:|' * len(vmath_speed.SUBJECTS)}")
    for name, row in rows.items():
        taken = row.get(f"times_{dtype}", {})
        cells = [f"{taken[subject]:.2f}" if subject in taken else "–" for subject in vmath_speed.SUBJECTS]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    sys.exit(main())
