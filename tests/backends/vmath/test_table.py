import subprocess
import sys
import threading

import numba
import numpy as np
import pytest

from opsdk.backends.vmath.table import numba_functions
from opsdk.core.errors import DTypeError
from opsdk.expr.primitives.table import PRIMITIVES


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_there_is_a_function_for_every_primitive(dtype):
    only_compiled = {"gated"}  # a product that `expr/simplify.py` makes, and nobody writes
    assert set(numba_functions(np.dtype(dtype))) == {*PRIMITIVES, *only_compiled}


def test_another_dtype_is_refused_with_the_way_out():
    with pytest.raises(DTypeError, match="vmath: expected float32 or float64, got float16; compute in float32"):
        numba_functions(np.dtype("float16"))


def test_functions_are_made_once_also_when_many_threads_ask_first():
    found = []
    threads = [threading.Thread(target=lambda: found.append(numba_functions(np.dtype("float32")))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(table["exp"]) for table in found}) == 1


def test_a_changed_table_changes_no_other():
    numba_functions(np.dtype("float32")).clear()
    assert "exp" in numba_functions(np.dtype("float32"))


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("add", (2.0, 3.0), 5.0), ("sub", (2.0, 3.0), -1.0), ("mul", (2.0, 3.0), 6.0), ("div", (3.0, 2.0), 1.5),
        ("neg", (2.0,), -2.0), ("lt", (2.0, 3.0), True), ("le", (3.0, 3.0), True), ("gt", (2.0, 3.0), False),
        ("ge", (2.0, 3.0), False), ("eq", (2.0, 2.0), True), ("ne", (2.0, 2.0), False),
        ("and", (True, False), False), ("or", (True, False), True), ("not", (True,), False), ("not", (False,), True),
        ("where", (True, 2.0, 3.0), 2.0), ("where", (False, 2.0, 3.0), 3.0), ("div", (1.0, 0.0), np.inf),
    ],
)  # fmt: skip
def test_operators_have_their_functions_too(name, operands, expected):
    for dtype in (np.float32, np.float64):
        given = tuple(a if isinstance(a, bool) else dtype(a) for a in operands)
        function = numba_functions(np.dtype(dtype))[name]
        assert numba.njit(lambda *numbers: function(*numbers))(*given) == expected  # noqa: B023


def test_a_function_of_kernels_has_no_entry_for_python():
    with pytest.raises(TypeError, match=r"expected to be called in a kernel, got a call from Python"):
        numba_functions(np.dtype("float64"))["exp"](1.0)


def run_fresh(script):
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_numba_is_imported_by_the_first_call_only():
    run_fresh(
        "import sys, numpy, opsdk.backends.vmath.table as table, opsdk\n"
        "from opsdk import vmath\n"
        "vmath.exp(1.0)\n"
        "assert 'numba' not in sys.modules\n"
        "table.numba_functions(numpy.dtype('float32'))\n"
        "assert 'numba' in sys.modules\n"
    )


def test_a_kernel_with_fastmath_that_comes_first_does_not_spoil_exact_sums():
    run_fresh(
        "import numba, numpy as np\n"
        "from opsdk.backends.vmath.table import numba_functions\n"
        "pow, exp = (numba_functions(np.dtype('float64'))[name] for name in ('pow', 'exp'))\n"
        "@numba.njit(fastmath=True)\n"
        "def loop(x, y, z):\n"
        "    for i in range(x.size):\n"
        "        z[i] = pow(x[i], y[i])\n"
        "x = np.linspace(1.0001, 1.9, 1000)\n"
        "y = np.full(1000, 1000.25)\n"
        "z = np.empty(1000)\n"
        "loop(x, y, z)\n"
        "wanted = np.power(x.astype(np.longdouble), y.astype(np.longdouble))\n"
        "assert np.max(np.abs(z - wanted) / np.spacing(z)) < 2, np.max(np.abs(z - wanted) / np.spacing(z))\n"
        "assert numba.njit(lambda: np.isnan(pow(-1.5, 0.5)) and np.isinf(exp(1e4)))()\n"
    )
