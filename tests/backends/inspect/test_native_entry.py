import ctypes
import dataclasses
import threading

import numpy as np
import pytest

import opsdk
from opsdk import TensorSpec, native, vmath
from opsdk.core.errors import (
    ArityError,
    AttributeValueError,
    BindingError,
    CompileError,
    DefinitionError,
    DTypeError,
    KernelNotFoundError,
    ShapeError,
)

numba = pytest.importorskip("numba")

FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_void_p),
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_double),
    ctypes.c_int64,
    ctypes.c_int64,
)
ARGUMENTS = "(void **pointers, const int64_t *sizes, const double *attrs, int64_t start, int64_t stop)"


def call(entry, arrays, sizes=(), attrs=(), start=0, stop=1):
    """Calls an entry as C does; gives its status."""
    pointers = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
    given = (ctypes.c_int64 * (len(sizes) or 1))(*sizes), (ctypes.c_double * (len(attrs) or 1))(*attrs)
    return FUNCTION(entry.address)(pointers, *given, start, stop)


def call_whole(entry, *arrays, attrs=()):
    return call(entry, arrays, [size for array in arrays for size in array.shape], attrs)


def user_op(signature, kernel, infer=None, reference=None, **options):
    op = opsdk.op(signature, infer=infer or opsdk.infer.like())(reference or (lambda x: x * 1))
    op.kernel("cpu", kernel, language="numba", **options)
    return op


# -- expressions --------------------------------------------------------------------------------------------------


@opsdk.elementwise
def scaled(x, y, *, slope: float = 0.5):
    return x * slope + y


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_an_elementwise_entry_computes_the_elements_of_its_range(dtype):
    spec = TensorSpec((None,), dtype)
    entry = native(scaled, spec, spec)
    assert (entry.kind, entry.attrs, entry.row) == ("elements", ("slope",), "numba (cpu, floating)")
    assert entry.prototype == f"int32_t scaled_{dtype}_{dtype}{ARGUMENTS}"
    assert [held for _, held in entry.pointers] == [dtype] * 3
    x, y, out = np.arange(10, dtype=dtype), np.ones(10, dtype), np.full(10, -1, dtype)
    assert call(entry, [x, y, out], attrs=[2.0], start=3, stop=7) == 0
    np.testing.assert_array_equal(out, [-1, -1, -1, 7, 9, 11, 13, -1, -1, -1])
    assert call(entry, [x, y, out], attrs=[-1.0], start=0, stop=1) == 0
    assert out[0] == 1


def test_an_entry_is_frozen_and_the_same_for_the_same_kind_of_call():
    first = native(scaled, TensorSpec(3), TensorSpec(3), slope=2.0)
    assert native(scaled, TensorSpec(3), TensorSpec(3), slope=3.0) is first
    assert native(scaled, TensorSpec(3, "float64"), TensorSpec(3, "float64")).address != first.address
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.address = 0


def test_arrays_and_tensors_say_what_specs_say():
    x = np.ones(3, "float32")
    made = [native(scaled, x, x), native(scaled, TensorSpec(3), x), native(scaled, opsdk.to_tensor(x), x)]
    assert len({entry.address for entry in made}) == 1


def test_the_gradient_of_an_expression_has_an_entry_of_its_own():
    spec = TensorSpec((None,), "float64")
    entry = native(opsdk.relu.grad, spec, spec)
    read, cotangent, out = np.array([-1.0, 2.0]), np.array([5.0, 7.0]), np.empty(2)
    assert call(entry, [read, cotangent, out], stop=2) == 0
    assert out.tolist() == [0.0, 7.0]


def test_inputs_of_different_shapes_are_refused():
    with pytest.raises(ShapeError, match=r"op .*: native entry expected inputs of one shape, which it walks side by s"):
        native(scaled, TensorSpec((2, 3)), TensorSpec(3))


@opsdk.rowwise(per_row=("label",), integer=("label",))
def picked(x, label):
    return vmath.row_take(x, label)


def test_a_row_entry_computes_the_rows_of_its_range():
    spec = TensorSpec((None, None), "float64")
    entry = native(opsdk.find_op("softmax"), spec)
    assert entry.kind == "rows"
    x = np.log([[1.0, 3.0], [1.0, 1.0], [4.0, 1.0]])
    out = np.zeros_like(x)
    assert call(entry, [x, out], [2, 3], start=1, stop=3) == 0
    np.testing.assert_allclose(out, [[0, 0], [0.5, 0.5], [0.8, 0.2]], rtol=1e-15)


