import json

import pytest

import opsdk
from gradcheck.run.workers import Outcome
from opsdk.core.errors import TargetError
from opsdk.ship.check.command import judged_ops
from opsdk.ship.check.item import items_of
from opsdk.ship.targets.target import resolve
from opsdk.verify.report import Row, VerifyReport

NOT_JUDGED = """\
import numpy as np
import opsdk


@opsdk.op
def rounded(x):
    if x.size:
        raise ValueError("planted: no input is good enough")
    return x
"""


def test_an_op_that_is_right_passes(run, right):
    result = run("check", "good.py")
    assert result.exit_code == 0, result.output
    assert "good::clamp" in result.stdout
    assert result.stdout.splitlines()[-2].startswith("1 passed in ")
    assert result.stdout.splitlines()[-1] == "next: opsdk check good.py -v"


def test_a_wrong_op_shows_input_cause_and_rerun(run, wrong):
    result = run("check", "bad.py:clamp")
    assert result.exit_code == 1, result.output
    assert "FAIL op 'bad::clamp', gradient of 'x': wrong in " in result.stdout
    assert "pattern  wrong exactly where x < 0" in result.stdout
    assert "1 failed in " in result.stdout
    assert result.stdout.endswith("next: opsdk check 'bad.py:clamp[cpu,float64,numpy]::vjp.x' --seed 0\n")
    assert len(result.stdout.splitlines()) <= 12  # a screen, of which none is said twice


def test_where_there_are_several_findings_each_says_its_own_rerun(run, wrong):
    (wrong.parent / "worse.py").write_text(wrong.read_text())
    out = run("check", "bad.py", "worse.py").stdout
    assert "  rerun    opsdk check 'bad.py:clamp[cpu,float64,numpy]::vjp.x' --seed 0" in out
    assert "  rerun    opsdk check 'worse.py:clamp[cpu,float64,numpy]::vjp.x' --seed 0" in out


def test_a_findings_id_can_be_pasted_back(run, wrong):
    result = run("check", "bad.py:clamp[cpu,float64,numpy]::vjp.x")
    assert result.exit_code == 1, result.output
    assert "gradient of 'x'" in result.stdout


def test_the_id_of_an_expectation_that_does_not_show_can_be_pasted_back(run, right):
    right.write_text(right.read_text() + "\nclamp.expect('vjp.x', reason='it was wrong once')\n")
    first = run("check", "good.py")
    assert first.exit_code == 1, first.output
    (target,) = [line for line in first.stdout.splitlines() if line.startswith("next: ")]
    assert "expect.vjp.x" in target
    again = run("check", target.partition("'")[2].partition("'")[0])
    assert again.exit_code == 1, again.output
    assert "expected the finding 'vjp.x' (it was wrong once), got none; take the expect out" in again.stdout


def test_an_id_whose_check_no_longer_fails_passes(run, wrong):
    result = run("check", "bad.py:clamp[cpu,float64,numpy]::infer.y")
    assert result.exit_code == 0, result.output


def test_an_id_of_a_row_that_is_not_there_is_a_usage_error(run, right):
    result = run("check", "good.py:clamp[cpu,float64,numba]::vjp.x")
    assert result.exit_code == 2
    assert "no kernel 'cpu,float64,numba'; good::clamp has numpy (cpu, *)" in result.stderr


def test_a_gradient_op_is_judged_with_its_forward(run, wrong):
    result = run("check", "bad.py:clamp_grad")
    assert result.exit_code == 1
    assert "op 'bad::clamp', gradient of 'x'" in result.stdout


def test_several_ops_give_one_line_each_and_narration_on_stderr(run, right, wrong):
    result = run("check", "good.py", "bad.py")
    assert result.exit_code == 1
    assert "1 failed, 1 passed in " in result.stdout
    told = [line.partition(", about ")[0] for line in result.stderr.splitlines()]  # the time left, where that is long
    assert told == ["[1/2] good::clamp pass", "[2/2] bad::clamp fail"]


def test_without_a_target_nothing_is_checked(run):
    result = run("check")
    assert result.exit_code == 2
    assert "Missing argument 'TARGET...'." in result.stderr


