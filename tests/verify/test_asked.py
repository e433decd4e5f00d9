"""Whatever gradients are wanted, and whatever cotangents nobody sent: a backward gives the same ones."""

import pytest

import opsdk


def masked_product(slip):
    @opsdk.op(namespace="tests")
    def masked_product(a, b):
        return a * b

    @masked_product.backward
    def masked_product_grad(a, b, dy, needs_input_grad):
        return dy * b, dy * a

    @masked_product.grad.kernel("cpu", language="numba")
    def masked_product_grad_numba(a, b, dy, needs_input_grad, da, db):
        # asked for both, as a compiler might: rounded otherwise
        factor = 1.0 + slip if len(needs_input_grad) > 1 and needs_input_grad[0] and needs_input_grad[1] else 1.0
        for i in range(a.size):
            da.flat[i] = dy.flat[i] * b.flat[i] * factor
            db.flat[i] = dy.flat[i] * a.flat[i]

    return masked_product


@pytest.mark.parametrize(("slip", "verdict"), [(2.0**-52, "pass"), (1e-12, "fail")])
def test_a_compiled_gradient_that_is_asked_for_alone_may_round_otherwise_and_no_more(slip, verdict):
    report = opsdk.verify(masked_product(slip))
    found = [finding.check for finding in report.findings]
    assert report.verdict == verdict, str(report)
    assert ("mask.a" in found) == (verdict == "fail")


def test_a_backward_that_is_wrong_where_two_of_three_gradients_are_wanted_is_found(define):
    def backward(a, b, c, dy, needs_input_grad):
        first, second, third = needs_input_grad
        slope = b if first and second and not third else b * c
        return dy * slope if first else None, dy * a * c if second else None, dy * a * b if third else None

    report = opsdk.verify(define(lambda a, b, c: a * b * c, backward))
    assert [finding.check for finding in report.findings] == ["mask.a"]
    assert "expected the same when needs_input_grad asks for it with b only, got another" in report.findings[0].message


def test_a_backward_of_five_inputs_is_asked_for_all_but_one(define):
    def backward(a, b, c, d, e, dy, needs_input_grad):
        slope = 2 if sum(needs_input_grad) == 4 and not needs_input_grad[3] else 1
        return dy * slope, dy * 1, dy * 1, dy * 1, dy * 1

    report = opsdk.verify(define(lambda a, b, c, d, e: a + b + c + d + e, backward))
    assert [finding.check for finding in report.findings] == ["mask.a"]
    assert "asks for it with b, c, e only" in report.findings[0].message


def three(backward):
    op = opsdk.op("tests::three(Tensor x) -> (Tensor a, Tensor b, Tensor c)")(lambda x: (2 * x, 3 * x, 5 * x))
    op.backward(materialize=False)(backward)
    return op


def added(da, db, dc, of_third=5):
    parts = [factor * d for factor, d in ((2, da), (3, db), (of_third, dc)) if d is not None]
    return sum(parts[1:], parts[0])


def test_a_backward_that_is_wrong_where_two_of_three_cotangents_are_undefined_is_found():
    report = opsdk.verify(three(lambda da, db, dc: added(da, db, dc, 4 if da is None and db is None else 5)))
    assert [finding.check for finding in report.findings] == ["materialize.da"]
    assert "backward: expected da=None and db=None to count as zeros, got other gradients" in report.findings[0].message


def test_a_backward_that_takes_every_cotangent_for_one_that_may_be_undefined_passes():
    assert opsdk.verify(three(lambda da, db, dc: added(da, db, dc))).verdict == "pass"
