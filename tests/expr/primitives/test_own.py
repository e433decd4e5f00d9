"""Primitives of users: one definition, which runs wherever expressions do, and what is refused."""

import os
import re
import subprocess
import sys
import types

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.cuda.math import kernel_of
from opsdk.backends.numba.reading import Reading
from opsdk.backends.vmath import foreign
from opsdk.core.errors import BindingError, CompileError, DefinitionError, NameClashError, TraceError
from opsdk.define.op import REGISTRY
from opsdk.expr.node import Node
from opsdk.expr.primitives import accuracy
from opsdk.expr.primitives.own import op_of, primitive_of, primitives
from opsdk.expr.primitives.table import PRIMITIVES
from opsdk.expr.symbol import Symbol

SYMBOL = Symbol(Node("input", (), "x"))
X = np.array([-3.0, -0.5, 0.0, 0.25, 2.0])


def define(function, **options):
    return opsdk.primitive(**{"namespace": "t", **options})(function)


def softsign():
    @opsdk.primitive(derivative=lambda x, y: (1 - abs(y)) ** 2, ulp=2, namespace="t")
    def softsign(x):
        """Returns x / (1 + |x|)."""
        return x / (1 + abs(x))

    return softsign


def logit(x):
    return vmath.log(x) - vmath.log1p(-x)


def test_it_is_a_function_of_arrays_numbers_tensors_and_symbols():
    f = softsign()
    np.testing.assert_array_equal(f(X), X / (1 + abs(X)))
    assert f(X.astype(np.float32)).dtype == np.float32
    assert f(np.array([1, -3])).tolist() == [0.5, -0.75]  # integers give float64
    assert f(1) == 0.5
    assert (f.__name__, f.__doc__) == ("softsign", "Returns x / (1 + |x|).")
    x = opsdk.to_tensor(X, stop_gradient=False)
    f(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 1 / (1 + abs(X)) ** 2, rtol=1e-15)


def test_in_an_expression_it_stays_one_node_with_its_own_derivative():
    f = softsign()

    @opsdk.elementwise(namespace="t")
    def scaled(x, *, k: float = 1.0):
        return k * f(k * x)

    np.testing.assert_allclose(scaled(X, k=2.0), 2 * (2 * X) / (1 + abs(2 * X)), rtol=4e-16)
    said = str(opsdk.explain(scaled, X))
    assert "y = k * softsign(k * x)" in said
    assert "computes t0 = 1 - abs(softsign(k * x))" in said


def test_rows_and_float16_use_it_too():
    f = softsign()

    @opsdk.rowwise(namespace="t")
    def total(x):
        return vmath.row_sum(f(x))

    np.testing.assert_allclose(total(X[None]), [(X / (1 + abs(X))).sum()], rtol=1e-15)
    small = X.astype(np.float16)
    np.testing.assert_allclose(f(small), X / (1 + abs(X)), rtol=1e-3)


def test_a_numba_kernel_and_a_c_kernel_call_it():
    f = softsign()

    @opsdk.op("t::g(Tensor x) -> Tensor y")
    def g(x):
        return x / (1 + np.abs(x))

    @g.kernel("cpu", language="numba")
    def numba_kernel(x, y):
        for i in range(x.size):
            y.flat[i] = f(x.flat[i])

    np.testing.assert_allclose(g(X), X / (1 + abs(X)), rtol=1e-15)

    @opsdk.op("t::h(Tensor x) -> Tensor y")
    def h(x):
        raise AssertionError("the reference ran")

    h.kernel(
        "cpu",
        language="c",
        source=opsdk.c_source(f)
        + opsdk.c_source(vmath.erfcx)
        + """
        int32_t h_f64(const DLTensor *x, DLTensor *y) {
          for (int64_t i = 0; i < opsdk_size(y); ++i)
            OPSDK_DATA(double, y)[i] = softsign(OPSDK_DATA(const double, x)[i]) + 0 * softsignf(1) * vmath_erfcx(1);
          return 0;
        }
    """,
    )
    np.testing.assert_allclose(h(X), X / (1 + abs(X)), rtol=1e-15)


