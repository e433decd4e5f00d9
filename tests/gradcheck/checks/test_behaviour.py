from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gradcheck import check

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])


def found(forward: Any, vjp: Any, inputs: Any = (X,), **options: Any) -> dict[str, str]:
    return {finding.check: finding.message for finding in check(forward, vjp, inputs, **options).findings}


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def test_a_forward_that_changes_its_input_by_a_millionth_is_found() -> None:
    def forward(x: Any) -> Any:
        y = np.sin(x)
        x *= 1 + 1e-6
        return y

    assert "forward: expected to leave input 'x' as it was, got" in found(forward, cosine)["mutation"]


def test_where_behaviour_is_not_asked_for_form_and_values_are_judged_all_the_same() -> None:
    def moving(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        cotangents[0][...] *= 2
        return (cotangents[0] * np.cos(inputs[0]),)

    assert "mutation" in found(np.sin, moving)
    report = check(np.sin, moving, (X,), behaviour=False)
    assert {finding.check for finding in report.findings} == {"vjp value"}
    assert "mutation" not in report.coverage.checks
    narrow = found(np.sin, lambda i, o, c: (cosine(i, o, c)[0][0],), behaviour=False)
    assert set(narrow) == {"gradient shape"}


def test_beside_a_forward_that_moves_its_input_vjp_is_judged_at_the_values_given() -> None:
    def forward(x: Any) -> Any:
        y = np.sin(x)
        x.sort(axis=1)
        return y

    assert set(found(forward, cosine)) == {"mutation"}
    assert set(found(forward, lambda i, o, c: (c[0] * np.cos(np.sort(i[0], axis=1)),))) >= {"mutation", "vjp value"}


def test_where_the_output_lies_in_the_moved_input_vjp_gets_both() -> None:
    def forward(x: Any) -> Any:
        return np.sin(x, out=x)

    assert set(found(forward, cosine)) == {"mutation", "sharing"}
    assert "vjp value" in found(forward, lambda i, o, c: (c[0] * np.cos(o[0]),))


@pytest.mark.parametrize(("position", "role"), [(0, "input 'x'"), (1, "output 0"), (2, "cotangent 0")])
def test_a_vjp_that_changes_an_argument_is_found(position: int, role: str) -> None:
    def vjp(*arguments: Any) -> Any:
        gradient = cosine(*arguments)
        arguments[position][0][0, 1] += 1.0
        return gradient

    assert f"vjp: expected to leave {role} as it was" in found(np.sin, vjp, names=["x"])["mutation"]


def test_a_subject_that_writes_and_restores_is_found_by_read_only_arrays() -> None:
    def forward(x: Any) -> Any:
        x[0, 0] = x[0, 0]
        return np.sin(x)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        cotangents[0][0, 0] = cotangents[0][0, 0]
        return cosine(inputs, outputs, cotangents)

    assert "forward: expected to accept read-only inputs" in found(forward, cosine)["read-only"]
    assert "vjp: expected to accept read-only arrays" in found(np.sin, vjp)["read-only"]


def test_memory_sharing_is_found_unless_declared() -> None:
    def identity_vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        return (cotangents[0],)

    messages = found(lambda x: x, identity_vjp)
    assert "list 'output' in alias_ok" in messages["sharing"]
    assert "list 'cotangent' in alias_ok" in found(lambda x: x, identity_vjp, alias_ok="output")["sharing"]
    assert found(lambda x: x, identity_vjp, alias_ok=("output", "cotangent")) == {}


def test_a_view_of_the_cotangent_is_sharing() -> None:
    messages = found(lambda x: x.T + 0, lambda i, o, c: (c[0].T,))
    assert "gradient of 'x': expected memory of its own, got memory shared with cotangent 0" in messages["sharing"]


def test_a_random_forward_and_vjp_are_found() -> None:
    generator = np.random.default_rng(0)
    messages = found(lambda x: np.sin(x) + 1e-9 * generator.random(), cosine)
    assert "forward: expected equal results for the same inputs" in messages["repeats"]
    messages = found(np.sin, lambda i, o, c: (c[0] * np.cos(i[0]) * (1 + 1e-12 * generator.random()),))
    assert "vjp: expected equal results for the same arguments" in messages["repeats"]


def test_a_value_kept_by_the_last_forward_is_found() -> None:
    kept = {}

    def forward(x: Any) -> Any:
        kept["x"] = x.copy()
        return np.sin(x)

    messages = found(forward, lambda i, o, c: (c[0] * np.cos(kept["x"]),))
    assert "compute from inputs and outputs, not from what forward kept" in messages["interleaving"]


@pytest.mark.parametrize(
    ("vjp", "text"),
    [
        (lambda i, o, c: (c[0] * np.cos(i[0]) + 1e-3,), "for a zero cotangent"),
        (lambda i, o, c: (np.abs(c[0]) * np.cos(i[0]),), "for a negated cotangent"),
        (lambda i, o, c: (np.clip(c[0], -9, 9) * np.cos(i[0]),), "for a cotangent 1.09951e+12 times larger"),
        (lambda i, o, c: (c[0] * (abs(c[0]) > 1e-9) * np.cos(i[0]),), "for a cotangent 1.09951e+12 times smaller"),
        (lambda i, o, c: (np.sign(c[0]) * np.abs(c[0]).max() * np.cos(i[0]),), "for the sum of two cotangents"),
    ],
)
def test_a_vjp_that_is_not_linear_is_found(vjp: Any, text: str) -> None:
    message = found(np.sin, vjp)["linear in the cotangent"]
    assert text in message
    assert message.endswith("a vjp is linear in the cotangent")


@pytest.mark.parametrize(
    ("forward", "vjp", "text"),
    [
        (np.sin, lambda i, o, c: (c[0].ravel("K").reshape(2, 3) * np.cos(i[0]),), "for cotangents in Fortran order"),
        (lambda x: np.sin(x.ravel("K")).reshape(2, 3), cosine, "output 0: expected what contiguous copies give"),
    ],
)
def test_a_result_that_follows_memory_order_is_found(forward: Any, vjp: Any, text: str) -> None:
    assert text in found(forward, vjp)["layouts"]


def test_a_vjp_that_refuses_a_layout_is_found() -> None:
    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        if 0 in cotangents[0].strides:
            raise ValueError("stride 0")
        return cosine(inputs, outputs, cotangents)

    assert "vjp: expected to accept cotangents of stride 0, got ValueError" in found(np.sin, vjp)["layouts"]


@pytest.mark.parametrize("bad_call", range(2, 30))
def test_a_forward_that_raises_on_a_later_call_gives_a_report_and_no_traceback(bad_call: int) -> None:
    calls = []

    def forward(x: Any) -> Any:
        calls.append(1)
        if len(calls) == bad_call:
            raise RuntimeError("worn out")
        return np.sin(x)

    report = check(forward, cosine, (X,), vary=False)
    assert report.verdict in ("pass", "fail")


def test_a_forward_that_works_twice_only_is_a_finding() -> None:
    calls = []

    def forward(x: Any) -> Any:
        calls.append(1)
        if len(calls) > 20:
            raise RuntimeError("worn out")
        return np.sin(x)

    messages = found(forward, cosine).values()
    assert any("got RuntimeError: worn out; remove state" in message for message in messages)


def test_a_refusal_of_unaligned_memory_is_noted_and_not_blamed() -> None:
    def forward(x: Any) -> Any:
        if not x.flags.aligned:
            raise TypeError("unaligned")
        return np.sin(x)

    report = check(forward, cosine, (X,))
    assert report.verdict == "pass"
    assert "forward refuses inputs in an unaligned address: TypeError: unaligned" in report.coverage.notes


def test_a_gradient_that_cancels_for_inputs_of_one_value_is_not_blamed_on_their_layout() -> None:
    def forward(a: Any, b: Any) -> Any:
        return 1 - a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)

    def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
        a, b = inputs
        p, q = np.sqrt(a @ a), np.sqrt(b @ b)
        s = a @ b / p / q
        return -cotangents[0] * (b / p / q - s * a / p**2), -cotangents[0] * (a / p / q - s * b / q**2)

    generator = np.random.default_rng(0)
    generator.normal(size=1800)
    assert found(forward, vjp, (generator.normal(size=30), generator.normal(size=30)), vary=False) == {}


