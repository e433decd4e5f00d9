from __future__ import annotations

from typing import Any

import numpy as np

from gradcheck import check

X = np.array([[0.3, -1.2, 2.0], [1.1, -0.4, 0.7]])


def vjp(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def found(jvp: Any, rule: Any = vjp) -> dict[str, str]:
    return {finding.check: finding.message for finding in check(np.sin, rule, (X,), jvp=jvp, names=["x"]).findings}


def test_a_right_jvp_passes() -> None:
    assert found(lambda i, t: t[0] * np.cos(i[0])) == {}


def test_a_jvp_off_by_a_thousandth_is_found() -> None:
    message = found(lambda i, t: t[0] * np.cos(i[0]) * 1.001)["jvp value"]
    assert "jvp of 'x': wrong in 6 of 6 output elements" in message


def test_a_jvp_below_the_error_bars_is_found_against_vjp() -> None:
    message = found(lambda i, t: t[0] * np.cos(i[0]) * (1 + 5e-10))["transpose"]
    assert "expected <J u, v> = <u, J^T v>" in message


def test_a_jvp_that_raises_or_has_another_shape_is_found() -> None:
    def broken(inputs: Any, tangents: Any) -> Any:
        raise RuntimeError("no rule")

    assert "expected a tangent per output, got RuntimeError: no rule" in found(broken)["jvp raises"]
    assert "tangents of shape [()] for outputs of shape [(2, 3)]" in found(lambda i, t: t[0].sum())["jvp raises"]


def test_a_jvp_that_is_wrong_where_the_function_is_flat_only_nearby_is_found() -> None:
    x = np.array([-0.05, 1.0, 2.0])
    report = check(
        lambda x: np.maximum(x, 0.0),
        lambda i, o, c: (c[0] * (i[0] > 0),),
        (x,),
        jvp=lambda i, t: t[0].copy(),
        vary=False,
    )
    assert {finding.check for finding in report.findings} == {"jvp value"}


def test_a_wrong_tangent_is_named_by_its_output_and_index() -> None:
    x = np.array([[0.3, 1.2], [0.5, -0.7]])
    report = check(
        lambda x: (x * x, np.sin(x)),
        lambda i, o, c: (2 * i[0] * c[0] + np.cos(i[0]) * c[1],),
        (x,),
        jvp=lambda i, t: (2 * i[0] * t[0], np.where(i[0] == 0.5, 3.0, np.cos(i[0])) * t[0]),
        vary=False,
    )
    assert "wrong in 1 of 8 output elements, worst output 1[1, 0]: yours " in report.findings[0].message
