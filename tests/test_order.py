from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

from tests.contracts.tree import REPOSITORY
from tests.order import HEAVY, LONGEST, longest_first

TESTS = REPOSITORY / "tests"


def test_every_file_that_goes_first_exists():
    assert [name for name in LONGEST if not (TESTS / name).is_file()] == []


def test_every_test_that_is_left_to_the_sweeps_is_there_and_stands_once():
    ids = [line for line in HEAVY.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    named = [name.partition("[")[0].split("::") for name in ids]
    gone = [name for file, *_, name in named if f"def {name}(" not in (REPOSITORY / file).read_text(encoding="utf-8")]
    assert (gone, len({*ids})) == ([], len(ids))


def test_long_files_go_first_and_the_others_keep_their_order():
    names = ["autograd/test_tape.py", LONGEST[1], "a/test_docs.py", LONGEST[0], LONGEST[1], "autograd/test_engine.py"]
    items = [SimpleNamespace(path=Path("/t") / name, number=n) for n, name in enumerate(names)]
    longest_first(items, Path("/t"))
    assert [item.number for item in items] == [3, 1, 4, 0, 2, 5]


def test_pytest_looks_into_every_folder(pytestconfig):
    folders = {path.parent.name for path in TESTS.rglob("test_*.py")}
    passed_over = {name for name in folders for each in pytestconfig.getini("norecursedirs") if fnmatch(name, each)}
    assert not passed_over
