import ctypes

import numpy as np
import pytest

import opsdk
from opsdk.backends.numba.cpu import _compiled
from opsdk.core.errors import AliasError, CompileError, DefinitionError, DTypeError, MissingDependencyError, ShapeError

numba = pytest.importorskip("numba")
X = np.array([-1.0, 2.0])


@pytest.fixture
def op():
    @opsdk.op("t::f(Tensor x, *, float slope=0.5) -> Tensor y")
    def f(x, slope):
        raise AssertionError("the reference ran")

    return f


def test_a_kernel_may_return_its_output(op):
    @op.kernel("cpu", language="numba")
    def leaky(x, slope):
        return np.where(x > 0, x, slope * x)

    assert [op(X).tolist(), op(X, slope=0.25).tolist()] == [[-0.5, 2.0], [-0.25, 2.0]]


def test_a_kernel_may_fill_a_buffer_that_it_names(op):
    @op.kernel("cpu", language="numba")
    def leaky(x, slope, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] if x.flat[i] > 0 else slope * x.flat[i]

    for shape in ((2,), (2, 1)):
        assert op(X.reshape(shape)).tolist() == np.array([-0.5, 2.0]).reshape(shape).tolist()


def test_a_kernel_may_name_its_parameters_in_any_order(op):
    @op.kernel("cpu", language="numba")
    def leaky(y, slope, x):
        for i in range(x.size):
            y[i] = slope * x[i]

    assert op(X, slope=3.0).tolist() == [-3.0, 6.0]


def test_a_kernel_without_the_attribute_is_not_given_it(op):
    op.kernel("cpu", lambda x: x * 2, language="numba")
    assert op(X).tolist() == [-2.0, 4.0]


def test_a_kernel_that_is_compiled_already_is_taken_as_it_is(op):
    compiled = numba.njit(lambda x, slope: x * slope)
    op.kernel("cpu", compiled, language="numba")
    assert op(X).tolist() == [-0.5, 1.0]
    assert compiled.nopython_signatures


def test_a_kernel_may_fill_two_buffers_and_return_none():
    @opsdk.op("t::both(Tensor x) -> (Tensor y, Tensor z)")
    def both(x):
        raise AssertionError("the reference ran")

    @both.kernel("cpu", language="numba")
    def kernel(z, x, y):
        for i in range(x.size):
            y[i] = x[i] + 1
            z[i] = x[i] + 2

    for _ in range(2):
        assert [array.tolist() for array in both(X)] == [[0.0, 3.0], [1.0, 4.0]]


def test_a_kernel_serves_its_own_dtype_only(op):
    op.kernel("cpu", lambda x: x * 2, language="numba", dtype="float32")
    assert op(X.astype("float32")).tolist() == [-2.0, 4.0]
    with pytest.raises(AssertionError, match="the reference ran"):
        op(X)


def test_a_kernel_that_numba_cannot_type_is_refused_with_numbas_error_as_its_cause(op):
    @op.kernel("cpu", language="numba")
    def wrong(x, slope):
        return x.no_such_attribute

    for _ in range(2):
        with pytest.raises(CompileError) as caught:
            op(X)
        error = caught.value
        assert str(error).startswith("op 't::f', numba kernel: does not compile, ")
        assert "no_such_attribute" in str(error)
        assert "\n" not in str(error)
        assert isinstance(error.__cause__, numba.core.errors.TypingError)
        assert error.code == "OP411"
        assert f"test_cpu.py:{wrong.__code__.co_firstlineno + 2}" in error.__notes__[0]
    assert len(op.opdef.plans) == 0


def test_a_call_that_numba_cannot_type_is_shown_with_its_types(op):
    @op.kernel("cpu", language="numba")
    def wrong(x):
        total = 0.0
        for i in range(x.size):
            total += x[i:]
        return total

    with pytest.raises(CompileError) as caught:
        op(X)
    assert str(caught.value) == (
        "op 't::f', numba kernel: does not compile, numba has no iadd(float64, array(float64, 1d, C)); one is a "
        "number and one an array: index the array until it is a number, or make both arrays"
    )
    assert f"test_cpu.py:{wrong.__code__.co_firstlineno + 4}" in caught.value.__notes__[0]


def test_a_buffer_kernel_that_numba_cannot_compile_is_refused_too(op):
    @op.kernel("cpu", language="numba")
    def wrong(x, y):
        y[0] = "text"

    with pytest.raises(CompileError, match="op 't::f', numba kernel: does not compile, "):
        op(X)


