import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.verify import verify

numba = pytest.importorskip("numba")


@numba.njit
def grown(x):
    return vmath.exp(x)


def test_the_text_of_a_row_may_call_a_compiled_function_that_uses_vmath():
    with opsdk.REGISTRY.scoped():

        @opsdk.op("t::grow(Tensor x) -> Tensor y", nondifferentiable={"y": "what is asked here is its kernel alone"})
        def grow(x):
            return np.exp(x)

        @grow.kernel("cpu", language="numba")
        def grow_numba(x, y):
            for i in range(x.size):
                y.flat[i] = grown(x.flat[i])

        report = opsdk.verify(grow)
    assert not report.findings
    assert "bounds" in report.coverage.checks


@numba.njit
def beside(x, i):
    return x[i] + 0 * x[i + 1]


def test_a_compiled_function_that_reads_beyond_its_arrays_is_found_where_a_row_calls_it():
    with opsdk.REGISTRY.scoped():

        @opsdk.op("t::same(Tensor x) -> Tensor y", nondifferentiable=["y"])
        def same(x):
            return x + 0

        @same.kernel("cpu", language="numba")
        def same_numba(x, y):
            given, made = x.ravel(), y.ravel()
            for i in range(x.size):
                made[i] = beside(given, i)

        report = opsdk.verify(same)
    assert report.findings[0].check == "bounds"


def test_a_loop_that_leaves_its_arrays_is_told_what_to_do():
    with opsdk.REGISTRY.scoped():

        @opsdk.op("t::double(Tensor x) -> Tensor y", nondifferentiable=["y"])
        def double(x):
            return x * 2

        @double.kernel("cpu", language="numba")
        def double_numba(x, y):
            for i in range(x.size + 1):
                y.flat[i] = x.flat[i] * 2

        finding = opsdk.verify(double).findings[0]
    assert finding.check == "bounds"
    assert finding.message.endswith(
        "; compiled it reads or overwrites what lies there: end its loops at the sizes of its arrays"
    )


def planted(define, loop):
    op = define(lambda x: x * x * x, lambda x, dy: 3 * x * x * dy)
    op.kernel("cpu", loop, language="numba")
    return verify(op)


def test_a_loop_one_too_short_is_named_first_and_by_its_cause(define):
    def short(x, y):
        for i in range(x.size - 1):
            y.flat[i] = x.flat[i] ** 3

    finding = planted(define, short).findings[0]
    assert finding.check == "value.y"
    assert "wrong in 1 of 15 elements, first y[2, 4]: this kernel leaves it as the memory was" in finding.message
    assert "a loop that ends one too early" in finding.cause


def test_a_sum_into_memory_that_was_never_cleared_is_found(define):
    def adding(x, y):
        for i in range(x.size):
            y.flat[i] += x.flat[i] ** 3

    finding = planted(define, adding).findings[0]
    assert "wrong in 15 of 15 elements" in finding.message
    assert finding.cause == "elements that no loop of it sets: none writes them, or one adds to what was there"


def test_a_last_element_that_is_a_little_off_is_no_short_loop(define):
    def off(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] ** 3 * (1.01 if i == x.size - 1 and i else 1.0)

    finding = planted(define, off).findings[0]
    assert finding.check == "value.y"
    assert finding.cause is None


def test_a_last_element_of_zero_is_a_short_loop(define):
    def zero(x, y):
        for i in range(x.size):
            y.flat[i] = 0.0 if i == x.size - 1 and i else x.flat[i] ** 3

    assert "a loop that ends one too early" in planted(define, zero).findings[0].cause
