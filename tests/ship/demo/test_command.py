import dataclasses

import pytest

import opsdk
from opsdk.ship.demo import command

pytest.importorskip("sklearn", reason="the digits come with scikit-learn")
pytest.importorskip("numba", reason="the second row of the op is written for Numba")


@pytest.fixture
def reference_only(monkeypatch):
    """Proves the NumPy row only: compiling the other for every layout takes most of a whole demonstration."""
    whole = command.check_one

    def check_one(selection, op, seed):
        return whole(dataclasses.replace(selection, row="cpu,*,numpy"), op, seed)

    monkeypatch.setattr(command, "check_one", check_one)


def test_the_demonstration_shows_five_steps_and_holds(run, here, reference_only):
    result = run("demo", "--epochs", "12")
    assert result.exit_code == 0, result.output
    for step in range(1, 6):
        assert f"\n{step}. " in f"\n{result.stdout}"
    assert "all 9 claims hold" in result.stdout
    assert "def relu_numba(x, y):" in result.stdout
    assert "pattern  wrong exactly where x < 0" in result.stdout
    assert "\x1b" not in result.output
    assert "\r" not in result.output
    page = (here / "build/demo/report.html").read_text()
    assert page.count("<polyline") == 2  # six runs with one history
    assert "all 6 runs" in page
    assert "wrong exactly where x &lt; 0" in page
    assert "http" not in page


def test_too_few_epochs_fail_the_claim_on_accuracy(run, here, reference_only):
    result = run("demo", "--epochs", "1", "--out", "elsewhere")
    assert result.exit_code == 1
    assert "1 of 9 claims do not hold" in result.stdout
    assert (here / "elsewhere" / "report.html").is_file()


def test_a_relu_that_is_not_caught_fails_the_demonstration(run, here, monkeypatch, reference_only):
    monkeypatch.setattr(command.source, "WRONG", command.source.RELU.replace("relu_numba", "relu_numba2"))
    result = run("demo", "--epochs", "1")
    assert result.exit_code == 1
    assert "2 of 9 claims do not hold" in result.stdout


def test_a_static_runtime_that_differs_fails_the_demonstration(run, here, monkeypatch, reference_only):
    whole = command.train_static.train

    def train(*arguments):
        made = whole(*arguments)
        made.parameters[0][0, 0] += 1
        return made

    monkeypatch.setattr(command.train_static, "train", train)
    result = run("demo", "--epochs", "1")
    assert result.exit_code == 1
    assert "parameters differ by up to 1.0e+00" in result.stdout


@pytest.mark.slow
def test_both_rows_of_the_written_file_pass(run, here):
    command.source.write(here)
    result = run("check", "relu.py")
    assert result.exit_code == 0, result.output
    assert opsdk.REGISTRY.get("relu::relu") is not None
