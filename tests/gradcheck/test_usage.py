"""What a caller gets wrong: forwards and vjps that return nothing of use, options, and how to see a finding again."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import gradcheck
from gradcheck import TaylorReport, UsageError, check, render_text, taylor_test

# Any, in this file: subjects are plain NumPy functions of every signature.
X = np.array([0.3, -1.2, 2.0])


def cosine(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0] * np.cos(inputs[0]),)


def twice(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (2 * cotangents[0] * np.cos(inputs[0]),)


def no_gradient(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (None,)


@pytest.mark.parametrize(
    ("returned", "got"),
    [
        (None, "NoneType for output 0"),
        ("text", "str for output 0"),
        (b"text", "bytes for output 0"),
        ((X, None), "NoneType for output 1"),
        ({"y": X}, "dict for output 0"),
        (np.array([None, 1.0]), "dtype object for output 0"),
        (np.array(["a", "b"]), "dtype <U1 for output 0"),
    ],
    ids=str,
)
@pytest.mark.parametrize("judge", [check, taylor_test])
def test_a_forward_that_returns_no_numbers_is_refused(judge: Any, returned: Any, got: str) -> None:
    text = f"forward: expected arrays of numbers, got {got}; return what it computes"
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        judge(lambda x: returned, cosine, (X,))


@pytest.mark.parametrize("returned", [1.5, 3, True, [X, 2], (), X.astype(np.int8), X.astype(np.float16)], ids=str)
def test_a_forward_that_returns_any_numbers_is_judged(returned: Any) -> None:
    assert check(lambda x: returned, lambda i, o, c: (np.zeros(3),), (X,)).verdict != "fail"


@pytest.mark.parametrize(
    ("forward", "vjp", "x", "why"),
    [
        (lambda x: (), no_gradient, X, "forward gives no output"),
        (lambda x: np.sign(x).astype(int), no_gradient, X, "no output of forward can have a derivative"),
        (lambda x: x[:0] + 0, lambda i, o, c: (np.zeros(3),), X, "every output is empty"),
        (lambda x: x.sum(), cosine, X[:0], "every input that could be differentiated is empty"),
    ],
)
def test_a_pass_in_which_nothing_was_judged_says_so(forward: Any, vjp: Any, x: Any, why: str) -> None:
    report = check(forward, vjp, (x,), vary=False)
    assert report.verdict == "pass"
    assert report.coverage.notes[-1] == f"nothing was judged: {why}"


def test_a_pass_in_which_something_was_judged_says_nothing_of_it() -> None:
    assert "nothing was judged" not in render_text(check(np.sin, cosine, (X,), vary=False))


@pytest.mark.parametrize(("iterator", "kind"), [(lambda c: (x for x in c), "generator"), (iter, "tuple_iterator")])
def test_a_vjp_that_returns_an_iterator_is_one_finding(iterator: Any, kind: str) -> None:
    (finding,) = check(np.sin, lambda i, o, c: iterator(c), (X,)).findings
    assert finding.check == "vjp raises"
    assert f"got TypeError: vjp returned a {kind}; return a tuple, with " in finding.message


def test_a_vjp2_that_returns_nothing_is_told_what_to_return() -> None:
    (finding,) = check(np.sin, cosine, (X,), vjp2=lambda *given: None).findings
    assert (
        "vjp2: expected gradients, got ValueError: vjp2 returned None; "
        "return a pair of tuples: one gradient per input, and one per cotangent"
    ) in finding.message


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"vary": 1}, "vary: expected True, False or some of values, zeros, sizes, got 1; name those"),
        ({"vary": None}, "vary: expected True, False or some of values, zeros, sizes, got None; name those"),
        ({"vary": [[]]}, "vary: expected True, False or some of values, zeros, sizes, got [[]]; name those"),
        ({"names": [1]}, "names: expected 1 different names, one per input, got [1]; name each input"),
        ({"names": 3}, "names: expected 1 different names, one per input, got 3; name each input"),
        ({"alias_ok": ["cot"]}, "alias_ok: expected some of output, cotangent, gradients, got 'cot'; meant cotangent?"),
        ({"alias_ok": ["all"]}, "alias_ok: expected some of output, cotangent, gradients, got 'all'; remove it"),
    ],
    ids=str,
)
def test_an_option_of_another_form_is_refused(options: Any, text: str) -> None:
    with pytest.raises(UsageError, match=f"^{re.escape(text)}$"):
        check(np.sin, cosine, (X,), **options)


def test_a_rerun_has_the_options_that_were_given() -> None:
    (finding,) = check(np.sin, twice, (X,), domain=(-5, 5), surrogate=np.sin, convention="plain", names=["x"]).findings
    assert finding.repro == (
        "gradcheck.check(forward, vjp, inputs, vary=False, seed=0, "
        "surrogate=surrogate, domain=domain, convention='plain', names=names)"
    )


def own(x: Any) -> Any:
    return x * 1.0


def changes(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    inputs[0][...] = 0
    return (cotangents[0] * 1.0,)


def widened(x: Any) -> Any:
    return x.astype(np.float32) if (x < 0).any() else x * 1.0


def copied(inputs: Any, outputs: Any, cotangents: Any) -> Any:
    return (cotangents[0].astype(inputs[0].dtype) * 1.0,)


@pytest.mark.parametrize(
    ("forward", "vjp", "options"),
    [
        (own, changes, {}),
        (own, lambda i, o, c: (c[0],), {}),
        (own, lambda i, o, c: (c[0].sum(),), {}),
        (own, lambda i, o, c: (), {}),
        (own, copied, {"jvp": lambda i, t: t[0] * 2.0}),
        (own, copied, {"vjp2": lambda *given: None}),
        (np.abs, lambda i, o, c: (c[0] * 1.0,), {"names": ["x"]}),
        (widened, copied, {"domain": (-9, 9)}),
    ],
    ids=["mutation", "sharing", "shape", "count", "jvp", "vjp2", "varied", "dtype"],
)
def test_every_finding_is_shown_again_by_its_rerun(forward: Any, vjp: Any, options: Any) -> None:
    inputs = (np.abs(X),)
    known = {"gradcheck": gradcheck, "np": np, "forward": forward, "vjp": vjp, "inputs": inputs, **options}
    findings = check(forward, vjp, inputs, **options).findings
    assert findings
    for finding in findings:
        again = eval(finding.repro, known)
        assert (finding.check, finding.input) in {(other.check, other.input) for other in again.findings}


def test_a_taylor_report_is_a_few_lines() -> None:
    lines = str(taylor_test(np.sin, lambda i, o, c: (c[0] * np.cos(i[0]) * 1.001,), (X,), names=["x"])).splitlines()
    assert lines[0] == "FAIL  4 directions; seed 0"
    assert re.fullmatch(
        r"  worst    x: slope expected \S+, got \S+ from vjp: the remainder falls at rate 1\.0 instead of 3; "
        r"relative error 1\.0e-03",
        lines[1],
    )
    assert lines[2:] == ["  rates    x: 1.0, 1.0, 1.0, 1.0; expected 3"]


def test_a_taylor_report_says_what_is_linear_and_why_nothing_was_judged() -> None:
    lines = str(taylor_test(own, copied, (X,), directions=1)).splitlines()
    assert re.fullmatch(r"pass  1 direction; sees down to \de-\d\d; seed 0", lines[0])
    assert lines[1:] == ["  rates    x: rounding only; expected 3"]
    assert str(TaylorReport("fail", (), np.inf, "vjp: a reason", 3)).splitlines() == [
        "FAIL  0 directions; seed 3",
        "  reason   vjp: a reason",
    ]


def test_a_taylor_report_is_not_rendered_as_another() -> None:
    with pytest.raises(UsageError, match=r"report: expected a gradcheck.Report, got TaylorReport; pass what"):
        render_text(taylor_test(own, copied, (X,)))  # type: ignore[arg-type]
