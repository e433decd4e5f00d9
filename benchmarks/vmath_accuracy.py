"""The errors of vmath's functions, in units in the last place.

For float32 every float is tried, or every n-th; the reference is vmath for float64, which is compared here with
mpmath and with 80-bit arithmetic. Pairs for functions of two operands are drawn from all exponents and from where
results vary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import mpmath
import numba
import numpy as np

from opsdk.backends.vmath.table import numba_functions
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.verify.kernels.exact import FUNCTIONS

# Any, throughout: compiled functions and arrays of either dtype.

SPECIAL = tuple(name for name, each in PRIMITIVES.items() if each.body is not None and each.doc and not each.public)
UNARY = (
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "cbrt", "sin", "cos", "tan",
    "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sigmoid", "softplus",
    "erf", "erfc", *SPECIAL,
)  # fmt: skip
BINARY = ("pow", "arctan2", "hypot", "logaddexp", "fmod")
NAMES = UNARY + BINARY
BLOCK = 1 << 16
EXACT, EXACT_SPECIAL = 8192, 2048  # about how many operands are given to mpmath
HAS_WIDE = np.finfo(np.longdouble).nmant >= 63  # 80-bit arithmetic, the reference for many samples of float64


@dataclass(frozen=True)
class Worst:
    """The largest error that was found.

    Args:
        ulp: the error, in units in the last place of the right result.
        at: the operands.
        tried: how many operands were tried.
    """

    ulp: float
    at: tuple[float, ...]
    tried: int


def worst_of_float32(name: str, stride: int) -> Worst:
    """Returns the largest error over every `stride`-th float32, or over drawn pairs."""
    found = Worst(0.0, (), 0)
    for operands in _all_floats(stride) if name in UNARY else _pairs(np.float32, max(16, 1024 // stride)):
        got = _values(name, np.float32, *operands).astype(np.float64)
        wide = _values(name, np.float64, *(operand.astype(np.float64) for operand in operands))
        errors = np.empty(got.size)
        _errors(got, wide, wide.view(np.int64), np.empty(got.size, np.int64), errors)
        found = _larger(found, _settled(name, errors, wide, operands), operands)
    return found


def worst_of_float64(name: str) -> Worst:
    """Returns the largest error over drawn operands, against 80-bit arithmetic and, for some thousands, mpmath."""
    found = Worst(0.0, (), 0)
    if HAS_WIDE and name not in ("erf", "erfc", *SPECIAL):
        for operands in _drawn(64) if name in UNARY else _pairs(np.float64, 64):
            with np.errstate(all="ignore"):
                wide = _wide(name, *(operand.astype(np.longdouble) for operand in operands))
            errors = _wide_errors(_values(name, np.float64, *operands), wide)
            found = _larger(found, _settled(name, errors, wide, operands), operands)
    operands = next(_drawn(1) if name in UNARY else _pairs(np.float64, 1))
    operands = tuple(operand[:: BLOCK // (EXACT_SPECIAL if name in SPECIAL else EXACT)] for operand in operands)
    usable = np.logical_and.reduce([np.isfinite(operand) & (operand != 0) for operand in operands])
    operands = tuple(operand[usable] for operand in operands)
    got, exact = _values(name, np.float64, *operands), _exact(name, *operands)
    errors = np.array([_exact_error(a, b) for a, b in zip(got, exact, strict=True)])
    return _larger(found, _settled(name, errors, np.array([float(b) for b in exact]), operands), operands)


def _settled(name: str, errors: Any, results: Any, operands: tuple[Any, ...]) -> Any:
    """Returns errors in the units that count: not of the result where what it is made of cancels."""
    least = PRIMITIVES[name].least
    if least is None:
        return errors
    with np.errstate(all="ignore"):
        size = np.maximum(np.abs(results), least(*(operand.astype(np.float64) for operand in operands)))
        counted = np.isfinite(size) & (size > 0) & np.isfinite(errors)
        apart = np.frexp(np.where(counted, size, 1.0))[1] - np.frexp(np.where(counted, np.abs(results), 1.0))[1]
        return np.where(counted, np.ldexp(errors, -apart), errors)


def _larger(found: Worst, errors: Any, operands: tuple[Any, ...]) -> Worst:
    i = int(np.argmax(errors))
    tried = found.tried + errors.size
    if errors[i] > found.ulp:
        return Worst(float(errors[i]), tuple(float(operand[i]) for operand in operands), tried)
    return Worst(found.ulp, found.at, tried)


# -- what is tried -----------------------------------------------------------------------------------------------------


def _all_floats(stride: int) -> Iterator[tuple[Any, ...]]:
    for start in range(0, 1 << 32, BLOCK * stride):
        bits = np.arange(0, min(BLOCK * stride, (1 << 32) - start), stride, dtype=np.uint32)
        bits += np.uint32(start)
        yield (bits.view(np.float32),)


def _drawn(blocks: int) -> Iterator[tuple[Any, ...]]:
    rng = np.random.default_rng(0)
    for _ in range(blocks):
        bits = rng.integers(-(2**63), 2**63 - 1, BLOCK // 4, dtype=np.int64).view(np.float64)
        near = [rng.normal(size=BLOCK // 4) * scale for scale in (1.0, 30.0)]
        near += [1.0 + rng.normal(size=BLOCK // 8) * 0.3, rng.uniform(-750, 750, BLOCK // 8)]
        yield (np.concatenate([bits, *near]),)


def _pairs(dtype: type[Any], blocks: int) -> Iterator[tuple[Any, ...]]:
    rng = np.random.default_rng(1)
    integer = np.dtype(f"i{np.dtype(dtype).itemsize}")
    limits = np.iinfo(integer)

    def bits() -> Any:
        return rng.integers(limits.min, limits.max, quarter, dtype=integer).view(dtype)

    quarter = BLOCK // 4
    for _ in range(blocks):
        with np.errstate(all="ignore"):
            a = [
                bits(),
                rng.normal(size=quarter),
                np.exp(rng.normal(size=quarter) * 10),
                1 + rng.normal(size=quarter) * 1e-3,
            ]
            b = [bits(), rng.normal(size=quarter), rng.uniform(-30, 30, quarter), rng.uniform(-1, 1, quarter) * 1e5]
            yield tuple(np.concatenate([part.astype(dtype) for part in side]) for side in (a, b))


# -- what comes out, and what should -----------------------------------------------------------------------------------


@cache
def loop(name: str, dtype: type[Any]) -> Callable[..., None]:
    """Returns a compiled loop of one function over contiguous arrays: operands, then the result."""
    function = numba_functions(np.dtype(dtype))[name]
    if PRIMITIVES[name].arity == 1:

        @numba.njit(error_model="numpy")
        def one(a: Any, out: Any) -> None:
            for i in range(out.size):
                out[i] = function(a[i])

        return one

    @numba.njit(error_model="numpy")
    def two(a: Any, b: Any, out: Any) -> None:
        for i in range(out.size):
            out[i] = function(a[i], b[i])

    return two


def _values(name: str, dtype: type[Any], *operands: Any) -> Any:
    out = np.empty(operands[0].size, dtype)
    loop(name, dtype)(*operands, out)
    return out


@numba.njit(error_model="numpy")
def _errors(got: Any, wide: Any, bits: Any, powers: Any, errors: Any) -> None:
    """Fills in |got − wide| in units of the float32 nearest to it; what rounds to infinity is taken as 2¹²⁸."""
    most = 2.0**128
    for i in range(got.size):
        y, z = min(max(got[i], -most), most), min(max(wide[i], -most), most)
        exponent = min(max(((bits[i] >> 52) & 2047) - 1023, -126), 127)
        powers[i] = (23 - exponent + 1023) << 52
        errors[i] = abs(y - z)
    scale = powers.view(np.float64)
    for i in range(got.size):
        error = errors[i] * scale[i]
        is_nan, should_be = got[i] != got[i], wide[i] != wide[i]
        errors[i] = error if not (is_nan | should_be) else (0.0 if is_nan & should_be else np.inf)


def _wide_errors(got: Any, wide: Any) -> Any:
    with np.errstate(all="ignore"):
        nearest = wide.astype(np.float64)
        size = np.spacing(np.where(np.isfinite(nearest), np.abs(nearest), 1.0)).astype(np.longdouble)
        errors = (np.abs(got.astype(np.longdouble) - wide) / size).astype(np.float64)
    same = (got == nearest) | (np.isnan(got) & np.isnan(nearest))
    return np.where(np.isfinite(nearest) & np.isfinite(got), errors, np.where(same, 0.0, np.inf))


def _exact_error(got: float, exact: Any) -> float:
    nearest = float(exact)
    if not np.isfinite(nearest) or not np.isfinite(got):
        return 0.0 if got == nearest or (np.isnan(got) and np.isnan(nearest)) else np.inf
    return float(abs(mpmath.mpf(float(got)) - exact) / mpmath.mpf(float(np.spacing(abs(nearest)))))


def _wide(name: str, *operands: Any) -> Any:
    a = operands[0]
    formulas: dict[str, Callable[[], Any]] = {
        "rsqrt": lambda: 1 / np.sqrt(a),
        "sigmoid": lambda: np.where(a >= 0, 1, np.exp(-np.abs(a))) / (1 + np.exp(-np.abs(a))),
        "softplus": lambda: np.maximum(a, 0) + np.log1p(np.exp(-np.abs(a))),
        "pow": lambda: np.power(*operands),
    }
    return formulas[name]() if name in formulas else getattr(np, name)(*operands)


def _exact(name: str, *operands: Any) -> list[Any]:
    mpmath.mp.prec = 1200  # sin of a large number needs all of its 1024 bits and a mantissa
    function = partial(FUNCTIONS[name], mpmath.mp)
    return [_real(function, values) for values in zip(*operands, strict=True)]


def _real(function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """Returns the exact value; NaN outside the domain, infinity at a pole."""
    try:
        value = function(*(mpmath.mpf(float(value)) for value in values))
    except (ZeroDivisionError, ValueError):
        return mpmath.mpf("nan")
    return value if isinstance(value, mpmath.mpf) else mpmath.mpf("nan")
