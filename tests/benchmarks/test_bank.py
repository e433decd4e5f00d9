import json
from dataclasses import asdict, replace

import pytest

from benchmarks import bank
from benchmarks.bank import Result, Task

RIGHT = "rounded output lengths: halves (pass)"
WRONG = "rounded output lengths: halves (fail)"


def written(tmp_path, *results):
    file = tmp_path / "bank.jsonl"
    file.write_text("".join(json.dumps(asdict(result)) + "\n" for result in results))
    return file


def result(key, seed, verdict, said=""):
    return Result(key, seed, verdict, 0.5, said, bank.digest())


def run(file, tmp_path, *options):
    return bank.main(["--only", ": halves (", "--results", str(file), "--out", str(tmp_path / "page.md"), *options])


def test_the_keys_of_the_bank_are_different():
    keys = [entry.key for entry in bank.entries()]
    assert len(set(keys)) == len(keys)
    assert {RIGHT, WRONG} <= set(keys)


def test_what_is_known_is_not_judged_again_and_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bank, "ProcessPoolExecutor", None)  # nothing is left to do
    known = [result(RIGHT, seed, "pass") for seed in (0, 1)] + [result(WRONG, seed, "fail") for seed in (0, 1)]
    assert run(written(tmp_path, *known), tmp_path, "--seeds", "2") == 0
    page = (tmp_path / "page.md").read_text()
    assert "4 of 4 checks of 2 entries" in page
    assert "| rounded output lengths | 1 | 2 | 0 | 0 | 1 | 2 | 0 | 0 | 500 |" in page
    assert "0 verdicts other than the right one." in page
    assert page.rstrip() == capsys.readouterr().out.rstrip()


def test_other_verdicts_are_listed_with_their_seeds_and_first_lines(tmp_path):
    known = [result(RIGHT, 0, "fail", "gradient of 'x': wrong"), result(WRONG, 0, "inconclusive")]
    assert run(written(tmp_path, *known), tmp_path, "--seeds", "1") == 1
    page = (tmp_path / "page.md").read_text()
    assert "| rounded output lengths | 1 | 0 | 0 | 1 | 1 | 0 | 1 | 0 | 500 |" in page
    assert f"- {RIGHT}, seed 0: fail: gradient of 'x': wrong" in page
    assert f"- {WRONG}, seed 0: inconclusive\n" in page


def test_results_of_other_sources_and_half_a_line_are_left_out(tmp_path):
    stale = replace(result(RIGHT, 0, "fail"), sources="of yesterday")
    file = written(tmp_path, stale)
    file.write_text(file.read_text() + '{"key": "rounded')
    assert run(file, tmp_path, "--seeds", "1", "--minutes", "0") == 1
    assert "0 of 2 checks" in (tmp_path / "page.md").read_text()


def test_a_pair_is_judged_at_its_seeds_and_what_raises_is_told(monkeypatch):
    (found,) = bank.judged(Task(RIGHT, (3,)), "these")
    assert (found.key, found.seed, found.verdict, found.said, found.sources) == (RIGHT, 3, "pass", "", "these")
    assert found.seconds > 0
    broken = replace(bank._by_key()[RIGHT], inputs=())
    monkeypatch.setattr(bank, "_by_key", lambda: {RIGHT: broken})
    (found,) = bank.judged(Task(RIGHT, (0,)), "these")
    assert found.verdict == "raises"
    assert found.said.startswith("UsageError: inputs: expected at least one array")


@pytest.mark.slow  # two processes, which load NumPy and the bank
def test_a_run_goes_on_where_another_ended(tmp_path, capsys):
    file = written(tmp_path, result(RIGHT, 0, "pass"))
    assert run(file, tmp_path, "--seeds", "2", "--jobs", "2") == 0
    assert "3 of 3 checks" in capsys.readouterr().err
    read = [json.loads(line) for line in file.read_text().splitlines()]
    assert {(r["key"], r["seed"]) for r in read} == {(key, seed) for key in (RIGHT, WRONG) for seed in (0, 1)}
