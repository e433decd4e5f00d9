"""`domain=` of an op beyond intervals: what is drawn, varied and perturbed stays inside; what samples break is told."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs import domains
from opsdk.verify.inputs.calls import Call, flat
from opsdk.verify.inputs.sampling import calls_of
from opsdk.verify.inputs.stock import NoValuesError, numbers_of_shape

D = opsdk.domain


def turned(x):
    return np.swapaxes(x, -1, -2)


def factor(define, fault=0.0, domain=None, forward=np.linalg.cholesky, seen=None):
    """Defines LAPACK's factor, which looks at the lower triangle alone, with a gradient that is off by a share."""

    def reference(x):
        if seen is not None and x.size:
            seen.append(x.copy())
        return forward(x)

    def backward(y, dy):
        inner, inverse = turned(y) @ dy, np.linalg.inv(y)
        full = turned(inverse) @ (np.tril(inner) - 0.5 * np.eye(y.shape[-1]) * inner) @ inverse
        return (0.5 * (1.0 + fault) * (full + turned(full))).astype(y.dtype)

    return define(reference, backward, domain={"x": D.positive_definite} if domain is None else domain)


def test_an_op_of_positive_definite_matrices_needs_no_samples_and_sees_no_others(define):
    seen = []
    report = opsdk.verify(factor(define, seen=seen))
    assert report.verdict == "pass"
    assert not report.coverage.inconclusive
    for matrix in seen:
        symmetric = 0.5 * (matrix + turned(matrix))
        np.testing.assert_allclose(matrix, symmetric, rtol=0, atol=1e-6 * np.abs(matrix).max())
        assert np.linalg.eigvalsh(symmetric).min() > 0


def test_a_fault_inside_is_found_and_named(define):
    (finding,) = opsdk.verify(factor(define, 1e-3)).findings
    assert finding.check == "vjp.x"
    assert "both as far as x stays positive definite" in finding.message


def test_without_the_domain_the_same_op_is_wrong(define):
    """The gradient is symmetric, a step of one element of the upper triangle changes nothing."""
    op = factor(define, domain={})
    samples = [opsdk.Sample(np.array([[2.0, 0.5], [0.5, 1.0]]))]
    assert opsdk.verify(op, samples=samples).verdict == "fail"


def test_a_sample_outside_is_a_finding_with_sample_constraint_and_element(define):
    op = factor(define)
    op.samples(lambda: [opsdk.Sample(np.array([[2.0, 1.0], [0.0, 2.0]]), reason="a triangle")])
    (finding,) = opsdk.verify(op).findings
    assert finding.check == "samples"
    assert finding.message == (
        "op 'planted::f', samples: expected input 'x' to be positive definite as domain= says, got 1 at [0, 1], where "
        "0.5 would be right, in sample (float64(2, 2)) a triangle; correct the sample or the domain"
    )
    op.samples(lambda: [opsdk.Sample(np.ones((2, 3)))], replace=True)
    (finding,) = opsdk.verify(op).findings
    assert "expected input 'x' to be positive definite as domain= says, expected matrices with as many rows" in str(
        finding
    )


def test_a_sample_outside_an_interval_is_one_too(define):
    op = define(lambda x: np.sqrt(x), lambda x, dy: dy / (2 * np.sqrt(x)), domain={"x": (0, None)})
    (finding,) = opsdk.verify(op, samples=[opsdk.Sample(np.array([1.0, -2.0]))]).findings
    assert "samples: expected input 'x' to be in [0, inf] as domain= says, got -2 at [1], in sample" in finding.message


def taken(define, backward):
    def take(x, index):
        return x[index]

    def infer(x, index):
        return opsdk.TensorSpec((*index.shape, *x.shape[1:]), x.dtype)

    where = {"index": D.positions(of="x")}
    return define(take, backward, domain=where, nondifferentiable=["index"], infer=infer)


@pytest.mark.parametrize("adds", [True, False])
def test_positions_are_drawn_below_the_length_of_the_input_that_they_point_into(define, adds):
    def backward(x, index, dy):
        gradient = np.zeros_like(x)
        if adds:
            np.add.at(gradient, index, dy)
        else:
            gradient[index] = dy
        return gradient

    report = opsdk.verify(taken(define, backward))
    assert report.verdict == ("pass" if adds else "fail")
    for call in calls_of(taken(define, backward).opdef, None, 0):
        x, index = call.inputs
        assert index.dtype.kind == "i"
        assert index.size == 0 or 0 <= index.min() <= index.max() < len(x)


