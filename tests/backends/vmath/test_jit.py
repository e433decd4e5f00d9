import os
import subprocess
import sys

import numpy as np
from numba import config, types
from numba.core.registry import CPUDispatcher

from opsdk.backends.vmath.jit import enabled, njit

_CODE = """
import numpy as np
import opsdk

@opsdk.elementwise
def swish(x):
    return x * opsdk.vmath.sigmoid(x)

@opsdk.op
def shifted(x):
    return x + 1

ran = []

@shifted.kernel("cpu", language="numba")
def shifted_numba(x, y):
    ran.append(type(y).__name__)
    y[:] = x + 1

print(swish(np.array([0.0, 40.0])).tolist(), shifted(np.zeros(1)).tolist(), ran)
"""


def test_without_numbas_compiler_expressions_are_compiled_and_kernels_of_a_user_run_as_python(tmp_path):
    file = tmp_path / "ops.py"
    file.write_text(_CODE, encoding="utf-8")
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "OPSDK_CACHE_DIR": str(tmp_path / "cold")}
    command = [sys.executable, "-W", "error", str(file)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[0.0, 40.0] [1.0] ['ndarray']", "")


def test_a_function_of_ours_is_a_dispatcher_with_numbas_options_either_way(monkeypatch):
    made = []
    for disabled in (0, 1):
        monkeypatch.setattr(config, "DISABLE_JIT", disabled)
        made.append(njit(error_model="numpy", boundscheck=False)(lambda x: x / 0))
        assert made[-1].compile((types.float64,)) is not None
    assert all(isinstance(one, CPUDispatcher) for one in made)
    assert [one.targetoptions["nopython"] and one.targetoptions["error_model"] for one in made] == ["numpy"] * 2
    assert np.isinf(made[1](1.0))


def test_the_compiler_is_enabled_while_it_compiles_and_as_it_was_afterwards(monkeypatch):
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    with enabled():
        assert config.DISABLE_JIT == 0
    assert config.DISABLE_JIT == 1
