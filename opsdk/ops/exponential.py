"""exp, log and their relatives that stay exact near 0."""

from __future__ import annotations

from typing import Any

from opsdk.define.infer import broadcast
from opsdk.expr import vmath
from opsdk.expr.elementwise import elementwise

# Any, in the expressions of built-in ops: a symbol, while the expression is read.


@elementwise("opsdk::exp(Tensor x) -> Tensor out", infer=broadcast.with_floating(), lazy=True)
def exp(x: Any) -> Any:
    """e to the power x; overflow gives inf, without a warning."""
    return vmath.exp(x)


@elementwise(
    "opsdk::log(Tensor x) -> Tensor out", infer=broadcast.with_floating(), domain={"x": (0.0, None)}, lazy=True
)
def log(x: Any) -> Any:
    """Natural logarithm; -inf at 0 and nan below, without a warning."""
    return vmath.log(x)


@elementwise("opsdk::expm1(Tensor x) -> Tensor out", infer=broadcast.with_floating(), lazy=True)
def expm1(x: Any) -> Any:
    """eˣ - 1, exact near 0 too; overflow gives inf, without a warning."""
    return vmath.expm1(x)


@elementwise(
    "opsdk::log1p(Tensor x) -> Tensor out", infer=broadcast.with_floating(), domain={"x": (-1.0, None)}, lazy=True
)
def log1p(x: Any) -> Any:
    """log(1 + x), exact near 0 too; -inf at -1 and nan below, without a warning."""
    return vmath.log1p(x)
