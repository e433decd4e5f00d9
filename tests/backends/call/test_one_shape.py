"""Inputs of compiled kernels: a loop over elements must never read beyond its arrays."""

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
        expected = rf"op 'tests::hinge', compiled kernel: expected inputs of one shape, .* got {text}; declare infer="
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


# Kernels in three languages, each compiled twice; rules that come before stand for it.
@pytest.mark.slow
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


# Lists: what is said of inputs holds for the tensors in lists.

WHOLE = np.arange(6.0).reshape(2, 3) + 1
MEMORY = np.array([[10.0, 20.0, 30.0], [1e6, 2e6, 3e6]])  # behind the first row lies what nobody may add
ROW = MEMORY[:1]

C_TOTAL = """
int32_t total_f64(const DLTensor *const *xs, int64_t xs_len, DLTensor *y) {
  for (int64_t i = 0; i < opsdk_size(y); ++i) {
    double s = 0;
    for (int64_t k = 0; k < xs_len; ++k) s += OPSDK_DATA(const double, xs[k])[i];
    OPSDK_DATA(double, y)[i] = s;
  }
  return 0;
}
"""
C_TOTAL_GRAD = """
int32_t total_grad_f64(const DLTensor *const *xs, int64_t xs_len, const DLTensor *dy,
                       DLTensor *const *dxs, int64_t dxs_len) {
  for (int64_t k = 0; k < dxs_len; ++k)
    for (int64_t i = 0; i < opsdk_size(dy); ++i)
      OPSDK_DATA(double, dxs[k])[i] = 2 * OPSDK_DATA(const double, xs[k])[i] * OPSDK_DATA(const double, dy)[i];
  return 0;
}
"""


def total_loop(xs, y):
    for i in range(y.size):
        y.flat[i] = 0
        for x in xs:
            y.flat[i] += x.flat[i]


def total_returned(xs):
    y = np.zeros_like(xs[0])
    for x in xs:
        for i in range(y.size):
            y.flat[i] += x.flat[i]
    return y


def total_parallel():
    prange = pytest.importorskip("numba").prange

    def total_parallel(xs, y):
        for i in prange(y.size):
            s = 0.0
            for k in range(len(xs)):
                s += xs[k].flat[i]
            y.flat[i] = s

    return total_parallel


def total(row, infer=None):
    op = opsdk.op("tests::total(Tensor[] xs) -> Tensor y", infer=infer)(lambda xs: sum(xs))
    if row == "c":
        op.kernel("cpu", language="c", dtype="float64", source=C_TOTAL)
    else:
        options = {row: True} if row in ("parallel", "contiguous") else {}
        function = {"functional": total_returned, "parallel": total_parallel()}.get(row, total_loop)
        op.kernel("cpu", language="numba", **options)(function)
    return op


LISTED = (*ROWS, "parallel", "contiguous")


@pytest.mark.parametrize("row", LISTED)
def test_without_a_rule_the_tensors_of_a_list_are_of_one_shape(row):
    op = total(row)
    expected = r"total', compiled kernel: expected inputs of one shape, .* got xs\[0\] \(2, 3\), xs\[2\] \(1, 3\)"
    for _ in range(2):
        np.testing.assert_array_equal(op([WHOLE, WHOLE, WHOLE]), 3 * WHOLE)
        with pytest.raises(ShapeError, match=expected):
            op([WHOLE, WHOLE, ROW])
        with pytest.raises(ShapeError, match=expected):
            op([opsdk.to_tensor(WHOLE), WHOLE, ROW])


@pytest.mark.parametrize("row", LISTED)
@pytest.mark.parametrize("small", [ROW, MEMORY[0], np.array(7.0), np.ones((2, 1))])
def test_under_broadcast_the_tensors_of_a_list_are_broadcast(row, small):
    op = total(row, opsdk.infer.broadcast)
    for _ in range(2):
        for xs in ([WHOLE, small], [small, WHOLE], [small, small, WHOLE]):
            np.testing.assert_array_equal(op(xs), np.sum(np.broadcast_arrays(*xs), axis=0))
            np.testing.assert_array_equal(op([opsdk.to_tensor(xs[0]), *xs[1:]]).numpy(), op(xs))


@pytest.mark.parametrize("row", LISTED)
def test_lists_of_arrays_without_axes_are_taken(row):
    assert total(row)([np.array(2.0), np.array(3.0)]) == 5


