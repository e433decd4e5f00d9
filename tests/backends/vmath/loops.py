"""One compiled loop per function and dtype, shared by the tests of this folder."""

import functools

import numba
import numpy as np

from opsdk.backends.vmath.table import numba_functions
from opsdk.expr.primitives.table import PRIMITIVES

DTYPES = (np.float32, np.float64)
OPERATORS = {"add", "sub", "mul", "div", "neg", "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "where"}
TABLE = {name: p for name, p in PRIMITIVES.items() if p.body is None and name not in OPERATORS}
UNARY = tuple(name for name, p in TABLE.items() if p.takes == ("float",))
BINARY = tuple(name for name, p in TABLE.items() if p.takes == ("float", "float"))
SPECIAL = tuple(name for name, p in PRIMITIVES.items() if p.body is not None and p.doc and p.public is None)


@functools.cache
def loop(name, dtype):
    """Compiles `out[i] = f(a[i], …)` for contiguous arrays of the dtype."""
    function = numba_functions(np.dtype(dtype))[name]
    if PRIMITIVES[name].arity == 1:

        def run(a, out):
            for i in range(out.size):
                out[i] = function(a[i])

    else:

        def run(a, b, out):
            for i in range(out.size):
                out[i] = function(a[i], b[i])

    real, flag = numba.from_dtype(np.dtype(dtype))[::1], numba.boolean[::1]
    gives = flag if PRIMITIVES[name].gives == "bool" else real
    return numba.njit((*(real,) * PRIMITIVES[name].arity, gives), error_model="numpy")(run)


def compute(name, *operands):
    """Gives the function's values at arrays of equal shape and dtype."""
    out = np.empty(operands[0].shape, np.bool_ if PRIMITIVES[name].gives == "bool" else operands[0].dtype)
    loop(name, operands[0].dtype.type)(*operands, out)
    return out
