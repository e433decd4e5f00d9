"""Explanations: the kernel that would run is the one that runs, and every other has its reason."""

import numpy as np
import pytest

import opsdk
from opsdk import vmath
from opsdk.backends.call import language
from opsdk.backends.call.plan import make_plan
from opsdk.backends.inspect.explain import explain
from opsdk.core.errors import ArityError, DTypeError, UnknownOpError
from opsdk.define.kernel.kernel import Kernel, KernelKey

F32, F64, INT = (opsdk.TensorSpec([2, 3], name) for name in ("float32", "float64", "int64"))


@pytest.fixture
def swish():
    """An op that is an expression."""

    @opsdk.elementwise
    def swish(x, *, beta: float = 1.0):
        return x * vmath.sigmoid(beta * x)

    return swish


@pytest.fixture
def twice():
    """An op with kernels of its own."""

    @opsdk.op
    def twice(x):
        return 2 * x

    @twice.backward
    def twice_grad(dy):
        return 2 * dy

    return twice


def reasons(explanation):
    return {verdict.row: verdict.reason for verdict in explanation.rows}


def test_the_facade_has_it():
    assert opsdk.explain is explain
    assert "explain" in opsdk.__all__


def test_a_report_reads_as_a_page(swish):
    line = swish.opdef.origin.line
    at = f"[tests/backends/inspect/test_explain.py:{line}]"
    assert str(explain(swish, F32)).splitlines() == [
        "tests::swish(x: float32[2, 3])",
        f"  → numba (cpu, floating)    runs, compiled from the expression  {at}",
        f"    numpy (cpu, *)           the reference; a faster kernel serves this call  {at}",
        f"    numba (cuda, floating)   is for cuda, the inputs are at cpu  {at}",
        "    gives    y: float32[2, 3]",
        "    computes y = x * sigmoid(beta * x)",
        "    saves    input x (24 bytes)",
        "",
        "tests::swish_grad(x: float32[2, 3], dy: float32[2, 3])",
        f"  → numba (cpu, floating)    runs, compiled from the expression  {at}",
        f"    numpy (cpu, *)           the reference; a faster kernel serves this call  {at}",
        f"    numba (cuda, floating)   is for cuda, the inputs are at cpu  {at}",
        "    gives    dx: float32[2, 3]",
        *[f"    computes {text}" for text in explain(swish, F32).gradient.formulas],
    ]


def test_the_derivative_is_a_formula():
    @opsdk.elementwise
    def cubed(x):
        return x * x * x

    explanation = explain(cubed, F64)
    assert explanation.formulas == ("y = x * x * x",)
    (name, text) = explanation.gradient.formulas[0].split(" = ")
    others = dict(line.split(" = ") for line in explanation.gradient.formulas[1:])
    space = {"x": 3.0, "dy": 2.0}
    for shared, value in others.items():
        space[shared] = eval(value, space)
    assert (name, eval(text, space)) == ("dx", 54.0)


@pytest.mark.parametrize(
    "value", [np.ones(3, "float32"), np.ones(3, "int32"), np.ones(3, "float64"), np.ones(3, "complex64")]
)
def test_the_row_that_is_named_is_the_row_that_runs(swish, value):
    assert explain(swish, value).chosen == str(make_plan(swish.opdef, [value], {}).kernel)


def test_arrays_tensors_numbers_and_specs_are_inputs(swish):
    calls = [
        explain(swish, value).call
        for value in (np.ones((2, 3), "float32"), opsdk.ones([2, 3]), F32, opsdk.TensorSpec([None, 3]), 2.0)
    ]
    assert calls == [
        *["tests::swish(x: float32[2, 3])"] * 3,
        "tests::swish(x: float32[?, 3])",
        "tests::swish(x: float32[])",
    ]


def test_a_list_of_numbers_is_an_input_as_in_a_call():
    assert explain("opsdk::gather", np.ones((3, 2), "float32"), [0, 2]).call == (
        "opsdk::gather(x: float32[3, 2], index: int64[2])"
    )
    assert explain("opsdk::concat", [[1.0, 2.0], np.ones(2, "float32")]).call.endswith("(x: [float32[2], float32[2]])")
    with pytest.raises(DTypeError, match=r"op 'opsdk::gather', input 'index': expected"):
        explain("opsdk::gather", np.ones(3), ["a"])


