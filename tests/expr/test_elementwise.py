"""The decorator `elementwise`: what it accepts, declares and refuses."""

import ml_dtypes
import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.call.plan import make_plan
from opsdk.core.errors import (
    AttributeValueError,
    BindingError,
    DefinitionError,
    GradientMissingError,
    NameClashError,
    ShapeError,
    TraceError,
    UnknownOpError,
)

X = np.array([-2.0, 0.0, 3.0], np.float32)


def on_row(op, language, *arrays, **attrs):
    """Returns what one row of an op gives."""
    (row,) = [row for row in op.opdef.kernels if row.language == language and row.key.place == "cpu"]
    attrs = {**{decl.name: decl.default for decl in op.opdef.schema.attrs}, **attrs}
    return make_plan(op.opdef, arrays, attrs, row=row).launch(*arrays, **attrs)


def run_file(file, text, module="my_ops"):
    space = {"opsdk": opsdk, "vmath": vmath, "__name__": module}
    exec(compile(text, file, "exec"), space)
    return space


# -- definition --------------------------------------------------------------------------------------------------------


def test_an_op_is_read_from_the_function():
    @opsdk.elementwise
    def swish(x, *, beta: float = 1.0):
        """Swish."""
        return x * vmath.sigmoid(beta * x)

    assert swish.schema == "tests::swish@1(Tensor x, *, float beta=1.0) -> Tensor y"
    assert swish.__doc__.startswith("Swish.")
    assert [str(row) for row in swish.opdef.kernels] == [
        "numpy (cpu, *)",
        "numba (cpu, floating)",
        "numba (cuda, floating)",
    ]
    np.testing.assert_allclose(swish(X, beta=2.0), X / (1 + np.exp(-2.0 * X)), rtol=1e-6)


def test_an_op_is_read_from_a_schema():
    @opsdk.elementwise("sums::both(Tensor a, Tensor b) -> (Tensor total, Tensor product)")
    def any_name(a, b):
        return a + b, a * b

    total, product = any_name(X, X)
    assert any_name.opdef.name == "sums::both"
    assert (total.tolist(), product.tolist()) == ([-4.0, 0.0, 6.0], [4.0, 0.0, 9.0])


def test_name_namespace_and_traits_are_declared():
    @opsdk.elementwise(name="other", namespace="mine", nondifferentiable=["k"], domain={"x": (0.0, None)}, linear=True)
    def f(x, k):
        return x * k

    traits = f.opdef.traits
    assert (f.opdef.name, traits.nondifferentiable, traits.linear) == ("mine::other", ("k",), True)
    assert traits.domain == {"x": (0.0, None)}
    assert f.opdef.grad.wrt == (0,)


def test_the_function_is_read_once_and_then_never_runs():
    calls = []

    @opsdk.elementwise
    def f(x):
        calls.append(1)
        return x + 1

    before = len(calls)
    f(X)
    f(X.astype("float64"))
    f(np.arange(3))
    assert len(calls) == before == 1


def test_an_infer_rule_of_the_authors_own_is_kept():
    @opsdk.elementwise(infer=opsdk.infer.like("y"))
    def f(x, y):
        return x + y

    with pytest.raises(ShapeError, match=r"expected shape \(\) by its infer rule, got \(3,\)"):
        f(np.ones(3), np.ones(()))
    assert f(np.ones(()), np.ones(3)).shape == (3,)


# -- static attributes -------------------------------------------------------------------------------------------------


@opsdk.elementwise(namespace="tests_static")
def shaped(x, *, low: float | None = None, mode: str = "plain", flip: bool = False, order: int = 1):
    """Holds a number above a bound, to a power, or its negative."""
    y = x if low is None else vmath.maximum(x, low)
    if mode == "square":
        y = y * y
    return (-y if flip else y) * order


@pytest.mark.parametrize("row", ["numpy", "numba"])
@pytest.mark.parametrize(
    ("attrs", "expected"),
    [
        ({}, [-2.0, 0.0, 3.0]),
        ({"low": 1.0}, [1.0, 1.0, 3.0]),
        ({"low": -1}, [-1.0, 0.0, 3.0]),
        ({"mode": "square"}, [4.0, 0.0, 9.0]),
        ({"flip": True, "order": 3}, [6.0, 0.0, -9.0]),
        ({"flip": True, "mode": "square", "low": 0.5}, [-0.25, -0.25, -9.0]),
    ],
)
def test_attributes_that_are_no_numbers_choose_the_expression(row, attrs, expected):
    assert shaped(X, **attrs).tolist() == expected
    assert on_row(shaped, row, X, **attrs).tolist() == expected


