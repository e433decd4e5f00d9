"""Tables of elementary functions: by dtype and name of a primitive, what a kernel calls."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from opsdk.core.errors import DTypeError
from opsdk.core.lazy import optional, slow
from opsdk.core.once import once
from opsdk.expr.primitives.entry import PRIMITIVES

_growing = threading.RLock()


def numba_functions(dtype: np.dtype[Any], wanted: Iterable[str] = ()) -> dict[str, Any]:
    """Returns, by name of a primitive, a Numba dispatcher that is inlined where it is called.

    Args:
        dtype: float32 or float64. The functions take scalars of exactly that type, and booleans as conditions.
        wanted: names of functions that have to be among them: those whose body is C are compiled where they are used.

    Raises:
        DTypeError: there are no functions of that dtype.
        MissingDependencyError: Numba is not installed.

    The bodies call nothing, allocate nothing and raise nothing; a loop over any of them vectorises, but for `fmod` of
    float64. Numba is imported by the first call; each function is compiled when it is first used.
    """
    name = np.dtype(dtype).name
    tables = _built()
    if name not in tables:
        raise DTypeError(f"vmath: expected float32 or float64, got {name}; compute in float32 and round the result")
    table = tables[name]
    if any(each.name not in table for each in list(PRIMITIVES.values())):
        with _growing:
            for each in list(PRIMITIVES.values()):
                if each.name not in table and not each.is_foreign:
                    slow("opsdk.backends.vmath.bodies").add(table, each, np.dtype(dtype).type)
    with _growing:
        for own in [PRIMITIVES[called] for called in wanted if called in PRIMITIVES and called not in table]:
            table[own.name] = slow("opsdk.backends.vmath.foreign").function(own, np.dtype(dtype).type)
    return dict(table)


@once
def _built() -> dict[str, dict[str, Any]]:
    optional("numba", extra="numba", subject="vmath in kernels")
    names = ("exponential", "logarithm", "trigonometric", "error", "power", "rounding")
    families = [slow(f"opsdk.backends.vmath.{family}") for family in names]
    tables: dict[str, dict[str, Any]] = {}
    for name, own in (("float32", "SINGLE"), ("float64", "DOUBLE")):
        table: dict[str, Any] = {}
        for family in families:
            table.update(getattr(family, "FUNCTIONS", {}))
            table.update(getattr(family, own, {}))
        tables[name] = table
    return tables