def test_without_a_derivative_the_body_is_differentiated():
    f = define(logit, domain={"x": (0.0, 1.0)}, least=1.0)

    @opsdk.elementwise(namespace="t", domain={"x": (0.0, 1.0)})
    def g(x):
        return f(x) ** 2

    x = opsdk.to_tensor(np.array([0.25, 0.9]), stop_gradient=False)
    g(x).sum().backward()
    p = np.array([0.25, 0.9])
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.log(p / (1 - p)) / (p * (1 - p)), rtol=1e-13)


def test_two_operands_have_two_derivatives_by_name():
    f = define(
        lambda a, y: vmath.exp(a) * y, name="scaled", derivative=lambda y, out: (out, out / y), ulp=3
    )  # an operand is called y

    @opsdk.elementwise(namespace="t")
    def g(p, q):
        return f(p, q)

    p, q = (opsdk.to_tensor(np.array([value]), stop_gradient=False) for value in (0.5, 3.0))
    g(p, q).sum().backward()
    assert p.grad.numpy() == pytest.approx(3 * np.exp(0.5), rel=1e-15)
    assert q.grad.numpy() == pytest.approx(np.exp(0.5), rel=1e-15)


def test_what_is_right_may_be_said_in_numpy():
    seen = []

    def right(x):
        seen.append(x.dtype)
        return np.tanh(x)

    f = define(lambda x: 2 * vmath.sigmoid(2 * x) - 1, name="tanh2", numpy=right, least=1.0)
    np.testing.assert_array_equal(f(X), np.tanh(X))
    assert np.float64 in seen


def test_the_same_definition_again_is_the_same_function():
    assert softsign() is softsign()


def test_another_definition_takes_the_name_and_old_ops_go_on(capsys):
    made = []
    for slope in (1.0, 2.0):
        f = define(line(slope), name="line")
        made.append(opsdk.elementwise(name=f"o{slope:.0f}", namespace="t")(through(f)))
    assert capsys.readouterr().err.startswith("t::line redefined (")
    assert [op(np.ones(2)).tolist() for op in made] == [[1.0, 1.0], [2.0, 2.0]]
    assert made[0].opdef.digest != made[1].opdef.digest


def line(slope):
    return lambda x: slope * x


def through(f):
    return lambda x: f(x)


REDEFINED = """
import sys
import numpy as np
import opsdk

@opsdk.primitive(namespace="r")
def line(x):
    return {slope} * x

@opsdk.elementwise(namespace="r")
def f(x):
    return line(x)

@opsdk.op("r::g(Tensor x) -> Tensor y")
def g(x):
    return line(x)

@g.kernel("cpu", language="numba")
def kernel(x, y):
    for i in range(x.size):
        y[i] = line(x[i])

print(f(np.ones(2))[0], g(np.ones(2))[0])
"""


KERNEL = """
@opsdk.primitive(namespace="t")
def line(x):
    return {slope} * x

def kernel(x):
    return line(x)
"""


def test_the_key_of_a_compiled_kernel_tells_two_definitions_apart(monkeypatch):
    module = types.ModuleType("t_redefined")
    monkeypatch.setitem(sys.modules, "t_redefined", module)
    keys = []
    for slope in (2.0, 3.0, 2.0):
        vars(module)["opsdk"] = opsdk
        exec(compile(KERNEL.format(slope=slope), __file__, "exec"), vars(module))
        keys.append(Reading(module.kernel).text)
    assert keys[0] is not None
    assert keys[0] == keys[2] != keys[1]


@pytest.mark.slow  # three processes; the key of the cache is looked at above
def test_object_code_of_an_earlier_definition_is_never_taken(tmp_path):
    file = tmp_path / "redefined.py"
    said = []
    for slope in (2.0, 3.0, 2.0):
        file.write_text(REDEFINED.format(slope=slope))
        done = subprocess.run(
            [sys.executable, str(file)],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "OPSDK_CACHE_DIR": str(tmp_path / "cache")},
        )
        said.append(done.stdout.split())
    assert said == [["2.0", "2.0"], ["3.0", "3.0"], ["2.0", "2.0"]]


