"""The times of vmath's functions per element, beside NumPy's, Numba's own and PyTorch's."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numba
import numpy as np

from benchmarks.vmath_accuracy import loop
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.ship.bench.timing import alternate

# Any, throughout: compiled functions, arrays and tensors.

SIZE = 65536  # elements; one input and one output in the second-level cache
UNIT = (0.02, 0.98)  # where operands are drawn from, for functions that have values there only
ABOVE = (1.02, 9.0)
DOMAIN = {
    "arcsin": UNIT,
    "arccos": UNIT,
    "arctanh": UNIT,
    "log": ABOVE,
    "log2": ABOVE,
    "log10": ABOVE,
    "arccosh": ABOVE,
}
EVERYWHERE = (-8.0, 8.0)
POSITIVE = {"sqrt", "rsqrt", "log1p", "pow"}
OURS, NUMPY, NUMBA, TORCH = SUBJECTS = ("vmath", "NumPy", "Numba math", "torch")

_MATH = {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh",
}  # fmt: skip
_NUMPY = {"pow": "power"}


def times(name: str, dtype: type[Any], rounds: int) -> dict[str, float]:
    """Returns nanoseconds per element, the least of several rounds, by subject that has the function.

    Args:
        name: of the function.
        dtype: float32 or float64.
        rounds: samples of each subject, taken in turn.
    """
    operands = _operands(name, dtype)
    out = np.empty(SIZE, dtype)
    calls: dict[str, Callable[[], Any]] = {OURS: lambda: loop(name, dtype)(*operands, out)}
    numpy_function = getattr(np, _NUMPY.get(name, name), None)
    if numpy_function is not None:
        calls[NUMPY] = lambda: numpy_function(*operands, out)
    scalar = getattr(math, _MATH.get(name, name), None)
    if scalar is not None:
        library = _library_loop(scalar, len(operands))
        if _compiles(library, operands, out):
            calls[NUMBA] = lambda: library(*operands, out)
    calls.update(_torch_call(name, operands))
    samples = alternate({subject: _sampler(call) for subject, call in calls.items()}, rounds)
    return {subject: min(taken) / SIZE * 1e9 for subject, taken in samples.items()}


def _operands(name: str, dtype: type[Any]) -> list[Any]:
    rng = np.random.default_rng(0)
    low, high = DOMAIN.get(name, (0.1, 8.0) if name in POSITIVE else EVERYWHERE)
    made = [rng.uniform(low, high, SIZE).astype(dtype) for _ in range(PRIMITIVES[name].arity)]
    if name == "pow":
        made[1] = rng.uniform(-3, 3, SIZE).astype(dtype)
    return made


def _sampler(call: Callable[[], Any]) -> Callable[[], float]:
    repeats = 8

    def sample() -> float:
        started = perf_counter()
        for _ in range(repeats):
            call()
        return (perf_counter() - started) / repeats

    return sample


def _library_loop(scalar: Callable[..., float], arity: int) -> Callable[..., None]:
    """Returns the loop that Numba compiles by itself, which calls the mathematical library once per element."""
    if arity == 1:

        @numba.njit(error_model="numpy")
        def one(a: Any, out: Any) -> None:
            for i in range(out.size):
                out[i] = scalar(a[i])

        return one

    @numba.njit(error_model="numpy")
    def two(a: Any, b: Any, out: Any) -> None:
        for i in range(out.size):
            out[i] = scalar(a[i], b[i])

    return two


def _compiles(function: Callable[..., None], operands: list[Any], out: Any) -> bool:
    try:
        function(*operands, out)
    except numba.core.errors.NumbaError:  # Numba has no such function
        return False
    return True


def _torch_call(name: str, operands: list[Any]) -> dict[str, Callable[[], Any]]:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return {}
    torch.set_num_threads(1)
    tensors = [torch.from_numpy(operand) for operand in operands]
    out = torch.empty_like(tensors[0])
    if name == "softplus":  # it takes no output
        return {TORCH: lambda: torch.nn.functional.softplus(tensors[0])}
    function = getattr(torch, name, None)
    return {} if function is None else {TORCH: lambda: function(*tensors, out=out)}