def test_a_construct_that_numba_does_not_read_is_refused_too(op):
    @op.kernel("cpu", language="numba")
    def wrong(x):
        class Inner:
            pass

        return x

    with pytest.raises(CompileError, match="numba kernel: does not compile, ") as caught:
        op(X)
    assert isinstance(caught.value.__cause__, numba.core.errors.UnsupportedBytecodeError)


def test_an_exception_that_a_kernel_raises_itself_keeps_its_type(op):
    @op.kernel("cpu", language="numba")
    def picky(x, slope):
        if x.size > 2:
            raise ValueError("too long")
        return x * slope

    op(X)
    with pytest.raises(ValueError, match="too long") as caught:
        op(np.ones(3))
    assert caught.value.__notes__[0].startswith("  raised in op 't::f', numba kernel at ")


def test_without_numba_a_row_is_refused_when_it_is_launched_and_not_before(op, monkeypatch):
    op.kernel("cpu", lambda x: x * 2, language="numba")
    monkeypatch.setitem(__import__("sys").modules, "numba", None)
    with pytest.raises(MissingDependencyError, match=r"^op 't::f', numba kernel needs numba, which cannot be imported"):
        op(X)


def test_inputs_that_are_read_only_or_strided_are_served(op):
    op.kernel("cpu", lambda x: x * 2, language="numba")
    frozen = X.copy()
    frozen.flags.writeable = False
    assert op(frozen).tolist() == [-2.0, 4.0]
    assert op(np.arange(6.0)[::2]).tolist() == [0.0, 4.0, 8.0]


@pytest.mark.parametrize("contiguous", [False, True])
def test_a_contiguous_row_gets_contiguous_inputs_and_any_other_gets_them_as_they_lie(op, contiguous):
    def kernel(x, slope, y):
        for i in range(x.size):
            y[i] = x[i] + (10.0 if x.flags.c_contiguous else 0.0)

    op.kernel("cpu", kernel, language="numba", contiguous=contiguous)
    assert op(np.arange(6.0)[::2]).tolist() == ([10.0, 12.0, 14.0] if contiguous else [0.0, 2.0, 4.0])
    assert op(np.arange(2.0)).tolist() == [10.0, 11.0]


def test_a_contiguous_row_that_returns_its_output_may_be_left_an_input_out():
    op = opsdk.op("t::many(Tensor x, Tensor? w) -> Tensor y")(lambda x, w: x)
    op.kernel("cpu", lambda x, w: x * (2.0 if x.flags.c_contiguous else 0.0), language="numba", contiguous=True)
    assert op(np.arange(4.0)[::2], None).tolist() == [0.0, 4.0]


def test_a_contiguous_row_changes_a_strided_input_in_place_itself():
    op = opsdk.op("t::grow_(Tensor(a!) x, Tensor by) -> Tensor(a!) y")(lambda x, by: None)

    @op.kernel("cpu", language="numba", contiguous=True)
    def grow(x, by):
        for i in range(x.size):
            x[i] += by[i] if by.flags.c_contiguous else 100.0

    whole = np.zeros(4)
    op(whole[::2], np.arange(4.0)[::2])
    assert whole.tolist() == [0.0, 0.0, 2.0, 0.0]


def test_a_row_has_one_dispatcher_and_its_options_change_the_code(op):
    def doubled(x, y):
        for i in range(x.size):
            y.flat[i] = 2 * x.flat[i]

    made = []
    for options in ({}, {"contiguous": True}, {"parallel": True}):
        op.kernel("cpu", doubled, language="numba", **options)
        row = list(op.opdef.kernels)[-1]
        made.append(_compiled(op.opdef, row, is_checked=False))
        assert _compiled(op.opdef, row, is_checked=False) is made[-1]
    assert made[2].__wrapped__.targetoptions["parallel"]