GRID = np.arange(1.0, 25.0).reshape(2, 3, 4)


def findings_of(forward: Any, vjp: Any, inputs: Any, **options: Any) -> Any:
    return check(forward, vjp, inputs, **options).findings


def test_a_wrong_number_of_gradients_is_the_only_finding() -> None:
    (finding,) = findings_of(lambda a, b: a * b, lambda i, o, c: (c[0] * i[1],), (GRID, GRID))
    assert finding.check == "gradient count"
    assert "expected 2 gradients, one per input (a, b), got 1" in finding.message


def test_a_forgotten_sum_names_its_axes() -> None:
    (finding,) = findings_of(lambda x, b: x + b, lambda i, o, c: (c[0] + 0, c[0] + 0), (GRID, np.ones((3, 1))))
    assert finding.message == "gradient of 'b': expected shape (3, 1) like b, got (2, 3, 4); sum it over axes 0 and 2"
    assert finding.cause == "not summed over the axes [0, 2] along which b was broadcast"


def test_a_wrong_shape_that_is_no_broadcast_is_not_called_one() -> None:
    (finding,) = findings_of(np.sin, lambda i, o, c: (np.zeros(5),), (GRID,), names=["x"])
    assert finding.message == "gradient of 'x': expected shape (2, 3, 4) like x, got (5,)"
    assert finding.cause == "the gradient was not brought back to the shape of its input"


