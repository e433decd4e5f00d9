"""docs/adding.md: every file that a row of it names exists, and has the names that the row says are in it."""

import re

import pytest

import opsdk
from tests.contracts.tree import REPOSITORY

PAGE = "docs/adding.md"
TASKS = ("An op", "A mathematical primitive", "A kernel language", "A runtime", "A check", "A command", "A template")
_SPAN = re.compile(r"`([^`\n]+)`")


def wrong_lines(text, root=REPOSITORY):
    """Finds what a page names and is not there, as "line: what"; a name is opsdk's, or in a file of its line."""
    found = []
    for number, line in enumerate(text.splitlines(), start=1):
        spans = _SPAN.findall(line)
        paths = [span for span in spans if "/" in span]
        found += [f"{number}: no file {path}" for path in paths if not (root / path).exists()]
        texts = [(root / path).read_text(encoding="utf-8") for path in paths if (root / path).is_file()]
        for name in (span for span in spans if span.isidentifier()):
            if not hasattr(opsdk, name) and not any(re.search(rf"\b{name}\b", source) for source in texts):
                found.append(f"{number}: no {name} in {', '.join(paths) or 'no file'}")
    return found


def test_everything_that_the_page_names_is_there():
    assert wrong_lines((REPOSITORY / PAGE).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_a_table_that_ends_with_its_tests(task):
    sections = (REPOSITORY / PAGE).read_text(encoding="utf-8").split("\n## ")
    (section,) = [section for section in sections if section.startswith(f"{task}\n")]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(rows) >= 4
    assert "`tests/" in rows[-1]


def test_a_file_that_is_gone_is_reported(tmp_path):
    (tmp_path / "here.py").write_text("def stays():\n    pass\n")
    assert wrong_lines("| `./here.py`: `stays` | do |\n| `a/gone.py` | do |", tmp_path) == ["2: no file a/gone.py"]


def test_a_name_that_left_its_file_is_reported(tmp_path):
    (tmp_path / "here.py").write_text("def stays():\n    pass\n")
    assert wrong_lines("| `./here.py`: `stays`, `left` | do |", tmp_path) == ["1: no left in ./here.py"]