@pytest.mark.parametrize("options", [{}, {"contiguous": True}])
def test_a_layout_that_is_compiled_after_a_global_changed_is_refused_and_the_others_stay(options):
    scope = {"k": 5.0, "__name__": "__main__"}
    text = "def scaled(x, y):\n    for i in range(x.size):\n        y.flat[i] = k * x.flat[i]\n"
    exec(compile(text, "<stdin-1>", "exec"), scope)
    op = opsdk.op(lambda x: 5.0 * x, name="scaled", namespace="t")
    op.kernel("cpu", scope["scaled"], language="numba", **options)
    assert op(np.ones(2)).tolist() == [5.0, 5.0]
    scope["k"] = 6.0
    assert op(np.ones(2)).tolist() == [5.0, 5.0]
    for x in (np.ones((2, 2)), np.ones((1, 1, 1)), np.ones(2, "float32")):
        with pytest.raises(
            DefinitionError, match="expected 'k' to be what it was when the kernel was registered, it was"
        ):
            op(x)
    if "contiguous" not in options:
        with pytest.raises(DefinitionError, match="expected 'k' to be what it was"):
            op(np.ones(4)[::2])
    scope["k"] = 5.0
    assert op(np.ones((2, 2))).tolist() == [[5.0, 5.0], [5.0, 5.0]]


def test_a_row_that_is_registered_again_is_compiled_again_with_what_it_reads_by_then():
    scope = {"k": 5.0, "__name__": "__main__"}
    text = "def scaled(x, y):\n    for i in range(x.size):\n        y[i] = k * x[i]\n"
    exec(compile(text, "<stdin-1>", "exec"), scope)
    op = opsdk.op(lambda x: scope["k"] * x, name="scaled", namespace="t")
    values = []
    for k in (5.0, 6.0):
        scope["k"] = k
        op.kernel("cpu", scope["scaled"], language="numba")
        values.append(op(np.ones(2)).tolist())
    assert values == [[5.0, 5.0], [6.0, 6.0]]
    scope["k"] = 7.0
    with pytest.raises(DefinitionError, match="expected 'k' to be what it was when the kernel was registered, it was"):
        op(np.ones(2, "float32"))
    op.kernel("cpu", scope["scaled"], language="numba")
    assert op(np.ones(2, "float32")).tolist() == [7.0, 7.0]


@pytest.mark.parametrize("form", ["buffer", "functional"])
def test_a_cotangent_of_another_shape_than_the_output_is_refused_before_a_loop_reads_beyond_it(form):
    op = opsdk.op("t::square(Tensor x, *, int k=2) -> Tensor y", infer=opsdk.infer.like("x"))(lambda x, k: x**k)
    gradient = op.backward(lambda x, dy, k: k * x ** (k - 1) * dy)

    def fill(x, dy, k, dx):
        for i in range(x.size):
            dx[i] = k * x[i] ** (k - 1) * dy[i]

    def give(x, dy, k):
        dx = np.empty_like(x)
        for i in range(x.size):
            dx[i] = k * x[i] ** (k - 1) * dy[i]
        return dx

    gradient.kernel("cpu", fill if form == "buffer" else give, language="numba")
    for _ in range(2):
        assert gradient(X, X).tolist() == [2, 8]
        with pytest.raises(ShapeError, match=r"op 't::square_grad': expected dy of the shape of y, \(2,\), got \(1,\)"):
            gradient(X, X[:1])


def test_a_parallel_row_takes_arrays_without_axes(op):
    @op.kernel("cpu", language="numba", parallel=True)
    def leaky(x, slope, y):
        for i in numba.prange(x.size):
            y.flat[i] = x.flat[i] if x.flat[i] > 0 else slope * x.flat[i]

    made = op(np.array(-3.0))
    assert (made.shape, float(made)) == ((), -1.5)
    assert op(X).tolist() == [-0.5, 2.0]
    assert op(opsdk.to_tensor(np.array(5.0))).item() == 5.0


def test_a_parallel_row_may_return_the_buffer_that_it_filled(op):
    @op.kernel("cpu", language="numba", parallel=True)
    def leaky(x, slope, y):
        for i in numba.prange(x.size):
            y.flat[i] = slope * x.flat[i]
        return y

    assert op(np.array(-3.0)).tolist() == -1.5


@pytest.mark.parametrize("rule", [None, opsdk.infer.like("x"), opsdk.infer.broadcast], ids=["no", "like", "broadcast"])
def test_a_cotangent_of_integers_is_refused(rule):
    op = opsdk.op("t::half(Tensor x) -> Tensor y", infer=rule)(lambda x: x / 2)
    gradient = op.backward(lambda dy: dy / 2)

    @gradient.kernel("cpu", language="numba")
    def half(dy, dx):
        for i in range(dy.size):
            dx[i] = dy[i] / 2

    with pytest.raises(DTypeError, match=r"op 't::half_grad': expected dy of a floating dtype, got int64; cast it"):
        gradient(np.array([1, 2]))
    assert gradient(X).tolist() == [-0.5, 1.0]


