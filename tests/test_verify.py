"""verify passes right ops, and names input and cause where one is wrong."""

import json

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import AttributeValueError, GradcheckError
from opsdk.verify import render_text, to_dict, verify
from opsdk.verify.run import chain


def define(forward, backward=None, **options):
    """Registers an op called `f` from a forward and a backward."""
    made = opsdk.op(name="f", namespace="planted", **options)(forward)
    if backward is not None:
        made.backward(backward)
    return made


def cube(x):
    return x * x * x


def cube_grad(x, dy):
    return 3 * x * x * dy


def checks(report):
    return {finding.check for finding in report.findings}


# -- right ops ---------------------------------------------------------------------------------------------------------


def test_a_right_op_passes_with_what_it_was_tried_on():
    report = verify(define(cube, cube_grad))
    assert report.verdict == "pass"
    assert report.findings == ()
    assert {"value", "infer", "mutation", "vjp", "dynamic", "static"} <= set(report.coverage.checks)
    assert [word for word in ("0-d", "empty", "vector", "matrix") if word not in str(report.coverage.samples)] == []
    assert report.coverage.tested > 50
    assert [row.row for row in report.rows if row.op == "planted::f"] == ["cpu,float64,numpy", "cpu,float32,numpy"]


def test_opsdk_verify_is_the_function_whoever_imported_the_module_first():
    assert opsdk.verify(define(cube, cube_grad)).verdict == "pass"


def test_the_same_seed_gives_an_equal_report():
    op = define(cube, cube_grad)
    assert verify(op, seed=3) == verify(op, seed=3)


def test_a_right_numba_row_passes():
    pytest.importorskip("numba")
    op = define(cube, cube_grad)

    @op.kernel("cpu", language="numba")
    def loop(x, y):
        source, target = x.ravel(), y.ravel()
        for i in range(source.size):
            target[i] = source[i] ** 3

    @op.grad.kernel("cpu", language="numba")
    def loop_grad(x, dy, dx):
        for i in range(x.size):
            dx.flat[i] = 3 * x.flat[i] * x.flat[i] * dy.flat[i]

    op.kernel("cpu", loop_by_flat, language="numba")
    report = verify(op)
    assert [finding.message for finding in report.findings] == []
    row = next(row for row in report.rows if row.row == "cpu,float64,numba")
    assert row.verdict == "pass"
    assert 0 <= row.worst_error < 1e-15


def loop_by_flat(x, y):
    for i in range(x.size):
        y.flat[i] = x.flat[i] ** 3


def test_a_second_backward_is_judged_by_the_gradient_of_the_gradient():
    op = define(cube, cube_grad)
    op.grad.backward(lambda x, dy, ddx: (6 * x * dy * ddx, 3 * x * x * ddx), name="f_grad_grad")
    report = verify(op)
    assert report.verdict == "pass"
    assert "vjp2" in report.coverage.checks
    assert not [note for note in report.coverage.notes if "order 1 only" in note]  # of a gradient it would be order 3


def test_a_broadcasting_op_is_tried_on_shapes_that_broadcast():
    op = define(lambda x, w: x * w, lambda x, w, dy: (dy * w, dy * x), infer=opsdk.infer.broadcast)
    report = verify(op)
    assert report.verdict == "pass"
    assert "broadcast" in str(report.coverage.samples)


def test_optional_and_variadic_inputs_are_judged():
    def total(x, w=None, *xs):
        return x + sum(xs) + (0 if w is None else 2 * w)

    def total_grad(x, w, xs, dy):
        return dy, None if w is None else 2 * dy, [dy.copy() for _ in xs]

    op = opsdk.op("planted::total(Tensor x, Tensor? w, Tensor[] xs) -> Tensor y")(lambda x, w, xs: total(x, w, *xs))
    op.backward(total_grad)
    report = verify(op)
    assert [finding.message for finding in report.findings] == []
    assert "without the optional inputs" in str(report.coverage.samples)


def test_verify_leaves_an_op_free_to_be_given_a_backward():
    op = define(cube)
    assert verify(op).verdict == "pass"
    op.backward(cube_grad)
    assert verify(op).verdict == "pass"


# -- planted bugs in the gradient -------------------------------------------------------------------------------------


