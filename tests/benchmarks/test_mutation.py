"""The mutation bench: edits are what they say, same gradients are left out, and the table counts."""

import json

import numpy as np
import pytest

from benchmarks.mutation import __main__ as command
from benchmarks.mutation.judges import central, ours
from benchmarks.mutation.mutants import mutants
from benchmarks.mutation.subjects import SUBJECTS

BY_NAME = {subject.name: subject for subject in SUBJECTS}


def edits(name):
    return list(mutants(name, BY_NAME[name].gradient))


@pytest.mark.parametrize("name", BY_NAME)
def test_the_unedited_gradient_is_right_by_ours_and_by_central_differences(name):
    subject = BY_NAME[name]
    for seed in range(2):
        inputs = subject.draw(np.random.default_rng(seed))
        assert not ours(subject, subject.gradient, inputs)
        assert not central(subject, subject.gradient, inputs)


def test_an_edit_is_one_change_of_the_text():
    texts = {(mutant.kind, mutant.text) for mutant in edits("sin")}
    assert ("another function", "return dy * np.sin(x)") in texts
    assert ("another value", "return y * np.cos(x)") in texts
    assert ("factor 2", "return dy * np.cos(x) * 2.0") in texts
    assert ("term or factor left out", "return dy") in texts
    assert ("another operator", "return dy / np.cos(x)") in texts
    assert ("last element left out", "return _without_last(dy * np.cos(x))") in texts


def test_reductions_slices_signs_and_results_are_edited_too():
    assert ("reduction left out", "return (dy, dy)") in {(m.kind, m.text) for m in edits("bias")}
    assert ("a number off by one", "dx[:, 2:5] = dy") in {(m.kind, m.text) for m in edits("part")}
    assert ("sign left out", "return (dy / b, dy * a / b ** 2)") in {(m.kind, m.text) for m in edits("quotient")}
    assert ("gradients swapped", "return (dy * a, dy * b)") in {(m.kind, m.text) for m in edits("product")}
    assert ("transposition left out", "return (dy @ b, a.T @ dy)") in {(m.kind, m.text) for m in edits("matmul")}
    assert any(m.kind == "overwritten instead of added" for m in edits("correlate"))


def test_an_edit_that_changes_no_gradient_is_left_out():
    subject = BY_NAME["exp"]
    same = [m for m in edits("exp") if not command._differs(subject, m.gradient, 0)]
    assert {m.kind for m in same} <= {"another value", "transposed"}
    assert not command._differs(subject, subject.gradient, 0)
    assert command._differs(subject, lambda x, y, dy: dy * y * (1 + 1e-6), 0)


def test_the_table_counts_what_each_checker_missed_and_blamed(tmp_path, capsys, monkeypatch):
    judges = {"opsdk": ours, "blind": lambda subject, gradient, inputs: False, "harsh": lambda *_: True}
    monkeypatch.setattr(command, "installed", lambda: (judges, ["torch"]))
    monkeypatch.setattr(command, "SUBJECTS", [BY_NAME["sin"], BY_NAME["product"]])
    assert command.main(["--limit", "12", "--out", str(tmp_path / "page.md")]) == 0
    text = (tmp_path / "page.md").read_text()
    assert "| opsdk | 0 | 100.0 % | 0 |" in text
    assert "| blind | 12 | 0.0 % | 0 |" in text
    assert "| harsh | 0 | 100.0 % | 10 |" in text
    assert "Not measured: torch, not installed." in text
    listed = {entry["checker"]: entry for entry in json.loads((tmp_path / "page.json").read_text())}
    assert len(listed["blind"]["missed"]) == 12
    assert listed["harsh"]["blamed"] == ["sin"] * 5 + ["product"] * 5
    assert "missed by blind" in capsys.readouterr().out
