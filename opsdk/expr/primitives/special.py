"""Special functions: primitives that are expressions of those in `table`, each with its derivative and its accuracy.

Where a derivative is no expression of what there is, as that of digamma, the entry of the next order is made when it is
asked for: there are derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opsdk.core.lazy import slow
from opsdk.expr.primitives.body import Body
from opsdk.expr.primitives.entry import PRIMITIVES, REAL_ONLY, WHOLE, Rule, primitive
from opsdk.expr.symbol import Symbol, apply

_HALF_ROOT_PI = 0.886226925452758
_ROOT_TWO_OVER_PI, _ROOT_HALF = 0.7978845608028654, 0.7071067811865476


def _special(
    name: str,
    doc: str,
    function: str | tuple[str, int],
    *,
    rule: Rule,
    cost: int,
    ulp: tuple[float, float] | None = None,
    least: Callable[..., Any] | None = None,  # Any: arrays of float64
) -> None:
    """Adds a primitive of one operand.

    Args:
        name: what nodes and kernels call it.
        doc: what users are told; empty for what nothing but derivatives use.
        function: its body as `module.function` in `bodies`; with an order, the function that makes the body.
        rule: the derivative.
        cost: as in `Primitive`.
        ulp: likewise.
        least: likewise.
    """
    path, order = (function, None) if isinstance(function, str) else function
    module, _, attribute = path.partition(".")

    def body() -> Any:
        found = getattr(slow(f"opsdk.expr.primitives.bodies.{module}"), attribute)
        return found if order is None else found(order)

    made = Body(body, ("x",), f"primitive {name!r}")
    primitive(name, doc, floats=WHOLE, body=made, rule=rule, cost=cost, ulp=ulp, least=least, complex=REAL_ONLY)


def _member(name: str, path: str, order: int, rule: Callable[[int], Rule], cost: int) -> str:
    """Returns the name of a member of a family, which is added where it is not there yet."""
    if name not in PRIMITIVES:
        _special(name, "", (path, order), rule=rule(order), cost=cost)
    return name


def _polygamma(order: int) -> str:
    name = "trigamma" if order == 1 else f"polygamma{order}"
    return _member(name, "gamma.polygamma", order, lambda n: lambda y, a: (apply(_polygamma(n + 1), a),), 60)


def _slope_of_sinc(order: int) -> str:
    name = f"sinc_d{order}"
    return _member(name, "sinc.derivative", order, lambda n: lambda y, a: (apply(_slope_of_sinc(n + 1), a),), 40)


def _integral(order: int) -> str:
    """exp(x²) iⁿerfc x, of which the derivative is −2 (n + 1) times the next one."""

    def rule(n: int) -> Rule:
        return lambda y, a: (-2.0 * (n + 1) * apply(_integral(n + 1), a),)

    return _member(f"i{order}erfcx", "normal.integral", order, rule, 60)


def _j(order: int) -> str:
    """Jₙ(x)/xⁿ, of which the derivative is −x times the next one."""
    name = f"j{order}_over_x{order}"
    return _member(name, "bessel.j_over_power", order, lambda n: lambda y, a: (-(a * apply(_j(n + 1), a)),), 50)


def _i(order: int) -> str:
    """e^−|x| Iₙ(x)/xⁿ, of which the derivative is x times the next one less itself, with the sign of x."""
    name = f"i{order}e_over_x{order}"

    def rule(n: int) -> Rule:
        return lambda y, a: (a * apply(_i(n + 1), a) - apply("sign", a) * y,)

    return _member(name, "bessel.i_over_power", order, rule, 40)


# Any: arrays of float64. Left of 0 what is reflected cancels beside its zeros.
def _reflected(name: str) -> Callable[[Any], Any]:
    def least(x: Any) -> Any:
        with np.errstate(all="ignore"):
            return np.where(x < 0, np.maximum(1.0, np.abs(PRIMITIVES[name].meaning(np, 1.0 - x))), 0.0)

    return least


def _one(x: Any) -> float:
    return 1.0


def _slope_of_log_ndtr(y: Symbol, a: Symbol) -> tuple[Symbol]:
    """The density over what the logarithm is of: each form where neither of its sides leaves the range."""
    low = _ROOT_TWO_OVER_PI / apply("erfcx", -_ROOT_HALF * apply("minimum", a, 0.0))
    high = 0.5 * _ROOT_TWO_OVER_PI * apply("exp", -0.5 * (a * a) - y)
    return (apply("where", a < 0.0, low, high),)


def _slope_of_i1e(y: Symbol, a: Symbol) -> tuple[Symbol]:
    return (apply(_i(1), a) + a * a * apply(_i(2), a) - apply("sign", a) * y,)


# fmt: off
_special("lgamma",
    "Returns log |Γ(x)|. All x; ∞ at 0, −1, −2 …. Derivative digamma x.",
    "gamma.lgamma", rule=lambda y, a: (apply("digamma", a),), cost=70, ulp=(7.5, 5.0), least=_reflected("lgamma"))
_special("digamma",
    "Returns the derivative of log Γ(x). All x; ∓∞ at ±0, NaN at −1, −2 …. Derivative trigamma x.",
    "gamma.digamma", rule=lambda y, a: (apply("trigamma", a),), cost=60, ulp=(6.5, 4.5), least=_reflected("digamma"))
_special("trigamma",
    "Returns the second derivative of log Γ(x). All x; ∞ at 0, −1, −2 …. Derivative polygamma of order 2.",
    ("gamma.polygamma", 1), rule=lambda y, a: (apply(_polygamma(2), a),), cost=60, ulp=(9.5, 7.0))
_special("erfcx",
    "Returns exp(x²) erfc x. All x; ∞ below −26.6, of float32 below −9.4. Derivative 2xy − 2/√π.",
    "normal.erfcx", rule=lambda y, a: (-2.0 * apply(_integral(1), a),), cost=30, ulp=(6.5, 4.5))
_special("erfinv",
    "Returns y with erf y = x. |x| ≤ 1; ±∞ at ±1, NaN outside. Derivative √π/2 exp(y²).",
    "normal.erfinv", rule=lambda y, a: (_HALF_ROOT_PI * apply("exp", y * y),), cost=36, ulp=(3.5, 3.5))
_special("log_ndtr",
    "Returns the logarithm of the normal distribution function. All x. Derivative √(2/π)/erfcx(−x/√2).",
    "normal.log_ndtr", rule=_slope_of_log_ndtr,
    cost=45, ulp=(6.5, 6.0))
_special("i0e",
    "Returns e^−|x| I₀(x), I₀ the modified Bessel function. All x. Derivative i1e x − sign(x) y; 0 at the tip at 0.",
    "bessel.i0e", rule=lambda y, a: (apply("i1e", a) - apply("sign", a) * y,), cost=32, ulp=(4.0, 4.0))
_special("i1e",
    "Returns e^−|x| I₁(x), I₁ the modified Bessel function. All x. Derivative i0e x − (1/x + sign x) y; 1/2 at 0.",
    "bessel.i1e", rule=_slope_of_i1e, cost=32, ulp=(4.0, 4.0))
_special("j0",
    "Returns J₀(x), the Bessel function. All finite x; NaN at ±∞. Errors are small beside 1. Derivative −j1 x.",
    "bessel.j0", rule=lambda y, a: (-apply("j1", a),), cost=60, ulp=(7.0, 7.0), least=_one)
_special("j1",
    "Returns J₁(x), the Bessel function. All finite x; NaN at ±∞. Errors are small beside 1. Derivative j0 x − y/x.",
    "bessel.j1", rule=lambda y, a: (apply(_j(1), a) - a * a * apply(_j(2), a),), cost=60, ulp=(4.0, 4.0), least=_one)
_special("sinc",
    "Returns sin(πx)/(πx), 1 at 0. All finite x; NaN at ±∞. Derivatives of every order.",
    "sinc.sinc", rule=lambda y, a: (apply(_slope_of_sinc(1), a),), cost=24, ulp=(3.0, 3.0))
# fmt: on
