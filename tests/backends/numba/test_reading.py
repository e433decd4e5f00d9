import types

import numpy as np
import pytest

import opsdk
from opsdk import vmath

numba = pytest.importorskip("numba")
Reading = pytest.importorskip("opsdk.backends.numba.reading").Reading
overloading = pytest.importorskip("numba.extending")


def read(source, **names):
    """Returns the text of the function `f` of a source, as another process would read it."""
    space = {"__name__": "made", "np": np, "numba": numba, **names}
    exec(compile(source, "<cell>", "exec"), space)
    reading = Reading(space["f"])
    assert not reading.unread, reading.unread
    return reading.text


def unread(source, **names):
    space = {"__name__": "made", "np": np, "numba": numba, **names}
    exec(compile(source, "<cell>", "exec"), space)
    reading = Reading(space["f"])
    assert reading.text is None
    return reading.unread


def module(name, source):
    made = types.ModuleType(name)
    exec(source, vars(made))
    return made


HELPER = "@numba.njit\ndef g(x):\n    return x * K\ndef f(x):\n    return g(x)\n"

TAUGHT = """
def g(x): pass

@numba.extending.overload(g)
def h(x):
    return lambda x: x + 1

def f(x):
    return g(x)
"""
FIXED = "njit('float32(float32)')"

