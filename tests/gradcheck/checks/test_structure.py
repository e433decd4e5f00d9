from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck import check

X = np.arange(1.0, 25.0).reshape(2, 3, 4)


def found(forward: Any, vjp: Any, inputs: Any, **options: Any) -> Any:
    return check(forward, vjp, inputs, **options).findings


def test_a_wrong_number_of_gradients_is_the_only_finding() -> None:
    (finding,) = found(lambda a, b: a * b, lambda i, o, c: (c[0] * i[1],), (X, X))
    assert finding.check == "gradient count"
    assert "expected 2 gradients, one per input (a, b), got 1" in finding.message


def test_a_forgotten_sum_names_its_axes() -> None:
    (finding,) = found(lambda x, b: x + b, lambda i, o, c: (c[0] + 0, c[0] + 0), (X, np.ones((3, 1))))
    assert finding.message == "gradient of 'b': expected shape (3, 1) like b, got (2, 3, 4); sum it over axes 0 and 2"
    assert finding.cause == "not summed over the axes [0, 2] along which b was broadcast"


def test_a_wrong_shape_that_is_no_broadcast_is_not_called_one() -> None:
    (finding,) = found(np.sin, lambda i, o, c: (np.zeros(5),), (X,), names=["x"])
    assert finding.message == "gradient of 'x': expected shape (2, 3, 4) like x, got (5,)"
    assert finding.cause == "the gradient was not brought back to the shape of its input"


def test_a_gradient_of_another_dtype_is_found() -> None:
    findings = found(
        np.sin, lambda i, o, c: (c[0] * np.cos(i[0].astype(np.float64)),), (X.astype(np.float32),), names=["x"]
    )
    assert [finding.message for finding in findings] == [
        "gradient of 'x': expected dtype float32 like x, got float64; cast it with .astype(x.dtype)"
    ]


def test_an_integer_input_takes_none_or_zeros_only() -> None:
    def vjp(last: Any) -> Any:
        return lambda i, o, c: (c[0] * i[1], last(i))

    inputs = (X, np.full(X.shape, 2))
    assert found(lambda x, n: x * n, vjp(lambda i: None), inputs) == ()
    assert found(lambda x, n: x * n, vjp(lambda i: np.zeros(i[1].shape)), inputs) == ()
    (finding,) = found(lambda x, n: x * n, vjp(lambda i: i[0] + 0), inputs)
    assert "expected None, as n is int64, got float64 values; return None" in finding.message


def test_a_declared_input_takes_no_gradient() -> None:
    findings = found(
        lambda x, t: x * (t > 0), lambda i, o, c: (c[0] * (i[1] > 0), i[1] + 0), (X, X), nondifferentiable=[1]
    )
    assert "as t is declared non-differentiable, got values up to 24" in findings[0].message


def test_none_is_wrong_where_the_output_depends_and_right_where_it_does_not() -> None:
    (finding,) = found(lambda a, b: a * b, lambda i, o, c: (c[0] * i[1], None), (X, X))
    assert (finding.check, finding.input) == ("gradient missing", "b")
    assert "yours None, derivative 24 ±" in finding.message
    assert found(lambda a, b: a + 0 * b, lambda i, o, c: (c[0] + 0, None), (X, X)) == ()
