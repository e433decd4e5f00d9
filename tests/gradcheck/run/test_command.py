import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from gradcheck.case import Case
from gradcheck.report import Report
from gradcheck.run import command
from gradcheck.run.command import main
from gradcheck.run.workers import Outcome

FILE = """\
import ctypes

import numpy as np

from gradcheck import Case


def cosine(inputs, outputs, cotangents):
    return (cotangents[0] * np.cos(inputs[0]),)


def twice(inputs, outputs, cotangents):
    return (2 * cotangents[0] * np.cos(inputs[0]),)


def crash(inputs, outputs, cotangents):
    print("planted: about to crash")
    ctypes.string_at(0)


def hang(inputs, outputs, cotangents):
    while True:
        pass


x = np.array([0.3, -1.2, 2.0])
"""
LINES = {
    "right": "right = Case(np.sin, cosine, (x,))\n",
    "wrong": "wrong = Case(np.sin, twice, (x,), seed=7)\n",
    "unsure": "unsure = Case(np.log, cosine, (np.full(2, np.nan),), vary=False)\n",
    "broken": "broken = Case(np.sin, cosine, (3,))\n",
    "crashing": "crashing = Case(np.sin, crash, (x,))\n",
    "hanging": "hanging = Case(np.sin, hang, (x,))\n",
}


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes cases.py with some of the cases above."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "cases", raising=False)

    def write(*names):
        (tmp_path / "cases.py").write_text(FILE + "".join(LINES[name] for name in names))

    yield write
    sys.modules.pop("cases", None)


@pytest.mark.parametrize(
    ("names", "status"),
    [
        (["right"], 0),
        (["right", "wrong", "unsure"], 1),
        (["right", "wrong", "broken"], 2),
        (["right", "unsure"], 4),
        ([], 5),
    ],
    ids=str,
)
def test_the_gravest_case_decides_the_status(write, names, status):
    write(*names)
    assert main(["cases.py"]) == status


