"""Lists of arrays for rows in Numba: a compiler wants one type, a caller does not care how arrays lie in memory."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DTypeError, ShapeError

pytest.importorskip("numba")

X = np.arange(6.0).reshape(2, 3) + 1


def read_only(x):
    x = x.copy()
    x.setflags(write=False)
    return x


def unaligned(x):
    made = np.zeros(x.nbytes + 1, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    made[...] = x
    return made


LAYOUTS = {
    "transposed": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "read-only": read_only,
    "unaligned": unaligned,
    "broadcast": lambda x: np.broadcast_to(x[0], x.shape),
}


def summed(infer=None, **options):
    op = opsdk.op("tests::summed(Tensor[] xs) -> Tensor y", infer=infer)(lambda xs: sum(xs))

    @op.kernel("cpu", language="numba", **options)
    def summed(xs, y):
        for i in range(y.shape[0]):
            for j in range(y.shape[1]):
                y[i, j] = 0
                for x in xs:
                    y[i, j] += x[i, j]

    return op


@pytest.mark.parametrize("word", LAYOUTS)
@pytest.mark.parametrize("infer", [None, opsdk.infer.broadcast])
@pytest.mark.parametrize("options", [{}, {"contiguous": True}])
def test_a_list_may_have_several_layouts(word, infer, options):
    op = summed(infer, **options)
    other = LAYOUTS[word](10 * X)
    for _ in range(2):
        for xs in ([X, other], [other, X], [other, X, other], [other, other]):
            np.testing.assert_array_equal(op(xs), sum(xs))
            np.testing.assert_array_equal(op([opsdk.to_tensor(x) for x in xs]).numpy(), sum(xs))


def test_arrays_that_lie_alike_are_not_copied():
    op = opsdk.op("tests::seen(Tensor[] xs) -> Tensor y")(lambda xs: xs[0].copy())

    @op.kernel("cpu", language="numba")
    def seen_numba(xs):
        return np.full_like(xs[0], xs[0].ctypes.data == xs[1].ctypes.data)

    seen = [op([x, x])[0, 0] for x in (X, np.asfortranarray(X), read_only(X))]
    assert seen == [1, 1, 1]


@pytest.mark.parametrize("dtypes", [("float64", "float32"), ("float64", "float32", "float64")])
def test_floating_dtypes_of_a_list_become_the_widest(dtypes):
    xs = [X.astype(dtype) / 3 for dtype in dtypes]
    for infer in (None, opsdk.infer.broadcast):
        np.testing.assert_array_equal(summed(infer)(xs), sum(xs))
    np.testing.assert_array_equal(summed(opsdk.infer.broadcast)(xs[::-1]), sum(xs[::-1]))


def test_buffers_have_the_dtype_of_the_rule_and_not_that_of_the_widest():
    op = opsdk.op("tests::narrow(Tensor[] xs) -> Tensor y", infer=opsdk.infer.like("xs"))
    op = op(lambda xs: sum(xs).astype(xs[0].dtype))

    @op.kernel("cpu", language="numba")
    def narrow(xs, y):
        for i in range(y.size):
            y.flat[i] = xs[0].flat[i] + xs[1].flat[i]

    made = op([X.astype("float32"), X])
    assert made.dtype == np.float32
    np.testing.assert_array_equal(made, 2 * X)


@pytest.mark.parametrize(("first", "second"), [("float64", "int64"), ("int64", "int32"), ("complex128", "float64")])
def test_dtypes_of_other_kinds_in_a_list_are_refused(first, second):
    expected = (
        rf"op 'tests::summed', numba kernel: expected the tensors of list 'xs' to have one dtype, got xs\[0\] {first}, "
        rf"xs\[2\] {second}; cast them"
    )
    with pytest.raises(DTypeError, match=expected):
        summed(opsdk.infer.broadcast)([X.astype(first), X.astype(first), X.astype(second)])


def test_numbers_of_dimensions_in_a_list_are_one():
    op = opsdk.op("tests::sizes(Tensor[] xs) -> Tensor y", infer=lambda xs: opsdk.TensorSpec((), "float64"))
    op = op(lambda xs: np.float64(sum(x.size for x in xs)))

    @op.kernel("cpu", language="numba")
    def sizes(xs, y):
        y[()] = 0
        for x in xs:
            y[()] += x.size

    expected = r"list 'xs' to have one number of dimensions, got xs\[0\] \(2, 3\), xs\[1\] \(2,\); reshape them"
    with pytest.raises(ShapeError, match=expected):
        op([X, X[:, 0]])


@pytest.mark.parametrize("word", [word for word in LAYOUTS if word not in ("read-only", "broadcast")])
def test_lists_of_several_layouts_are_changed_in_place(word):
    op = opsdk.op("tests::twice_(Tensor(a!)[] xs) -> Tensor(a!)[] ys")(lambda xs: [x.__imul__(2) for x in xs] and None)

    @op.kernel("cpu", language="numba")
    def twice_(xs):
        for x in xs:
            for i in range(x.shape[0]):
                for j in range(x.shape[1]):
                    x[i, j] *= 2

    a, b = X.copy(), LAYOUTS[word](X.copy())
    for _ in range(2):
        op([a, b])
    np.testing.assert_array_equal(a, 4 * X)
    np.testing.assert_array_equal(b, 4 * X)
    with pytest.raises(DTypeError, match="to have one dtype, since it is changed in place, got xs"):
        op([a, X.astype("float32")])
    np.testing.assert_array_equal(a, 4 * X)


def test_an_empty_list_can_be_measured_and_looped_over():
    op = opsdk.op("tests::plus(Tensor x, Tensor[] ws) -> Tensor y", infer=opsdk.infer.like("x"))
    op = op(lambda x, ws: x + sum(ws))

    @op.kernel("cpu", language="numba")
    def plus(x, ws, y):
        for i in range(x.shape[0]):
            for j in range(x.shape[1]):
                y[i, j] = x[i, j] + len(ws)
                for w in ws:
                    y[i, j] += w[i, j] - 1

    for _ in range(2):
        np.testing.assert_array_equal(op(X, []), X)
        np.testing.assert_array_equal(op(X, [X, np.asfortranarray(X)]), 3 * X)


def test_gradients_of_lists_of_several_layouts():
    op = opsdk.op("tests::squared(Tensor[] xs) -> Tensor y", infer=opsdk.infer.broadcast)(
        lambda xs: sum(x * x for x in xs)
    )
    gradient = op.backward(lambda xs, dy: [2 * x * dy for x in xs])

    @gradient.kernel("cpu", language="numba")
    def squared_grad(xs, dy):
        return [2 * x * dy for x in xs]

    narrow = np.asfortranarray(X[:1].astype("float32"))
    for _ in range(2):
        a, b, c = (opsdk.to_tensor(x, stop_gradient=False) for x in (X, np.asfortranarray(X), narrow))
        op([a, b, c]).sum().backward()
        for t in (a, b):
            np.testing.assert_array_equal(t.grad.numpy(), 2 * X)
        assert c.grad.numpy().dtype == np.float32
        np.testing.assert_array_equal(c.grad.numpy(), 4 * X[:1])


def test_cotangents_of_a_list_are_of_the_shape_of_its_outputs():
    op = opsdk.op("tests::halves(Tensor x) -> Tensor[] ys", infer=lambda x: [x, x])(lambda x: [x / 2, x / 2])
    gradient = op.backward(lambda x, dys: (dys[0] + dys[1]) / 2)

    @gradient.kernel("cpu", language="numba")
    def halves_grad(x, dys):
        dx = np.empty_like(x)
        for i in range(x.size):
            dx.flat[i] = (dys[0].flat[i] + dys[1].flat[i]) / 2
        return dx

    np.testing.assert_array_equal(gradient(X, [X, np.asfortranarray(X)]), X)
    with pytest.raises(ShapeError, match=r"expected dys\[1\] of the shape of ys\[1\], \(2, 3\), got \(1, 3\)"):
        gradient(X, [X, X[:1]])
    with pytest.raises(opsdk.errors.ArityError, match="expected dys of the length of ys, 2, got 1"):
        gradient(X, [X])
    with pytest.raises(DTypeError, match=r"expected dys\[1\] of a floating dtype, got int64; cast it"):
        gradient(X, [X, np.ones((2, 3), int)])


def test_a_gradient_that_is_a_list_is_returned_and_not_filled():
    op = opsdk.op("t::total(Tensor[] xs) -> Tensor y", infer=lambda xs: xs[0])(lambda xs: sum(xs))
    op.backward(lambda xs, dy: [dy.copy() for _ in xs])

    @op.grad.kernel("cpu", language="numba")
    def filling(xs, dy, dxs):
        dxs[0][0] = dy[0]

    x = opsdk.to_tensor(np.ones(2), stop_gradient=False)
    with pytest.raises(ShapeError, match=r"output 'dxs': expected a shape .* let the kernel return the list of arrays"):
        op([x, x]).sum().backward()