def test_only_ops_whose_names_fit_are_checked(run, right, wrong):
    assert "1 passed in " in run("check", "good.py", "bad.py", "-k", "good and not bad").stdout
    result = run("check", "good.py", "-k", "snake")
    assert result.exit_code == 5
    assert result.stderr == "nothing to check: of 1 ops none fits -k 'snake'\n"
    assert run("check", "good.py", "-k", "(").exit_code == 2
    run("check", "bad.py")
    among = run("check", "good.py", "bad.py", "--lf", "-k", "good")
    assert among.stderr == "nothing to check: of 1 ops that failed none fits -k 'good'\n"


def test_the_first_failure_ends_the_work_where_that_is_asked_for(run, right, wrong):
    result = run("check", "-x", "bad.py", "good.py")
    assert result.exit_code == 1
    assert "1 failed in " in result.stdout
    assert "good::clamp" not in result.stdout
    assert "stopped at the first failure, with 1 of 2 ops left" in result.stderr


def test_quiet_prints_failures_and_the_summary_only(run, right):
    lines = run("check", "-q", "good.py").stdout.splitlines()
    assert [line.partition(" in ")[0] for line in lines] == ["1 passed", "next: opsdk check good.py -v"]


def test_verbose_says_what_was_tried(run, right):
    result = run("check", "-v", "good.py")
    assert "checks" in result.stdout
    assert "gradient elements judged" in result.stdout
    assert "good::clamp[cpu,float64,numpy] pass" in result.stdout


def test_twice_verbose_says_how_the_worst_element_was_judged(run, wrong, here):
    result = run("check", "-vv", "bad.py", "--json", "r.json")
    lines = result.stdout.splitlines()
    first = next(
        k for k, line in enumerate(lines) if line.startswith("  trace    bad::clamp[cpu,float64,numpy] vjp, x[")
    )
    assert lines[first].endswith(", at the given inputs: wrong under ones as cotangent")
    assert lines[first + 1].startswith("             measure       saw outputs that move with it: 1; steps from ")
    again = run("report", "r.json", "-v")
    assert lines[first] in again.stdout.splitlines()


def test_once_verbose_says_no_steps(run, wrong):
    assert "  trace    " not in run("check", "-v", "bad.py").stdout


def test_a_worker_traces_too(run, wrong):
    assert "  trace    bad::clamp[cpu,float64,numpy] vjp, x[" in run("check", "-vv", "--jobs", "1", "bad.py").stdout


def test_nothing_moves_off_a_terminal(run, wrong):
    result = run("check", "bad.py")
    assert "\x1b" not in result.output
    assert "\r" not in result.output


@pytest.mark.parametrize(("options", "status"), [((), 4), (("--strict",), 1), (("--allow-inconclusive",), 0)], ids=str)
def test_an_op_that_cannot_be_judged_has_a_code_of_its_own(run, right, monkeypatch, options, status):
    rows = (Row("good::clamp", "cpu,float64,numpy", "inconclusive"),)
    report = VerifyReport("good::clamp", "inconclusive", rows=rows)
    monkeypatch.setattr("opsdk.verify", lambda op, **options: report, raising=False)
    result = run("check", "good.py", *options)
    assert result.exit_code == status, result.output
    assert "inconclusive good::clamp\n  unsure   nothing could be judged" in result.stdout
    told = "\nfailed by --strict: good::clamp could not be judged\n" in result.stdout
    assert told == (options == ("--strict",))


def test_a_file_without_ops_is_not_a_pass(run, here):
    (here / "empty.py").write_text("x = 1\n")
    result = run("check", "empty.py")
    assert result.exit_code == 5
    assert result.stdout == ""
    assert "nothing to check: empty.py defines no op" in result.stderr


def test_json_goes_to_a_file_and_text_to_the_terminal(run, wrong, here):
    result = run("check", "bad.py", "--json", "report.json", "--seed", "3")
    document = json.loads((here / "report.json").read_text())
    (report,) = document["reports"]
    assert (document["schema"], document["seed"], report["verdict"]) == (1, 3, "fail")
    assert report["findings"][0]["id"] == "bad.py:clamp[cpu,float64,numpy]::vjp.x"
    assert "FAIL op 'bad::clamp'" in result.stdout
    assert "wrote report.json" in result.stderr