def test_an_op_may_be_named():
    assert explain("opsdk::concat", [np.ones(2), np.ones(3)]).call == "opsdk::concat(x: [float64[2], float64[3]])"
    with pytest.raises(UnknownOpError, match="not registered"):
        explain("swsh", F32)


def test_a_call_that_cannot_be_is_refused(swish):
    with pytest.raises(ArityError, match="expected 1 argument, got 2"):
        explain(swish, F32, F32)


def test_what_the_infer_rule_refuses_is_said():
    explanation = explain("opsdk::elementwise_add", F32, opsdk.TensorSpec([4]))
    assert explanation.results[0].startswith("an error: op 'opsdk::")
    assert "(2, 3) and (4,)" in explanation.results[0]


# -- reasons -----------------------------------------------------------------------------------------------------------


def test_a_dtype_that_a_row_does_not_serve_is_a_reason(swish):
    found = reasons(explain(swish, INT))
    assert found["numba (cpu, floating)"] == "serves real numbers of which one is floating, got int64"
    assert found["numpy (cpu, *)"] == "runs, the reference"


def test_whole_numbers_have_no_gradient_to_explain(swish):
    assert explain(swish, INT).gradient is None
    assert explain(swish, INT).saves == ()


def test_a_row_of_one_dtype_comes_before_those_of_all(twice):
    twice.kernel("cpu", language="numba")(lambda x: 2 * x)
    twice.kernel("cpu", language="numba", dtype="float32")(lambda x: 2 * x)
    assert reasons(explain(twice, F32)) == {
        "numba (cpu, float32)": "runs",
        "numba (cpu, *)": "numba (cpu, float32) is for exactly this dtype",
        "numpy (cpu, *)": "numba (cpu, float32) is for exactly this dtype",
    }
    assert reasons(explain(twice, F64)) == {
        "numba (cpu, *)": "runs",
        "numba (cpu, float32)": "serves float32 as the dtype of the first input, got float64",
        "numpy (cpu, *)": "the reference; a faster kernel serves this call",
    }


def test_a_later_row_supersedes_an_earlier_one(swish):
    swish.kernel("cpu", language="numba")(lambda x, beta: x)
    found = reasons(explain(swish, F32))
    assert found["numba (cpu, *)"] == "runs"
    assert found["numba (cpu, floating)"] == "superseded by numba (cpu, *), which came later"


def test_the_other_byte_order_runs_the_same_row(swish):
    swapped = np.ones(3, np.dtype("f4").newbyteorder("S"))
    assert explain(swish, swapped).chosen == explain(swish, F32).chosen


def test_packages_that_are_missing_are_a_reason(swish, monkeypatch):
    monkeypatch.setattr(language, "is_installed", lambda name: name != "llvmlite")
    explanation = explain(swish, F32)
    assert explanation.chosen == "numpy (cpu, *)"
    assert reasons(explanation)["numba (cpu, floating)"] == "needs llvmlite, not installed"


def test_a_language_that_nothing_reads_is_said(twice):
    row = Kernel(KernelKey("cpu"), "cobol", "text", twice.opdef.origin)
    twice.opdef.kernels.add(row)
    assert reasons(explain(twice, F32))["cobol (cpu, *)"] == "runs, and fails: nothing here reads 'cobol'"


def test_an_op_without_a_row_says_so(twice):
    twice.opdef.kernels.restore([row for row in twice.opdef.kernels if row.language == "none"])
    explanation = explain(twice, F32)
    assert explanation.chosen is None
    assert "no kernel serves this call" in str(explanation)


SOURCE = "#include <opsdk.h>\nvoid twice_f32(const DLTensor *x, DLTensor *y) { }\n"


@pytest.mark.parametrize(
    ("source", "spec", "expected"),
    [
        (SOURCE, F32, "runs"),
        (SOURCE, F64, "runs, and fails: its source has no function twice_f64; there are twice_f32"),
        (
            SOURCE.replace("twice_f32", "other"),
            F64,
            "runs, and fails: its source has no function twice_f64; there are none",
        ),
        ("#define MAKE(s) void twice_##s(const DLTensor *x, DLTensor *y) { }\nMAKE(f32)\n", F64, "runs"),
    ],
    ids=["there", "missing", "none", "macros"],
)
def test_a_c_row_without_a_function_for_the_dtype_is_seen(twice, source, spec, expected):
    twice.kernel("cpu", language="c", source=source)
    assert reasons(explain(twice, spec))["c (cpu, *)"] == expected


