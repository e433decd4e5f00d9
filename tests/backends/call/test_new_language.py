"""A language that no file of opsdk knows: a kernel is a text, which Python evaluates over NumPy arrays."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import opsdk
from gradcheck.run import workers
from gradcheck.run.workers import Outcome
from opsdk import static
from opsdk.core.errors import DefinitionError, MissingDependencyError
from opsdk.define.kernel.notation import LANGUAGES
from opsdk.define.op import REGISTRY
from opsdk.ship.cli.main import cli
from opsdk.verify.report import VerifyReport
from tests.contracts.tree import REPOSITORY

LANGUAGE = '''\
import os

import numpy as np

import opsdk
from opsdk.backends.call.language import Language, register_language


class Formula(Language):
    """A kernel is a text that Python evaluates."""

    name = "formula"
    takes_text = True
    may_crash = True
    manner = "evaluated"

    def compile(self, opdef, kernel):
        code = compile(kernel.source, str(kernel.origin), "eval")

        def launch(*values, **attrs):
            given = dict(zip(opdef.schema.input_names, values, strict=True))
            return eval(code, {"np": np, "os": os}, {**given, **attrs})

        return launch


register_language(Formula())


@opsdk.op("formulas::scaled(Tensor x, *, float by=2.0) -> Tensor y")
def scaled(x, by):
    return x * x.dtype.type(by)


@scaled.backward
def scaled_grad(dy, by):
    return dy * dy.dtype.type(by)


scaled.kernel("cpu", language="formula", source="x * x.dtype.type(by)")
scaled_grad.kernel("cpu", language="formula", source="dy * dy.dtype.type(by)")
'''
X = np.array([1.0, -2.0, 4.0], np.float32)


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file with the language and an op that has kernels in it; both are forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "formulas.py"
    path.write_text(LANGUAGE)
    with REGISTRY.scoped():
        yield path
    LANGUAGES.pop(("formula", "cpu", ""), None)


@pytest.fixture
def scaled(file):
    names = {"__name__": "formulas", "__file__": str(file)}
    exec(compile(LANGUAGE, str(file), "exec"), names)
    return names["scaled"]


def test_a_row_is_called_on_arrays_and_on_tensors_and_by_their_backward(scaled):
    assert scaled(X, by=3.0).tolist() == [3.0, -6.0, 12.0]
    assert str(opsdk.explain(scaled, X).chosen) == "formula (cpu, *)"
    x = opsdk.to_tensor(X, stop_gradient=False)
    scaled(x, by=3.0).sum().backward()
    assert x.grad.numpy().tolist() == [3.0, 3.0, 3.0]


def test_a_row_runs_in_a_program(scaled):
    main = static.Program()
    with static.program_guard(main, static.Program()):
        x = static.data("x", [3], "float32")
        x.stop_gradient = False
        y = scaled(x, by=-1.0)
        (dx,) = static.gradients(y, x)
    made = static.Executor().run(main, feed={"x": X}, fetch_list=[y, dx])
    assert [array.tolist() for array in made] == [[-1.0, 2.0, -4.0], [-1.0, -1.0, -1.0]]


def test_verify_judges_a_row_and_names_it(scaled):
    report = opsdk.verify(scaled)
    assert report.verdict == "pass", str(report)
    assert {row.row for row in report.rows} >= {"cpu,float32,formula", "cpu,float64,formula"}
    scaled.kernel("cpu", language="formula", source="x * x.dtype.type(by) + (x > 1)", replace=True)
    wrong = opsdk.verify(scaled, rows=["formula"])
    assert wrong.verdict == "fail"
    assert {finding.row.rpartition(",")[2] for finding in wrong.findings} == {"formula"}


def test_a_row_that_fills_nothing_takes_no_output(scaled):
    row = next(row for row in scaled.opdef.kernels if row.language == "formula")
    assert row.parameters == ("x", "by")


def test_explain_says_how_a_row_runs(scaled):
    (chosen, *_) = opsdk.explain(scaled, X).rows
    assert (chosen.row, chosen.reason) == ("formula (cpu, *)", "runs, evaluated")


def test_commands_list_and_show_a_row(scaled):
    shown = CliRunner().invoke(cli, ["show", "formulas::scaled"], prog_name="opsdk")
    assert "formula (cpu, *)" in shown.stdout, shown.output
    listed = CliRunner().invoke(cli, ["list", "--json"], prog_name="opsdk")
    (entry,) = [entry for entry in json.loads(listed.stdout) if entry["op"] == "formulas::scaled"]
    assert entry["rows"] == ["numpy", "formula"]


def test_an_op_of_a_language_that_may_crash_is_judged_in_another_process(file, monkeypatch):
    seen = []

    def noted_run(pieces, **options):
        for position, piece in enumerate(pieces):
            seen.append(piece.name)
            yield position, Outcome("done", VerifyReport(piece.name, "pass"))

    monkeypatch.setattr(workers, "run", noted_run)
    CliRunner().invoke(cli, ["check", "formulas.py"], prog_name="opsdk")
    assert seen == ["formulas::scaled"]


def test_a_row_that_crashes_is_a_finding(file):
    file.write_text(LANGUAGE.replace('source="x * x.dtype.type(by)"', 'source="os.abort()"'))
    command = [sys.executable, "-m", "opsdk", "check", "formulas.py"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stdout + result.stderr
    told = "FAIL op 'formulas::scaled': expected its kernels to return or raise, crashed: signal SIGABRT"
    assert told in result.stdout


def test_a_row_is_refused_where_its_language_cannot_run(scaled, monkeypatch):
    (language,) = {entry for (name, _, _), entry in LANGUAGES.items() if name == "formula"}
    monkeypatch.setattr(type(language), "packages", ("formulas_of_nobody",))
    with pytest.raises(MissingDependencyError) as caught:
        scaled(X)
    assert str(caught.value).startswith("op 'formulas::scaled', formula kernel needs formulas_of_nobody, which cannot")
    assert str(caught.value).endswith("pip install formulas_of_nobody")
    report = opsdk.verify(scaled, rows=["formula"])
    assert {row.verdict for row in report.rows} == {"skipped"}


def test_a_row_takes_no_function_and_no_options_that_its_language_does_not_have(scaled):
    with pytest.raises(DefinitionError, match="language 'formula' expected source=, a file or its text, got the Pyth"):
        scaled.kernel("cpu", lambda x: x, language="formula")
    with pytest.raises(DefinitionError, match="formula kernel: expected no options, got fast=True"):
        scaled.kernel("cpu", language="formula", source="x", fast=True)
