from fnmatch import fnmatch
from pathlib import Path
from types import SimpleNamespace

from tests.contracts.tree import REPOSITORY
from tests.order import LONGEST, longest_first

TESTS = REPOSITORY / "tests"


def test_every_file_that_goes_first_exists():
    assert [name for name in LONGEST if not (TESTS / name).is_file()] == []


def test_long_files_go_first_and_the_others_keep_their_order():
    names = ["autograd/test_tape.py", LONGEST[1], "a/test_docs.py", LONGEST[0], LONGEST[1], "autograd/test_engine.py"]
    items = [SimpleNamespace(path=Path("/t") / name, number=n) for n, name in enumerate(names)]
    longest_first(items, Path("/t"))
    assert [item.number for item in items] == [3, 1, 4, 0, 2, 5]


def test_pytest_looks_into_every_folder(pytestconfig):
    folders = {path.parent.name for path in TESTS.rglob("test_*.py")}
    passed_over = {name for name in folders for each in pytestconfig.getini("norecursedirs") if fnmatch(name, each)}
    assert not passed_over
