import numpy as np
import pytest

import opsdk
from opsdk.backends.numba.text import run_text

numba = pytest.importorskip("numba")
overload = pytest.importorskip("numba.extending").overload


def only_compiled(x):
    raise NotImplementedError


@overload(only_compiled)
def only_compiled_overload(x):
    return lambda x: 2 * x


@numba.njit
def doubled(x):
    return only_compiled(x)


def filled(kernel, inputs):
    """What the text of a kernel of one input and output puts into memory that holds 7."""
    with opsdk.REGISTRY.scoped():
        op = opsdk.op("t::f(Tensor x) -> Tensor y")(lambda x: x)
        op.kernel("cpu", kernel, language="numba")
        return run_text(op.opdef, list(op.opdef.kernels)[-1], inputs, {}, 7)[0].tolist()


def test_functions_of_a_closure_run_as_python_too():
    @numba.njit
    def third(x):
        return x[2]

    def kernel(x, y):
        y[:] = third(x)

    assert filled(kernel, [np.array([1.0, 2, 3])]) == [3, 3, 3]
    with pytest.raises(IndexError):
        filled(kernel, [np.ones(2)])
    assert third.signatures == []


def test_what_only_the_compiler_understands_runs_compiled_on_what_nothing_has_changed():
    def kernel(x, y):
        y[:] = x
        x[:] = 0
        for i in range(len(y)):
            y[i] = doubled(y[i])

    assert filled(kernel, [np.array([1.0, 2])]) == [2, 4]


def test_the_text_of_a_parallel_kernel_sees_an_array_without_axes_as_the_kernel_does():
    def total(x, y):
        y[0] = 0
        for i in range(x.size):
            y[0] += x.flat[i]

    with opsdk.REGISTRY.scoped():
        op = opsdk.op("t::f(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec((), x.dtype))(lambda x: x.sum())
        op.kernel("cpu", total, language="numba", parallel=True)
        (made,) = run_text(op.opdef, list(op.opdef.kernels)[-1], [np.array([1.0, 2, 4])], {}, 0)
    assert (made.shape, made.tolist()) == ((), 7.0)
