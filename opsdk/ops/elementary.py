"""Elementary functions: exp, log, sqrt, sin, erf and their kin, and abs, sign and clip."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from opsdk.core.errors import AttributeValueError, DTypeError
from opsdk.core.spec import TensorSpec
from opsdk.core.written import entry, written
from opsdk.define.infer import Attrs, Inferred, Specs, broadcast, like
from opsdk.define.op import Op
from opsdk.define.sample import Sample
from opsdk.define.schema.schema import OpSchema
from opsdk.expr import vmath
from opsdk.expr.decorators import elementwise
from opsdk.ops.complex import conj, real_dtype
from opsdk.ops.elementwise import check_whole
from opsdk.ops.joining import where
from opsdk.ops.logical import equal

# Any, in the expressions of built-in ops: a symbol, while the expression is read; None for a bound that is not given.
FLOATING = broadcast.with_floating()  # integers give floats


class OfNumbers(like):
    """As the input, which holds numbers: bools have none of what these give."""

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        """Returns the spec of the input."""
        (spec,) = specs
        assert isinstance(spec, TensorSpec)
        if spec.dtype.kind == "b":
            raise DTypeError(f"op {schema.qualified_name!r}: x expected numbers, got bool; cast it")
        return (spec,)


# Any: a function of vmath, an infer rule, and what else the decorator takes.
def _op(function: Any, doc: str, infer: Any = FLOATING, name: str = "", **options: Any) -> Op:
    """Returns the op of a function of vmath, which it is called after unless a name is given."""
    name = name or function.__name__
    types = {"x": "Any", "return": "Any"}
    made = written(lambda x: function(x), name, types, module=__name__, doc=doc, origin=entry())
    return elementwise(f"opsdk::{name}(Tensor x) -> Tensor out", infer=infer, lazy=True, **options)(made)


_POSITIVE = {"x": (0.0, None)}

exp = _op(vmath.exp, "e to the power x; overflow gives inf, without a warning.")
expm1 = _op(vmath.expm1, "eˣ - 1, exact near 0 too; overflow gives inf, without a warning.")
log = _op(vmath.log, "Natural logarithm; -inf at 0 and nan below, without a warning.", domain=_POSITIVE)
log1p = _op(
    vmath.log1p,
    "log(1 + x), exact near 0 too; -inf at -1 and nan below, without a warning.",
    domain={"x": (-1.0, None)},
)
sqrt = _op(vmath.sqrt, "Square root; nan below 0, without a warning.", domain=_POSITIVE)
rsqrt = _op(vmath.rsqrt, "1 / √x; inf at 0 and nan below, without a warning.", domain=_POSITIVE)
square = _op(vmath.square, "x².", infer=OfNumbers())
exp2 = _op(vmath.exp2, "2 to the power x; overflow gives inf, without a warning.")
reciprocal = _op(vmath.reciprocal, "1 / x; ±inf at ±0, without a warning.")
sin = _op(vmath.sin, "Sine of x in radians; nan at ±inf, without a warning.")
cos = _op(vmath.cos, "Cosine of x in radians; nan at ±inf, without a warning.")
tan = _op(vmath.tan, "Tangent of x in radians; nan at ±inf, without a warning.")
erf = _op(vmath.erf, "The error function, 2/√π ∫₀ˣ exp(-t²) dt.")
erfc = _op(vmath.erfc, "1 - erf(x), exact where it vanishes.")
sinc = _op(vmath.sinc, "sin(πx) / (πx), 1 at 0; nan at ±inf, without a warning.")
log2 = _op(vmath.log2, "Logarithm to base 2; -inf at 0 and nan below, without a warning.", domain=_POSITIVE)
log10 = _op(vmath.log10, "Logarithm to base 10; -inf at 0 and nan below, without a warning.", domain=_POSITIVE)
sinh = _op(vmath.sinh, "Hyperbolic sine; ±inf beyond the range, without a warning.")
cosh = _op(vmath.cosh, "Hyperbolic cosine; inf beyond the range, without a warning.")
asin = _op(vmath.arcsin, "Angle in [-π/2, π/2] whose sine is x; nan beyond ±1.", domain={"x": (-1.0, 1.0)}, name="asin")
acos = _op(vmath.arccos, "Angle in [0, π] whose cosine is x; nan beyond ±1.", domain={"x": (-1.0, 1.0)}, name="acos")
atan = _op(vmath.arctan, "Angle in [-π/2, π/2] whose tangent is x.", name="atan")
asinh = _op(
    vmath.arcsinh,
    "Inverse of the hyperbolic sine.",
    complex_backward=lambda x, dout: dout * conj(rsqrt(square(x) + 1.0)),
    name="asinh",
)
acosh = _op(
    vmath.arccosh,
    "Inverse of the hyperbolic cosine, ≥ 0; nan below 1, without a warning.",
    domain={"x": (1.0, None)},
    name="acosh",
)
atanh = _op(
    vmath.arctanh,
    "Inverse of the hyperbolic tangent; ±inf at ±1 and nan beyond, without a warning.",
    domain={"x": (-1.0, 1.0)},
    name="atanh",
)
lgamma = _op(vmath.lgamma, "log |Γ(x)|; inf at 0 and below at whole numbers, without a warning.", domain=_POSITIVE)
digamma = _op(vmath.digamma, "The derivative of lgamma.", domain=_POSITIVE)
erfinv = _op(vmath.erfinv, "Inverse of erf; ±inf at ±1 and nan beyond.", domain={"x": (-1.0, 1.0)})


def _absolute(x: np.ndarray) -> np.ndarray:
    return np.abs(x)


def _magnitude(x: TensorSpec) -> TensorSpec:
    return TensorSpec(x.shape, real_dtype(x.dtype))


def _magnitude_grad(x: Any, out: Any, dout: Any) -> Any:
    """dout · x / |x|, and 0 at 0."""
    at_zero = equal(out, 0.0)
    return x * (dout * where(at_zero, 0.0, 1.0 / where(at_zero, 1.0, out)))


@elementwise(
    "opsdk::abs(Tensor x) -> Tensor out",
    infer=_magnitude,
    reference=_absolute,
    complex_backward=_magnitude_grad,
    lazy=True,
)
def abs(x: Any) -> Any:
    """|x|, real where x is complex. Gradient 0 at the kink."""
    return vmath.abs(x)


def _sign(x: np.ndarray) -> np.ndarray:
    if x.dtype == np.bool_:
        raise DTypeError("op 'opsdk::sign': x expected numbers, got bool; cast it first")
    return np.sign(x)


@elementwise(
    "opsdk::sign(Tensor x) -> Tensor out", infer=like(), nondifferentiable=("x", "out"), reference=_sign, lazy=True
)
def sign(x: Any) -> Any:
    """-1, 0 or 1; its derivative is zero wherever it exists, so none is given."""
    return vmath.sign(x)


# Any: functions of vmath and NumPy.
def _rounding(function: Any, meaning: Any, doc: str) -> Op:
    """Returns the op that makes whole numbers, in the dtype of x."""
    name = function.__name__

    def rounded(x: np.ndarray) -> Any:
        if x.dtype.kind in "bc":
            raise DTypeError(f"op 'opsdk::{name}': x expected real numbers, got {x.dtype}; cast it")
        return x.copy() if x.dtype.kind in "iu" else meaning(x)

    types = {"x": "Any", "return": "Any"}
    doc = f"{doc}; its derivative is zero wherever it exists, so none is given."
    made = written(lambda x: function(x), name, types, module=__name__, doc=doc, origin=entry())
    options: dict[str, Any] = {"nondifferentiable": ("x", "out"), "reference": rounded, "lazy": True}
    return elementwise(f"opsdk::{name}(Tensor x) -> Tensor out", infer=like(), **options)(made)


floor = _rounding(vmath.floor, np.floor, "The greatest whole number that is at most x")
ceil = _rounding(vmath.ceil, np.ceil, "The least whole number that is at least x")
trunc = _rounding(vmath.trunc, np.trunc, "x without its fraction")
round = _rounding(vmath.round, np.round, "The nearest whole number, of two the even one")


def _clipped(x: np.ndarray, min: float | None, max: float | None) -> np.ndarray:
    low, high = _bounds(x.dtype, min, max)
    held = x.copy() if low is None else np.maximum(x, low)  # np.clip makes float32 of bfloat16
    return held if high is None else np.minimum(held, high)


def _bounds(dtype: np.dtype[Any], min: float | None, max: float | None) -> tuple[Any, Any]:
    """Returns the bounds as numbers of a dtype, None for one that none of its numbers passes.

    Raises:
        DTypeError: the dtype has no order.
        AttributeValueError: whole numbers cannot be held by a bound, since it has a fraction or lies beyond them all.
    """
    if dtype.kind in "bc":
        raise DTypeError(f"op 'opsdk::clip': x expected numbers with an order, got {dtype}; cast it")
    if dtype.kind not in "iu":
        with np.errstate(over="ignore"):  # beyond its range a bound is infinite, as results are
            return (None if min is None else dtype.type(min)), (None if max is None else dtype.type(max))
    info = np.iinfo(dtype)
    low = None if min is None or min <= info.min else min
    high = None if max is None or max >= info.max else max
    for name, bound, is_beyond in (
        ("min", low, low is not None and low > info.max),
        ("max", high, high is not None and high < info.min),
    ):
        if is_beyond:
            raise AttributeValueError(
                f"op 'opsdk::clip': {name} expected a bound that {dtype} reaches, from {info.min} to {info.max}, "
                f"got {bound!r}; cast x"
            )
        if bound is not None:
            check_whole(bound, dtype, f"op 'opsdk::clip': {name}")
    return (None if low is None else dtype.type(int(low))), (None if high is None else dtype.type(int(high)))


class _ClipInfer(like):
    """As the input, whose numbers have an order; bounds of whole numbers are whole."""

    def __call__(self, schema: OpSchema, specs: Specs, attrs: Attrs) -> Inferred:
        (spec,) = specs
        assert isinstance(spec, TensorSpec)
        _bounds(spec.dtype, attrs["min"], attrs["max"])
        return (spec,)


@elementwise(
    "opsdk::clip(Tensor x, *, float? min=None, float? max=None) -> Tensor out",
    infer=_ClipInfer(),
    reference=_clipped,
    lazy=True,
)
def clip(x: Any, *, min: Any, max: Any) -> Any:
    """x held inside [min, max]; a bound of None is no bound. Gradient 1 on the bounds, which count as inside.

    Whole numbers take bounds without a fraction; one that their dtype cannot pass holds nothing back.
    """
    held = x if min is None else vmath.maximum(x, min)
    return held if max is None else vmath.minimum(held, max)


@clip.samples
def _clip_samples(rng: np.random.Generator) -> Iterator[Sample]:
    yield Sample(rng.normal(size=(3, 5)), min=-0.5, max=0.5, reason="both bounds")
    yield Sample(rng.normal(size=(7,)), min=0.1, reason="lower bound only")
    yield Sample(rng.normal(size=(7,)), max=0.1, reason="upper bound only")
    yield Sample(rng.normal(size=(4,)), reason="no bound")
    yield Sample(np.array([-1.0, 0.0, 1.0]), min=-1.0, max=1.0, reason="kinks, values on the bounds")
    yield Sample(np.array(2.0), min=-1.0, max=1.0, reason="0-d")
    yield Sample(np.zeros((0, 4)), min=0.0, reason="empty")


__all__ = [name for name, value in vars().items() if isinstance(value, Op) and value.opdef.schema.name == name]
