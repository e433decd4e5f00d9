"""Mathematical functions for scalar expressions, for arrays and numbers, and inside Numba kernels, under one name each.

On symbols, which an elementwise op is read with, a function builds a node of the expression. On NumPy arrays and
numbers it computes at once, as NumPy does and without its warnings: float32 stays float32, integers give float64 but
for `abs`, `sign`, `square`, `floor`, `ceil`, `round`, `trunc`, `maximum`, `minimum`, `where` and `pow`, as
NumPy has them; `abs` and `pow` of Python numbers alone are Python's.
Inside a function that Numba compiles it is inlined as a polynomial that calls no library, so that a loop over it is
vectorised; there it takes float32 and float64 scalars, integers as float64, and arrays element by element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opsdk.expr.node import Node
from opsdk.expr.primitive import PRIMITIVES
from opsdk.expr.row.row import (
    row_index,
    row_logsumexp,
    row_max,
    row_mean,
    row_min,
    row_size,
    row_sum,
    row_take,
)
from opsdk.expr.symbol import Symbol
from opsdk.expr.symbol import apply as _node_of
from opsdk.expr.whole import PYTHON, is_number, of_numbers

# Any, in every signature: a symbol, an array or a number, and the same back.

pi = 3.141592653589793
e = 2.718281828459045
inf = float("inf")
nan = float("nan")


def exp(x: Any) -> Any:
    """Returns eˣ. All x. Derivative eˣ."""
    return _apply("exp", x)


def exp2(x: Any) -> Any:
    """Returns 2ˣ. All x. Derivative 2ˣ log 2."""
    return _apply("exp2", x)


def expm1(x: Any) -> Any:
    """Returns eˣ − 1, exact near 0. All x. Derivative eˣ."""
    return _apply("expm1", x)


def log(x: Any) -> Any:
    """Returns the natural logarithm. x > 0; −∞ at 0, NaN below. Derivative 1/x."""
    return _apply("log", x)


def log1p(x: Any) -> Any:
    """Returns log(1 + x), exact near 0. x > −1; −∞ at −1, NaN below. Derivative 1/(1 + x)."""
    return _apply("log1p", x)


def log2(x: Any) -> Any:
    """Returns the logarithm to base 2. x > 0; −∞ at 0, NaN below. Derivative 1/(x log 2)."""
    return _apply("log2", x)


def log10(x: Any) -> Any:
    """Returns the logarithm to base 10. x > 0; −∞ at 0, NaN below. Derivative 1/(x log 10)."""
    return _apply("log10", x)


def logaddexp(a: Any, b: Any) -> Any:
    """Returns log(eᵃ + eᵇ) without overflow. All a, b. Derivatives sigmoid(a − b), sigmoid(b − a)."""
    return _apply("logaddexp", a, b)


def pow(a: Any, b: Any) -> Any:
    """Returns aᵇ. NaN for a < 0 and a fractional b; 1 for b = 0. Derivatives b aᵇ⁻¹, and aᵇ log a (0 at a = 0)."""
    return _apply("pow", a, b)


def sqrt(x: Any) -> Any:
    """Returns √x. x ≥ 0; NaN below. Derivative 1/(2√x), infinite at 0."""
    return _apply("sqrt", x)


def rsqrt(x: Any) -> Any:
    """Returns 1/√x. x > 0; ∞ at 0, NaN below. Derivative −1/(2x√x)."""
    return _apply("rsqrt", x)


def cbrt(x: Any) -> Any:
    """Returns ∛x, negative for x < 0. All x. Derivative 1/(3 ∛x²), infinite at 0."""
    return _apply("cbrt", x)


def square(x: Any) -> Any:
    """Returns x². All x. Derivative 2x."""
    return _apply("square", x)


def reciprocal(x: Any) -> Any:
    """Returns 1/x. All x; ±∞ at ±0. Derivative −1/x²."""
    return _apply("reciprocal", x)


def hypot(a: Any, b: Any) -> Any:
    """Returns √(a² + b²) without overflow. All a, b. Derivatives a/y, b/y; NaN at the origin, where there is none."""
    return _apply("hypot", a, b)


def sin(x: Any) -> Any:
    """Returns sin x, x in radians. All finite x; NaN at ±∞. Derivative cos x."""
    return _apply("sin", x)


def cos(x: Any) -> Any:
    """Returns cos x, x in radians. All finite x; NaN at ±∞. Derivative −sin x."""
    return _apply("cos", x)


def tan(x: Any) -> Any:
    """Returns tan x, x in radians. All finite x; NaN at ±∞. Derivative 1 + tan² x."""
    return _apply("tan", x)


def arcsin(x: Any) -> Any:
    """Returns arcsin x in [−π/2, π/2]. |x| ≤ 1; NaN outside. Derivative 1/√(1 − x²), infinite at ±1."""
    return _apply("arcsin", x)


def arccos(x: Any) -> Any:
    """Returns arccos x in [0, π]. |x| ≤ 1; NaN outside. Derivative −1/√(1 − x²), infinite at ±1."""
    return _apply("arccos", x)


def arctan(x: Any) -> Any:
    """Returns arctan x in [−π/2, π/2]. All x. Derivative 1/(1 + x²)."""
    return _apply("arctan", x)


def arctan2(y: Any, x: Any) -> Any:
    """Returns the angle of the point (x, y) in [−π, π]. All x, y. Derivatives x/r², −y/r²; NaN at the origin."""
    return _apply("arctan2", y, x)


def sinh(x: Any) -> Any:
    """Returns (eˣ − e⁻ˣ)/2. All x. Derivative cosh x."""
    return _apply("sinh", x)


def cosh(x: Any) -> Any:
    """Returns (eˣ + e⁻ˣ)/2. All x. Derivative sinh x."""
    return _apply("cosh", x)


def tanh(x: Any) -> Any:
    """Returns sinh x / cosh x. All x. Derivative 1 − tanh² x."""
    return _apply("tanh", x)


def arcsinh(x: Any) -> Any:
    """Returns log(x + √(x² + 1)). All x. Derivative 1/√(x² + 1)."""
    return _apply("arcsinh", x)


def arccosh(x: Any) -> Any:
    """Returns log(x + √(x² − 1)). x ≥ 1; NaN below. Derivative 1/√(x² − 1), infinite at 1."""
    return _apply("arccosh", x)


def arctanh(x: Any) -> Any:
    """Returns log((1 + x)/(1 − x))/2. |x| ≤ 1; ±∞ at ±1, NaN outside. Derivative 1/(1 − x²)."""
    return _apply("arctanh", x)


def sigmoid(x: Any) -> Any:
    """Returns 1/(1 + e⁻ˣ). All x. Derivative y (1 − y)."""
    return _apply("sigmoid", x)


def softplus(x: Any) -> Any:
    """Returns log(1 + eˣ) without overflow. All x. Derivative sigmoid x."""
    return _apply("softplus", x)


def erf(x: Any) -> Any:
    """Returns 2/√π ∫₀ˣ exp(−t²) dt. All x. Derivative 2/√π exp(−x²)."""
    return _apply("erf", x)


def erfc(x: Any) -> Any:
    """Returns 1 − erf x, exact where it vanishes. All x. Derivative −2/√π exp(−x²)."""
    return _apply("erfc", x)


def abs(x: Any) -> Any:
    """Returns |x|. All x. Derivative sign x, 0 at the kink."""
    return _apply("abs", x)


def sign(x: Any) -> Any:
    """Returns −1, 0 or 1; NaN for NaN. Derivative 0."""
    return _apply("sign", x)


def copysign(x: Any, y: Any) -> Any:
    """Returns |x| with the sign of y. Derivative ±1 with respect to x, 0 at x = 0; none with respect to y."""
    return _apply("copysign", x, y)


def floor(x: Any) -> Any:
    """Returns the largest integer that is not above x. Derivative 0."""
    return _apply("floor", x)


def ceil(x: Any) -> Any:
    """Returns the smallest integer that is not below x. Derivative 0."""
    return _apply("ceil", x)


def round(x: Any) -> Any:
    """Returns the nearest integer, the even one of two. Derivative 0."""
    return _apply("round", x)


def trunc(x: Any) -> Any:
    """Returns x without its fraction. Derivative 0."""
    return _apply("trunc", x)


def fmod(a: Any, b: Any) -> Any:
    """Returns a − b trunc(a/b), with the sign of a. NaN for b = 0 or a = ±∞. Derivatives 1 and −trunc(a/b)."""
    return _apply("fmod", a, b)


def minimum(a: Any, b: Any) -> Any:
    """Returns the smaller one, NaN if either is. Where both are equal the derivative is a's."""
    return _apply("minimum", a, b)


