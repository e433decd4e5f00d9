import json
import random
import subprocess
import sys

import pytest

from benchmarks import hostile
from benchmarks.hostile import Format, Tally, damaged, formats
from tests.contracts.tree import REPOSITORY

# The hook that hears what a load does stays for good, and slows whatever else a process does: so these are in another.
JUDGED = """
import json, os, pickle
from benchmarks.hostile import Format, formats, judge
def opens(file, classes):
    open("/etc/hostname").close()
def takes(file, classes):
    return bytearray(1 << 20)
def dies(file, classes):
    raise KeyError("w")
def runs(file, classes):
    return pickle.load(file)

code = Format(b"cos\\nsystem\\n(X\\x04\\x00\\x00\\x00truetR.", (), (b"",))
whole = {name: judge(form.whole, form)[:2] for name, form in formats().items() for _ in "ab"}  # imports at the first
import tracemalloc; tracemalloc.start()
planted = {load.__name__: judge(code.whole, code, load)[1] for load in (opens, takes, dies, runs)}
print(json.dumps([whole, planted, judge(code.whole, code)[:2]]))
"""


def in_a_process(*arguments):
    run = subprocess.run([sys.executable, *arguments], cwd=REPOSITORY, capture_output=True, text=True)
    assert not run.stderr, run.stderr[-2000:]
    return run


def test_what_a_load_does_beside_reading_is_heard_and_right_files_are_loaded():
    whole, planted, refused = json.loads(in_a_process("-c", JUDGED).stdout)
    assert whole == {name: ["loaded", ""] for name in formats()}
    assert planted["opens"].startswith("did open ('/etc/hostname'")
    assert planted["takes"].startswith("took 10")
    assert planted["dies"] == "KeyError: 'w'"
    assert planted["runs"].startswith("did os.system (b'true'")
    assert refused == ["SavedFileError", ""]


@pytest.mark.slow  # 180,000 files
def test_many_damaged_files_are_loaded_or_refused():
    run = in_a_process("-m", "benchmarks.hostile", "--count", "20000", "--jobs", "1", "--seed", "1000")
    rows = [line.split(" | ") for line in run.stdout.splitlines() if " | " in line][1:]
    assert [(row[0][2:], row[1], row[4]) for row in rows] == [(name, "20,000", "0") for name in formats()]
    assert run.returncode == 0, run.stdout[-4000:]


def test_a_damaged_file_differs_and_a_seed_gives_it_again():
    form = Format(bytes(range(200)), (), (b"splice",))
    made = [damaged(form, random.Random(seed)) for seed in range(50)]
    assert made == [damaged(form, random.Random(seed)) for seed in range(50)]
    assert sum(data != form.whole for data in made) >= 48
    assert len({len(data) for data in made}) > 10


def test_the_page_counts_the_files_and_shows_the_faults():
    made = Tally(seconds=2e-4, most=2048)
    made.outcomes.update(loaded=1, SavedFileError=2)
    text = "\n".join(hostile.lines({"a": made}))
    assert "| a | 3 | 1 | 2 | 0 | 2 KiB | 67 |" in text
    made.faults.append("a: KeyError: 'w': 8002")
    assert "- `a: KeyError: 'w': 8002`" in hostile.lines({"a": made})
