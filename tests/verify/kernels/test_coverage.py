"""`thorough` says which lines of a kernel no call reached, and why that is well where a comment says it."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath

numba = pytest.importorskip("numba")


def doubled(define, kernel, **options):
    op = define(lambda x: 2 * x)
    op.kernel("cpu", kernel, language="numba", contiguous=True, **options)
    return op


def told(op, level="thorough", **options):
    coverage = opsdk.verify(op, level=level, **options).coverage
    return [text for text in coverage.notes if "reached" in text]


def branching(x, y):
    for i in range(x.size):
        y.flat[i] = x.flat[i] * 2
    if x.size == 100003:
        y.flat[0] = 0
        y.flat[1] = 0


def explained(x, y):
    for i in range(x.size):
        y.flat[i] = x.flat[i] * 2
    if x.size == 100003:
        # unreached: nobody has so many
        y.flat[0] = 0


def plain(x, y):
    for i in range(x.size):
        y.flat[i] = x.flat[i] * 2


def test_lines_that_no_call_reached_are_told_with_their_place_and_only_where_it_is_asked(define):
    op = doubled(define, branching)
    first = branching.__code__.co_firstlineno
    (text,) = told(op)
    assert text.startswith("planted::f, numba kernel: no call reached ")
    assert f"test_coverage.py:{first + 4}-{first + 5}; give a sample that does, or say why it is well" in text
    assert text in opsdk.verify(op, level="thorough").coverage.warnings
    assert told(op, level="default") == []


def test_a_comment_says_why_a_line_is_reached_by_nothing(define):
    (text,) = told(doubled(define, explained))
    assert text.endswith(", nobody has so many")
    assert opsdk.verify(doubled(define, explained, replace=True), level="thorough").coverage.warnings == (
        "planted::f: no backward declared",
    )


def test_where_every_line_was_reached_it_is_said(define):
    assert told(doubled(define, plain)) == ["planted::f, numba kernel: every line was reached"]


def shared(x, is_turned):
    if is_turned:
        return -x
    return x


compiled = numba.njit(shared)


def test_a_line_that_only_the_gradients_kernel_reaches_is_no_gap_of_the_ops(define):
    op = define(lambda x: 2 * x, lambda dy: 2 * dy)

    @op.kernel("cpu", language="numba", contiguous=True)
    def forward(x, y):
        for i in range(x.size):
            y.flat[i] = 2 * compiled(x.flat[i], False)

    @op.grad.kernel("cpu", language="numba", contiguous=True)
    def backward(dy, dx):
        for i in range(dy.size):
            dx.flat[i] = -2 * compiled(dy.flat[i], True)

    assert all(text.endswith("numba kernel: every line was reached") for text in told(op))
    assert len(told(op)) == 2


C = "int32_t f_f64(const DLTensor *x, DLTensor *y) {{ {0} return 0; }}"
LOOP = "for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(double, y)[i] = OPSDK_DATA(const double, x)[i] * 2;"


def test_a_kernel_whose_lines_cannot_be_counted_is_told_and_not_passed(define, monkeypatch):
    op = define(lambda x: 2 * x)
    op.kernel("cpu", language="c", dtype="float64", contiguous=True, source=C.format(LOOP))
    monkeypatch.setattr("opsdk.backends.c.coverage._READER", "no-such-reader")
    report = opsdk.verify(op, level="thorough")
    assert [text for text in report.coverage.skipped if "lines" in text] == [
        "planted::f, c kernel: lines not counted, op 'planted::f', c kernel: expected no-such-reader, which counts "
        "lines, got none; it comes with gcc"
    ]
    assert told(op) == []


def steep(x):
    return vmath.where(x == 0.123, 1.0, x)


# unreached: nobody has it
def explained_choice(x):
    return vmath.where(x == 0.123, 1.0, x)


def test_the_sides_of_an_expression_that_no_element_is_on_are_told_at_its_place():
    op = opsdk.elementwise("planted::f(Tensor x) -> Tensor y")(steep)
    (text,) = told(op, samples=[opsdk.Sample(np.ones(3))])
    place = f"test_coverage.py:{steep.__code__.co_firstlineno} where eq(x, 0.123) holds; give a sample that does"
    assert text.startswith("planted::f, numba kernel: no call reached ")
    assert place in text
    assert told(op, level="default") == []


def test_a_comment_above_an_expression_says_why_a_side_is_met_by_nothing():
    op = opsdk.elementwise("planted::f(Tensor x) -> Tensor y")(explained_choice)
    (text,) = told(op, samples=[opsdk.Sample(np.ones(3))])
    assert text.endswith("where eq(x, 0.123) holds, nobody has it")


@pytest.mark.slow  # the proof of a gradient; that an expression names such sizes is tested beside what reads them
def test_blocks_of_rows_and_lines_of_sums_are_reached_by_sizes_that_the_loops_name():
    @opsdk.rowwise("planted::g(Tensor x, Tensor(n) w) -> Tensor y")
    def g(x, w):
        return x * w / vmath.row_sum(vmath.exp(x))

    assert "planted::g, numba kernel: every choice was reached" in told(g)
    assert "planted::g_grad, numba kernel: every choice was reached" in told(g)
