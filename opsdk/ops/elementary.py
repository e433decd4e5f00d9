"""Elementary functions beside exp, log and sqrt: sin, cos, tan, erf, rsqrt, reciprocal."""

from __future__ import annotations

from typing import Any

from opsdk.define.infer import broadcast
from opsdk.expr import vmath
from opsdk.expr.elementwise import elementwise

# Any, in the expressions of built-in ops: a symbol, while the expression is read.
_FLOATING = broadcast.with_floating()  # integers give floats


@elementwise("opsdk::sin(Tensor x) -> Tensor out", infer=_FLOATING, lazy=True)
def sin(x: Any) -> Any:
    """Sine of x in radians; nan at ±inf, without a warning."""
    return vmath.sin(x)


@elementwise("opsdk::cos(Tensor x) -> Tensor out", infer=_FLOATING, lazy=True)
def cos(x: Any) -> Any:
    """Cosine of x in radians; nan at ±inf, without a warning."""
    return vmath.cos(x)


@elementwise("opsdk::tan(Tensor x) -> Tensor out", infer=_FLOATING, lazy=True)
def tan(x: Any) -> Any:
    """Tangent of x in radians; nan at ±inf, without a warning."""
    return vmath.tan(x)


@elementwise("opsdk::erf(Tensor x) -> Tensor out", infer=_FLOATING, lazy=True)
def erf(x: Any) -> Any:
    """The error function, 2/√π ∫₀ˣ exp(-t²) dt."""
    return vmath.erf(x)


@elementwise("opsdk::rsqrt(Tensor x) -> Tensor out", infer=_FLOATING, domain={"x": (0.0, None)}, lazy=True)
def rsqrt(x: Any) -> Any:
    """1 / √x; inf at 0 and nan below, without a warning."""
    return vmath.rsqrt(x)


@elementwise("opsdk::reciprocal(Tensor x) -> Tensor out", infer=_FLOATING, lazy=True)
def reciprocal(x: Any) -> Any:
    """1 / x; ±inf at ±0, without a warning."""
    return vmath.reciprocal(x)
