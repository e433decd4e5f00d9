"""The built-in ops as functions with NumPy's and Paddle's argument conventions; they take any runtime's values.

Written by `python -m tests.contracts.stubs`.
"""

from collections.abc import Sequence
from typing import Any

from opsdk.core.dtype import DTypeLike
from opsdk.define.op import Op
from opsdk.ops.composed import add_n as add_n
from opsdk.ops.composed import all as all
from opsdk.ops.composed import allclose as allclose
from opsdk.ops.composed import any as any
from opsdk.ops.composed import bmm as bmm
from opsdk.ops.composed import broadcast_to as broadcast_to
from opsdk.ops.composed import chunk as chunk
from opsdk.ops.composed import cumprod as cumprod
from opsdk.ops.composed import diag as diag
from opsdk.ops.composed import diagonal as diagonal
from opsdk.ops.composed import dot as dot
from opsdk.ops.composed import equal_all as equal_all
from opsdk.ops.composed import expand_as as expand_as
from opsdk.ops.composed import flip as flip
from opsdk.ops.composed import isclose as isclose
from opsdk.ops.composed import lerp as lerp
from opsdk.ops.composed import masked_fill as masked_fill
from opsdk.ops.composed import mm as mm
from opsdk.ops.composed import moveaxis as moveaxis
from opsdk.ops.composed import mv as mv
from opsdk.ops.composed import outer as outer
from opsdk.ops.composed import prod as prod
from opsdk.ops.composed import repeat_interleave as repeat_interleave
from opsdk.ops.composed import roll as roll
from opsdk.ops.composed import swapaxes as swapaxes
from opsdk.ops.composed import t as t
from opsdk.ops.composed import tile as tile
from opsdk.ops.composed import trace as trace
from opsdk.ops.composed import tril as tril
from opsdk.ops.composed import triu as triu
from opsdk.ops.composed import unbind as unbind
from opsdk.ops.composites.arranging import adjoint as adjoint
from opsdk.ops.composites.arranging import as_strided as as_strided
from opsdk.ops.composites.arranging import atleast_1d as atleast_1d
from opsdk.ops.composites.arranging import atleast_2d as atleast_2d
from opsdk.ops.composites.arranging import atleast_3d as atleast_3d
from opsdk.ops.composites.arranging import block_diag as block_diag
from opsdk.ops.composites.arranging import broadcast_shape as broadcast_shape
from opsdk.ops.composites.arranging import broadcast_shapes as broadcast_shapes
from opsdk.ops.composites.arranging import broadcast_tensors as broadcast_tensors
from opsdk.ops.composites.arranging import cartesian_prod as cartesian_prod
from opsdk.ops.composites.arranging import column_stack as column_stack
from opsdk.ops.composites.arranging import diag_embed as diag_embed
from opsdk.ops.composites.arranging import diagflat as diagflat
from opsdk.ops.composites.arranging import diagonal_scatter as diagonal_scatter
from opsdk.ops.composites.arranging import dsplit as dsplit
from opsdk.ops.composites.arranging import dstack as dstack
from opsdk.ops.composites.arranging import fliplr as fliplr
from opsdk.ops.composites.arranging import flipud as flipud
from opsdk.ops.composites.arranging import hsplit as hsplit
from opsdk.ops.composites.arranging import hstack as hstack
from opsdk.ops.composites.arranging import mT as mT
from opsdk.ops.composites.arranging import meshgrid as meshgrid
from opsdk.ops.composites.arranging import narrow as narrow
from opsdk.ops.composites.arranging import ravel as ravel
from opsdk.ops.composites.arranging import rot90 as rot90
from opsdk.ops.composites.arranging import select as select
from opsdk.ops.composites.arranging import select_scatter as select_scatter
from opsdk.ops.composites.arranging import slice as slice
from opsdk.ops.composites.arranging import slice_scatter as slice_scatter
from opsdk.ops.composites.arranging import strided_slice as strided_slice
from opsdk.ops.composites.arranging import take as take
from opsdk.ops.composites.arranging import tensor_split as tensor_split
from opsdk.ops.composites.arranging import unflatten as unflatten
from opsdk.ops.composites.arranging import unfold as unfold
from opsdk.ops.composites.arranging import view_as as view_as
from opsdk.ops.composites.arranging import vsplit as vsplit
from opsdk.ops.composites.arranging import vstack as vstack
from opsdk.ops.composites.formulas import addcdiv as addcdiv
from opsdk.ops.composites.formulas import addcmul as addcmul
from opsdk.ops.composites.formulas import addmm as addmm
from opsdk.ops.composites.formulas import addmv as addmv
from opsdk.ops.composites.formulas import addr as addr
from opsdk.ops.composites.formulas import baddbmm as baddbmm
from opsdk.ops.composites.formulas import clamp_max as clamp_max
from opsdk.ops.composites.formulas import clamp_min as clamp_min
from opsdk.ops.composites.formulas import deg2rad as deg2rad
from opsdk.ops.composites.formulas import div as div
from opsdk.ops.composites.formulas import float_power as float_power
from opsdk.ops.composites.formulas import fmax as fmax
from opsdk.ops.composites.formulas import fmin as fmin
from opsdk.ops.composites.formulas import frac as frac
from opsdk.ops.composites.formulas import heaviside as heaviside
from opsdk.ops.composites.formulas import isneginf as isneginf
from opsdk.ops.composites.formulas import isposinf as isposinf
from opsdk.ops.composites.formulas import isreal as isreal
from opsdk.ops.composites.formulas import ldexp as ldexp
from opsdk.ops.composites.formulas import logaddexp2 as logaddexp2
from opsdk.ops.composites.formulas import logit as logit
from opsdk.ops.composites.formulas import nan_to_num as nan_to_num
from opsdk.ops.composites.formulas import neg as neg
from opsdk.ops.composites.formulas import positive as positive
from opsdk.ops.composites.formulas import rad2deg as rad2deg
from opsdk.ops.composites.formulas import round as round
from opsdk.ops.composites.formulas import sgn as sgn
from opsdk.ops.composites.formulas import stanh as stanh
from opsdk.ops.composites.formulas import xlogy as xlogy
from opsdk.ops.composites.ordering import argsort as argsort
from opsdk.ops.composites.ordering import kthvalue as kthvalue
from opsdk.ops.composites.ordering import mode as mode
from opsdk.ops.composites.ordering import sort as sort
from opsdk.ops.composites.ordering import topk as topk
from opsdk.ops.composites.places import bincount as bincount
from opsdk.ops.composites.places import bucketize as bucketize
from opsdk.ops.composites.places import histc as histc
from opsdk.ops.composites.places import histogram as histogram
from opsdk.ops.composites.places import index_copy as index_copy
from opsdk.ops.composites.places import index_fill as index_fill
from opsdk.ops.composites.places import index_put as index_put
from opsdk.ops.composites.places import isin as isin
from opsdk.ops.composites.places import masked_scatter as masked_scatter
from opsdk.ops.composites.places import masked_select as masked_select
from opsdk.ops.composites.places import nonzero as nonzero
from opsdk.ops.composites.places import searchsorted as searchsorted
from opsdk.ops.composites.places import unique as unique
from opsdk.ops.composites.places import unique_consecutive as unique_consecutive
from opsdk.ops.composites.places import where as where
from opsdk.ops.composites.products import cross as cross
from opsdk.ops.composites.products import det as det
from opsdk.ops.composites.products import inner as inner
from opsdk.ops.composites.products import inverse as inverse
from opsdk.ops.composites.products import kron as kron
from opsdk.ops.composites.products import logdet as logdet
from opsdk.ops.composites.products import matrix_power as matrix_power
from opsdk.ops.composites.products import multi_dot as multi_dot
from opsdk.ops.composites.products import slogdet as slogdet
from opsdk.ops.composites.products import solve as solve
from opsdk.ops.composites.products import tensordot as tensordot
from opsdk.ops.composites.products import vander as vander
from opsdk.ops.composites.products import vdot as vdot
from opsdk.ops.composites.products import vecdot as vecdot
from opsdk.ops.composites.statistics import amax as amax
from opsdk.ops.composites.statistics import amin as amin
from opsdk.ops.composites.statistics import aminmax as aminmax
from opsdk.ops.composites.statistics import cdist as cdist
from opsdk.ops.composites.statistics import corrcoef as corrcoef
from opsdk.ops.composites.statistics import count_nonzero as count_nonzero
from opsdk.ops.composites.statistics import cov as cov
from opsdk.ops.composites.statistics import cummax as cummax
from opsdk.ops.composites.statistics import cummin as cummin
from opsdk.ops.composites.statistics import cumulative_trapezoid as cumulative_trapezoid
from opsdk.ops.composites.statistics import diff as diff
from opsdk.ops.composites.statistics import dist as dist
from opsdk.ops.composites.statistics import logcumsumexp as logcumsumexp
from opsdk.ops.composites.statistics import median as median
from opsdk.ops.composites.statistics import nanmean as nanmean
from opsdk.ops.composites.statistics import nanmedian as nanmedian
from opsdk.ops.composites.statistics import nanquantile as nanquantile
from opsdk.ops.composites.statistics import nansum as nansum
from opsdk.ops.composites.statistics import quantile as quantile
from opsdk.ops.composites.statistics import renorm as renorm
from opsdk.ops.composites.statistics import std_mean as std_mean
from opsdk.ops.composites.statistics import trapezoid as trapezoid
from opsdk.ops.composites.statistics import var_mean as var_mean
from opsdk.ops.einsum import einsum as einsum
from opsdk.ops.lines.by_position import gather_nd as gather_nd
from opsdk.ops.lines.by_position import index_add as index_add
from opsdk.ops.lines.by_position import index_sample as index_sample
from opsdk.ops.lines.by_position import index_select as index_select
from opsdk.ops.lines.by_position import scatter as scatter
from opsdk.ops.lines.moments import norm as norm
from opsdk.ops.lines.moments import std as std
from opsdk.ops.lines.moments import var as var

