from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck.report import StepTrace, Trace

PAGE = Path(__file__).parents[2] / "docs" / "gradcheck.md"
X = np.array([-1.5, 0.5, 2.0])


def cube(x: Any) -> Any:
    return x * x * x


def cube_vjp(i: Any, o: Any, c: Any) -> Any:
    return (3.0 * c[0] * i[0] * i[0],)


def wrong_where_positive(i: Any, o: Any, c: Any) -> Any:
    return (c[0] * np.where(i[0] < 0, 3.0, 2.0) * i[0] * i[0],)


def traces(*case: Any, trace: Any = True, **options: Any) -> tuple[Trace, ...]:
    return gradcheck.check(*case, names=["x"], vary=False, trace=trace, **options).trace


def said(trace: Trace) -> dict[str, str]:
    return {step.step: re.split(r"[:,]", step.said)[0] for step in trace.steps}


def test_the_example_of_the_docs_is_what_its_code_gives() -> None:
    found = re.search(
        r"```python\n(import numpy.*?)```\n\n```text\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found is not None
    namespace: dict[str, Any] = {}
    exec(found[1], namespace)
    assert namespace["text"] + "\n" == found[2]


def test_the_docs_list_the_steps_in_their_order() -> None:
    from gradcheck.judge.values import STEPS

    section = PAGE.read_text(encoding="utf-8").partition("## One verdict, explained")[2].partition("```")[0]
    assert re.findall(r"^\| ([a-z ]+) \| (?!asks)", section, re.MULTILINE) == list(STEPS)


def test_the_worst_element_is_that_of_the_message_with_its_numbers() -> None:
    report = gradcheck.check(cube, wrong_where_positive, [X], names=["x"], trace=True)
    (trace,) = report.trace
    assert trace.element == "x[2]"
    assert (trace.point, trace.verdict) == ("the given inputs", "wrong under ones as cotangent")
    assert trace.steps[0].said.startswith("wrong: yours 8, derivative 12 ± ")
    assert "yours 8, derivative 12 ± " in report.findings[0].message


def test_a_trace_changes_nothing_else_of_a_report() -> None:
    with_trace = gradcheck.check(cube, wrong_where_positive, [X], trace=True)
    assert replace(with_trace, trace=()) == gradcheck.check(cube, wrong_where_positive, [X])


def test_each_input_has_a_trace_and_the_text_ends_with_them() -> None:
    report = gradcheck.check(np.multiply, lambda i, o, c: (c[0] * i[1], c[0] * i[0]), [X, X + 1], trace={"x2": [(0,)]})
    assert [trace.element[:2] for trace in report.trace[:2]] == ["x1", "x2"]
    assert {trace.element for trace in report.trace[2:]} <= {"x2[0]"}
    assert "  trace    x1[" in gradcheck.render_text(report)


def test_elements_that_are_asked_for_follow_at_every_point_and_both_parts_of_a_complex_one() -> None:
    z = np.array([1.0 + 2.0j, 3.0 - 1.0j])
    found = traces(np.square, lambda i, o, c: (c[0] * 2 * np.conj(i[0]),), [z], trace={"x": [1]})
    assert {trace.element for trace in found} >= {"x[1], real part", "x[1], imaginary part"}


def test_an_element_that_was_not_measured_alone_says_so() -> None:
    x = np.linspace(1.0, 2.0, 400)
    found = traces(np.cumsum, lambda i, o, c: (np.cumsum(c[0][::-1])[::-1],), [x], trace={"x": range(400)})
    left_out = [trace for trace in found if not trace.steps]
    assert {trace.verdict for trace in left_out} == {"not measured alone, only together with others"}
    assert len(left_out) > 100


def test_rounding_inside_forward_is_the_step_that_makes_an_element_unsure() -> None:
    def mish(x: Any) -> Any:
        return x * np.tanh(np.log(1 + np.exp(x)))

    def mish_vjp(i: Any, o: Any, c: Any) -> Any:
        x, soft = i[0], np.logaddexp(i[0], 0)
        return (c[0] * (np.tanh(soft) + x / (1 + np.exp(-x)) / np.cosh(soft) ** 2),)

    (trace,) = traces(mish, mish_vjp, [np.array([-34.15893182151904])])
    steps = said(trace)
    assert (steps["together"], steps["rounding"]) == ("wrong", "unsure")
    assert trace.steps[8].saw[-1] == "all that speaks against yours lies below what forward may round on the way"


def test_the_complex_step_decides_what_cancellation_hides() -> None:
    x = np.array([1e-9, 1.0, 2.0, 3.0])
    vjp = lambda i, o, c: (c[0] * np.expm1(i[0]),)  # noqa: E731 - one line beside its function
    found = traces(lambda x: np.exp(x) - 1 - x, vjp, [x], trace={"x": [0]})
    steps = said(found[-1])
    assert (steps["other scales"], steps["complex step"]) == ("unsure", "right")


def test_a_convention_at_the_end_of_a_domain_is_accepted_by_the_edges() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        return (c[0] * np.where(i[0] < 1.0, 2.0 * i[0], 0.0),)

    edge = np.array([0.25, 1.0])
    steps = said(traces(lambda p: np.clip(p, 0.0, 1.0) ** 2, vjp, [edge], domain=(0, 1), trace={"x": [1]})[-1])
    assert (steps["complex step"], steps["edges"]) == ("wrong", "right")


def test_a_fault_that_only_a_direction_shows_is_measured_then() -> None:
    def vjp(i: Any, o: Any, c: Any) -> Any:
        gradient = np.cumsum(c[0][::-1])[::-1].copy()
        gradient[123] *= 1 + 1e-4
        return (gradient,)

    (trace,) = traces(np.cumsum, vjp, [np.random.default_rng(0).normal(size=400)])
    assert trace.element == "x[123]"
    assert [step.step for step in trace.steps] == ["measure", "edges", "ties", "together", "rounding", "degenerate"]


def test_a_gradient_that_is_nan_at_a_tie_of_the_checkers_choice_is_degenerate() -> None:
    def deviation_vjp(i: Any, o: Any, c: Any) -> Any:
        return (c[0] * (i[0] - i[0].mean()) / (i[0].size * o[0]),)

    x = np.array([1.3, -0.9])
    report = gradcheck.check(np.std, deviation_vjp, [x], names=["x"], trace={"x": [0, 1]})
    last = {step.step: step for trace in report.trace if trace.verdict.startswith("undefined") for step in trace.steps}
    assert last["degenerate"].saw == ("yours is not finite, at a place that the checker chose",)


def test_lines_name_a_step_once() -> None:
    trace = Trace(
        "x[0]", "here", "right", (StepTrace("ties", ("one", "two"), "right"), StepTrace("edges", (), "right"))
    )
    assert trace.lines() == [
        "x[0], at here: right",
        "  ties          saw one",
        "                saw two",
        "                says right",
        "  edges         says right",
    ]


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        (3, "trace: expected True, False or a mapping from names to indices, got 3; pass True"),
        ({"y": [0]}, "trace: expected names among x, got 'y'; name an input with a gradient"),
        ({"x": [7]}, "trace of 'x': expected indices into shape (3,), got 7; pass a tuple of integers"),
        ({"x": [(0, 0)]}, "trace of 'x': expected indices into shape (3,), got (0, 0); pass a tuple of integers"),
        ({"x": ["a"]}, "trace of 'x': expected indices into shape (3,), got 'a'; pass a tuple of integers"),
    ],
)
def test_what_is_no_wish_for_a_trace_is_refused(trace: Any, message: str) -> None:
    with pytest.raises(gradcheck.UsageError) as caught:
        traces(cube, cube_vjp, [X], trace=trace)
    assert str(caught.value) == message


def test_where_there_is_no_derivative_none_is_told():
    """At 0, the end of its domain, a logarithm has none; 0 ± 0 would look like a measured one."""
    inputs = (np.array([0.5, 2.0, 0.0]),)
    report = gradcheck.check(
        np.log, lambda i, o, c: (c[0] / i[0],), inputs, names=["x"], domain=(0, None), trace={"x": [2]}, vary=False
    )
    said = next(trace for trace in report.trace if trace.element == "x[2]").steps[0].said
    assert said == "undefined: yours nan, no derivative to compare it with"