def test_a_position_outside_of_its_row_is_a_status():
    entry = native(picked, TensorSpec((None, None), "float64"), TensorSpec((None,), "int64"))
    x, out = np.arange(6.0).reshape(2, 3), np.zeros(2)
    assert call(entry, [x, np.array([2, 0]), out], [3, 2], stop=2) == 0
    assert out.tolist() == [2.0, 3.0]
    assert call(entry, [x, np.array([2, 3]), out], [3, 2], stop=2) == 2
    assert call(entry, [x, np.array([-1, 0]), out], [3, 2], stop=2) == 2


INEXACT = 5


@opsdk.elementwise("entries::plus_whole(Tensor x, *, int n=0) -> Tensor y")
def plus_whole(x, n):
    return x + n


@opsdk.rowwise("entries::but_first(Tensor x, *, int n=0) -> Tensor y")
def but_first(x, n):
    return vmath.where(vmath.row_index() * 1.0 > n, x, 0.0)


@pytest.mark.parametrize(("dtype", "status"), [("float32", INEXACT), ("float64", 0)])
def test_a_whole_number_that_the_computation_does_not_hold_is_a_status(dtype, status):
    x, y = np.zeros((1, 2), dtype), np.full((1, 2), -1, dtype)
    for op, sizes in ((plus_whole, ()), (but_first, (2, 1))):
        entry = native(op, TensorSpec((1, 2), dtype))
        assert call(entry, [x, y], sizes, [2**24], stop=1) == 0
        assert call(entry, [x, y], sizes, [2**24 + 1], stop=1) == status


def test_a_row_whose_positions_would_be_rounded_is_a_status():
    x = np.zeros((1, 2), np.float32)
    entry = native(but_first, TensorSpec((1, None), "float32"))
    assert call(entry, [x, x.copy()], [2**24 + 1, 1], [0]) == INEXACT  # before it reads anything


def test_a_numba_kernel_is_given_whole_numbers_or_a_status():
    kernel, schema = lambda x, n: x + n, "entries::g(Tensor x, *, int n=1) -> Tensor y"
    op = user_op(schema, kernel, reference=lambda x, n: x + n, dtype="int64")
    entry = native(op, TensorSpec((None,), "int64"))
    x, y = np.zeros(1, np.int64), np.zeros(1, np.int64)
    for given in (2**53 - 1, -(2**53) + 1):
        assert call_whole(entry, x, y, attrs=[given]) == 0
        assert y.tolist() == [given]
    assert [call_whole(entry, x, y, attrs=[n]) for n in (2.0**53, -(2.0**60), 0.5, np.nan, np.inf)] == [INEXACT] * 5


@pytest.mark.parametrize("gradient", [False, True])
def test_a_row_entry_along_another_axis_is_refused(gradient):
    @opsdk.rowwise(namespace="t")
    def soft(x, *, axis: int = -1):
        return x - opsdk.vmath.row_logsumexp(x)

    op = soft.grad if gradient else soft
    specs = [opsdk.TensorSpec((None, None), "float32")] * len(op.opdef.schema.inputs)
    assert opsdk.native(op, *specs, axis=1).address == opsdk.native(op, *specs).address
    with pytest.raises(AttributeValueError, match="entry expected axis -1 or 1, the last, since it walks rows"):
        opsdk.native(op, *specs, axis=0)


def test_a_row_op_without_rows_is_refused():
    with pytest.raises(ShapeError, match="native entry expected an input with rows, got none with a dimension"):
        native(opsdk.find_op("softmax"), TensorSpec(()))


# -- users' Numba kernels -----------------------------------------------------------------------------------------


def everything(x, slope, n, twice, mode):
    if x.size > 5:
        raise ValueError("too long", slope)
    out = x * slope + n
    if twice and mode == "plus":
        out = out * 2
    return out


SIGNATURE = "entries::f(Tensor x, *, float slope=0.5, int n=1, bool twice=False, str mode='plus') -> Tensor y"
SERVED = user_op(SIGNATURE, everything, reference=lambda x, slope, n, twice, mode: x * 1, dtype="float64")
SERVED.kernel("cpu", lambda x, slope: (x * np.float32(slope)).astype(np.float32), language="numba", dtype="float32")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_kernel_that_returns_has_its_result_copied_out(dtype):
    entry = native(SERVED, TensorSpec((None,), dtype), twice=True)
    assert (entry.kind, entry.attrs) == ("call", ("slope",) if dtype == "float32" else ("slope", "n"))
    assert entry.prototype == f"int32_t f_{dtype}{ARGUMENTS}"
    assert entry.pointers == (("x", dtype), ("y", dtype))
    x, y = np.arange(4, dtype=dtype), np.zeros(4, dtype)
    assert call_whole(entry, x, y, attrs=[3.0, 10]) == 0
    np.testing.assert_array_equal(y, x * 3 if dtype == "float32" else (x * 3 + 10) * 2)


