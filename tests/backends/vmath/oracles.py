"""Special functions to any accuracy, by mpmath, and by what is left of them where arguments are huge."""

import mpmath


def gamma_of(value, reflected):
    """A function of x ≥ 0, and what reflection makes of it left of 0."""
    return lambda x: value(x) if x > 0 else reflected(x, value(1 - x))


def asymptotic(near, far, end):
    return lambda x: near(x) if abs(x) < end else far(x)


def far_bessel(shift):
    """√(2/(πa)) cos(a − shift π/4), which is all that is left where a is as large as here; J₁ is odd."""

    def value(x):
        a = abs(x)
        made = mpmath.sqrt(2 / (mpmath.pi * a)) * mpmath.cos(a - shift * mpmath.pi / 4)
        return made * mpmath.sign(x) if shift == 3 else made

    return value


def far_erfcx(x):
    series = 1 - 1 / (2 * x * x) + 3 / (4 * x**4) - 15 / (8 * x**6)
    return mpmath.inf if x < 0 else series / (x * mpmath.sqrt(mpmath.pi))


def far_log_ndtr(x):
    if x > 0:
        return mpmath.mpf(0)
    rest = mpmath.log(1 - 1 / x**2 + 3 / x**4 - 15 / x**6)
    return -x * x / 2 - mpmath.log(-x * mpmath.sqrt(2 * mpmath.pi)) + rest


def far_ive(order):
    m = 4 * order * order

    def value(x):
        a = abs(x)
        series = 1 - (m - 1) / (8 * a) + (m - 1) * (m - 9) / (128 * a * a)
        return series / mpmath.sqrt(2 * mpmath.pi * a) * (mpmath.sign(x) if order else 1)

    return value


MPMATH = {
    "lgamma": gamma_of(
        mpmath.loggamma, lambda x, y: mpmath.log(mpmath.pi / abs(mpmath.sinpi(x))) - y if x % 1 else mpmath.inf
    ),
    "digamma": gamma_of(
        mpmath.digamma, lambda x, y: y - mpmath.pi / mpmath.tan(mpmath.pi * x) if x % 1 else mpmath.nan
    ),
    "trigamma": gamma_of(
        lambda x: mpmath.psi(1, x), lambda x, y: (mpmath.pi / mpmath.sinpi(x)) ** 2 - y if x % 1 else mpmath.inf
    ),
    "erfcx": asymptotic(lambda x: mpmath.exp(x * x) * mpmath.erfc(x), far_erfcx, 300),
    "erfinv": lambda x: mpmath.erfinv(x) if abs(x) <= 1 else mpmath.nan,
    "log_ndtr": asymptotic(
        lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2) if x < 0
        else mpmath.log1p(-mpmath.erfc(x / mpmath.sqrt(2)) / 2),
        far_log_ndtr, 300,
    ),
    "i0e": asymptotic(lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x), far_ive(0), 1e6),
    "i1e": asymptotic(lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x), far_ive(1), 1e6),
    "j0": asymptotic(mpmath.j0, far_bessel(1), 1e18),
    "j1": asymptotic(mpmath.j1, far_bessel(3), 1e18),
    "sinc": mpmath.sincpi,
}  # fmt: skip
