"""What is given as samples and is none is named; it stops nothing but the op that has it."""

import numpy as np
import pytest

import opsdk
from opsdk.core.errors import ArityError, AttributeValueError
from opsdk.core.origin import origin_of
from opsdk.verify import verify

SUBJECT = "op 'planted::f', samples: expected opsdk.Samples"


def double(x):
    return 2 * x


def double_grad(dy):
    return 2 * dy


def raising(rng):
    yield opsdk.Sample(np.ones(2))
    raise ValueError("planted")


UNUSABLE = {
    "bare": (lambda rng: [opsdk.Sample(np.ones(2)), np.ones(3)], ", got ndarray at position 1"),
    "raising": (raising, ", raised ValueError: planted"),
    "none": (lambda rng: None, ", got None"),
    "none within": (lambda: [None], ", got None at position 0"),
    "one": (lambda rng: opsdk.Sample(np.ones(2)), ", got Sample"),
    "number": (lambda rng: 3, ", got int"),
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_samples_of_an_op_that_are_none_are_one_finding(define, case):
    samples, what = UNUSABLE[case]
    op = define(double, double_grad)
    op.samples(samples)
    report = verify(op)
    (finding,) = report.findings
    assert (report.verdict, finding.check) == ("fail", "samples")
    assert finding.message == f"{SUBJECT}{what}; yield opsdk.Sample(...)"
    assert finding.at == str(origin_of(samples))
    assert finding.id == "planted::f[cpu,float64,numpy]::samples"


def test_a_sample_that_does_not_fit_the_op_is_a_finding(define):
    op = define(double, double_grad)
    op.samples(lambda rng: [opsdk.Sample(np.ones(2), np.ones(3), reason="two")])
    with pytest.raises(ArityError) as caught:
        op(np.ones(2), np.ones(3))
    assert verify(op).findings[0].message == (
        f"{SUBJECT} that fit planted::f@1(Tensor x) -> Tensor y, got Sample((2,), (3,); two) at position 0, "
        f"which raised ArityError: {caught.value}; yield opsdk.Sample(...)"
    )


@pytest.mark.parametrize(
    ("samples", "what"),
    [
        (opsdk.Sample(np.ones(3)), "samples expected a list of opsdk.Sample, got Sample"),
        (3, "samples expected a list of opsdk.Sample, got int"),
        ("abc", "samples expected a list of opsdk.Sample, got str"),
        ([np.ones(3)], "samples[0] expected an opsdk.Sample, got ndarray"),
        ([opsdk.Sample(np.ones(3)), None], "samples[1] expected an opsdk.Sample, got None"),
    ],
)
def test_samples_of_a_call_that_are_none_are_refused(define, samples, what):
    with pytest.raises(AttributeValueError) as caught:
        verify(define(double, double_grad), samples=samples)
    assert str(caught.value) == f"verify: {what}; write samples=[opsdk.Sample(...)]"


@pytest.mark.parametrize("seed", [-1, 1.5, "0", None])
def test_a_seed_that_is_no_natural_number_is_refused(define, seed):
    with pytest.raises(AttributeValueError) as caught:
        verify(define(double, double_grad), seed=seed)
    assert str(caught.value) == f"verify: seed expected an integer ≥ 0, got {seed!r}; the default is 0"
