"""The first lines of what opsdk says to a newcomer, provoked and judged; numbers are those of docs/questions.md.

A log often keeps one line only. So the first line of an error has to name the op, which of its arguments it is about,
what was got, and a remedy: the last part, behind a semicolon.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import OpsdkError
from tests.contracts.tree import REPOSITORY

QUESTIONS = REPOSITORY / "docs" / "questions.md"
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)
C_SOURCE = "int32_t {name}_f64(const DLTensor *x, DLTensor *y) {{ {body} return 0; }}"


def leaf(values):
    return opsdk.to_tensor(np.asarray(values, "float64"), stop_gradient=False)


# -- errors ------------------------------------------------------------------------------------------------------------


def broadcast_shape():
    @opsdk.op(namespace="q", infer=opsdk.infer.like("x"))
    def scale(x, gamma):
        return x * gamma

    @scale.backward
    def scale_grad(x, gamma, dy):
        return dy * gamma, dy * x

    scale(leaf(np.ones((4, 8, 2))), leaf(np.ones((8, 1)))).sum().backward()


def too_few_gradients():
    @opsdk.op(namespace="q")
    def product(x, w):
        return x * w

    @product.backward
    def product_grad(w, dy):
        return dy * w

    product(leaf([1.0]), leaf([2.0])).sum().backward()


def clip01():
    @opsdk.op(namespace="q")
    def clip01(x):
        return np.clip(x, 0, 1)

    return clip01


def no_backward():
    clip01()(leaf([1.0])).sum().backward()


def no_backward_in_a_program():
    with opsdk.static.program_guard(opsdk.static.Program()):
        x = opsdk.static.data("x", [3], "float64")
        x.stop_gradient = False
        opsdk.static.gradients(clip01()(x), x)


def relu():
    @opsdk.op(namespace="q")
    def relu(x):
        return np.maximum(x, 0)

    @relu.backward
    def relu_grad(y, dy):
        return dy * (y > 0)

    return relu


def opaque_second_order():
    x = leaf([1.0])
    (first,) = opsdk.grad(relu()(x).sum(), x, create_graph=True)
    opsdk.grad(first.sum(), x)


def changed_cotangent():
    @opsdk.op(namespace="q")
    def double(x):
        return 2 * x

    @double.backward
    def double_grad(dy):
        dy *= 2
        return dy.copy()

    double(leaf([1.0])).sum().backward()


def two_precisions():
    @opsdk.op(namespace="q")
    def product(x, w):
        return x * w

    product(np.ones(3, "float16"), np.ones(3, "float32"))


def no_row_for_the_dtype():
    @opsdk.op(namespace="q")
    def half(x):
        return x / 2

    half.kernel("cpu", language="c", source=C_SOURCE.format(name="half", body=""))
    half(np.ones(3, "float32"))


def untyped_numba():
    pytest.importorskip("numba")

    @opsdk.op(namespace="q", infer=lambda x: opsdk.TensorSpec(x.shape[:-1], x.dtype))
    def total(x):
        return x.sum(-1)

    @total.kernel("cpu", language="numba")
    def total_numba(x, y):
        for i in range(x.shape[0]):
            value = 0.0
            for _ in range(x.shape[1]):
                value += x[i]
            y[i] = value

    total(np.ones((2, 3)))


def signature_of_other_types():
    numba = pytest.importorskip("numba")

    @opsdk.op(namespace="q")
    def same(x):
        return x.copy()

    @same.kernel("cpu", language="numba")
    @numba.njit("float64[:](float64[:])")
    def same_numba(x):
        return x.copy()

    same(np.ones(3, "float32"))


def no_device():
    from opsdk.backends.cuda.runtime import can_run

    if can_run():
        pytest.skip("there is a CUDA device")
    opsdk.to_tensor([1.0], place=opsdk.CUDAPlace(0))


def no_compiler():
    @opsdk.op(namespace="q")
    def same(x):
        return x.copy()

    same.kernel("cpu", language="c", source=C_SOURCE.format(name="same", body="/* nobody compiled this */"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        patch.delenv("CC", raising=False)
        patch.delenv("OPSDK_CC", raising=False)
        same(np.ones(2))


def missing_symbol():
    @opsdk.op(namespace="q")
    def far(x):
        return x.copy()

    body = "OPSDK_DATA(double, y)[0] = elsewhere();"
    far.kernel("cpu", language="c", source=f"double elsewhere(void);\n{C_SOURCE.format(name='far', body=body)}")
    far(np.ones(2))


def another_file_of_the_same_op():
    for factor in (1, 2):
        text = f"@opsdk.op('q::snake(Tensor x) -> Tensor y')\ndef snake(x):\n    return {factor} * x\n"
        exec(compile(text, f"/somewhere/file{factor}.py", "exec"), {"opsdk": opsdk, "__name__": f"file{factor}"})


def unknown_op():
    opsdk.find_op("contrib::snakes")


def tensor_of_another_library():
    foreign = type("Tensor", (), {"__module__": "torch._tensor"})
    relu()(foreign())


def arguments_of_a_py_func():
    program = opsdk.static.Program()
    with opsdk.static.program_guard(program):
        x = opsdk.static.data("x", [3], "float64")
        y = program.current_block().create_var(name="y", shape=[3], dtype="float64")
        opsdk.static.py_func(np.tanh, x, y, backward_func=lambda y, dy: dy)


def branch_on_an_input():
    @opsdk.elementwise(namespace="q")
    def leaky(x, *, slope: float = 0.1):
        return x if x > 0 else slope * x


# number: what provokes it, and the op, the argument or part, what was got, and the remedy, as the first line has them
ERRORS = {
    "4": (broadcast_shape, "op 'q::scale'", "'gamma': expected (8, 1)", "got (4, 8, 2)", "sum it over axes 0 and 2"),
    "5": (too_few_gradients, "op 'q::product'", "(dx, dw)", "got 1", "or a dict by name"),
    "6": (no_backward, "op 'q::clip01'", "x needs a gradient", "no backward", "write @clip01.backward"),
    "6 in a Program": (
        no_backward_in_a_program, "op 'q::clip01'", "x needs a gradient", "no backward", "write @clip01.backward",
    ),
    "7": (opaque_second_order, "op 'q::relu_grad'", "a derivative of it", "NumPy code", "give it a backward"),
    "9": (changed_cotangent, "op 'q::double_grad'", "input 'dy'", "was changed in place", "work on a copy"),
    "10": (broadcast_shape, "op 'q::scale'", "gradient of 'gamma'", "got (4, 8, 2)", "sum it over axes 0 and 2"),
    "12": (two_precisions, "op 'q::product'", "output 'y': expected float16", "got float32", "cast it with .astype"),
    "12 in C": (no_row_for_the_dtype, "op 'q::half', c kernel", "half_f32 for float32", "half_f64", "cast the inputs"),
    "15": (untyped_numba, "op 'q::total', numba kernel", "iadd", "float64, array(float64, 1d", "index the array until"),
    "17": (no_device, "to_tensor", "Place(cuda:0)", "expected a CUDA device, ", "NUMBA_ENABLE_CUDASIM=1"),
    "19": (signature_of_other_types, "op 'q::same'", "argument type", "array(float32", "leave the signature out"),
    "21": (no_compiler, "op 'q::same', c kernel", "$OPSDK_CC and $CC", "cc, gcc, clang", "or name one in OPSDK_CC"),
    "23": (missing_symbol, "op 'q::far', c kernel", "undefined reference", "elsewhere", "name the library that has it"),
    "24": (another_file_of_the_same_op, "op 'q::snake@1'", "file1.py:1", "got another definition", "or pass replace"),
    "25": (unknown_op, "op 'contrib::snakes'", "not registered", "registered: ", "import what defines it"),
    "26": (tensor_of_another_library, "op 'q::relu'", "input 'x'", "got torch._tensor.Tensor", "pass a NumPy array"),
    "28": (arguments_of_a_py_func, "py_func", "backward_func", "(x, y, y@GRAD)", "skip_vars_in_backward_input="),
    "30": (branch_on_an_input, "op 'q::leaky', line ", "'if'", "a symbol that depends on x", "write vmath.where"),
}  # fmt: skip


@pytest.mark.parametrize(("provoke", "op", "argument", "got", "remedy"), ERRORS.values(), ids=ERRORS)
def test_the_first_line_names_op_argument_what_was_got_and_the_remedy(provoke, op, argument, got, remedy):
    with pytest.raises(OpsdkError) as caught:
        provoke()
    line, *more = str(caught.value).splitlines()
    assert more == []
    assert line.startswith(op)
    assert argument in line
    assert got in line
    assert remedy in line.rpartition("; ")[2]


# -- what the commands say ---------------------------------------------------------------------------------------------

HEAD = """
import numpy as np
import opsdk

