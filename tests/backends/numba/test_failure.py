import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError, BindingError, CompileError, DTypeError, ReturnError, ShapeError

numba = pytest.importorskip("numba")
X = np.array([-1.0, 2.0])


class Settings:
    slope = 0.5


SETTINGS = Settings()
TABLE = {"slope": 0.5}


def plain(x):
    return x * 2


@numba.njit
def compiled(x):
    y = x + 1
    return np.no_such_function(y)


@numba.njit
def compiled_too(x):
    y = x + 1
    return np.einsum("i->i", y)


def missing_function(x, slope):
    y = x * slope
    return np.no_such_function(y)


def missing_in_what_it_calls(x, slope):
    return compiled(x)


def unsupported_function(x, slope):
    return np.einsum("i->i", x)


def unsupported_in_what_it_calls(x, slope):
    return compiled_too(x)


def untyped_global(x, slope):
    y = x * 2
    return y * SETTINGS.slope


def global_dictionary(x, slope):
    return x * TABLE["slope"]


def undefined_global(x, slope):
    return x * nowhere  # noqa: F821


def calls_plain_python(x, slope):
    return plain(x)


def too_many_arguments(x, slope):
    return np.exp(x, x, x, x)


def wrong_arity_of_its_own(x, slope):
    return compiled(x, slope)


def missing_attribute(x, slope):
    return x.nope()


def two_types(x, slope):
    y = 1.0
    for _ in range(3):
        y = y + x
    return y


def unsupported_construct(x, slope):
    with open("file") as file:  # noqa: PTH123, F841
        pass
    return x


def bound_exception(x, slope):
    try:
        return x * 1
    except ZeroDivisionError as error:
        print(error)
        return x


# What is said, where (lines from the kernel's `def`, or of another function), and what helps.
CASES = [
    (missing_function, 2, "module 'numpy' has no attribute 'no_such_function'"),
    (missing_in_what_it_calls, (compiled, 3), "module 'numpy' has no attribute 'no_such_function'"),
    (unsupported_function, 1, "Use of unsupported NumPy function 'numpy.einsum' or unsupported use of the function."),
    (unsupported_in_what_it_calls, (compiled_too, 3), "Use of unsupported NumPy function 'numpy.einsum'"),
    (untyped_global, 2, "Untyped global name 'SETTINGS': Cannot determine Numba type of <class "),
    (global_dictionary, 1, "Untyped global name 'TABLE': Cannot determine Numba type of <class 'dict'>"),
    (undefined_global, 1, "NameError: name 'nowhere' is not defined"),
    (calls_plain_python, 1, "Untyped global name 'plain': Cannot determine Numba type of <class 'function'>"),
    (too_many_arguments, 1, "numba has no exp(array(float64, 1d, C), array(float64, 1d, C), array(float64, 1d, C), "),
    (wrong_arity_of_its_own, 1, "too many positional arguments"),
    (missing_attribute, 1, "Unknown attribute 'nope' of type array(float64, 1d, C)"),
    (two_types, 2, "Cannot unify float64 and array(float64, 1d, C) for 'y"),
    (unsupported_construct, 0, "The 'with (context manager) as (variable):' construct is not supported"),
    (bound_exception, 3, "Exception object cannot be stored into variable (error)"),
]


@pytest.fixture
def op():
    @opsdk.op("t::f(Tensor x, *, float slope=0.5) -> Tensor y")
    def f(x, slope):
        raise AssertionError("the reference ran")

    return f


@pytest.mark.parametrize(("kernel", "line", "said"), CASES, ids=[case[0].__name__ for case in CASES])
def test_what_numba_cannot_compile_is_named_with_the_op_the_line_and_the_reason(op, kernel, line, said):
    op.kernel("cpu", kernel, language="numba")
    with pytest.raises(CompileError) as caught:
        op(X)
    error = caught.value
    assert str(error).startswith("op 't::f', numba kernel: does not compile, ")
    assert said in str(error)
    assert "\n" not in str(error) and "Raised from" not in str(error)
    assert error.code == "OP411"
    function, offset = line if isinstance(line, tuple) else (kernel, line)
    code = getattr(function, "py_func", function).__code__
    # a function begins at the line of its decorator
    assert error.__notes__[0].endswith(f"test_failure.py:{code.co_firstlineno + offset}")
    assert error.__cause__ is not None


def test_a_plain_function_that_is_called_comes_with_what_helps(op):
    op.kernel("cpu", calls_plain_python, language="numba")
    with pytest.raises(CompileError) as caught:
        op(X)
    assert str(caught.value).endswith("; decorate plain with numba.njit")


@numba.njit("float64[:](float64[:], float64)")
def fixed_types(x, slope):
    return x * slope


def number_and_array(x, slope):
    total = 0.0
    for _ in range(2):
        total += x
    return total


