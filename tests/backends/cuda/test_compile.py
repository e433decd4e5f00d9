"""CUDA code compiled without a device; the tests of the compiler itself need the package numba-cuda."""

import math
import re
import sys
from importlib.util import find_spec

import numpy as np
import pytest

import opsdk
from opsdk.backends.cuda import compile as cuda_compile
from opsdk.backends.cuda.compile import compile_cuda
from opsdk.core.errors import (
    ArityError,
    CompileError,
    DTypeError,
    KernelNotFoundError,
    LaunchError,
    MissingDependencyError,
)
from opsdk.expr.decorators import elementwise
from opsdk.expr.symbol import apply

numba = pytest.importorskip("numba")
needs_compiler = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")
ELF = b"\x7fELF"
CAPABILITIES = [(8, 0), (9, 0)]


@pytest.fixture
def swish():
    @elementwise(namespace="t")
    def swish(x, *, beta: float = 1.0):
        return x * apply("sigmoid", beta * x)

    return swish


@pytest.fixture
def leaky():
    @opsdk.op("t::leaky(Tensor x, *, float slope=0.5, str mode='a', bool flip=False) -> Tensor y")
    def leaky(x, slope, mode, flip):
        raise AssertionError("the reference ran")

    return leaky


def row(op, kernel, launch=None):
    op.kernel("cuda", kernel, language="numba", launch=launch or opsdk.launch.elementwise("y"))
    return op


def machine(binary):
    """Returns the number of a Linux CUDA binary's kind of machine, and its architecture, from its ELF header."""
    return int.from_bytes(binary[18:20], "little"), int.from_bytes(binary[48:52], "little")


