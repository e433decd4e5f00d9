"""Random numbers in Numba's kernels, on the host and on CUDA: the text of `core/philox.py`, compiled for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opsdk.core.philox import functions

# Any, throughout: Numba's types and dispatchers, which have no annotations.


def bodies(
    compiled: Callable[..., Any], tables: Mapping[str, Mapping[str, Any]], wrapped: Callable[..., Any]
) -> dict[str, Callable[..., Any]]:
    """Returns, by name, what Numba asks for the body of a function of `opsdk.vmath`, given the types of a call.

    Args:
        compiled: makes of a Python function one that kernels call.
        tables: by dtype and name, the functions of the target.
        wrapped: makes the body, given a function of two words, NumPy's type of what it gives, and the types of key and
            counter; None where they are none that it takes.
    """
    known = {
        name: functions(compiled, np.dtype(name).type, table["log"], table["cos"], table["sqrt"])
        for name, table in tables.items()
    }

    def random_bits(key: Any, i: Any) -> Any:
        made = wrapped(known["float64"].random_bits, np.uint64, key, i)
        return made and (lambda key, i: made(key, i))

    def of_real(name: str) -> Callable[..., Any]:
        def body(key: Any, i: Any, dtype: Any = np.float64) -> Any:
            real = _real(dtype)
            made = wrapped(getattr(known[real], name), np.dtype(real).type, key, i) if real in known else None
            return made and (lambda key, i, dtype=np.float64: made(key, i))

        return body

    return {"random_bits": random_bits, "uniform": of_real("uniform"), "normal": of_real("normal")}


def is_whole(kind: Any) -> bool:
    """Whether a type is one of integers."""
    return hasattr(kind, "signed") and hasattr(kind, "bitwidth")


def _real(dtype: Any) -> str:
    """Returns the name of the dtype that a call asks for: NumPy's type, the dtype of an array, or what is left out."""
    given = getattr(dtype, "value", dtype)
    return np.dtype(given).name if isinstance(given, type) else str(getattr(given, "dtype", ""))