def test_a_kernel_that_loops_over_a_list_takes_an_empty_one():
    @opsdk.op("test_numba_cpu::shifted(Tensor x, *, int[] by=[], float[] more=[]) -> Tensor y")
    def shifted(x, *, by, more):
        return x + sum(by) + sum(more)

    @shifted.kernel("cpu", language="numba")
    def shifted_numba(x, by, more, y):
        total = 0.0
        for step in by:
            total += step
        for step in more:
            total += step
        if len(by) > 1:
            total += 100 * by[1]
        for i in range(x.size):
            y.flat[i] = x.flat[i] + total

    x = np.arange(3.0)
    for _ in range(2):
        np.testing.assert_array_equal(shifted(x), x)
        np.testing.assert_array_equal(shifted(x, by=[2]), x + 2)
        np.testing.assert_array_equal(shifted(x, more=[0.5, 0.25]), x + 0.75)
        np.testing.assert_array_equal(shifted(x, by=[2, 3], more=()), x + 305)


def test_a_kernel_that_does_not_compile_for_an_empty_list_either_way_says_so():
    @opsdk.op("test_numba_cpu::unlooped(Tensor x, *, int[] by=[]) -> Tensor y")
    def unlooped(x, *, by):
        return x.copy()

    @unlooped.kernel("cpu", language="numba")
    def unlooped_numba(x, by, y):
        y.flat[0] = x.nonsense + by[0]

    with pytest.raises(CompileError, match="does not compile"):
        unlooped(np.ones(2))


def test_a_helper_that_numba_vectorizes_is_what_it_was_however_often_it_has_compiled():
    @numba.vectorize
    def helper(x):
        return 2 * x

    with opsdk.REGISTRY.scoped():
        op = opsdk.op("t::vectorized(Tensor x) -> Tensor y")(lambda x: 2 * x)

        @op.kernel("cpu", language="numba")
        def kernel(x, y):
            for i in range(x.size):
                y.flat[i] = helper(x.flat[i])

        for x in (X, X.astype("float32"), X.reshape(1, 2), X):
            np.testing.assert_array_equal(op(x), 2 * x)


@pytest.mark.parametrize("pair", [lambda y: (y, y), lambda y: (y, y[:]), lambda y: (y[1:], y[:1])])
def test_two_results_of_one_memory_are_made_two(pair):
    pair = numba.njit(pair)
    with opsdk.REGISTRY.scoped():
        op = opsdk.op("t::pair(Tensor x) -> (Tensor a, Tensor b)", infer=lambda x: ((None,), (None,)))(lambda x: (x, x))
        op.infer(lambda x: (opsdk.TensorSpec([None], x.dtype), opsdk.TensorSpec([None], x.dtype)))
        op.kernel("cpu", language="numba")(lambda x: pair(x * 2))
        for _ in range(3):
            a, b = op(X)
            assert not np.shares_memory(a, b)


LATE = """
def scaled(x, y):
    for i in range(x.size):
        y.flat[i] = k * x.flat[i]
def scaled_grad(dy, dx):
    for i in range(dy.size):
        dx.flat[i] = k * dy.flat[i]
"""


