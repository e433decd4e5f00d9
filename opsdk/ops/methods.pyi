"""ValueMethods: the operators and methods that tensors and Program variables share, each a call of an op.

Written by `python -m tests.contracts.stubs`.
"""

from typing import Any

from opsdk.ops.numpy_protocol import NumpyProtocol
import opsdk.ops.composed
import opsdk.ops.composites.arranging
import opsdk.ops.composites.formulas
import opsdk.ops.composites.ordering
import opsdk.ops.composites.places
import opsdk.ops.composites.products
import opsdk.ops.composites.statistics
import opsdk.ops.functions
import opsdk.ops.lines.by_position
import opsdk.ops.lines.moments

class ValueMethods(NumpyProtocol):
    """Arithmetic, comparison, indexing and the common functions as methods.

    Whatever `self` is, the result is of the same runtime. Numbers take the dtype of `self`.
    """

    @property
    def H(self) -> Any:
        """A matrix transposed and conjugated."""

    @property
    def T(self) -> Any:
        """The value with its axes reversed."""

    def __abs__(self, name: str | None = None) -> Any:
        """|x|, real where x is complex. Gradient 0 at the kink. Differentiable."""

    def __add__(self, other: Any) -> Any:
        ...

    def __and__(self: Any, other: Any) -> Any:
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

    def __invert__(self) -> Any:
        ...

    def __le__(self: Any, other: Any) -> Any:
        ...

    def __lshift__(self: Any, other: Any) -> Any:
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

    def __or__(self: Any, other: Any) -> Any:
        ...

    def __pos__(self) -> Any:
        ...

    def __pow__(self: Any, other: Any) -> Any:
        ...

    def __radd__(self, other: Any) -> Any:
        ...

    def __rand__(self: Any, other: Any) -> Any:
        ...

    def __rfloordiv__(self: Any, other: Any) -> Any:
        ...

    def __rlshift__(self: Any, other: Any) -> Any:
        ...

    def __rmatmul__(self: Any, other: Any) -> Any:
        ...

    def __rmod__(self: Any, other: Any) -> Any:
        ...

    def __rmul__(self, other: Any) -> Any:
        ...

    def __ror__(self: Any, other: Any) -> Any:
        ...

    def __rpow__(self: Any, other: Any) -> Any:
        ...

    def __rrshift__(self: Any, other: Any) -> Any:
        ...

    def __rshift__(self: Any, other: Any) -> Any:
        ...

    def __rsub__(self, other: Any) -> Any:
        ...

    def __rtruediv__(self: Any, other: Any) -> Any:
        ...

    def __rxor__(self: Any, other: Any) -> Any:
        ...

    def __sub__(self, other: Any) -> Any:
        ...

    def __truediv__(self: Any, other: Any) -> Any:
        ...

    def __xor__(self: Any, other: Any) -> Any:
        ...

    def abs(self, name: str | None = None) -> Any:
        """|x|, real where x is complex. Gradient 0 at the kink. Differentiable."""

    def absolute(self, name: str | None = None) -> Any:
        """|x|, real where x is complex. Gradient 0 at the kink. Differentiable."""

    def acos(self, name: str | None = None) -> Any:
        """Angle in [0, π] whose cosine is x; nan beyond ±1. Differentiable."""

    def acosh(self, name: str | None = None) -> Any:
        """Inverse of the hyperbolic cosine, ≥ 0; nan below 1, without a warning. Differentiable."""

    def add(self, y: Any, alpha: float = 1) -> Any:
        """Returns x + alpha · y. Differentiable."""

    add_n = opsdk.ops.composed.add_n

    addcdiv = opsdk.ops.composites.formulas.addcdiv

    addcmul = opsdk.ops.composites.formulas.addcmul

    addmm = opsdk.ops.composites.formulas.addmm

    addmv = opsdk.ops.composites.formulas.addmv

    addr = opsdk.ops.composites.formulas.addr

    adjoint = opsdk.ops.composites.arranging.adjoint

    all = opsdk.ops.composed.all

    allclose = opsdk.ops.composed.allclose

    amax = opsdk.ops.composites.statistics.amax

    amin = opsdk.ops.composites.statistics.amin

    aminmax = opsdk.ops.composites.statistics.aminmax

    def angle(self, name: str | None = None) -> Any:
        """The angle of a complex number in (-π, π], 0 of 0; π of negative real numbers, and 0 of positive
        ones. Differentiable.
        """

    any = opsdk.ops.composed.any

    def arccos(self, name: str | None = None) -> Any:
        """Angle in [0, π] whose cosine is x; nan beyond ±1. Differentiable."""

    def arccosh(self, name: str | None = None) -> Any:
        """Inverse of the hyperbolic cosine, ≥ 0; nan below 1, without a warning. Differentiable."""

    def arcsin(self, name: str | None = None) -> Any:
        """Angle in [-π/2, π/2] whose sine is x; nan beyond ±1. Differentiable."""

    def arcsinh(self, name: str | None = None) -> Any:
        """Inverse of the hyperbolic sine. Differentiable."""

    def arctan(self, name: str | None = None) -> Any:
        """Angle in [-π/2, π/2] whose tangent is x. Differentiable."""

    def arctan2(self, y: Any) -> Any:
        """The angle of the point (y, x), in [-π, π]; of (0, 0) 0. Differentiable."""

    def arctanh(self, name: str | None = None) -> Any:
        """Inverse of the hyperbolic tangent; ±inf at ±1 and nan beyond, without a warning. Differentiable."""

    argmax = opsdk.ops.functions.argmax

    argmin = opsdk.ops.functions.argmin

    argsort = opsdk.ops.composites.ordering.argsort

    argwhere = opsdk.ops.composites.places.nonzero

    as_strided = opsdk.ops.composites.arranging.as_strided

    def asin(self, name: str | None = None) -> Any:
        """Angle in [-π/2, π/2] whose sine is x; nan beyond ±1. Differentiable."""

    def asinh(self, name: str | None = None) -> Any:
        """Inverse of the hyperbolic sine. Differentiable."""

    astype = opsdk.ops.functions.cast

    def atan(self, name: str | None = None) -> Any:
        """Angle in [-π/2, π/2] whose tangent is x. Differentiable."""

    def atan2(self, y: Any) -> Any:
        """The angle of the point (y, x), in [-π, π]; of (0, 0) 0. Differentiable."""

    def atanh(self, name: str | None = None) -> Any:
        """Inverse of the hyperbolic tangent; ±inf at ±1 and nan beyond, without a warning. Differentiable."""

    atleast_1d = opsdk.ops.composites.arranging.atleast_1d

    atleast_2d = opsdk.ops.composites.arranging.atleast_2d

    atleast_3d = opsdk.ops.composites.arranging.atleast_3d

    baddbmm = opsdk.ops.composites.formulas.baddbmm

    bincount = opsdk.ops.composites.places.bincount

    def bitwise_and(self, y: Any) -> Any:
        """The bits that x and y both have."""

    def bitwise_invert(self, name: str | None = None) -> Any:
        """The bits that x has not; of bools the opposite."""

    def bitwise_left_shift(self, y: Any) -> Any:
        """x with its bits moved up by y; those that leave are lost."""

    def bitwise_not(self, name: str | None = None) -> Any:
        """The bits that x has not; of bools the opposite."""

    def bitwise_or(self, y: Any) -> Any:
        """The bits that x or y has."""

    def bitwise_right_shift(self, y: Any) -> Any:
        """x with its bits moved down by y; the sign stays."""

    def bitwise_xor(self, y: Any) -> Any:
        """The bits that one of x and y has, and not both."""

    block_diag = opsdk.ops.composites.arranging.block_diag

    bmm = opsdk.ops.composed.bmm

    broadcast_tensors = opsdk.ops.composites.arranging.broadcast_tensors

    def broadcast_to(self: Any, *numbers: Any, **options: Any) -> Any:
        """Returns x broadcast to a shape; -1 for its own size there."""

    bucketize = opsdk.ops.composites.places.bucketize

    cast = opsdk.ops.functions.cast

    cdist = opsdk.ops.composites.statistics.cdist

    def ceil(self, name: str | None = None) -> Any:
        """The least whole number that is at least x; its derivative is zero wherever it exists, so none is given."""

    chain_matmul = opsdk.ops.composites.products.multi_dot

    chunk = opsdk.ops.composed.chunk

    clamp = opsdk.ops.functions.clip

    clamp_max = opsdk.ops.composites.formulas.clamp_max

    clamp_min = opsdk.ops.composites.formulas.clamp_min

    clip = opsdk.ops.functions.clip

    def clone(self) -> Any:
        """Returns a copy that gradients flow through."""

    def conj(self, name: str | None = None) -> Any:
        """The complex conjugate; real numbers are their own. Differentiable."""

    def copysign(self, y: Any) -> Any:
        """|x| with the sign of y, of -0 too; the derivative is ±1, 0 at x = 0, and none in y. Differentiable."""

    corrcoef = opsdk.ops.composites.statistics.corrcoef

    def cos(self, name: str | None = None) -> Any:
        """Cosine of x in radians; nan at ±inf, without a warning. Differentiable."""

    def cosh(self, name: str | None = None) -> Any:
        """Hyperbolic cosine; inf beyond the range, without a warning. Differentiable."""

    count_nonzero = opsdk.ops.composites.statistics.count_nonzero

    cov = opsdk.ops.composites.statistics.cov

    cross = opsdk.ops.composites.products.cross

    cummax = opsdk.ops.composites.statistics.cummax

    cummin = opsdk.ops.composites.statistics.cummin

    cumprod = opsdk.ops.composed.cumprod

    cumsum = opsdk.ops.functions.cumsum

    cumulative_trapezoid = opsdk.ops.composites.statistics.cumulative_trapezoid

    deg2rad = opsdk.ops.composites.formulas.deg2rad

    det = opsdk.ops.composites.products.det

    diag = opsdk.ops.composed.diag

    diag_embed = opsdk.ops.composites.arranging.diag_embed

    diagflat = opsdk.ops.composites.arranging.diagflat

    diagonal = opsdk.ops.composed.diagonal

    diagonal_scatter = opsdk.ops.composites.arranging.diagonal_scatter

    diff = opsdk.ops.composites.statistics.diff

    def digamma(self, name: str | None = None) -> Any:
        """The derivative of lgamma. Differentiable."""

    dist = opsdk.ops.composites.statistics.dist

    div = opsdk.ops.composites.formulas.div

    def divide(self, y: Any) -> Any:
        """x / y; division by zero gives inf or nan, without a warning. Differentiable."""

    dot = opsdk.ops.composed.dot

    dsplit = opsdk.ops.composites.arranging.dsplit

    def eq(self, y: Any) -> Any:
        """x == y."""

    def equal(self, y: Any) -> Any:
        """x == y."""

    equal_all = opsdk.ops.composed.equal_all

    def erf(self, name: str | None = None) -> Any:
        """The error function, 2/√π ∫₀ˣ exp(-t²) dt. Differentiable."""

    def erfc(self, name: str | None = None) -> Any:
        """1 - erf(x), exact where it vanishes. Differentiable."""

    def erfinv(self, name: str | None = None) -> Any:
        """Inverse of erf; ±inf at ±1 and nan beyond. Differentiable."""

    def exp(self, name: str | None = None) -> Any:
        """e to the power x; overflow gives inf, without a warning. Differentiable."""

    def exp2(self, name: str | None = None) -> Any:
        """2 to the power x; overflow gives inf, without a warning. Differentiable."""

    def expand(self, *sizes: Any, shape: Any = None, name: str | None = None) -> Any:
        """Returns the value broadcast to a shape; -1 for its own size there. Differentiable."""

    expand_as = opsdk.ops.composed.expand_as

    def expm1(self, name: str | None = None) -> Any:
        """eˣ - 1, exact near 0 too; overflow gives inf, without a warning. Differentiable."""

    def fix(self, name: str | None = None) -> Any:
        """x without its fraction; its derivative is zero wherever it exists, so none is given."""

    flatten = opsdk.ops.functions.flatten

    def flip(self: Any, *numbers: Any, **options: Any) -> Any:
        """Returns x with the elements along axes from the last to the first."""

    fliplr = opsdk.ops.composites.arranging.fliplr

    flipud = opsdk.ops.composites.arranging.flipud

    float_power = opsdk.ops.composites.formulas.float_power

    def floor(self, name: str | None = None) -> Any:
        """The greatest whole number that is at most x; its derivative is zero wherever it exists, so none is given."""

    def floor_divide(self, y: Any) -> Any:
        """How often y fits into x, the greatest whole number that is at most the exact quotient; in the dtype
        of both.

        Its derivative is 0, and none is given. Floats over 0 give inf or nan, without a warning.
        """

    def floor_mod(self, y: Any) -> Any:
        """What floor_divide leaves of x, with the sign of y as Python's %; the derivative in y is
        -floor_divide(x, y).

        Floats over 0 give nan, without a warning.
         Differentiable.
        """

    fmax = opsdk.ops.composites.formulas.fmax

    fmin = opsdk.ops.composites.formulas.fmin

    def fmod(self, y: Any) -> Any:
        """What is left of x after as many whole y as fit towards 0, with the sign of x, as in C and PyTorch.

        Floats over 0 give nan, without a warning.
         Differentiable.
        """

    frac = opsdk.ops.composites.formulas.frac

    def gammaln(self, name: str | None = None) -> Any:
        """log |Γ(x)|; inf at 0 and below at whole numbers, without a warning. Differentiable."""

    gather = opsdk.ops.functions.gather

    gather_nd = opsdk.ops.lines.by_position.gather_nd

    def gcd(self, y: Any) -> Any:
        """The greatest common divisor of |x| and |y|."""

    def ge(self, y: Any) -> Any:
        """x >= y."""

    ger = opsdk.ops.composed.outer

    def greater(self, y: Any) -> Any:
        """x > y."""

    def greater_equal(self, y: Any) -> Any:
        """x >= y."""

    def greater_than(self, y: Any) -> Any:
        """x > y."""

    def gt(self, y: Any) -> Any:
        """x > y."""

    heaviside = opsdk.ops.composites.formulas.heaviside

    histc = opsdk.ops.composites.places.histc

    histogram = opsdk.ops.composites.places.histogram

    hsplit = opsdk.ops.composites.arranging.hsplit

    def hypot(self, y: Any) -> Any:
        """√(x² + y²), without overflow. Gradient 0 at the tip, the origin. Differentiable."""

    def imag(self, name: str | None = None) -> Any:
        """The imaginary part, 0 of real numbers. Differentiable."""

    index_add = opsdk.ops.lines.by_position.index_add

    index_copy = opsdk.ops.composites.places.index_copy

    index_fill = opsdk.ops.composites.places.index_fill

    index_put = opsdk.ops.composites.places.index_put

    index_sample = opsdk.ops.lines.by_position.index_sample

    index_select = opsdk.ops.lines.by_position.index_select

    inner = opsdk.ops.composites.products.inner

    inverse = opsdk.ops.composites.products.inverse

    isclose = opsdk.ops.composed.isclose

    def isfinite(self, name: str | None = None) -> Any:
        """True where x is neither infinite nor nan."""

    isin = opsdk.ops.composites.places.isin

    def isinf(self, name: str | None = None) -> Any:
        """True where x is infinite, of either sign."""

    def isnan(self, name: str | None = None) -> Any:
        """True where x is nan."""

    isneginf = opsdk.ops.composites.formulas.isneginf

    isposinf = opsdk.ops.composites.formulas.isposinf

    isreal = opsdk.ops.composites.formulas.isreal

    kron = opsdk.ops.composites.products.kron

    kthvalue = opsdk.ops.composites.ordering.kthvalue

    def lcm(self, y: Any) -> Any:
        """The least common multiple of |x| and |y|."""

    ldexp = opsdk.ops.composites.formulas.ldexp

    def le(self, y: Any) -> Any:
        """x <= y."""

    lerp = opsdk.ops.composed.lerp

    def less(self, y: Any) -> Any:
        """x < y."""

    def less_equal(self, y: Any) -> Any:
        """x <= y."""

    def less_than(self, y: Any) -> Any:
        """x < y."""

    def lgamma(self, name: str | None = None) -> Any:
        """log |Γ(x)|; inf at 0 and below at whole numbers, without a warning. Differentiable."""

    def log(self, name: str | None = None) -> Any:
        """Natural logarithm; -inf at 0 and nan below, without a warning. Differentiable."""

    def log10(self, name: str | None = None) -> Any:
        """Logarithm to base 10; -inf at 0 and nan below, without a warning. Differentiable."""

    def log1p(self, name: str | None = None) -> Any:
        """log(1 + x), exact near 0 too; -inf at -1 and nan below, without a warning. Differentiable."""

    def log2(self, name: str | None = None) -> Any:
        """Logarithm to base 2; -inf at 0 and nan below, without a warning. Differentiable."""

    log_softmax = opsdk.ops.functions.log_softmax

    def logaddexp(self, y: Any) -> Any:
        """log(exp(x) + exp(y)), without overflow. Differentiable."""

    logaddexp2 = opsdk.ops.composites.formulas.logaddexp2

    logcumsumexp = opsdk.ops.composites.statistics.logcumsumexp

    logdet = opsdk.ops.composites.products.logdet

    def logical_and(self, y: Any) -> Any:
        """True where x and y are; numbers other than 0 are."""

    def logical_not(self, name: str | None = None) -> Any:
        """True where x is zero or False."""

    def logical_or(self, y: Any) -> Any:
        """True where x or y is; numbers other than 0 are."""

    def logical_xor(self, y: Any) -> Any:
        """True where one of x and y is, and not both."""

    logit = opsdk.ops.composites.formulas.logit

    logsumexp = opsdk.ops.functions.logsumexp

    def lt(self, y: Any) -> Any:
        """x < y."""

    @property
    def mH(self) -> Any:
        """Matrices transposed and conjugated."""

    @property
    def mT(self) -> Any:
        """Matrices with their last two axes in each other's place."""

    masked_fill = opsdk.ops.composed.masked_fill

    masked_scatter = opsdk.ops.composites.places.masked_scatter

    masked_select = opsdk.ops.composites.places.masked_select

    def matmul(self, y: Any, transpose_x: bool = False, transpose_y: bool = False) -> Any:
        """Returns the matrix product. Differentiable in both."""

    matrix_power = opsdk.ops.composites.products.matrix_power

    matrix_transpose = opsdk.ops.composites.arranging.mT

    max = opsdk.ops.functions.max

    def maximum(self, y: Any) -> Any:
        """The greater of x and y; nan where either is. x gets the gradient where they tie. Differentiable."""

    mean = opsdk.ops.functions.mean

    median = opsdk.ops.composites.statistics.median

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

    mode = opsdk.ops.composites.ordering.mode

    moveaxis = opsdk.ops.composed.moveaxis

    movedim = opsdk.ops.composed.moveaxis

    def mul(self, y: Any) -> Any:
        """x · y. Differentiable."""

    def multiply(self, y: Any) -> Any:
        """x · y. Differentiable."""

    mv = opsdk.ops.composed.mv

    nan_to_num = opsdk.ops.composites.formulas.nan_to_num

    nanmean = opsdk.ops.composites.statistics.nanmean

    nanmedian = opsdk.ops.composites.statistics.nanmedian

    nanquantile = opsdk.ops.composites.statistics.nanquantile

    nansum = opsdk.ops.composites.statistics.nansum

    narrow = opsdk.ops.composites.arranging.narrow

    def ne(self, y: Any) -> Any:
        """x != y."""

    neg = opsdk.ops.composites.formulas.neg

    negative = opsdk.ops.composites.formulas.neg

    nonzero = opsdk.ops.composites.places.nonzero

    norm = opsdk.ops.lines.moments.norm

    def not_equal(self, y: Any) -> Any:
        """x != y."""

    numel = opsdk.ops.functions.numel

    one_hot = opsdk.ops.functions.one_hot

    outer = opsdk.ops.composed.outer

    pad = opsdk.ops.functions.pad

    def permute(self: Any, *numbers: Any, **options: Any) -> Any:
        """Returns x with its axes in another order. Differentiable."""

    positive = opsdk.ops.composites.formulas.positive

    def pow(self, y: Any) -> Any:
        """x to the power y; a negative base with a fractional exponent gives nan, without a warning.

        The derivative in the base is 0 at 0⁰, that in the exponent is 0 where the power is. Mixed
        derivatives of order 3
        and more that are infinite at base 0 are nan, but 0 where the exponent is one less than the order.
         Differentiable.
        """

    prod = opsdk.ops.composed.prod

    put_along_axis = opsdk.ops.functions.put_along_axis

    quantile = opsdk.ops.composites.statistics.quantile

    rad2deg = opsdk.ops.composites.formulas.rad2deg

    ravel = opsdk.ops.composites.arranging.ravel

    def real(self, name: str | None = None) -> Any:
        """The real part; real numbers are their own. Differentiable."""

    def reciprocal(self, name: str | None = None) -> Any:
        """1 / x; ±inf at ±0, without a warning. Differentiable."""

    def relu(self, name: str | None = None) -> Any:
        """max(x, 0). Gradient 0 at the kink. Differentiable."""

    def remainder(self, y: Any) -> Any:
        """What floor_divide leaves of x, with the sign of y as Python's %; the derivative in y is
        -floor_divide(x, y).

        Floats over 0 give nan, without a warning.
         Differentiable.
        """

    renorm = opsdk.ops.composites.statistics.renorm

    def repeat(self: Any, *numbers: Any, **options: Any) -> Any:
        """Returns x repeated whole along its axes, new ones in front for more numbers. Sizes have to be known."""

    repeat_interleave = opsdk.ops.composed.repeat_interleave

    def reshape(self, *sizes: Any, shape: Any = None, name: str | None = None) -> Any:
        """Returns the elements in another shape; -1 once for a size that follows. Differentiable."""

    reshape_as = opsdk.ops.composites.arranging.view_as

    def reverse(self: Any, *numbers: Any, **options: Any) -> Any:
        """Returns x with the elements along axes from the last to the first."""

    roll = opsdk.ops.composed.roll

    rot90 = opsdk.ops.composites.arranging.rot90

    round = opsdk.ops.composites.formulas.round

    def rsqrt(self, name: str | None = None) -> Any:
        """1 / √x; inf at 0 and nan below, without a warning. Differentiable."""

    scatter = opsdk.ops.lines.by_position.scatter

    scatter_add = opsdk.ops.functions.scatter_add

    select = opsdk.ops.composites.arranging.select

    select_scatter = opsdk.ops.composites.arranging.select_scatter

    sgn = opsdk.ops.composites.formulas.sgn

    def sigmoid(self, name: str | None = None) -> Any:
        """1 / (1 + exp(-x)), without overflow on either side. Differentiable."""

    def sign(self, name: str | None = None) -> Any:
        """-1, 0 or 1; its derivative is zero wherever it exists, so none is given."""

    def signbit(self, name: str | None = None) -> Any:
        """True where the sign of x is set, of -0.0 too."""

    def sin(self, name: str | None = None) -> Any:
        """Sine of x in radians; nan at ±inf, without a warning. Differentiable."""

    def sinc(self, name: str | None = None) -> Any:
        """sin(πx) / (πx), 1 at 0; nan at ±inf, without a warning. Differentiable."""

    def sinh(self, name: str | None = None) -> Any:
        """Hyperbolic sine; ±inf beyond the range, without a warning. Differentiable."""

    slice = opsdk.ops.composites.arranging.slice

    slice_scatter = opsdk.ops.composites.arranging.slice_scatter

    slogdet = opsdk.ops.composites.products.slogdet

    softmax = opsdk.ops.functions.softmax

    solve = opsdk.ops.composites.products.solve

    sort = opsdk.ops.composites.ordering.sort

    split = opsdk.ops.functions.split

    def sqrt(self, name: str | None = None) -> Any:
        """Square root; nan below 0, without a warning. Differentiable."""

    def square(self, name: str | None = None) -> Any:
        """x². Differentiable."""

    squeeze = opsdk.ops.functions.squeeze

    stack = opsdk.ops.functions.stack

    stanh = opsdk.ops.composites.formulas.stanh

    std = opsdk.ops.lines.moments.std

    std_mean = opsdk.ops.composites.statistics.std_mean

    strided_slice = opsdk.ops.composites.arranging.strided_slice

    def sub(self, y: Any, alpha: float = 1) -> Any:
        """Returns x - alpha · y. Differentiable."""

    def subtract(self, y: Any, alpha: float = 1) -> Any:
        """Returns x - alpha · y. Differentiable."""

    sum = opsdk.ops.functions.sum

    swapaxes = opsdk.ops.composed.swapaxes

    swapdims = opsdk.ops.composed.swapaxes

    t = opsdk.ops.composed.t

    take = opsdk.ops.composites.arranging.take

    take_along_axis = opsdk.ops.functions.take_along_axis

    take_along_dim = opsdk.ops.functions.take_along_axis

    def tan(self, name: str | None = None) -> Any:
        """Tangent of x in radians; nan at ±inf, without a warning. Differentiable."""

    def tanh(self, name: str | None = None) -> Any:
        """Hyperbolic tangent. Differentiable."""

    tensor_split = opsdk.ops.composites.arranging.tensor_split

    tensordot = opsdk.ops.composites.products.tensordot

    def tile(self: Any, *numbers: Any, **options: Any) -> Any:
        """Returns x repeated whole along its axes, new ones in front for more numbers. Sizes have to be known."""

    topk = opsdk.ops.composites.ordering.topk

    trace = opsdk.ops.composed.trace

    def transpose(self, *perm: Any, **options: Any) -> Any:
        """Returns the value with its axes in another order; two numbers, as PyTorch has them, change places."""

    trapezoid = opsdk.ops.composites.statistics.trapezoid

    trapz = opsdk.ops.composites.statistics.trapezoid

    tril = opsdk.ops.composed.tril

    triu = opsdk.ops.composed.triu

    def true_divide(self, y: Any) -> Any:
        """x / y; division by zero gives inf or nan, without a warning. Differentiable."""

    def trunc(self, name: str | None = None) -> Any:
        """x without its fraction; its derivative is zero wherever it exists, so none is given."""

    unbind = opsdk.ops.composed.unbind

    unflatten = opsdk.ops.composites.arranging.unflatten

    unfold = opsdk.ops.composites.arranging.unfold

    unique = opsdk.ops.composites.places.unique

    unique_consecutive = opsdk.ops.composites.places.unique_consecutive

    unsafe_chunk = opsdk.ops.composed.chunk

    unsqueeze = opsdk.ops.functions.unsqueeze

    unstack = opsdk.ops.composed.unbind

    vander = opsdk.ops.composites.products.vander

    var = opsdk.ops.lines.moments.var

    var_mean = opsdk.ops.composites.statistics.var_mean

    vdot = opsdk.ops.composites.products.vdot

    vecdot = opsdk.ops.composites.products.vecdot

    def view(self: Any, *numbers: Any, **options: Any) -> Any:
        """Returns x in another shape; -1 once for a size that follows, 0 for the input's own. Differentiable."""

    view_as = opsdk.ops.composites.arranging.view_as

    vsplit = opsdk.ops.composites.arranging.vsplit

    def where(self, x: Any = None, y: Any = None, name: str | None = None) -> Any:
        """Returns x where this condition holds, y elsewhere, as in Paddle; PyTorch's method is of x.

        Raises:
            DTypeError: the condition holds other than bools.
        """

    xlogy = opsdk.ops.composites.formulas.xlogy
