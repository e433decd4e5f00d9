"""A compiled kernel gives the dtype that the reference gives, or is refused, whatever the infer rule says."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError

REFUSED = r"output 'y': expected int64, got float64; cast it with \.astype, or declare the dtype with an infer rule"


def fill(x, slope, y):
    for i in range(x.size):
        y.flat[i] = x.flat[i] if x.flat[i] > 0 else slope * x.flat[i]


@pytest.fixture
def leaky():
    @opsdk.op
    def leaky(x, *, slope: float = 0.1):
        return np.where(x > 0, x, slope * x)

    leaky.kernel("cpu", fill, language="numba")
    return leaky


@pytest.mark.parametrize("x", [np.array([-5, 3]), np.array(-5), np.zeros((2, 0), int)], ids=["1-d", "0-d", "empty"])
def test_a_row_that_would_round_to_integers_is_refused_as_the_reference_is(leaky, x):
    for _ in range(2):
        with pytest.raises(DTypeError, match=REFUSED):
            leaky(x)
    with pytest.raises(DTypeError, match=REFUSED):
        leaky(opsdk.to_tensor(x))


def test_floating_inputs_keep_their_dtype(leaky):
    made = leaky(np.array([-4, 3], np.float32), slope=0.5)
    assert made.dtype == np.float32
    assert made.tolist() == [-2, 3]


def test_integers_that_stay_integers_are_served_by_the_row():
    ran = []

    @opsdk.op("t::twice(Tensor x) -> Tensor y")
    def twice(x):
        ran.append(x.shape)
        return x * 2

    @twice.kernel("cpu", language="numba")
    def twice_numba(x, y):
        for i in range(x.size):
            y[i] = x[i] * 2

    assert twice(np.array([1, 2])).tolist() == [2, 4]
    assert twice(np.array([3])).tolist() == [6]
    assert ran == [(0,)]  # asked once, with nothing in it


def test_inputs_of_two_dtypes_are_held_to_what_the_reference_makes_of_them():
    @opsdk.op("t::scaled(Tensor x, Tensor by) -> Tensor y")
    def scaled(x, by):
        return x * by

    @scaled.kernel("cpu", language="numba")
    def scaled_numba(x, by, y):
        for i in range(x.size):
            y[i] = x[i] * by[i]

    with pytest.raises(DTypeError, match="output 'y': expected float32, got float64"):
        scaled(np.ones(2, np.float32), np.ones(2))
    assert scaled(np.ones(2), np.full(2, 3, np.float32)).tolist() == [3, 3]


def test_a_reference_that_needs_elements_says_nothing():
    @opsdk.op("t::shifted(Tensor x) -> Tensor y")
    def shifted(x):
        return x - x.max()

    @shifted.kernel("cpu", language="numba")
    def shifted_numba(x, y):
        for i in range(x.size):
            y[i] = x[i] - x.max()

    assert shifted(np.array([1, 3])).tolist() == [-2, 0]


@pytest.mark.parametrize("rule", [opsdk.infer.like("a"), opsdk.infer.broadcast], ids=["like", "broadcast"])
def test_a_stock_rule_knows_nothing_of_what_the_op_computes(rule):
    @opsdk.op("t::middle(Tensor a, Tensor b) -> Tensor y", infer=rule)
    def middle(a, b):
        return (a + b) / 2

    @middle.kernel("cpu", language="numba")
    def middle_numba(a, b, y):
        for i in range(a.size):
            y[i] = (a[i] + b[i]) / 2

    with pytest.raises(DTypeError, match=REFUSED):
        middle(np.array([1, 2]), np.array([2, 3]))
    assert middle(np.array([1.0, 2.0]), np.array([2.0, 3.0])).tolist() == [1.5, 2.5]


def test_a_rule_of_ones_own_is_held_to_the_reference_too():
    @opsdk.op("t::halves(Tensor x) -> Tensor y", infer=lambda x: x)
    def halves(x):
        return x / 2

    @halves.kernel("cpu", language="numba")
    def halves_numba(x, y):
        for i in range(x.size):
            y[i] = x[i] / 2

    with pytest.raises(DTypeError, match=REFUSED):
        halves(np.array([5, 7]))
    assert halves(np.array([5.0, 7.0])).tolist() == [2.5, 3.5]


DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]
RULES = {"none": None, "like": opsdk.infer.like("x"), "broadcast": opsdk.infer.broadcast, "own": lambda x: x}
CHECKED = {
    "half": lambda x: x * 0.5,
    "peak": lambda x: x - x.max() * 0.5,
    "steps": lambda x: np.diff(x, append=x[-1:]) * 0.5,
}


def half_loop(x, y):
    for i in range(x.size):
        y.flat[i] = x.flat[i] * 0.5


def peak_loop(x, y):
    peak = x.max() * 0.5
    for i in range(x.size):
        y.flat[i] = x.flat[i] - peak


def steps_loop(x, y):
    for i in range(x.size):
        y[i] = (x[min(i + 1, x.size - 1)] - x[i]) * 0.5


LOOPS = {"half": half_loop, "peak": peak_loop, "steps": steps_loop}
HALF_C = "".join(
    f"""
    int32_t half_{suffix}(const DLTensor *x, DLTensor *y) {{
      for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA({kind}, y)[i] = OPSDK_DATA(const {kind}, x)[i] * 0.5;
      return 0;
    }}"""
    for suffix, kind in {
        "bool": "_Bool", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t",
        "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t", "f32": "float", "f64": "double",
        "c64": "float _Complex", "c128": "double _Complex",
    }.items()
)  # fmt: skip


def as_the_reference(op, reference, dtype):
    """Checks that an op gives what its reference gives, to the dtype, or is refused in words of opsdk's own."""
    opsdk.core.dtype.bfloat16()
    x = np.array([1, 1, 0, 1]).astype(dtype)
    want = reference(x)
    for _ in range(2):
        try:
            got = op(x)
        except opsdk.core.errors.OpsdkError:
            continue
        assert got.dtype == want.dtype
        assert np.array_equal(got.astype(complex), want.astype(complex))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", CHECKED)
