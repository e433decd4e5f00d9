"""Kernels that are right at every sample of their author's, and wrong at other sizes or values, are found."""

import re

import numpy as np
import pytest

import opsdk
from opsdk.verify.kernels.elsewhere import judged

numba = pytest.importorskip("numba")


def small(rng):
    yield opsdk.Sample(rng.normal(size=(3, 5)), reason="rows")


def rows_of(define, reference, kernel, *, samples=small, infer=None, **options):
    """Registers an op and a Numba kernel that works on each row."""
    op = define(reference, infer=infer or (lambda x: x), **options)
    op.samples(samples)
    op.kernel("cpu", kernel, language="numba", contiguous=True)
    return op


def only_finding(op):
    (finding,) = opsdk.verify(op).findings
    return finding


def centred(x):
    return x - x.mean(axis=-1, keepdims=True)


def test_a_kernel_that_is_wrong_on_rows_of_one_element_is_found(define):
    def kernel(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i] - x[i].sum() / max(x.shape[1], 2)

    finding = only_finding(rows_of(define, centred, kernel))
    assert finding.check == "value.y"
    assert "lengths 1 for 5" in finding.sample


def reduced(x, scale, mode, keep):
    return getattr(np, mode)(x if scale is None else x * scale, axis=-1, keepdims=keep)


@pytest.mark.parametrize(
    ("wrong", "sample"),
    [
        (lambda x, scale, mode, keep: mode == "min" and x.shape[-1] > 17, "mode='min') lengths 19 for 5"),
        (lambda x, scale, mode, keep: keep and x.shape[-1] == 1, "keep=True) lengths 1 for 5"),
        (lambda x, scale, mode, keep: scale is None and x.shape[-1] > 17, "None) lengths 19 for 5"),
        (lambda x, scale, mode, keep: mode == "max" and x.size > 1 and np.ptp(x) == 0, "mode='max') values: all equal"),
        (lambda x, scale, mode, keep: keep and x.size > 1 and np.ptp(x) == 0, "keep=True) values: all equal"),
        (lambda x, scale, mode, keep: False, None),
    ],
)
def test_a_kernel_that_is_wrong_there_with_one_choice_alone_is_found(wrong, sample):
    op = opsdk.op(
        "planted::f(Tensor x, Tensor? scale, *, 'sum' | 'mean' | 'max' | 'min' mode='sum', bool keep=False) -> Tensor",
        infer=lambda x, keep: opsdk.TensorSpec((*x.shape[:-1], 1) if keep else x.shape[:-1], x.dtype),
    )(reduced)

    @op.samples
    def samples(rng):
        x, scale = rng.normal(size=(3, 5)), rng.normal(size=5)
        yield opsdk.Sample(x, None, reason="as it is")
        for mode in ("sum", "mean", "max", "min"):
            yield opsdk.Sample(x, scale, mode=mode, reason=mode)
        yield opsdk.Sample(x, scale, keep=True, reason="an axis of 1")

    @op.kernel("cpu", language="numpy", dtype="float64")
    def kernel(x, scale, mode, keep):
        return reduced(x, scale, mode, keep) + bool(wrong(x, scale, mode, keep))

    found = opsdk.verify(op).findings
    assert [finding.check for finding in found] == ["value.y"] * (sample is not None)
    assert all(finding.sample.endswith(sample) for finding in found)


def test_a_flag_that_no_sample_turns_is_turned_at_other_sizes_too():
    op = opsdk.op("planted::f(Tensor x, *, bool negated=False) -> Tensor y", infer=lambda x, negated: x)(
        lambda x, negated: -x if negated else x + 0
    )
    op.kernel("cpu", lambda x, negated: -x if negated and len(x) < 19 else x + 0, language="numpy", dtype="float64")
    (finding,) = opsdk.verify(op).findings
    assert finding.sample == "(float64(19, 5), negated=True) lengths 19 for 3"


def scaled(x):
    spread = np.ptp(x, axis=-1, keepdims=True)
    return np.where(spread > 0, x / np.where(spread > 0, spread, 1), 0)


