import math

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.core.errors import DefinitionError


def test_emitted_c_is_a_row_that_broadcasts(rng):
    @opsdk.elementwise(namespace="t")
    def shifted(x, w, *, by: float = 1.0, times: int = 2):
        return vmath.exp(-x * w) * times + by

    shifted.kernel("cpu", language="c", source=opsdk.c_source(shifted))
    assert shifted.opdef.kernels.select("cpu", np.dtype("float32")).language == "c"
    for a, b in (((3, 4), (3, 4)), ((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2,)), ((0, 4), (4,))):
        x, w = rng.normal(size=a), rng.normal(size=b)
        np.testing.assert_allclose(shifted(x, w, by=0.5, times=3), np.exp(-x * w) * 3 + 0.5, rtol=1e-14)


def test_a_gradient_is_emitted_with_all_its_results(rng):
    @opsdk.elementwise(namespace="t")
    def product(x, w):
        return x * w

    product.grad.kernel("cpu", language="c", source=opsdk.c_source(product.grad))
    x, w = (opsdk.to_tensor(rng.normal(size=(3, 2)), stop_gradient=False) for _ in "xw")
    product(x, w).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), w.numpy())
    np.testing.assert_array_equal(w.grad.numpy(), x.numpy())


def test_one_dtype_alone_can_be_emitted():
    @opsdk.elementwise(namespace="t")
    def negated(x):
        return -x

    text = opsdk.c_source(negated, dtypes=("float64",))
    assert "negated_f64" in text
    assert "negated_f32" not in text


def test_an_op_without_an_expression_is_refused():
    with pytest.raises(DefinitionError, match=r"'opsdk::reduce_sum': C source expected an op made with opsdk.element"):
        opsdk.c_source(opsdk.find_op("reduce_sum"))
    with pytest.raises(DefinitionError, match=r"'opsdk::softmax': C source expected an op made with opsdk.element"):
        opsdk.c_source(opsdk.find_op("softmax"))


def test_an_expression_that_depends_on_a_word_is_refused():
    @opsdk.elementwise(namespace="t")
    def either(x, *, how: str = "up"):
        return vmath.ceil(x) if how == "up" else vmath.floor(x)

    with pytest.raises(DefinitionError, match="C source expected attributes that are numbers, got 'how'"):
        opsdk.c_source(either)


def emitted(op, name, reference):
    """An op of C alone, with what `c_source` gives of another one."""
    schema = str(op.schema).partition("::")[2].replace("@1", "")
    made = opsdk.op(f"emitted::{schema}", infer=opsdk.infer.broadcast)(reference)
    made.kernel("cpu", language="c", source=opsdk.c_source(op))
    return made


@pytest.mark.parametrize("name", ["i", "size", "t0", "double", "exp", "result0", "linux", "log", "int64_t", "x_in"])
@pytest.mark.parametrize("kind", ["input", "attribute"])
def test_names_of_the_author_are_none_of_c_or_of_the_text(name, kind):
    declared = f"Tensor {name}" if kind == "input" else f"*, float {name}=10.0"
    scope = {}
    exec(f"def function(x, {name}): return (x + {name}) * 2.0 + x", scope)
    op = opsdk.elementwise(f"t::named(Tensor x, {declared}) -> Tensor out")(scope["function"])
    made = emitted(op, "named", scope["function"])
    x = np.arange(3.0)
    assert made(*([x, np.full(3, 10.0)] if kind == "input" else [x])).tolist() == [20.0, 23.0, 26.0]


@pytest.mark.parametrize(("dtype", "held"), [("float32", 2**24), ("float64", 2**53)])
def test_a_whole_number_that_the_dtype_rounds_is_refused_as_the_op_refuses_it(dtype, held):
    op = opsdk.elementwise("t::less(Tensor x, *, int m=3) -> Tensor out")(lambda x, m: x - m)
    made = emitted(op, "less", lambda x, m: x - x.dtype.type(m))
    x = np.zeros(1, dtype)
    assert made(x, m=-held).tolist() == [float(held)]
    assert made(x, m=2 * held).tolist() == [-2.0 * held]
    for m in (held + 1, -held - 1, 2**63 - 1):
        with pytest.raises(opsdk.core.errors.KernelStatusError, match="an int attribute is beyond the whole numbers"):
            made(x, m=m)


@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.5, 2.0])
def test_a_power_is_that_of_the_c_standard_in_vector_code_too(exponent):
    op = opsdk.elementwise("t::power(Tensor x) -> Tensor out")(lambda x: x**exponent)
    made = emitted(op, "power", lambda x: np.power(x, exponent))
    for dtype in ("float32", "float64"):
        x = np.array([-np.inf, -0.0, 0.0, 4.0, np.inf, -1.0] * 8, dtype)
        wanted = np.array([_power(value, exponent) for value in x.tolist()], dtype)
        np.testing.assert_array_equal(made(x), wanted)
        np.testing.assert_array_equal(np.signbit(made(x))[wanted == 0], np.signbit(wanted)[wanted == 0])


def _power(x, exponent):
    try:
        return math.pow(x, exponent)  # C's
    except ValueError:  # where C gives nan, or an infinity at 0
        return math.inf if x == 0 else math.nan


def test_a_primitive_is_functions_of_its_own_name_and_what_they_call():
    text = opsdk.c_source(vmath.erfcx) + opsdk.c_source(vmath.logaddexp) + opsdk.c_source(vmath.trigamma)
    assert "static inline double vmath_erfcx(double x_in)" in text
    assert "static inline float vmath_logaddexpf(float a_in, float b_in)" in text
    with pytest.raises(
        DefinitionError, match=r"C source: expected an op, a function of numbers of opsdk"
    ):
        opsdk.c_source(vmath.isnan)


def test_special_functions_in_c_are_those_of_vmath():
    names = ("lgamma", "digamma", "trigamma", "erfcx", "erfinv", "log_ndtr", "i0e", "i1e", "j0", "j1", "sinc")
    special = opsdk.elementwise(
        f"emitted::special(Tensor x) -> ({', '.join(f'Tensor {name}' for name in names)})", nondifferentiable=names
    )(lambda x: tuple(getattr(vmath, name)(x) for name in names))
    special.kernel("cpu", language="c", source=opsdk.c_source(special))
    x = np.array([-3.7, -0.4, 0.0, 0.3, 0.99, 1.0, 2.5, 9.5, np.inf, np.nan])
    for dtype in ("float32", "float64"):
        for name, made in zip(names, special(x.astype(dtype)), strict=True):
            wanted = getattr(vmath, name)(x.astype(dtype))
            np.testing.assert_allclose(made, wanted, rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)
