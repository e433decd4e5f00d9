from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck import Report, check

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])
W = np.array([[0.9, -0.5], [0.2, 1.4], [-0.8, 0.6]])


def layer(x: Any, w: Any) -> Any:
    return np.tanh(x @ w)


def layer_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    (x, w), (y,), (dy,) = inputs, outputs, cotangents
    dz = dy * (1 - y**2)
    return dz @ w.T, x.T @ dz


def batched_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    (x, w), (y,), (dy,) = inputs, outputs, cotangents
    dz = dy * (1 - y**2)
    return dz @ w.T, np.einsum("ik,bij->bkj", x, dz)


def of_layer(**options: Any) -> Report:
    return check(layer, layer_vjp, (X, W), vary=False, **options)


def found(report: Report) -> dict[str, str]:
    return {finding.check: finding.message for finding in report.findings}


def test_a_right_batched_forward_passes() -> None:
    report = of_layer(batched=lambda x, w: np.tanh(np.einsum("bik,bkj->bij", x, w)))
    assert found(report) == {}
    assert "batched" in report.coverage.checks


def test_one_input_taken_from_the_first_row_only_is_found() -> None:
    message = found(of_layer(batched=lambda x, w: np.tanh(x @ w[:1])))["batched value"]
    assert message.startswith("batched, output 0: expected what a loop gives, got ")
    assert message.endswith("in a batch of 3; wrong at batch index 1, 2")


def test_rows_that_are_mixed_are_found() -> None:
    def centred(x: Any) -> Any:
        return x - x.mean(axis=0)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (centred(cotangents[0]),)

    assert found(check(centred, vjp, (X,), vary=False, batched=lambda x: x - x.mean(axis=1, keepdims=True))) == {}
    message = found(check(centred, vjp, (X,), vary=False, batched=centred))["batched value"]
    assert message.endswith("wrong at batch index 0, 1, 2")


def test_a_dropped_axis_of_length_one_is_found() -> None:
    message = found(of_layer(batched=lambda x, w: np.squeeze(np.tanh(x @ w))))["batched shape"]
    assert message == (
        "batched, output 0: expected shape (1, 2, 2), one leading axis for a batch of 1, got (2, 2); stack along axis 0"
    )


def test_an_axis_at_the_end_is_found() -> None:
    message = found(of_layer(batched=lambda x, w: np.moveaxis(np.tanh(x @ w), 0, -1)))["batched shape"]
    assert "expected shape (3, 2, 2), one leading axis for a batch of 3, got (2, 2, 3)" in message


def test_another_dtype_is_found() -> None:
    message = found(of_layer(batched=lambda x, w: np.tanh(x @ w).astype(np.float32)))["batched dtype"]
    assert message == (
        "batched, output 0: expected dtype float64, as for one row, got float32, for a batch of 3; cast it"
    )


def test_a_batch_of_none_may_be_refused_but_not_be_of_another_shape() -> None:
    def refuses(x: Any, w: Any) -> Any:
        return np.stack([layer(row, weight) for row, weight in zip(x, w, strict=True)])

    report = of_layer(batched=refuses)
    assert found(report) == {}
    assert [note for note in report.coverage.notes if note.startswith("batched: refuses a batch of 0, ValueError")]

    def loses_its_axes(x: Any, w: Any) -> Any:
        return np.array([layer(row, weight) for row, weight in zip(x, w, strict=True)])

    message = found(of_layer(batched=loses_its_axes))["batched shape"]
    assert "expected shape (0, 2, 2), one leading axis for a batch of 0, got (0,)" in message


def test_a_batched_forward_that_raises_or_gives_too_many_outputs_is_found() -> None:
    def broken(x: Any, w: Any) -> Any:
        raise RuntimeError("one row only")

    assert found(of_layer(batched=broken))["batched raises"] == (
        "batched: expected stacked outputs, got RuntimeError: one row only, for a batch of 3"
    )
    message = found(of_layer(batched=lambda x, w: (x @ w, x)))["batched count"]
    assert message == ("batched: expected 1 arrays (output 0), got 2, for a batch of 3; return as many as for one row")


def test_what_is_no_array_is_passed_as_given_and_integers_are_stacked() -> None:
    def picked(x: Any, rows: Any, axis: Any, shift: Any) -> Any:
        return np.take(x, rows, axis=axis) + shift, np.argmax(x, axis=axis)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        x, rows, *_ = inputs
        dx = np.zeros_like(x)
        np.add.at(dx, rows, cotangents[0])
        return dx, None, None, np.sum(cotangents[0])

    def batched(x: Any, rows: Any, axis: Any, shift: Any) -> Any:
        assert axis == 0
        assert rows.shape == (x.shape[0], 3)
        assert shift.shape == (x.shape[0],)
        return np.take_along_axis(x, rows[:, :, None], axis=1) + shift[:, None, None], np.argmax(x, axis=1)

    inputs = (X, np.array([1, 1, 0]), 0, 0.25)
    assert found(check(picked, vjp, inputs, batched=batched, vary=False)) == {}

    def wrong(*stacked: Any) -> Any:
        first, last = batched(*stacked)
        return first, last + (np.arange(len(last)) == 2)[:, None]

    message = found(check(picked, vjp, inputs, batched=wrong, vary=False))["batched value"]
    assert message == (
        "batched, output 1: expected what a loop gives, got 2 for 1 at [2, 0], in a batch of 3; wrong at batch index 2"
    )


