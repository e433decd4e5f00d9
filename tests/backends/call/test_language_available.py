"""Availability: derived kernels are passed over where they cannot be compiled, written ones never are."""

import importlib.util
import sys

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.call import language
from opsdk.backends.call.language import is_installed, is_usable, missing_packages
from opsdk.backends.call.plan import forget_plans
from opsdk.core.errors import MissingDependencyError

X = np.array([-1.0, 2.0], np.float32)


@pytest.fixture(autouse=True)
def asked_anew():
    """Nothing that was decided before is left, nor what is decided here: plans of the built-in ops outlive a test."""
    is_installed.cache_clear()
    forget_plans()
    yield
    is_installed.cache_clear()
    forget_plans()


@pytest.fixture(params=["numba", "llvmlite", "cffi"])
def without(request, monkeypatch):
    """Hides a package, whose name it gives."""
    real = importlib.util.find_spec
    monkeypatch.setattr(language, "find_spec", lambda name: None if name == request.param else real(name))
    return request.param


def square():
    @opsdk.elementwise(namespace="tests", replace=True)
    def squared(x):
        return x * x + vmath.exp(0.0 * x)

    return squared


def rows(op):
    return {row.language: row for row in op.opdef.kernels if row.key.place == "cpu"}


def test_everything_is_there_in_the_environment_of_the_tests():
    assert all(map(is_usable, square().opdef.kernels))
    assert is_installed("numpy")
    assert not is_installed("no_such_package_of_anybody")


def test_what_stands_in_the_place_of_a_module_does_not_count(monkeypatch):
    monkeypatch.setitem(sys.modules, "halfway", type(sys)("halfway"))
    sys.modules["halfway"].__spec__ = None
    assert not is_installed("halfway")
    monkeypatch.setitem(sys.modules, "blocked", None)
    assert not is_installed("blocked")


def test_a_derived_row_needs_its_packages_and_the_reference_none(without):
    op = square()
    assert missing_packages(rows(op)["numba"]) == (without,)
    assert is_usable(rows(op)["numpy"])


def test_the_reference_serves_where_a_package_is_missing(without, monkeypatch):
    monkeypatch.setitem(sys.modules, without, None)  # an import of it would fail
    op = square()
    assert op(X).tolist() == [2.0, 5.0]
    x = opsdk.to_tensor(X, stop_gradient=False)
    op(x).sum().backward()
    assert x.grad.numpy().tolist() == [-2.0, 4.0]


def test_a_row_that_an_author_wrote_is_not_passed_over(without, monkeypatch):
    @opsdk.op(namespace="tests")
    def twice(x):
        return 2 * x

    @twice.kernel("cpu", language="numba")
    def twice_row(x):
        return 2 * x

    assert is_usable(rows(twice)["numba"])
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(MissingDependencyError, match=r'needs numba.*pip install "opsdk\[numba\]"'):
        twice(X)


@pytest.mark.parametrize(("module", "package"), [("numba", "numba"), ("cffi", "cffi")])
def test_a_package_that_is_there_and_cannot_be_imported_is_an_error_that_says_so(
    module, package, monkeypatch, tmp_path
):
    monkeypatch.setattr(language, "is_installed", lambda name: True)
    monkeypatch.setenv("OPSDK_CACHE_DIR", str(tmp_path))
    from opsdk.backends.native import runtime

    real = runtime.ffi
    monkeypatch.setattr("opsdk.backends.native.code.ffi", real.__wrapped__)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=f"needs {package}, which cannot be imported"):
        square()(X)