@pytest.mark.parametrize("row", ROWS)
def test_a_program_holds_lists_to_one_shape_and_broadcasts_them(row):
    for infer in (None, opsdk.infer.broadcast):
        op = total(row, infer)
        main = opsdk.static.Program()
        with opsdk.static.program_guard(main):
            y = op([opsdk.static.data("a", [2, 3], "float64"), opsdk.static.data("b", [1, 3], "float64")])
        run = opsdk.static.Executor(opsdk.CPUPlace()).run
        if infer is None:
            with pytest.raises(ShapeError, match=r"got xs\[0\] \(2, 3\), xs\[1\] \(1, 3\)"):
                run(main, feed={"a": WHOLE, "b": ROW}, fetch_list=[y])
        else:
            np.testing.assert_array_equal(run(main, feed={"a": WHOLE, "b": ROW}, fetch_list=[y])[0], WHOLE + ROW)


def test_two_lists_and_a_tensor_are_of_one_shape():
    op = opsdk.op("tests::both(Tensor[] a, Tensor x, Tensor[] b) -> Tensor y")(lambda a, x, b: sum(a) + x + sum(b))

    @op.kernel("cpu", language="numba")
    def both(a, x, b, y):
        for i in range(y.size):
            y.flat[i] = x.flat[i]
            for t in a:
                y.flat[i] += t.flat[i]
            for t in b:
                y.flat[i] += t.flat[i]

    np.testing.assert_array_equal(op([WHOLE], WHOLE, [WHOLE, WHOLE]), 4 * WHOLE)
    with pytest.raises(ShapeError, match=r"got a\[0\] \(2, 3\), b\[1\] \(1, 3\)"):
        op([WHOLE], WHOLE, [WHOLE, ROW])
    with pytest.raises(ShapeError, match=r"got a\[0\] \(2, 3\), x \(1, 3\)"):
        op([WHOLE], ROW, [WHOLE, WHOLE])


def test_inputs_behind_an_absent_one_are_of_one_shape_too():
    op = opsdk.op("tests::behind(Tensor? w, Tensor x, Tensor z) -> Tensor y", infer=None)(
        lambda w, x, z: x + z if w is None else w + x + z
    )

    @op.kernel("cpu", language="numba")
    def behind(w, x, z, y):
        for i in range(y.size):
            y.flat[i] = x.flat[i] + z.flat[i]

    with pytest.raises(ShapeError, match=r"got x \(2, 3\), z \(1, 3\)"):
        op(None, WHOLE, ROW)


def squares(row, infer):
    op = opsdk.op("tests::total(Tensor[] xs) -> Tensor y", infer=infer)(lambda xs: sum(x * x for x in xs))
    gradient = op.backward(name="total_grad")(lambda xs, dy: [2 * x * dy for x in xs])
    if row == "c":
        gradient.kernel("cpu", language="c", dtype="float64", source=C_TOTAL_GRAD)
    else:

        @gradient.kernel("cpu", language="numba")
        def total_grad(xs, dy):
            return [2 * x * dy for x in xs]

    return op


@pytest.mark.parametrize("row", ["c", "numba"])
def test_under_broadcast_gradients_of_a_list_are_whole_and_are_summed(row):
    op = squares(row, opsdk.infer.broadcast)
    for _ in range(2):
        a, b = (opsdk.to_tensor(x.copy(), stop_gradient=False) for x in (WHOLE, ROW))
        dy = np.arange(6.0).reshape(2, 3) + 1
        op([a, b]).backward(opsdk.to_tensor(dy))
        np.testing.assert_array_equal(a.grad.numpy(), 2 * WHOLE * dy)
        np.testing.assert_array_equal(b.grad.numpy(), (2 * ROW * dy).sum(axis=0, keepdims=True))
    main = opsdk.static.Program()
    with opsdk.static.program_guard(main):
        xs = [opsdk.static.data(name, list(x.shape), "float64") for name, x in (("a", WHOLE), ("b", ROW))]
        for x in xs:
            x.stop_gradient = False
        made = opsdk.static.gradients([op(xs)], xs)
    got = opsdk.static.Executor(opsdk.CPUPlace()).run(main, feed={"a": WHOLE, "b": ROW}, fetch_list=made)
    np.testing.assert_array_equal(got[0], 2 * WHOLE)
    np.testing.assert_array_equal(got[1], 4 * ROW)