@pytest.mark.parametrize("helper", [False, True])
def test_a_global_that_is_assigned_below_the_kernels_is_what_the_first_compilation_found(helper):
    scope = {"__name__": "__main__", "numba": numba}
    exec(compile(LATE.replace("k *", "k() *") if helper else LATE, "<stdin-1>", "exec"), scope)
    op = opsdk.op(lambda x: 2.0 * x, name="scaled", namespace="t")
    op.backward(lambda dy: 2.0 * dy)
    op.kernel("cpu", scope["scaled"], language="numba")
    op.grad.kernel("cpu", scope["scaled_grad"], language="numba")

    def assign(value):
        exec(f"@numba.njit\ndef k():\n    return {value}" if helper else f"k = {value}", scope)

    assign(2.0)
    x = opsdk.to_tensor(np.ones(2), stop_gradient=False)
    y = op(x)
    assert y.tolist() == [2.0, 2.0]
    assign(3.0)
    for call in (lambda: op(np.ones(2, "float32")), lambda: op.grad(np.ones(2)), lambda: y.sum().backward()):
        with pytest.raises(
            DefinitionError, match="expected 'k' to be what it was when the kernel was registered, it was"
        ):
            call()
    assert op(x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("size", [10, 150_000])
@pytest.mark.parametrize("body", ["return TABLE", "return TABLE[: len(TABLE)]", "return TABLE[::-1][::-1]"])
def test_an_array_of_its_module_that_a_kernel_returns_is_copied(op, size, body):
    read = {"TABLE": np.ones(size)}
    exec(f"def returns(x):\n    {body}", read)
    op.kernel("cpu", language="numba")(read["returns"])
    x = np.zeros(size)
    first, second = op(x), op(x)
    first *= 0
    assert [second.sum(), op(x).sum(), read["TABLE"].sum()] == [size] * 3


WORK = np.zeros(2)


def kept(x):
    WORK[:] = x
    return WORK


@pytest.mark.parametrize("part", [slice(None), slice(None, None, -1)])
@pytest.mark.parametrize("is_whole", [True, False])
def test_an_array_that_python_code_keeps_inside_of_a_kernel_is_copied(op, part, is_whole):
    @op.kernel("cpu", language="numba")
    @numba.njit
    def returns(x, slope):
        with numba.objmode(y="float64[::1]"):
            y = kept(x)
        return y if is_whole else y[part]

    first, second = op(np.ones(2)), op(np.full(2, 5.0))
    assert [first.tolist(), second.tolist()] == [[1.0, 1.0], [5.0, 5.0]]


def test_a_kernel_that_returns_a_view_of_its_input_is_refused(op):
    @op.kernel("cpu", language="numba")
    def view(x):
        return x[::-1]

    with pytest.raises(AliasError, match="expected a new array, got a view of input 'x'"):
        op(X)


def test_arrays_of_its_module_among_several_results_are_copied_too():
    table = np.ones((2, 150_000))

    @opsdk.op("t::two(Tensor x) -> (Tensor y, Tensor[] parts)", infer=lambda x: (x, [x, x]))
    def two(x):
        raise AssertionError("the reference ran")

    @two.kernel("cpu", language="numba")
    def returns(x):
        return table[0], [table[1], table[0]]

    y, (one, other) = two(table[0])
    for made in (y, one, other):
        made *= 0
    assert table.sum() == 300_000
    assert [part.sum() for part in two(table[0])[1]] == [150_000, 150_000]


def looped(name, **scope):
    """Returns an op and its Numba kernel, which calls a global of its own module for each element."""
    exec("def kernel(x, y):\n    for i in range(x.size):\n        y.flat[i] = called(x.flat[i])\n", scope)
    op = opsdk.register_op(f"test_numba_cpu::{name}", forward=lambda x: x + 0, replace=True)
    op.kernel("cpu", scope["kernel"], language="numba")
    return op, scope


def test_another_function_of_c_under_a_name_that_a_kernel_calls_is_refused():
    library = ctypes.CDLL(None)
    for name in ("labs", "llabs"):
        getattr(library, name).argtypes, getattr(library, name).restype = [ctypes.c_double], ctypes.c_double
    op, scope = looped("of_c", called=library.labs)
    op(np.ones(2))
    scope["called"] = library.llabs
    with pytest.raises(DefinitionError, match="expected 'called' to be what it was when the kernel was registered"):
        op(np.ones((2, 1)))


@pytest.mark.parametrize("again", [2, 3])
def test_another_overload_of_what_a_kernel_calls_is_refused(again):
    def taught(factor):
        def called(value):
            return value * 2

        def meaning(value):
            return lambda value: value * factor

        numba.extending.overload(called)(meaning)
        return called

    op, scope = looped(f"taught_{again}", called=taught(2))
    assert op(np.ones(2)).tolist() == [2.0, 2.0]
    scope["called"] = taught(again)
    if again == 2:
        assert op(np.ones((2, 1))).tolist() == [[2.0], [2.0]]
        return
    with pytest.raises(DefinitionError, match="expected 'an overload of what it calls' to be what it was"):
        op(np.ones((2, 1)))


@pytest.mark.parametrize("contiguous", [False, True])
def test_a_view_of_an_input_that_is_not_contiguous_is_one_of_its_memory(contiguous):
    op = opsdk.op("t::flip(Tensor(a) x) -> Tensor(a) y")(lambda x: x[::-1])
    op.kernel("cpu", lambda x: x[::-1], language="numba", contiguous=contiguous)
    array = np.arange(8.0)
    for _ in range(2):
        op(array[::2])[:] = 5.0
    assert array.tolist() == [5, 1, 5, 3, 5, 5, 5, 7]
    x = opsdk.to_tensor(np.arange(8.0).reshape(4, 2))
    op(x.transpose([1, 0])).fill_(5.0)
    assert (x.numpy() == 5.0).all()