def test_calls_with_other_attributes_in_between_do_not_mix():
    calls = [{"low": 1.0}, {}, {"low": None}, {"low": 2.0}, {"flip": True}, {"low": 1.0}]
    values = [shaped(X, **attrs).tolist() for attrs in calls]
    plain, at_one = [-2.0, 0.0, 3.0], [1.0, 1.0, 3.0]
    assert values == [at_one, plain, plain, [2.0, 2.0, 3.0], [2.0, 0.0, -3.0], at_one]


def test_zero_and_minus_zero_are_told_apart():
    @opsdk.elementwise
    def sign_of(x, *, a: float = 1.0):
        return x / a

    values = [sign_of(np.ones(2, np.float32), a=a).tolist() for a in (0.0, -0.0, 0.0)]
    assert values == [[np.inf] * 2, [-np.inf] * 2, [np.inf] * 2]


def test_a_list_attribute_is_plain_values():
    @opsdk.elementwise
    def line(x, *, c: list[float] = (1.0, 2.0)):
        return x * c[0] + c[1]

    assert line(X, c=[3.0, 4.0]).tolist() == [-2.0, 4.0, 13.0]


def test_a_wrong_type_is_refused_at_the_call():
    with pytest.raises(AttributeValueError, match="attribute 'low' expected float"):
        shaped(X, low="small")


def test_a_required_number_is_a_symbol():
    @opsdk.elementwise
    def times(x, *, k: float):
        return x * k

    assert times(X, k=2.0).tolist() == [-4.0, 0.0, 6.0]


# -- dtypes ------------------------------------------------------------------------------------------------------------


@opsdk.elementwise(namespace="tests_dtypes")
def kept(x, y):
    """Multiplies and adds; whole numbers stay whole."""
    return vmath.maximum(x * y, 2) + x


@opsdk.elementwise(namespace="tests_dtypes")
def halved(x):
    """Needs a fraction."""
    return 0.5 * x


@opsdk.elementwise(namespace="tests_dtypes")
def scaled(x, *, by: float = 2.0, times: int = 1):
    """Has a float attribute."""
    return x * by * times


@opsdk.elementwise(namespace="tests_dtypes")
def repeated(x, *, times: int = 3):
    """Has an int attribute."""
    return x * times


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint32"])
def test_whole_numbers_stay_whole_where_the_function_allows(dtype):
    x = np.array([1, 2, 5], dtype)
    for value in (kept(x, x), repeated(x)):
        assert value.dtype == x.dtype
    assert kept(x, x).tolist() == [3, 6, 30]
    assert repeated(x).tolist() == [3, 6, 15]


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "bool"])
def test_whole_numbers_become_float32_elsewhere(dtype):
    x = np.array([0, 1], dtype)
    for value, expected in ((halved(x), [0.0, 0.5]), (scaled(x, by=1.5), [0.0, 1.5])):
        assert (value.dtype, value.tolist()) == (np.float32, expected)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ml_dtypes.bfloat16])
def test_floats_stay_what_they_are(dtype):
    x = np.array([1.0, 2.0, 5.0], dtype)
    for op, arrays, expected in ((kept, (x, x), [3, 6, 30]), (halved, (x,), [0.5, 1, 2.5]), (scaled, (x,), [2, 4, 10])):
        for value in (op(*arrays), on_row(op, "numpy", *arrays), on_row(op, "numba", *arrays)):
            assert (value.dtype, value.astype(float).tolist()) == (x.dtype, expected)


@pytest.mark.parametrize(
    ("left", "right", "dtype"),
    [
        ("float32", "float64", "float64"), ("float64", "float32", "float64"), ("float32", "int64", "float32"),
        ("int64", "float32", "float32"), ("int8", "float16", "float16"), ("float16", "float32", "float32"),
        ("bool", "float32", "float32"), ("float64", "bool", "float64"), ("int32", "float32", "float32"),
        ("int64", "float16", "float16"), (ml_dtypes.bfloat16, "float32", "float32"),
        ("float64", ml_dtypes.bfloat16, "float64"), (ml_dtypes.bfloat16, "float16", "float32"),
        ("int32", ml_dtypes.bfloat16, ml_dtypes.bfloat16),
    ],
)  # fmt: skip
def test_mixed_dtypes_give_what_they_promote_to_on_either_row(left, right, dtype):
    x, y = np.array([0, 1, 1], left), np.array([1, 0, 1], right)
    for value in (kept(x, y), on_row(kept, "numpy", x, y), on_row(kept, "numba", x, y)):
        assert (value.dtype, value.tolist()) == (dtype, [2.0, 3.0, 3.0])