def test_each_case_is_a_line_and_a_failing_one_a_block(write, capsys):
    write("right", "wrong", "broken")
    main(["cases.py"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("pass cases.py:right: 0 findings, ")
    assert lines[1].startswith("FAIL cases.py:wrong: 1 finding, ")
    assert lines[2].startswith("vjp value: gradient of 'x': wrong in 3 of 3 elements")
    assert any(line.startswith("broken cases.py:broken: inputs: expected a floating ") for line in lines)
    assert lines[-2].startswith("1 failed, 1 broken, 1 passed in ")
    assert lines[-1] == "next: python -m gradcheck cases.py:wrong --seed 7"


def test_quiet_leaves_out_what_passes_and_verbose_tells_more(write, capsys):
    write("right")
    main(["cases.py", "-q"])
    quiet = capsys.readouterr().out.splitlines()
    assert [line.partition(" in ")[0] for line in quiet] == ["1 passed", "next: python -m gradcheck cases.py -v"]
    main(["cases.py", "-v"])
    assert "next:" not in capsys.readouterr().out


def test_progress_is_a_line_per_case_on_standard_error(write, capsys):
    write("right", "wrong")
    main(["cases.py"])
    assert capsys.readouterr().err == "[1/2] cases.py:right pass\n[2/2] cases.py:wrong fail\n"


def test_options_come_before_those_of_the_case(write, capsys):
    write("wrong")
    main(["cases.py:wrong", "--seed", "5", "--no-vary", "--budget", "400", "--json", "-"])
    (report,) = json.loads(capsys.readouterr().out)["reports"].values()
    assert report["seed"] == 5
    assert report["coverage"]["points"] == ["the given inputs"]


def test_seconds_are_a_budget_too(write):
    write("right")
    assert main(["cases.py", "--budget", "0.5s"]) == 0


def test_reports_are_written_in_three_forms(write, tmp_path, capsys):
    write("right", "wrong", "broken")
    assert main(["cases.py", "--json", "r.json", "--html", "r.html", "--junit", "r.xml"]) == 2
    document = json.loads((tmp_path / "r.json").read_text())
    verdicts = {name: report["verdict"] for name, report in document["reports"].items()}
    assert verdicts == {"cases.py:right": "pass", "cases.py:wrong": "fail", "cases.py:broken": "fail"}
    page = (tmp_path / "r.html").read_text()
    assert page.count("<html") == page.count("</body>") == page.count("<title>gradcheck: 2 of 3") == 1
    assert page.index("<h1>cases.py:wrong") > page.index("<td>cases.py:right</td>")
    suites = ET.parse(tmp_path / "r.xml").getroot()
    assert [suite.get("name") for suite in suites if suite.get("failures") != "0"] == [
        "cases.py:wrong",
        "cases.py:broken",
    ]
    assert "wrote r.json\nwrote r.html\nwrote r.xml\n" in capsys.readouterr().err


def test_a_time_out_is_no_finding(write, capsys):
    write("hanging")
    assert main(["cases.py", "--timeout", "1"]) == 4
    out = capsys.readouterr().out
    assert out.startswith("inconclusive cases.py:hanging: ")
    assert "  note     ran longer than 1 s; still in " in out
    assert "; give it more time" in out


def test_a_crash_is_a_finding_and_the_others_go_on(write, capsys):
    write("crashing", "right")
    assert main(["cases.py", "--jobs", "2"]) == 1
    out = capsys.readouterr().out
    assert "FAIL cases.py:crashing: " in out
    assert "crash: expected forward and vjp to return or raise, crashed: signal SIGSEGV in crash (cases.py:" in out
    assert "note     printed last: planted: about to crash" in out
    assert "rerun    python -m gradcheck cases.py:crashing --seed 0 --jobs 1" in out
    assert "pass cases.py:right: " in out
    assert out.splitlines()[-1] == "next: python -m gradcheck cases.py:crashing --seed 0 --jobs 1"
    assert out.index("cases.py:crashing: ") < out.index("cases.py:right: ")


def test_cases_are_reported_in_their_order_whichever_ends_first(write, monkeypatch, capsys):
    def run(pieces, **options):
        for position in reversed(range(len(pieces))):
            yield position, Outcome("done", Report("pass"))

    write("right", "wrong")
    monkeypatch.setattr(command, "run", run)
    main(["cases.py", "--jobs", "2"])
    captured = capsys.readouterr()
    assert captured.err == "[1/2] cases.py:wrong pass\n[2/2] cases.py:right pass\n"
    assert captured.out.index("pass cases.py:right: ") < captured.out.index("pass cases.py:wrong: ")


def test_workers_give_the_reports_that_the_process_itself_gives(write, tmp_path):
    write("right", "wrong", "unsure")
    main(["cases.py", "--json", "here.json"])
    main(["cases.py", "--json", "there.json", "--jobs", "2"])
    here, there = (json.loads((tmp_path / name).read_text())["reports"] for name in ("here.json", "there.json"))
    assert here == there


def test_a_broken_case_is_broken_in_a_worker_too(write, capsys):
    write("broken")
    assert main(["cases.py", "--jobs", "1"]) == 2
    assert "broken cases.py:broken: inputs: expected a floating " in capsys.readouterr().out


def test_an_error_of_gradcheck_itself_has_a_status_of_its_own(write, monkeypatch, capsys):
    write("right")

    def check(self, **changed):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(Case, "check", check)
    assert main(["cases.py"]) == 3
    assert "error cases.py:right: ZeroDivisionError: planted" in capsys.readouterr().out


def test_an_interrupt_reports_what_was_finished(write, monkeypatch, capsys):
    write("right", "wrong")
    whole = command._here

    def here(name, case, changed):
        if name.endswith("wrong"):
            raise KeyboardInterrupt
        return whole(name, case, changed)

    monkeypatch.setattr(command, "_here", here)
    assert main(["cases.py"]) == 130
    captured = capsys.readouterr()
    assert "1 passed in " in captured.out
    assert "interrupted after 1 of 2 cases" in captured.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--budget", "much"], "expected calls as 2000 or seconds as 2s, got 'much'"),
        (["--jobs", "0"], "jobs: expected an integer >= 1 or auto, got '0'"),
        (["--budget", "5"], "--budget: expected an integer >= 200 forward calls or None, got 5; raise it"),
        (["--budget", "0s"], "--budget: expected seconds > 0, got 0.0; an integer counts forward calls"),
        (["--seed", "-1"], "--seed: expected an integer >= 0, got '-1'; pass any such number"),
        (["--seed", "x"], "--seed: expected an integer >= 0, got 'x'; pass any such number"),
        (["--timeout", "-1"], "expected seconds > 0, got '-1'"),
        (["--timeout", "soon"], "expected seconds > 0, got 'soon'"),
    ],
    ids=str,
)
def test_a_wrong_option_is_a_usage_error(write, capsys, arguments, words):
    with pytest.raises(SystemExit) as ended:
        main(["cases.py", *arguments])
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_a_target_that_leads_nowhere_and_a_report_that_cannot_be_written_are_usage_errors(write, capsys):
    write("right")
    assert main(["cases.py:left"]) == 2
    assert main(["cases.py", "--json", "missing/r.json"]) == 2
    words = capsys.readouterr().err
    assert "cases.py:left: expected a case of cases.py, got 'left'; it has right" in words
    assert "missing/r.json: expected a file that can be written, got: No such file or directory; name another" in words


