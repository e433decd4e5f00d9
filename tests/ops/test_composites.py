"""Functions of several ops, beside NumPy's: values in every runtime, and derivatives."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import AttributeValueError, DTypeError, InputValueError, ShapeError
from tests.ops.composites_cases import ALL, HOLES, I, M, X

SILENT = {"count_nonzero", "median, place", "kthvalue, place", "div, floor", "div, trunc"}


@pytest.mark.parametrize("name", ALL)
def test_arrays_and_tensors_give_what_numpy_gives(name):
    ours, numpys = ALL[name]
    np.testing.assert_allclose(np.asarray(ours(X)), numpys(X), rtol=1e-12, atol=1e-15)
    made = ours(opsdk.to_tensor(X))
    assert isinstance(made, opsdk.Tensor)
    np.testing.assert_allclose(made.numpy(), numpys(X), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", [name for name in ALL if name not in SILENT])
def test_the_gradient_is_the_slope_that_numpy_gives(name):
    ours, numpys = ALL[name]
    x = opsdk.to_tensor(X, stop_gradient=False)
    made = ours(x)
    weights = np.cos(np.arange(made.size)).reshape(made.shape)
    (made * weights).sum().backward()
    direction = np.sin(np.arange(X.size) + 1.0).reshape(X.shape)
    slope = ((numpys(X + 1e-6 * direction) - numpys(X - 1e-6 * direction)) * weights).sum() / 2e-6
    np.testing.assert_allclose((x.grad.numpy() * direction).sum(), slope, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", ["logit, held", "unfold", "rot90, 1", "quantile", "cov", "masked_scatter", "meshgrid"])
def test_a_program_gives_the_bits_of_arrays(name):
    ours = ALL[name][0]
    program = static.Program()
    with static.program_guard(program, static.Program()):
        made = ours(static.data("x", [2, 2, 3], "float64"))
    (got,) = static.Executor().run(program, feed={"x": X}, fetch_list=[made])
    np.testing.assert_array_equal(got, np.asarray(ours(X)))


NAN = [
    (lambda x: opsdk.nansum(x, 1), lambda x: np.nansum(x, 1)),
    (lambda x: opsdk.nanmean(x, 1), lambda x: np.nanmean(x, 1)),
    (lambda x: opsdk.nanmedian(x, 1), lambda x: np.nanmedian(x, 1)),
    (lambda x: opsdk.nanquantile(x, [0.2, 0.9], 1), lambda x: np.nanquantile(x, [0.2, 0.9], 1)),
    (lambda x: opsdk.median(x, 1), lambda x: np.median(x, 1)),
    (lambda x: opsdk.quantile(x, 0.3), lambda x: np.quantile(x, 0.3)),
    (lambda x: opsdk.cummax(x, 1)[0], lambda x: np.maximum.accumulate(x, 1)),
    (lambda x: opsdk.fmax(x, 2.0), lambda x: np.fmax(x, 2.0)),
    (lambda x: opsdk.fmin(2.0, x), lambda x: np.fmin(x, 2.0)),
    (lambda x: opsdk.nan_to_num(x / 0, 1.0, 2.0, 3.0), lambda x: np.nan_to_num(x / 0, nan=1.0, posinf=2.0, neginf=3.0)),
    (lambda x: opsdk.heaviside(x - 2, 0.5), lambda x: np.heaviside(x - 2, 0.5)),
]


@pytest.mark.parametrize(("ours", "numpys"), NAN)
def test_nan_counts_where_it_does_for_numpy(ours, numpys):
    with np.errstate(divide="ignore", invalid="ignore"):
        np.testing.assert_allclose(np.asarray(ours(opsdk.to_tensor(HOLES))), numpys(HOLES), rtol=1e-14)


FOUND = [
    (lambda x: opsdk.nonzero(x > 0), lambda x: np.argwhere(x > 0)),
    (lambda x: opsdk.nonzero(x > 0, as_tuple=True)[1], lambda x: np.nonzero(x > 0)[1]),
    (lambda x: opsdk.where(x > 0)[2], lambda x: np.nonzero(x > 0)[2]),
    (lambda x: opsdk.unique(opsdk.round(x)), lambda x: np.unique(np.round(x))),
    (
        lambda x: opsdk.unique(opsdk.round(x), return_inverse=True)[1],
        lambda x: np.unique(np.round(x), return_inverse=True)[1],
    ),
    (
        lambda x: opsdk.unique(opsdk.round(x), return_counts=True)[1],
        lambda x: np.unique(np.round(x), return_counts=True)[1],
    ),
    (lambda x: opsdk.unique_consecutive(opsdk.sign(x)), lambda x: [1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0]),
    (lambda x: opsdk.searchsorted(np.array([-1.0, 1.0, 2.0]), x), lambda x: np.searchsorted([-1.0, 1.0, 2.0], x)),
    (
        lambda x: opsdk.bucketize(x, np.array([-1.0, 1.0, 2.0]), right=True),
        lambda x: np.searchsorted([-1.0, 1.0, 2.0], x, "right"),
    ),
    (lambda x: opsdk.histogram(x, 4), lambda x: np.histogram(x, 4)[0]),
    (lambda x: opsdk.histc(x, 4, -2, 2), lambda x: np.histogram(x, 4, (-2, 2))[0].astype(float)),
    (lambda x: opsdk.isin(x, np.array([2.0, 4.0])), lambda x: np.isin(x, [2.0, 4.0])),
    (lambda x: opsdk.mode(opsdk.sign(x), 2)[0], lambda x: [[1.0, 1.0], [1.0, 1.0]]),
    (lambda x: opsdk.mode(opsdk.sign(x), 2)[1], lambda x: [[2, 1], [1, 2]]),
    (lambda x: opsdk.cummax(x, 2)[1], lambda x: [[[0, 0, 2], [0, 0, 0]], [[0, 1, 1], [0, 0, 2]]]),
    (lambda x: opsdk.signbit(x), lambda x: np.signbit(x)),
    (lambda x: opsdk.isposinf(x / 0), lambda x: x > 0),
    (lambda x: opsdk.isneginf(x / 0), lambda x: x < 0),
    (lambda x: opsdk.isreal(x), lambda x: np.isreal(x)),
    (lambda x: opsdk.sgn(x), lambda x: np.sign(x)),
    (lambda x: opsdk.diff(x > 0), lambda x: np.diff(x > 0)),
]


@pytest.mark.parametrize(("ours", "numpys"), FOUND)
def test_what_is_found_is_what_numpy_finds(ours, numpys):
    made = np.asarray(ours(opsdk.to_tensor(X)))
    np.testing.assert_array_equal(made, numpys(X))
    assert made.dtype == np.asarray(numpys(X)).dtype


WHOLE = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "bitwise_left_shift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "gcd": np.gcd,
    "lcm": np.lcm,
    "fmod": np.fmod,
}


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers_give_whole_numbers(name):
    made = getattr(opsdk.to_tensor(I), name)(3)
    np.testing.assert_array_equal(made.numpy(), WHOLE[name](I, 3))
    assert made.dtype == I.dtype


def test_operators_of_python_work_on_bits_and_masks():
    x = opsdk.to_tensor(I)
    for made, wanted in (
        (x & 5, I & 5),
        (5 | x, 5 | I),
        (x ^ x, I ^ I),
        (~x, ~I),
        (x << 2, I << 2),
        (x >> 1, I >> 1),
        ((x > 0) & (x < 7), (I > 0) & (I < 7)),
        (~(x > 0), I <= 0),
        (+x, I),
    ):
        np.testing.assert_array_equal(made.numpy(), wanted)
    assert opsdk.bincount(opsdk.to_tensor(np.array([0, 3, 1, 3])), minlength=5).tolist() == [1, 1, 0, 2, 0]
    weights = np.array([0.5, 1.0, 2.0, 4.0])
    assert opsdk.bincount(np.array([0, 3, 1, 3]), weights).tolist() == [0.5, 2.0, 0.0, 5.0]


REFUSED = {
    "tensordot: expected as many axes of x as of y, got [0] and []": (
        ShapeError,
        lambda: opsdk.tensordot(X, X, [[0], []]),
    ),
    "cross: expected size 3 along axis 0": (ShapeError, lambda: opsdk.cross(X, X, 0)),
    "op 'opsdk::inverse': x expected matrices with an inverse, got a singular one": (
        InputValueError,
        lambda: opsdk.inverse(np.ones((2, 2))),
    ),
    "op 'opsdk::det': x expected square matrices, got shape (2, 3)": (ShapeError, lambda: opsdk.det(M)),
    "op 'opsdk::solve': y expected matrices of as many rows as x": (
        ShapeError,
        lambda: opsdk.solve(np.eye(3), np.ones((2, 2))),
    ),
    "narrow: expected start and length within 3 elements, got 2 and 2": (ShapeError, lambda: opsdk.narrow(X, 2, 2, 2)),
    "take: mode expected 'raise', 'wrap' or 'clip', got 'no'": (AttributeValueError, lambda: opsdk.take(X, 0, "no")),
    "unflatten: shape expected sizes of 3 elements, got [2, 2]": (ShapeError, lambda: opsdk.unflatten(X, 2, [2, 2])),
    "broadcast_shapes: expected shapes that broadcast": (ShapeError, lambda: opsdk.broadcast_shape([2], [3])),
    "meshgrid: indexing expected 'ij' or 'xy', got 'no'": (
        AttributeValueError,
        lambda: opsdk.meshgrid(M, indexing="no"),
    ),
    "tensor_split: expected a number of pieces > 0, got 0": (ShapeError, lambda: opsdk.tensor_split(X, 0)),
    "rot90: axes expected two, got (0,)": (ShapeError, lambda: opsdk.rot90(X, 1, (0,))),
    "unfold: expected a size in [0, 3] and a step > 0, got 4 and 1": (ShapeError, lambda: opsdk.unfold(X, 2, 4, 1)),
    "mT: x expected at least 2 axes, got shape (3,)": (ShapeError, lambda: opsdk.mT(M[0])),
    "median: mode expected 'avg' or 'min', got 'max'": (AttributeValueError, lambda: opsdk.median(X, 1, mode="max")),
    "quantile: q expected shares in [0, 1], got 2": (AttributeValueError, lambda: opsdk.quantile(X, 2)),
    "quantile: interpolation expected one of linear": (
        AttributeValueError,
        lambda: opsdk.quantile(X, 0.5, interpolation="no"),
    ),
    "quantile: expected at least one element along": (ShapeError, lambda: opsdk.median(np.zeros((0, 2)), 0)),
    "kthvalue: k expected in [1, 3], got 4": (ShapeError, lambda: opsdk.kthvalue(X, 4)),
    "diff: n expected a number >= 0, got -1": (ShapeError, lambda: opsdk.diff(X, -1)),
    "trapezoid: expected x or dx, got both": (AttributeValueError, lambda: opsdk.trapezoid(M, M, 1.0)),
    "div: rounding_mode expected None, 'floor' or 'trunc', got 'up'": (
        AttributeValueError,
        lambda: opsdk.div(X, 2, rounding_mode="up"),
    ),
    "where: expected both x and y, or neither": (AttributeValueError, lambda: opsdk.where(X > 0, X)),
    "masked_select: mask expected bools, got float64": (DTypeError, lambda: opsdk.masked_select(X, X)),
    "op 'opsdk::bitwise_left_shift': y expected numbers of bits ≥ 0, got -1": (
        InputValueError,
        lambda: opsdk.bitwise_left_shift(I, -1),
    ),
    "op 'opsdk::bincount': x expected numbers >= 0, got -3": (InputValueError, lambda: opsdk.bincount(I.ravel())),
    "op 'opsdk::bincount': x and weights expected one axis": (ShapeError, lambda: opsdk.bincount(abs(I))),
    "op 'opsdk::histogram': bins expected a number > 0, got 0": (ShapeError, lambda: opsdk.histogram(X, 0)),
    "op 'opsdk::histogram': expected min <= max, finite": (InputValueError, lambda: opsdk.histogram(X, 3, 2, 1)),
    "op 'opsdk::searchsorted': line expected one axis, or the leading sizes of values": (
        ShapeError,
        lambda: opsdk.searchsorted(M, X),
    ),
}


@pytest.mark.parametrize(("message", "refused"), REFUSED.items(), ids=REFUSED)
def test_what_has_no_meaning_is_refused(message, refused):
    error, call = refused
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def test_linalg_has_these_functions_under_its_own_names():
    assert opsdk.linalg.inv is opsdk.inverse
    assert {"cross", "det", "inv", "norm", "slogdet", "solve"} <= set(opsdk.linalg.__all__)
    assert np.isnan(opsdk.logdet(-np.eye(3)))


def test_factors_of_zero_keep_nan_out():
    assert opsdk.addmm(np.full((2, 2), np.nan), np.eye(2), np.eye(2), beta=0.0).tolist() == [[1, 0], [0, 1]]
    assert opsdk.xlogy(np.zeros(3), np.array([0.0, -1.0, np.inf])).tolist() == [0, 0, 0]
    assert opsdk.diag_embed(np.array([np.inf, 1.0])).tolist() == [[np.inf, 0], [0, 1]]


def test_an_infinity_beside_a_number_has_the_infinity_for_its_median():
    assert opsdk.median(np.array([-np.inf, 3.0])).tolist() == -np.inf
    assert opsdk.nanmedian(np.array([np.nan, np.inf, 3.0])).tolist() == np.inf


@pytest.mark.parametrize("name", ["median", "nanmedian", "nanmean", "inverse", "det"])
def test_of_whole_numbers_there_is_the_default_dtype(name):
    whole = np.array([[2, 1], [1, 3]])
    made = getattr(opsdk, name)(whole)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, getattr(opsdk, name)(whole.astype(float)), rtol=1e-6)


def test_what_is_in_order_takes_the_words_of_others():
    x = np.array([2.0, 1.0, 3.0])
    assert opsdk.topk(x, 2, None, sorted=False)[0].tolist() == [3, 2]
    assert opsdk.kthvalue(x, 1, None)[0].tolist() == 1
    assert opsdk.sort(x, stable=True).tolist() == opsdk.unique(x, sorted=True).tolist() == [1, 2, 3]
    assert opsdk.round(x * 0.137, 2).tolist() == np.round(x * 0.137, 2).tolist()
    assert opsdk.round(x * 37, decimals=-1).tolist() == [70, 40, 110]
    assert opsdk.sum(x, dtype="float64").dtype == np.float64


NAMED = {
    "topk": lambda x: x.topk(2),
    "kthvalue": lambda x: x.kthvalue(2),
    "mode": lambda x: x.mode(),
    "cummax": lambda x: x.cummax(1),
    "cummin": lambda x: x.cummin(1, dtype="int32"),
    **{name: lambda x, name=name: getattr(x, name)(dim=1) for name in ("sort", "median", "nanmedian", "max", "min")},
}


@pytest.mark.parametrize("call", NAMED.values(), ids=NAMED)
def test_values_and_their_positions_have_names_in_every_runtime(call):
    x = opsdk.to_tensor([[3.0, 1.0, 2.0], [5.0, 5.0, 4.0]])
    made = call(x)
    assert (made.values is made[0], made.indices is made[1]) == (True, True)
    assert made.values.tolist() == np.take_along_axis(x.numpy(), *_lines(made)).reshape(made.values.shape).tolist()


def _lines(made):
    index = made.indices.numpy().astype("int64")
    return (index if index.ndim == 2 else index[:, None]), 1


def test_the_least_and_the_greatest_have_names():
    made = opsdk.to_tensor([3.0, 1.0]).aminmax()
    assert (made.min.item(), made.max.item()) == (1.0, 3.0)
