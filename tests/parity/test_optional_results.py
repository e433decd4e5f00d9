"""`Tensor?` among results: what a call does not give is None in every runtime and language, and carries no gradient."""

import numpy as np
import pytest

import opsdk
from opsdk import static
from opsdk.core.errors import ProgramError, ReturnError

X = np.array([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
TEXT = "t::peak(Tensor x, Tensor? w=None, *, bool norms=False) -> (Tensor y, Tensor? n)"


def peak(x, w, norms):
    y = x.sum(axis=1) if w is None else x @ w
    return y, (x**2).sum(axis=1) if norms else None


def peak_grad(x, w, dy, dn, norms):
    assert (dn is None) is not norms  # zeros where nobody asked, None where there is none
    dx = np.outer(dy, np.ones(x.shape[1], x.dtype) if w is None else w)
    return (dx + 2 * x * dn[:, None] if norms else dx), None if w is None else x.T @ dy


def peak_infer(x, norms):
    row = opsdk.TensorSpec(x.shape[:1], x.dtype)
    return row, row if norms else None


def numba_kernel(x, w, norms, y, n):
    for i in range(x.shape[0]):
        y[i] = 0.0
        for j in range(x.shape[1]):
            y[i] += x[i, j] if w is None else x[i, j] * w[j]
        if n is not None:
            n[i] = 0.0
            for j in range(x.shape[1]):
                n[i] += x[i, j] ** 2


C_KERNEL = """
#include "opsdk.h"
int32_t peak_f64(const DLTensor *x, const DLTensor *w, DLTensor *y, DLTensor *n, int32_t norms) {
    const int64_t columns = x->shape[1];
    const double *in = OPSDK_DATA(const double, x);
    for (int64_t i = 0; i < x->shape[0]; ++i) {
        double sum = 0.0, squares = 0.0;
        for (int64_t j = 0; j < columns; ++j) {
            const double value = in[i * columns + j];
            sum += w ? value * OPSDK_DATA(const double, w)[j] : value;
            squares += value * value;
        }
        OPSDK_DATA(double, y)[i] = sum;
        if (n) OPSDK_DATA(double, n)[i] = squares;
    }
    return 0;
}
"""


@pytest.fixture(params=["numpy", "numba", "c"])
def op(request):
    with opsdk.scoped_registry():
        made = opsdk.op(TEXT, infer=peak_infer)(peak)
        made.backward(peak_grad)
        if request.param == "numba":
            made.kernel("cpu", numba_kernel, language="numba")(numba_kernel)
        elif request.param == "c":
            made.kernel("cpu", language="c", source=C_KERNEL)
        yield made


def test_arrays_and_tensors_get_none_where_the_rule_says_so(op):
    for x in (X, opsdk.to_tensor(X), opsdk.to_tensor(X, stop_gradient=False)):
        for _ in range(2):  # with every check, then by the plan
            y, n = op(x)
            assert n is None
            np.testing.assert_array_equal(np.asarray(getattr(y, "_array", y)), [2.0, 3.5])
            y, n = op(x, norms=True)
            np.testing.assert_array_equal(np.asarray(getattr(n, "_array", n)), [14.0, 17.25])


@pytest.mark.parametrize("norms", [False, True])
def test_the_backward_of_a_result_that_is_not_given_gets_none(op, norms):
    x = opsdk.to_tensor(X, stop_gradient=False)
    y, n = op(x, norms=norms)
    loss = y.sum() if n is None else y.sum() + n.sum()
    loss.backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones_like(X) + (2 * X if norms else 0))


def test_a_result_that_is_given_and_not_used_has_a_cotangent_of_zeros(op):
    x = opsdk.to_tensor(X, stop_gradient=False)
    op(x, norms=True)[0].sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), np.ones_like(X))