def test_a_numba_row_gives_the_references_dtype_and_values_or_is_refused(name, rule):
    pytest.importorskip("ml_dtypes")
    op = opsdk.op(f"t::{name}(Tensor x) -> Tensor y", infer=RULES[rule])(CHECKED[name])
    op.kernel("cpu", LOOPS[name], language="numba")
    for dtype in DTYPES:
        as_the_reference(op, CHECKED[name], dtype)


@pytest.mark.parametrize("rule", RULES)
def test_a_c_row_gives_the_references_dtype_and_values_or_is_refused(rule):
    pytest.importorskip("cffi")
    pytest.importorskip("ml_dtypes")
    op = opsdk.op("t::half(Tensor x) -> Tensor y", infer=RULES[rule])(CHECKED["half"])
    op.kernel("cpu", language="c", source=HALF_C)
    for dtype in DTYPES:
        as_the_reference(op, CHECKED["half"], dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_expression_gives_the_references_dtype_and_values_or_is_refused(dtype):
    pytest.importorskip("ml_dtypes")
    op = opsdk.elementwise(lambda x: x * 0.5, name="half_of", namespace="t")
    kept = opsdk.core.dtype.is_differentiable(np.zeros(0, dtype).dtype)  # an expression keeps bfloat16, NumPy does not
    as_the_reference(op, lambda x: (x * 0.5).astype(x.dtype if kept else "float32"), dtype)


def test_under_reduce_a_row_is_held_to_the_reference_as_well():
    op = opsdk.op("t::mean(Tensor x, *, int? axis=None) -> Tensor y", infer=opsdk.infer.reduce)(
        lambda x, axis: np.mean(x, axis=axis)
    )

    @op.kernel("cpu", language="numba")
    def mean_loop(x, axis, y):
        total = 0.0
        for i in range(x.size):
            total += x.flat[i]
        y[()] = total / x.size

    assert op(np.array([1.0, 2.0])) == 1.5
    for dtype in ("bool", "int8", "int64", "uint16"):
        with pytest.raises(DTypeError, match=r"output 'y': expected .*, got float64"):
            op(np.array([1, 0, 1], dtype))


def test_absent_inputs_are_absent_for_the_reference_too():
    @opsdk.op("t::moved(Tensor x, Tensor? by=None) -> Tensor y")
    def moved(x, by):
        return x * 0.5 if by is None else x + by

    @moved.kernel("cpu", language="numba")
    def moved_numba(x, by, y):
        for i in range(x.size):
            y[i] = x[i] * 0.5 if by is None else x[i] + by[i]

    with pytest.raises(DTypeError, match=REFUSED):
        moved(np.array([1, 2]))
    assert moved(np.array([1, 2]), np.array([3, 4])).tolist() == [4, 6]


def halved(x):
    x *= 0.5


def halve(x):
    for i in range(x.size):
        x.flat[i] = x.flat[i] * 0.5


def add_to(x, w):
    for i in range(x.size):
        x.flat[i] += w.flat[i]


@pytest.mark.parametrize("infer", [None, opsdk.infer.broadcast, opsdk.infer.like("x")])
@pytest.mark.parametrize("dtype", ["int64", "int8", "bool"])
def test_a_row_that_would_round_what_it_changes_in_place_is_refused_as_the_reference_is(infer, dtype):
    op = opsdk.op("t::halve_(Tensor(a!) x) -> Tensor(a!) y", infer=infer)(halved)
    op.kernel("cpu", halve, language="numba")
    x = np.array([1, 0, 1], dtype)
    before = x.copy()
    said = rf"op 't::halve_': expected dtypes that its reference changes in place, got x {dtype}: Cannot cast ufunc"
    for _ in range(2):
        with pytest.raises(DTypeError, match=rf"{said} 'multiply' .*; cast an input"):
            op(x)
        with pytest.raises(DTypeError, match=said):
            op(opsdk.to_tensor(x))
    assert np.array_equal(x, before)
    assert op(np.array([1.0, 3.0])).tolist() == [0.5, 1.5]


def test_one_that_adds_floats_to_integers_is_refused_as_well():
    @opsdk.op("t::add_(Tensor(a!) x, Tensor w) -> Tensor(a!) y")
    def add_(x, w):
        x += w

    add_.kernel("cpu", add_to, language="numba")
    with pytest.raises(DTypeError, match=r"changes in place, got x int64, w float64: Cannot cast ufunc 'add'"):
        add_(np.array([1, 2]), np.array([0.5, 0.9]))
    assert add_(np.array([1, 2]), np.array([3, 4])).tolist() == [4, 6]
    assert add_(np.array([1, 2], "float32"), np.array([0.5, 0.25])).tolist() == [1.5, 2.25]


def test_a_reference_that_returns_what_it_changed_says_nothing_of_dtypes():
    @opsdk.op("t::add_(Tensor(a!) x, Tensor w) -> ()", infer=opsdk.infer.like("x"))
    def add_(x, w):
        x += w
        return x

    add_.kernel("cpu", add_to, language="numba")
    x = np.ones(2)
    add_(x, np.ones(2))
    assert x.tolist() == [2, 2]


def test_what_changes_an_array_without_axes_in_place_is_tried_on_one():
    @opsdk.op("t::halve(Tensor(a!) x) -> Tensor(a!) y")
    def halve(x):
        np.divide(x, 2, out=x)

    halve.infer(lambda x: (x,))

    @halve.kernel("cpu", language="numba")
    def halved(x):
        for i in range(x.size):
            x.flat[i] /= 2

    x = np.array(3.0)
    halve(x)
    assert x == 1.5
