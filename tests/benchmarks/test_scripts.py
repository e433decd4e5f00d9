import json
import shutil
import sys

import pytest

from benchmarks import scripts
from benchmarks.scripts import WHOLE, Script, run, stage, take

HERE = sys.executable


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Makes scripts in a folder of their own."""
    monkeypatch.setattr(scripts, "FOLDER", tmp_path)

    def write(name, text):
        (tmp_path / name).write_text(text)
        return Script(name, HERE, name)

    return write


def test_a_statement_has_the_time_of_its_process(tmp_path):
    assert list(run(Script("nothing", HERE, "pass"), tmp_path)) == [WHOLE]


def test_a_script_says_how_long_its_stages_took(made, tmp_path):
    taken = run(made("a.py", "print('noise')\nprint('{\"first\": 0.25}')"), tmp_path)
    assert taken["first"] == 0.25
    assert taken[WHOLE] > 0


def test_a_script_keeps_what_it_compiles_in_the_folder(made, tmp_path):
    text = "import json, os; print(json.dumps({k: v for k, v in os.environ.items() if 'CACHE_DIR' in k}))"
    script = made("a.py", text)
    for variable, folder in run(script, tmp_path).items():
        assert variable == WHOLE or folder == str(tmp_path / variable.lower())


def test_a_script_that_fails_says_why(tmp_path):
    with pytest.raises(RuntimeError, match="ZeroDivisionError: division by zero"):
        run(Script("broken", HERE, "1 / 0"), tmp_path)
    with pytest.raises(RuntimeError, match="no-python cannot be started: No such file or directory"):
        run(Script("gone", str(tmp_path / "no-python"), "pass"), tmp_path)


def record(monkeypatch, broken=()):
    """Replaces the run by one that writes down who was run where."""
    calls = []

    def once(script, folder):
        calls.append((script.name, folder))
        if script.name in broken:
            raise RuntimeError("no such module")
        return {WHOLE: 1.0, "first": 0.5}

    monkeypatch.setattr(scripts, "run", once)
    return calls


def test_rounds_rotate_and_the_first_one_warms_up(monkeypatch):
    calls = record(monkeypatch)
    both, few = (Script(name, HERE, f"{name}.py") for name in "ab"), Script("c", HERE, "c.py", rounds=1)
    runs, missing = take([*both, few], 3, is_warm=True)
    assert "".join(name for name, _ in calls) == "abc" + "abc" + "ba" + "ab"
    assert {name: len(found) for name, found in runs.items()} == {"a": 3, "b": 3, "c": 1}
    assert len({folder for _, folder in calls}) == 1
    assert missing == []


def test_without_warmth_every_process_has_a_folder_of_its_own(monkeypatch):
    calls = record(monkeypatch)
    runs, _ = take([Script("a", HERE, "a.py")], 3, is_warm=False)
    assert len(runs["a"]) == len({folder for _, folder in calls}) == 3
    assert not any(folder.exists() for _, folder in calls)


def test_a_script_that_fails_is_missing_and_not_run_again(monkeypatch):
    calls = record(monkeypatch, broken=("b",))
    runs, (gone,) = take([Script("a", HERE, "a.py"), Script("b", HERE, "b.py")], 3, is_warm=True)
    assert (gone.name, gone.reason) == ("b", "no such module")
    assert list(runs) == ["a"]
    assert [name for name, _ in calls].count("b") == 1


def test_a_stage_has_the_scripts_that_went_through_it():
    runs = {"a": [{WHOLE: 1.0, "first": 0.5}], "b": [{WHOLE: 2.0}]}
    assert stage(runs, "first") == {"a": [0.5]}
    assert stage(runs, WHOLE) == {"a": [1.0], "b": [2.0]}


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler called cc")
@pytest.mark.parametrize("file", ["opsdk_c_op.py", "ctypes_c_op.py"])
def test_our_scripts_run_and_name_the_stages(tmp_path, file):
    taken = run(Script("ours", HERE, file), tmp_path)
    assert list(taken) == [
        "import numpy", "import the framework", "definition", "first call", "second call", WHOLE
    ]  # fmt: skip
    json.dumps(taken)


@pytest.mark.slow  # compiles with Numba
def test_the_elementwise_script_runs(tmp_path):
    pytest.importorskip("numba")
    assert "second call" in run(Script("ours", HERE, "opsdk_first_call.py"), tmp_path)
