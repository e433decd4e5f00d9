"""What is compared with torch at a seed: a share of the built-in ops, a random elementwise and a random row expression.

    python -m tests.parity.differential_cases 0 1000             # seeds, by NumPy, and at each 4th round in Programs
    python -m tests.parity.differential_cases 0 1000 --compiled  # compiled: few expressions, each on several draws

`SHARES` seeds make a round, which meets every draw of every built-in op once, in each of its dtypes and orders.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from opsdk.define.op import REGISTRY
from tests.by_reference import by_reference
from tests.parity.differential import Case, check
from tests.parity.differential_expressions import elementwise, redrawn, rowwise
from tests.parity.differential_table import built_in

SHARES = 20
PROGRAMS = 4  # rounds after which Programs have their turn
COMPILED = 50  # seeds of which one compiles its random expressions: a minute each
DRAWS = 5  # that are tried of what was compiled

Check = Callable[..., list[Any]]


def run(seed: int, check: Check) -> list[Any]:
    """Returns the differences of a seed, by NumPy."""
    programs = seed // SHARES % PROGRAMS == 0
    found = [difference for case in built_in(seed, shares=SHARES) for difference in check(case, programs=programs)]
    for make in (elementwise, rowwise):
        found += scoped(make, seed, lambda case: check(case, programs=programs))
    return found


def run_compiled(seed: int, check: Check) -> list[Any]:
    """Returns the differences of a seed, of compiled code: expressions are few, since each is compiled anew."""
    found = [difference for case in built_in(seed, shares=SHARES) for difference in check(case)]
    if seed % COMPILED == 0:
        for make in (elementwise, rowwise):
            found += scoped(make, seed, lambda case: _on_draws(case, check))
    return found


def _on_draws(case: Case, check: Check) -> list[Any]:
    draws = [case, *(redrawn(case, number) for number in range(1, DRAWS))]
    return [difference for draw in draws for difference in check(draw)]


def scoped(make: Callable[[int], Case], seed: int, run: Callable[[Case], Any]) -> Any:
    """Runs something on a random case, and forgets the op that it defined."""
    with REGISTRY.scoped():
        return run(make(seed))


def main(arguments: list[str]) -> int:
    """Prints the differences of a range of seeds; 1 where there are some."""
    is_compiled = "--compiled" in arguments
    first, last = (int(a) for a in arguments if not a.startswith("-"))
    warnings.simplefilter("ignore")
    count = 0
    with nullcontext() if is_compiled else by_reference():
        for seed in range(first, last):
            print(f"\rseed {seed}", end="", file=sys.stderr, flush=True)
            for difference in (run_compiled if is_compiled else run)(seed, check):
                count += 1
                print(f"{difference}  | {difference.repro}", flush=True)
    print(f"{count} differences at {last - first} seeds")
    return min(count, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