def test_a_gradient_of_another_dtype_is_found() -> None:
    findings = findings_of(
        np.sin, lambda i, o, c: (c[0] * np.cos(i[0].astype(np.float64)),), (GRID.astype(np.float32),), names=["x"]
    )
    assert [finding.message for finding in findings] == [
        "gradient of 'x': expected dtype float32 like x, got float64; cast it with .astype(x.dtype)"
    ]


def test_an_integer_input_takes_none_or_zeros_only() -> None:
    def vjp(last: Any) -> Any:
        return lambda i, o, c: (c[0] * i[1], last(i))

    inputs = (GRID, np.full(GRID.shape, 2))
    assert findings_of(lambda x, n: x * n, vjp(lambda i: None), inputs) == ()
    assert findings_of(lambda x, n: x * n, vjp(lambda i: np.zeros(i[1].shape)), inputs) == ()
    (finding,) = findings_of(lambda x, n: x * n, vjp(lambda i: i[0] + 0), inputs)
    assert "expected None, as n is int64, got float64 values; return None" in finding.message


def test_a_declared_input_takes_no_gradient() -> None:
    findings = findings_of(
        lambda x, t: x * (t > 0), lambda i, o, c: (c[0] * (i[1] > 0), i[1] + 0), (GRID, GRID), nondifferentiable=[1]
    )
    assert "as t is declared non-differentiable, got values up to 24" in findings[0].message


def test_none_is_wrong_where_the_output_depends_and_right_where_it_does_not() -> None:
    (finding,) = findings_of(lambda a, b: a * b, lambda i, o, c: (c[0] * i[1], None), (GRID, GRID))
    assert (finding.check, finding.input) == ("gradient missing", "b")
    assert "yours None, derivative 24 ±" in finding.message
    assert findings_of(lambda a, b: a + 0 * b, lambda i, o, c: (c[0] + 0, None), (GRID, GRID)) == ()
