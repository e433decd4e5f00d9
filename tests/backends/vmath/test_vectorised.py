"""What LLVM makes of a loop over each function: vector instructions, and no call of anything."""

import math
import re

import numba
import numpy as np
import pytest

from tests.backends.vmath.loops import BINARY, DTYPES, SPECIAL, UNARY, loop

# What every machine computes in line, with or without an instruction for it. A call of any other name might stay one.
HARMLESS = (
    "is.fpclass", "usub.sat", "fabs", "sqrt", "copysign", "fshl", "fshr", "umin", "umax", "smin", "smax", "minnum",
    "maxnum", "minimum", "maximum", "abs",
)  # fmt: skip
MEMORY = ("masked.gather", "masked.load", "masked.store", "assume", "experimental.noalias.scope.decl", "lifetime")
ONE_AT_A_TIME = {("fmod", np.float64)}  # a loop over the bits of the quotient


def body(name, dtype):
    """The optimised IR of the loop itself, without the entry that Python calls."""
    (text,) = loop(name, dtype).inspect_llvm().values()
    functions = re.findall(r"^define .*?^}", text, re.DOTALL | re.MULTILINE)
    native = [f for f in functions if "@_ZN" in f.partition("\n")[0] and "cpython" not in f.partition("\n")[0]]
    return max(native, key=len)


def calls(text):
    """Names of what is called, LLVM's own operations by their stem."""
    found = set(re.findall(r"\b(?:call|invoke)\b[^@\n]*@\"?([\w.$]+)", text))
    return {re.sub(r"^llvm\.(?:vector\.)?|(?:\.[vpnxif0-9]+)+$", "", name) for name in found}


# To compile all takes seconds: each function is tried in one dtype, in turns, and in the other in the sweep.
IN_TURNS = [
    pytest.param(name, dtype, marks=() if (i + j) % 2 == 0 else pytest.mark.slow)
    for i, name in enumerate(UNARY + BINARY + SPECIAL)
    for j, dtype in enumerate(DTYPES)
]


@pytest.mark.parametrize(("name", "dtype"), IN_TURNS)
def test_a_loop_calls_nothing_and_is_vectorised(name, dtype):
    text = body(name, dtype)
    assert calls(text) - {*HARMLESS, *MEMORY} == set()
    stored = re.search(r"store <\d+ x (float|double|i8|i32|i64)>", text)
    assert bool(stored) is ((name, dtype) not in ONE_AT_A_TIME)


def test_a_call_of_the_mathematical_library_would_be_seen():
    @numba.njit((numba.float64[::1], numba.float64[::1]))
    def run(a, out):
        for i in range(out.size):
            out[i] = math.lgamma(a[i])

    (text,) = run.inspect_llvm().values()
    assert any("gamma" in name for name in calls(text))
