"""ValueMethods: the operators and methods that tensors and Program variables share, each a call of an op.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.ops.numpy_protocol import NumpyProtocol
import opsdk.ops.composed
import opsdk.ops.functions
import opsdk.ops.lines.moments

class ValueMethods(NumpyProtocol):
    """Arithmetic, comparison, indexing and the common functions as methods.

    Whatever `self` is, the result is of the same runtime. Numbers take the dtype of `self`.
    """

    @property
    def T(self) -> Any:
        """The value with its axes reversed."""

    def __abs__(self) -> Any:
        """|x|, real where x is complex. Gradient 0 at the kink. Differentiable."""

    def __add__(self, other: Any) -> Any:
        ...

    def __eq__(self, other: object) -> Any:
        ...

    def __floordiv__(self: Any, other: Any) -> Any:
        ...

    def __ge__(self: Any, other: Any) -> Any:
        ...

    def __getitem__(self, index: Any) -> Any:
        ...

    def __gt__(self: Any, other: Any) -> Any:
        ...

    def __le__(self: Any, other: Any) -> Any:
        ...

    def __lt__(self: Any, other: Any) -> Any:
        ...

    def __matmul__(self: Any, other: Any) -> Any:
        ...

    def __mod__(self: Any, other: Any) -> Any:
        ...

    def __mul__(self, other: Any) -> Any:
        ...

    def __ne__(self, other: object) -> Any:
        ...

    def __neg__(self) -> Any:
        ...

    def __pow__(self: Any, other: Any) -> Any:
        ...

    def __radd__(self, other: Any) -> Any:
        ...

    def __rfloordiv__(self: Any, other: Any) -> Any:
        ...

    def __rmatmul__(self: Any, other: Any) -> Any:
        ...

    def __rmod__(self: Any, other: Any) -> Any:
        ...

    def __rmul__(self, other: Any) -> Any:
        ...

    def __rpow__(self: Any, other: Any) -> Any:
        ...

    def __rsub__(self, other: Any) -> Any:
        ...

    def __rtruediv__(self: Any, other: Any) -> Any:
        ...

    def __sub__(self, other: Any) -> Any:
        ...

    def __truediv__(self: Any, other: Any) -> Any:
        ...

    def abs(self) -> Any:
        """|x|, real where x is complex. Gradient 0 at the kink. Differentiable."""

    def acos(self) -> Any:
        """Angle in [0, π] whose cosine is x; nan beyond ±1. Differentiable."""

    def acosh(self) -> Any:
        """Inverse of the hyperbolic cosine, ≥ 0; nan below 1, without a warning. Differentiable."""

    def add(self, y: Any) -> Any:
        """x + y. Differentiable."""

    all = opsdk.ops.composed.all

    allclose = opsdk.ops.composed.allclose

    amax = opsdk.ops.functions.max

    amin = opsdk.ops.functions.min

    def angle(self) -> Any:
        """The angle of a complex number in (-π, π], 0 of 0; π of negative real numbers, and 0 of positive
        ones. Differentiable.
        """

    any = opsdk.ops.composed.any

    argmax = opsdk.ops.functions.argmax

    argmin = opsdk.ops.functions.argmin

    argsort = opsdk.ops.functions.argsort

    def asin(self) -> Any:
        """Angle in [-π/2, π/2] whose sine is x; nan beyond ±1. Differentiable."""

    def asinh(self) -> Any:
        """Inverse of the hyperbolic sine. Differentiable."""

    astype = opsdk.ops.functions.cast

    def atan(self) -> Any:
        """Angle in [-π/2, π/2] whose tangent is x. Differentiable."""

    def atan2(self, y: Any) -> Any:
        """The angle of the point (y, x), in [-π, π]; of (0, 0) 0. Differentiable."""

    def atanh(self) -> Any:
        """Inverse of the hyperbolic tangent; ±inf at ±1 and nan beyond, without a warning. Differentiable."""

    bmm = opsdk.ops.composed.bmm

    broadcast_to = opsdk.ops.composed.broadcast_to

    cast = opsdk.ops.functions.cast

    def ceil(self) -> Any:
        """The least whole number that is at least x; its derivative is zero wherever it exists, so none is given."""

    chunk = opsdk.ops.composed.chunk

    clip = opsdk.ops.functions.clip

    def clone(self) -> Any:
        """Returns a copy that gradients flow through."""

    def conj(self) -> Any:
        """The complex conjugate; real numbers are their own. Differentiable."""

    def cos(self) -> Any:
        """Cosine of x in radians; nan at ±inf, without a warning. Differentiable."""

    def cosh(self) -> Any:
        """Hyperbolic cosine; inf beyond the range, without a warning. Differentiable."""

    cumprod = opsdk.ops.composed.cumprod

    cumsum = opsdk.ops.functions.cumsum

    diagonal = opsdk.ops.composed.diagonal

    def digamma(self) -> Any:
        """The derivative of lgamma. Differentiable."""

    def divide(self, y: Any) -> Any:
        """x / y; division by zero gives inf or nan, without a warning. Differentiable."""

    dot = opsdk.ops.composed.dot

    def equal(self, y: Any) -> Any:
        """x == y."""

    equal_all = opsdk.ops.composed.equal_all

    def erf(self) -> Any:
        """The error function, 2/√π ∫₀ˣ exp(-t²) dt. Differentiable."""

    def erfinv(self) -> Any:
        """Inverse of erf; ±inf at ±1 and nan beyond. Differentiable."""

    def exp(self) -> Any:
        """e to the power x; overflow gives inf, without a warning. Differentiable."""

    def expand(self, *sizes: Any) -> Any:
        """Returns the value broadcast to a shape; -1 for its own size there. Differentiable."""

    expand_as = opsdk.ops.composed.expand_as

    def expm1(self) -> Any:
        """eˣ - 1, exact near 0 too; overflow gives inf, without a warning. Differentiable."""

    flatten = opsdk.ops.functions.flatten

    flip = opsdk.ops.composed.flip

    def floor(self) -> Any:
        """The greatest whole number that is at most x; its derivative is zero wherever it exists, so none is given."""

    def floor_divide(self, y: Any) -> Any:
        """How often y fits into x, the greatest whole number that is at most the exact quotient; in the dtype
        of both.

        Its derivative is 0, and none is given. Floats over 0 give inf or nan, without a warning.
        """

    gather = opsdk.ops.functions.gather

    def greater_equal(self, y: Any) -> Any:
        """x >= y."""

    def greater_than(self, y: Any) -> Any:
        """x > y."""

    def imag(self) -> Any:
        """The imaginary part, 0 of real numbers. Differentiable."""

    index_add = opsdk.ops.functions.index_add

    isclose = opsdk.ops.composed.isclose

    def isfinite(self) -> Any:
        """True where x is neither infinite nor nan."""

    def isinf(self) -> Any:
        """True where x is infinite, of either sign."""

    def isnan(self) -> Any:
        """True where x is nan."""

    lerp = opsdk.ops.composed.lerp

    def less_equal(self, y: Any) -> Any:
        """x <= y."""

    def less_than(self, y: Any) -> Any:
        """x < y."""

    def lgamma(self) -> Any:
        """log |Γ(x)|; inf at 0 and below at whole numbers, without a warning. Differentiable."""

    def log(self) -> Any:
        """Natural logarithm; -inf at 0 and nan below, without a warning. Differentiable."""

    def log10(self) -> Any:
        """Logarithm to base 10; -inf at 0 and nan below, without a warning. Differentiable."""

    def log1p(self) -> Any:
        """log(1 + x), exact near 0 too; -inf at -1 and nan below, without a warning. Differentiable."""

    def log2(self) -> Any:
        """Logarithm to base 2; -inf at 0 and nan below, without a warning. Differentiable."""

    def logical_and(self, y: Any) -> Any:
        """True where x and y are; numbers other than 0 are."""

    def logical_not(self) -> Any:
        """True where x is zero or False."""

    def logical_or(self, y: Any) -> Any:
        """True where x or y is; numbers other than 0 are."""

    def logical_xor(self, y: Any) -> Any:
        """True where one of x and y is, and not both."""

    logsumexp = opsdk.ops.functions.logsumexp

    masked_fill = opsdk.ops.composed.masked_fill

    def matmul(self, other: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
        """Returns the matrix product. Differentiable in both."""

    max = opsdk.ops.functions.max

    def maximum(self, y: Any) -> Any:
        """The greater of x and y; nan where either is. x gets the gradient where they tie. Differentiable."""

    mean = opsdk.ops.functions.mean

    min = opsdk.ops.functions.min

    def minimum(self, y: Any) -> Any:
        """The lesser of x and y; nan where either is. x gets the gradient where they tie. Differentiable."""

    mm = opsdk.ops.composed.mm

    def mod(self, y: Any) -> Any:
        """What floor_divide leaves of x, with the sign of y as Python's %; the derivative in y is
        -floor_divide(x, y).

        Floats over 0 give nan, without a warning.
         Differentiable.
        """

    moveaxis = opsdk.ops.composed.moveaxis

    def multiply(self, y: Any) -> Any:
        """x · y. Differentiable."""

    mv = opsdk.ops.composed.mv

    norm = opsdk.ops.lines.moments.norm

    def not_equal(self, y: Any) -> Any:
        """x != y."""

    outer = opsdk.ops.composed.outer

    def pow(self, y: Any) -> Any:
        """x to the power y; a negative base with a fractional exponent gives nan, without a warning.

        The derivative in the base is 0 at 0⁰, that in the exponent is 0 where the power is. Mixed
        derivatives of order 3
        and more that are infinite at base 0 are nan, but 0 where the exponent is one less than the order.
         Differentiable.
        """

    prod = opsdk.ops.composed.prod

    put_along_axis = opsdk.ops.functions.put_along_axis

    def real(self) -> Any:
        """The real part; real numbers are their own. Differentiable."""

    def reciprocal(self) -> Any:
        """1 / x; ±inf at ±0, without a warning. Differentiable."""

    def remainder(self, y: Any) -> Any:
        """What floor_divide leaves of x, with the sign of y as Python's %; the derivative in y is
        -floor_divide(x, y).

        Floats over 0 give nan, without a warning.
         Differentiable.
        """

    repeat_interleave = opsdk.ops.composed.repeat_interleave

    def reshape(self, *sizes: Any) -> Any:
        """Returns the elements in another shape; -1 once for a size that follows. Differentiable."""

    roll = opsdk.ops.composed.roll

    def round(self) -> Any:
        """The nearest whole number, of two the even one; its derivative is zero wherever it exists, so none is
        given.
        """

    def rsqrt(self) -> Any:
        """1 / √x; inf at 0 and nan below, without a warning. Differentiable."""

    def sigmoid(self) -> Any:
        """1 / (1 + exp(-x)), without overflow on either side. Differentiable."""

    def sign(self) -> Any:
        """-1, 0 or 1; its derivative is zero wherever it exists, so none is given."""

    def sin(self) -> Any:
        """Sine of x in radians; nan at ±inf, without a warning. Differentiable."""

    def sinh(self) -> Any:
        """Hyperbolic sine; ±inf beyond the range, without a warning. Differentiable."""

    sort = opsdk.ops.functions.sort

    split = opsdk.ops.functions.split

    def sqrt(self) -> Any:
        """Square root; nan below 0, without a warning. Differentiable."""

    def square(self) -> Any:
        """x². Differentiable."""

    squeeze = opsdk.ops.functions.squeeze

    std = opsdk.ops.lines.moments.std

    def subtract(self, y: Any) -> Any:
        """x - y. Differentiable."""

    sum = opsdk.ops.functions.sum

    swapaxes = opsdk.ops.composed.swapaxes

    t = opsdk.ops.composed.t

    take_along_axis = opsdk.ops.functions.take_along_axis

    def tan(self) -> Any:
        """Tangent of x in radians; nan at ±inf, without a warning. Differentiable."""

    def tanh(self) -> Any:
        """Hyperbolic tangent. Differentiable."""

    tile = opsdk.ops.composed.tile

    topk = opsdk.ops.functions.topk

    trace = opsdk.ops.composed.trace

    transpose = opsdk.ops.functions.transpose

    tril = opsdk.ops.composed.tril

    triu = opsdk.ops.composed.triu

    def trunc(self) -> Any:
        """x without its fraction; its derivative is zero wherever it exists, so none is given."""

    unbind = opsdk.ops.composed.unbind

    unsqueeze = opsdk.ops.functions.unsqueeze

    var = opsdk.ops.lines.moments.var
