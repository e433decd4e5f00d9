import numpy as np
import pytest

import opsdk
from opsdk.core.errors import InputValueError, ReturnError

X = np.array([0.0, 1.0])


@pytest.fixture
def power():
    @opsdk.op("t::power(Tensor x) -> Tensor y, residuals (Tensor e)", infer=lambda x: (x, x))
    def power(x):
        e = np.exp(x)
        return e * 2, e

    @power.backward
    def power_grad(e, dy):
        return 2 * dy * e

    return power


def expect_unfilled(call, language, count):
    with pytest.raises(ReturnError) as caught:
        call()
    assert str(caught.value).startswith(
        f"op 't::power', {language} kernel: residual 'e' expected to be filled by the kernel that takes it, got "
        f"{count} of 2 elements left as the memory was; write them all"
    )


def on_tensors():
    return opsdk.to_tensor(X, stop_gradient=False)


def test_a_numba_kernel_that_leaves_its_residual_as_the_memory_was_is_refused_in_every_runtime(power):
    @power.kernel("cpu", language="numba")
    def numba(x, y, e):
        for i in range(x.size):
            y.flat[i] = 2 * np.exp(x.flat[i])

    expect_unfilled(lambda: power(X), "numba", 2)
    expect_unfilled(lambda: power(on_tensors()), "numba", 2)
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program):
        x = opsdk.static.data("x", [2], "float64")
        y = power(x)
    expect_unfilled(lambda: opsdk.static.Executor().run(program, feed={"x": X}, fetch_list=[y]), "numba", 2)


def test_a_c_kernel_that_leaves_the_last_element_out_is_refused(power):
    source = """
    #include <math.h>
    void power_f64(const DLTensor *x, DLTensor *y, DLTensor *e) {
      for (int64_t i = 0; i < opsdk_size(x); ++i) {
        OPSDK_DATA(double, y)[i] = 2 * exp(OPSDK_DATA(const double, x)[i]);
        if (i + 1 < opsdk_size(x)) OPSDK_DATA(double, e)[i] = exp(OPSDK_DATA(const double, x)[i]);
      }
    }
    """
    power.kernel("cpu", language="c", dtype="float64", source=source)
    expect_unfilled(lambda: power(X), "c", 1)


def test_a_kernel_that_fills_its_residual_serves_the_backward(power):
    @power.kernel("cpu", language="numba")
    def numba(x, y, e):
        for i in range(x.size):
            e.flat[i] = np.exp(x.flat[i])
            y.flat[i] = 2 * e.flat[i]

    x = on_tensors()
    power(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(X), rtol=1e-15)


@pytest.mark.parametrize("wrap", [np.array, opsdk.to_tensor], ids=["array", "tensor"])
def test_a_first_call_that_fails_leaves_what_it_would_change_as_it_was(wrap):
    @opsdk.op("t::doubled_(Tensor(a!) s) -> Tensor(a!) y, residuals (Tensor old, Tensor m)", infer=lambda s: (s,) * 3)
    def doubled_(s):
        old = s.copy()
        s *= 2
        return {"old": old}

    state = wrap([1.0, 2.0])
    with pytest.raises(ReturnError, match="expected a dict with keys old, m, got old"):
        doubled_(state)
    assert state.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("wrap", [np.array, opsdk.to_tensor], ids=["array", "tensor"])
def test_a_kernel_with_residuals_runs_on_nothing_that_the_ops_check_refuses(wrap):
    specs = lambda x, n: (opsdk.TensorSpec(n.shape, x.dtype), opsdk.TensorSpec(n.shape, "int64"))  # noqa: E731

    @opsdk.op("t::take(Tensor x, Tensor<int> n) -> Tensor y, residuals (Tensor<int> i)", infer=specs)
    def take(x, n):
        return x[n], n.copy()

    take.check(lambda x, n: "n is outside" if n.min() < 0 or n.max() >= len(x) else None)
    source = """
    void take_f64(const DLTensor *x, const DLTensor *n, DLTensor *y, DLTensor *i) {
      for (int64_t k = 0; k < opsdk_size(n); ++k) {
        const int64_t j = OPSDK_DATA(const int64_t, n)[k];
        OPSDK_DATA(int64_t, i)[k] = j;
        OPSDK_DATA(double, y)[k] = j < 3 ? OPSDK_DATA(const double, x)[j] : *(double *)0;  /* reads what is not there */
      }
    }
    """
    take.kernel("cpu", language="c", dtype="float64", dtypes={"n": "int64"}, source=source)
    for _ in range(2):
        with pytest.raises(InputValueError, match="n is outside"):
            take(wrap(np.zeros(3)), wrap(np.array([10**12])))
    assert take(wrap(np.arange(3.0)), wrap(np.array([2, 0]))).tolist() == [2.0, 0.0]
