"""What float32 does not hold, a position or a whole number, is refused in every kernel language, or kept exactly."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import AttributeValueError, ShapeError
from opsdk.expr.exact import check_whole, most_exact, rounds_positions
from opsdk.expr.node import BOOL, Node
from opsdk.expr.row import elements
from opsdk.expr.symbol import Symbol

X, LABEL, P = (Symbol(Node("input", (), name)) for name in ("x", "label", "p"))
position, N = vmath.row_index(), vmath.row_size()
PER_ELEMENT = {"x": "full", "label": "row", "p": "row"}


def rounds(symbol):
    return rounds_positions([symbol.node], {"label"}, elements([symbol.node], PER_ELEMENT))


@pytest.mark.parametrize(
    "expression",
    [
        vmath.where(position == LABEL, X, 0.0),
        vmath.where(Symbol(Node("lt", (LABEL.node, position.node), None, BOOL)), X, 0.0),
        vmath.where(position >= 3.0, X, 0.0),
        vmath.where(position == vmath.where(P > 0.0, LABEL, -1.0), X, 0.0),
        X / N,
        X * (N - 1.0),
        vmath.row_sum(X) / (N - 1.0),
        X + vmath.log(N),
        vmath.where(N > 0.0, X, 0.0),
        vmath.maximum(N, 1.0) * X,
        vmath.row_mean(X),
        vmath.row_take(X, LABEL),
        vmath.row_take(X, 7.0),
        vmath.row_take(X, P),
        X * LABEL,
    ],
    ids=lambda symbol: str(symbol.node),
)
def test_a_position_beside_a_whole_number_is_exact_and_a_size_is_a_factor_like_others(expression):
    assert not rounds(expression)


@pytest.mark.parametrize(
    "expression",
    [
        position * 1.0,
        X * position,
        vmath.where(position == P, X, 0.0),
        vmath.where(position < N - 1.0, X, 0.0),
        vmath.where(position == 0.5, X, 0.0),
        vmath.where(position == vmath.where(X > 0.0, LABEL, 0.0), X, 0.0),
        vmath.where(N > P, X, 0.0),
        vmath.where(N - 1.0 == P, X, 0.0),
        X * (N - P),
        X * vmath.fmod(N, 2.0),
        X * vmath.floor(N / 2.0),
        vmath.row_take(X, N - 1.0),
        vmath.row_take(X, LABEL + 1.0),
    ],
    ids=lambda symbol: str(symbol.node),
)
def test_positions_that_would_be_rounded_are_seen(expression):
    assert rounds(expression)


def test_a_position_itself_is_seen():
    assert rounds(position)


def test_floating_dtypes_hold_whole_numbers_up_to_their_mantissa():
    assert [most_exact(np.dtype(name)) for name in ("float32", "float64", "complex64")] == [2**24, 2**53, 2**24]


@pytest.mark.parametrize(("dtype", "value"), [("float32", 2**24 + 1), ("float64", 2**53 + 1), ("float64", 10**400)])
def test_a_whole_number_that_would_be_rounded_is_refused(dtype, value):
    with pytest.raises(AttributeValueError, match=f"attribute 'n': expected a whole number that {dtype} holds"):
        check_whole(["n"], [value], np.dtype(dtype))


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("float32", 2**24), ("float32", 2**40), ("float32", 16777217.0), ("float64", 2**53), ("int64", 2**62 + 1)],
)
def test_a_whole_number_that_is_held_and_what_is_not_declared_whole_are_taken(dtype, value):
    check_whole(["n"], [value], np.dtype(dtype))


# -- every kernel language alike ---------------------------------------------------------------------------------------


@opsdk.rowwise("test_exact::but_last(Tensor x) -> Tensor y")
def but_last(x):
    return vmath.where(vmath.row_index() < vmath.row_size() - 1.0, x, 0.0)


@opsdk.rowwise("test_exact::weighted(Tensor x) -> Tensor y")
def weighted(x):
    return vmath.row_sum(x * vmath.row_index())


@opsdk.rowwise("test_exact::last(Tensor x) -> Tensor y")
def last(x):
    return vmath.row_take(x, vmath.row_size() - 1.0)


@opsdk.rowwise("test_exact::behind(Tensor x, Tensor label) -> Tensor y", per_row=("label",), integer=("label",))
def behind(x, label):
    return vmath.where(vmath.row_index() > label, x, 0.0)


@opsdk.elementwise("test_exact::plus(Tensor x, *, int n=0) -> Tensor y")
def plus(x, n):
    return x + n


@opsdk.rowwise("test_exact::plus_in_rows(Tensor x, *, int n=0) -> Tensor y")
def plus_in_rows(x, n):
    return x + n * vmath.row_sum(x)


LANGUAGES = {"compiled": ("cpu", "numba"), "reference": ("cpu", "numpy")}  # CUDA: tests/cuda_sim/sim_row_expressions.py
LONG = 2**24 + 1


def launched(op, language):
    place, name = LANGUAGES[language]
    opdef = op.opdef
    kernel = next(row for row in opdef.kernels if (row.key.place, row.language) == (place, name))
    return opsdk.backends.language.language_of(opdef, kernel).compile(opdef, kernel)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("op", [but_last, weighted, last], ids=lambda op: op.opdef.name)
def test_rows_whose_positions_would_be_rounded_are_refused(op, dtype, language):
    launch = launched(op, language)
    x = np.broadcast_to(np.ones(1, as_dtype(dtype)), (1, LONG))
    with pytest.raises(ShapeError, match="at most 16777216 elements, whose positions float32 holds, got 16777217"):
        launch(x)


@pytest.mark.parametrize("language", LANGUAGES)
def test_float64_holds_the_positions_of_long_rows(language):
    x = np.arange(float(LONG))[None]
    assert np.flatnonzero(launched(but_last, language)(x) != x).tolist() == [LONG - 1]
    assert launched(last, language)(x).tolist() == [LONG - 1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_position_is_compared_with_a_label_as_a_whole_number(language):
    x = np.ones((1, LONG + 2), np.float32)
    made = launched(behind, language)(x, np.array([[LONG - 1]]))
    assert np.flatnonzero(made).tolist() == [LONG, LONG + 1]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("op", [plus, plus_in_rows], ids=lambda op: op.opdef.name)
def test_a_whole_attribute_that_float32_rounds_is_refused(op, language):
    launch = launched(op, language)
    with pytest.raises(AttributeValueError, match="attribute 'n': expected a whole number that float32 holds"):
        launch(np.ones((1, 2), np.float32), n=2**24 + 1)
    assert launch(np.zeros((1, 2)), n=2**24).tolist() == [[2**24 * (op is plus)] * 2]


def test_whole_numbers_of_a_row_do_not_wrap_in_the_reference():
    @opsdk.rowwise("test_exact::sum(Tensor x, Tensor a) -> Tensor y", per_row=("a",), integer=("a",))
    def of_labels(x, a):
        return x + (a + a) - -a

    x, a = np.zeros((1, 2), np.float32), np.array([[200]], np.uint8)
    for language in ("compiled", "reference"):
        assert launched(of_labels, language)(x, a).tolist() == [[600.0, 600.0]]
