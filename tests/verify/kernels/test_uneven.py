"""An infer rule that takes two axes for each other is found, though every sample of the author's is square."""

import numpy as np
import pytest

import opsdk
from opsdk.verify import verify


def of_squares(define, body, rule):
    op = define(body, infer=rule)
    op.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 3)), reason="square")])
    return op


def infers(report):
    return [finding.message for finding in report.findings if finding.check == "infer"]


def test_a_rule_that_forgets_to_transpose_is_found(define):
    report = verify(of_squares(define, lambda x: x.T * 2.0, lambda x: x))
    assert infers(report) == [
        "op 'planted::f', output 'y': expected shape (3, 2) by its infer rule, got (2, 3); mend the rule or the result"
    ]
    assert "(float64(3, 2)) square, the last axis one shorter" in report.findings[0].sample


def turned(x):
    return opsdk.TensorSpec(x.shape[::-1], x.dtype)


def trace(x):
    if x.shape[0] != x.shape[1]:
        raise ValueError("expected a square matrix")
    return np.trace(x).reshape(())


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (lambda x: x.T * 2.0, turned),
        (lambda x: x @ x.T, lambda x: opsdk.TensorSpec((x.shape[0], x.shape[0]), x.dtype)),
        (trace, lambda x: opsdk.TensorSpec((), x.dtype)),
    ],
    ids=["right", "of rows", "of square matrices alone"],
)
def test_a_right_rule_and_an_op_of_square_matrices_pass(define, body, rule):
    assert infers(verify(of_squares(define, body, rule))) == []