def maximum(a: Any, b: Any) -> Any:
    """Returns the larger one, NaN if either is. Where both are equal the derivative is a's."""
    return _apply("maximum", a, b)


def where(condition: Any, a: Any, b: Any) -> Any:
    """Returns a where the condition holds, else b. Derivatives 1 and 0; none with respect to the condition."""
    return _apply("where", condition, a, b)


def isnan(x: Any) -> Any:
    """Returns whether x is NaN. A condition, without a derivative."""
    return _apply("isnan", x)


def isinf(x: Any) -> Any:
    """Returns whether x is ∞ or −∞. A condition, without a derivative."""
    return _apply("isinf", x)


def isfinite(x: Any) -> Any:
    """Returns whether x is neither infinite nor NaN. A condition, without a derivative."""
    return _apply("isfinite", x)


def logical_and(a: Any, b: Any) -> Any:
    """Returns whether both conditions hold; on symbols also a & b."""
    return _apply("and", a, b)


def logical_or(a: Any, b: Any) -> Any:
    """Returns whether at least one condition holds; on symbols also a | b."""
    return _apply("or", a, b)


def logical_not(a: Any) -> Any:
    """Returns whether the condition does not hold; on symbols also ~a."""
    return _apply("not", a)


def clip(x: Any, low: Any, high: Any) -> Any:
    """Returns x held between two bounds, NaN if any is; high where they cross, as in NumPy and PyTorch.

    Derivative that of minimum(maximum(x, low), high).
    """
    return minimum(maximum(x, low), high)


