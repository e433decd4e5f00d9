"""What the tape keeps for a backward and nobody else sees: residuals, and specs in the place of arrays."""

import gc
import math
import weakref
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import (
    AliasError,
    ArityError,
    DefinitionError,
    DerivativeOrderError,
    GraphError,
    ReturnError,
    ShapeError,
)

A, B = np.array([[2.0, 1.0], [0.0, 4.0]]), np.array([4.0, 8.0])  # A⁻¹ B = [1, 2]


class Factor:
    """A factorisation: its inverse, made once."""

    count = 0

    def __init__(self, a):
        Factor.count += 1
        self.inverse = np.linalg.inv(a)


class Holder:
    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array


def solve_op(kept=Factor, name="solve", residuals="object lu", **rule):
    @opsdk.op(f"t::{name}(Tensor a, Tensor b) -> Tensor x, residuals ({residuals})", infer=opsdk.infer.like("b"))
    def solve(a, b):
        lu = kept(a)
        return np.linalg.solve(a, b), lu

    @solve.backward(**rule)
    def solve_grad(a, b, x, lu, dx):
        db = lu.inverse.T @ dx
        return -np.outer(db, x), db

    return solve


def tensors():
    return opsdk.to_tensor(A, stop_gradient=False), opsdk.to_tensor(B, stop_gradient=False)


def test_the_backward_reads_what_the_forward_made_once():
    solve, (a, b) = solve_op(), tensors()
    Factor.count = 0
    solve(a, b).sum().backward()
    assert Factor.count == 1
    np.testing.assert_allclose(b.grad.numpy(), [0.5, 0.125])  # A⁻ᵀ [1, 1]
    np.testing.assert_allclose(a.grad.numpy(), [[-0.5, -1.0], [-0.125, -0.25]])


def test_a_residual_is_freed_with_the_graph_or_never_kept():
    held = []

    def kept(a):
        made = Factor(a)
        held.append(weakref.ref(made))
        return made

    solve, (a, b) = solve_op(kept), tensors()
    x = solve(a, b)
    gc.collect()
    assert held[-1]() is not None
    x.backward(retain_graph=True)
    assert held[-1]() is not None
    x.backward()
    assert held[-1]() is None
    with pytest.raises(GraphError, match="was freed by an earlier backward"):
        x.backward()
    with opsdk.no_grad():
        solve(a, b)
    solve(A, B)
    assert [ref() for ref in held] == [None] * len(held)


def test_a_residual_array_belongs_to_the_call():
    buffer = np.zeros(2)

    @opsdk.op(name="twice", namespace="t", residuals=["kept"])
    def twice(x):
        buffer[...] = x  # which the author fills anew in each call
        return x * x, buffer

    @twice.backward
    def twice_grad(kept, dy):
        return 2 * kept * dy

    x, z = (opsdk.to_tensor(v, stop_gradient=False) for v in (B, 3 * B))
    y = twice(x)
    twice(z)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [8.0, 16.0])