def test_mixed_dtypes_lose_nothing_on_the_way():
    x, y = np.array([2**31 - 1], np.int32), np.array([1.0])
    assert kept(x, y).tolist() == [2.0 * (2**31 - 1)]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_run_on_the_reference(dtype):
    z = np.array([1 + 2j, -3j], dtype)
    value = scaled(z)
    assert (value.dtype, value.tolist()) == (z.dtype, [2 + 4j, -6j])


def test_dtypes_that_numpy_does_not_promote_are_promoted():
    x = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    for other, dtype in ((np.int64, ml_dtypes.bfloat16), (np.float16, np.float32)):
        made = kept(x, np.ones(2, other))
        assert (made.dtype, made.tolist()) == (dtype, kept(x.astype(np.float64), np.ones(2)).tolist())


def test_python_numbers_take_the_dtype_of_the_array_beside_them():
    assert kept(X, 2.0).dtype == np.float32
    assert kept(2, X).dtype == np.float32
    assert kept(np.arange(3), 2).dtype == np.int64


# -- what is refused ---------------------------------------------------------------------------------------------------


def test_a_branch_on_a_symbol_names_the_users_line():
    with pytest.raises(TraceError) as caught:

        @opsdk.elementwise
        def leaky(x):
            if x > 0:
                return x
            return 0.1 * x

    assert "op 'tests::leaky', line " in str(caught.value)
    assert "write vmath.where(condition, a, b)" in str(caught.value)
    assert any("if x > 0:" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x * 10**400, "expected a number that float64 reaches, up to 1.8e308, got"),
        (lambda x: x * 1j, "expected a symbol or a number, got complex; literals and attributes are real"),
        (lambda x: None, "expected a symbol or a number, got NoneType"),
        (lambda x: "x", "expected a symbol or a number, got str"),
        (lambda x: x > 0, "expected a number, got the condition"),
        (lambda x: (x, x), "expected 1 expression, got 2"),
        (lambda x: float(x), "got a conversion to a Python number"),
        (lambda x: x[0], "got the index 0"),
        (lambda x: x % 2, "write vmath.fmod"),
        (lambda x: np.exp(x), r"got NumPy's exp; np.exp\(x\) is vmath.exp\(x\)"),
        (lambda x: np.add.reduce(x), "got NumPy's add"),
        (lambda x: np.ones(3) * x, "expected a symbol or a number, got ndarray"),
    ],
)
def test_what_is_no_expression_is_refused_at_the_definition(function, words):
    with pytest.raises((TraceError, TypeError), match=words):
        opsdk.elementwise(name="f", namespace="tests")(function)


def test_a_static_attribute_may_be_tested_and_a_number_may_not():
    with pytest.raises(TraceError, match="'if', 'and', 'or' and 'while' need a value"):

        @opsdk.elementwise
        def f(x, *, n: int = 1):
            return x if n > 0 else -x


def test_an_op_of_no_input_is_refused():
    with pytest.raises(
        DefinitionError, match=r"expected at least one tensor to take the shape from, got the inputs \(\)"
    ):

        @opsdk.elementwise
        def f(*, a: float = 1.0):
            return a


def test_optional_and_list_inputs_are_refused():
    with pytest.raises(DefinitionError, match="'w' expected a plain Tensor"):

        @opsdk.elementwise
        def f(x, w=None):
            return x

    with pytest.raises(DefinitionError, match="'xs' expected a plain Tensor"):

        @opsdk.elementwise
        def g(*xs):
            return xs

    with pytest.raises(DefinitionError, match=r"write it with @opsdk\.op"):

        @opsdk.elementwise("tests::h(Tensor(a!) x) -> Tensor(a!) y")
        def h(x):
            return x


def test_a_required_attribute_that_is_no_number_is_refused():
    with pytest.raises(DefinitionError, match=r"attribute 'mode' \(str\) expected a default in an op made of an expr"):

        @opsdk.elementwise
        def f(x, *, mode: str):
            return x if mode == "a" else -x


def test_shapes_that_do_not_broadcast_are_refused_by_every_call():
    for _ in range(2):
        with pytest.raises(
            ShapeError, match=r"op 'tests_dtypes::kept': expected shapes that broadcast, got \(3,\) and \(4"
        ):
            kept(np.ones(3), np.ones(4))
        kept(np.ones(3), np.ones(3))  # the second time there is a plan


