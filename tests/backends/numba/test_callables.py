"""Callables as attributes: a Numba kernel calls what Numba compiled, the reference everything else."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import DefinitionError
from opsdk.define.op import REGISTRY

numba = pytest.importorskip("numba")
X = np.array([1.0, 2.0])


@pytest.fixture
def op():
    with REGISTRY.scoped():
        made = opsdk.op("test_numba::twice(Tensor x, *, Callable f) -> Tensor y")(lambda x, f: np.asarray(f(f(x))))

        @made.kernel("cpu", language="numba")
        def rows(x, f, y):
            for i in range(x.size):
                y.flat[i] = f(f(x.flat[i])) + 100.0  # which shows who computed

        yield made


def test_a_compiled_function_is_called_in_the_compiled_kernel(op):
    assert op(X, f=numba.njit(lambda x: x * x)).tolist() == [101.0, 116.0]
    assert op(X, f=numba.njit(lambda x: x + 1)).tolist() == [103.0, 104.0]


@pytest.mark.parametrize("f", [lambda x: x * x, np.square, opsdk.square], ids=["function", "ufunc", "op"])
def test_any_other_callable_is_the_references(op, f):
    assert op(X, f=f).tolist() == [1.0, 16.0]


@pytest.mark.parametrize(("f", "verdict"), [(np.square, None), (numba.njit(lambda x: x * x), "fail")])
def test_verify_runs_the_kernel_on_what_it_can_call(op, f, verdict):
    def samples(rng):
        yield opsdk.Sample(X, f=f, reason="one callable")

    op.samples(samples)
    assert {row.row: row.verdict for row in opsdk.verify(op).rows}.get("cpu,float64,numba") == verdict


@pytest.mark.parametrize(("place", "language"), [("cpu", "c"), ("cuda", "numba")])
def test_a_language_without_callables_is_refused_by_name(op, place, language):
    wanted = f"op 'test_numba::twice', {language} kernel: expected attributes that the language has values for, got"
    with pytest.raises(DefinitionError, match=wanted):
        op.kernel(place, language=language, source="int x;")