relu: Op
sigmoid: Op
tanh: Op
angle: Op
conj: Op
imag: Op
real: Op
equal: Op
exp: Op
expm1: Op
log: Op
log1p: Op
sqrt: Op
rsqrt: Op
square: Op
exp2: Op
reciprocal: Op
sin: Op
cos: Op
tan: Op
erf: Op
erfc: Op
sinc: Op
log2: Op
log10: Op
sinh: Op
cosh: Op
asin: Op
acos: Op
atan: Op
asinh: Op
acosh: Op
atanh: Op
lgamma: Op
digamma: Op
erfinv: Op
abs: Op
sign: Op
floor: Op
ceil: Op
trunc: Op
atan2: Op
copysign: Op
floor_divide: Op
fmod: Op
hypot: Op
logaddexp: Op
remainder: Op
bitwise_and: Op
bitwise_or: Op
bitwise_xor: Op
bitwise_not: Op
bitwise_left_shift: Op
bitwise_right_shift: Op
gcd: Op
lcm: Op
not_equal: Op
less_than: Op
less_equal: Op
greater_than: Op
greater_equal: Op
logical_and: Op
logical_or: Op
logical_xor: Op
logical_not: Op
isnan: Op
isinf: Op
isfinite: Op
signbit: Op
matmul: Op
add: Op
subtract: Op
multiply: Op
divide: Op
pow: Op
maximum: Op
minimum: Op
shape: Op
sub: Op
mul: Op
true_divide: Op
mod: Op
floor_mod: Op
negative = neg
eq: Op
ne: Op
lt: Op
less: Op
le: Op
gt: Op
greater: Op
ge: Op
bitwise_invert: Op
absolute: Op
arccos: Op
arccosh: Op
arcsin: Op
arcsinh: Op
arctan: Op
arctan2: Op
arctanh: Op
fix: Op
gammaln: Op
row_stack = vstack
chain_matmul = multi_dot
movedim = moveaxis
swapdims = swapaxes
repeat = tile
matrix_transpose = mT
reshape_as = view_as
reverse = flip
unstack = unbind
unsafe_chunk = chunk
argwhere = nonzero
ger = outer
trapz = trapezoid