def test_two_files_may_not_define_one_name(tmp_path):
    softsign()
    space = {"opsdk": opsdk}
    code = "@opsdk.primitive(namespace='t'{more})\ndef softsign(x):\n    return x / (1 + abs(x) * 1.0 + 0.0)\n"
    with pytest.raises(NameClashError, match=r"primitive 't::softsign': registered by .*test_own\.py:\d+, got another"):
        exec(compile(code.format(more=""), str(tmp_path / "other.py"), "exec"), {**space, "__name__": "other"})
    exec(
        compile(code.format(more=", replace=True"), str(tmp_path / "other.py"), "exec"), {**space, "__name__": "other"}
    )


@pytest.mark.parametrize(
    ("function", "options", "error", "message"),
    [
        (lambda: 1.0, {}, DefinitionError, r"primitive 't::f': expected 1 to 3 operands without defaults, got \(\)"),
        (lambda a, b, c, d: a, {}, DefinitionError, r"expected 1 to 3 operands without defaults, got \(a, b, c, d\)"),
        (
            lambda x, *, k=1.0: x,
            {},
            DefinitionError,
            r"got \(x, k=1.0\); an attribute of an op is passed as an operand",
        ),
        (lambda x: x, {"name": "a__b"}, DefinitionError, "name expected letters, digits and single underscores"),
        (lambda x: np.exp(x), {}, TraceError, r"primitive 't::f', line \d+: expected .*vmath\.exp"),
        (lambda x: 1.0 if x > 0 else x, {}, TraceError, r"primitive 't::f', line \d+"),
        (lambda x: x, {"ulp": 0.1}, DefinitionError, "ulp expected a number of units in the last place, at least 0.5"),
        (lambda x: x, {"domain": {"z": (0.0, 1.0)}}, DefinitionError, "domain: nothing is called 'z'; there are x"),
        (
            lambda x: x,
            {"domain": {"x": (1.0, 0.0)}},
            DefinitionError,
            r"domain: x expected its least number first, got \(1\.0, 0\.0\); swap them",
        ),
        (
            lambda x: x,
            {"domain": {"x": 1.0}},
            DefinitionError,
            r"domain: x expected \(least, greatest\), each a number",
        ),
        (
            lambda x: x * x,
            {"derivative": lambda z: z},
            BindingError,
            r"derivative\(z\): nothing is called 'z'; there are x, y, of which y is the result",
        ),
        (
            lambda a, b: a * b,
            {"derivative": lambda a, b: b},
            DefinitionError,
            "derivative: expected 2 partial derivatives, one for each of a, b, got 1",
        ),
        (
            lambda a, b: a * b,
            {"derivative": (abs, None)},
            DefinitionError,
            r"primitive 't::f', derivative: expected one function of a, b, y that gives a tuple of 2 partial "
            r"derivatives, None for an operand without one, got \(<built.*, None\); write derivative=lambda a, b, y",
        ),
        (
            lambda y: y * y,
            {"derivative": 2.0},
            DefinitionError,
            r"expected one function of y, out that gives the derivative, got 2\.0; write derivative=lambda y, out: ",
        ),
        (
            lambda x: x * x,
            {"derivative": lambda x: 3.0 * x},
            DefinitionError,
            r"primitive 't::f', derivative: expected the derivative of the body: with respect to 'x' expected .*, got",
        ),
        (lambda x: x * x, {"derivative": lambda x: np.exp(x)}, TraceError, r"'t::f', derivative, line \d+: expected"),
        (
            lambda x: vmath.exp(x) - 1.0,
            {"numpy": np.expm1, "ulp": 2},
            DefinitionError,
            r"primitive 't::f': body expected within 2 ulp of float32, as promised, got .* at x=.*; mend the body",
        ),
    ],
)
def test_a_wrong_definition_is_refused_at_once_in_its_own_words(function, options, error, message):
    with pytest.raises(error, match=message):
        define(function, **{"name": "f", **options})
    with pytest.raises(opsdk.errors.OpsdkError):
        opsdk.find_op("t::f")