# -- definition again --------------------------------------------------------------------------------------------------


def test_a_cell_that_runs_again_replaces_the_op_and_its_gradient():
    text = "@opsdk.elementwise(namespace='nb')\ndef cell(x):\n    return x * {}\n"
    values = []
    for factor in ("2.0", "3.0 * x"):
        run_file("<ipython-input-1>", text.format(factor), "__main__")
        op = opsdk.find_op("nb::cell")
        x = opsdk.to_tensor(X, stop_gradient=False)
        y = op(x)
        y.sum().backward()
        values.append((y.numpy().tolist(), x.grad.numpy().tolist()))
    assert values == [([-4.0, 0.0, 6.0], [2.0] * 3), ([12.0, 0.0, 27.0], [-12.0, 0.0, 18.0])]


def test_the_same_cell_again_keeps_the_handle():
    text = "@opsdk.elementwise(namespace='nb')\ndef cell(x):\n    return x * 2.0\n"
    first = run_file("<ipython-input-1>", text, "__main__")["cell"]
    second = run_file("<ipython-input-1>", text, "__main__")["cell"]
    assert first is second
    assert second(X).tolist() == [-4.0, 0.0, 6.0]


def test_the_same_name_from_elsewhere_clashes():
    run_file("/one.py", "@opsdk.elementwise(namespace='mine')\ndef f(x):\n    return x + 1\n")
    with pytest.raises(NameClashError, match="registered by"):
        run_file("/two.py", "@opsdk.elementwise(namespace='mine')\ndef f(x):\n    return x + 2\n")
    found = run_file("/two.py", "@opsdk.elementwise(namespace='mine', replace=True)\ndef f(x):\n    return x + 2\n")[
        "f"
    ]
    assert found(X).tolist() == [0.0, 2.0, 5.0]


def test_a_graph_keeps_the_definition_that_it_was_built_with():
    text = "@opsdk.elementwise(namespace='nb')\ndef cell(x):\n    return x * {}\n"
    x = opsdk.to_tensor(X, stop_gradient=False)
    y = run_file("<ipython-input-1>", text.format("2.0"), "__main__")["cell"](x)
    run_file("<ipython-input-1>", text.format("5.0"), "__main__")
    y.sum().backward()
    assert x.grad.numpy().tolist() == [2.0] * 3


# -- read later, and a reference of one's own --------------------------------------------------------------------------


def test_a_lazy_op_is_read_when_it_is_first_used():
    read = []

    @opsdk.elementwise("tests::late(Tensor x) -> Tensor y", infer=opsdk.infer.like(), lazy=True)
    def late(x):
        read.append(x)
        return x * x

    assert read == []
    np.testing.assert_array_equal(late(np.array([2.0, 3.0])), [4.0, 9.0])
    assert len(read) == 1
    x = opsdk.to_tensor([2.0, 3.0], stop_gradient=False)
    late(x).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]
    assert len(read) == 1


def test_a_lazy_op_without_an_infer_rule_is_read_for_it():
    @opsdk.elementwise("tests::late(Tensor x) -> Tensor y", lazy=True)
    def late(x):
        return x / 2

    assert late(np.array([1, 2])).tolist() == [0.5, 1.0]


def test_the_gradient_of_a_lazy_op_is_found_by_name_before_anybody_differentiated():
    @opsdk.elementwise("tests::late(Tensor x) -> Tensor y", infer=opsdk.infer.like(), lazy=True)
    def late(x):
        return x * x * x

    found = opsdk.find_op("tests::late_grad_grad")
    assert found is late.grad.grad
    with pytest.raises(UnknownOpError, match="op 'tests::later_grad': not registered"):
        opsdk.find_op("tests::later_grad")


def test_all_renewed_definitions_of_a_lazy_op_share_one_gradient():
    @opsdk.elementwise("tests::late(Tensor x) -> Tensor y", infer=opsdk.infer.like(), lazy=True)
    def late(x):
        return x * x

    first = late.opdef

    @late.samples
    def samples(rng):
        yield opsdk.Sample(rng.normal(size=3))

    assert late.opdef is not first
    assert late.opdef.grad is first.grad


def test_a_mistake_in_a_lazy_op_is_told_when_it_is_used():
    @opsdk.elementwise("tests::late(Tensor x) -> Tensor y", infer=opsdk.infer.like(), lazy=True)
    def late(x):
        return x if x > 0 else -x

    with pytest.raises(TraceError, match="'if', 'and', 'or' and 'while' need a value"):
        late(np.ones(2))


