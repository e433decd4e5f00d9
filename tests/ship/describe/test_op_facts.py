import json

import numpy as np

import opsdk
from opsdk.define.op import find_op
from opsdk.ship.describe.op_facts import facts_of, screen


def define(**options):
    @opsdk.op(namespace="facts", **options)
    def cube(x):
        """The cube
        of x.

        A second paragraph.
        """
        return x**3

    return cube


def test_an_expression_is_shown_with_its_derivative():
    @opsdk.elementwise(namespace="facts")
    def swish(x, *, beta: float = 1.0):
        return x * opsdk.vmath.sigmoid(beta * x)

    facts = facts_of(swish)
    assert facts.formula == ("y = x * sigmoid(beta * x)",)
    assert facts.derivative == (
        "dx = dy * (t0 + x * (t0 * sigmoid(-(beta * x))) * beta)",  # the very order that is computed in
        "t0 = sigmoid(beta * x)",
    )
    assert facts.backward == "facts::swish_grad, derived from its expression, to any order"
    assert facts.order == "∞"
    assert facts.infer == "inputs are broadcast; gradients are summed back"


def test_a_row_expression_names_what_lies_along_a_row():
    facts = facts_of(find_op("opsdk::layer_norm"))
    assert facts.infer == "rows: x full, weight column, bias column → out full"
    assert "dweight = dout * (t0 * t2)" in facts.derivative


def test_values_that_choose_the_expression_are_told():
    assert facts_of(find_op("opsdk::gelu")).formula[-1] == "for approximate='none'"
    assert facts_of(find_op("opsdk::clip")).formula == ("out = minimum(maximum(x, min), max)",)


def test_numpy_code_has_no_formula_and_is_said_to_be_opaque():
    cube = define()

    @cube.backward
    def cube_grad(x, y, dy):
        return 3 * x**2 * dy

    facts = facts_of(cube)
    assert (facts.formula, facts.derivative) == ((), ())
    assert facts.backward == "facts::cube_grad, NumPy code, opaque"
    assert facts.saves == "input x, output y; 4 bytes for each float32 element of each"
    assert facts.summary == "The cube of x."


def test_promises_are_told():
    cube = define(domain={"x": (0.0, None)}, deterministic=False, linear=True, infer=lambda x: x)
    cube.check(lambda x: None)
    facts = facts_of(cube)
    assert facts.declared.startswith("x in [0, ∞]; not deterministic; linear; values checked at ")
    assert facts.infer.startswith("a function at ")


def test_what_carries_no_gradient_is_told_with_the_reason():
    cube = define(nondifferentiable={"y": "saved for the backward"})
    assert facts_of(cube).declared == "nondifferentiable y (saved for the backward)"


def test_an_input_that_nobody_asks_the_gradient_of_is_told_as_constant():
    table = opsdk.op(
        "t::weighed(Tensor x, Tensor scale, Tensor index) -> Tensor y",
        nondifferentiable={"index": "positions"},
        constant=["scale"],
    )(lambda x, scale, index: x * scale)
    assert facts_of(table).declared == "nondifferentiable index (positions); constant scale"


def test_a_kernel_says_what_decides_the_sizes_that_it_fills():
    op = define(infer=lambda x: opsdk.TensorSpec((None,), x.dtype))

    def most(x):
        return x.size

    op.kernel("cpu", lambda x, y: 0, language="numba", bound=most)
    assert facts_of(op).rows[-1].where.endswith(", bound=most")


def test_a_screen_fits_its_width():
    for name in ("gelu", "layer_norm", "matmul", "reduce_sum"):
        for width in (60, 80, 100):
            lines = screen(facts_of(find_op(f"opsdk::{name}")), width).splitlines()
            too_long = [line for line in lines if len(line) > width and " " in line.strip()[12:]]
            assert not [line for line in too_long if not line.startswith(("  kernel", "  gradient"))], (name, width)


def test_show_is_for_machines_too(run, right):
    found = json.loads(run("show", "good.py:clamp", "--json").stdout)
    assert found["schema"] == "good::clamp@1(Tensor x) -> Tensor y"
    assert found["rows"] == [{"op": "good::clamp", "row": "numpy (cpu, *)", "where": "good.py:5"}]


def test_an_op_without_a_backward_says_so():
    facts = facts_of(define())
    assert (facts.saves, facts.backward, facts.order, facts.gradient_rows) == ("nothing", "none", "none", ())
    assert np.array_equal(define()(np.ones(1)), [1.0])


def test_what_a_sample_keeps_is_told_of_an_op_with_residuals():
    kept = opsdk.op(name="kept", namespace="tests", residuals=["object plan"], replace=True)(lambda x: (x, x))
    kept.backward(lambda x, plan, dy: dy)
    kept.samples(lambda rng: [opsdk.Sample(np.ones(3), reason="ones")])
    wanted = "input x, residual plan (an object); 4 bytes for each float32 element of x. Of (float64(3,)) ones: "
    assert facts_of(kept).saves == f"{wanted}input x (24 bytes), residual plan (an object)"


def test_the_bytes_of_an_element_of_a_residual_are_those_of_the_dtype_that_the_infer_rule_says():
    def infer(x):
        return x, x, opsdk.TensorSpec(x.shape, "int64")

    residuals = ["object plan", "Tensor scaled", "Tensor<int> order"]
    kept = opsdk.op(name="kept_of_dtypes", namespace="tests", residuals=residuals, replace=True, infer=infer)(
        lambda x: (x * 2, {}, x * 3, np.arange(x.size).reshape(x.shape))
    )
    kept.backward(lambda x_spec, plan, order, scaled, dy: dy * 2)
    kept.samples(lambda rng: [opsdk.Sample(np.ones(3), reason="ones")])
    assert facts_of(kept).saves == (
        "residual order, residual scaled, residual plan (an object); 8 bytes for each int64 element of order, "
        "4 bytes for each float32 element of scaled. Of (float64(3,)) ones: "
        "residual order (24 bytes), residual scaled (24 bytes), residual plan (an object)"
    )
