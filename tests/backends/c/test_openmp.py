import os
import subprocess
import sys

import pytest

from opsdk.backends.c.openmp import short_waits
from tests.contracts.tree import REPOSITORY

pytest.importorskip("numba")
pytest.importorskip("cffi")

C_ROW = """
import numpy as np, opsdk
op = opsdk.op("t::double(Tensor x) -> Tensor y")(lambda x: x * 2)
op.kernel("cpu", None, language="c", dtype="float64", openmp=True, contiguous=True, source='''
int32_t double_f64(const DLTensor *x, DLTensor *y) {
  const double *in = OPSDK_DATA(const double, x);
  double *out = OPSDK_DATA(double, y);
  _Pragma("omp parallel for") for (int64_t i = 0; i < opsdk_size(x); ++i) out[i] = 2 * in[i];
  return 0;
}
''')
"""
NUMBA_ROW = """
import numba, numpy as np, opsdk
op = opsdk.op("t::double(Tensor x) -> Tensor y")(lambda x: x * 2)

def double(x, y):
    for i in numba.prange(x.size):
        y[i] = 2 * x[i]

op.kernel("cpu", double, language="numba", parallel=True)
"""
CALL = """
import os
print(op(np.arange(5.0)), {name: os.environ.get(name) for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")})
"""


def run(code, **environment):
    """Runs code with a runtime that says what it read when it was loaded; returns what was written."""
    given = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    given |= {"OMP_DISPLAY_ENV": "VERBOSE", "NUMBA_THREADING_LAYER": "omp", **environment}
    done = subprocess.run(
        [sys.executable, "-c", code + CALL], env=given, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if "GOMP_SPINCOUNT" not in done.stderr:
        pytest.skip("no GNU OpenMP here")
    return done.stdout, done.stderr


@pytest.mark.parametrize("code", [C_ROW, NUMBA_ROW], ids=["c", "numba"])
def test_threads_that_a_row_starts_do_not_hold_on_to_their_cores(code, tmp_path):
    out, said = run(code, OPSDK_CACHE_DIR=str(tmp_path))
    assert "GOMP_SPINCOUNT = '3000'" in said
    assert out.strip() == "[0. 2. 4. 6. 8.] {'GOMP_SPINCOUNT': None, 'OMP_WAIT_POLICY': None}"


@pytest.mark.parametrize("chosen", [{"GOMP_SPINCOUNT": "77"}, {"OMP_WAIT_POLICY": "PASSIVE"}])
def test_who_has_chosen_keeps_the_choice(chosen, tmp_path):
    out, said = run(C_ROW, OPSDK_CACHE_DIR=str(tmp_path), **chosen)
    assert f"GOMP_SPINCOUNT = '{chosen.get('GOMP_SPINCOUNT', 0)}'" in said
    assert str({"GOMP_SPINCOUNT": None, "OMP_WAIT_POLICY": None} | chosen) in out


def test_the_environment_is_as_before_also_after_an_error(monkeypatch):
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    with pytest.raises(KeyError), short_waits():
        assert os.environ["GOMP_SPINCOUNT"] == "3000"
        raise KeyError
    assert "GOMP_SPINCOUNT" not in os.environ
