"""Ops that change inputs: their gradients and what they change are held to arrays in both runtimes."""

from types import SimpleNamespace

import numpy as np
import pytest

import opsdk
from opsdk.autograd import tape
from opsdk.backends.call import arrays
from opsdk.core.nested import each
from opsdk.static.run import steps


def define_centred(saved=lambda batch, mean: batch):
    """The squared distance from the mean of the batch, or from a running one; the backward reads what is saved."""

    @opsdk.op(
        "planted::centred(Tensor x, Tensor(a!) mean, *, bool training=True, float momentum=0.25) "
        "-> (Tensor y, Tensor batch)",
        constant=["mean"],
        nondifferentiable={"batch": "saved for the backward"},
    )
    def centred(x, mean, *, training, momentum):
        batch = x.mean(axis=0) if training else mean.copy()
        if training:
            mean += momentum * (batch - mean)
        return (x - batch) ** 2, saved(batch, mean).copy()

    @centred.infer
    def centred_specs(x, mean):
        return x, mean

    @centred.backward
    def centred_grad(x, batch, dy, training):
        g = 2 * (x - batch) * dy
        return g - g.mean(axis=0) if training else g

    @centred.samples
    def centred_samples(rng):
        for training in (True, False):
            yield opsdk.Sample(rng.normal(size=(4, 3)), rng.normal(size=3), training=training, reason="rows")

    return centred


def checks(report):
    return {finding.check for finding in report.findings}


def test_what_keeps_statistics_passes_and_was_run_in_both_runtimes():
    report = opsdk.verify(define_centred())
    assert report.verdict == "pass", report
    assert {"vjp", "dynamic", "static", "repeats"} <= set(report.coverage.checks)


def test_a_backward_that_reads_the_new_statistics_is_found():
    assert checks(opsdk.verify(define_centred(saved=lambda batch, mean: mean))) == {"vjp.x"}


LOOP = """
int32_t centred_f64(const DLTensor *x, DLTensor *mean, DLTensor *y, DLTensor *batch, int32_t training,
                    double momentum) {
  const int64_t rows = x->shape[0], n = x->shape[1];
  double *m = OPSDK_DATA(double, mean), *b = OPSDK_DATA(double, batch);
  for (int64_t k = 0; k < n; ++k) {
    const double *in = OPSDK_DATA(const double, x) + k;
    double *out = OPSDK_DATA(double, y) + k, sum = 0;
    for (int64_t i = 0; i < rows; ++i) sum += in[i * n];
    b[k] = training ? sum / rows : m[k];
    UPDATE
    for (int64_t i = 0; i < rows; ++i) out[i * n] = (in[i * n] - b[k]) * (in[i * n] - b[k]);
  }
  return 0;
}
"""
STEP = "m[k] += momentum * (b[k] - m[k]);"
FAULTS = {
    "none": (f"if (training) {STEP}", set()),
    "an update that was forgotten": ("", {"value.mean"}),
    "an update that is made twice": (f"if (training) {{ {STEP} {STEP} }}", {"value.mean"}),
    "another momentum": ("if (training) m[k] += (1 - momentum) * (b[k] - m[k]);", {"value.mean"}),
    "an update in a test": ("m[k] += momentum * (sum / rows - m[k]);", {"value.mean"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_another_state_after_a_kernel_than_after_the_reference_is_found(fault):
    pytest.importorskip("cffi")
    update, expected = FAULTS[fault]
    op = define_centred()
    op.kernel("cpu", language="c", dtype="float64", source=LOOP.replace("UPDATE", update))
    assert checks(opsdk.verify(op, rows="c")) == expected


def on_copies(opdef, inputs, *rest):
    return arrays.run(opdef, each(inputs, np.array) if opdef.schema.mutated_inputs else inputs, *rest)


def test_a_change_that_a_program_loses_is_found(monkeypatch):
    monkeypatch.setattr(steps, "arrays", SimpleNamespace(**{**vars(arrays), "run": on_copies}))
    assert checks(opsdk.verify(define_centred())) == {"static.mean"}


def test_a_change_that_the_tape_loses_is_found(monkeypatch):
    launch = tape.launch

    def lost(plan, run, inputs, arrays, attrs):
        return launch(plan, run, inputs, each(arrays, np.array), attrs)

    monkeypatch.setattr(tape, "launch", lost)
    assert checks(opsdk.verify(define_centred())) == {"dynamic.mean"}


def test_the_gradient_of_what_is_changed_is_judged_to_the_second_order():
    @opsdk.op("planted::add_square_(Tensor(a!) s, Tensor x) -> Tensor(a!) y")
    def add_square_(s, x):
        s += x * x

    @add_square_.backward(composite=True)
    def add_square_grad(x, dy):
        return dy, 2.0 * x * dy

    sample = opsdk.Sample(np.array([0.5, -1.0]), np.array([2.0, 0.25]), reason="two")
    report = opsdk.verify(add_square_, samples=[sample], budget=200)
    assert report.verdict == "pass", report
    assert {"vjp2", "static2"} <= set(report.coverage.checks)


def test_it_is_said_of_what_no_output_passes_on_that_no_runtime_asks_for_its_gradient():
    @opsdk.op("planted::eats(Tensor(a!) h, Tensor x) -> Tensor y")
    def eats(h, x):
        h += 1
        return x * 2

    @eats.backward
    def eats_grad(dy):
        return 0 * dy, 2 * dy

    report = opsdk.verify(eats)
    assert report.verdict == "pass", report
    assert any("the gradient of h on arrays alone: it is changed in place" in note for note in report.coverage.notes)


def test_it_is_said_of_an_update_that_its_declarations_are_not_judged():
    @opsdk.op("planted::step_(Tensor(a!)[] ps, Tensor g) -> Tensor(a!)[] qs", nondifferentiable=["ps", "g", "qs"])
    def step_(ps, g):
        for p in ps:
            p -= g

    @step_.samples
    def step_samples(rng):
        yield opsdk.Sample([rng.normal(size=3), rng.normal(size=3)], rng.normal(size=3), reason="two")

    report = opsdk.verify(step_)
    assert report.verdict == "pass", report
    assert any("carries no gradient; whether outputs depend" in note for note in report.coverage.notes)
