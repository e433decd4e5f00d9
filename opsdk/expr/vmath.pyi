"""Mathematical functions for scalar expressions, for arrays and numbers, and inside Numba kernels, under one name each.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.expr.draws import normal as normal
from opsdk.expr.draws import random_bits as random_bits
from opsdk.expr.draws import uniform as uniform
from opsdk.expr.row.row import row_index as row_index
from opsdk.expr.row.row import row_logsumexp as row_logsumexp
from opsdk.expr.row.row import row_max as row_max
from opsdk.expr.row.row import row_mean as row_mean
from opsdk.expr.row.row import row_min as row_min
from opsdk.expr.row.row import row_size as row_size
from opsdk.expr.row.row import row_sum as row_sum
from opsdk.expr.row.row import row_take as row_take

pi: float
e: float
inf: float
nan: float

def sqrt(x: Any) -> Any:
    """Returns √x. x ≥ 0; NaN below. Derivative 1/(2√x), infinite at 0."""

def rsqrt(x: Any) -> Any:
    """Returns 1/√x. x > 0; ∞ at 0, NaN below. Derivative −1/(2x√x)."""

def pow(a: Any, b: Any) -> Any:
    """Returns aᵇ. NaN for a < 0 and a fractional b; 1 for b = 0. Derivatives b aᵇ⁻¹, and aᵇ log a (0 at a = 0)."""

def cbrt(x: Any) -> Any:
    """Returns ∛x, negative for x < 0. All x. Derivative 1/(3 ∛x²), infinite at 0."""

def square(x: Any) -> Any:
    """Returns x². All x. Derivative 2x."""

def reciprocal(x: Any) -> Any:
    """Returns 1/x. All x; ±∞ at ±0. Derivative −1/x²."""

def hypot(a: Any, b: Any) -> Any:
    """Returns √(a² + b²) without overflow. All a, b. Derivatives a/y, b/y; NaN at the origin, where there
    is none.
    """

def isnan(x: Any) -> Any:
    """Returns whether x is NaN. A condition, without a derivative."""

def isinf(x: Any) -> Any:
    """Returns whether x is ∞ or −∞. A condition, without a derivative."""

def isfinite(x: Any) -> Any:
    """Returns whether x is neither infinite nor NaN. A condition, without a derivative."""

def logical_and(a: Any, b: Any) -> Any:
    """Returns whether both conditions hold; on symbols also a & b."""

def logical_or(a: Any, b: Any) -> Any:
    """Returns whether at least one condition holds; on symbols also a | b."""

def logical_not(a: Any) -> Any:
    """Returns whether the condition does not hold; on symbols also ~a."""

def minimum(a: Any, b: Any) -> Any:
    """Returns the smaller one, NaN if either is. Where both are equal the derivative is a's."""

def maximum(a: Any, b: Any) -> Any:
    """Returns the larger one, NaN if either is. Where both are equal the derivative is a's."""

def where(condition: Any, a: Any, b: Any) -> Any:
    """Returns a where the condition holds, else b. Derivatives 1 and 0; none with respect to the condition."""

def exp(x: Any) -> Any:
    """Returns eˣ. All x. Derivative eˣ."""

def exp2(x: Any) -> Any:
    """Returns 2ˣ. All x. Derivative 2ˣ log 2."""

def expm1(x: Any) -> Any:
    """Returns eˣ − 1, exact near 0. All x. Derivative eˣ."""

def log(x: Any) -> Any:
    """Returns the natural logarithm. x > 0; −∞ at 0, NaN below. Derivative 1/x."""

def log1p(x: Any) -> Any:
    """Returns log(1 + x), exact near 0. x > −1; −∞ at −1, NaN below. Derivative 1/(1 + x)."""

def log2(x: Any) -> Any:
    """Returns the logarithm to base 2. x > 0; −∞ at 0, NaN below. Derivative 1/(x log 2)."""

def log10(x: Any) -> Any:
    """Returns the logarithm to base 10. x > 0; −∞ at 0, NaN below. Derivative 1/(x log 10)."""

def sigmoid(x: Any) -> Any:
    """Returns 1/(1 + e⁻ˣ). All x. Derivative y (1 − y)."""

def softplus(x: Any) -> Any:
    """Returns log(1 + eˣ) without overflow. All x. Derivative sigmoid x."""

def logaddexp(a: Any, b: Any) -> Any:
    """Returns log(eᵃ + eᵇ) without overflow. All a, b. Derivatives sigmoid(a − b), sigmoid(b − a)."""

def erf(x: Any) -> Any:
    """Returns 2/√π ∫₀ˣ exp(−t²) dt. All x. Derivative 2/√π exp(−x²)."""

def erfc(x: Any) -> Any:
    """Returns 1 − erf x, exact where it vanishes. All x. Derivative −2/√π exp(−x²)."""

def abs(x: Any) -> Any:
    """Returns |x|. All x. Derivative sign x, 0 at the kink."""

def sign(x: Any) -> Any:
    """Returns −1, 0 or 1; NaN for NaN. Derivative 0."""

