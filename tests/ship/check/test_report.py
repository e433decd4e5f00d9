import json


def test_a_report_is_rendered_later_as_the_check_rendered_it_without_the_op(run, right, wrong, here):
    first = run("check", "good.py", "bad.py", "--json", "r.json", "--html", "a.html", "--junit", "a.xml", "-v")
    right.unlink()
    wrong.unlink()
    later = run("report", "r.json", "--html", "b.html", "--junit", "b.xml", "-v")
    assert (later.stdout, later.exit_code) == (first.stdout, 1)
    assert (here / "b.html").read_text() == (here / "a.html").read_text()
    assert (here / "b.xml").read_text() == (here / "a.xml").read_text()


def test_options_of_text_and_verdict_are_those_of_the_check(run, right):
    right.write_text(right.read_text().partition("@clamp.backward")[0])  # no backward
    assert run("check", "good.py", "--json", "r.json").exit_code == 0
    strict = run("report", "r.json", "--strict", "--quiet")
    assert strict.exit_code == 1
    why = "good::clamp has no backward: declare @clamp.backward, or its outputs nondifferentiable"
    assert strict.stdout.splitlines()[-2] == f"failed by --strict: {why}"


def test_a_dash_leaves_standard_output_to_the_page(run, right):
    run("check", "good.py", "--json", "r.json")
    result = run("report", "r.json", "--html", "-")
    assert result.stdout.startswith("<!doctype html>")
    assert "1 passed in " in result.stderr


def test_what_is_no_report_and_what_cannot_be_written_are_usage_errors(run, right, here):
    assert run("report", "good.py").exit_code == 2
    (here / "r.json").write_text(json.dumps({"schema": 9}))
    assert "schema 1, got schema 9" in run("report", "r.json").stderr
    result = run("report", "r.json", "--html", "no/where.html")
    assert "no/where.html: expected a file that can be written" in result.stderr


def test_a_picture_whose_parts_do_not_fit_is_a_usage_error(run, wrong, here):
    run("check", "bad.py", "--json", "r.json")
    document = json.loads((here / "r.json").read_text())
    document["reports"][0]["findings"][0]["picture"]["gradient"]["analytic"] = []
    (here / "r.json").write_text(json.dumps(document))
    result = run("report", "r.json", "--html", "x.html")
    assert result.exit_code == 2
    assert "r.json: expected a report of opsdk check --json, got one that was changed: " in result.stderr


def test_the_slowest_ops_and_checks_are_named_when_asked_for(run, right, wrong):
    lines = run("check", "good.py", "bad.py", "--durations", "1").stdout.splitlines()
    slowest = [line.split() for line in lines if line.startswith("slowest")]
    assert len(slowest) == 2
    assert slowest[1][3] in ("good::clamp,", "bad::clamp,")
    assert slowest[1][4] == "vjp"  # what takes hundreds of calls
    assert float(slowest[1][1]) <= float(slowest[0][1])
    times = {line.split()[0]: line.split()[-2] for line in lines if line.endswith(" s")}
    assert slowest[0][1] == max(times["good::clamp"], times["bad::clamp"], key=float)