def test_attributes_that_are_no_numbers_are_frozen_into_the_code():
    x, y = np.ones(2), np.zeros(2)
    for attrs, wanted in (({"twice": True}, 8.0), ({"twice": False}, 4.0), ({"twice": True, "mode": "other"}, 4.0)):
        assert call_whole(native(SERVED, TensorSpec((None,), "float64"), **attrs), x, y, attrs=[3.0, 1]) == 0
        assert y.tolist() == [wanted] * 2


def test_an_exception_and_another_shape_are_statuses():
    entry = native(SERVED, TensorSpec((None,), "float64"))
    y = np.zeros(3)
    assert call_whole(entry, np.zeros(6), np.zeros(6), attrs=[1.0, 1]) == 1
    assert call_whole(entry, np.zeros(2), y, attrs=[1.0, 1]) == 4
    assert y.tolist() == [0.0] * 3
    assert call_whole(entry, np.zeros(3), y, attrs=[1.0, 1]) == 0
    assert y.tolist() == [1.0] * 3


def test_a_kernel_that_fills_is_given_the_results_to_fill():
    @opsdk.op("t::both(Tensor x, *, float k=1.0) -> (Tensor y, Tensor z)", infer=lambda x: (x, TensorSpec((), x.dtype)))
    def both(x, k):
        return x * k, x.sum()

    @both.kernel("cpu", language="numba")
    def kernel(z, x, y, k):
        z[()] = 0.0
        for i in range(x.size):
            y[i] = x[i] * k
            z[()] += x[i]

    entry = native(both, TensorSpec((None,), "float64"))
    assert entry.pointers == (("x", "float64"), ("y", "float64"), ("z", "float64"))
    y, z = np.zeros(3), np.zeros(())
    assert call_whole(entry, np.array([1.0, 2.0, 4.0]), y, z, attrs=[2.0]) == 0
    assert (y.tolist(), z.item()) == ([2.0, 4.0, 8.0], 7.0)


def test_a_kernel_may_return_several_results_numbers_among_them():
    op = user_op(
        "t::two(Tensor x) -> (Tensor y, Tensor z)",
        lambda x: (x > 1, x.sum()),
        infer=lambda x: (TensorSpec(x.shape, "bool"), TensorSpec((), "float64")),
        reference=lambda x: (x > 1, x.sum()),
    )
    y, z = np.zeros(3, bool), np.zeros(())
    assert call_whole(native(op, TensorSpec((None,), "float64")), np.array([1.0, 2.0, 4.0]), y, z) == 0
    assert (y.tolist(), z.item()) == ([False, True, True], 7.0)


@pytest.mark.parametrize(
    ("dtype", "shapes"), [("bool", [()]), ("uint8", [(3,), (0,)]), ("complex64", [(2, 0, 3), (2, 1, 3)])]
)
def test_other_dtypes_and_no_dimensions_at_all_are_served(dtype, shapes):
    op = user_op("t::same(Tensor x) -> Tensor y", lambda x: x.copy())
    entry = native(op, TensorSpec([None] * len(shapes[0]), dtype))
    for shape in shapes:
        x = np.array(np.arange(1, 1 + np.prod(shape, dtype=int)).reshape(shape), dtype)
        y = np.zeros(shape, dtype)
        assert call_whole(entry, x, y) == 0
        np.testing.assert_array_equal(y, x)


def test_a_kernel_that_changes_its_input_does_so_through_its_pointer():
    op = opsdk.op("t::add_(Tensor(a!) x, Tensor by) -> Tensor(a!)")(lambda x, by: x)

    @op.kernel("cpu", language="numba")
    def kernel(x, by):
        for i in range(x.size):
            x[i] += by[i]

    entry = native(op, TensorSpec((None,), "float64"), TensorSpec((None,), "float64"))
    assert [name for name, _ in entry.pointers] == ["x", "by"]
    x = np.array([1.0, 2.0])
    assert call_whole(entry, x, np.array([10.0, 20.0])) == 0
    assert x.tolist() == [11.0, 22.0]


def test_an_input_that_is_left_out_has_no_pointer():
    @opsdk.op("t::biased(Tensor x, Tensor? bias=None, *, int[] axes=[1, 2]) -> Tensor y", infer=opsdk.infer.like("x"))
    def biased(x, bias, axes):
        return x * 1

    @biased.kernel("cpu", language="numba")
    def kernel(x, bias, axes):
        out = x * axes[1]
        if bias is not None:
            out = out + bias
        return out

    x, y, spec = np.array([1.0, 2.0]), np.zeros(2), TensorSpec((None,), "float64")
    assert call_whole(native(biased, spec), x, y) == 0
    assert y.tolist() == [2.0, 4.0]
    assert call_whole(native(biased, spec, spec, axes=[0, 3]), x, np.array([5.0, 5.0]), y) == 0
    assert y.tolist() == [8.0, 11.0]