def test_a_factor_of_two_is_named():
    report = verify(define(cube, lambda x, dy: 6 * x * x * dy))
    finding = report.findings[0]
    assert report.verdict == "fail"
    assert (finding.check, finding.input, finding.op, finding.row) == ("vjp.x", "x", "planted::f", "cpu,float64,numpy")
    assert finding.id == "planted::f[cpu,float64,numpy]::vjp.x"
    assert finding.message.startswith("op 'planted::f', gradient of 'x': wrong in ")
    assert finding.analytic == pytest.approx(2 * finding.numeric)
    assert "2" in finding.cause


def test_a_wrong_side_of_a_step_is_found():
    report = verify(define(lambda x: np.maximum(x, 0), lambda x, dy: dy * (x <= 0)))
    assert report.verdict == "fail"
    assert report.findings[0].input == "x"


def test_another_convention_at_a_kink_is_told_and_no_fault():
    report = verify(define(lambda x: np.maximum(x, 0), lambda x, dy: dy * (x >= 0)))
    assert report.verdict == "pass"
    assert any("kink" in note for note in report.coverage.notes)


def test_an_undeclared_none_is_found():
    report = verify(define(lambda x, w: x * w, lambda x, w, dy: (dy * w, None)))
    finding = report.findings[0]
    assert finding.input == "w"
    assert "expected an array, got None; if nothing depends on w, declare it" in finding.message
    assert finding.cause == "None that was not declared"


def test_a_declared_none_that_hides_a_dependence_is_found():
    op = define(lambda x, w: x * w)
    op.backward(disconnected=("w",))(lambda w, dy: (dy * w, None))
    report = verify(op)
    assert report.verdict == "fail"
    assert report.findings[0].input == "w"


def test_a_gradient_of_the_wrong_shape_is_found():
    report = verify(define(lambda x, w: x * w.sum(), lambda x, w, dy: (dy * w.sum(), dy * x)))
    assert report.findings[0].input == "w"


def test_the_wrong_number_of_gradients_is_found():
    report = verify(define(lambda x, w: x * w, lambda x, w, dy: dy * w))
    assert any("expected 2 gradients" in finding.message for finding in report.findings)


def test_a_backward_that_raises_is_found():
    def broken(x, dy):
        raise RuntimeError("out of order")

    assert any("RuntimeError: out of order" in finding.message for finding in verify(define(cube, broken)).findings)


def test_a_mask_that_drops_the_wanted_gradient_is_found():
    def swapped(x, w, dy, needs_input_grad):
        return dy * w if needs_input_grad[1] else 0 * dy, dy * x

    report = verify(define(lambda x, w: x * w, swapped))
    assert "mask.x" in checks(report)
    assert any("needs_input_grad asks for it alone" in finding.message for finding in report.findings)


def test_a_cotangent_that_nobody_sent_counts_as_zeros():
    op = opsdk.op("planted::both(Tensor x) -> (Tensor a, Tensor b)")(lambda x: (2 * x, 3 * x))
    op.backward(materialize=False)(lambda da, db: 2 * da + 3 * db)
    report = verify(op)
    assert any("expected da=None to count as zeros" in finding.message for finding in report.findings)


def test_a_wrong_second_backward_is_found():
    op = define(cube, cube_grad)
    op.grad.backward(lambda x, dy, ddx: (3 * x * dy * ddx, 3 * x * x * ddx), name="f_grad_grad")
    report = verify(op)
    assert report.verdict == "fail"
    assert any("gradient of its gradient" in finding.message for finding in report.findings)


# -- planted bugs in the kernels, the shape and the manners ------------------------------------------------------------


def test_a_numba_row_that_is_wrong_in_its_last_element_is_found():
    pytest.importorskip("numba")
    op = define(cube, cube_grad)

    @op.kernel("cpu", language="numba")
    def short(x, y):
        for i in range(x.size):
            y.flat[i] = x.flat[i] ** 3 if x.size == 1 or i < x.size - 1 else 0.0

    report = verify(op, rows="numba")
    finding = report.findings[0]
    assert finding.id == "planted::f[cpu,float64,numba]::value.y"
    assert "wrong in 1 of 15 elements" in finding.message
    assert "last element" in finding.cause
    assert "the reference kernel passes; only this kernel is wrong" in render_text(report)
    assert len(report.findings) == 1  # float32 shows the same fault
    assert {row.verdict for row in report.rows if row.row.endswith("numba")} == {"fail"}