@pytest.mark.parametrize("row", ["c", "numba"])
def test_without_a_rule_cotangents_are_of_the_shape_of_the_list(row):
    gradient = squares(row, None).grad
    for got in gradient([WHOLE, WHOLE], WHOLE):
        np.testing.assert_array_equal(got, 2 * WHOLE * WHOLE)
    for xs, dy in (([WHOLE, WHOLE], ROW), ([WHOLE, ROW], WHOLE)):
        with pytest.raises(ShapeError, match=r"expected cotangents of the shape of the inputs, got xs\[0\] \(2, 3\), "):
            gradient(xs, dy)


def test_a_list_that_is_changed_in_place_is_not_broadcast():
    op = opsdk.op("tests::add_each(Tensor(a!)[] xs, Tensor w) -> Tensor(a!)[] ys", infer=opsdk.infer.broadcast)
    op = op(lambda xs, w: [x.__iadd__(w) for x in xs] and None)

    @op.kernel("cpu", language="numba")
    def add_each(xs, w):
        for x in xs:
            for i in range(x.size):
                x.flat[i] += w.flat[i]

    a, b = WHOLE.copy(), 2 * WHOLE
    op([a, b], ROW)
    np.testing.assert_array_equal(a, WHOLE + ROW)
    np.testing.assert_array_equal(b, 2 * WHOLE + ROW)
    with pytest.raises(ShapeError, match=r"'xs\[1\]' is changed in place, expected it .*, \(2, 3\), got \(1, 3\)"):
        op([a, ROW.copy()], WHOLE)
    np.testing.assert_array_equal(a, WHOLE + ROW)


def test_a_rule_of_the_ops_own_leaves_the_shapes_of_a_list_to_the_row():
    op = opsdk.op("tests::joined(Tensor[] xs) -> Tensor y", infer=lambda xs: opsdk.TensorSpec((None,), xs[0].dtype))
    op = op(lambda xs: np.concatenate(xs))

    @op.kernel("cpu", language="numba")
    def joined(xs):
        y = np.empty(sum([x.size for x in xs]), xs[0].dtype)
        k = 0
        for x in xs:
            for v in x:
                y[k] = v
                k += 1
        return y

    np.testing.assert_array_equal(op([np.ones(2), np.zeros(3)]), [1, 1, 0, 0, 0])


ADD_C = """
int32_t add__f64(DLTensor *x, const DLTensor *w) {
  for (int64_t i = 0; i < opsdk_size(x); ++i) OPSDK_DATA(double, x)[i] += OPSDK_DATA(const double, w)[i];
  return 0;
}
"""


def add_to(x, w):
    for i in range(x.size):
        x.flat[i] += w.flat[i]


def add_each(xs, w):
    for x in xs:
        for i in range(x.size):
            x.flat[i] += w.flat[i]


def in_place(row, schema="tests::add_(Tensor(a!) x, Tensor w) -> Tensor(a!) y", **options):
    def reference(x, w):
        x += w

    op = opsdk.op(schema, **options)(reference)
    if row == "c":
        op.kernel("cpu", language="c", dtype="float64", source=ADD_C)
    else:
        op.kernel("cpu", row, language="numba")
    return op


@pytest.mark.parametrize("row", ["c", add_to], ids=["c", "numba"])
@pytest.mark.parametrize("w", [np.ones(1), np.ones(3), np.ones((2, 4)), np.array(0.7)], ids=lambda w: str(w.shape))
def test_a_row_that_changes_an_input_in_place_reads_no_other_shape(row, w):
    pytest.importorskip("numba")
    for returns in ("Tensor(a!) y", "()"):
        op = in_place(row, f"tests::add_(Tensor(a!) x, Tensor w) -> {returns}", replace=True)
        x = np.arange(4.0)
        for first in (None, np.ones(4)):
            if first is not None:
                op(x, first)
            before = x.copy()
            with pytest.raises(ShapeError, match=r"compiled kernel: expected inputs of one shape.* got x \(4,\), w"):
                op(x, w)
            assert np.array_equal(x, before)