def test_a_kernel_that_is_wrong_on_constant_rows_is_found(define):
    def kernel(x, y):
        for i in range(x.shape[0]):
            spread = x[i].max() - x[i].min()
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] / spread if spread > 0 else 1.0

    assert only_finding(rows_of(define, scaled, kernel)).check == "value.y"


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def test_a_minimum_in_place_of_a_maximum_is_found(define):
    def kernel(x, y):
        for i in range(x.shape[0]):
            e = np.exp(x[i] - x[i].min())
            y[i] = e / e.sum()

    finding = only_finding(rows_of(define, softmax, kernel))
    assert finding.check == "value.y"
    assert "this kernel gives nan" in finding.message


def test_the_last_in_place_of_the_first_of_equals_is_found(define):
    def kernel(x, y):
        for i in range(x.shape[0]):
            best = 0
            for j in range(x.shape[1]):
                best = j if x[i, j] >= x[i, best] else best
            y[i] = best

    op = rows_of(define, lambda x: x.argmax(axis=-1), kernel, infer=lambda x: opsdk.TensorSpec(x.shape[:-1], "int64"))
    assert only_finding(op).check == "value.y"


def test_a_kernel_that_takes_nan_for_a_number_is_found(define):
    def kernel(x, y):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] if x[i, j] > 0 else 0.0

    finding = only_finding(rows_of(define, lambda x: np.maximum(x, 0), kernel))
    assert "at x[1, 2] = nan: this kernel gives 0, the reference gives nan" in finding.message


def test_nan_that_a_matrix_of_the_reference_spreads_is_not_asked_of_a_kernel(define):
    def kernel(x, y):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = 2 * x[i, j]

    report = opsdk.verify(rows_of(define, lambda x: x @ (2 * np.eye(x.shape[1], dtype=x.dtype)), kernel))
    assert report.verdict == "pass", str(report)
    told = (
        "gives numbers where nan of an input makes nan in the reference, and no number in its place counts; not judged"
    )
    assert any(note.startswith("planted::f, kernel ") and note.endswith(told) for note in report.coverage.notes)


def test_blocks_that_no_sample_fills_are_found(define):
    def kernel(x, y):
        for i in range(x.shape[0]):
            total = 0.0
            for j in range(x.shape[1]):
                total += x[i, j]
                y[i, j] = total
                if j % 300 == 299:
                    total = -total

    finding = only_finding(rows_of(define, lambda x: np.cumsum(x, axis=-1), kernel))
    assert "lengths 302 for 5" in finding.sample


def test_a_kernel_that_is_wrong_on_squares_is_found(define):
    def kernel(x, y):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] + (i if x.shape[0] == x.shape[1] else j)

    finding = only_finding(rows_of(define, lambda x: x + np.arange(x.shape[-1], dtype=x.dtype), kernel))
    assert "(float64(3, 3)) lengths" in finding.sample


def test_a_mask_that_is_taken_for_a_prefix_is_found():
    @opsdk.op("planted::f(Tensor x, Tensor<bool> mask) -> Tensor y")
    def total(x, mask):
        return np.where(mask, x, 0.0).sum(axis=-1)

    total.infer(lambda x: opsdk.TensorSpec(x.shape[:-1], x.dtype))

    @total.samples
    def prefixes(rng):
        yield opsdk.Sample(rng.normal(size=(3, 5)), np.arange(5) < np.array([[5], [3], [1]]), reason="prefixes")

    @total.kernel("cpu", language="numba", contiguous=True)
    def total_numba(x, mask, y):
        for i in range(x.shape[0]):
            y[i] = 0.0
            for j in range(x.shape[1]):
                if not mask[i, j]:
                    break
                y[i] += x[i, j]

    assert "values: every other one" in only_finding(total).sample


C = """
int32_t f_f64(const DLTensor *x, DLTensor *y) {
  for (int64_t i = 0; i < opsdk_size(x); ++i)
    OPSDK_DATA(double, y)[i] = OPSDK_DATA(const double, x)[i] * (i < 128 ? 2 : 3);
  return 0;
}
"""


def test_a_c_kernel_that_is_wrong_from_its_129th_element_on_is_found(define):
    op = define(lambda x: 2 * x, infer=lambda x: x)
    op.samples(small)
    op.kernel("cpu", language="c", dtype="float64", contiguous=True, source=C)
    finding = only_finding(op)
    assert finding.check == "value.y"
    assert "lengths 131" in finding.sample


