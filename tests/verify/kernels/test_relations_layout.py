"""Kernels see inputs that are not contiguous."""

import numpy as np
import pytest

import opsdk
from opsdk.verify import verify
from opsdk.verify.inputs.calls import alike
from opsdk.verify.kernels.relations import LAYOUTS


@pytest.mark.parametrize("word", LAYOUTS)
def test_a_copy_lies_in_memory_as_its_original(word):
    array = LAYOUTS[word](np.arange(15.0).reshape(3, 5))
    copy = alike(array)
    assert copy.strides == array.strides
    assert copy.flags.aligned
    assert not np.may_share_memory(copy, array)
    np.testing.assert_array_equal(copy, array)


def test_a_copy_of_a_broadcast_view_is_one_too():
    assert alike(np.broadcast_to(1.5, (3, 5))).strides == (0, 0)


def test_an_unaligned_array_has_an_unaligned_copy():
    array = np.zeros(41, np.uint8)[1:].view(np.float64)
    assert not alike(array).flags.aligned


def test_a_backward_that_looks_at_the_layout_fails(define):
    def backward(x, dy):
        gradient = 2 * x * dy
        return gradient if x.flags.c_contiguous else 2 * gradient

    report = verify(define(lambda x: x * x, backward))
    assert report.verdict == "fail"
    assert "expected what contiguous" in report.findings[0].message


def test_a_backward_that_looks_at_the_layout_of_the_cotangent_fails(define):
    report = verify(define(lambda x: x * x, lambda x, dy: 2 * x * (dy if dy.flags.c_contiguous else 2 * dy)))
    assert report.verdict == "fail"


def test_a_forward_that_looks_at_the_layout_fails(define):
    report = verify(define(lambda x: x * x if x.flags.c_contiguous else x + x))
    assert {"layout.y"} == {finding.check for finding in report.findings}
    assert "got other values for transposed inputs in memory" in report.findings[0].message


def test_a_forward_that_refuses_a_layout_fails(define):
    def picky(x):
        if x.size and not x.flags.c_contiguous:
            raise ValueError("contiguous, please")
        return 2 * x

    assert "expected to accept transposed inputs" in verify(define(picky)).findings[0].message


def test_a_numba_row_that_steps_through_memory_fails(define):
    pytest.importorskip("numba")
    op = define(lambda x: x + 1)

    @op.kernel("cpu", language="numba")
    def by_memory(x, y):
        flat = x.T.copy().ravel() if x.strides[0] < x.strides[x.ndim - 1] else x.copy().ravel()
        for i in range(x.size):
            y.flat[i] = flat[i] + 1

    report = verify(op, samples=[__import__("opsdk").Sample(np.arange(15.0).reshape(3, 5))])
    assert "layout.y" in {finding.check for finding in report.findings}


def test_a_row_that_looks_at_the_layout_of_one_tensor_of_a_list_fails():
    def mixed(xs):
        same = xs[0].flags.c_contiguous == xs[1].flags.c_contiguous
        return xs[0] + xs[1] if same else xs[0] - xs[1]

    report = verify(opsdk.op("tests::mixed(Tensor[] xs) -> Tensor y")(mixed))
    assert {"layout.y"} == {finding.check for finding in report.findings}
    assert "got other values for transposed inputs beside contiguous ones" in report.findings[0].message


def test_a_row_that_refuses_a_list_of_several_layouts_fails():
    def picky(xs):
        if len({x.flags.c_contiguous for x in xs}) > 1:
            raise TypeError("can't unbox heterogeneous list")
        return xs[0] + xs[1]

    report = verify(opsdk.op("tests::picky(Tensor[] xs) -> Tensor y")(picky))
    expected = "expected to accept transposed inputs beside contiguous ones, raised TypeError: can't unbox"
    assert expected in report.findings[0].message


@pytest.mark.parametrize("infer", [None, opsdk.infer.broadcast])
def test_a_numba_row_of_a_list_passes(infer):
    pytest.importorskip("numba")
    op = opsdk.op("tests::total(Tensor[] xs) -> Tensor y", infer=infer)(lambda xs: sum(xs))
    op.backward(lambda xs, dy: [dy.copy() for x in xs])

    @op.kernel("cpu", language="numba")
    def total(xs, y):
        for i in range(y.size):
            y.flat[i] = 0
            for x in xs:
                y.flat[i] += x.flat[i]

    report = verify(op)
    assert report.verdict == "pass", str(report)


def define_step(change):
    @opsdk.op(
        "layouts::step_(Tensor(a!) x, Tensor(b!) n, Tensor g) -> Tensor(a!) y", nondifferentiable=["x", "n", "g", "y"]
    )
    def step_(x, n, g):
        change(x, g)
        n += 1

    return step_


def by_memory(x, g):
    flat, other = (np.ndarray(a.size, a.dtype, a) if a.flags.forc else a.reshape(-1) for a in (x, g))
    flat -= other


@pytest.mark.parametrize("change", [lambda x, g: np.subtract(x, g, out=x), by_memory], ids=["element", "memory"])
def test_what_is_changed_is_held_to_what_contiguous_inputs_become(change):
    found = {finding.check for finding in opsdk.verify(define_step(change)).findings}
    assert found == (set() if change is not by_memory else {"layout.y"})