@pytest.mark.parametrize(
    ("target", "got"),
    [
        ("", "'': expected a Python file or a module, got an empty name; write file.py, file.py:name or module:name"),
        (":right", "'': expected a Python file or a module, got an empty name; write "),
        ("README.md", "'README.md': expected a Python file or a module, got another file; write "),
        ("./cases", "'./cases': expected a Python file or a module, got a path without .py; write "),
        ("missing.part", "missing.part: expected a module that can be imported from here, there is none; a file ends "),
    ],
)
def test_a_target_that_is_neither_a_python_file_nor_a_module_is_refused(write, tmp_path, capsys, target, got):
    write("right")
    (tmp_path / "README.md").write_text("text")
    assert main([target]) == 2
    assert capsys.readouterr().err.startswith(got)


def test_where_reports_go_is_looked_at_before_the_work(write, tmp_path, monkeypatch, capsys):
    write("right")
    monkeypatch.setattr(Case, "check", lambda *_: pytest.fail("it was judged"))
    (tmp_path / "kept.xml").write_text("kept")
    assert main(["cases.py", "--html", "r.html", "--junit", "kept.xml", "--json", "missing/r.json"]) == 2
    captured = capsys.readouterr()
    assert captured.err == (
        "missing/r.json: expected a file that can be written, got: No such file or directory; name another\n"
    )
    assert not (tmp_path / "r.html").exists()
    assert (tmp_path / "kept.xml").read_text() == "kept"


def test_two_reports_on_standard_output_are_refused(write, capsys):
    write("right")
    assert main(["cases.py", "--json", "-", "--html", "-"]) == 2
    assert capsys.readouterr().err == (
        "-: expected one report on standard output, got --json and --html; name a file for the rest\n"
    )


def test_a_finding_is_shown_again_by_the_command_as_typed(write, capsys):
    write("wrong")
    main(["cases.py", "--budget", "2.5s", "--no-vary"])
    command = "python -m gradcheck cases.py:wrong --seed 7 --budget 2.5s --no-vary"
    lines = capsys.readouterr().out.splitlines()
    assert f"  rerun    {command}" in lines
    assert lines[-1] == f"next: {command}"
    assert main([*command.split()[3:]]) == 1


def test_a_page_of_several_cases_has_a_line_for_what_passes_and_says_nothing_twice(write, tmp_path):
    write("right", "wrong", "unsure")
    main(["cases.py", "--html", "r.html"])
    page = (tmp_path / "r.html").read_text()
    assert page.count("cases.py:right") == 1
    assert '<td class="pass">pass</td><td>0 findings, ' in page
    assert '<a href="#case0">cases.py:wrong</a>' in page
    assert page.index('<section id="case0">\n<h1>cases.py:wrong') < page.index(
        '<section id="case1">\n<h1>cases.py:unsure'
    )
    assert page.count("<pre>") == 2
    main(["cases.py:right", "--html", "r.html"])
    assert "<h1>cases.py:right: " in (tmp_path / "r.html").read_text()


def test_the_command_runs_as_a_module(write, tmp_path):
    write("wrong")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "gradcheck", "cases"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("FAIL cases:wrong: ")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_an_interrupt_of_workers_reports_what_was_finished(write, tmp_path):
    write("right", "hanging")
    with subprocess.Popen(
        [sys.executable, "-m", "gradcheck", "cases.py", "--jobs", "2"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    ) as process:
        assert process.stderr.readline() == "[1/2] cases.py:right pass\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert (process.returncode, err) == (130, "interrupted after 1 of 2 cases\n")
    assert out.startswith("pass cases.py:right: ")


def test_the_exit_statuses_are_a_promise():
    assert [int(status) for status in command.Exit] == [0, 1, 2, 3, 4, 5, 130]