def test_the_moved_rows_stay_in_the_domain() -> None:
    def root(x: Any) -> Any:
        assert (x >= 0).all()
        return np.sqrt(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0] / (2 * outputs[0]),)

    x = np.array([1e-3, 0.5, 2.0])
    assert found(check(root, vjp, (x,), batched=np.sqrt, domain=(0.0, np.inf))) == {}


def test_an_output_whose_shape_depends_on_values_is_not_judged() -> None:
    def kept(x: Any) -> Any:
        return x[x >= 0.5]

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        dx = np.zeros_like(inputs[0])
        dx[inputs[0] >= 0.5] = cotangents[0]
        return (dx,)

    report = check(kept, vjp, (np.array([0.5, 2.0, 0.501, 0.499]),), batched=kept, vary=False)
    assert "batched: not judged, as the outputs of forward change shape or dtype with the values" in (
        report.coverage.notes
    )


def test_a_short_dtype_is_compared_to_its_own_rounding() -> None:
    inputs = (X.astype(np.float32), W.astype(np.float32))
    report = check(layer, layer_vjp, inputs, vary=False, batched=lambda x, w: np.tanh(np.einsum("bik,bkj->bij", x, w)))
    assert found(report) == {}


def test_it_is_forward_that_is_batched_beside_a_surrogate() -> None:
    def through(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0].copy(),)

    options: dict[str, Any] = {"surrogate": lambda x: x.copy(), "names": ["x"], "vary": False}
    assert found(check(np.round, through, (X,), batched=np.round, **options)) == {}
    assert list(found(check(np.round, through, (X,), batched=lambda x: x.copy(), **options))) == ["batched value"]


# -- vjp of stacked cotangents -----------------------------------------------------------------------------------------


def test_a_right_batched_vjp_passes() -> None:
    report = of_layer(batched_vjp=batched_vjp)
    assert found(report) == {}
    assert "batched_vjp" in report.coverage.checks


def test_a_batched_vjp_that_sums_over_the_batch_is_found_by_input() -> None:
    def summed(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        dx, dw = batched_vjp(inputs, outputs, cotangents)
        return dx, np.broadcast_to(dw.sum(axis=0), dw.shape)

    (finding,) = of_layer(batched_vjp=summed).findings
    assert (finding.check, finding.input) == ("batched_vjp value", "w")
    assert finding.message.startswith("batched_vjp, gradient of 'w': expected what a loop gives, got ")


def test_none_counts_as_zeros() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return cotangents[0] * 2, np.zeros(())

    def nones(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return cotangents[0] * 2, None

    for one, many in ((vjp, nones), (nones, lambda i, o, c: (c[0] * 2, np.zeros(len(c[0])))), (nones, nones)):
        assert found(check(lambda x, s: 2 * x + 0 * s, one, (X, 1.0), batched_vjp=many, vary=False)) == {}
    report = check(lambda x, s: 2 * x + 0 * s, vjp, (X, 1.0), batched_vjp=lambda i, o, c: (None, None), vary=False)
    assert list(found(report)) == ["batched_vjp value"]


def test_a_batched_vjp_that_raises_or_gives_too_few_is_found() -> None:
    def broken(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        raise RuntimeError("one row only")

    assert found(of_layer(batched_vjp=broken))["batched_vjp raises"] == (
        "batched_vjp: expected stacked gradients, got RuntimeError: one row only, for a batch of 3"
    )
    message = found(of_layer(batched_vjp=lambda i, o, c: batched_vjp(i, o, c)[0]))["batched_vjp count"]
    assert "expected 2 arrays (gradient of 'x', gradient of 'w'), got 1, for a batch of 3" in message


def test_a_batched_vjp_may_refuse_a_batch_of_none() -> None:
    def refuses(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        pairs = [layer_vjp(inputs, outputs, [row]) for row in cotangents[0]]
        return np.stack([dx for dx, _ in pairs]), np.stack([dw for _, dw in pairs])

    report = of_layer(batched_vjp=refuses)
    assert found(report) == {}
    assert [note for note in report.coverage.notes if note.startswith("batched_vjp: refuses a batch of 0, ValueError")]