def test_a_list_that_is_changed_in_place_is_of_one_shape_with_the_rest():
    pytest.importorskip("numba")
    op = opsdk.op("tests::add_each_(Tensor(a!)[] xs, Tensor w) -> Tensor(a!)[] ys")(lambda xs, w: None)
    op.kernel("cpu", add_each, language="numba")
    with pytest.raises(ShapeError, match=r"got xs\[0\] \(4,\), w \(3,\)"):
        op([np.zeros(4), np.zeros(4)], np.ones(3))


def test_a_rule_of_ones_own_lets_a_row_change_an_input_by_one_of_another_shape():
    pytest.importorskip("numba")

    def scatter(x, w):
        x[0] += w[0]

    op = opsdk.op("tests::scatter_(Tensor(a!) x, Tensor w) -> ()", infer=opsdk.infer.like("x"))(scatter)
    op.kernel("cpu", scatter, language="numba")
    x = np.zeros(4)
    op(x, np.ones(1))
    assert x.tolist() == [1, 0, 0, 0]


@pytest.mark.parametrize("row", [None, "c", add_to], ids=["python", "c", "numba"])
def test_a_rule_is_asked_before_anything_is_changed(row):
    if row is not None:
        pytest.importorskip("numba")
    op = in_place(row) if row is not None else opsdk.op("tests::add_(Tensor(a!) x, Tensor w) -> Tensor(a!) y")(add_to)

    @op.infer
    def alike(x, w):
        if x.shape != w.shape:
            raise ShapeError("x and w differ")
        return x

    x = np.zeros(4)
    op(x, np.ones(4))
    for _ in range(2):
        with pytest.raises(ShapeError, match="x and w differ"):
            op(x, np.ones(1))
    assert x.tolist() == [1, 1, 1, 1]


def test_a_rule_is_asked_before_a_row_that_returns_its_result_reads():
    pytest.importorskip("numba")
    reached = []
    op = opsdk.op("tests::product(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x * w)

    @op.infer
    def alike(x, w):
        reached.append(w.shape)
        if x.shape != w.shape:
            raise ShapeError("x and w differ")
        return x

    @op.kernel("cpu", language="numba")
    def product(x, w):
        y = np.empty_like(x)
        for i in range(x.size):
            y[i] = x[i] * w[i]
        return y

    assert op(np.ones(4), np.full(4, 2.0)).tolist() == [2, 2, 2, 2]
    del reached[:]
    for _ in range(2):
        with pytest.raises(ShapeError, match="x and w differ"):
            op(np.ones(4), np.ones(1))
    assert reached[:1] == [(1,)]


GRADIENT_C = """
int32_t plus_grad_f64(const DLTensor *dy, DLTensor *dx, DLTensor *dw) {
  for (int64_t i = 0; i < opsdk_size(dy); ++i)
    OPSDK_DATA(double, dx)[i] = OPSDK_DATA(double, dw)[i] = OPSDK_DATA(const double, dy)[i];
  return 0;
}
"""


def gradient_buffers(dy, dx, dw):
    for i in range(dw.size):
        dx.flat[i] = dw.flat[i] = dy.flat[i]


@pytest.mark.parametrize("row", ["c", "numba"])
def test_a_gradient_is_no_smaller_than_its_cotangent_where_the_op_has_no_rule(row):
    pytest.importorskip("numba")
    op = opsdk.op("tests::plus(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x + w)
    op.backward(lambda dy: (dy, dy.copy()))
    if row == "c":
        op.grad.kernel("cpu", language="c", dtype="float64", source=GRADIENT_C)
    else:
        op.grad.kernel("cpu", gradient_buffers, language="numba")
    refused = (
        r"compiled kernel: expected gradients of the shape of the cotangents, since 'tests::plus' has no infer rule, "
        r"got dy \(4,\), dw \(1,\); declare infer="
    )
    for shape in ((4,), (1,), (1,)):
        x, w = (opsdk.to_tensor(np.ones(each), stop_gradient=False) for each in ((4,), shape))
        if shape == (4,):
            op(x, w).sum().backward()
            assert w.grad.tolist() == [1, 1, 1, 1]
            continue
        with pytest.raises(ShapeError, match=refused):
            op(x, w).sum().backward()
    with pytest.raises(ShapeError, match=refused):
        op.grad(np.ones(4), w_spec=opsdk.TensorSpec((1,), "float64"))