SAME_AND_OTHER = {
    "the code": ("def f(x):\n    return x + 1", "def f(x):\n    return x - 1"),
    "a number in it": ("def f(x):\n    return x + 1", "def f(x):\n    return x + 1.0"),
    "the sign of zero": ("def f(x):\n    return x * 0.0", "def f(x):\n    return x * -0.0"),
    "a default": ("def f(x, a=1):\n    return x + a", "def f(x, a=2):\n    return x + a"),
    "a default by keyword": ("def f(x, *, a=1):\n    return x + a", "def f(x, *, a=2):\n    return x + a"),
    "a global": ("K = 2.0\ndef f(x):\n    return x * K", "K = 3.0\ndef f(x):\n    return x * K"),
    "the type of a global": ("K = 2.0\ndef f(x):\n    return x * K", "K = np.float32(2)\ndef f(x):\n    return x * K"),
    "a global of an inner function": (
        "K = 2.0\ndef f(x):\n    def g(v):\n        return v * K\n    return g(x)",
        "K = 3.0\ndef f(x):\n    def g(v):\n        return v * K\n    return g(x)",
    ),
    "an element of an array": (
        "A = np.arange(5.0)\ndef f(x):\n    return x + A[0]",
        "A = np.arange(5.0) + [0, 0, 0, 0, 1e-9]\ndef f(x):\n    return x + A[0]",
    ),
    "an item of a tuple": ("T = (1, 2)\ndef f(x):\n    return x + T[0]", "T = (1, 3)\ndef f(x):\n    return x + T[0]"),
    "an enclosing function": (
        "def make(k):\n    def f(x):\n        return x * k\n    return f\nf = make(2.0)",
        "def make(k):\n    def f(x):\n        return x * k\n    return f\nf = make(3.0)",
    ),
    "a function that it calls": (f"K = 2\n{HELPER}", f"K = 2\n{HELPER.replace('*', '+')}"),
    "a global of that": (f"K = 2\n{HELPER}", f"K = 3\n{HELPER}"),
    "an option of that": (f"K = 2\n{HELPER}", f"K = 2\n{HELPER.replace('njit', 'njit(fastmath=True)')}"),
    "the signature of that": (f"K = 2\n{HELPER}", f"K = 2\n{HELPER.replace('njit', FIXED)}"),
    "what stands for a function": (
        TAUGHT,
        TAUGHT.replace("x + 1", "x + 2"),
    ),
    "a branch that raises": (
        "def f(x):\n    if x[0] > 1:\n        raise ValueError('a')\n    return x",
        "def f(x):\n    if x[0] > 1:\n        raise ValueError('b')\n    return x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", SAME_AND_OTHER)
def test_the_text_is_the_same_in_two_readings_and_another_where_this_differs(what):
    first, second = SAME_AND_OTHER[what]
    assert read(first) == read(first)
    assert read(first) != read(second)


@pytest.mark.parametrize("body", ["h.K", "h.g(x)", "h.deep.K", "getattr(h, 'K')"])
def test_what_is_read_through_a_module_counts_and_what_is_not_read_does_not(body):
    def text(k, unused=0):
        deep = module("deep", f"K = {k}")
        helper = module("helper", f"import numba\nK = {k}\nUNUSED = {unused}\n@numba.njit\ndef g(x):\n    return x * K")
        helper.deep = deep
        return read(f"def f(x):\n    return x + {body}", h=helper)

    assert text(2.0) == text(2.0, unused=[1])
    assert text(2.0) != text(3.0)


def test_two_functions_that_read_different_parts_of_one_module_are_both_read():
    def text(a, b):
        helper = module("helper", f"import numba\nA = {a}\nB = {b}")
        source = "@numba.njit\ndef g(x):\n    return x * h.B\ndef f(x):\n    return g(x) + h.A"
        return read(source, h=helper)

    assert len({text(1, 1), text(2, 1), text(1, 2)}) == 3


def test_functions_that_call_themselves_and_one_another_are_read():
    source = "@numba.njit\ndef f(x):\n    return {} if x < 1 else f(x - 1)"
    assert read(source.format(1)) == read(source.format(1)) != read(source.format(2))


def test_stock_functions_and_vmath_are_known_by_their_names():
    source = "import math\ndef f(x):\n    return {}(x) + np.float32(1) + len(x) + math.pi"
    made = [read(source.format(name), vmath=vmath) for name in ("np.exp", "np.sin", "vmath.exp", "vmath.tanh")]
    assert len(set(made)) == 4


def test_a_function_that_others_taught_numba_is_read_with_what_they_taught():
    before = read("def f(x):\n    return np.trim_zeros(x)")

    @overloading.overload(np.trim_zeros)
    def trimmed(x):
        return lambda x: x

    assert read("def f(x):\n    return np.trim_zeros(x)") != before


def test_lines_count_in_a_file_and_its_name_does_not_in_a_session(tmp_path):
    code = "def f(x):\n    return x"
    texts = set()
    for name in ("<ipython-1>", "<ipython-2>", str(tmp_path / "ipykernel_1" / "2.py"), str(tmp_path / "no.py")):
        space = {"__name__": "made"}
        exec(compile(code, name, "exec"), space)
        texts.add(Reading(space["f"]).text)
    assert len(texts) == 1
    file = tmp_path / "there.py"
    file.write_text(code)
    for lead in ("", "\n"):
        space = {"__name__": "made"}
        exec(compile(lead + code, str(file), "exec"), space)
        texts.add(Reading(space["f"]).text)
    assert len(texts) == 3


CANNOT = {
    "an object": ("class C: pass\nK = C()\ndef f(x):\n    return x + K.a", "C"),
    "a class": ("class C: pass\ndef f(x):\n    return C(x)", "type C"),
    "a list": ("L = [1]\ndef f(x):\n    return x + L[0]", "list"),
    "a large array": ("A = np.zeros(200_000)\ndef f(x):\n    return x + A[0]", "array of float64, 1600000 bytes"),
    "an array of objects": ("A = np.array([None])\ndef f(x):\n    return x + A[0]", "array of object, 8 bytes"),
    "an array of a class": ("A = np.ma.zeros(2)\ndef f(x):\n    return x + A[0]", "array of class MaskedArray"),
    "a variable without a value": ("def m():\n    def f(x):\n        return k\n    return f\n    k = 1\nf = m()", "k"),
    "an inlining rule": (
        "@numba.njit(inline=lambda *a: True)\ndef g(x):\n    return x\ndef f(x):\n    return g(x)",
        "option <function",
    ),
    "an intrinsic": (
        "@numba.extending.intrinsic\ndef g(context, x):\n    return None\ndef f(x):\n    return g(x)",
        "_Intrinsic g",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", CANNOT)
def test_what_cannot_be_read_leaves_no_text(what):
    source, reason = CANNOT[what]
    assert unread(source).startswith(reason)


def test_globals_without_a_name_leave_no_text():
    space = {}
    exec("def f(x):\n    return x", space)
    assert Reading(space["f"]).unread == "f, whose globals have no name"


def test_an_attribute_that_others_taught_numba_leaves_no_text_where_it_may_be_read():
    @overloading.overload_method(numba.types.Array, "opsdk_test_doubled")
    def doubled(x):
        return lambda x: x * 2

    assert unread("def f(x):\n    return x.opsdk_test_doubled()").startswith("attribute opsdk_test_doubled")
    assert read("def f(x):\n    return x.sum()")


def test_a_reading_tells_whether_numbas_threads_are_needed():
    space = {"__name__": "made", "numba": numba}
    source = "@numba.njit(parallel=True)\ndef g(x):\n    return x\n@numba.njit\ndef h(x):\n    return g(x)\n"
    exec(source + "def f(x):\n    return h(x)\ndef e(x):\n    return x", space)
    assert [Reading(space[name]).is_parallel for name in "gfe"] == [True, True, False]


def test_only_what_is_read_after_a_module_counts():
    """`opsdk.exp` is an op, which nobody can read, and `opsdk.vmath.exp` is another thing."""
    assert read("def f(x):\n    return opsdk.vmath.exp(x) + np.exp(x)", opsdk=opsdk)
    helper = module("helper", "K = 2.0\nexp = []\n")
    assert read("def f(x):\n    return np.exp(x) * h.K", h=helper)
    assert unread("def f(x):\n    h.K\n    g = h\n    return g.exp", h=helper) == "list"
    assert unread("def f(x):\n    return (h, h.K)[0].exp", h=helper) == "list"
    source = "def m():\n    k = h\n    def f(x):\n        return np.exp(x) * k.{}\n    return f\nf = m()"
    assert read(source.format("K"), h=helper)
    assert unread(source.format("exp"), h=helper) == "list"


LOOKUPS = {
    "a module that it imports": "import json; k = len(json.__name__)",
    "a file that NumPy loads": "k = np.load('k.npy')[0]",
    "a number that NumPy draws": "k = np.random.rand()",
    "a text that is run": "k = eval('2.0')",
    "what a helper of its imports": "k = helper()",
}


@pytest.mark.parametrize("body", LOOKUPS.values(), ids=LOOKUPS)
def test_what_an_overload_finds_where_no_text_can_tell_leaves_its_callers_without_one(body):
    lines = ["def taught(x):", f"    {body}", "    return lambda x: x * k"]
    read = {"np": np, "__name__": "made"}
    exec("def helper():\n    import json\n    return len(json.__name__)", read)
    exec("\n".join(lines), read)
    exec("def stub(x):\n    return x\ndef calls(x):\n    return stub(x)", read)
    assert Reading(read["calls"]).text is not None
    overloading.overload(read["stub"])(read["taught"])
    assert Reading(read["calls"]).text is None
