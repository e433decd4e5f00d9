"""vmath inside a user's own kernels."""

from pathlib import Path

import numba
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.vmath import overloads
from opsdk.core.errors import CompileError

overloads.register()
X = np.linspace(-3, 3, 101)


def test_a_loop_over_scalars_computes_in_float32_and_is_vectorised():
    @numba.njit
    def softened(x, out):
        for i in range(x.size):
            out[i] = vmath.where(x[i] > 0, vmath.maximum(vmath.exp(-x[i]), 0), vmath.erf(x[i])) * np.float32(vmath.pi)

    x = X.astype(np.float32)
    out = np.empty_like(x)
    softened(x, out)
    expected = np.where(x > 0, np.exp(-x), [vmath.erf(v) for v in x]) * np.float32(np.pi)
    np.testing.assert_allclose(out, expected, rtol=1e-6)
    (text,) = softened.inspect_llvm().values()
    assert "x float>" in text
    assert "x double>" not in text


@pytest.mark.parametrize(("given", "dtype"), [("float32", "float32"), ("float64", "float64"), ("int32", "float64")])
def test_arrays_are_computed_element_by_element(given, dtype):
    kernel = numba.njit(lambda x: vmath.tanh(x))
    x = (X * 2).astype(given).reshape(-1, 1)[::2]
    computed = kernel(x)
    assert (computed.dtype, computed.shape) == (dtype, x.shape)
    np.testing.assert_allclose(computed, np.tanh(x.astype(dtype)), rtol=1e-6)


# A compilation for each pair of kinds of arguments; arrays of one shape stand for them.
@pytest.mark.slow
def test_arrays_broadcast_against_one_another_and_numbers():
    kernel = numba.njit(lambda a, b: (vmath.hypot(a, b), vmath.where(a > b, a, 0), vmath.isnan(a), vmath.pow(a, 2)))
    a, b = np.array([[3.0], [np.nan]], np.float32), np.array([4.0, 0.0], np.float32)
    with np.errstate(invalid="ignore"):
        expected = [np.hypot(a, b), np.where(a > b, a, np.float32(0)), np.isnan(a), a * a]
    for computed, wanted in zip(kernel(a, b), expected, strict=True):
        assert computed.dtype == wanted.dtype
        np.testing.assert_array_equal(computed, wanted)


def test_clip_of_an_array_by_numbers_keeps_its_dtype():
    computed = numba.njit(lambda x: vmath.clip(x, -1, 1))(X.astype(np.float32))
    assert computed.dtype == np.float32
    np.testing.assert_array_equal(computed, np.clip(X.astype(np.float32), -1, 1))


def test_integers_and_mixed_floats_give_float64():
    kernel = numba.njit(lambda i, x: (vmath.sqrt(i), vmath.maximum(x, np.float64(0.1))))
    assert kernel(2, np.float32(0)) == (2**0.5, 0.1)


def test_logic_of_conditions_works_in_a_kernel():
    kernel = numba.njit(lambda x: vmath.logical_or(vmath.isinf(x), vmath.logical_not(vmath.isfinite(x))))
    assert [kernel(x) for x in (np.inf, np.nan, 1.0)] == [True, True, False]


def test_a_wrong_number_or_kind_of_operands_is_an_error_of_the_compiler():
    with pytest.raises(numba.TypingError, match="too many positional arguments"):
        numba.njit(lambda x: vmath.exp(x, x))(1.0)
    with pytest.raises(numba.TypingError, match="No implementation of function"):
        numba.njit(lambda x: vmath.exp(x))("text")
    with pytest.raises(numba.TypingError, match="No implementation of function"):
        numba.njit(lambda x: vmath.where(x, x, x))(1.0)
    with pytest.raises(numba.TypingError, match="No implementation of function"):
        numba.njit(lambda x: vmath.clip(x, 0, 1))("text")


def test_a_kernel_that_opsdk_compiles_may_use_it():
    @opsdk.op("t_vmath::f(Tensor x) -> Tensor y")
    def f(x):
        raise AssertionError("the reference ran")

    @f.kernel("cpu", language="numba")
    def rows(x, y):
        for i in range(x.size):
            y[i] = vmath.sigmoid(x[i])

    np.testing.assert_allclose(f(X), 1 / (1 + np.exp(-X)), rtol=1e-15)


def test_a_kernel_with_a_call_that_does_not_exist_is_refused_by_opsdk():
    @opsdk.op("t_vmath::g(Tensor x) -> Tensor y")
    def g(x):
        raise AssertionError("the reference ran")

    g.kernel("cpu", lambda x: vmath.exp(x, x), language="numba")
    with pytest.raises(CompileError, match="numba kernel: does not compile"):
        g(X)


def test_registering_twice_does_nothing(monkeypatch):
    def fail(*args, **kwargs):
        raise AssertionError("registered again")

    monkeypatch.setattr(overloads, "overload", fail)
    overloads.register()


def test_numba_is_told_where_to_find_it():
    text = (Path(opsdk.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    _, _, section = text.partition("[project.entry-points.numba_extensions]\n")
    assert section.startswith(f'init = "{overloads.__name__}:{overloads.register.__name__}"\n')