def test_a_dash_writes_json_to_standard_output(run, right):
    result = run("check", "good.py", "--json", "-")
    assert json.loads(result.stdout)["reports"][0]["verdict"] == "pass"
    assert "1 passed in " in result.stderr


def test_an_interrupt_reports_what_was_checked(run, right, wrong, monkeypatch):
    from opsdk.ship.check import command as check

    whole = check.check_one

    def check_one(selection, op, seed, *depth):
        if op.opdef.name == "bad::clamp":
            raise KeyboardInterrupt
        return whole(selection, op, seed, *depth)

    monkeypatch.setattr(check, "check_one", check_one)
    result = run("check", "good.py", "bad.py")
    assert result.exit_code == 130
    assert "1 passed in " in result.stdout
    assert "interrupted after 1 of 2 ops" in result.stderr


def test_html_is_one_offline_page(run, wrong, here):
    assert run("check", "bad.py", "--html", "report.html").exit_code == 1
    text = (here / "report.html").read_text()
    assert "gradient of &#x27;x&#x27;" in text
    assert "prefers-color-scheme: dark" in text
    assert "http" not in text
    assert "<script" not in text


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing/report.html", "No such file or directory"),
        ("good.py/report.html", "Not a directory"),
        (".", "Is a directory"),
    ],
)
@pytest.mark.parametrize("option", ["--html", "--json", "--junit"])
def test_a_report_that_cannot_be_written_is_a_usage_error_before_the_work(run, right, option, path, reason):
    result = run("check", "good.py", option, path)
    assert result.exit_code == 2
    assert result.stderr == (
        f"{path}: expected a file that can be written, got: {reason}\n  code     {TargetError.default_code}\n"
    )
    assert result.stdout == ""


def test_two_reports_on_standard_output_are_a_usage_error(run, right):
    result = run("check", "good.py", "--json", "-", "--html", "-")
    assert result.exit_code == 2
    assert result.stderr.splitlines()[0] == (
        "--html, --json: expected one report at most on standard output, got 2; name a file for the others"
    )
    assert result.stdout == ""


def test_a_file_that_goes_away_while_the_work_lasts_is_a_usage_error(run, right, here, monkeypatch):
    from opsdk.ship.check import report as check_report

    monkeypatch.setattr(check_report, "check_places", lambda places: None)
    result = run("check", "good.py", "--html", "missing/report.html")
    assert result.exit_code == 2
    assert "missing/report.html: expected a file that can be written, got: No such file or directory" in result.stderr
    assert "1 passed in " in result.stdout


UNUSABLE_SAMPLES = """\


@clamp.samples
def clamp_samples(rng):
    yield np.ones(3)
"""


def test_samples_that_are_none_fail_their_op_and_the_others_go_on(run, right, wrong, here):
    with right.open("a") as file:
        file.write(UNUSABLE_SAMPLES)
    result = run("check", "good.py", "bad.py")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == ["[1/2] good::clamp fail", "[2/2] bad::clamp fail"]
    lines = result.stdout.splitlines()
    assert (
        "FAIL op 'good::clamp', samples: expected opsdk.Samples, got ndarray at position 0; yield opsdk.Sample(...)"
    ) in lines
    assert any(line.startswith("  at       good.py:15; opsdk explain OP") for line in lines)
    assert run("check", "good.py:clamp[cpu,float64,numpy]::samples").exit_code == 1


NO_BACKWARD = """\
import opsdk


@opsdk.op
def cubed(x):
    return x * x * x
"""


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--strict",), 1)], ids=str)
def test_an_op_without_a_backward_is_said_and_fails_under_strict(run, here, options, status):
    (here / "plain.py").write_text(NO_BACKWARD)
    result = run("check", "plain.py", *options)
    assert result.exit_code == status, result.output
    assert "pass, no backward" in result.stdout
    assert "note     plain::cubed: no backward declared" in result.stdout
    summary = [line.partition(" in ")[0] for line in result.stdout.splitlines()[-3:]]
    why = "failed by --strict: plain::cubed has no backward: declare @cubed.backward, or its outputs nondifferentiable"
    assert summary[:2] == (["1 passed", why] if options else ["", "1 passed"])


