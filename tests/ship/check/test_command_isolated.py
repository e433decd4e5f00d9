import json
import os
import subprocess
import sys

import pytest

import opsdk
from gradcheck.run import workers
from gradcheck.run.workers import Outcome
from opsdk.define.op import REGISTRY
from opsdk.ship.check import command
from opsdk.ship.explain.page import explained
from opsdk.verify.report import VerifyReport
from tests.contracts.tree import REPOSITORY

CRASHING = """\
import ctypes

import opsdk


@opsdk.op
def fragile(x):
    return 2 * x


@fragile.backward
def fragile_grad(dy):
    print("planted: about to crash")
    ctypes.string_at(0)


@opsdk.op
def halve(x):
    return x / 2


@halve.backward
def halve_grad(dy):
    return dy / 2
"""

WILD_ROW = """

clamp.grad.kernel("cpu", language="c", dtype="float32", source=\'\'\'
int32_t clamp_grad_f32(const DLTensor *y, const DLTensor *dy, DLTensor *dx) {
  float *out = 0;
  for (int64_t i = 0; i < opsdk_size(y); ++i) out[i] = 1;
  return 0;
}\'\'\')
"""
ENDLESS = """\
import opsdk


@opsdk.op
def endless(x):
    while x.size:
        pass
    return x + 1
"""


def reports(file):
    """The reports that a run wrote, without what a clock says."""

    def timeless(value):
        if isinstance(value, dict):
            return {k: timeless(v) for k, v in value.items() if k not in ("seconds", "rendered")}
        return [timeless(v) for v in value] if isinstance(value, list) else value

    return timeless(json.loads(file.read_text())["reports"])


def test_workers_find_what_the_process_itself_finds_in_the_order_of_the_targets(run, right, wrong, here):
    alone = run("check", "bad.py", "good.py", "--json", "alone.json", "--seed", "3")
    together = run("check", "bad.py", "good.py", "--json", "together.json", "--seed", "3", "--jobs", "2")
    assert (alone.exit_code, together.exit_code) == (1, 1), together.output
    assert reports(here / "alone.json") == reports(here / "together.json")
    assert "bad.py:clamp[cpu,float64,numpy]::vjp.x" in together.stdout


def test_ops_are_reported_in_the_order_of_the_targets_whichever_ends_first(run, right, wrong, monkeypatch):
    def reversed_run(pieces, **options):
        for position in reversed(range(len(pieces))):
            yield position, Outcome("done", VerifyReport(pieces[position].name, "pass"))

    monkeypatch.setattr(workers, "run", reversed_run)
    result = run("check", "good.py", "bad.py", "--jobs", "2")
    assert result.stderr == "[1/2] bad::clamp pass\n[2/2] good::clamp pass\n"
    assert result.stdout.index("good::clamp") < result.stdout.index("bad::clamp")


def test_a_time_out_is_no_finding(run, here):
    (here / "slow.py").write_text(ENDLESS)
    result = run("check", "slow.py", "--timeout", "3")
    assert result.exit_code == 4, result.output
    assert "unsure   slow::endless: ran longer than 3 s; still in " in result.stdout
    assert "; a larger --timeout gives it more" in result.stdout


def test_a_crash_is_a_finding_and_the_others_go_on(run, here):
    (here / "fragile.py").write_text(CRASHING)
    result = run("check", "fragile.py", "--jobs", "2")
    assert result.exit_code == 1, result.output
    out = result.stdout
    assert "1 failed, 1 passed in " in out
    assert (
        "FAIL op 'fragile::fragile': expected its kernels to return or raise, "
        "crashed: signal SIGSEGV in fragile_grad (fragile.py:14)" in out
    )
    assert out.endswith("next: opsdk check 'fragile.py:fragile[*]::crash' --seed 0 --jobs 1\n")
    assert "; opsdk explain OP302\n" in out
    assert "compare" not in out
    assert "note     fragile::fragile, stack, innermost first: string_at (" in out
    assert "note     fragile::fragile, printed last: planted: about to crash" in out
    assert out.splitlines()[-1] == "next: opsdk check 'fragile.py:fragile[*]::crash' --seed 0 --jobs 1"


def test_a_c_row_that_crashes_is_a_finding_at_that_row_without_being_asked_for(right, wrong):
    pytest.importorskip("cffi")
    with right.open("a") as file:
        file.write(WILD_ROW)
    text = right.read_text()
    line = text.count("\n", 0, text.index("clamp.grad.kernel")) + 1
    command = [sys.executable, "-m", "opsdk", "check", "good.py", "bad.py"]  # a process that may crash
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    assert "2 failed in " in result.stdout
    assert (
        "FAIL op 'good::clamp': expected its kernels to return or raise, "
        f"crashed: signal SIGSEGV in clamp_grad, c kernel (good.py:{line})" in result.stdout
    )
    assert f"  at       clamp_grad, c kernel (good.py:{line}); opsdk explain OP302" in result.stdout
    assert "FAIL op 'bad::clamp', gradient of 'x'" in result.stdout