def cubes(define, last):
    op = define(lambda x: (x**3).sum(axis=-1), infer=lambda x: opsdk.TensorSpec(x.shape[:-1], x.dtype))
    op.samples(small)
    gradient = op.backward(lambda x, dy: 3 * dy[..., None] * x**2)

    @gradient.backward
    def of_gradient(x, dy, ddx):
        return 6 * dy[..., None] * x * ddx, (3 * x**2 * ddx).sum(axis=-1)

    @of_gradient.kernel("cpu", language="numba", contiguous=True)
    def of_gradient_numba(x, dy, ddx, x_grad, ddy):
        for i in range(x.shape[0]):
            ddy[i] = 0.0
            for j in range(x.shape[1]):
                x_grad[i, j] = 6 * dy[i] * x[i, j] * ddx[i, j]
                ddy[i] += 3 * x[i, j] ** 2 * ddx[i, j] if j < last else 0.0

    return op


def test_the_kernel_of_a_gradients_gradient_is_held_to_other_sizes_too(define):
    assert only_finding(cubes(define, last=5)).check == "value.ddy"


def test_right_kernels_pass_and_what_the_reference_refuses_is_counted(define):
    def forward(x):
        if 0 in x.shape:
            raise ValueError("expected elements")
        return centred(x)

    def kernel(x, y):
        for i in range(x.shape[0]):
            y[i] = x[i] - x[i].sum() / x.shape[1]

    report = opsdk.verify(rows_of(define, forward, kernel))
    assert report.verdict == "pass", str(report)
    assert "planted::f: the reference refused 2 of 18 calls of other sizes and values" in report.coverage.skipped


def test_where_most_sizes_are_refused_it_says_how_to_tell_which_belong_together(define):
    def forward(x):
        if x.shape[1] != 3:
            raise ValueError("expected points of three numbers")
        return x * 2

    def kernel(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] * 2

    sample = [opsdk.Sample(np.ones((4, 3)))]
    op = rows_of(define, forward, kernel)
    (told,) = opsdk.verify(op, samples=sample).coverage.skipped
    assert re.fullmatch(
        r"planted::f: the reference refused \d+ of \d+ calls of other sizes and values; say shapes in domain=, as "
        r"opsdk\.domain\.shape does",
        told,
    )
    op = rows_of(define, forward, kernel, domain={"x": opsdk.domain.shape("N", 3)})
    assert opsdk.verify(op, samples=sample).coverage.skipped == ()


def test_right_kernels_of_all_orders_pass(define):
    report = opsdk.verify(cubes(define, last=10**9))
    assert report.verdict == "pass", str(report)


def test_an_infer_rule_that_counts_the_samples_columns_is_found(define):
    op = define(lambda x: x.sum(axis=0), infer=lambda x: opsdk.TensorSpec((5,), x.dtype))
    op.samples(small)
    finding = only_finding(op)
    assert finding.check == "infer"
    assert "lengths 1 for 5" in finding.sample


NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("got", "want", "is_nan", "is_finite", "left"),
    [
        (1.0, NAN, False, True, NAN),  # the reference overflows in its formula
        (1.0, INF, False, True, INF),
        (NAN, 1.0, False, True, NAN),
        (1.0, NAN, True, False, 1.0),  # nan is lost
        (INF, NAN, True, False, NAN),  # either may be what is not finite
        (1.0, NAN, False, False, NAN),  # inf - inf, in a formula of the reference
        (1.0, INF, False, False, 1.0),
        (NAN, INF, False, False, INF),
    ],
)
def test_nothing_is_asked_where_a_reference_is_not_finite_by_itself(got, want, is_nan, is_finite, left):
    made = judged(np.array([got, 2.0]), np.array([want, 3.0]), is_nan=is_nan, is_finite=is_finite)
    np.testing.assert_array_equal(made, [left, 2.0])


@pytest.mark.slow  # three kernels compiled; the calls themselves are in test_further.py
def test_a_kernel_that_adds_up_as_many_near_the_greatest_as_its_source_says_is_found(define):
    def kernel(x, y):
        for i in range(x.shape[0]):
            near = 0
            for j in range(x.shape[1]):
                near += x[i, j] > x[i].max() - 0.001
            y[i] = min(near, 150) * x[i]

    def reference(x):
        is_near = x > x.max(axis=1, keepdims=True, initial=-np.inf) - 0.001
        return is_near.sum(axis=1, keepdims=True).astype(x.dtype) * x

    finding = only_finding(rows_of(define, reference, kernel))
    assert finding.check == "value.y"
    assert "lengths 153 for 5, values: all equal" in finding.sample