def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    """Returns x held inside [min, max]: numbers, or values that broadcast. Differentiable; bounds count as
    inside.

    Raises:
        DTypeError: a bound is a whole number that the floats of x would round; one written as a float
    is rounded.
    """

def softmax(x: Any, axis: int = -1, dtype: DTypeLike | None = None) -> Any:
    """Returns exp(x) normalised to sum 1 along an axis. Differentiable."""

def log_softmax(x: Any, axis: int = -1, dtype: DTypeLike | None = None) -> Any:
    """Returns the logarithm of softmax. Differentiable."""

def logsumexp(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the logarithm of the sum of exp(x) over axes, all unless given; nothing overflows.
    Differentiable.
    """

def sum(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False, dtype: DTypeLike | None = None) -> Any:
    """Returns the sum over axes, all unless given, in a dtype, that of x unless given. Differentiable."""

def mean(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the mean over axes, all unless given. Differentiable."""

def max(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the greatest element over axes. Differentiable; ties share the gradient."""

def min(x: Any, axis: int | Sequence[int] | None = None, keepdim: bool = False) -> Any:
    """Returns the least element over axes. Differentiable; ties share the gradient."""

def cumsum(x: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Any:
    """Returns the sums of the elements up to each along an axis, of x flattened unless given. Differentiable."""

def numel(x: Any) -> Any:
    """Returns the number of elements, as a value of int64 to compute with. Not differentiable."""

def argmin(x: Any, axis: int | None = None, keepdim: bool = False) -> Any:
    """Returns the position of the least element along an axis, or in x flattened; int64. Not differentiable."""

def argmax(x: Any, axis: int | None = None, keepdim: bool = False) -> Any:
    """Returns the position of the greatest element along an axis, or in x flattened; int64. Not differentiable."""

def cast(x: Any, dtype: DTypeLike) -> Any:
    """Returns x in another dtype. Differentiable between float dtypes."""

def reshape(x: Any, shape: Sequence[int]) -> Any:
    """Returns x in another shape; -1 once for a size that follows, 0 for the input's own. Differentiable."""

def expand(x: Any, shape: Sequence[int]) -> Any:
    """Returns x broadcast to a shape; -1 for its own size there, sizes of Variables for theirs. Differentiable."""

def pad(x: Any, pad: Sequence[int], mode: str = 'constant', value: float = 0.0) -> Any:
    """Returns x with elements put before and after along its axes. Differentiable.

    Args:
        x: of any runtime.
        pad: a pair (before, after) for each axis, as NumPy has it; or numbers for fewer than all axes,
    those of the
            last axis first, as PyTorch and Paddle have it.
        mode: `constant`, `reflect`, `replicate` or `circular`.
        value: what is put there where the mode is constant.

    Raises:
        ShapeError: numbers for all axes, which PyTorch and Paddle read in opposite orders; or a number
    below 0.
        AttributeValueError: another mode.
    """

def split(x: Any, num_or_sections: int | Sequence[int], axis: int = 0) -> list[Any]:
    """Returns the pieces of x along an axis: so many of one size, or one of each size listed, of which one
    may be -1.

    A number says how many there are, as in Paddle and NumPy; PyTorch's says how large they are.
    Differentiable.
    """

def transpose(x: Any, perm: Sequence[int]) -> Any:
    """Returns x with its axes in another order. Differentiable."""

def unsqueeze(x: Any, axis: int | Sequence[int]) -> Any:
    """Returns x with axes of size 1 put in. Differentiable."""

def squeeze(x: Any, axis: int | Sequence[int] | None = None) -> Any:
    """Returns x without axes of size 1: all, or those of `axis`; () is all, as in Paddle. Differentiable."""

def flatten(x: Any, start_axis: int = 0, stop_axis: int = -1) -> Any:
    """Returns x with a range of axes joined into one. Differentiable."""

def concat(x: Sequence[Any], axis: int = 0) -> Any:
    """Returns the values one after another along an axis. Differentiable."""

def stack(x: Sequence[Any], axis: int = 0) -> Any:
    """Returns the values side by side along a new axis. Differentiable."""

def gather(x: Any, index: Any, axis: int = 0) -> Any:
    """Returns slices of x along an axis, at integer positions. Differentiable in x."""

def take_along_axis(x: Any, index: Any, axis: int = -1) -> Any:
    """Returns elements of each line of x along an axis, at positions of its own. Differentiable in x."""

def put_along_axis(x: Any, index: Any, values: Any, axis: int = -1) -> Any:
    """Returns x with values where `take_along_axis` takes its elements; x stays as it is. Differentiable
    in both.
    """

def scatter_add(x: Any, index: Any, values: Any, axis: int = -1) -> Any:
    """Returns x with values added where `take_along_axis` takes its elements. Differentiable in both.

    As in NumPy, the index has the axes of x, and all others than `axis` broadcast; PyTorch also takes
    one that is
    smaller than x there, which is `scatter_add` to a slice of x.
    """

def sum_to(x: Any, shape: Sequence[Any]) -> Any:
    """Returns x summed over the axes along which a shape was broadcast to it, x itself where none was.
    Differentiable.

    float16 and bfloat16 are added in float32; all sums are taken in blocks and rounded once.

    Args:
        x: of any dtype and of a shape that `shape` broadcasts to.
        shape: the shape wanted, sizes ≥ 0; or the whole shape of a Variable, with sizes that only a run
    can tell.

    Raises:
        ShapeError: the shape does not broadcast to that of x.

    Example:
        >>> sum_to(np.ones((2, 3)), (3,))
        array([2., 2., 2.])
    """

def sum_at(values: Any, index: Any, size: Any) -> Any:
    """Sums values by their positions: element `i` of the result is the sum of the values whose index is `i`.

    Differentiable in the values.

    Args:
        values: numeric, of shape (*index.shape, *rest).
        index: integer positions in [0, size).
        size: length of the first axis of the result; of a Variable also one that only a run can tell.

    Returns:
        Of shape (size, *rest) and of the values' dtype, zero where no value belongs. Sums of many
    values are taken in
        blocks, those of float16 and bfloat16 in float32, and rounded once.

    Raises:
        DTypeError: the index holds other than integers.
        ShapeError: the values' shape does not begin with that of the index, or the size is none.
        InputValueError: a position lies outside.

    Example:
        >>> sum_at(np.array([1.0, 2.0, 4.0]), np.array([0, 2, 0]), 3)
        array([5., 0., 2.])
    """

def one_hot(x: Any, num_classes: Any = -1, dtype: DTypeLike = 'float32') -> Any:
    """Returns 1 where a new last axis equals the class of x, else 0. Not differentiable.

    Args:
        x: integer classes in [0, num_classes).
        num_classes: length of the new axis; of a Variable also one that only a run can tell. -1 is one
    more than the
            greatest class, which a Variable does not know.
        dtype: of the result.

    Raises:
        ShapeError: a class lies outside, or the number is none.
    """

clamp = clip
cat = concat
concatenate = concat
permute = transpose
view = reshape
take_along_dim = take_along_axis
