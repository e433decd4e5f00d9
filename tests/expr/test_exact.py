"""What float32 does not hold, a position or a whole number, is refused in every kernel language, or kept exactly."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.dtype import as_dtype
from opsdk.core.errors import AttributeValueError, InputValueError, ShapeError
from opsdk.expr.exact import check_whole, most_exact, rounds_positions
from opsdk.expr.node import BOOL, Node
from opsdk.expr.row.row import elements
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
    return opsdk.backends.call.language.language_of(kernel).compile(opdef, kernel)


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


@opsdk.elementwise("test_exact::same(Tensor x, Tensor<int> i, Tensor<int> j) -> Tensor y")
def same(x, i, j):
    return vmath.where(i == j, x, 0.0)


@opsdk.elementwise("test_exact::long_same(Tensor x, Tensor<int> i, Tensor<int> j) -> Tensor y")
def long_same(x, i, j):  # of several stages
    y = vmath.erf(vmath.exp(vmath.sin(x))) + vmath.log(vmath.cosh(x)) + vmath.tan(vmath.arctan2(x, 2.0))
    return vmath.where(i == j, y + vmath.erf(x + i * 0.0), 0.0)


@opsdk.rowwise(
    "test_exact::labels(Tensor x, Tensor<int> a, Tensor<int> b) -> Tensor y", per_row=("a", "b"), integer=("a", "b")
)
def labels(x, a, b):
    return vmath.row_sum(vmath.where(a == b, x, 0.0))


@opsdk.rowwise("test_exact::until(Tensor x, Tensor<int> n) -> Tensor y", per_row=("n",), integer=("n",))
def until(x, n):
    return vmath.row_sum(vmath.where(vmath.row_index() < n, x, 0.0))


@opsdk.elementwise("test_exact::less(Tensor x, *, int[] k = [1]) -> Tensor y")
def less(x, *, k):
    return x - k[0]


@opsdk.rowwise("test_exact::less_in_rows(Tensor x, *, int[] k = [1]) -> Tensor y")
def less_in_rows(x, *, k):
    return x - k[0] + 0.0 * vmath.row_sum(x)


WIDE = [("int64", n) for n in (2**53 + 1, -(2**53) - 1, 2**63 - 1)] + [("uint64", n) for n in (2**53 + 1, 2**64 - 1)]
HELD = [("int64", 2**53), ("int64", -(2**63)), ("int64", 3 * 2**60), ("uint64", 2**63), ("int64", 0), ("uint64", 0)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("op", [same, long_same], ids=lambda op: op.opdef.name)
@pytest.mark.parametrize(("dtype", "value"), WIDE)
def test_a_whole_number_of_an_input_that_float64_rounds_is_refused(op, dtype, value, language):
    launch = launched(op, language)
    for at in (0, 6, 40):  # in vectors, and in what is left over
        i = np.zeros(41, dtype)
        i[at] = value
        for given in (i, np.repeat(i, 2)[::2]):
            with pytest.raises(InputValueError, match=f"input 'i' expected whole numbers that float64 holds.*{value}"):
                launch(np.ones(41), given, np.zeros(41, dtype))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("dtype", "value"), HELD)
def test_a_whole_number_of_an_input_that_float64_holds_is_compared(dtype, value, language):
    i = np.full(41, value, dtype)
    i[::2] = 1
    made = launched(same, language)(np.ones(41), i, np.full(41, value, dtype))
    assert made.tolist() == [0.0, 1.0] * 20 + [0.0]


def test_a_rounded_input_is_refused_among_many_and_on_the_tape():
    i = np.zeros(300_000, np.int64)
    i[123_456] = 2**53 + 1
    x = opsdk.to_tensor(np.ones(i.shape), stop_gradient=False)
    for given in (x, x.numpy()):
        with pytest.raises(InputValueError, match="input 'i' expected whole numbers that float64 holds"):
            same(given, i, i)


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_that_float32_rounds_are_refused_and_others_compared(language):
    launch = launched(labels, language)
    x = np.ones((2, 5), np.float32)
    held, rounded = np.array([[2**24], [2**25]]), np.array([[2**24 + 1], [3]])
    for dtype in (np.int32, np.uint32, np.int64, np.uint64):
        with pytest.raises(InputValueError, match=r"input 'b' expected whole numbers that float32 holds.*16777217"):
            launch(x, held.astype(dtype), rounded.astype(dtype))
        assert np.ravel(launch(x, held.astype(dtype), held[::-1].astype(dtype))).tolist() == [0.0, 0.0]
    least = np.full((2, 1), -(2**31), np.int32)
    assert np.ravel(launch(x, least, least)).tolist() == [5.0, 5.0]
    assert np.ravel(launch(x.astype(np.float64), held, rounded)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_positions_are_below_unsigned_numbers_of_every_size(dtype, language):
    n = np.array([[2**64 - 1], [2**63], [2**63 - 1], [2]], np.uint64)
    made = launched(until, language)(np.ones((4, 5), dtype), n)
    assert np.ravel(made).tolist() == [5.0, 5.0, 5.0, 2.0]


def test_unsigned_numbers_beside_signed_ones_are_compared_exactly_or_refused():
    big = np.array([2**53 + 1], np.uint64)
    with pytest.raises(InputValueError, match="input 'i' expected whole numbers that float64 holds"):
        same(np.ones(1), big, np.array([2**53]))
    assert same(np.ones(1, int), big, np.array([2**53])).tolist() == [0]  # NumPy compares them exactly
    assert same(np.ones(1, np.uint64), big, big - np.uint64(1)).tolist() == [0]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("op", [less, less_in_rows], ids=lambda op: op.opdef.name)
def test_a_list_of_whole_numbers_is_exact_or_refused(op, language):
    launch = launched(op, language)
    for dtype, value in (("float32", 2**24 + 1), ("float64", 2**53 + 1)):
        with pytest.raises(AttributeValueError, match=f"whole numbers that {dtype} holds.*got {value}; make a float"):
            launch(np.zeros((1, 2), dtype), k=[value])
    assert launch(np.zeros((1, 2), np.float32), k=[2**31]).tolist() == [[-(2.0**31)] * 2]


def test_a_list_of_whole_numbers_stays_whole_beside_whole_numbers():
    assert less(np.array([0]), k=[2**53 + 1]).tolist() == [-(2**53) - 1]


def test_a_position_is_compared_with_a_constant_that_float32_rounds():
    @opsdk.rowwise("test_exact::to(Tensor x) -> Tensor y")
    def to(x):
        return vmath.where(vmath.row_index() < 2**24 + 1, x, 0.0)

    for language in LANGUAGES:
        made = launched(to, language)(np.ones((1, LONG + 2), np.float32))
        assert np.flatnonzero(made == 0.0).tolist() == [LONG, LONG + 1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_elements_of_rows_that_float64_rounds_are_refused(language):
    @opsdk.rowwise("test_exact::beside(Tensor x, Tensor<int> i) -> Tensor y", replace=True)
    def beside(x, i):
        return x + i

    launch = launched(beside, language)
    assert launch(np.zeros((1, 2)), np.array([[2**53, 1]])).tolist() == [[2.0**53, 1.0]]
    with pytest.raises(InputValueError, match="input 'i' expected whole numbers that float64 holds"):
        launch(np.zeros((1, 2)), np.array([[1, 2**53 + 1]]))


def test_a_program_refuses_an_input_that_float64_rounds_at_every_run():
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program):
        kinds = {"x": "float64", "i": "int64", "j": "int64"}
        x, i, j = (opsdk.static.data(name, [2], kind) for name, kind in kinds.items())
        y = same(x, i, j)
    run = opsdk.static.Executor().run
    feed = {"x": np.ones(2), "i": np.array([1, 2]), "j": np.array([1, 3])}
    for _ in range(3):
        assert run(program, feed=feed, fetch_list=[y])[0].tolist() == [1.0, 0.0]
        with pytest.raises(InputValueError, match="input 'j' expected whole numbers that float64 holds"):
            run(program, feed={**feed, "j": np.array([2**53 + 1, 3])}, fetch_list=[y])


@pytest.mark.parametrize(("dtype", "number"), [("int8", 200), ("uint8", -1), ("int32", 2**31), ("uint64", -1)])
@pytest.mark.parametrize("runtime", [np.asarray, opsdk.to_tensor])
def test_an_int_attribute_beyond_the_integers_beside_it_is_refused(runtime, dtype, number):
    @opsdk.elementwise
    def times(x, *, k: int = 1):
        return x * k

    x = runtime(np.array([0, 1], dtype))
    wanted = f"op 'times': whole numbers expected to be held by {dtype}, .* got {number} in mul"
    with pytest.raises(AttributeValueError, match=wanted):
        times(x, k=number)
    np.testing.assert_array_equal(np.asarray(times(x, k=100)), [0, 100])