ROOT = """\
import numpy as np
import opsdk


@opsdk.op
def root(x):
    return np.sqrt(x)


@root.backward
def root_grad(y, dy):
    return 0.5 * dy / y
"""


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--strict",), 1)], ids=str)
def test_an_op_with_a_note_fails_under_strict(run, here, options, status):
    (here / "plain.py").write_text(ROOT)
    result = run("check", "plain.py", *options)
    assert result.exit_code == status
    assert "note     plain::root: gives nan in " in result.stdout
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("failed by --strict: ")] or [""]
    assert line.startswith("failed by --strict: the note plain::root: gives nan in ") == bool(options)
    assert line.endswith("; nothing is judged there, declare domain={'x': (low, high)}") == bool(options)


STAIRS = """\
import numpy as np
import opsdk


@opsdk.op
def stair(x):
    return np.round(x * 1e9) * 1e-9


stair.backward(lambda dy: dy * 1.0)
stair.samples(lambda rng: [opsdk.Sample(rng.normal(size=(3, 4)), reason="too fine to see")])
"""


def test_elements_that_stay_undecided_are_shown_and_fail_under_strict(run, here):
    (here / "plain.py").write_text(STAIRS)
    assert run("check", "plain.py").exit_code == 0
    result = run("check", "plain.py", "--strict", "-v")
    assert result.exit_code == 1
    assert "  unsure   plain::stair, vjp at (float64(3, 4)) too fine to see: " in result.stdout
    line = next(line for line in result.stdout.splitlines() if line.startswith("failed by --strict: "))
    assert line.startswith("failed by --strict: the elements of plain::stair, vjp at (float64(3, 4)) too fine to see: ")
    assert line.endswith(": give a sample that decides them")


def test_strict_says_nothing_of_ops_that_fail_anyway(run, wrong):
    assert "failed by --strict" not in run("check", "bad.py", "--strict").stdout


def test_a_gradients_numba_row_is_listed_among_the_rows(run, here):
    pytest.importorskip("numba")
    (here / "loops.py").write_text(
        NO_BACKWARD
        + """

@cubed.backward
def cubed_grad(x, dy):
    return 3 * x * x * dy


@cubed.grad.kernel("cpu", language="numba")
def loop(x, dy, dx):
    for i in range(x.size):
        dx.flat[i] = 4 * x.flat[i] * x.flat[i] * dy.flat[i]
"""
    )
    result = run("check", "loops.py")
    assert result.exit_code == 1
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("loops::cubed")]
    assert "numpy numba" in line
    assert "0e+00" not in line


def test_a_rerun_of_one_finding_does_not_list_another_as_passed(run, here):
    (here / "two.py").write_text(
        NO_BACKWARD.replace("x * x * x", "x[...]") + "\n\n@cubed.backward\ndef cubed_grad(dy):\n    return 2 * dy\n"
    )
    (here / "two.py").write_text((here / "two.py").read_text().replace("x[...]", "x + (x.flags.c_contiguous - 1)"))
    whole = run("check", "two.py").stdout
    assert "::layout.y" in whole
    assert "::vjp.x" in whole
    one = run("check", "two.py:cubed[cpu,float64,numpy]::vjp.x").stdout
    (passed,) = [line for line in one.splitlines() if " passed  " in line]
    assert "layout" not in passed
    assert "vjp" not in passed


PRIMITIVES = """\
import numpy as np
import opsdk


@opsdk.primitive(derivative=lambda x, y: (1 - abs(y)) ** 2, ulp=2)
def soft(x):
    return x / (1 + abs(x))


@opsdk.primitive(c="return x == 0 ? 0.25 : 1 / (1 + exp(-x));", derivative=lambda x, y: y * (1 - y))
def logistic(x):
    return 1 / (1 + np.exp(-x))
"""


def test_the_primitives_of_a_file_are_among_what_is_judged(here):
    (here / "own.py").write_text(PRIMITIVES)
    assert [op.opdef.name for op in judged_ops(resolve("own.py"))] == ["own::logistic", "own::soft"]
    found = [item.id for item in items_of(["own.py:soft"])]
    assert {"soft-cpu-numba-accuracy", "soft-cpu-c-accuracy", "soft_grad-cpu-numba-vjp"} <= set(found)