def _apply(name: str, *operands: Any) -> Any:
    if any(isinstance(operand, (Symbol, Node)) for operand in operands):
        return _node_of(name, *operands)
    if name in PYTHON and all(map(is_number, operands)):  # as the op computes them, which cannot tell abs from ours
        return of_numbers(name, operands)
    if all(isinstance(operand, (int, float)) for operand in operands):  # Python's own would raise where NumPy gives inf
        operands = tuple(np.asarray(operand)[()] for operand in operands)
    with np.errstate(all="ignore"):
        return PRIMITIVES[name].meaning(np, *operands)


__all__ = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "pow",
    "sqrt",
    "rsqrt",
    "cbrt",
    "square",
    "reciprocal",
    "hypot",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "arctan2",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "sigmoid",
    "softplus",
    "erf",
    "erfc",
    "abs",
    "sign",
    "copysign",
    "floor",
    "ceil",
    "round",
    "trunc",
    "fmod",
    "minimum",
    "maximum",
    "where",
    "isnan",
    "isinf",
    "isfinite",
    "logical_and",
    "logical_or",
    "logical_not",
    "clip",
    "pi",
    "e",
    "inf",
    "nan",
    "row_index",
    "row_logsumexp",
    "row_max",
    "row_mean",
    "row_min",
    "row_size",
    "row_sum",
    "row_take",
]
