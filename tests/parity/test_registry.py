"""Sweeps the registry: a new built-in op is tested by existing, its samples say on what.

Every op is judged at its first sample, every 24th with its derivatives to the second order and for every subset of
what may be asked for; all of them are so, at all samples, and each gradient op for itself, in the sweep marked slow.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import opsdk
import opsdk.nn
from opsdk.define.kernel.kernel import REFERENCE, KernelTable
from opsdk.define.op import Op, renewed
from opsdk.define.sample import Sample
from opsdk.verify.inputs.sampling import calls_of
from opsdk.verify.run import examine

# What each item asserts, by the kinds of finding that would contradict it.
CHECKS = {
    "samples run": ("runs", "bounds", "compile"),
    "inputs stay untouched and apart": ("mutation", "alias"),
    "infer agrees with the run": ("infer",),
    "rows agree with the reference": ("value", "repeats", "linear", "layout"),
    "gradient agrees with the numeric derivative": ("vjp", "vjp2", "mask", "materialize", "nondifferentiable"),
    "residuals move as they are said to": ("residual",),
    "complex gradient agrees with the numeric derivative": ("complex", "complex2"),
    "tensors give the bits of arrays": ("dynamic", "recorded"),
    "Programs give the bits of arrays": ("static", "static2"),
}
FORWARD = [
    op.opdef.name
    for op in opsdk.REGISTRY
    # a derived gradient stands here or not, by what ran before; it is swept below, and its own gradients are not
    if op.opdef.schema.namespace == "opsdk" and op.opdef.gradient_of is None
]
# A derived gradient is registered when it is first asked for.
GRADIENTS = [op.grad.opdef.name for op in map(opsdk.find_op, FORWARD) if op.grad is not None]
OPS = list(dict.fromkeys([*FORWARD, *GRADIENTS]))


FIRST, WHOLE, EVERY = "first sample", "first sample in full", "every sample"
# The registry takes a core five minutes at every sample, seventy seconds at the first in full, and thirty at level
# "quick": most of it goes into code for each subset of gradients and into second derivatives, which one rule gives all.
SWEPT = {FIRST: FORWARD, WHOLE: FORWARD[::24], EVERY: OPS}
at_extents = pytest.mark.parametrize("extent", [FIRST, WHOLE, pytest.param(EVERY, marks=pytest.mark.slow)])
at_ops = pytest.mark.parametrize(
    ("name", "extent"),
    [
        pytest.param(name, extent, marks=[pytest.mark.slow] if extent == EVERY else [])
        for extent, names in SWEPT.items()
        for name in names
    ],
)


@cache
def report_of(name, extent):
    opdef = opsdk.find_op(name).opdef
    if extent == EVERY:
        return examine(opdef)
    level = "quick" if extent == FIRST else "default"
    return examine(opdef, samples=[first_sample(opdef)], budget=200, level=level)


def first_sample(opdef):
    """The first call that an op is proven at; a gradient op's follows from its forward's first."""
    call = calls_of(opdef, None, seed=0)[0]
    return Sample(*call.inputs, reason=call.reason, **call.attrs)


@at_extents
def test_every_check_of_verify_is_asserted_here(extent):
    asserted = {kind for kinds in CHECKS.values() for kind in kinds}
    ran = {check for name in SWEPT[extent] for check in report_of(name, extent).coverage.checks}
    assert ran <= asserted


@at_ops
@pytest.mark.parametrize("check", CHECKS)
def test_op(name, check, extent):
    found = [f.message for f in report_of(name, extent).findings if f.check.partition(".")[0] in CHECKS[check]]
    assert found == []


@at_ops
def test_op_is_judged_and_not_only_run(name, extent):
    report = report_of(name, extent)
    assert report.verdict == "pass"
    assert report.coverage.samples
    assert report.rows
    assert not [entry for entry in report.coverage.inconclusive if "give it samples" in entry]


@at_ops
def test_every_row_is_judged_in_both_float_dtypes(name, extent):
    samples, rows = report_of(name, extent).coverage.samples, report_of(name, extent).rows
    if any("float64" in sample for sample in samples) and rows[0].row.split(",")[1].startswith("float"):
        assert {"float32", "float64"} <= {row.row.split(",")[1] for row in rows}


def slightly_more(made):
    """What a backward returned, every gradient greater by a millionth of itself."""
    if isinstance(made, (tuple, list)):
        return type(made)(slightly_more(item) for item in made)
    return None if made is None else np.asarray(made * (1 + 1e-6))


def with_a_wrong_gradient(opdef):
    """The definition of an op whose gradient is off by a millionth, in code that nothing can see into."""
    gradient = opdef.grad.op.opdef
    right = gradient.kernels.reference()
    rows = KernelTable()
    rows.add(replace(right, language=REFERENCE, source=lambda *x, **attrs: slightly_more(right.source(*x, **attrs))))
    wrong = renewed(gradient, kernels=rows, body=None, rule=None)
    return renewed(opdef, rule=replace(opdef.grad, op=Op(wrong), passes=()))


# Of those that draw, the gradient op is made of ops that take a generator, which no code in NumPy's words calls.
WITH_GRADIENT = [
    name
    for name in FORWARD
    if (op := opsdk.find_op(name)).grad and not op.opdef.schema.generators
]
# Every 24th op shows that the judge sees so little; the sweep shows it of all.
SOME = [
    pytest.param(name, marks=() if position % 24 == 0 else pytest.mark.slow)
    for position, name in enumerate(WITH_GRADIENT)
]


@pytest.mark.parametrize("name", SOME)
def test_a_gradient_that_is_off_by_a_millionth_is_seen(name):
    report = examine(with_a_wrong_gradient(opsdk.find_op(name).opdef), budget=300)
    assert report.verdict == "fail"
    seen_by = "complex" if name in ("opsdk::imag", "opsdk::angle") else "vjp"  # of real numbers these gradients are 0
    # an op that expects a refusal of its own gradient, at singular matrices, is told that this one refuses nothing
    unmet = {"expect"} if name == "opsdk::log_abs_det" else set()
    assert {finding.check.partition(".")[0] for finding in report.findings} == {seen_by} | unmet
