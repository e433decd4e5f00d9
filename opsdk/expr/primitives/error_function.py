"""The error function and its complement on the arrays of any module, to the accuracy of float64."""

from __future__ import annotations

from typing import Any

# erf x / x − 1 as a polynomial in x², |x| ≤ 0.93; relative error 2⁻⁵⁹
SMALL = (
    0.1283791670955126, -0.3761263890318371, 0.11283791670952671, -0.026866170644598456, 0.005223977619464503,
    -0.0008548326627395231, 0.00012055316322538614, -1.4925187986325423e-05, 1.6453519691195806e-06,
    -1.6259572752628542e-07, 1.3961900304122608e-08, -8.290015562952878e-10,
)  # fmt: skip
# (1 + 2x) exp(x²) erfc x as a polynomial in (x − 4)/(x + 4), 0 ≤ x ≤ 27.5; relative error 2⁻⁵⁹
SCALED = (
    1.2329951186255526, -0.13962111684056253, 0.015379652102619676, 0.06809705425469538, -0.1010390660363008,
    0.09373283499825336, -0.06633036581229239, 0.03716751553904694, -0.016197734056954814, 0.005031969964010258,
    -0.0007577732946034072, -0.00019925661920288195, 0.00015062170661411247, -2.439946977054542e-05,
    -1.1222148436688378e-05, 5.7102698242662445e-06, 2.9413018858691103e-07, -8.260808894734729e-07,
    7.409480233928809e-08, 1.1042749932290983e-07, -1.7424369446813836e-08, -1.409759736399815e-08,
    1.6509653275932223e-09, 1.1924782880730005e-09,
)  # fmt: skip
SMALL_END = 0.925
HALF_WAY = 0.47  # below it erf is less than a half, and 1 − erf loses nothing
VANISHED = 28.0  # erfc is 0 from here on
SPLITTER = 134217729.0  # 2²⁷ + 1


# Any, throughout: an array module and its arrays.
def erf(xp: Any, a: Any) -> Any:
    """Returns 2/√π ∫₀ᵃ exp(−t²) dt."""
    m = xp.abs(a)
    return xp.where(m < SMALL_END, _small(xp, a), xp.copysign(1 - _positive(xp, m), a))


def erfc(xp: Any, a: Any) -> Any:
    """Returns 1 − erf a, with full relative accuracy where that vanishes."""
    m = xp.abs(a)
    tail = _positive(xp, m)
    return xp.where(m < HALF_WAY, 1 - _small(xp, a), xp.where(a < 0, 2 - tail, tail))


def _small(xp: Any, a: Any) -> Any:
    a = xp.minimum(xp.maximum(a, -1), 1)  # beyond, the value is not taken, and the polynomial would overflow
    return a + a * _polynomial(a * a, SMALL)


def _positive(xp: Any, m: Any) -> Any:
    """Returns erfc m, m ≥ 0. The square in the exponent is taken in two parts, of which the first is exact."""
    m = xp.minimum(m, VANISHED)
    wide = m * SPLITTER
    upper = wide - (wide - m)
    decay = xp.exp(-(upper * upper)) * xp.exp(-(m - upper) * (m + upper))
    return decay * (_polynomial((m - 4) / (m + 4), SCALED) / (1 + 2 * m))


def _polynomial(z: Any, coefficients: tuple[float, ...]) -> Any:
    total = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        total = total * z + coefficient
    return total