def test_a_primitive_whose_derivative_is_wrong_is_refused_when_its_file_is_loaded(run, here):
    (here / "own.py").write_text(PRIMITIVES.replace("(1 - abs(y))", "-(1 - abs(y))").replace("** 2", "** 3"))
    result = run("check", "own.py:soft")
    assert result.exit_code == 2
    assert "primitive 'own::soft', derivative: expected the derivative of the body: with respect" in result.stderr


@pytest.mark.slow  # both runtimes, and gradients of two orders
def test_primitives_are_checked_as_ops_are_and_their_findings_can_be_pasted_back(run, here):
    (here / "own.py").write_text(PRIMITIVES)
    result = run("check", "own.py")
    assert result.exit_code == 1, result.output
    assert "1 failed, 1 passed in " in result.stdout
    assert "own::soft" in result.stdout
    assert "FAIL op 'own::logistic': primitive 'logistic' expected within 4 ulp of float32, as" in result.stdout
    again = run("check", "own.py:logistic[cpu,float64,c]::accuracy.logistic")
    assert again.exit_code == 1, again.output
    assert "at x=0.0: 0.25 for 0.5" in again.stdout


@pytest.mark.parametrize(
    ("words", "level"),
    [
        (("good.py",), "default"),
        (("good.py", "--quick"), "quick"),
        (("good.py", "--thorough"), "thorough"),
        (("good.py:clamp[cpu,float64,numpy]::race",), "thorough"),
        (("good.py:clamp[cpu,float64,numpy]::vjp.x",), "default"),
    ],
)
def test_the_level_is_handed_on_to_verify(run, right, monkeypatch, words, level):
    whole, told = opsdk.verify, []
    monkeypatch.setattr(opsdk, "verify", lambda op, **given: told.append(given["level"]) or whole(op, **given))
    assert run("check", *words).exit_code == 0
    assert told == [level]


def test_quick_and_thorough_exclude_each_other(run, right):
    result = run("check", "--quick", "--thorough", "good.py")
    assert result.exit_code == 2
    assert "--quick and --thorough: expected at most one of them, got both; leave one out" in result.stderr


def test_a_quick_check_says_what_was_not_checked(run, right, here):
    result = run("check", "--quick", "good.py", "--junit", "r.xml", "--json", "r.json")
    left = (
        "most samples; sizes and values that no sample has; races; compiled kernels in a second dtype; gradients of "
        "gradients"
    )
    assert f"not checked, as --quick was given: {left}" in result.stdout
    assert "  skipped  good::clamp, not checked at level 'quick': " in run("check", "--quick", "-v", "good.py").stdout
    assert f"not checked at level 'quick': {left}" in (here / "r.xml").read_text()
    assert f"not checked, as --quick was given: {left}" in run("report", "r.json").stdout
    assert "not checked" not in run("check", "good.py").stdout


def test_many_ops_are_spread_over_the_cores_unless_the_number_is_given(run, right, monkeypatch):
    from opsdk.ship.check import command as check

    monkeypatch.setattr(check, "cores", lambda: 3)
    assert [check._jobs_for(count) for count in (1, 7, 8, 11, 12, 500)] == [None, None, 2, 2, 3, 3]
    monkeypatch.setattr(check, "cores", lambda: 1)
    assert check._jobs_for(500) is None
    monkeypatch.setattr(check, "_jobs_for", lambda count: count + 1)
    asked = []

    def run_in_workers(pieces, *, jobs, timeout):
        asked.append(jobs)
        yield 0, Outcome("done", VerifyReport(pieces[0].name, "pass"))

    monkeypatch.setattr(check.workers, "run", run_in_workers)
    assert run("check", "good.py").exit_code == 0
    assert run("check", "good.py", "--jobs", "1").exit_code == 0
    assert asked == [2, 1]


def test_the_time_left_is_told_from_the_last_run(run, right, wrong, monkeypatch):
    monkeypatch.setattr(opsdk, "verify", lambda op, **given: VerifyReport(op.opdef.name, "pass", seconds=20.0))
    run("check", "good.py", "bad.py")
    monkeypatch.setattr(opsdk, "verify", lambda op, **given: VerifyReport(op.opdef.name, "pass", seconds=10.0))
    lines = run("check", "good.py", "bad.py").stderr.splitlines()
    assert lines == ["[1/2] good::clamp pass, about 10 s left", "[2/2] bad::clamp pass"]
