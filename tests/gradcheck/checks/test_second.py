from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gradcheck import Report, check
from gradcheck.checks.second import read_pair

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])
W = np.array([[0.9, -0.5], [0.2, 1.4], [-0.8, 0.6]])


def sin_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def sin_vjp2(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
    (x,), (dy,), (u,) = inputs, cotangents, weights
    return (-np.sin(x) * dy * u,), (np.cos(x) * u,)


def of_sin(vjp2: Any = None, jvp2: Any = None, **options: Any) -> Report:
    return check(np.sin, sin_vjp, (X,), names=["x"], vjp2=vjp2, jvp2=jvp2, vary=False, **options)


def found(report: Report) -> dict[str, str]:
    return {finding.check: finding.message for finding in report.findings}


def test_a_right_vjp2_passes_and_is_listed() -> None:
    report = of_sin(sin_vjp2)
    assert found(report) == {}
    assert report.verdict == "pass"
    assert {"vjp2 value", "vjp2 mutation", "vjp2 linear in the cotangent", "vjp2 symmetry"} <= set(
        report.coverage.checks
    )


def test_one_tuple_of_all_gradients_is_read_as_well() -> None:
    def flat(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        by_input, by_cotangent = sin_vjp2(inputs, cotangents, gradients, weights)
        return (*by_input, *by_cotangent)

    assert found(of_sin(flat)) == {}


def test_a_hidden_dependence_on_the_input_is_found() -> None:
    def only_linear(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        return (None,), (np.cos(inputs[0]) * weights[0],)

    messages = found(of_sin(only_linear))
    assert messages["vjp2 gradient missing"].startswith("vjp2, gradient of 'x': wrong in 6 of 6 elements, worst x[")


def test_zeros_for_the_gradient_by_the_input_are_found() -> None:
    def zeros(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        return (np.zeros_like(inputs[0]),), (np.cos(inputs[0]) * weights[0],)

    assert list(found(of_sin(zeros))) == ["vjp2 value"]


def test_a_factor_of_the_gradient_by_the_cotangent_is_found_by_name() -> None:
    def doubled(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        (dx,), (ddy,) = sin_vjp2(inputs, cotangents, gradients, weights)
        return (dx,), (ddy * (1 + 1e-6),)

    (finding,) = of_sin(doubled).findings
    assert (finding.check, finding.input) == ("vjp2 value", "dy")
    assert finding.message.startswith("vjp2, gradient of 'dy': wrong in 6 of 6 elements")


def layer(x: Any, w: Any) -> Any:
    return np.tanh(x @ w)


def layer_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    (x, w), (y,), (dy,) = inputs, outputs, cotangents
    dz = dy * (1 - y**2)
    return dz @ w.T, x.T @ dz


def layer_vjp2(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
    (x, w), (dy,), (u, v) = inputs, cotangents, weights
    y = np.tanh(x @ w)
    slope = 1 - y**2
    inner = u @ w + x @ v  # the derivative of <u, dx> + <v, dw> by dz
    dz = -2 * y * slope * dy * inner
    return (dz @ w.T + (dy * slope) @ v.T, x.T @ dz + u.T @ (dy * slope)), (slope * inner,)


def test_a_layer_with_two_inputs_passes() -> None:
    report = check(layer, layer_vjp, (X, W), vjp2=layer_vjp2, vary=False)
    assert found(report) == {}


def test_a_missing_term_is_found() -> None:
    def forgets(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        (dx, dw), ddy = layer_vjp2(inputs, cotangents, gradients, weights)
        slope = 1 - np.tanh(inputs[0] @ inputs[1]) ** 2
        return (dx - (cotangents[0] * slope) @ weights[1].T, dw), ddy

    report = check(layer, layer_vjp, (X, W), vjp2=forgets, vary=False)
    assert ("vjp2 value", "x") in [(finding.check, finding.input) for finding in report.findings]


def test_a_second_derivative_below_the_error_bars_is_found_by_its_asymmetry() -> None:
    def nearly(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        (dx, dw), ddy = layer_vjp2(inputs, cotangents, gradients, weights)
        return (dx * (1 + 5e-10), dw), ddy

    messages = found(check(layer, layer_vjp, (X, W), vjp2=nearly, vary=False))
    assert list(messages) == ["vjp2 symmetry"]
    assert messages["vjp2 symmetry"].startswith(
        "vjp2 of 'x' and 'w': expected a symmetric second derivative, <v, H u> = <u, H v>, got "
    )


def test_a_kink_needs_no_symmetry() -> None:
    def scaled_abs(x: Any, w: Any) -> Any:
        return np.abs(x) * w

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        (x, w), (dy,) = inputs, cotangents
        return dy * w * np.sign(x), dy * np.abs(x)

    def vjp2(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        (x, w), (dy,), (u, v) = inputs, cotangents, weights
        right = np.where(x >= 0, 1.0, -1.0)  # at 0 another convention than that of vjp
        return (dy * right * v, dy * np.sign(x) * u), (w * np.sign(x) * u + np.abs(x) * v,)

    x = np.array([0.0, 0.5, -1.5])
    assert found(check(scaled_abs, vjp, (x, x + 2.0), vjp2=vjp2)) == {}


def test_outputs_and_inputs_that_carry_no_gradient_are_held() -> None:
    def picked(x: Any, rows: Any, axis: Any) -> Any:
        return np.take(x * x, rows, axis=axis), np.argmax(x, axis=axis), x * 3.0

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        x, rows, _ = inputs
        spread = np.zeros_like(x)
        np.add.at(spread, rows, cotangents[0])
        return spread * 2 * x + 3 * cotangents[2], None, None

    def vjp2(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        assert gradients[1] is None
        assert weights[1] is None
        assert weights[0].shape == gradients[0].shape
        assert cotangents[1].shape == (3,)
        x, rows, _ = inputs
        spread = np.zeros_like(x)
        np.add.at(spread, rows, cotangents[0])
        return (2 * spread * weights[0], None, None), ((2 * x * weights[0])[rows], None, 3 * weights[0])

    rows = np.array([1, 1, 0])
    assert found(check(picked, vjp, (X, rows, 0), vjp2=vjp2, vary=False)) == {}

    def wrong(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        by_input, (first, _, last) = vjp2(inputs, cotangents, gradients, weights)
        return by_input, (first, None, 2 * last)

    report = check(picked, vjp, (X, rows, 0), vjp2=wrong, vary=False)
    assert [(finding.check, finding.input) for finding in report.findings] == [("vjp2 value", "dy2")]


def test_a_short_dtype_is_judged_in_float64() -> None:
    assert found(check(np.sin, sin_vjp, (X.astype(np.float32),), names=["x"], vjp2=sin_vjp2)) == {}


def test_a_saturated_function_is_not_blamed_for_rounding() -> None:
    far = np.array([25.0, -19.0, 18.5, 0.2])

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * (1 - outputs[0] ** 2),)

    def vjp2(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        y, slope = np.tanh(inputs[0]), 1 / np.cosh(inputs[0]) ** 2
        return (-2 * y * slope * cotangents[0] * weights[0],), (slope * weights[0],)

    assert found(check(np.tanh, vjp, (far,), names=["x"], vjp2=vjp2)) == {}


def test_a_vjp2_that_writes_into_its_arguments_is_found() -> None:
    def writes(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        result = sin_vjp2(inputs, cotangents, gradients, weights)
        cotangents[0][...] = 0.0
        return result

    assert "vjp2 mutation" in found(of_sin(writes))


def test_a_vjp2_that_raises_or_returns_too_few_is_found() -> None:
    def broken(*arguments: Any) -> Any:
        raise RuntimeError("no rule")

    assert found(of_sin(broken))["vjp2 raises"].startswith(
        "vjp2: expected gradients, got RuntimeError: no rule, with cotangents of shape (2, 3)"
    )
    message = found(of_sin(lambda i, c, g, w: sin_vjp2(i, c, g, w)[0]))["vjp2 raises"]
    assert "ValueError: vjp2 returned 1 gradients of inputs and 0 of cotangents for 1 and 1; return None" in message
    message = found(of_sin(lambda i, c, g, w: {"x": w}))["vjp2 raises"]
    assert "TypeError: a mapping was returned; expected a tuple" in message


def test_a_pair_is_told_from_one_tuple() -> None:
    assert read_pair(((1, 2), 3), 2, 1) == ((1, 2), (3,))
    assert read_pair([1, 2, 3], 2, 1) == ((1, 2), (3,))
    with pytest.raises(ValueError, match="vjp2 returned 1 gradients of inputs and 2 of cotangents for 2 and 1"):
        read_pair(((1,), (2, 3)), 2, 1)


def test_a_gradient_that_is_none_throughout_is_noted() -> None:
    report = check(lambda x: np.ones(3), lambda i, o, c: (None,), (X,), names=["x"], vjp2=sin_vjp2)
    assert "vjp2: not judged, as vjp gives no gradient of its input's shape" in report.coverage.notes
    assert report.findings == ()


def test_a_domain_holds_for_the_second_order_too() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        assert (inputs[0] >= 0).all()
        return (cotangents[0] * 1.5 * np.sqrt(inputs[0]),)

    def vjp2(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        assert (inputs[0] >= 0).all()
        (x,), (dy,), (u,) = inputs, cotangents, weights
        return (0.75 * dy * u / np.sqrt(x),), (1.5 * np.sqrt(x) * u,)

    x = np.array([1e-3, 0.5, 2.0])
    assert found(check(lambda x: x**1.5, vjp, (x,), vjp2=vjp2, domain=(0.0, np.inf))) == {}


def test_the_second_order_of_a_surrogate_is_that_of_the_vjp_itself() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] * (1 - np.tanh(inputs[0]) ** 2),)

    def vjp2(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        y = np.tanh(inputs[0])
        return (-2 * y * (1 - y**2) * cotangents[0] * weights[0],), ((1 - y**2) * weights[0],)

    report = check(np.sign, vjp, (X,), names=["x"], surrogate=np.tanh, vjp2=vjp2)
    assert found(report) == {}
    assert "vjp2 symmetry" not in report.coverage.checks


# -- tangents of the gradients -----------------------------------------------------------------------------------------


def sin_jvp2(inputs: Any, cotangents: Any, input_tangents: Any, cotangent_tangents: Any) -> Any:
    (x,), (dy,), (tx,), (tdy,) = inputs, cotangents, input_tangents, cotangent_tangents
    return (np.cos(x) * tdy - np.sin(x) * dy * tx,)


def scaled(factor: float) -> Callable[..., Any]:
    return lambda *arguments: tuple(factor * tangent for tangent in sin_jvp2(*arguments))


def test_a_right_jvp2_passes_alone_and_beside_vjp2() -> None:
    alone, beside = of_sin(None, sin_jvp2), of_sin(sin_vjp2, sin_jvp2)
    assert found(alone) == found(beside) == {}
    assert "jvp2 value" in alone.coverage.checks
    assert "jvp2 transpose" not in alone.coverage.checks
    assert "jvp2 transpose" in beside.coverage.checks


def test_a_jvp2_off_by_a_thousandth_is_found() -> None:
    findings = of_sin(None, scaled(1.001)).findings
    assert [(finding.check, finding.input) for finding in findings] == [("jvp2 value", "x"), ("jvp2 value", "dy")]
    assert findings[0].message.startswith("jvp2 of 'x': wrong in 6 of 6 output elements")


def test_a_jvp2_below_the_error_bars_is_found_against_vjp2() -> None:
    assert found(of_sin(None, scaled(1 + 5e-10))) == {}
    findings = of_sin(sin_vjp2, scaled(1 + 5e-10)).findings
    assert [(f.check, f.input) for f in findings] == [("jvp2 transpose", "x"), ("jvp2 transpose", "dy")]
    assert findings[0].message.startswith("jvp2 of 'x': expected <J u, v> = <u, J^T v>")


def test_a_jvp2_without_the_part_of_the_cotangent_is_found() -> None:
    def partial(inputs: Any, cotangents: Any, input_tangents: Any, cotangent_tangents: Any) -> Any:
        return (-np.sin(inputs[0]) * cotangents[0] * input_tangents[0],)

    assert found(of_sin(None, partial))["jvp2 value"].startswith("jvp2 of 'dy': wrong in 6 of 6")


def test_a_jvp2_that_raises_or_returns_too_many_is_found() -> None:
    def broken(*arguments: Any) -> Any:
        raise RuntimeError("no rule")

    message = found(of_sin(None, broken))["jvp2 raises"]
    assert "jvp2: expected a tangent per output, got RuntimeError: no rule" in message
    message = found(of_sin(None, lambda *a: (*sin_jvp2(*a), None)))["jvp2 raises"]
    assert "jvp2 returned 2 tangents for 1 gradients, one per input" in message


def test_none_is_a_tangent_of_zeros() -> None:
    report = check(lambda x: 3 * x, lambda i, o, c: (3 * c[0],), (X,), jvp2=lambda i, c, ti, tc: (3 * tc[0],))
    assert found(report) == {}
    report = check(lambda x: 3 * x, lambda i, o, c: (3 * c[0],), (X,), jvp2=lambda i, c, ti, tc: None)
    assert list(found(report)) == ["jvp2 value"]


def test_a_softmax_that_is_nearly_one_hot_is_not_blamed_for_rounding() -> None:
    def softmax(x: Any) -> Any:
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    def centred(p: Any, t: Any) -> Any:
        return p * (t - (p * t).sum(axis=-1, keepdims=True))

    def jvp2(inputs: Any, cotangents: Any, input_tangents: Any, cotangent_tangents: Any) -> Any:
        p, dy, tdy = softmax(inputs[0]), cotangents[0], cotangent_tangents[0]
        dp = centred(p, input_tangents[0])
        inner = (dp * dy + p * tdy).sum(axis=-1, keepdims=True)
        return (dp * (dy - (p * dy).sum(axis=-1, keepdims=True)) + p * (tdy - inner),)

    for seed in (2, 4):
        x = np.random.default_rng([seed, 7]).normal(size=(3, 4)) * 12
        options: dict[str, Any] = {"names": ["x"], "vary": False, "seed": seed}
        assert found(check(softmax, lambda i, o, c: (centred(o[0], c[0]),), (x,), jvp2=jvp2, **options)) == {}


def test_a_vjp2_that_is_not_linear_is_found() -> None:
    def clipped(inputs: Any, cotangents: Any, gradients: Any, weights: Any) -> Any:
        return sin_vjp2(inputs, cotangents, gradients, (np.clip(weights[0], -9.0, 9.0),))

    assert list(found(of_sin(clipped))) == ["vjp2 linear in the cotangent"]
