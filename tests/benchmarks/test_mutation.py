"""The mutation bench: edits are what they say, same gradients are left out, and the table counts."""

import json

import numpy as np
import pytest

from benchmarks.mutation import __main__ as command
from benchmarks.mutation import bank, edits, power
from benchmarks.mutation.judges import SHARED, central, ours
from benchmarks.mutation.mutants import mutants
from benchmarks.mutation.subjects import SUBJECTS

BY_NAME = {subject.name: subject for subject in SUBJECTS}


def edits_of(name):
    return list(mutants(name, BY_NAME[name].gradient))


# Nine seconds of a core for all: every sixth shows that both judges take what is right, the sweep asks it of each.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if i % 6 == 0 else pytest.mark.slow) for i, name in enumerate(BY_NAME)]
)
def test_the_unedited_gradient_is_right_by_ours_and_by_central_differences(name):
    subject = BY_NAME[name]
    for seed in range(2):
        inputs = subject.draw(np.random.default_rng(seed))
        pair = subject.forward, subject.vjp(subject.gradient), inputs
        assert not ours(*pair, {"alias_ok": SHARED})
        assert not central(*pair, {})


def test_an_edit_is_one_change_of_the_text():
    texts = {(mutant.kind, mutant.text) for mutant in edits_of("sin")}
    assert ("another function", "return dy * np.sin(x)") in texts
    assert ("another value", "return y * np.cos(x)") in texts
    assert ("factor 2", "return dy * np.cos(x) * 2.0") in texts
    assert ("term or factor left out", "return dy") in texts
    assert ("another operator", "return dy / np.cos(x)") in texts
    assert ("last element left out", "return _without_last(dy * np.cos(x))") in texts


def test_reductions_slices_signs_and_results_are_edited_too():
    assert ("reduction left out", "return (dy, dy)") in {(m.kind, m.text) for m in edits_of("bias")}
    assert ("a number off by one", "dx[:, 2:5] = dy") in {(m.kind, m.text) for m in edits_of("part")}
    assert ("sign left out", "return (dy / b, dy * a / b ** 2)") in {(m.kind, m.text) for m in edits_of("quotient")}
    assert ("gradients swapped", "return (dy * a, dy * b)") in {(m.kind, m.text) for m in edits_of("product")}
    assert ("transposition left out", "return (dy @ b, a.T @ dy)") in {(m.kind, m.text) for m in edits_of("matmul")}
    assert any(m.kind == "overwritten instead of added" for m in edits_of("correlate"))


def test_an_edit_that_changes_no_gradient_is_left_out():
    subject = BY_NAME["exp"]
    same = [m for m in edits_of("exp") if not edits.differs(subject, m.gradient, 0)]
    assert {m.kind for m in same} <= {"another value", "transposed"}
    assert not edits.differs(subject, subject.gradient, 0)
    assert edits.differs(subject, lambda x, y, dy: dy * y * (1 + 1e-6), 0)


def test_the_table_counts_what_each_checker_missed_and_blamed(tmp_path, capsys, monkeypatch):
    judges = {"opsdk": ours, "blind": lambda *_: False, "harsh": lambda *_: True}
    monkeypatch.setattr(command, "installed", lambda: (judges, ["torch"]))
    monkeypatch.setattr(edits, "SUBJECTS", [BY_NAME["sin"], BY_NAME["product"]])
    assert command.main(["--parts", "edits", "--limit", "12", "--out", str(tmp_path / "page.md")]) == 0
    text = (tmp_path / "page.md").read_text()
    assert "| opsdk | 0 | 100.0 % | 0 |" in text
    assert "| blind | 12 | 0.0 % | 0 |" in text
    assert "| harsh | 0 | 100.0 % | 10 |" in text
    assert "Not measured: torch, not installed." in text
    listed = {entry["checker"]: entry for entry in json.loads((tmp_path / "page.json").read_text())["edits"]}
    assert len(listed["blind"]["missed"]) == 12
    assert listed["harsh"]["blamed"] == ["sin"] * 5 + ["product"] * 5
    assert "missed by blind" in capsys.readouterr().out


def few(monkeypatch):
    """Leaves two wrong pairs and a right one in the bank."""
    monkeypatch.setattr(bank, "WRONG_ONES", {"elementary": bank.WRONG_ONES["elementary"][:2]})
    monkeypatch.setattr(bank, "RIGHT_ONES", {"networks and numerics": bank.RIGHT_ONES["networks and numerics"][-1:]})


def test_the_bank_counts_what_each_checker_missed_and_blamed(monkeypatch):
    few(monkeypatch)
    found = bank.scores({"blind": lambda *_: False, "harsh": lambda *_: True})
    assert found["blind"].missed == {"elementary": ["factor 2", "sign"]}
    assert found["harsh"].blamed == {"networks and numerics": ["overlap of boxes"]}
    text = "\n".join(bank.lines(found))
    assert "| blind | 2 of 2 | 0 of 1 |" in text
    assert "| harsh | 0 of 2 | 1 of 1 |" in text
    assert "| elementary | 2 | 2 | 0 |" in text


def test_the_smallest_error_is_the_last_of_those_that_are_all_found(monkeypatch):
    def sees_to_1e_4(forward, vjp, inputs, options):
        outputs = forward(*inputs)
        cotangents = (np.ones_like(outputs),)
        right = power.PAIRS["logsumexp"][1](inputs, (outputs,), cotangents)
        return bool(abs(vjp(inputs, (outputs,), cotangents)[0] / right[0] - 1).max() > 5e-5)

    monkeypatch.setattr(power, "SMOOTH", ("logsumexp",))
    found = power.smallest_errors({"fine": sees_to_1e_4, "blind": lambda *_: False, "harsh": lambda *_: True})
    assert found["fine"] == 1e-4
    assert found["blind"] == np.inf
    assert np.isnan(found["harsh"])