@opsdk.op
def f(x):
    return {forward}

@f.backward
def f_grad({parameters}):
    return {backward}
"""
NOISE = "dy * 2 + np.random.default_rng().normal() * 1e-7"
BY_MEMORY = "2 * np.lib.stride_tricks.as_strided(dy, dy.shape, np.empty(dy.shape).strides).astype(dy.dtype)"

# number: the command, forward and backward of the op of the file, its parameters, and what is printed
REPORTS = {
    "1": ("check", "np.exp(x)", "y, dy", "dy * y", "judged in float64"),
    "2": ("check -v", "np.abs(x)", "x, dy", "dy * np.sign(x)", "= 0: yours 0, any value in [-1, 1] is right"),
    "3": ("check", "2 * x", "dy", NOISE, "got other ones the second time; seed what is random, or declare determin"),
    "8": ("check", "2 * x", "dy", BY_MEMORY, "got other values for cotangents in Fortran order; index by element"),
    "11": ("show", "np.exp(x)", "y, dy", "dy * y", "output y"),
    "13": ("check", "np.exp(x)", "y, dy", "dy * y", "sees down to"),
    "14": ("check", "np.exp(x)", "y, dy", "2 * dy * y", "gradient of 'x': wrong in 15 of 15 elements, worst x["),
    "32": ("check", "3 * x", "x, dy", "0 * dy + 3", "yours does not change with the cotangent; multiply by it"),
}


@pytest.mark.parametrize(("command", "forward", "parameters", "backward", "said"), REPORTS.values(), ids=REPORTS)
def test_a_command_says_it_unasked(run, here, command, forward, parameters, backward, said):
    (here / "op.py").write_text(HEAD.format(forward=forward, parameters=parameters, backward=backward))
    name, *options = command.split()
    assert said in run(name, "op.py:f", *options).stdout


# -- the page ----------------------------------------------------------------------------------------------------------

# What other tests hold, and what only a page can say.
ELSEWHERE = {
    "16": "tests/backends/cache/test_store.py",
    "18": "opsdk/backends/cuda/launch.py",
    "20": "opsdk/ship/bench/text.py",
    "22": "tests/backends/cache/test_lock.py",
    "27": "docs/migrating.md",
    "29": "docs/choosing.md",
    "31": "tests/ship/describe/test_catalog.py",
}
NOT_YET = {"26"}


def test_every_question_of_the_page_is_accounted_for():
    rows = ROW.findall(QUESTIONS.read_text(encoding="utf-8"))
    assert [number for number, *_ in rows] == [str(number) for number in range(1, 33)]
    said = {name.partition(" ")[0] for name in (*ERRORS, *REPORTS)}
    assert {number for number, _, _, where in rows if where == "not yet"} == NOT_YET
    assert said - {"26"} | ELSEWHERE.keys() | NOT_YET == {number for number, *_ in rows}
    assert [place for place in ELSEWHERE.values() if not (REPOSITORY / place).is_file()] == []


def test_a_row_of_the_page_is_read_as_its_four_cells():
    assert ROW.findall("| 7 | why? | so: `a` | error |\n") == [("7", "why?", "so: `a`", "error")]