def copysign(x: Any, y: Any) -> Any:
    """Returns |x| with the sign of y. Derivative ±1 with respect to x, 0 at x = 0; none with respect to y."""

def floor(x: Any) -> Any:
    """Returns the largest integer that is not above x. Derivative 0."""

def ceil(x: Any) -> Any:
    """Returns the smallest integer that is not below x. Derivative 0."""

def round(x: Any) -> Any:
    """Returns the nearest integer, the even one of two. Derivative 0."""

def trunc(x: Any) -> Any:
    """Returns x without its fraction. Derivative 0."""

def fmod(a: Any, b: Any) -> Any:
    """Returns a − b trunc(a/b), with the sign of a. NaN for b = 0 or a = ±∞. Derivatives 1 and −trunc(a/b)."""

def sin(x: Any) -> Any:
    """Returns sin x, x in radians. All finite x; NaN at ±∞. Derivative cos x."""

def cos(x: Any) -> Any:
    """Returns cos x, x in radians. All finite x; NaN at ±∞. Derivative −sin x."""

def tan(x: Any) -> Any:
    """Returns tan x, x in radians. All finite x; NaN at ±∞. Derivative 1 + tan² x."""

def arcsin(x: Any) -> Any:
    """Returns arcsin x in [−π/2, π/2]. |x| ≤ 1; NaN outside. Derivative 1/√(1 − x²), infinite at ±1."""

def arccos(x: Any) -> Any:
    """Returns arccos x in [0, π]. |x| ≤ 1; NaN outside. Derivative −1/√(1 − x²), infinite at ±1."""

def arctan(x: Any) -> Any:
    """Returns arctan x in [−π/2, π/2]. All x. Derivative 1/(1 + x²)."""

def arctan2(y: Any, x: Any) -> Any:
    """Returns the angle of the point (x, y) in [−π, π]. All x, y. Derivatives x/r², −y/r²; NaN at the origin."""

def sinh(x: Any) -> Any:
    """Returns (eˣ − e⁻ˣ)/2. All x. Derivative cosh x."""

def cosh(x: Any) -> Any:
    """Returns (eˣ + e⁻ˣ)/2. All x. Derivative sinh x."""

def tanh(x: Any) -> Any:
    """Returns sinh x / cosh x. All x. Derivative 1 − tanh² x."""

def arcsinh(x: Any) -> Any:
    """Returns log(x + √(x² + 1)). All x. Derivative 1/√(x² + 1)."""

def arccosh(x: Any) -> Any:
    """Returns log(x + √(x² − 1)). x ≥ 1; NaN below. Derivative 1/√(x² − 1), infinite at 1."""

def arctanh(x: Any) -> Any:
    """Returns log((1 + x)/(1 − x))/2. |x| ≤ 1; ±∞ at ±1, NaN outside. Derivative 1/(1 − x²)."""

def lgamma(x: Any) -> Any:
    """Returns log |Γ(x)|. All x; ∞ at 0, −1, −2 …. Derivative digamma x."""

def digamma(x: Any) -> Any:
    """Returns the derivative of log Γ(x). All x; ∓∞ at ±0, NaN at −1, −2 …. Derivative trigamma x."""

def trigamma(x: Any) -> Any:
    """Returns the second derivative of log Γ(x). All x; ∞ at 0, −1, −2 …. Derivative polygamma of order 2."""

def erfcx(x: Any) -> Any:
    """Returns exp(x²) erfc x. All x; ∞ below −26.6, of float32 below −9.4. Derivative 2xy − 2/√π."""

def erfinv(x: Any) -> Any:
    """Returns y with erf y = x. |x| ≤ 1; ±∞ at ±1, NaN outside. Derivative √π/2 exp(y²)."""

def log_ndtr(x: Any) -> Any:
    """Returns the logarithm of the normal distribution function. All x. Derivative √(2/π)/erfcx(−x/√2)."""

def i0e(x: Any) -> Any:
    """Returns e^−|x| I₀(x), I₀ the modified Bessel function. All x. Derivative i1e x − sign(x) y; 0 at the
    tip at 0.
    """

def i1e(x: Any) -> Any:
    """Returns e^−|x| I₁(x), I₁ the modified Bessel function. All x. Derivative i0e x − (1/x + sign x) y;
    1/2 at 0.
    """

def j0(x: Any) -> Any:
    """Returns J₀(x), the Bessel function. All finite x; NaN at ±∞. Errors are small beside 1. Derivative −j1 x."""

def j1(x: Any) -> Any:
    """Returns J₁(x), the Bessel function. All finite x; NaN at ±∞. Errors are small beside 1. Derivative
    j0 x − y/x.
    """

def sinc(x: Any) -> Any:
    """Returns sin(πx)/(πx), 1 at 0. All finite x; NaN at ±∞. Derivatives of every order."""

def clip(x: Any, low: Any, high: Any) -> Any:
    """Returns x held between two bounds, NaN if any is; high where they cross, as in NumPy and PyTorch.

    Derivative that of minimum(maximum(x, low), high).
    """
