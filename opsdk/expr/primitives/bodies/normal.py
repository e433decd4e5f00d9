"""What follows from the error function: erfcx, log_ndtr and erfinv.

(1 + 2a) erfcx a is a polynomial in (a − 4)/(a + 4) for all a ≥ 0 (Shepherd and Laframboise 1981). The derivatives of
erfcx are iterated integrals of erfc (DLMF 7.18), which do not cancel as 2x erfcx x − 2/√π does; they follow from those
below by recurrence (DLMF 7.18.7), far out by its continued fraction. erfinv x is x times a polynomial in
w = −log(1 − x²), or in √w where that is large (Giles 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opsdk.expr import vmath
from opsdk.expr.primitives.bodies.polynomial import mapped, polynomial

# Any, in every signature: a symbol, and the same back.

ERFCX = (
    1.2329951186255526, -0.13962111684056228, 0.015379652102619974, 0.06809705425466839, -0.1010390660363181,
    0.0937328349991126, -0.0663303658118609, 0.03716751552633857, -0.016197734062931516, 0.0050319700690982525,
    -0.000757773243613501, -0.0001992571524553914, 0.00015062142615855794, -2.4397731190666032e-05,
    -1.1221135843257956e-05, 5.7065783852019966e-06, 2.917345464443636e-07, -8.210648941983518e-07,
    7.771911791456086e-08, 1.0631825008866153e-07, -2.0725586962755578e-08, -1.2338762410556399e-08,
    3.2323125819873567e-09, 9.297681530920918e-10, -2.763974527227395e-10,
)  # fmt: skip
# (1 + 2a)² exp(a²) ierfc a, likewise
IERFC = (
    1.311531996848369, -0.17437586506108035, -0.15677345254424677, 0.3344285437717186, -0.32580481377910875,
    0.19936247592348574, -0.05738465601668063, -0.03153831533522365, 0.055955699912270486, -0.04173665856380961,
    0.019341294730707042, -0.004805186999011728, -0.00040395844266418655, 0.000815080228764322,
    -0.00021778075957812687, -5.493759860493756e-05, 4.61943986625363e-05, -1.3282108790770773e-06,
    -7.010037450476357e-06, 1.2226510043437055e-06, 9.70363501575159e-07, -2.786015570175599e-07,
    -1.1849419098619828e-07, 4.329353488443413e-08, 9.14204385842958e-09, -3.7244633806679557e-09,
)  # fmt: skip
# erfinv x / x as a polynomial in w/3.125 − 1, w ≤ 6.25; in √w mapped from [2.5, 4]; in √w mapped from [4, 6.1]
CENTRAL = (
    1.6536545626831027, 0.7504943200799635, -0.0589225671037876, -0.022604447453444733, 0.0178083618187569,
    -0.004137314377547895, -0.0012716922769885114, 0.0012324855702994214, -0.00026439358646646055,
    -0.0001168888508125076, 9.336692787624058e-05, -1.5027665773117194e-05, -1.1255653983969421e-05,
    7.12993974314695e-06, -6.87655180725494e-07, -1.0591188098187532e-06, 5.456420572209782e-07,
    -1.0412692841159635e-08, -1.0514990713371436e-07, 3.931511157646558e-08, 9.07207594789291e-09,
    -8.627191009014394e-09, -8.577966939639941e-11, 7.801712199036253e-10,
)  # fmt: skip
MIDDLE = (
    3.0838856104922208, 0.7539442257706239, 0.00302113943638407, -0.0015825410894034398, 0.0007883078509981353,
    -0.0004006356984211825, 0.00016966502592018017, -4.739182677882865e-05, 2.4058391918338327e-06,
    5.127314470348767e-06, -2.6646983082852556e-06, 5.264680305425013e-07, 9.267642775523117e-08,
    -9.46984593753811e-08, 2.6703991718481456e-08, -3.6086983146965074e-10, -2.7195823537882847e-09,
    9.85047133124713e-10, 3.929056598182976e-12, -6.385846404875191e-11,
)  # fmt: skip
TAIL = (
    4.90042105144364, 1.0607992684776597, -0.00018726854587224485, -0.00023188618667788061, 8.659304866833644e-05,
    -2.3451082668074927e-05, 5.620164924634611e-06, -1.2763533362883612e-06, 2.9788423783247757e-07,
    -8.52512809920081e-08, 3.554240615121155e-08, -1.9082662149052074e-08, 1.0431742117174725e-08,
    -5.093482215121759e-09, 2.0704914837298437e-09, -6.834123102170584e-10, 1.7180350181692064e-10,
    5.877270076330032e-12, -3.776234980618709e-11, 1.2709204612192294e-11,
)  # fmt: skip
ROOT_HALF = 0.7071067811865476
GRID = 64.0  # squares of its multiples are exact in float32 as far as their exponentials are numbers
VANISHED = 40.0  # exp(−x²/2) is 0 from here on


TWO_OVER_ROOT_PI = 1.1283791670955126
FRACTION_FROM, DEPTH = 3.0, 40  # where the continued fraction serves, and how deep it is there


def _decaying(a: Any, coefficients: Sequence[float] = ERFCX) -> Any:
    """Returns exp(a²) erfc a, a ≥ 0; with `IERFC`, 1 + 2a times the first integral of it."""
    far = vmath.minimum(a, 1e18)  # beyond, the quotient would be one of infinities
    return 0.5 * (polynomial((far - 4.0) / (far + 4.0), coefficients) / (0.5 + a))


def _exponential(x: Any, factor: float) -> Any:
    """Returns exp(factor · x²), factor ± a power of two; the exponent has two parts, of which the first is exact."""
    upper = vmath.round(x * GRID) * (1.0 / GRID)
    first, second = factor * (upper * upper), factor * ((x - upper) * (x + upper))
    total = first + second
    return vmath.exp(total) * (1.0 + (second - (total - first)))


def erfcx(x: Any) -> Any:
    """Returns exp(x²) erfc x."""
    positive = _decaying(vmath.abs(x))
    growth = _exponential(vmath.maximum(x, -27.0), 1.0)
    return vmath.where(x < 0.0, 2.0 * growth - positive, positive)


def integral(order: int) -> Callable[[Any], Any]:
    """Returns the function that gives exp(x²) iⁿerfc x, n ≥ 1."""

    def body(x: Any) -> Any:
        a = vmath.abs(x)
        first = 0.5 * (_decaying(a, IERFC) / (0.5 + a))
        made = [erfcx(x), vmath.where(x < 0.0, 0.5 * TWO_OVER_ROOT_PI - x * erfcx(x), first)]
        for n in range(2, order + 1):
            made.append((made[n - 2] - 2.0 * x * made[n - 1]) * (0.5 / n))
        ratio, far = 0.0, first
        for n in range(DEPTH, 1, -1):
            ratio = 1.0 / (2.0 * a + 2.0 * (n + 1) * ratio)
            if n <= order:
                far = far * ratio
        return made[1] if order == 1 else vmath.where(x < FRACTION_FROM, made[order], far)

    return body


def log_ndtr(x: Any) -> Any:
    """Returns the logarithm of the normal distribution function."""
    half = 0.5 * _decaying(ROOT_HALF * vmath.abs(x))
    upper = vmath.log1p(-(_exponential(vmath.minimum(vmath.abs(x), VANISHED), -0.5) * half))
    return vmath.where(x < 0.0, vmath.log(half) - (0.5 * x) * x, upper)


def erfinv(x: Any) -> Any:
    """Returns the number whose error function is x."""
    w = -vmath.log((1.0 - x) * (1.0 + x))
    root = vmath.sqrt(w)
    central, middle = polynomial(mapped(w, 3.125, 3.125), CENTRAL), polynomial(mapped(root, 3.25, 0.75), MIDDLE)
    far = vmath.where(root < 4.0, middle, polynomial(mapped(root, 5.05, 1.05), TAIL))
    value = x * vmath.where(w < 6.25, central, far)
    return vmath.where(vmath.abs(x) == 1.0, x * vmath.inf, value)