def test_a_promise_about_small_results_beside_large_terms_is_kept_or_not():
    def cancelling(x):
        return (x + 1e3) - 1e3

    with pytest.raises(DefinitionError, match="body expected within 4 ulp"):
        define(cancelling, name="c", numpy=lambda x: x)
    define(cancelling, name="c", numpy=lambda x: x, least=1e3)
    define(cancelling, name="d", numpy=lambda x: x, least=lambda x: 1e3 + abs(x))


def test_names_of_operations_never_show_the_digest():
    f = softsign()
    node = f(SYMBOL).node
    assert PRIMITIVES[node.op].public is f
    assert repr(node) == "softsign(x)"


LOGISTIC = "real e = exp(-fabs(x)); return x >= 0 ? 1 / (1 + e) : e / (1 + e);"


def test_a_body_in_c_runs_in_expressions_rows_numba_and_c_kernels():
    @opsdk.primitive(c=LOGISTIC, derivative=lambda x, y: y * (1 - y), namespace="t")
    def logistic(x):
        return 1 / (1 + np.exp(-x))

    @opsdk.elementwise(namespace="t")
    def shifted(x):
        return logistic(x) + 1.0

    wanted = 1 / (1 + np.exp(-X))
    for dtype in (np.float32, np.float64):
        made = shifted(X.astype(dtype))
        assert made.dtype == dtype
        np.testing.assert_allclose(made, wanted + 1, rtol=2 * np.finfo(dtype).eps)
    x = opsdk.to_tensor(X, stop_gradient=False)
    shifted(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), wanted * (1 - wanted), rtol=1e-15)

    @opsdk.op("t::g(Tensor x) -> Tensor y")
    def g(x):
        raise AssertionError("the reference ran")

    @g.kernel("cpu", language="numba")
    def numba_kernel(x, y):
        for i in range(x.size):
            y[i] = logistic(x[i])

    np.testing.assert_allclose(g(X), wanted, rtol=1e-15)
    assert Reading(numba_kernel).text is None  # the object code has a symbol that another process lacks
    shifted.kernel("cpu", language="c", source=opsdk.c_source(shifted))
    np.testing.assert_allclose(shifted(X), wanted + 1, rtol=1e-15)
    with pytest.raises(CompileError, match="CUDA kernel k: expected primitives that a device computes, got 'logi"):
        kernel_of(f"def k(x):\n    {logistic(SYMBOL).node.op}(x)\n", "k", np.dtype("float64"), np.dtype("float64"))


def test_a_body_in_c_needs_a_derivative_and_the_right_one():
    def logistic(x):
        return 1 / (1 + np.exp(-x))

    with pytest.raises(DefinitionError, match=r"a body in C expected a derivative, .* got no derivative"):
        define(logistic, c=LOGISTIC)
    with pytest.raises(DefinitionError, match=r"derivative: with respect to 'x' expected .* by differences of its"):
        define(logistic, c=LOGISTIC, derivative=lambda y: y * (2 - y))
    f = define(logistic, c="return no_such_function(x);", derivative=lambda y: y * (1 - y), name="wrong")
    op = opsdk.elementwise(name="wrong_op", namespace="t")(through(f))
    with pytest.raises(CompileError, match=r"primitive 'wrong', C body: does not compile, .*no_such_function"):
        op(X)


def test_a_body_in_c_that_is_another_function_is_refused_where_it_would_first_be_computed_with():
    f = define(lambda x: 1 / x, c="return 1 / (x + 1);", derivative=lambda y: -y * y, name="inverse", ulp=2)
    assert f(np.array([2.0])) == [0.5]  # by its function

    @opsdk.elementwise(namespace="t")
    def doubled(x):
        return 2 * f(x)

    @opsdk.op("t::g(Tensor x) -> Tensor y")
    def g(x):
        raise AssertionError("the reference ran")

    @g.kernel("cpu", language="numba")
    def numba_kernel(x, y):
        for i in range(x.size):
            y[i] = f(x[i])

    for op in (doubled, doubled, g):  # also after it was built
        with pytest.raises(DefinitionError) as caught:
            op(X)
        assert re.fullmatch(
            r"primitive 't::inverse': body in C expected within 2 ulp of float32, as promised, got .* at x=.*: .* for "
            r".*; mend the body, promise less with ulp=, or name its domain=",
            str(caught.value),
        )