# -- gradients ---------------------------------------------------------------------------------------------------------


def test_a_gradient_that_was_written_has_its_rows(twice):
    explanation = explain(twice, F32)
    assert explanation.saves == ()
    assert explanation.gradient.call == "tests::twice_grad(dy: float32[2, 3])"
    assert explanation.gradient.formulas == ()
    assert reasons(explanation.gradient) == {"numpy (cpu, *)": "runs, the reference"}


def test_an_op_without_a_backward_has_no_gradient():
    assert explain("opsdk::equal", F32, F32).gradient is None


def test_the_gradient_of_several_inputs_has_a_line_for_each():
    @opsdk.elementwise
    def product(a, b):
        return a * b

    explanation = explain(product, F32, opsdk.TensorSpec([3]))
    assert explanation.saves == ("input a (24 bytes)", "input b (12 bytes)")
    assert [line.partition(" = ")[0] for line in explanation.gradient.formulas] == ["da", "db"]


def test_static_attributes_choose_the_formula():
    @opsdk.elementwise
    def f(x, *, square: bool = False):
        return x * x if square else x + 1

    assert explain(f, F32).formulas == ("y = x + 1",)
    assert explain(f, F32, square=True).formulas == ("y = x * x",)


def test_a_residual_is_kept_with_its_bytes_or_as_an_object():
    @opsdk.op("tests::kept(Tensor x) -> Tensor y, residuals (Tensor top, Tensor rest, object plan)")
    def kept(x):
        return x, x, x, x

    kept.infer(lambda x: {"y": x, "top": opsdk.TensorSpec(x.shape[:-1], "int64"), "rest": None})
    kept.backward(lambda x_spec, top, rest, plan, dy: dy)
    explanation = explain(kept, np.ones((2, 3)))
    assert explanation.saves == ("residual top (16 bytes)", "residual rest", "residual plan (an object)")
    assert explanation.results == ("y: float64[2, 3]",)


def test_what_decides_the_sizes_that_a_kernel_fills_is_told():
    op = opsdk.op("t::some(Tensor x) -> Tensor y", infer=lambda x: opsdk.TensorSpec((None,), x.dtype))(lambda x: x)
    op.kernel("cpu", lambda x, y: 0, language="numba", bound=len_of)
    assert explain(op, np.ones(3)).rows[0].reason == "runs, bound=len_of"


def len_of(x):
    return len(x)


def test_a_gradient_that_names_the_spec_of_an_input_is_explained_too():
    @opsdk.op
    def total(x):
        return np.full(x.shape, x.sum())

    @total.backward
    def total_grad(x_spec, dy):
        return np.full(x_spec.shape, dy.sum(), x_spec.dtype)

    assert "total_grad" in str(explain(total, F64))


def test_the_dtype_of_an_index_that_comes_first_decides_nothing():
    pick = opsdk.op(
        "t::pick(Tensor<int> index, Tensor src) -> Tensor y",
        infer=lambda index, src: opsdk.TensorSpec(index.shape, src.dtype),
    )(lambda index, src: src[index])
    pick.kernel(
        "cpu",
        language="c",
        dtype="float32",
        dtypes={"index": "int64"},
        source="""
        void pick_f32(const DLTensor *index, const DLTensor *src, DLTensor *y) {}
    """,
    )
    index = opsdk.TensorSpec([2], "int64")
    assert opsdk.explain(pick, index, opsdk.TensorSpec([3], "float32")).chosen == "c (cpu, float32)"
    told = opsdk.explain(pick, index, opsdk.TensorSpec([3], "float64"))
    assert [verdict.reason for verdict in told.rows if "c (" in verdict.row] == [
        "serves float32 as the dtype of the first input beside index, got float64"
    ]
    runs = opsdk.explain(pick, index, opsdk.TensorSpec([3], "float32"))
    assert [verdict.reason for verdict in runs.rows if verdict.is_chosen] == ["runs"]