@pytest.mark.parametrize("norms", [False, True])
def test_a_program_gives_none_when_it_is_built(op, norms):
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [None, 3], "float64")
        x.stop_gradient = False
        y, n = op(x, norms=norms)
        assert (n is None) is not norms
        grads = static.gradients([y] if n is None else [y, n], [x])
    fetched = static.Executor().run(program, feed={"x": X}, fetch_list=[y, *grads, *([n] if norms else [])])
    np.testing.assert_array_equal(fetched[0], [2.0, 3.5])
    np.testing.assert_array_equal(fetched[1], np.ones_like(X) + (2 * X if norms else 0))
    if norms:
        np.testing.assert_array_equal(fetched[2], [14.0, 17.25])


def test_a_variable_for_a_result_that_is_not_given_is_refused(op):
    program = static.Program()
    with static.program_guard(program, static.Program()):
        x = static.data("x", [2, 3], "float64")
        block = program.global_block()
        y, n = (block.create_var(name=name, shape=[2], dtype="float64") for name in "yn")
        with pytest.raises(ProgramError, match="output 'n' expected no variable, since its infer rule says that this"):
            block.append_op(type="t::peak", inputs={"x": x}, outputs={"y": y, "n": n}, attrs={"norms": False})
        block.append_op(type="t::peak", inputs={"x": x}, outputs={"y": y}, attrs={"norms": False})
        assert len(block.ops) == 1


def test_verify_judges_both_kinds_of_calls(op):
    op.samples(
        lambda rng: [
            opsdk.Sample(rng.normal(size=(2, 3)), reason="sums"),
            opsdk.Sample(rng.normal(size=(2, 3)), rng.normal(size=3), norms=True, reason="weights and norms"),
        ]
    )
    report = opsdk.verify(op)
    assert (report.verdict, report.findings) == ("pass", ())


@pytest.mark.parametrize(
    ("gives", "rule", "told"),
    [
        (lambda x: (x + 1, None), lambda x: (x, x), "output 'n': expected an array by its infer rule, got nothing"),
        (lambda x: (x + 1, x + 2), lambda x: (x, None), "output 'n': expected None by its infer rule, got ndarray"),
        (lambda x: (x + 1, None), None, "output 'n': expected an array by its infer rule, got nothing"),
    ],
)
def test_a_result_that_the_rule_does_not_tell_is_an_error(gives, rule, told):
    with opsdk.scoped_registry():
        op = opsdk.op("t::f(Tensor x) -> (Tensor y, Tensor? n)", infer=rule)(gives)
        for x in (X, opsdk.to_tensor(X)):
            with pytest.raises(ReturnError, match=told):
                op(x)


def test_a_composite_may_leave_a_result_out():
    with opsdk.scoped_registry():

        @opsdk.op(
            "t::both(Tensor x, *, bool more=False) -> (Tensor y, Tensor? z)",
            composite=True,
            infer=lambda x, more: (x, x if more else None),
        )
        def both(x, more):
            return x * 2.0, x * 3.0 if more else None

        leaf = opsdk.to_tensor(X, stop_gradient=False)
        for more in (False, True):
            assert [value is None for value in (both(X, more=more)[1], both(leaf, more=more)[1])] == [not more] * 2
        y, z = both(leaf, more=True)
        (y + z).sum().backward()
        np.testing.assert_array_equal(leaf.grad.numpy(), np.full_like(X, 5.0))
        with static.program_guard(static.Program(), static.Program()):
            assert both(static.data("x", [2], "float64"))[1] is None


def test_an_optional_input_that_is_changed_is_handed_on():
    with opsdk.scoped_registry():

        @opsdk.op("t::add_(Tensor x, Tensor(a!)? s=None) -> (Tensor y, Tensor(a!)? out)")
        def add_(x, s):
            if s is not None:
                s += x
            return x + 1

        state = np.zeros(2)
        y, out = add_(np.ones(2), state)
        assert out is state
        np.testing.assert_array_equal((y, state), [[2, 2], [1, 1]])
        assert add_(np.ones(2))[1] is None
