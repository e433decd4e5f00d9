"""Values of a kernel against those of the reference in float64."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.calls import Call
from opsdk.verify.kernels.agreement import rounds_alike, where_unlike
from opsdk.verify.kernels.rounding import Rounding


def exponential(numba_row, dtype=None):
    @opsdk.op("t::exponential(Tensor x) -> Tensor y")
    def exponential(x):
        return np.exp(x)

    @exponential.backward
    def exponential_grad(y, dy):
        return dy * y

    exponential.kernel("cpu", numba_row, language="numba", dtype=dtype)
    return exponential


def findings_of(op):
    return [finding for finding in opsdk.verify(op).findings if finding.check.startswith("value")]


def test_a_wrong_value_is_shown_with_the_input_that_it_came_from():
    def row(x, y):
        for i in range(x.size):
            y.flat[i] = np.exp(x.flat[i]) if i != 3 else 0.0

    (finding,) = findings_of(exponential(row, "float64"))
    assert (finding.check, finding.row) == ("value.y", "cpu,float64,numba")
    assert (finding.index, finding.analytic) == ((0, 3), 0.0)
    x = float(finding.message.partition("worst y[0, 3] at x[0, 3] = ")[2].partition(":")[0])
    np.testing.assert_allclose(finding.numeric, np.exp(x), rtol=1e-8)  # the text has nine digits


def test_only_the_last_element_wrong_is_said_to_be_a_loop_that_ends_too_early():
    def row(x, y):
        for i in range(x.size):
            y.flat[i] = np.exp(x.flat[i]) if i + 1 < x.size else 7e5

    (finding,) = findings_of(exponential(row, "float64"))
    assert finding.cause == "only the last element: a loop that ends one too early does this"


def test_rounding_of_the_rows_own_dtype_is_no_fault():
    def row(x, y):
        for i in range(x.size):
            y.flat[i] = np.exp(x.flat[i])

    assert findings_of(exponential(row, "float32")) == []


def test_an_output_of_whole_numbers_has_to_agree_exactly():
    @opsdk.op("t::signs(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec(x.shape, "int64"))
    def signs(x):
        return np.sign(x).astype(np.int64)

    @signs.kernel("cpu", language="numba", dtype="float64")
    def signs_numba(x, y):
        for i in range(x.size):
            y.flat[i] = 1 if x.flat[i] >= 0 else -1

    (finding,) = findings_of(signs)
    assert (finding.analytic, finding.numeric) == (1.0, 0.0)  # at the exact 0 that samples have
    assert "at x[" in finding.message
    assert "= 0: this kernel gives 1, the reference gives 0" in finding.message


def shrunk(row):
    """x - tanh(x), of which next to nothing is left where x is small, with a kernel in Numba."""

    @opsdk.op("t::shrunk(Tensor x) -> Tensor y")
    def shrunk(x):
        return x - np.tanh(x)

    @shrunk.backward
    def shrunk_grad(x, dy):
        return dy * np.tanh(x) ** 2

    @shrunk.samples
    def shrunk_samples(rng):
        yield opsdk.Sample(rng.choice((-1, 1), 64) * 10.0 ** rng.uniform(-2, 1, 64), reason="from near 0 to far out")

    shrunk.kernel("cpu", row, language="numba")
    return shrunk


def test_digits_that_the_formula_itself_loses_are_no_fault_of_a_row():
    def row(x, y):
        for i in range(x.size):
            half = np.tanh(0.5 * x.flat[i])
            y.flat[i] = x.flat[i] - 2.0 * half / (1.0 + half * half)  # as good, and other bits are lost

    for seed in range(4):
        assert not [f for f in opsdk.verify(shrunk(row), seed=seed).findings if f.check.startswith("value")]


def test_where_a_formula_loses_digits_a_row_that_is_wrong_in_those_that_are_left_is_found():
    def row(x, y):
        for i in range(x.size):
            y.flat[i] = (x.flat[i] - np.tanh(x.flat[i])) * (1.00001 if abs(x.flat[i]) < 0.5 else 1.0)

    assert findings_of(shrunk(row))


def test_an_array_for_a_gradient_that_nobody_wants_is_not_looked_at():
    @opsdk.op("t::shift(Tensor x, Tensor? bias=None) -> Tensor y", infer=opsdk.infer.like("x"))
    def shift(x, bias):
        return x.copy() if bias is None else x + bias

    @shift.backward
    def shift_grad(bias, dy):
        return dy.copy(), None if bias is None else opsdk.sum_to(dy, bias.shape)

    @shift.samples
    def shift_samples(rng):
        yield opsdk.Sample(rng.normal(size=5), reason="without")
        yield opsdk.Sample(rng.normal(size=5), rng.normal(size=5), reason="with")

    def row(dy, dx, dbias):
        for i in range(dy.size):
            dx[i] = dbias[i] = dy[i]

    shift.grad.kernel("cpu", row, language="numba")
    report = opsdk.verify(shift)
    assert report.findings == (), str(report)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("samples", [None, [opsdk.Sample(np.array([1 + 2j, -0.5 + 1j]))]])
def test_a_complex_kernel_with_a_wrong_conjugate_is_found(dtype, samples):
    op = opsdk.op("t::squares(Tensor x) -> Tensor y")(lambda x: x * x)

    @op.kernel("cpu", language="numba", dtype=dtype)
    def own(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] * np.conj(x.flat[i])

    report = opsdk.verify(op, samples=samples)
    (finding,) = report.findings
    assert finding.check == "value.y"
    assert finding.row == f"cpu,{dtype},numba"
    assert "j, the reference gives " in finding.message


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_a_complex_kernel_that_rounds_otherwise_is_right(dtype):
    op = opsdk.op("t::cubes(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x * x * x - w * np.exp(1j * x))

    @op.kernel("cpu", language="numba", dtype=dtype)
    def own(x, w, y):
        for i in range(x.size):
            z = x.flat[i]
            a, b, r = z.real, z.imag, np.exp(-z.imag)
            power = (a * a * a - 3 * a * b * b) + 1j * (3 * a * a * b - b * b * b)
            y.flat[i] = power - w.flat[i] * (r * np.cos(a) + 1j * r * np.sin(a))

    @op.infer
    def infer(x, w):
        return opsdk.TensorSpec(x.shape, np.result_type(x.dtype, np.complex64))

    assert opsdk.verify(op).findings == ()


def test_where_the_reference_refuses_complex_numbers_it_is_said_that_a_complex_kernel_was_not_compared():
    def reference(x):
        if x.dtype.kind == "c":
            raise TypeError("real numbers only")
        return x * x

    op = opsdk.op("t::squares(Tensor x) -> Tensor y")(reference)

    @op.kernel("cpu", language="numba", dtype="complex128")
    def own(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] * x.flat[i]

    report = opsdk.verify(op)
    assert report.findings == ()
    said = "[cpu,complex128,numba]: not compared, as the reference refuses complex128: TypeError: real numbers only"
    assert report.coverage.skipped == (f"t::squares{said}",)


LOOP = """int32_t sq_{0}(const DLTensor *x, DLTensor *y) {{
    for (int64_t i = 0; i < opsdk_size(x); ++i) {{ {1} v = OPSDK_DATA(const {1}, x)[i]; OPSDK_DATA({1}, y)[i] = {2}; }}
    return 0;
}}
"""
WHOLE = {"i8": "int8", "i64": "int64", "u8": "uint8", "u64": "uint64"}
ELEMENTS = {
    "f16": ("opsdk_f16", "opsdk_to_f16(opsdk_from_f16(v) * opsdk_from_f16(v){})"),
    "bf16": ("opsdk_bf16", "opsdk_to_bf16(opsdk_from_bf16(v) * opsdk_from_bf16(v){})"),
    "c64": ("float _Complex", "v * v{}"),
    "c128": ("double _Complex", "v * v{}"),
    **{name: (f"{word}_t", "v * v{}") for name, word in WHOLE.items()},
}


def with_functions(wrong):
    op = opsdk.op("t::sq(Tensor x) -> Tensor y")(lambda x: x * x)
    op.backward(lambda x, dy: 2 * x * dy)
    functions = [LOOP.format("f32", "float", "v * v"), LOOP.format("f64", "double", "v * v")]
    functions += [LOOP.format(s, t, made.format(" + 1" if s == wrong else "")) for s, (t, made) in ELEMENTS.items()]
    functions.append(LOOP.format("bool", "uint8_t", "!v" if wrong == "bool" else "v"))
    op.kernel("cpu", language="c", source="".join(functions))
    return op


@pytest.mark.parametrize("wrong", ["", "bool", *ELEMENTS])
def test_each_function_of_a_c_kernel_is_compared(wrong):
    pytest.importorskip("cffi")
    report = opsdk.verify(with_functions(wrong))
    lines = {row.row: row.verdict for row in report.rows if row.op == "t::sq" and row.row.endswith(",c")}
    names = {"f16": "float16", "bf16": "bfloat16", "c64": "complex64", "c128": "complex128", "bool": "bool", **WHOLE}
    assert {row.split(",")[1] for row in lines} == {"float32", "float64", *names.values()}
    assert [row for row, verdict in lines.items() if verdict == "fail"] == ([f"cpu,{names[wrong]},c"] if wrong else [])


def test_a_function_of_a_dtype_that_the_reference_refuses_is_said_not_to_be_compared():
    pytest.importorskip("cffi")
    op = opsdk.op("t::sq(Tensor x) -> Tensor y")(lambda x: np.square(x.astype(np.float64)).astype(x.dtype) / 1)
    op.kernel("cpu", language="c", source=LOOP.format("f64", "double", "v * v") + LOOP.format("i64", "int64_t", "v"))
    report = opsdk.verify(op)
    assert [e for e in report.coverage.skipped if "t::sq[cpu,int64,c]: not compared, as the reference refuses" in e]


def test_numbers_that_agree_in_two_thirds_of_the_largest_ones_digits_are_those_of_the_truth():
    truth = np.array([300.0, 2e-9, 1.0, np.nan, 1e300, np.inf])
    got = np.array([300.0 + 1e-9, 3e-9, 1.5, 7.0, 2e300, 1.0])
    np.testing.assert_array_equal(where_unlike(got, truth), [300.0, 2e-9, 1.5, 7.0, 2e300, 1.0])
    assert where_unlike(np.float32([1.00001]), np.float32([1.0])).tolist() == [1.0]


@pytest.mark.parametrize("x", [1.0, 3.0])
def test_what_cancels_to_zero_by_chance_may_be_off_by_what_its_terms_lose_nearby(x):
    def rounding():
        return Rounding(lambda call: [call.inputs[0] / 3 * 3 - call.inputs[0]], call, 2.0**-52, seed=0)

    call, exact = Call([np.array([x])], {}), np.zeros(1)
    assert not any(rounding().apart[0])
    assert rounds_alike(rounding(), [(exact, np.array([4e-16 * x]))])
    assert not rounds_alike(rounding(), [(exact, np.array([1e-14 * x]))])
    assert not rounds_alike(rounding(), [(exact, np.zeros(2))])


def test_what_cancels_to_zero_at_every_input_may_be_off_by_digits_of_the_inputs():
    def rounding():  # s u - s ((s u) / s), which NumPy gives as 0 whatever s and u are
        return Rounding(lambda call: [call.inputs[0] - call.inputs[0]], call, 2.0**-52, seed=0)

    call, exact = Call([np.array([0.5])], {}), np.zeros(1)
    assert rounds_alike(rounding(), [(exact, np.array([4e-17]))])
    assert not rounds_alike(rounding(), [(exact, np.array([1e-15]))])
    assert not rounds_alike(rounding(), [(exact + 1e-300, np.array([4e-17]))])


def rounded_half_up(x):
    return np.floor(x + 0.5)


@pytest.mark.parametrize(
    ("reference", "kernel", "values"),
    [
        (np.rint, rounded_half_up, "halves"),
        (rounded_half_up, np.rint, "halves"),
        (np.rint, lambda x: np.copysign(rounded_half_up(np.abs(x)), x), "halves"),
        (lambda x: np.where(x < 0.5, x, 0), lambda x: np.where(x <= 0.5, x, 0), "halves"),
        (lambda x: np.where(x > -2, x, 7), lambda x: np.where(x >= -2, x, 7), "whole numbers"),
        (lambda x: np.where(x <= 6, x, 7), lambda x: np.where(x < 6, x, 7), "0, 1, 2 and so on"),
        (lambda x: np.rint(8 * x) / 8, lambda x: rounded_half_up(8 * x) / 8, "sixteenths"),
        (lambda x: np.floor(x / 0.1), lambda x: np.floor_divide(x, 0.1), ""),  # 0.1 is none: 0.5 has 4 or 5 of it
        (np.rint, np.rint, ""),
    ],
)
def test_a_kernel_on_the_other_side_of_a_tie_is_found_where_no_rounding_decides_that(define, reference, kernel, values):
    op = define(lambda x: reference(x).astype(x.dtype), infer=lambda x: x)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(4, 5)), reason="rows")])
    op.kernel("cpu", lambda x: kernel(x).astype(x.dtype), language="numpy", dtype="float64")
    found = findings_of(op)
    assert [finding.sample.partition("values: ")[2] for finding in found] == [values] * bool(values)
    told = "of a tie: the reference gives the same in float32 and longdouble, so no rounding decides it"
    assert all(finding.cause == told for finding in found)


@pytest.mark.parametrize("includes", [True, False])
def test_a_gradient_that_takes_the_other_side_of_a_tie_is_found(define, includes):
    op = define(lambda x: np.minimum(x, 0.5), lambda x, dy: dy * (x <= 0.5), infer=lambda x: x)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(4, 5)), reason="rows")])
    op.grad.kernel("cpu", lambda x, dy: dy * (x <= 0.5 if includes else x < 0.5), language="numpy", dtype="float64")
    assert [finding.check for finding in findings_of(op)] == ["value.dx"] * (not includes)