@pytest.mark.parametrize(
    ("kept", "error", "words"),
    [
        (lambda a: None, ReturnError, r"residual 'lu': expected an object, got nothing \(None\)"),
        (lambda a: (a, 1), AliasError, "expected arrays of its own, got one that shares memory with input 'a'"),
        (lambda a: {"f": [a[:1]]}, AliasError, "name 'a' in the backward, or copy it"),
        (lambda a: SimpleNamespace(parts=[Holder(a.T)]), AliasError, "residual 'lu': .* memory with input 'a'"),
        (lambda a: lambda db: a.T @ db, AliasError, "residual 'lu': .* memory with input 'a'"),
        (lambda a: partial(np.matmul, a), AliasError, "residual 'lu': .* memory with input 'a'"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(kept, error, words):
    with pytest.raises(error, match=words):
        solve_op(lambda a: kept(a) or None)(*tensors())


@pytest.mark.parametrize("made", [lambda x: x, lambda x: (x, x, x)])
def test_a_residual_that_does_not_come_is_missed_by_name(made):
    op = opsdk.op(name="f", namespace="t", residuals=["mask"])(made)
    with pytest.raises(ArityError, match=r"expected 2 outputs \(y, residual mask\), got"):
        op(np.ones(2))


def test_a_residual_array_is_an_array_of_its_own():
    give = [None]
    op = opsdk.op(name="f", namespace="t", residuals=["kept"])(lambda x: (x * 2, give[0] or x))
    with pytest.raises(AliasError, match="residual 'kept': expected a new array, got input 'x' itself; name 'x' in"):
        op(np.ones(2))
    give[0] = "text"
    with pytest.raises(ReturnError, match=r"residual 'kept': expected an? .*array, got str"):
        op(np.ones(2))


def test_a_derivative_through_a_residual_is_refused_with_the_remedy():
    solve, (a, b) = solve_op(name="once"), tensors()
    with pytest.raises(DerivativeOrderError, match="reads the residual 'lu', and opsdk cannot see how that depends"):
        opsdk.grad(solve(a, b).sum(), b, create_graph=True)


def test_so_is_one_of_a_composite_that_reads_a_residual():
    @opsdk.op(name="mirrored", namespace="t", residuals=["kept"])
    def mirrored(x):
        return A.T @ A @ x, A.T @ A

    @mirrored.backward(composite=True)
    def mirrored_grad(kept, dy):
        return opsdk.matmul(kept, dy)

    x = opsdk.to_tensor(B, stop_gradient=False)
    mirrored(x).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [6.0, 19.0])  # the sums of the columns of AᵀA
    with pytest.raises(DerivativeOrderError, match="make 'kept' an output, or give it a backward"):
        opsdk.grad(mirrored(x).sum(), x, create_graph=True)


def test_one_of_integers_depends_on_no_input_so_that_none_has_to_be_read_for_it():
    @opsdk.op("t::sorted(Tensor x) -> Tensor y, residuals (Tensor<int> order)")
    def ascending(x):
        return np.sort(x), x.argsort()

    ascending.infer(lambda x: (x, opsdk.TensorSpec(x.shape, "int64")))

    @ascending.backward
    def ascending_grad(order, dy):
        return opsdk.sum_at(dy, order, len(order))

    @ascending_grad.backward
    def ascending_grad_grad(order, ddx):
        return ddx[order]

    x, dy = opsdk.to_tensor([3.0, 1.0, 2.0], stop_gradient=False), opsdk.to_tensor([5.0, 6, 7], stop_gradient=False)
    (dx,) = opsdk.grad(ascending(x), x, dy, create_graph=True)
    (ddy,) = opsdk.grad(dx, dy, opsdk.to_tensor([10.0, 20, 30]))
    assert (dx.tolist(), ddy.tolist()) == ([7, 5, 6], [20, 30, 10])


def test_the_total_derivative_is_the_authors():
    @opsdk.op(name="cube", namespace="t", residuals=["square"])
    def cube(x):
        return x * x * x, x * x

    @cube.backward
    def cube_grad(x, square, dy):
        return 3 * square * dy

    @cube_grad.backward
    def cube_grad_grad(x, square, dy, ddx):
        return 6 * x * dy * ddx, 3 * square * ddx

    x = opsdk.to_tensor(B, stop_gradient=False)
    (first,) = opsdk.grad(cube(x).sum(), x, create_graph=True)
    (second,) = opsdk.grad(first.sum(), x)
    np.testing.assert_array_equal(second.numpy(), 6 * B)


def test_an_object_goes_with_the_graph_of_the_second_order_too():
    held = []

    def kept(a):
        made = Factor(a)
        held.append(weakref.ref(made))
        return made

    solve, (a, b) = solve_op(kept, "again"), tensors()
    solve.grad.backward(lambda a, b, x, lu, dx, dda, ddb: (a * 0, b * 0, x * 0, lu.inverse @ ddb))
    dx = opsdk.to_tensor(np.ones(2), stop_gradient=False)
    (db,) = opsdk.grad(solve(a, b), b, dx, create_graph=True)
    assert held[-1]() is not None
    (found,) = opsdk.grad(db.sum(), dx, retain_graph=False)
    np.testing.assert_allclose(found.numpy(), [0.375, 0.25])  # A⁻¹ [1, 1]
    gc.collect()
    assert db is not None  # whose node is there, and holds nothing


def gather_op(keeps_array):
    @opsdk.op("t::gather(Tensor src, Tensor<int> index) -> Tensor y", replace=True)
    def gather(src, index):
        return src[index]

    gather.infer(lambda src, index: opsdk.TensorSpec((*index.shape, *src.shape[1:]), src.dtype))

    def scattered(like, index, dy):
        dsrc = np.zeros(like.shape, like.dtype)
        np.add.at(dsrc, index, dy)
        return dsrc

    if keeps_array:
        gather.backward(lambda src, index, dy: scattered(src, index, dy))
    else:
        gather.backward(lambda src_spec, index, dy: scattered(src_spec, index, dy))
    return gather


@pytest.mark.parametrize(("keeps_array", "nbytes"), [(True, 8024), (False, 24)])
def test_a_spec_keeps_nothing_of_the_array(keeps_array, nbytes):
    src = opsdk.to_tensor(np.zeros((500, 2)), stop_gradient=False)
    y = gather_op(keeps_array)(src, np.array([0, 0, 3]))
    node = y._edge[0]
    assert sum(value.nbytes for value in node.saved[::3]) == nbytes
    y.sum().backward()
    assert (src.grad.numpy()[0, 0], src.grad.numpy()[3, 1], src.grad.numpy().sum()) == (2.0, 1.0, 6.0)


def test_the_spec_of_a_list_is_a_list_and_of_what_is_absent_none():
    seen = []

    @opsdk.op("t::first(Tensor[] xs, Tensor? w=None) -> Tensor y", infer=lambda xs, w: xs[0])
    def first(xs, w):
        return xs[0] * 2

    @first.backward(disconnected=["w"])
    def first_grad(xs_spec, w_spec, dy):
        seen.append((xs_spec, w_spec))
        return [dy * 2, *(np.zeros(s.shape, s.dtype) for s in xs_spec[1:])], None

    a, b = opsdk.to_tensor(np.ones(2), stop_gradient=False), opsdk.to_tensor(np.ones(3), stop_gradient=False)
    first([a, b]).sum().backward()
    assert seen == [([opsdk.TensorSpec([2], "float64"), opsdk.TensorSpec([3], "float64")], None)]
    assert (a.grad.numpy().tolist(), b.grad.numpy().tolist()) == ([2.0, 2.0], [0.0, 0.0, 0.0])


def rows_op(rule=True):
    """The log of the sum of exponentials of rows, which keeps their greatest."""

    @opsdk.op("t::lse(Tensor x) -> Tensor y, residuals (Tensor top)", replace=True)
    def lse(x):
        top = x.max(axis=-1)
        return np.log(np.exp(x - top[..., None]).sum(axis=-1)) + top, top

    if rule:
        lse.infer(lambda x: (opsdk.TensorSpec(x.shape[:-1], x.dtype),) * 2)
    else:
        lse.infer(lambda x: opsdk.TensorSpec(x.shape[:-1], x.dtype))

    @lse.backward
    def lse_grad(x, top, dy):
        e = np.exp(x - top[:, None])
        return e / e.sum(axis=-1, keepdims=True) * dy[:, None]

    return lse


def fill_rows(x, y, top):
    for i in range(x.shape[0]):
        top[i] = x[i, 0]
        for j in range(x.shape[1]):
            top[i] = max(top[i], x[i, j])
        y[i] = 0
        for j in range(x.shape[1]):
            y[i] += math.exp(x[i, j] - top[i])
        y[i] = math.log(y[i]) + top[i]


C_ROWS = """
#include <math.h>
int32_t lse_f64(const DLTensor *x, DLTensor *y, DLTensor *top) {
    const double *p = OPSDK_DATA(const double, x);
    for (int64_t i = 0, n = x->shape[1]; i < x->shape[0]; ++i) {
        double most = p[i * n], sum = 0;
        for (int64_t j = 1; j < n; ++j) most = fmax(most, p[i * n + j]);
        for (int64_t j = 0; j < n; ++j) sum += exp(p[i * n + j] - most);
        OPSDK_DATA(double, top)[i] = most;
        OPSDK_DATA(double, y)[i] = log(sum) + most;
    }
    return 0;
}
"""


# Two seconds of Numba's, for which C stands, and the kernel that has no spec to fill.
@pytest.mark.parametrize("language", [pytest.param("numba", marks=pytest.mark.slow), "c"])
def test_a_compiled_kernel_fills_residuals_as_it_fills_outputs(language):
    lse = rows_op()
    if language == "c":
        lse.kernel("cpu", language="c", source=C_ROWS, dtype="float64")
    else:
        lse.kernel("cpu", fill_rows, language="numba")
    data = np.array([[0.0, np.log(3.0)], [5.0, 5.0]])
    np.testing.assert_allclose(lse(data), [np.log(4.0), 5 + np.log(2.0)])
    x = opsdk.to_tensor(data, stop_gradient=False)
    lse(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [[0.25, 0.75], [0.5, 0.5]])


def test_a_kernel_that_fills_needs_the_spec_of_a_residual():
    lse = rows_op(rule=False)
    lse.kernel("cpu", fill_rows, language="numba")
    with pytest.raises(ShapeError, match=r"residual 'top': expected a shape known before .*return its spec too, after"):
        lse(np.ones((2, 2)))


def scatter(src_spec, index, dy, dsrc):
    dsrc[:] = 0
    for i in range(index.size):
        for j in range(src_spec.shape[1]):
            dsrc[index[i], j] += dy[i, j]


def scatter_and_return(index, dy, src_spec):
    dsrc = np.zeros(src_spec.shape, src_spec.dtype)
    for i in range(index.size):
        dsrc[index[i]] += dy[i]
    return dsrc


C_SCATTER = """
int32_t gather_grad_f64(const DLTensor *index, const DLTensor *dy, DLTensor *dsrc, const DLTensor *src_spec) {
    const int64_t *at = OPSDK_DATA(const int64_t, index), width = src_spec->shape[1];
    double *to = OPSDK_DATA(double, dsrc);
    for (int64_t i = 0; i < src_spec->shape[0] * width; ++i) to[i] = 0;
    for (int64_t i = 0; i < index->shape[0]; ++i)
        for (int64_t j = 0; j < width; ++j) to[at[i] * width + j] += OPSDK_DATA(const double, dy)[i * width + j];
    return src_spec->data != 0 || src_spec->ndim != 2 || src_spec->dtype.bits != 64;
}
"""


# One that returns its result takes Numba four seconds; one that fills it, and one in C, stand for it.
@pytest.mark.parametrize(
    "kernel",
    [
        {"function": scatter, "language": "numba"},
        pytest.param({"function": scatter_and_return, "language": "numba"}, marks=pytest.mark.slow),
        {"source": C_SCATTER, "language": "c", "dtype": "float64", "dtypes": {"index": "int64"}},
    ],
)
def test_compiled_kernels_see_a_spec_too(kernel):
    gather = gather_op(keeps_array=False)
    gather.grad.kernel("cpu", **kernel)
    src = opsdk.to_tensor(np.zeros((5, 2)), stop_gradient=False)
    gather(src, np.array([0, 0, 3])).sum().backward()
    np.testing.assert_array_equal(src.grad.numpy(), [[2, 2], [0, 0], [0, 0], [1, 1], [0, 0]])


def test_the_spec_of_a_list_is_for_python_and_so_is_one_on_a_device():
    chosen = opsdk.op("t::chosen(Tensor[] xs) -> Tensor y", infer=lambda xs: xs[0])(lambda xs: xs[0] * 2)
    chosen.backward(lambda xs_spec, dy: [dy * 2])
    with pytest.raises(DefinitionError, match="specs of single tensors, got xs_spec; a list has several: name"):
        chosen.grad.kernel("cpu", lambda xs_spec, dy: dy, language="numba")
    with pytest.raises(DefinitionError, match="got src_spec; kernels of place 'cuda' see the shape in the gradient"):
        gather_op(keeps_array=False).grad.kernel("cuda", scatter, language="numba", launch=opsdk.launch.fixed(1, 1))
