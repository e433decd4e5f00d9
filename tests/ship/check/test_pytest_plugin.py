import subprocess
import sys

import numpy as np
import pytest

from opsdk.define.kernel.kernel import Kernel, KernelKey
from opsdk.ship.check.item import items_of
from opsdk.verify.checks import CHECKS
from opsdk.verify.report import Finding, Row, VerifyReport

pytest_plugins = ["pytester"]

TEST = """\
import pytest


@pytest.mark.gradcheck("{target}"{options})
def test_op(op_check):
    pass
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Runs pytest on the test above in a folder of its own, with no plugin but ours."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(target, *arguments, options="", source=TEST):
        pytester.makepyfile(test_it=source.format(target=target, options=options))
        plugin = "opsdk.ship.check.pytest_plugin"
        return pytester.runpytest_inprocess("-p", plugin, "--strict-markers", "-rs", *arguments)

    return run


@pytest.fixture
def clamp(right):
    """The items of an op that is right, with its report read."""
    (op,) = {item.op for item in items_of([str(right)])}
    return op


def with_report(op, findings=(), rows=(), verdict="pass", **options):
    """The items of an op, by id, as they are when verify gives this report."""
    report = VerifyReport(op.opdef.name, verdict, tuple(findings), tuple(rows))
    return {item.id: item.read({(op.opdef, 0): report}) for item in items_of([op], **options)}


def test_a_right_op_passes_row_by_row_and_check_by_check(run, right):
    result = run(right)
    outcomes = result.parseoutcomes()
    assert "failed" not in outcomes
    assert outcomes["passed"] + outcomes["skipped"] == 2 * len(CHECKS) + 1  # the op, its gradient op, the verdict
    result.stdout.fnmatch_lines(["*SKIPPED*good::clamp[[]cpu,*,numpy[]]: verify had no cause to run bounds*"])


def test_a_wrong_op_fails_in_the_one_test_of_its_row_and_check(run, wrong):
    result = run(wrong)
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(
        [
            "*test_op[[]clamp-cpu-numpy-vjp[]]*",
            "op 'bad::clamp', gradient of 'x': wrong in *",
            "  pattern  wrong exactly where x < 0*",
            "  rerun    opsdk check '*bad.py:clamp[[]cpu,float64,numpy[]]::vjp.x' --seed 0",
        ]
    )


def test_one_test_can_be_selected_by_its_id(run, wrong):
    run(wrong, "test_it.py::test_op[clamp-cpu-numpy-infer]").assert_outcomes(passed=1)


def test_the_seed_of_the_mark_is_used(run, wrong):
    run(wrong, "test_it.py::test_op[clamp-cpu-numpy-vjp]", options=", seed=3").stdout.fnmatch_lines(["*--seed 3"])


def test_a_body_sees_the_report_of_the_whole_op(run, right):
    source = TEST.replace("    pass", "    assert op_check.report.verdict == 'pass'")
    run(right, "-k", "verdict", source=source).assert_outcomes(passed=1, deselected=2 * len(CHECKS))


def test_a_test_without_ops_says_what_to_write(run):
    result = run("", source="def test_op(op_check):\n    pass\n\n\ndef test_other():\n    pass\n")
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["*test_op: op_check expected ops in a mark gradcheck, got none; write @pytest.mark*"])


def test_a_target_that_leads_nowhere_says_so(run):
    result = run("missing.py", source=TEST + "\n\ndef test_other():\n    pass\n")
    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["*test_op: missing.py: expected a file at missing.py, there is none*"])


def test_an_op_is_verified_once_for_all_its_items(clamp):
    reports = {}
    read = [item.read(reports) for item in items_of([clamp], seed=2)]
    assert len(reports) == 1
    assert len({id(item.report) for item in read}) == 1
    assert read[0].report.seed == 2
    assert set(read[0].report.coverage.checks) <= set(CHECKS)


def test_a_finding_that_no_row_and_check_has_fails_the_verdict(clamp):
    name = clamp.opdef.name
    odd = [
        Finding("vjp.x", "planted: a row of nobody", id=f"{name}[cpu,float64,c]::vjp.x", op=name, row="cpu,float64,c"),
        Finding("new", "planted: a check of nobody", id=f"{name}[*]::new", op=name, row="cpu,float64,numpy"),
    ]
    items = with_report(clamp, odd, verdict="fail")
    failing = {key: item.failure() for key, item in items.items() if item.failure()}
    assert list(failing) == ["clamp-verdict"]
    assert "planted: a row of nobody" in failing["clamp-verdict"]
    assert "planted: a check of nobody" in failing["clamp-verdict"]


def test_samples_that_are_none_fail_the_verdict(run, right):
    with right.open("a") as file:
        file.write("\n\n@clamp.samples\ndef clamp_samples(rng):\n    yield np.ones(3)\n")
    result = run(right, "-k", "verdict")
    result.assert_outcomes(failed=1, deselected=2 * len(CHECKS))
    result.stdout.fnmatch_lines(["op 'good::clamp', samples: expected opsdk.Samples, got ndarray at position 0;*"])


@pytest.mark.parametrize("check", CHECKS)
def test_each_finding_fails_exactly_one_item(clamp, check):
    name = clamp.opdef.name
    row = "cpu,float32,numpy"
    finding = Finding(f"{check}.x", "planted", id=f"{name}[{row}]::{check}.x", op=name, row=row)
    items = with_report(clamp, [finding], verdict="fail")
    assert [key for key, item in items.items() if item.failure()] == [f"clamp-cpu-numpy-{check}"]


def test_a_row_that_does_not_compile_does_not_run(clamp):
    name = clamp.opdef.name
    finding = Finding("compile", "planted", id=f"{name}[cpu,float64,numpy]::compile", op=name, row="cpu,float64,numpy")
    items = with_report(clamp, [finding], verdict="fail")
    assert [key for key, item in items.items() if item.failure()] == ["clamp-cpu-numpy-runs"]


def test_a_check_that_did_not_run_is_skipped_with_the_reason(clamp):
    name = clamp.opdef.name
    ran = Row(name, "cpu,float64,numpy", "pass", passed=("runs",))
    absent = Row(f"{name}_grad", "cpu,float64,numpy", "skipped", note="no such device")
    items = with_report(clamp, rows=[ran, absent])
    assert items["clamp-cpu-numpy-runs"].reason_to_skip() == ""
    assert items["clamp-verdict"].reason_to_skip() == ""
    assert items["clamp-cpu-numpy-vjp"].reason_to_skip() == f"{name}[cpu,*,numpy]: verify had no cause to run vjp"
    assert items["clamp_grad-cpu-numpy-runs"].reason_to_skip() == "no such device"


def test_an_op_that_cannot_be_judged_fails_its_verdict_unless_that_is_allowed(clamp):
    words = f"op '{clamp.opdef.name}': expected a judgement, got inconclusive: nothing could be judged"
    assert with_report(clamp, verdict="inconclusive")["clamp-verdict"].failure() == words
    assert with_report(clamp, verdict="inconclusive", allow_inconclusive=True)["clamp-verdict"].failure() == ""


def test_a_row_of_one_dtype_has_items_of_its_own(clamp):
    key = KernelKey("cpu", np.dtype("float32"))
    clamp.opdef.kernels.add(Kernel(key, "numpy", lambda x: x, clamp.opdef.origin))
    items = with_report(clamp, [])
    assert {"clamp-cpu-numpy-runs", "clamp-cpu-float32-numpy-runs"} <= set(items)
    name = clamp.opdef.name
    finding = Finding("runs", "planted", id=f"{name}[cpu,float32,numpy]::runs", op=name, row="cpu,float32,numpy")
    items = with_report(clamp, [finding], verdict="fail")
    assert [key for key, item in items.items() if item.failure()] == ["clamp-cpu-float32-numpy-runs"]


def test_the_plugin_imports_neither_verify_nor_the_command_line():
    code = (
        "import sys, opsdk.ship.check.pytest_plugin; "
        "raise SystemExit(bool({'opsdk.verify', 'click', 'gradcheck', 'opsdk.ship.check.item'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