def test_a_body_in_c_is_compared_in_its_domain_and_in_both_dtypes():
    c = "return x < 1 ? 0 : (sizeof(x) == 8 ? {} : 1) * sqrt(x - 1);"
    for name, factor, wrong in (("root", 1, False), ("off", 1.00001, True)):  # right of 1; wrong in double alone
        options = {"derivative": lambda y: 0.5 / y, "domain": {"x": (1.0, 9.0)}, "namespace": "t", "name": name}
        f = opsdk.primitive(c=c.format(factor), **options)(lambda x: np.sqrt(x - 1))
        op = opsdk.elementwise(namespace="t", name=f"{name}_op", domain={"x": (1.0, 9.0)})(through(f))
        if wrong:
            with pytest.raises(
                DefinitionError, match="'t::off': body in C expected within 4 ulp of float32, as"
            ):
                op(np.array([5.0]))
        else:
            assert op(np.array([5.0])) == [2.0]


def test_a_body_in_c_is_compared_once_for_each_build(monkeypatch):
    f = define(lambda x: x + x, c="return x + x;", derivative=lambda x: 2.0, name="twice")
    assert opsdk.elementwise(namespace="t", name="a")(through(f))(X).tolist() == (X + X).tolist()
    monkeypatch.setattr(accuracy, "check_accuracy", None)
    monkeypatch.setattr(foreign, "_open", {})  # as another process has it
    assert opsdk.elementwise(namespace="t", name="b")(lambda x: f(x) + 1)(X).tolist() == (X + X + 1).tolist()


# -- as an op ----------------------------------------------------------------------------------------------------------


def test_a_primitive_is_found_by_its_function_and_by_its_name():
    f = define(line(2.0), name="line")
    assert primitive_of(f).full_name == "t::line"
    assert [each.full_name for each in primitives() if each.namespace == "t"] == ["t::line"]
    assert primitive_of(line(2.0)) is None
    assert primitive_of(vmath.exp) is None


def test_an_infinite_bound_is_none():
    f = define(line(2.0), name="line", domain={"x": (0.0, np.inf)})
    assert primitive_of(f).domain == {"x": (0.0, None)}


def test_the_op_of_a_primitive_is_made_once_and_registered_nowhere():
    f = define(logit, domain={"x": (0.0, 1.0)}, least=1.0)
    op = op_of(primitive_of(f))
    assert op is op_of(primitive_of(f))
    assert "t::logit" not in REGISTRY
    assert (op.opdef.name, str(op.opdef.origin)) == ("t::logit", str(primitive_of(f).origin))
    np.testing.assert_array_equal(op(np.array([0.25])), f(np.array([0.25])))
    x = opsdk.to_tensor(np.array([0.25]), stop_gradient=False)
    op(x).sum().backward()
    assert x.grad.numpy() == pytest.approx(1 / (0.25 * 0.75), rel=1e-14)
    assert not {"t::logit", "t::logit_grad"} & set(REGISTRY.names())


def test_the_same_definition_in_another_file_has_an_op_of_that_file(tmp_path):
    places = []
    for name in ("one.py", "two.py"):
        with opsdk.scoped_registry():
            space = {"opsdk": opsdk, "__name__": "m"}
            code = "@opsdk.primitive(namespace='t')\ndef halved(x):\n    return x / 2\n"
            exec(compile(code, str(tmp_path / name), "exec"), space)
            places.append(op_of(primitive_of(space["halved"])).opdef.origin.file)
    assert places == [str(tmp_path / "one.py"), str(tmp_path / "two.py")]