@needs_compiler
@pytest.mark.parametrize("cc", CAPABILITIES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_an_expression_compiles_to_an_entry_over_pointers(swish, dtype, cc):
    code = compile_cuda(swish, dtype, cc)
    assert (code.name, code.cc) == (f"swish_{dtype}", cc)
    assert code.parameters == (("y0", f"{dtype} *"), ("x", f"{dtype} *"), ("beta", "double"), ("n", "int64"))
    entry = re.search(rf"\.visible \.entry swish_{dtype}\((.*?)\)", code.ptx, re.DOTALL)
    assert re.findall(r"\.param \.(\w+)", entry[1]) == ["u64", "u64", "f64", "u64"]
    assert f".target sm_{cc[0]}{cc[1]}" in code.ptx
    binary = code.cubin()
    assert (binary[:4], machine(binary)[0]) == (ELF, 190)  # 190 is CUDA
    assert f"swish_{dtype}".encode() in binary


@needs_compiler
def test_code_for_two_capabilities_differs(swish):
    codes = [compile_cuda(swish, "float32", cc).cubin() for cc in CAPABILITIES]
    assert machine(codes[0]) != machine(codes[1])


@needs_compiler
def test_a_float32_expression_computes_in_float32(swish):
    double = [line for line in compile_cuda(swish, "float32").ptx.splitlines() if ".f64" in line]
    assert [line.split()[0] for line in double] == [".param", ".reg", "ld.param.f64", "cvt.rn.f32.f64"]  # beta alone


@needs_compiler
def test_a_gradient_compiles_too(swish):
    code = compile_cuda(swish.grad, "float32")
    assert code.parameters[0] == ("y0", "float32 *")
    assert code.cubin()[:4] == ELF


@needs_compiler
@pytest.mark.parametrize("cc", CAPABILITIES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_a_row_expression_compiles_to_an_entry_over_pointers(dtype, cc):
    code = compile_cuda(opsdk.find_op("softmax"), dtype, cc)
    assert code.name == f"softmax_{dtype}"
    assert code.parameters == (("y0", f"{dtype} *"), ("x", f"{dtype} *"), ("rows", "int64"), ("n", "int64"))
    entry = re.search(rf"\.visible \.entry softmax_{dtype}\((.*?)\)", code.ptx, re.DOTALL)
    assert re.findall(r"\.param \.(\w+)", entry[1]) == ["u64"] * 4
    size = 256 * (8 if dtype == "float64" else 4)  # of one shared array, an element a thread
    assert re.findall(r"\.shared .*\[(\d+)\]", code.ptx) == [str(size)]
    assert (".f64" in code.ptx) is (dtype == "float64")
    binary = code.cubin()
    assert (binary[:4], machine(binary)[0]) == (ELF, 190)


@needs_compiler
@pytest.mark.parametrize(("dtype", "word"), [("float32", "f32"), ("float64", "f64")])
def test_what_is_compared_with_its_own_maximum_is_computed_alike_in_every_loop(dtype, word):
    with opsdk.REGISTRY.scoped():

        @opsdk.rowwise(namespace="t")
        def peaks(x, a, b):
            u = x * a
            return opsdk.vmath.where(u + b >= opsdk.vmath.row_max(u + b), abs(u), 0.0)

        ptx = compile_cuda(peaks, dtype).ptx
    assert f"mul.rn.{word}" in ptx
    assert f"fma.rn.{word}" not in ptx
    assert f"mul.{word}" not in ptx


@needs_compiler
def test_gradients_of_weights_are_lines_of_the_computations_dtype():
    code = compile_cuda(opsdk.find_op("layer_norm").grad, "float16")
    assert [kind for name, kind in code.parameters if name[0] == "y"] == ["float16 *", "float32 *", "float32 *"]
    assert code.parameters[-3:] == (("epsilon", "double"), ("rows", "int64"), ("n", "int64"))
    assert code.cubin()[:4] == ELF


@needs_compiler
def test_a_row_that_takes_positions_has_a_status():
    code = compile_cuda(opsdk.find_op("cross_entropy_with_logits"), ["float32", "int64"])
    assert ("label", "int64 *") in code.parameters
    assert code.parameters[-3:] == (("status", "int32 *"), ("rows", "int64"), ("n", "int64"))


@needs_compiler
@pytest.mark.parametrize("name", ["log_softmax", "rms_norm", "cosine_similarity", "cross_entropy_with_logits"])
def test_a_row_op_and_its_gradients_compile(name):
    op = opsdk.find_op(name)
    for each in (op, op.grad, op.grad.grad):
        kinds = ["int64" if given == "label" else "float32" for given in each.opdef.schema.input_names]
        assert compile_cuda(each, kinds).cubin()[:4] == ELF


@needs_compiler
def test_infinity_and_nan_may_be_constants():
    capped = elementwise(lambda x: apply("where", x == math.inf, math.nan, x), name="capped", namespace="t")
    assert compile_cuda(capped, "float32").cubin()[:4] == ELF


@needs_compiler
@pytest.mark.parametrize("cc", CAPABILITIES)
def test_a_users_kernel_compiles_to_an_entry_over_pointers_and_sizes(leaky, cc):
    from numba import cuda

    @cuda.jit(device=True)
    def smooth(v, slope):
        return math.exp(v) * slope

    def kernel(x, slope, flip, y):
        i = cuda.grid(1)
        if i < y.size:
            y[i] = -x[i] if flip else smooth(x[i], slope)

    code = compile_cuda(row(leaky, kernel), "float32", cc)
    assert code.parameters == (
        ("x", "float32 *"), ("x_size0", "int64"), ("slope", "double"), ("flip", "int64"),
        ("y", "float32 *"), ("y_size0", "int64"),
    )  # fmt: skip
    entry = re.search(r"\.visible \.entry leaky_float32\((.*?)\)", code.ptx, re.DOTALL)
    assert re.findall(r"\.param \.(\w+)", entry[1]) == ["u64", "u64", "f64", "u64", "u64", "u64"]
    assert (code.cubin()[:4], "_ZN" in entry[1]) == (ELF, False)


@needs_compiler
def test_a_kernel_of_rows_gets_matrices_with_shared_memory():
    from numba import cuda, float32

    total = opsdk.op("t::total(Tensor x, Tensor w) -> Tensor y")(lambda x, w: x)

    def kernel(x, w, y):
        part = cuda.shared.array(128, float32)
        part[cuda.threadIdx.x] = x[cuda.blockIdx.x, cuda.threadIdx.x] * w[0, 0, 0]
        cuda.syncthreads()
        y[cuda.blockIdx.x, cuda.threadIdx.x] = part[0]

    row(total, cuda.jit(kernel), opsdk.launch.rows("x", "y"))
    code = compile_cuda(total, ("float32", "float64"), ndims={"w": 3})
    assert [kind for name, kind in code.parameters if "size" not in name] == ["float32 *", "float64 *", "float32 *"]
    assert sum("size" in name for name, _ in code.parameters) == 2 + 3 + 2
    assert ".shared" in code.ptx
    assert code.cubin()[:4] == ELF


@needs_compiler
def test_scratch_comes_as_pointers_and_sizes_of_its_own_dtype(leaky):
    room = {"sums": lambda x: opsdk.TensorSpec((*x.shape, 2), "float64")}
    launch = opsdk.launch.fixed(1, 1)
    leaky.kernel("cuda", lambda x, y, sums: None, language="numba", launch=launch, scratch=room)
    parameters = compile_cuda(leaky, "float32").parameters
    assert parameters[-3:] == (("sums", "float64 *"), ("sums_size0", "int64"), ("sums_size1", "int64"))


@needs_compiler
def test_what_data_decide_is_counted_in_an_array_behind_scratch_that_numpy_makes():
    from contrib_ops import masked_select

    code = compile_cuda(masked_select, ("float32", "bool"))
    names = [name for name, _ in code.parameters]
    assert dict(code.parameters)["place"] == dict(code.parameters)["sizes"] == "int64 *"
    assert names[-4:] == ["y", "y_size0", "sizes", "sizes_size0"]
    assert compile_cuda(masked_select.grad, ("bool", "float32")).cubin()[:4] == ELF


@needs_compiler
@pytest.mark.parametrize("axes", [1, 2])
def test_the_alignments_of_contrib_ops_compile_both_ways(axes):
    from contrib_ops.losses.ctc_loss import ctc_terms
    from contrib_ops.losses.soft_dtw import soft_dtw

    for op in (soft_dtw, soft_dtw.grad):
        assert compile_cuda(op, "float32", ndims={"distances": 3, "ddistances": 3}).ptx
    ndims = {"log_probs": 3, "targets": axes, "dlog_probs": 3}
    integers = ("int64", "int64", "int32")
    assert compile_cuda(ctc_terms, ("float32", *integers), ndims=ndims).ptx
    assert compile_cuda(ctc_terms.grad, ("float32", *integers, "float32"), ndims=ndims).ptx


@needs_compiler
def test_a_kernel_that_numba_cannot_compile_is_refused(leaky):
    row(leaky, lambda x, y: x.no_such_attribute)
    with pytest.raises(CompileError, match=r"op 't::leaky', CUDA kernel: does not compile, .*no_such_attribute"):
        compile_cuda(leaky, "float32")


@needs_compiler
def test_the_question_for_a_device_is_answered_only_while_compiling(swish):
    from numba.cuda import dispatcher

    before = dispatcher.get_current_device
    compile_cuda(swish, "float32")
    assert dispatcher.get_current_device is before


@needs_compiler
def test_every_primitive_compiles_in_both_precisions():
    from opsdk.backends.cuda.elementwise import elementwise_kernel
    from opsdk.expr.node import BOOL, Node
    from opsdk.expr.primitives.table import PRIMITIVES
    from opsdk.expr.symbol import Symbol
    from opsdk.expr.trace import Expression

    x, w = (Symbol(Node("input", (), name)) for name in "xw")
    outputs = []
    for known in PRIMITIVES.values():
        made = apply(known.name, *((x < w) if kind == BOOL else (x, w)[i % 2] for i, kind in enumerate(known.takes)))
        outputs.append((apply("where", made, 1.0, 0.0) if known.gives == BOOL else made).node)
    expression = Expression(("x", "w"), (), tuple(outputs))
    from numba import cuda

    for dtype in (np.dtype("float32"), np.dtype("float64")):
        pointer = numba.types.CPointer(numba.from_dtype(dtype))
        signature = numba.types.void(*[pointer] * (len(outputs) + 2), numba.types.int64)
        with cuda_compile._compiling_for((8, 0)):
            kernel = elementwise_kernel("every", expression, dtype)
            ptx, _ = cuda.compile(kernel, signature, cc=(8, 0), device=False, abi="numba", output="ptx")
        assert ".visible .entry" in ptx


@needs_compiler
def test_without_nvjitlink_there_is_ptx_and_no_machine_code(swish, monkeypatch):
    code = compile_cuda(swish, "float32")

    class Core:
        class ObjectCode:
            from_ptx = staticmethod(lambda text: text)

        LinkerOptions = staticmethod(lambda **options: options)

        @staticmethod
        def Linker(source, options):
            raise RuntimeError("no nvJitLink")

    monkeypatch.setitem(sys.modules, "cuda.core", Core)
    with pytest.raises(MissingDependencyError, match=r"linking CUDA code needs nvJitLink, .*\(no nvJitLink\)"):
        code.cubin()


def test_without_numba_cuda_nothing_is_compiled(swish, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba_cuda", None)
    with pytest.raises(MissingDependencyError, match="op 't::swish': compiling for CUDA needs numba_cuda, which"):
        compile_cuda(swish, "float32")


def test_the_simulator_compiles_nothing(swish, monkeypatch):
    monkeypatch.setattr(cuda_compile, "is_simulated", lambda: True)
    with pytest.raises(MissingDependencyError, match="compiling for CUDA needs numba-cuda itself, NUMBA_ENABLE"):
        compile_cuda(swish, "float32")


@pytest.fixture
def uncompiled(monkeypatch):
    """What is found wrong before anything is compiled is found without the compiler too."""
    monkeypatch.setitem(sys.modules, "numba_cuda", np)


def test_there_is_one_dtype_for_each_input(uncompiled, swish):
    with pytest.raises(ArityError, match="op 't::swish': expected 1 dtypes, one per input, got 2"):
        compile_cuda(swish, ["float32", "float32"])


def test_an_op_without_a_cuda_row_for_the_dtype_is_refused(uncompiled, swish, leaky):
    with pytest.raises(KernelNotFoundError, match=r"op 't::leaky': no kernel for \(cuda, float32\); registered: \(cpu"):
        compile_cuda(leaky, "float32")
    with pytest.raises(KernelNotFoundError, match=r"no kernel for \(cuda, int64\)"):
        compile_cuda(swish, "int64")


def test_a_row_that_does_not_say_how_it_is_launched_is_refused(uncompiled, leaky):
    leaky.kernel("cuda", lambda x, y: None, language="numba")
    with pytest.raises(LaunchError, match="expected a launch shape, got none"):
        compile_cuda(leaky, "float32")


def test_an_attribute_that_is_no_number_cannot_be_passed_to_compiled_code(uncompiled, leaky):
    row(leaky, lambda x, mode, y: None)
    with pytest.raises(CompileError) as caught:
        compile_cuda(leaky, "float32")
    assert str(caught.value) == (
        "op 't::leaky', CUDA kernel: attribute 'mode' expected a float, int or bool in compiled code, got str"
    )


def test_a_dtype_that_a_device_does_not_compute_with_is_refused(uncompiled, swish, leaky):
    with pytest.raises(DTypeError, match="CUDA expression: expected float16, float32 or float64, got bfloat16"):
        compile_cuda(swish, "bfloat16")
    with pytest.raises(DTypeError, match="CUDA expression: expected float16, float32 or float64, got bfloat16"):
        compile_cuda(opsdk.find_op("softmax"), "bfloat16")
    with pytest.raises(DTypeError, match="compiling for CUDA: expected a dtype that Numba knows, got bfloat16"):
        compile_cuda(row(leaky, lambda x, y: None), "bfloat16")
