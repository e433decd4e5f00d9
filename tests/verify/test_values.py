"""Values of a row against those of the reference in float64."""

import numpy as np

import opsdk


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
    assert "= 0: this row gives 1, the reference gives 0" in finding.message


def shrunk(row):
    """x - tanh(x), of which next to nothing is left where x is small, with a row in Numba."""

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