def test_only_ops_with_a_c_row_are_judged_in_a_worker_unless_it_is_asked_for(run, right, wrong, monkeypatch):
    pytest.importorskip("cffi")
    seen = []

    def noted_run(pieces, **options):
        for position, piece in enumerate(pieces):
            seen.append(piece.name)
            yield position, Outcome("done", VerifyReport(piece.name, "pass"))

    monkeypatch.setattr(workers, "run", noted_run)
    monkeypatch.setattr("opsdk.ship.check.kept._SOON", float("inf"))  # a busy machine would tell the time left
    with right.open("a") as file:
        file.write(WILD_ROW)
    result = run("check", "bad.py", "good.py", "bad.py")
    assert seen == ["good::clamp"]
    assert result.stderr == "[1/3] bad::clamp fail\n[2/3] good::clamp pass\n[3/3] bad::clamp fail\n"


def test_the_page_of_a_crash_claims_no_time_and_no_checks(run, here):
    (here / "fragile.py").write_text(CRASHING)
    run("check", "fragile.py:fragile", "--jobs", "1", "--html", "report.html")
    page = (here / "report.html").read_text()
    assert "0.00 s" not in page
    assert "gradient elements judged" not in page


def test_the_id_of_a_crash_can_be_pasted_back(run, here):
    (here / "fragile.py").write_text(CRASHING)
    result = run("check", "fragile.py:fragile[*]::crash", "--seed", "0", "--jobs", "1")
    assert result.exit_code == 1, result.output
    assert "crashed: signal SIGSEGV" in result.stdout
    (here / "fragile.py").write_text(CRASHING.replace("    ctypes.string_at(0)\n", "    return 2 * dy\n"))
    assert run("check", "fragile.py:fragile[*]::crash", "--seed", "0", "--jobs", "1").exit_code == 0


def test_what_a_worker_raises_is_said_after_the_report_of_the_others(run, right, wrong):
    result = run("check", "good.py:clamp[cpu,float64,numba]::vjp.x", "bad.py", "--jobs", "1")
    assert result.exit_code == 2, result.output
    assert "1 failed in " in result.stdout
    assert "[1/2] good::clamp not judged" in result.stderr
    assert "no kernel 'cpu,float64,numba'; good::clamp has numpy (cpu, *)" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--jobs", "none"), "jobs: expected an integer >= 1 or auto, got 'none'"),
        (("--timeout", "0"), "0.0 is not in the range"),
    ],
    ids=str,
)
def test_a_wrong_number_is_a_usage_error(run, right, options, words):
    result = run("check", "good.py", *options)
    assert result.exit_code == 2
    assert words in result.stderr


def test_the_code_of_a_crash_is_explained():
    assert explained("302").startswith("OP302 GradcheckError: An op ended the process in which it was verified.")


@pytest.mark.parametrize("language", ["c", "numba"])
@pytest.mark.parametrize(
    ("where", "told", "at"),
    [
        ("_check (/lib/gradcheck/checks.py:59)", "crashed: signal SIGABRT in, or after, {kernel}", "{kernel}"),
        ("f ({file}:3)", "crashed: signal SIGABRT in f ({file}:3), after {kernel}", "f ({file}:3)"),
        ("{kernel}", "crashed: signal SIGABRT in {kernel}", "{kernel}"),
    ],
)
def test_a_crash_in_other_code_than_a_kernels_names_the_kernels_that_may_have_spoilt_memory(where, told, at, language):
    with REGISTRY.scoped():
        op = opsdk.op("f(Tensor x) -> Tensor y", namespace="planted")(lambda x: x * 1)
        if language == "c":
            op.kernel("cpu", language="c", dtype="float64", source="int32_t f_f64(const DLTensor *x, DLTensor *y);")
        else:
            op.kernel("cpu", language="numba", dtype="float64")(lambda x, y: None)
        origin = next(kernel.origin for kernel in op.opdef.kernels if kernel.language == language)
        names = {"kernel": f"f, {language} kernel ({origin})", "file": str(origin).rpartition(":")[0]}
        stack = (where.format(**names),)
        outcome = Outcome("crashed", message=f"crashed: signal SIGABRT in {stack[0]}", stack=stack)
        (finding,) = command._report_of_end(op, outcome, 0).findings
    assert finding.message.endswith(f"expected its kernels to return or raise, {told.format(**names)}")
    assert finding.at == at.format(**names)