def test_a_numba_row_that_writes_outside_is_found_before_it_is_compiled():
    op = define(cube, cube_grad)

    @op.kernel("cpu", language="numba")
    def beyond(x, y):
        for i in range(x.size + 1):
            y.flat[i] = x.flat[i] ** 3

    report = verify(op)
    assert {"bounds"} == {finding.check for finding in report.findings if finding.row.endswith("numba")}
    assert "expected it to stay inside its arrays at sample" in report.findings[0].message
    assert "out of bounds" in report.findings[0].message


def test_a_gradient_row_is_judged_apart_from_its_reference():
    pytest.importorskip("numba")
    op = define(cube, cube_grad)

    @op.grad.kernel("cpu", language="numba")
    def twice(x, dy, dx):
        for i in range(x.size):
            dx.flat[i] = 6 * x.flat[i] * x.flat[i] * dy.flat[i]

    report = verify(op)
    assert "planted::f[cpu,float64,numba]::vjp.x" in [finding.id for finding in report.findings]
    assert "planted::f[cpu,float64,numpy]::vjp.x" not in [finding.id for finding in report.findings]


def test_a_row_for_one_dtype_is_judged_in_that_dtype():
    pytest.importorskip("numba")
    op = define(cube, cube_grad)
    op.kernel("cpu", loop_by_flat, language="numba", dtype="float32")
    assert [r.row for r in verify(op).rows if r.row.endswith("numba")] == ["cpu,float32,numba"]


def test_a_row_for_another_place_is_skipped_and_said():
    op = define(cube, cube_grad)
    op.kernel("cuda", loop_by_flat, language="numba")
    report = verify(op)
    assert report.verdict == "pass"
    assert [row.verdict for row in report.rows if row.row.startswith("cuda")] == ["skipped"]
    assert "planted::f[cuda,*,numba]: no cuda device" in report.coverage.skipped


def test_a_reference_that_loses_digits_in_float32_is_found():
    def cancelling(x):
        return (x + x.dtype.type(3e6)) - x.dtype.type(3e6)

    report = verify(define(cancelling, lambda dy: dy))
    finding = next(finding for finding in report.findings if finding.check == "value.y")
    assert finding.row == "cpu,float32,numpy"
    assert "float64 gives" in finding.message


def test_a_backward_without_a_return_is_asked_for_it_once():
    (finding,) = verify(define(cube, lambda x, dy: None)).findings
    assert finding.message.startswith("op 'planted::f', gradient of 'x': expected an array, got nothing; is a ")
    assert finding.also == "the same on tensors and in a Program"


def test_an_infer_rule_that_lies_about_the_shape_is_found():
    op = define(lambda x: x.ravel(), None)
    op.infer(lambda x: x)
    assert "infer" in checks(verify(define(lambda x: np.atleast_1d(x.sum()))))


def test_an_infer_rule_that_lies_about_the_dtype_is_found():
    report = verify(define(lambda x: x.astype("float32")))
    assert "infer" in checks(report)
    assert "expected float64, got float32" in report.findings[0].message


def test_an_infer_rule_that_cannot_do_without_sizes_is_found():
    op = define(lambda x: np.concatenate([x, x]) if x.ndim else np.stack([x, x]))
    op.infer(lambda x: opsdk.TensorSpec((2 * x.shape[0], *x.shape[1:]) if x.shape else (2,), x.dtype))
    report = verify(op)
    assert checks(report) == {"infer.open"}
    assert "expected sizes of None to be carried through, raised TypeError" in report.findings[0].message
    assert report.findings[0].message.endswith("take a stock rule, such as infer=opsdk.infer.broadcast")


def test_an_infer_rule_that_raises_where_the_kernel_runs_is_found():
    op = define(cube)

    @op.infer
    def strict(x):
        raise ValueError("no such shape")

    report = verify(op)
    assert "infer: expected specs for sample" in report.findings[0].message


def test_an_undeclared_mutation_is_found():
    def in_place(x):
        x *= 2
        return x.copy()

    report = verify(define(in_place))
    assert "mutation.x" in checks(report)
    assert "input 'x' was changed in place, expected it untouched" in report.findings[0].message


def test_an_undeclared_alias_is_found():
    report = verify(define(lambda x: x[...]))
    assert "alias" in checks(report)
    assert "expected a new array, got a view of input 'x'" in report.findings[0].message


