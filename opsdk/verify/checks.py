"""The names of the checks that `verify` runs, in the order in which it runs them."""

from __future__ import annotations

# Of rows. `samples`, which is of an op, and `crash`, after which no row can be named, are not among them.
CHECKS = (
    "runs",
    "bounds",
    "mutation",
    "alias",
    "infer",
    "value",
    "repeats",
    "linear",
    "layout",
    "mask",
    "materialize",
    "vjp",
    "nondifferentiable",
    "vjp2",
    "complex",
    "complex2",
    "dynamic",
    "static",
    "static2",
)


def check_of(name: str) -> str:
    """Returns the check that a finding's `check`, such as `vjp.x`, is of; a row that does not compile does not run."""
    kind = name.partition(".")[0]
    return "runs" if kind == "compile" else kind