@pytest.mark.parametrize(
    ("kernel", "array", "remedy"),
    [
        (fixed_types, X.astype("float32"), "leave the signature out of numba.njit(...), and it is compiled for the"),
        (number_and_array, X, "one is a number and one an array: index the array until it is a number, or make both"),
        (missing_function, X, "look at that line without compiling: NUMBA_DISABLE_JIT=1 runs the kernel as Python"),
    ],
    ids=["a signature of its own", "a number and an array", "anything else"],
)
def test_the_first_line_ends_with_what_to_do(op, kernel, array, remedy):
    op.kernel("cpu", kernel, language="numba")
    with pytest.raises(CompileError) as caught:
        op(array)
    assert str(caught.value).rpartition("; ")[2].startswith(remedy)


@pytest.mark.parametrize("kind", [AttributeError, NotImplementedError, TypeError, KeyError])
def test_what_a_kernel_raises_itself_is_no_failure_of_the_compiler(op, kind):
    @op.kernel("cpu", language="numba")
    def picky(x):
        if x[0] < 0:
            raise kind("planted")
        return x * 1

    for _ in range(2):
        with pytest.raises(kind, match="planted") as caught:
            op(X)
        assert not isinstance(caught.value, CompileError)


@pytest.mark.parametrize("filling", [False, True], ids=["returns", "fills"])
@pytest.mark.parametrize(("dtype", "named"), [("float16", "float16"), ("bfloat16", "bfloat16")])
def test_an_array_of_a_dtype_that_numba_does_not_compile_is_named(op, dtype, named, filling):
    def fills(x, y):
        y[0] = x[0]

    op.kernel("cpu", fills if filling else (lambda x: x * 2), language="numba")
    dtype = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else dtype
    with pytest.raises(DTypeError) as caught:
        op(X.astype(dtype))
    assert str(caught.value).startswith(
        f"op 't::f', numba kernel: 'x' is {named}, which Numba does not compile for the CPU; cast it, give the "
        "kernel the "
        "dtype that it serves (dtype='float32'), or write the op as an expression: @opsdk.elementwise"
    )


def test_a_buffer_of_such_a_dtype_is_named_too():
    half = opsdk.op("t::half(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec(x.shape, "float16"))(
        lambda x: x.astype("float16")
    )
    half.kernel("cpu", lambda x, y: None, language="numba")
    with pytest.raises(
        DTypeError, match="op 't::half', numba kernel: 'y' is float16, which Numba does not compile for"
    ):
        half(X)


@pytest.mark.parametrize(
    ("kernel", "error", "said"),
    [
        (lambda x: x.astype(np.float32), DTypeError, "output 'y': expected float64, got float32"),
        (
            lambda x: np.concatenate((x, x)),
            ShapeError,
            r"output 'y': expected shape \(2,\) like 'x' by the default rule, got",
        ),
        (lambda x: None, ReturnError, r"output 'y': expected a NumPy array, got nothing \(None\)"),
        (lambda x: (x * 2, x * 3), ArityError, r"expected 1 output \(y\), got 2"),
        (lambda x, y: x * 2, ReturnError, "expected nothing to be returned, since the kernel takes y to fill, got nda"),
        (lambda x, y: 1.0, ReturnError, "to fill, got float; fill y, or take it out of the parameters"),
    ],
    ids=["dtype", "shape", "nothing", "count", "array beside a buffer", "number beside a buffer"],
)
def test_what_a_kernel_gives_is_held_to_the_schema(op, kernel, error, said):
    op.kernel("cpu", kernel, language="numba")
    with pytest.raises(error, match=said):
        op(X)


def test_a_kernel_may_return_the_buffers_that_it_filled():
    two = opsdk.op("t::two(Tensor x) -> (Tensor y, Tensor z)")(lambda x: (x, x))

    @two.kernel("cpu", language="numba")
    def kernel(x, y, z):
        y[:] = x + 1
        z[:] = x + 2
        return y, z

    for _ in range(2):
        assert [array.tolist() for array in two(X)] == [[0.0, 3.0], [1.0, 4.0]]


def test_a_parameter_that_names_nothing_is_refused_when_the_row_is_registered(op):
    with pytest.raises(
        BindingError, match=r"numba kernel <lambda>\(x, w\): nothing is called 'w'; there are slope, x, y"
    ):
        op.kernel("cpu", lambda x, w: x, language="numba")


def test_a_check_of_the_op_names_the_line_too():
    bad = opsdk.op("t::bad(Tensor x, *, float slope=0.5) -> Tensor y")(lambda x, slope: x * slope)
    bad.kernel("cpu", missing_function, language="numba")
    report = opsdk.verify(bad)
    finding = next(each for each in report.findings if each.check == "compile")
    assert finding.code == "OP411"
    assert finding.at.endswith(f"test_failure.py:{missing_function.__code__.co_firstlineno + 2}")