def test_two_outputs_in_one_memory_are_found():
    op = opsdk.op("planted::twins(Tensor x) -> (Tensor a, Tensor b)")(lambda x: (y := 2 * x, y[::-1] if x.ndim else y))
    report = verify(op)
    assert "alias.b" in checks(report)
    assert "outputs 'a' and 'b': expected memory of their own, got one for both" in report.findings[0].message


def test_a_result_that_is_kept_is_copied_so_that_no_call_changes_an_earlier_one():
    kept = {}

    def cached(x):
        key = (x.tobytes(), x.shape, x.dtype)
        return kept.setdefault(key, 2 * x)

    op = define(cached)
    assert verify(op).verdict == "pass"
    first, second = op(np.ones(3)), op(np.ones(3))
    first += 1.0
    assert (first.tolist(), second.tolist()) == ([3.0, 3.0, 3.0], [2.0, 2.0, 2.0])
    assert op(np.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_complex_inputs_are_said_not_to_be_judged():
    op = define(lambda x: 2 * x, lambda dy: 2 * dy)
    report = verify(op, samples=[opsdk.Sample(np.array([1 + 2j]))])
    assert any("complex inputs are not judged" in entry for entry in report.coverage.skipped)


def test_complex_outputs_beside_real_ones_are_said_not_to_be_judged():
    op = opsdk.op("planted::split(Tensor x) -> (Tensor a, Tensor b)")(lambda x: (2 * x, 1j * x.astype(np.float64)))
    op.infer(lambda x: (x, opsdk.TensorSpec(x.shape, "complex128")))
    op.backward(lambda da, db: 2 * da)
    report = verify(op, samples=[opsdk.Sample(np.array([1.0, 2.0]))])
    assert any("complex outputs are not judged" in entry for entry in report.coverage.skipped)


def test_nondeterminism_is_found():
    rng = np.random.default_rng(0)
    report = verify(define(lambda x: x + rng.normal(size=x.shape)))
    assert "repeats.y" in checks(report)
    assert "expected the same bits from the same inputs" in report.findings[0].message


def test_declared_nondeterminism_is_taken_at_its_word():
    rng = np.random.default_rng(0)
    report = verify(define(lambda x: x + rng.normal(size=x.shape).astype(x.dtype), deterministic=False))
    assert report.verdict == "pass"
    assert any("not deterministic" in note for note in report.coverage.notes)


def test_the_gradient_of_an_op_that_is_not_deterministic_is_judged_with_its_draws_fixed():
    rng = np.random.default_rng(0)
    noisy = define(lambda x: x + rng.normal(size=x.shape).astype(x.dtype), lambda dy: dy, deterministic=False)
    assert verify(noisy).verdict == "pass"
    wrong = define(lambda x: x + rng.normal(size=x.shape).astype(x.dtype), lambda dy: 2 * dy, deterministic=False)
    assert checks(verify(wrong)) == {"vjp.x"}


def test_memory_between_calls_is_found():
    seen = []

    def remembering(x):
        seen.append(x)
        return x + len(seen)

    assert "repeats.y" in checks(verify(define(remembering)))


# -- declarations ------------------------------------------------------------------------------------------------------


def test_an_input_declared_nondifferentiable_that_is_not_is_found():
    report = verify(define(cube, nondifferentiable=("x",)))
    finding = report.findings[0]
    assert report.verdict == "fail"
    assert finding.input == "x"
    assert "declared non-differentiable" in finding.message


def test_one_declared_nondifferentiable_beside_another_is_found():
    report = verify(define(lambda x, w: x * w, lambda w, dy: dy * w, nondifferentiable=("w",)))
    assert any(finding.input == "w" for finding in report.findings)


def test_a_step_may_be_declared_nondifferentiable():
    assert verify(define(lambda x: np.sign(x), nondifferentiable=("x", "y"))).verdict == "pass"


def test_an_output_that_carries_no_gradient_is_said():
    report = verify(define(lambda x: np.floor(x), nondifferentiable=("y",)))
    assert report.verdict == "pass"
    assert any("carries no gradient" in note for note in report.coverage.notes)


def test_an_op_declared_linear_that_is_not_is_found():
    report = verify(define(cube, cube_grad, linear=True))
    assert "linear.y" in checks(report)
    assert "declared linear, expected f(2x - 3z) = 2 f(x) - 3 f(z)" in report.findings[0].message


def test_a_linear_op_passes():
    assert verify(define(lambda x: 3 * x, lambda dy: 3 * dy, linear=True)).verdict == "pass"


def test_samples_stay_inside_the_domain():
    seen = []

    def root(x):
        seen.extend(np.ravel(x))
        return np.sqrt(x)

    op = define(root, lambda y, dy: dy / (2 * y), domain={"x": (0.25, 4.0)})
    assert verify(op).verdict == "pass"
    assert min(seen) >= 0.25 * (1 - 1e-6)
    assert max(seen) <= 4.0 * (1 + 1e-6)


def test_a_surrogate_gradient_is_stated_and_not_compared():
    report = verify(define(lambda x: np.sign(x), lambda dy: dy, surrogate=True))
    assert report.verdict == "pass"
    assert any("declared surrogate, its gradient is not compared" in note for note in report.coverage.notes)


def test_a_missing_backward_is_said():
    report = verify(define(cube))
    assert report.verdict == "pass"
    assert "planted::f: no backward declared" in report.coverage.notes


def test_an_opaque_backward_is_said_to_end_the_orders():
    assert any("order 1 only" in note for note in verify(define(cube, cube_grad)).coverage.notes)


# -- samples -----------------------------------------------------------------------------------------------------------


def test_an_op_that_refuses_the_default_samples_is_inconclusive():
    def picky(x):
        if x.shape != (17,):
            raise ValueError("17 or nothing")
        return 2 * x

    report = verify(define(picky, lambda dy: 2 * dy))
    assert report.verdict == "inconclusive"
    assert any("ValueError: 17 or nothing; give it samples: @f.samples" in e for e in report.coverage.inconclusive)


def test_samples_of_the_op_take_the_place_of_the_defaults():
    op = define(cube, cube_grad)

    @op.samples
    def some(rng):
        yield opsdk.Sample(rng.normal(size=17), reason="seventeen")

    assert verify(op).coverage.samples == ("(float64(17,)) seventeen",)


def test_samples_given_to_verify_take_the_place_of_those_of_the_op():
    op = define(cube, lambda x, dy: np.where((x > 9) & (x < 11), 0, 3 * x * x * dy))
    assert verify(op).verdict == "pass"
    report = verify(op, samples=[opsdk.Sample(np.array([10.0]), reason="far out")])
    assert report.findings[0].sample == "(float64(1,)) far out"


def test_a_sample_that_does_not_run_is_a_finding():
    op = define(lambda x: np.linalg.inv(x))
    report = verify(op, samples=[opsdk.Sample(np.ones(3), reason="no matrix")])
    assert checks(report) == {"runs"}
    assert "sample (float64(3,)) no matrix expected to run, raised LinAlgError" in report.findings[0].message


def test_verify_refuses_what_is_no_op():
    with pytest.raises(AttributeValueError, match=r"verify: expected an op or a primitive, got function; pass what"):
        verify(cube)


# -- the report --------------------------------------------------------------------------------------------------------


@pytest.fixture
def failed():
    return verify(define(cube, lambda x, dy: 6 * x * x * dy), seed=5)


def test_the_text_starts_each_block_with_op_input_count_and_both_values(failed):
    block = render_text(failed).split("\n\n")[1].splitlines()
    assert block[0].startswith("FAIL op 'planted::f', gradient of 'x': wrong in ")
    assert "yours" in block[0]
    assert "derivative" in block[0]
    assert "±" in block[0]
    labels = [line.split()[0] for line in block[1:]]
    assert labels == ["kernel", "pattern", "sample", "passed", "at"]
    assert "test_verify.py:" in block[5]


def test_the_last_line_says_the_verdict(failed):
    assert render_text(failed).splitlines()[-1].startswith("FAIL: 1 failed, ")
    passed = render_text(verify(opsdk.find_op("tanh"), rows="cpu")).splitlines()[-1]
    assert passed.startswith("pass: 12 passed of 12 kernels in ")  # three ops, two languages, two dtypes


def test_a_passing_op_takes_one_line_per_op_in_the_table():
    lines = render_text(verify(opsdk.find_op("tanh"), rows="cpu")).splitlines()
    assert lines[0].split()[:3] == ["op", "kernels", "verdict"]
    assert lines[1].split()[:4] == ["opsdk::tanh", "numpy", "numba", "pass"]
    assert lines[2].split()[:4] == ["opsdk::tanh_grad", "numpy", "numba", "pass"]
    assert lines[3].split()[:4] == ["opsdk::tanh_grad_grad", "numpy", "numba", "pass"]
    assert lines[4] == ""


def test_the_dictionary_is_json_and_holds_the_text(failed):
    document = json.loads(json.dumps(to_dict(failed), allow_nan=False))
    assert document["schema"] == 1
    assert document["verdict"] == "fail"
    assert document["rendered"] == render_text(failed)
    assert document["findings"][0]["input"] == "x"


def test_a_trace_tells_of_the_worst_call_how_each_input_was_judged():
    report = verify(define(cube, lambda x, dy: 2 * dy * x * x), trace=True)
    first = [line for line in report.coverage.traces if line.startswith("trace")]
    assert len(first) == len({line.partition(", at ")[0].partition("[")[2].rpartition("[")[0] for line in first})
    assert first[0].startswith("trace    planted::f[cpu,float64,numpy] vjp, x[")
    assert ": wrong under " in first[0]
    assert f"  {first[0]}" in str(report).splitlines()


def test_raise_if_failed_raises_the_gravest_finding(failed):
    with pytest.raises(GradcheckError, match="op 'planted::f', gradient of 'x': wrong in") as caught:
        failed.raise_if_failed()
    assert caught.value.code == "OP301"
    labels = [note.split()[0] for note in caught.value.__notes__]
    assert labels == ["kernel", "pattern", "sample", "passed", "at", "code"]
    assert isinstance(caught.value, AssertionError)


def test_raise_if_failed_is_silent_about_a_right_op():
    verify(opsdk.find_op("tanh")).raise_if_failed()


def test_verify_raises_itself_when_asked():
    with pytest.raises(GradcheckError, match="gradient of 'x'"):
        verify(define(cube, lambda x, dy: dy), raise_exception=True)


# -- ops that are derived ----------------------------------------------------------------------------------------------


def test_of_derived_gradients_two_are_proven_and_of_declared_ones_all():
    op = opsdk.elementwise("planted::f(Tensor x) -> Tensor y")(lambda x: x * x * x)
    assert [each.name for each in chain(op.opdef)] == ["planted::f", "planted::f_grad", "planted::f_grad_grad"]
    declared = opsdk.op(name="g", namespace="planted")(cube)
    declared.backward(cube_grad)
    declared.grad.backward(lambda x, dy, ddx: (6 * x * dy * ddx, 3 * x * x * ddx))
    declared.grad.grad.backward(lambda dy, dx_grad: (dy, dy, dy))
    assert len(list(chain(declared.opdef))) == 4


# Compiled for every dtype that there is; one dtype stands for them in verify/kernels.
@pytest.mark.slow
def test_a_compiled_row_is_not_tried_on_what_the_reference_serves():
    op = opsdk.elementwise("planted::f(Tensor x, Tensor y) -> Tensor out")(lambda x, y: x * y + 1)

    @op.samples
    def samples(rng):
        yield opsdk.Sample(np.array([1, 2]), np.array([3, 4]), reason="whole numbers")
        yield opsdk.Sample(np.array([1, 2]), np.array([0.5, 4]), reason="a whole number beside a float")
        yield opsdk.Sample(np.array([1j, 2]), np.array([0.5, 4]), reason="complex")
        yield opsdk.Sample(rng.normal(size=3), rng.normal(size=3), reason="floats")

    report = verify(op)
    assert report.findings == ()
    compiled = {row.row for row in report.rows if row.op == "planted::f" and row.row.endswith("numba")}
    assert {row for row in compiled if row.startswith("cpu")} == {"cpu,float64,numba", "cpu,float32,numba"}


@pytest.mark.parametrize("where", ["forward", "backward", "infer", "samples"])
def test_code_of_an_op_that_exits_is_a_finding_and_no_end_of_the_caller(where):
    def leave():
        raise SystemExit(0)

    def forward(x):
        return leave() if where == "forward" else x * 2.0

    def backward(dy):
        return leave() if where == "backward" else dy * 2.0

    leaving = opsdk.register_op("leaving", forward=forward, backward=backward)
    if where in ("infer", "samples"):
        getattr(leaving, where)(leave)
    report = opsdk.verify(leaving)
    assert report.verdict == "fail"
    assert any("to return or raise an error, got SystemExit(0); take out what" in f.message for f in report.findings)
