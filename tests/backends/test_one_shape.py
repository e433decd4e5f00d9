"""Inputs of compiled rows: a loop over elements must never read beyond its arrays."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import KernelNotFoundError, ShapeError

C = """
int32_t hinge_f64(const DLTensor *s, const DLTensor *t, DLTensor *y) {
  const double *a = OPSDK_DATA(const double, s), *b = OPSDK_DATA(const double, t);
  double *out = OPSDK_DATA(double, y);
  for (int64_t i = 0; i < opsdk_size(y); ++i) out[i] = a[i] * b[i];
  return 0;
}
"""


def loop(s, t, y):
    for i in range(y.size):
        y.flat[i] = s.flat[i] * t.flat[i]


def functional(s, t):
    y = np.empty_like(s)
    for i in range(s.size):
        y.flat[i] = s.flat[i] * t.flat[i]
    return y


def gradient_loop(s, t, dy, ds, dt):
    for i in range(dy.size):
        ds.flat[i] = t.flat[i] * dy.flat[i]
        dt.flat[i] = s.flat[i] * dy.flat[i]


def hinge(row, infer=None):
    @opsdk.op(namespace="tests", infer=infer)
    def hinge(s, t):
        return s * t

    @hinge.backward
    def hinge_grad(s, t, dy):
        return t * dy, s * dy

    if row == "c":
        hinge.kernel("cpu", language="c", dtype="float64", source=C)
    else:
        hinge.kernel("cpu", language="numba")({"numba": loop, "functional": functional}[row])
    hinge.grad.kernel("cpu", language="numba")(gradient_loop)
    return hinge


ROWS = ("c", "numba", "functional")
LARGE, SMALL = np.arange(12.0).reshape(3, 4) + 1, np.arange(4.0) - 2


@pytest.mark.parametrize("row", ROWS)
def test_an_op_without_a_rule_takes_inputs_of_one_shape_only(row):
    op = hinge(row)
    assert np.array_equal(op(LARGE, LARGE), LARGE * LARGE)
    for s, t, text in ((LARGE, SMALL, r"s \(3, 4\), t \(4,\)"), (SMALL, LARGE, r"s \(4,\), t \(3, 4\)")):
        expected = rf"op 'tests::hinge', compiled row: expected inputs of one shape, .* got {text}; declare infer="
        with pytest.raises(ShapeError, match=expected):
            op(s, t)
    assert np.array_equal(op(LARGE, LARGE), LARGE * LARGE)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize(("s", "t"), [(LARGE, SMALL), (SMALL, LARGE), (LARGE[:, :1], SMALL), (LARGE, np.array(3.0))])
def test_under_broadcast_rows_get_whole_arrays_and_gradients_are_summed(row, s, t):
    op = hinge(row, opsdk.infer.broadcast)
    for _ in range(2):
        a, b = opsdk.to_tensor(s, stop_gradient=False), opsdk.to_tensor(t, stop_gradient=False)
        y = op(a, b)
        assert np.array_equal(y.numpy(), s * t)
        dy = np.arange(y.numpy().size, dtype=float).reshape(y.shape)
        ds, dt = opsdk.grad(y, [a, b], grad_outputs=[opsdk.to_tensor(dy)])
        for got, like, partial in ((ds, s, t), (dt, t, s)):
            whole = partial * dy
            extra = tuple(range(whole.ndim - like.ndim))
            ones = tuple(i + len(extra) for i, size in enumerate(like.shape) if size == 1)
            want = whole.sum(axis=extra).sum(axis=tuple(i - len(extra) for i in ones), keepdims=True)
            np.testing.assert_allclose(got.numpy(), want.reshape(like.shape), rtol=1e-15)


def test_a_rule_of_the_ops_own_leaves_shapes_to_the_row():
    @opsdk.op(namespace="tests", infer=opsdk.infer.like("x"))
    def by_column(x, w):
        return x * w

    @by_column.kernel("cpu", language="numba")
    def by_column_numba(x, w, y):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] * w[j]

    assert np.array_equal(by_column(LARGE, SMALL), LARGE * SMALL)


def test_a_rule_that_comes_after_the_backward_is_the_gradients_too():
    op = hinge("numba")
    op.infer(opsdk.infer.broadcast)
    a, b = opsdk.to_tensor(LARGE, stop_gradient=False), opsdk.to_tensor(SMALL, stop_gradient=False)
    op(a, b).sum().backward()
    assert np.array_equal(b.grad.numpy(), LARGE.sum(axis=0))
    report = opsdk.verify(op)
    assert report.verdict == "pass", str(report)


def test_what_is_changed_in_place_is_not_broadcast():
    @opsdk.op("tests::add_to(Tensor(a!) x, Tensor y) -> Tensor(a!) out", infer=opsdk.infer.broadcast)
    def add_to(x, y):
        x += y
        return x

    @add_to.kernel("cpu", language="numba")
    def add_to_numba(x, y):
        for i in range(x.size):
            x.flat[i] += y.flat[i]

    x = LARGE.copy()
    add_to(x, SMALL)
    assert np.array_equal(x, LARGE + SMALL)
    with pytest.raises(ShapeError, match=r"input 'x' is changed in place, expected it .* to, \(3, 4\), got \(4,\)"):
        add_to(SMALL.copy(), LARGE)


def test_a_native_entry_is_for_inputs_of_one_shape_too():
    op = hinge("numba", opsdk.infer.broadcast)
    assert opsdk.native(op, LARGE, LARGE).kind == "call"
    with pytest.raises(ShapeError, match=r"'tests::hinge': native entry expected inputs of one shape, got \(3, 4\)"):
        opsdk.native(op, LARGE, SMALL)


@pytest.mark.parametrize("infer", [None, opsdk.infer.broadcast])
@pytest.mark.parametrize("dtype", ["int64", "int16", "bool"])
def test_a_c_row_takes_inputs_of_one_dtype(infer, dtype):
    op = hinge("c", infer)
    op(LARGE, LARGE)
    for other in (np.ones((3, 4), dtype), opsdk.to_tensor(np.ones((3, 4), dtype))):
        with pytest.raises(KernelNotFoundError, match=rf"input 't' expected float64 like 's', got {dtype}; cast"):
            op(opsdk.to_tensor(LARGE) if isinstance(other, opsdk.Tensor) else LARGE, other)


def test_a_gradient_op_names_cotangents_that_differ():
    pytest.importorskip("numba")
    op = opsdk.op("tests::twice(Tensor x) -> Tensor y")(lambda x: 2 * x)
    gradient = op.backward(lambda x, dy: 2 * dy)

    @gradient.kernel("cpu", language="numba")
    def twice(x, dy, dx):
        for i in range(x.size):
            dx.flat[i] = 2 * dy.flat[i]

    expected = r"expected cotangents of the shape of the inputs, got x \(2, 3\), dy \(3, 3\); reshape what differs"
    with pytest.raises(ShapeError, match=f"op 'tests::twice_grad': {expected}"):
        gradient(np.ones((2, 3)), np.ones((3, 3)))