def test_what_a_rule_names_may_be_an_attribute(define):
    @opsdk.op(
        "planted::counted(Tensor x, Tensor ids, *, int count=4) -> Tensor y",
        domain={"ids": D.segment_ids(of="x", below="count")},
        nondifferentiable=["ids"],
        infer=lambda x, ids, count: opsdk.TensorSpec((count, *x.shape[1:]), x.dtype),
    )
    def counted(x, ids, count):
        y = np.zeros((count, *x.shape[1:]), x.dtype)
        np.add.at(y, ids, x)
        return y

    for call in calls_of(counted.opdef, None, 0):
        x, ids = call.inputs
        assert ids.shape == x.shape[:1]
        assert (np.diff(ids) >= 0).all()
        assert ids.max(initial=0) < call.attrs.get("count", 4)
    assert [call.attrs["count"] for call in calls_of(counted.opdef, None, 0) if call.attrs] == [5, 3]


def test_a_gradient_op_keeps_to_the_domain_of_what_it_reads(define):
    op = taken(define, lambda x, index, dy: np.zeros_like(x))
    assert set(op.grad.opdef.traits.domain) == {"index"}
    op = taken(define, lambda index, dy: np.zeros((3, *dy.shape[1:])))  # its domain names x
    assert not op.grad.opdef.traits.domain


def test_a_shape_without_values_inside_is_left_out_of_the_defaults(define):
    vectors = D.constraint(lambda values: values.reshape(values.shape[0], 1, -1)[:, 0], name="vectors")
    op = define(lambda x: x, domain={"x": vectors})
    assert all(call.inputs[0].ndim == 2 for call in calls_of(op.opdef, None, 0))
    with pytest.raises(NoValuesError, match=r"op 'planted::f': no values vectors of shape \(\): "):
        numbers_of_shape(op.opdef, (), np.random.default_rng(0))


def test_values_of_a_call_are_held_inside_each_array_of_a_list_too(define):
    op = opsdk.op("planted::norms(Tensor[] xs) -> Tensor y", domain={"xs": D.unit})(lambda xs: xs[0])
    call = domains.held(op.opdef, Call([[np.array([3.0, 4.0]), np.array([0.0, 2.0])]], {}))
    np.testing.assert_allclose(np.stack(flat(call.inputs)), [[0.6, 0.8], [0.0, 1.0]], rtol=1e-15)


def test_numbers_that_no_member_has_are_refused(define):
    op = define(lambda x: x, domain={"x": D.constraint(lambda values: values * 1e10, name="large")})
    with pytest.raises(ValueError, match="numbers too large to be made large"), np.errstate(over="ignore"):
        domains.held(op.opdef, Call([np.array([1e300])], {}))


def test_patterns_of_values_lie_inside(define):
    """A kernel that would corrupt its input for an unsorted one is not blamed, as it never gets one."""
    seen = []

    def spacing(x):
        seen.append(x.copy())
        return x * 2

    op = define(spacing, lambda dy: dy * 2, domain={"x": D.sorted})
    assert opsdk.verify(op).verdict == "pass"
    assert all((np.diff(x, axis=-1) >= 0).all() for x in seen if x.ndim and np.isfinite(x).all())


def test_a_domain_in_a_function_of_the_user(define):
    def of_mean_zero(values):
        return values - values.mean(axis=-1, keepdims=True) if values.size else values

    def backward(y, dy):
        return dy * y + 3.0 * np.sum(dy) * np.ones_like(y)  # the second term along nothing that has mean zero

    op = define(lambda x: np.exp(x), backward, domain={"x": of_mean_zero})
    report = opsdk.verify(op, samples=[opsdk.Sample(np.array([-1.0, 0.25, 0.75]))])
    assert report.verdict == "pass"


def test_a_sample_of_another_shape_is_told(define):
    op = define(lambda x, w: x * w[:, None], domain={"x": D.shape("N", 2), "w": D.shape("N")})
    op.samples(lambda rng: [opsdk.Sample(np.ones((3, 2)), np.ones(1))])
    (finding,) = opsdk.verify(op).findings
    assert "input 'w' of shape (N,) with N = 3 as of 'x' as domain= says, got (1,), in sample" in finding.message