def test_a_reference_serves_other_dtypes_and_says_what_is_right():
    def halved(x, by):
        return x // int(by) if x.dtype.kind == "i" else x / by

    @opsdk.elementwise(
        "tests::halved(Tensor x, *, float by=2.0) -> Tensor y", infer=opsdk.infer.like(), reference=halved
    )
    def op(x, *, by):
        return x / by

    assert op(np.array([5, 6])).tolist() == [2, 3]
    assert op(np.array([5.0, 6.0])).tolist() == [2.5, 3.0]
    assert opsdk.verify(op, rows="cpu").verdict == "pass"

    @opsdk.elementwise("tests::wrong(Tensor x) -> Tensor y", reference=lambda x: x * 2)
    def wrong(x):
        return x * 3

    assert "value.y" in {finding.check for finding in opsdk.verify(wrong, rows="cpu").findings}


def test_a_reference_takes_what_the_schema_declares():
    with pytest.raises(BindingError, match="nothing is called 'z'"):
        opsdk.elementwise("tests::f(Tensor x) -> Tensor y", reference=lambda z: z)(lambda x: x * 2)


def rounded_straight_through(**options):
    @opsdk.elementwise("tests::rounded(Tensor x) -> Tensor y", surrogate=lambda x: 1 * x, **options)
    def op(x):
        return vmath.round(x)

    return op


def test_of_an_op_with_a_surrogate_no_gradient_is_derived():
    op = rounded_straight_through()
    assert op.grad is None
    with pytest.raises(GradientMissingError, match="op 'tests::rounded'"):
        op(opsdk.to_tensor(X, stop_gradient=False)).sum().backward()


def test_the_backward_of_an_op_with_a_surrogate_is_held_to_it():
    op = rounded_straight_through()
    op.backward(lambda dy: 1 * dy, name="rounded_grad")
    x = opsdk.to_tensor(X, stop_gradient=False)
    op(x).sum().backward()
    assert x.grad.numpy().tolist() == [1.0, 1.0, 1.0]
    assert opsdk.verify(op, rows="cpu").verdict == "pass"
    op.backward(lambda dy: 2 * dy, name="rounded_grad", replace=True)
    assert {finding.check for finding in opsdk.verify(op, rows="cpu").findings} == {"vjp.x"}


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("linear: bool = True", r"it is an option of the decorator: @opsdk\.elementwise\(linear=…\)"),
        ("namespace: str = 'n'", r"@opsdk\.elementwise\(namespace=…\)"),
        ("axis: int = -1", r"an op along an axis is defined with @opsdk\.rowwise"),
        ("keepdim: bool = True", r"an op along an axis is defined with @opsdk\.rowwise"),
        ("dtype: str = 'float32'", "the dtype is that of the inputs: cast them, or the result"),
    ],
)
def test_an_attribute_that_means_an_option_and_is_never_read_is_refused(text, remedy):
    names = {}
    exec(f"def f(x, *, {text}):\n    return 2.0 * x\n", names)
    name = text.partition(":")[0]
    with pytest.raises(DefinitionError, match=f"attribute '{name}' expected to be read by the function, .*{remedy}"):
        opsdk.elementwise(namespace="t")(names["f"])


@pytest.mark.parametrize("name", ["self", "arrays", "values", "out", "axis"])
def test_an_attribute_may_have_any_name(name):
    names = {}
    exec(f"def f(x, *, {name}: float = 1.0):\n    return {name} * x\n", names)
    op = opsdk.elementwise(namespace="t")(names["f"])
    assert op(X, **{name: 3.0}).tolist() == [-6.0, 0.0, 9.0]
    assert op(X.astype(np.int64), **{name: 3.0}).tolist() == [-6.0, 0.0, 9.0]


def test_a_global_that_was_not_there_when_the_op_was_defined_is_what_it_was_when_it_was_first_read():
    scope = {"__name__": "__main__"}
    lines = "def f(x, *, mode: str = 'plain'):", "    return x if mode == 'plain' else x * k ** len(mode)"
    exec(compile("\n".join(lines), "<stdin-1>", "exec"), scope)
    f = opsdk.elementwise(scope["f"], namespace="t")
    scope["k"] = 2.0
    assert f(np.ones(1), mode="1")[0] == 2.0
    scope["k"] = 3.0
    with pytest.raises(DefinitionError, match="expected 'k' to be what it was when the op was defined, it was changed"):
        f(np.ones(1), mode="22")
    assert f(np.ones(1), mode="1")[0] == 2.0
