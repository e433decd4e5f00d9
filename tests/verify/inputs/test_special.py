"""Gradients that are wrong where eigenvalues are close, numbers great or rows single alone are found."""

import numpy as np
import pytest

import opsdk
from opsdk.verify.inputs.calls import Call
from opsdk.verify.inputs.special import special_calls


def only_finding(op):
    (finding,) = opsdk.verify(op).findings
    return finding


def eigh_backward(cut):
    def backward(w, v, dw, dv):
        gaps = w[None, :] - w[:, None]
        shares = np.where(np.abs(gaps) > cut, 1 / np.where(gaps == 0, 1, gaps), 0)
        d = v @ (shares * (v.T @ dv) + np.diag(dw)) @ v.T
        return ((d + d.T) / 2).astype(w.dtype)

    return backward


@pytest.mark.parametrize(("cut", "found"), [(1e-1, ["vjp.a"]), (1e-12, [])])
def test_a_cut_off_for_gaps_of_eigenvalues_that_no_sample_has_is_found(cut, found):
    @opsdk.op("planted::f(Tensor a) -> (Tensor w, Tensor v)", domain={"a": opsdk.domain.symmetric})
    def eigh(a):
        w, v = np.linalg.eigh(a)
        return w, v * np.where(v[:1] < 0, -1, 1).astype(v.dtype)

    eigh.infer(lambda a: (opsdk.TensorSpec(a.shape[:-1], a.dtype), a))
    eigh.backward(eigh_backward(cut))
    a = np.array([[1.0, 2, 0.5], [2, -3, 1], [0.5, 1, 6]])
    report = opsdk.verify(eigh, samples=[opsdk.Sample(a, reason="far apart")])
    assert [finding.check for finding in report.findings] == found
    assert not found or "close eigenvalues" in report.findings[0].sample


def test_a_backward_that_overflows_where_its_op_does_not_is_found_beside_small_samples(define):
    op = define(lambda x: np.logaddexp(x, 0).astype(x.dtype), lambda x, dy: dy * np.exp(x) / (1 + np.exp(x)))
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 3)), reason="small")])
    finding = only_finding(op)
    assert "values: great" in finding.sample
    assert "yours nan, derivative 1" in finding.message


def test_a_gradient_that_is_wrong_on_rows_of_one_element_is_found(define):
    op = define(lambda x: x.sum(axis=-1), lambda x, dy: np.repeat(dy[:, None], max(x.shape[1], 2), 1)[:, : x.shape[1]]
                * (1 if x.shape[1] > 1 else 2), infer=lambda x: opsdk.TensorSpec(x.shape[:-1], x.dtype))  # fmt: skip
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(2, 3)), reason="small")])
    assert "lengths 1 for 2, 1 for 3" in only_finding(op).sample


def test_special_calls_keep_dtypes_and_what_is_no_float(rng):
    op = opsdk.op("planted::f(Tensor a, Tensor b, Tensor<int> i) -> Tensor y")(lambda a, b, i: a)
    op.samples(lambda rng: [])
    call = Call([rng.normal(size=(2, 3)), rng.normal(size=(2, 3)).astype("float32"), np.array([0, 2, 1])], {})
    calls = list(special_calls(op.opdef, [call], rng))
    assert [made.reason for made in calls] == ["values: great", "lengths 1 for 2, 1 for 3", "lengths 3 for 2, 3 for 3"]
    for made in calls:
        assert [array.dtype for array in made.inputs] == [np.float64, np.float32, np.int64]
