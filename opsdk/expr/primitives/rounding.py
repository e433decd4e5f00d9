"""Signs and rounding: what is exact, and constant or a line but for kinks and jumps."""

from __future__ import annotations

from opsdk.expr.primitives.entry import REAL_ONLY, WHOLE, flat, primitive
from opsdk.expr.symbol import Symbol, apply


def _unless_zero(a: Symbol, slope: Symbol) -> Symbol:
    """A slope that is 0 at a kink at 0, by choice: an infinite cotangent is kept out as well."""
    return apply("where", apply("eq", a, 0.0), 0.0, slope)


# What each operation is, as a table.
# fmt: off
primitive("abs", "Returns |x|. All x. Derivative sign x, 0 at the kink.",
    python=abs, rule=lambda y, a: (_unless_zero(a, apply("sign", a)),), library="fabs")
primitive("sign", "Returns −1, 0 or 1; NaN for NaN. Derivative 0.",
    rule=flat, c="{0} != {0} ? {0} : (real)(({0} > 0) - ({0} < 0))")
primitive("copysign",
    "Returns |x| with the sign of y. Derivative ±1 with respect to x, 0 at x = 0; none with respect to y.", "x y",
    floats=WHOLE, complex=REAL_ONLY,
    rule=lambda y, a, b: (_unless_zero(a, apply("sign", a) * apply("copysign", 1.0, b)), None))
primitive("floor", "Returns the largest integer that is not above x. Derivative 0.", rule=flat, complex=REAL_ONLY)
primitive("ceil", "Returns the smallest integer that is not below x. Derivative 0.", rule=flat, complex=REAL_ONLY)
primitive("round", "Returns the nearest integer, the even one of two. Derivative 0.",
    floats="b", rule=flat,
    library="nearbyint", cuda="rint")  # to even where two are as near, as NumPy; C's `round` goes away from zero
primitive("trunc", "Returns x without its fraction. Derivative 0.", rule=flat, complex=REAL_ONLY)
primitive("fmod",
    "Returns a − b trunc(a/b), with the sign of a. NaN for b = 0 or a = ±∞. Derivatives 1 and −trunc(a/b).", "a b",
    floats=WHOLE, rule=lambda y, a, b: (1.0, (y - a) / b),  # fmod(a, b) = a - b·trunc(a/b)
    cost=24, complex=REAL_ONLY)