def test_an_entry_runs_in_threads_side_by_side():
    """ctypes lets go of the interpreter's lock; results are allocated by Numba's own memory meanwhile."""
    op = user_op("t::sums(Tensor x) -> Tensor y", lambda x: np.cumsum(x) + np.ones_like(x))
    entry = native(op, TensorSpec((None,), "float64"))
    gate, right = threading.Barrier(8), []

    def work(number):
        x = np.full(1000, float(number))
        y = np.zeros_like(x)
        gate.wait()
        done = all(call_whole(entry, x, y) == 0 for _ in range(100))
        right.append(done and np.array_equal(y, np.cumsum(x) + 1))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 8


def test_what_the_adapter_cannot_serve_is_refused():
    spec = TensorSpec((None,), "float64")
    half = user_op("t::half(Tensor x) -> Tensor y", lambda x: x * 2)
    with pytest.raises(
        DTypeError, match="op 't::half', numba kernel: 'x' is float16, which Numba does not compile for"
    ):
        native(half, TensorSpec((None,), "float16"))
    short = user_op("t::short(Tensor x) -> Tensor y", lambda x: x.astype(np.float32))
    with pytest.raises(
        DTypeError, match=r"kernel: expected float64 in 1 dimensions to be returned, got array\(float32, 1d, C"
    ):
        native(short, spec)
    with pytest.raises(
        BindingError, match=r"native entry: expected an op, got function 'softmax'; opsdk\.find_op finds"
    ):
        native(opsdk.softmax, spec)
    missing = user_op("t::missing(Tensor x) -> Tensor y", lambda x: np.no_such_function(x))
    with pytest.raises(
        CompileError, match="numba kernel: does not compile, module 'numpy' has no attribute 'no_such_fun"
    ):
        native(missing, spec)
    listed = user_op(
        "t::listed(Tensor[] xs) -> Tensor y", lambda xs: xs[0], infer=lambda xs: xs[0], reference=lambda xs: xs[0]
    )
    with pytest.raises(
        KernelNotFoundError, match="native entry expected inputs that are single tensors, got a list for 'xs'"
    ):
        native(listed, [spec])
    split = user_op("t::split(Tensor x) -> Tensor[] ys", lambda x: [x], infer=lambda x: [x], reference=lambda x: [x])
    with pytest.raises(
        DTypeError, match="output 'ys': native entry expected one tensor whose dtype follows from the inp"
    ):
        native(split, spec)
    parallel = numba.njit(parallel=True)(lambda x: x * 2)
    threads = user_op("t::threads(Tensor x) -> Tensor y", parallel)
    with pytest.raises(
        KernelNotFoundError, match="native entry expected a kernel that runs on its caller's thread, got one"
    ):
        native(threads, spec)
    with pytest.raises(ArityError, match="expected input 'x', got no value for it"):
        native(half)


# -- C kernels, and none at all --------------------------------------------------------------------------------------

LEAKY = """
int32_t leaky_f32(const DLTensor *x, DLTensor *y, double slope) { return 0; }
"""


def test_the_entry_of_a_c_row_is_its_function():
    op = opsdk.op("t::leaky(Tensor x, *, float slope=0.5) -> Tensor y")(lambda x, slope: x * 1)
    op.kernel("cpu", language="c", source=LEAKY)
    entry = native(op, TensorSpec((None,), "float32"))
    assert (entry.kind, entry.row) == ("dltensors", "c (cpu, *)")
    assert entry.prototype == "int32_t leaky_f32(const DLTensor *x, DLTensor *y, double slope)"
    assert entry.address > 0


def test_without_a_compiled_row_the_rows_that_there_are_are_named():
    op = opsdk.op("t::plain(Tensor x) -> Tensor y")(lambda x: x * 1)
    with pytest.raises(KernelNotFoundError) as caught:
        native(op, TensorSpec((None,), "int8"))
    assert str(caught.value) == (
        "op 't::plain': no compiled kernel for (cpu, int8); kernels: numpy (cpu, *); give it a kernel in numba or c"
    )
    with pytest.raises(
        KernelNotFoundError, match=r"no compiled kernel for \(cpu, int64\); kernels: .*numba \(cpu, floating\)"
    ):
        native(opsdk.exp, TensorSpec((None,), "int64"))


def test_a_user_s_kernel_whose_global_changed_has_no_entry():
    scope = {"k": 5.0, "__name__": "__main__"}
    exec("def scaled(x, y):\n    for i in range(x.size):\n        y[i] = k * x[i]\n", scope)
    op = opsdk.op(lambda x: 5.0 * x, name="scaled", namespace="t")
    op.kernel("cpu", scope["scaled"], language="numba")
    op(np.ones(2))
    scope["k"] = 6.0
    with pytest.raises(DefinitionError, match="expected 'k' to be what it was when the kernel was registered"):
        opsdk.native(op, np.ones(2))
